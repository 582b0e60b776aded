"""The budget ledger: stored budgets of ε, and the accounts that releases charge.

- `Ledger`, `Account`: budgets in a file or on a server, and one of them.
- `raise_to`, `cap`, `change_status`, `thaw`, `set_witness`, `note`: what a curator does to a
  budget; each action is an entry, with who and when.
- `verify`, `backup`, `restore`, `watch`: checking, copying and restoring a ledger.

Guarantees, each with its test in `tests/ledger/`:

- A charge that was granted is on disk, synchronised, before `charge` returns; only then may a
  release look at data.  A crash after it costs the charge and never gives a free look.
- The sum of all charges of a budget never exceeds its ε.  Sums are exact (`Fraction`); the check
  and the entry are one transaction that no other writer overlaps, so any number of processes and
  threads may share a ledger.
- A refused charge takes nothing.  The refusal is recorded; repeats are counted (`state`).
- A ledger that is not provably whole pays nothing: a broken log, a missing entry, a missing or
  later head (`log`, `storage.head_file`).
- Of several copies of a ledger with a witness only one pays (`storage.head_file.Witness`).
- One budget, one neighbour relation.  A release under another relation is converted where group
  privacy gives a number, and refused where it does not (`rules`).
- Entries are never changed nor removed.

Charges of a budget of ε add up (basic composition); those of a budget of (ε, δ) add up as ε or as
ρ, whichever allows more (`dampen.core.zcdp`, `dampen.ledger.state.Limit`).  An ε-DP release is
ε tanh(ε/2)-zCDP (`dampen.core.noise`), and that is the ρ of a charge unless the caller knows a
smaller one.
"""

import getpass
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

from dampen.core.losses import Loss
from dampen.core.sampling import SystemEntropy
from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import BudgetError, ParameterError
from dampen.ledger.log import (
    START,
    Charge,
    Draft,
    Entry,
    Head,
    Kind,
    Row,
    bounded,
    budget_name,
    damaged,
    key_of,
    sealed,
    stamp,
    storable,
)
from dampen.ledger.rules import (
    ChargeRequest,
    balance_of,
    charge_request,
    fingerprint,
    grant,
    refusal,
    unit_of,
)
from dampen.ledger.state import (
    EVERYONE,
    Balance,
    Limit,
    State,
    Status,
    balances_html,
    composed,
    spent,
)
from dampen.ledger.storage import Log, Storage, is_address, open_storage
from dampen.ledger.storage.head_file import Witness, open_witness, witness_place
from dampen.ledger.storage.sqlite import read_copy, write_copy
from dampen.ledger.worker import Change, Look, Worker, forget, worker_at
from dampen.releases.cost import Cost

__all__ = [
    "Account",
    "Ledger",
    "Watch",
    "amount",
    "backup",
    "cap",
    "change_status",
    "default_place",
    "limit",
    "note",
    "raise_to",
    "restore",
    "set_witness",
    "signature",
    "thaw",
    "verify",
    "watch",
]


def raise_to(name: str, epsilon: Epsilon, who: str) -> Change:
    """Raises the total of a budget."""
    total = exact(epsilon)
    signed = signature(who)

    def change(state: State, _: Log) -> Draft:
        balance = _changeable(state, name)
        if total < balance.limit.epsilon:
            has = decimal_text(balance.limit.epsilon)
            raise ParameterError(f"Expected epsilon >= {has}, the total of the budget already.")
        return Draft(Kind.RAISE, key_of(name), limit(total, balance.limit.delta) | signed)

    return change


def cap(name: str, epsilon: Epsilon, analyst: str, who: str) -> Change:
    """Limits what an analyst may spend."""
    most = exact(epsilon)
    signed = {"analyst": bounded(analyst, "analyst"), **signature(who)}

    def change(state: State, _: Log) -> Draft:
        delta = _changeable(state, name).limit.delta
        return Draft(Kind.CAP, key_of(name), limit(most, delta) | signed)

    return change


def change_status(name: str, kind: Kind, why: str, who: str) -> Change:
    """Freezes or closes.

    A restored budget is not frozen over that: `thaw` would no longer ask what was spent.
    """
    signed = {"why": bounded(why, "why"), **signature(who)}

    def change(state: State, _: Log) -> Draft:
        balance = _changeable(state, name)
        if kind is Kind.FREEZE and balance.status is Status.RESTORED:
            raise BudgetError(
                f"Budget {balance.name!r} was restored from a backup and pays nothing until you "
                "state what was spent since: dampen budget thaw NAME --spent E."
            )
        return Draft(kind, key_of(name), signed)

    return change


def thaw(name: str, spent: Epsilon | None, why: str, who: str) -> Change:
    """Lets a budget pay again; after a restore, charges first what was spent since the backup."""
    lost: dict[str, Any] = {"epsilon": "", "rho": ""}
    if spent is not None and not _is_zero(spent):
        e = exact(spent, "spent")
        lost = {"epsilon": decimal_text(e), "rho": decimal_text(e**2 / 2)}
    signed = {"why": bounded(why, "why"), **signature(who)}

    def change(state: State, _: Log) -> Draft:
        restored = _changeable(state, name).status is Status.RESTORED
        if restored and spent is None:
            raise ParameterError(
                "This budget was restored from a backup. Pass spent=, the epsilon that was spent "
                "since the backup, or 0."
            )
        if not restored and spent is not None:
            raise ParameterError(
                "Expected no spent=, because this budget was not restored from a backup."
            )
        return Draft(Kind.THAW, key_of(name), lost | signed)

    return change


def set_witness(place: str, who: str) -> Change:
    """Keeps the newest head in a second place from now on."""
    absolute = witness_place(place)
    details = {"place": absolute, **signature(who)}

    def change(state: State, _: Log) -> Draft:
        witness = open_witness(absolute, state.origin)
        seen = witness.read()
        if seen is None:
            witness.advance(None, state.head)
        elif seen != state.head:
            raise BudgetError(
                f"The place {place} belongs to another ledger. Choose an unused place."
            )
        return Draft(Kind.WITNESS, "", details)

    return change


def note(what: str, details: Mapping[str, str], who: str) -> Change:
    """Records what a curator did beside budgets."""
    told = {key: bounded(value, key) for key, value in details.items()}
    signed = {"what": bounded(what, "what"), **told, **signature(who)}
    return lambda _, __: Draft(Kind.NOTE, "", signed)


def limit(epsilon: Epsilon, delta: Epsilon | None, name: str = "epsilon") -> dict[str, str]:
    """How much may be spent, as an entry says it."""
    e = exact(epsilon, name)
    if delta is None:
        return {"epsilon": decimal_text(e), "delta": "", "rho": ""}
    d = exact(delta, "delta")
    if d >= 1:
        raise ParameterError(f"Expected delta < 1, got delta={delta}.")
    rho = Limit.of(e, d).rho
    assert rho is not None
    return {"epsilon": decimal_text(e), "delta": decimal_text(d), "rho": decimal_text(rho)}


def amount(value: Epsilon, name: str) -> str:
    """An exact number above zero, as an entry says it."""
    return decimal_text(exact(value, name))


def signature(who: str) -> dict[str, str]:
    """Who changes a budget, and when."""
    return {"who": bounded(who or _user(), "who"), **stamp()}


def _changeable(state: State, name: str) -> Balance:
    balance = balance_of(state, name)
    if balance.status is Status.CLOSED:
        raise BudgetError(f"Budget {balance.name!r} is closed.")
    return balance


def _is_zero(value: Epsilon) -> bool:
    return value in (0, "0")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


LONGEST_ANSWER = 16 * 2**20
"""Characters of the JSON of a release that is kept."""

ANSWERS_AT_ONCE = 25
"""Old answers that are read in one transaction."""

_UNLISTED = (Kind.ANSWER, Kind.CHECKPOINT)
"""Kinds of entries that say nothing that the others do not."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Budgets in a file, or on a server.  Share it freely between threads and processes.

    Args:
        place: a path, or an address such as postgresql://host/name (`dampen[postgres]`).

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite3")
    >>> payroll = ledger.create("payroll", epsilon="0.3", neighbours="replace-one")
    >>> for _ in range(3):
    ...     charge = ledger.charge("payroll", epsilon=0.1, neighbours="replace-one")
    >>> ledger.remaining("payroll")
    Fraction(0, 1)
    >>> ledger.charge("payroll", epsilon=0.1, neighbours="replace-one")
    Traceback (most recent call last):
    dampen.errors.BudgetError: Budget 'payroll' cannot pay epsilon 0.1: 0 of 0.3 is left. Nothing...
    """

    place: str

    def __init__(self, place: str | os.PathLike[str]) -> None:
        # The place is fixed here: a later chdir, or a link that points elsewhere, does not move it.
        text = os.fspath(place)
        object.__setattr__(self, "place", text if is_address(text) else os.path.realpath(text))

    @property
    def path(self) -> Path:
        """The file, of a ledger in a file."""
        if is_address(self.place):
            raise ParameterError(f"Expected a ledger in a file, got {self}.")
        return Path(self.place)

    def __str__(self) -> str:
        """The place, without passwords."""
        return self._worker().storage.place

    def __repr__(self) -> str:
        return f"Ledger({str(self)!r})"

    def create(
        self,
        name: str,
        *,
        epsilon: Epsilon,
        neighbours: Neighbours | str,
        unit: str = "",
        delta: Epsilon | None = None,
        dataset: str = "",
        location: str = "",
        largest: Epsilon | None = None,
        each: Epsilon | None = None,
        trial: bool = False,
        who: str = "",
    ) -> "Account":
        """Opens a new budget of ε, or of (ε, δ), for releases under one neighbour relation.

        Args:
            name: of the budget; names that differ only in case are one name.
            epsilon: all that may ever be spent.
            neighbours: the relation that ε speaks of.
            unit: for add-remove-unit, what one unit is called: the column that names the person,
                such as "patient".  If left out, the first charge decides.
            delta: if given, the budget promises (ε, δ)-DP: half of δ is for spending by zCDP, the
                other half for releases that have a δ of their own.
            dataset: the only data set that it pays for, by its name.
            location: where that data set lies; only a fingerprint of this text is kept.
            largest: the largest ε that it pays for one question.
            each: all that one analyst may spend.
            trial: marks it permanently as a trial; it pays like any other budget.
            who: opens it; the user of the operating system by default.

        Raises:
            ParameterError: if a name, a number or the relation is not valid.
            BudgetError: if the ledger has a budget of that name, or cannot be written.
        """
        proper = budget_name(name)
        named = unit_of(Neighbours.named(neighbours), unit)
        details = {
            "name": proper,
            **limit(epsilon, delta),
            "neighbours": Neighbours.named(neighbours).value,
            **({"unit": named} if named else {}),
            "dataset": bounded(dataset, "dataset"),
            "location": fingerprint(location),
            "largest": "" if largest is None else amount(largest, "largest"),
            "each": None if each is None else limit(each, delta, "each"),
            **({"trial": True} if trial else {}),
            **signature(who),
        }

        def make(state: State, _: Log) -> Draft:
            if found := state.budgets.get(key_of(proper)):
                raise BudgetError(f"The ledger already has a budget {found.name!r}.")
            return Draft(Kind.CREATE, key_of(proper), details)

        self._worker().write(make, create=True)
        return Account(self, proper)

    def charge(
        self,
        name: str,
        *,
        neighbours: Neighbours | str,
        epsilon: Epsilon | None = None,
        rho: Epsilon | None = None,
        query: str = "",
        mechanism: str = "",
        analyst: str = "",
        dataset: str = "",
        location: str = "",
        leaks: tuple[str, ...] = (),
        unit: str = "",
        losses: Sequence[Loss] = (),
    ) -> str:
        """Takes ε from a budget, durably, or refuses and takes nothing.

        Args:
            name: the budget.
            neighbours: the relation that ε and ρ speak of.
            epsilon: what a pure release costs; None if it has no pure ε.
            rho: its zCDP cost, where there is no ε or it is known to be below ε²/2.
            query: what was asked: public parameters only.
            mechanism: how it was answered.
            analyst: who asked.
            dataset: of which data.
            location: where the data lies; only a fingerprint of this text is used.
            leaks: public parameters that were taken from the data.
            unit: for add-remove-unit, what one unit is called, such as "patient".
            losses: what its parts lose, where they are known to lose less than any ε-DP release:
                for `composed`.  Their ε add up to that of the release.

        Returns:
            The id of the entry.

        Raises:
            ParameterError: if ε, ρ, a text, the relation or the losses are not valid.
            BudgetError: if there is no such budget, it refuses, or the ledger cannot be written.
        """
        request = charge_request(
            epsilon,
            rho,
            Neighbours.named(neighbours),
            query=query,
            mechanism=mechanism,
            analyst=analyst,
            dataset=dataset,
            leaks=leaks,
            location=location,
            unit=unit,
            losses=tuple(losses),
        )
        return self._charge(name, request)

    def keep(self, charge: str, answer: str) -> None:
        """Stores the JSON of a release beside its charge, so that it can be fetched later.

        Raises:
            ParameterError: if that is no id.
            BudgetError: if the ledger has no such charge, the charge has an answer already, the
                answer is too long, or the ledger cannot be written.
        """
        self._worker().write(_keep(charge, answer))

    def answer(self, charge: str) -> str:
        """The JSON of the release that a charge paid for, found without reading other entries.

        Raises:
            ParameterError: if that is no id.
            BudgetError: if there is no such charge, or its answer was not kept.
        """
        return _fetch(self._worker(), [charge])[0]

    def answers(self, charges: Sequence[str]) -> list[str]:
        """`answer` of several charges: for a page of old releases."""
        return _fetch(self._worker(), charges)

    def charge_all(
        self,
        charges: Sequence[tuple["Account", Cost]],
        *,
        last: Head = START,
        look: Look | None = None,
    ) -> list[str | BaseException]:
        """`Account.charge` of several of its accounts, in one transaction where they fit.

        Args:
            charges: the accounts, and what to take from each.
            last: a head that was seen before.
            look: if given, takes the entries behind it and the head now, in the same transaction
                and before the first charge; what it gives the numbers of is not charged.

        Returns:
            For each, in this order, the id of its entry or the error that a charge alone raises;
            `Unwanted` for those that `look` named.
        """

        def of(account: Account, request: ChargeRequest) -> Change:
            return lambda state, _: grant(state, account.name, request)

        changes = [of(each, each._request(cost)) for each, cost in charges]
        if look is None:
            return self._worker().write_all(changes)
        return self._worker().follow_and_write_all(last, look, changes)

    def keep_all(self, kept: Sequence[tuple[str, str]]) -> list[str | BaseException]:
        """`keep` for several charges and their answers, in one transaction where they fit."""
        return self._worker().write_all([_keep(*each) for each in kept])

    def set_witness(self, place: str | os.PathLike[str], *, who: str = "") -> None:
        """Keeps the newest head in a second place, which each copy of the ledger must ask.

        Args:
            place: a new file in another directory, best on other storage; `append:` and a path for
                a file that is only ever appended to; or an address such as postgresql://host/name.
            who: for the record; the user of the operating system by default.

        Raises:
            ParameterError: if an address has a password, which the ledger would record.
            BudgetError: if the place cannot be written, or holds the head of another ledger.
        """
        self._worker().write(set_witness(os.fspath(place), who))

    def note(self, what: str, details: Mapping[str, str], *, who: str = "") -> None:
        """Records an act of a curator that concerns no budget, such as a new token.

        Args:
            what: the act, in a word or two.
            details: public texts about it.
            who: for the record; the user of the operating system by default.

        Raises:
            ParameterError: if a text is too long.
            BudgetError: if the ledger cannot be written.
        """
        self._worker().write(note(what, details, who), create=True)

    @property
    def witness(self) -> str:
        """The second place of the newest head; if empty, copies are not detected."""
        return self._worker().read(lambda state: state.witness)

    def balance(self, name: str) -> Balance:
        """A budget: its limits, its status, what was spent and by whom."""
        return self._worker().read(lambda state: deepcopy(balance_of(state, name)))

    def total(self, name: str) -> Fraction:
        """The ε that a budget may spend in all."""
        return self.balance(name).limit.epsilon

    def neighbours(self, name: str) -> Neighbours:
        """The neighbour relation of a budget."""
        return self.balance(name).neighbours

    def spent(self, name: str) -> Fraction:
        """The exact sum of all ε of a budget; with δ, the ε of all that was spent, at that δ."""
        return spent(self.balance(name))

    def remaining(self, name: str) -> Fraction:
        """The exact remainder of a budget: `total - spent`."""
        balance = self.balance(name)
        return balance.limit.epsilon - spent(balance)

    def composed(self, name: str) -> Fraction:
        """The ε of all that was spent, at the budget's δ, by numerical composition: a report.

        It holds if price and noise of every charge were fixed beforehand (`dampen.core.losses`), so
        that it pays for nothing; `spent` is what the budget counts, and never less.  A charge that
        states no losses counts as the worst release of its ε; one without an ε, or of a ρ well
        below that of its losses, by its ρ.
        """
        return composed(self.balance(name), self.history(name))

    def history(self, name: str) -> list[Charge]:
        """The charges of a budget, oldest first."""
        return [Charge.of(entry) for entry in self.entries(name) if entry.kind is Kind.CHARGE]

    def entries(self, name: str | None = None) -> list[Entry]:
        """The entries of one budget, or of all, oldest first; the whole log is checked again."""
        if name is None:
            return self._worker().entries(lambda row: row.kind not in _UNLISTED)
        self.balance(name)
        key = key_of(name)
        return self._worker().entries(lambda row: row.budget == key)

    def entries_after(self, last: Head = START) -> tuple[list[Entry], Head]:
        """The entries, kept answers too, behind a head that was seen before, and the head now."""
        return self._worker().entries_after(last)

    def __iter__(self) -> Iterator[str]:
        """The names of the budgets, in the order of their creation."""
        return iter(self._worker().read(lambda s: [each.name for each in s.budgets.values()]))

    def __getitem__(self, name: str) -> "Account":
        """The budget of that name, to pass to a release as `budget=`."""
        return Account(self, self.balance(name).name)

    def _repr_html_(self) -> str:
        return balances_html([self.balance(name) for name in self])

    def _charge(self, name: str, request: ChargeRequest) -> str:
        return self._worker().write(lambda state, _: grant(state, name, request)).id

    def _worker(self) -> Worker:
        return worker_at(self.place)


@dataclass(frozen=True, slots=True)
class Account:
    """One budget of a ledger, with the names of the analyst and the data set."""

    ledger: Ledger
    name: str
    analyst: str = ""
    dataset: str = ""
    location: str = ""

    def by(self, analyst: str = "", dataset: str = "", location: str = "") -> Self:
        """The same budget; its charges record the analyst and the data set."""
        return replace(
            self,
            analyst=analyst or self.analyst,
            dataset=dataset or self.dataset,
            location=location or self.location,
        )

    def charge(self, cost: Cost, /) -> str:
        """`Ledger.charge` on this budget, for a release; the id of the entry."""
        return self.ledger._charge(self.name, self._request(cost))

    def refusal(self, cost: Cost, /) -> str:
        """Why `charge` would refuse this cost now; empty if it would not.  Records nothing."""
        request = self._request(cost)
        return self.ledger._worker().read(lambda state: refusal(state, self.name, request))

    def keep(self, charge: str, answer: str, /) -> None:
        """`Ledger.keep`."""
        self.ledger.keep(charge, answer)

    def raise_to(self, epsilon: Epsilon, *, who: str = "") -> None:
        """Raises the total of the budget to ε, at its δ."""
        self._write(raise_to(self.name, epsilon, who))

    def cap(self, epsilon: Epsilon, *, analyst: str = EVERYONE, who: str = "") -> None:
        """Limits an analyst, or every analyst without a cap of their own, to ε of this budget."""
        self._write(cap(self.name, epsilon, analyst, who))

    def freeze(self, *, why: str = "", who: str = "") -> None:
        """Pays nothing until `thaw`."""
        self._write(change_status(self.name, Kind.FREEZE, why, who))

    def thaw(self, *, spent: Epsilon | None = None, why: str = "", who: str = "") -> None:
        """Pays again.

        Args:
            spent: for a budget that was restored from a backup: the ε that was spent after the
                backup was made, 0 if none; it is taken first, whatever is left.  It counts against
                the cap of every analyst, because the backup does not show who spent it.
            why: for the record.
            who: for the record; the user of the operating system by default.
        """
        self._write(thaw(self.name, spent, why, who))

    def close(self, *, why: str = "", who: str = "") -> None:
        """Closes the budget for good."""
        self._write(change_status(self.name, Kind.CLOSE, why, who))

    def _request(self, cost: Cost) -> ChargeRequest:
        return charge_request(
            cost.pure_epsilon,
            cost.rho,
            cost.neighbours,
            query=cost.query,
            mechanism=cost.mechanism,
            analyst=self.analyst,
            dataset=self.dataset,
            leaks=cost.leaks,
            location=self.location,
            delta=cost.delta,
            unit=cost.unit,
            losses=cost.losses,
        )

    def _write(self, change: Change) -> None:
        self.ledger._worker().write(change)

    def _repr_html_(self) -> str:
        return balances_html([self.balance])

    @property
    def balance(self) -> Balance:
        return self.ledger.balance(self.name)

    @property
    def status(self) -> Status:
        return self.balance.status

    @property
    def total(self) -> Fraction:
        return self.ledger.total(self.name)

    @property
    def neighbours(self) -> Neighbours:
        return self.ledger.neighbours(self.name)

    @property
    def spent(self) -> Fraction:
        return self.ledger.spent(self.name)

    @property
    def remaining(self) -> Fraction:
        return self.ledger.remaining(self.name)

    @property
    def composed(self) -> Fraction:
        return self.ledger.composed(self.name)

    @property
    def history(self) -> list[Charge]:
        return self.ledger.history(self.name)


def default_place() -> str:
    """`$DAMPEN_LEDGER`, a path or an address; else a file in the user's data directory."""
    if named := os.environ.get("DAMPEN_LEDGER"):
        return named
    from platformdirs import user_data_path

    return str(user_data_path("dampen", appauthor=False) / "ledger.sqlite3")


def _keep(charge: str, answer: str) -> Change:
    """Keeps the JSON of a release.  A charge takes one answer.

    Raises:
        ParameterError: if that is no id of a charge.
    """
    wanted = Head.parse(charge)
    text = storable(answer)

    def change(_: State, log: Log) -> Draft:
        if len(text) > LONGEST_ANSWER:
            raise BudgetError(
                f"The ledger keeps answers no longer than {LONGEST_ANSWER:,} characters."
            )
        found = log.row(wanted.seq)
        if found is None or found.kind != Kind.CHARGE or not wanted.names(found):
            raise BudgetError(f"The ledger has no charge {charge}.")
        if any(True for _ in log.answers(wanted.seq)):
            raise BudgetError(
                f"The charge {charge} already has an answer. A charge takes one; the first stays."
            )
        id = Head(found.seq, found.digest).id
        # Digests are shown to all; without a salt they would tell a guessed answer from others.
        salt = SystemEntropy().read(16).hex()
        return Draft(Kind.ANSWER, "", {"charge": id, "answer": text, "salt": salt})

    return change


def _fetch(worker: Worker, charges: Sequence[str]) -> list[str]:
    """The JSON of the releases that charges paid for, a few at a time: no charge waits for all.

    Raises:
        ParameterError: if one is no id.
        BudgetError: if there is no such charge, its answer was not kept, or was changed.
    """
    wanted = [Head.parse(charge) for charge in charges]
    found: list[tuple[Row | None, ...]] = []
    for i in range(0, len(wanted), ANSWERS_AT_ONCE):
        found += worker.find(partial(_rows_of, wanted[i : i + ANSWERS_AT_ONCE]))
    return [_answer(each, *rows) for each, rows in zip(wanted, found, strict=True)]


def _rows_of(charges: Sequence[Head], log: Log) -> list[tuple[Row | None, ...]]:
    return [(log.row(each.seq), next(log.answers(each.seq), None)) for each in charges]


def _answer(wanted: Head, paid: Row | None, kept: Row | None) -> str:
    if paid is None or paid.kind != Kind.CHARGE or not wanted.names(paid):
        raise BudgetError(f"The ledger has no charge {wanted.id}.")
    if kept is None:
        raise BudgetError(
            f"The charge {wanted.id} stands, but no answer to it was kept: the release was not "
            "made, or was interrupted."
        )
    if kept.is_withheld():
        raise BudgetError(f"The answer to the charge {wanted.id} belongs to another role.")
    entry = Entry.of(kept)
    if not Head.parse(entry.details["charge"]).names(paid):
        raise damaged(f"entry {kept.seq} was changed")
    return str(entry.details["answer"])


SLICE = 4096
"""Entries that are verified in one transaction."""


def verify(ledger: Ledger, head: str | None = None) -> Head:
    """Reads the whole log again and returns its head, which you can save elsewhere.

    Args:
        ledger: to verify.
        head: one that was kept elsewhere, or the id of an entry: it must be in the log.

    Raises:
        BudgetError: if an entry was edited or is missing, or an older copy was put back.
    """
    kept = None if head is None else Head.parse(head)

    def check(state: State, rows: Iterator[Row]) -> Head:
        found = sum(kept is not None and kept.names(row) for row in rows)  # reads them all
        if kept is not None and not found:
            older = kept.seq > state.head.seq
            raise BudgetError(
                f"The ledger does not contain the entry {kept.id}: "
                + ("an older copy was put back." if older else "it was edited, or is another one.")
            )
        return state.head

    return worker_at(ledger.place).scan(check)


def backup(ledger: Ledger, file: str | os.PathLike[str]) -> Head:
    """Writes a consistent, verified copy of a ledger that may be in use; the head of the copy.

    Raises:
        BudgetError: if the ledger is not whole, or the file exists or cannot be written, or this
            role does not see all answers.
    """
    target = Path(file).absolute()
    return worker_at(ledger.place).scan(lambda _, rows: write_copy(target, map(_shown, rows)))


def _shown(row: Row) -> Row:
    if row.is_withheld():
        raise BudgetError("This role does not see all answers. Back up with the curator's role.")
    return row


def restore(
    file: str | os.PathLike[str], ledger: Ledger, *, head: str | None = None, who: str = ""
) -> bool:
    """Replaces a damaged, missing or outdated ledger by a backup or a copy.

    The restore rule: charges that were made after a backup are not in it, and whoever restores it
    must not get them back. If a head is known, from the head file at the place or from the caller,
    and every head that is known is in the backup, nothing that was acknowledged is lost. Otherwise
    every budget is frozen until the curator says what was spent since (`Account.thaw(spent=...)`).
    The files that were at the place are kept, under another name.

    Args:
        file: the backup; it may be the file at the place itself.
        ledger: the place.
        head: the newest head that is known.  It counts beside that of the head file at the place:
            an older one takes nothing from a later one.
        who: restores it; the user of the operating system by default.

    Returns:
        Whether charges are missing, or may be: then every budget is frozen until `Account.thaw`.

    Raises:
        BudgetError: if the ledger at the place is whole, or the backup is not.
    """
    _check_needed(ledger)
    storage = worker_at(ledger.place).storage
    source = Path(file).absolute()
    given = [] if head is None else [Head.parse(head)]
    beside = storage.known()
    state = _added_up(source)
    witness = open_witness(state.witness, state.origin) if state.witness else None
    seen = _seen(witness)
    known = [*given, *(each for each in (beside, seen) if each is not None)]
    missing = set(known)
    for row in read_copy(source):
        missing = {each for each in missing if not each.names(row)}
    lost = bool(missing) or not known or (witness is not None and seen is None)
    draft = _restore_draft(state.head, max(known, default=None), lost, who)
    last = sealed(draft, state.head)
    storage.replace(_followed(read_copy(source), last))
    if witness is not None:
        witness.reset(Head(last.seq, last.digest))
    forget(ledger.place)
    return lost


def _added_up(source: Path) -> State:
    state = State()
    for row in read_copy(source):
        state.apply(row)
    return state


def _seen(witness: Witness | None) -> Head | None:
    try:
        return None if witness is None else witness.read()
    except BudgetError:
        return None


def _check_needed(ledger: Ledger) -> None:
    try:
        verify(ledger)
    except BudgetError:
        worker_at(ledger.place).close()
        return
    raise BudgetError(f"The ledger {ledger} is intact. There is nothing to restore.")


def _restore_draft(backup: Head, known: Head | None, lost: bool, who: str) -> Draft:
    details = {"backup": backup.id, "known": "" if known is None else known.id, "lost": lost}
    return Draft(Kind.RESTORE, "", details | signature(who))


def _followed(rows: Iterator[Row], last: Row) -> Iterator[Row]:
    yield from rows
    yield last


class Watch:
    """A thread that verifies a ledger repeatedly, until `stop`."""

    def __init__(self, ledger: Ledger, pause: float) -> None:
        self.rounds = 0
        """How often the whole log was found whole."""
        self._ledger = ledger
        self._pause = pause
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dampen-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the slice that it is at."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        storage = open_storage(self._ledger.place)
        while not self._stopped.is_set():
            # A storage that cannot be read now is no damage: the next round tries again.
            with suppress(BudgetError):
                self._verify(storage)
            storage.close()
            self._stopped.wait(self._pause)

    def _verify(self, storage: Storage) -> None:
        state = State()
        while not self._stopped.is_set():
            with storage.read() as transaction:
                head = transaction.head()
                rows = list(islice(transaction.rows(state.head.seq), SLICE))
            try:
                for row in rows:
                    state.apply(row)
                if len(rows) < SLICE and state.head != head:
                    raise damaged(f"entry {state.head.seq + 1} is missing or was changed")
            except BudgetError as error:
                worker_at(self._ledger.place).distrust(error)
                self._stopped.set()
                return
            if len(rows) < SLICE:
                self.rounds += 1
                return


def watch(ledger: Ledger, *, pause: float = 3600.0) -> Watch:
    """Verifies every entry now and then again `pause` seconds after each round.

    If an entry was edited or is missing, this process charges nothing more and shows no totals.

    Opening a ledger reads the entries behind its last checkpoint. A process that lives long, such
    as a service, has the others verified beside its work (`watch`): in slices, on a connection of
    its own, so that no charge waits for it.
    """
    return Watch(ledger, pause)
