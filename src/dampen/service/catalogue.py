"""The catalogue: data sets, budgets, releases and, for curators, all activity.

- `Catalogue`: the data sets of a service, who may ask them, and what was asked.
- `History`: what was charged and released, followed entry by entry from the ledger, the only truth
  about it.

Everything here is public or the caller's own.  Nothing is charged and no row is read.
"""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import BudgetError, DampenError, ParameterError
from dampen.ledger import Account, Balance, Charge, Entry, Head, Kind, Ledger
from dampen.ledger.log import START, folded
from dampen.ledger.rules import STEPS
from dampen.ledger.state import spent
from dampen.releases.cost import Cost
from dampen.service.configuration import Configuration, Served
from dampen.service.tokens import Role, Token

__all__ = [
    "Catalogue",
    "History",
    "NotFound",
    "Record",
    "marked",
    "payer",
    "shown_balance",
]


MOST_CHARACTERS = 32 * 2**20
MARK = re.compile(r" #([0-9a-f]{32})$")


def marked(text: str, mark: str) -> str:
    """The text of a query that can be found again by its mark."""
    return f"{text[:500]} #{mark}"


@dataclass(frozen=True, slots=True)
class Record:
    """A charge, as analysts and curators see it; `released` once its answer is in the ledger."""

    charge: Charge
    budget: str
    mark: str | None
    released: bool = False

    @property
    def query(self) -> str:
        return MARK.sub("", self.charge.query)


@dataclass
class History:
    """The charges of a ledger, by id, by analyst and by question.

    Several services may share a ledger: each sees the releases of the others at its next look.
    Short answers are held in memory, the others, and the oldest, are read from the ledger again.
    """

    ledger: Ledger
    refusals: dict[str, int] = field(default_factory=dict)
    _records: dict[str, Record] = field(default_factory=dict)
    _by_mark: dict[str, str] = field(default_factory=dict)
    _answers: "OrderedDict[str, str]" = field(default_factory=OrderedDict)
    _held: int = 0
    _head: Head = START
    _looks: int = 0
    _looking: threading.Lock = field(default_factory=threading.Lock)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def follow(self) -> None:
        """Takes in what was written until now; callers at the same time share one look.

        A look that began after a call has seen all that was written before it.  Of those that are
        behind a caller when its turn comes, the last may have begun before it called.
        """
        before = self._looks
        with self._looking:
            if self._looks >= before + 2:
                return
            last = self._head
            self._take(last, *self.ledger.entries_after(last))
            self._looks += 1

    def charge(
        self, wanted: Sequence[tuple[Account, Cost, str | None]]
    ) -> list[str | BaseException]:
        """Charges for questions, unless one was answered meanwhile, in one look at the ledger.

        Args:
            wanted: who pays, what, and the mark of the question if a recorded answer will do.

        Returns:
            For each the id of the charge, or why there is none: `Unwanted` if it was answered.
        """
        last = self._head

        def look(entries: list[Entry], head: Head) -> set[int]:
            self._take(last, entries, head)
            return {i for i, (_, _, mark) in enumerate(wanted) if mark in self._by_mark}

        charges = [(account, cost) for account, cost, _ in wanted]
        return self.ledger.charge_all(charges, last=last, look=look)

    def _take(self, last: Head, entries: list[Entry], head: Head) -> None:
        """Takes in the entries from one head to another, unless another look was faster."""
        with self._mutex:
            if self._head != last:
                entries = [each for each in entries if Head.parse(each.id).seq > self._head.seq]
            for entry in entries:
                self._add(entry)
            self._head = max(self._head, head)

    def released(self, mark: str) -> tuple[Record, str] | None:
        """The charge and the JSON of the release that answered a question, if there is one."""
        self.follow()
        return self.answered(mark)

    def answered(self, mark: str) -> tuple[Record, str] | None:
        """The same, as of the last look."""
        charge = self._by_mark.get(mark)
        return None if charge is None else (self._records[charge], self.answer(charge))

    def record(self, charge: str) -> Record | None:
        """The charge of an id."""
        self.follow()
        return self._records.get(charge)

    def records(self, analyst: str | None = None) -> list[Record]:
        """The charges of one analyst, or of all, newest first."""
        self.follow()
        with self._mutex:
            found = list(self._records.values())
        return [r for r in reversed(found) if analyst is None or r.charge.analyst == analyst]

    def answer(self, charge: str) -> str:
        """The JSON of a release."""
        with self._mutex:
            if charge in self._answers:
                self._answers.move_to_end(charge)
                return self._answers[charge]
        return self.ledger.answer(charge)

    def answers(self, charges: Sequence[str]) -> dict[str, str]:
        """The JSON of several releases; those that are not held are read in one transaction."""
        with self._mutex:
            held = {each: self._answers[each] for each in charges if each in self._answers}
        old = [each for each in charges if each not in held]
        return held | dict(zip(old, self.ledger.answers(old) if old else [], strict=True))

    def _add(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.CHARGE:
                charge = Charge.of(entry)
                found = MARK.search(charge.query)
                mark = found[1] if found else None
                self._records[entry.id] = Record(charge, entry.budget, mark)
            case Kind.ANSWER if entry.details:  # else it belongs to another role
                self._keep(str(entry.details["charge"]), str(entry.details["answer"]))
            case Kind.REFUSAL:
                who = str(entry.details.get("analyst", ""))
                self.refusals[who] = self.refusals.get(who, 0) + 1 + entry.details.get("repeats", 0)

    def _keep(self, charge: str, answer: str) -> None:
        record = self._records.get(charge)
        if record is None or record.released:  # the first answer counts, as in the ledger
            return
        self._records[charge] = replace(record, released=True)
        if record.mark is not None:
            self._by_mark[record.mark] = charge
        self._answers[charge] = answer
        self._held += len(answer)
        while self._held > MOST_CHARACTERS:
            self._held -= len(self._answers.popitem(last=False)[1])


class NotFound(DampenError):
    """The object does not exist, or is hidden from the caller."""


@dataclass
class Catalogue:
    """The data sets of a service, who may ask them, and what was asked."""

    configuration: Configuration
    history: History
    _accounts: dict[str, list[tuple[Account, Neighbours]]] = field(default_factory=dict)

    @property
    def sets(self) -> Sequence[Served]:
        """All data sets."""
        return list(self.configuration.sets.values())

    def served(self, caller: Token, name: str) -> Served:
        """A data set that a caller may ask.

        Raises:
            NotFound: if there is no such data set for this caller.
        """
        found = self.configuration.sets.get(name)
        if found is None or not _allows(found, caller):
            raise NotFound(f"There is no data set {name[:100]!r} for you. Nothing was charged.")
        return found

    def is_open(self, name: str) -> bool:
        """Whether the budgets of a data set were looked at before, so that the ledger need not."""
        return name in self._accounts

    def accounts(
        self, served: Served, caller: Token, budget: str | None
    ) -> list[tuple[Account, Neighbours]]:
        """The budgets that may pay for a caller, each with its relation, which never changes.

        Raises:
            ParameterError: if a budget was named that the data set does not have.
            BudgetError: if the budgets of the data set are for different relations.
        """
        if served.name not in self._accounts:
            opened = [self._account(served, each) for each in served.budgets]
            _check_one_relation(served, opened)
            self._accounts[served.name] = opened
        found = [
            (account.by(caller.analyst), relation)
            for account, relation in self._accounts[served.name]
            if budget is None or account.name == budget
        ]
        if not found:
            raise ParameterError(
                f"Data set {served.name!r} has no budget {str(budget)[:100]!r}. Choose one of "
                f"{', '.join(served.budgets)}."
            )
        return found

    def _account(self, served: Served, budget: str) -> tuple[Account, Neighbours]:
        ledger = self.configuration.ledger
        account = Account(ledger, budget, "", served.name, served.source.place)
        return account, ledger.neighbours(budget)

    def datasets(self, caller: Token) -> list[dict[str, Any]]:
        """The public facts of what a caller may ask."""
        return [
            {"name": served.name, **served.shown(), "budgets": self._budgets(served, caller)}
            for served in self._allowed(caller)
        ]

    def budgets(self, caller: Token) -> list[dict[str, Any]]:
        """The budgets of what a caller may ask, each once."""
        found = [each for served in self._allowed(caller) for each in self._budgets(served, caller)]
        return list({each["name"]: each for each in found}.values())

    def release(self, caller: Token, charge: str) -> dict[str, Any]:
        """A release by the id of its charge: the caller's own, and for a curator any."""
        record = self.history.record(charge)
        if record is None or not (_is_curator(caller) or record.charge.analyst == caller.analyst):
            raise NotFound(f"You have no release {charge}.")
        if not record.released:
            raise NotFound(
                f"The charge {charge} stands, but it has no answer: the answer is still being "
                "drawn, or could not be drawn."
            )
        return _shown_record(record) | {"release": json.loads(self.history.answer(charge))}

    def releases(self, caller: Token, *, limit: int, skip: int) -> list[dict[str, Any]]:
        """The caller's own charges, newest first, each with its answer."""
        own = self.history.records(caller.analyst)[skip : skip + limit]
        kept = self.history.answers([each.charge.id for each in own if each.released])
        releases = {charge: json.loads(answer) for charge, answer in kept.items()}
        return [_shown_record(each) | {"release": releases.get(each.charge.id)} for each in own]

    def activity(self) -> dict[str, Any]:
        """What a curator sees: every charge, without its answer, and refusals per analyst."""
        records = self.history.records()
        return {
            "charges": [_shown_record(each) for each in records],
            "refusals": dict(self.history.refusals),
        }

    def serve(self, served: Served) -> None:
        """Adds a data set, or puts it in the place of the one of its name."""
        sets = {**self.configuration.sets, served.name: served}
        self.configuration = replace(self.configuration, sets=sets)
        self._accounts.pop(served.name, None)

    def _allowed(self, caller: Token) -> list[Served]:
        return [served for served in self.sets if _allows(served, caller)]

    def _budgets(self, served: Served, caller: Token) -> list[dict[str, Any]]:
        ledger = self.configuration.ledger
        protects = served.schema.protected
        return [shown_balance(ledger.balance(name), caller, protects) for name in served.budgets]


def _check_one_relation(served: Served, accounts: Sequence[tuple[Account, Neighbours]]) -> None:
    found = {str(relation): account.name for account, relation in accounts}
    if len(found) > 1:
        told = ", ".join(f"{name!r} ({relation})" for relation, name in found.items())
        raise BudgetError(
            f"The data set {served.name!r} has budgets of different relations: {told}. The same "
            f"rows need one relation. The facts say {served.schema.relation}: list budgets for "
            "that alone."
        )
    for account, _ in accounts:
        if (balance := account.balance).unit not in ("", served.schema.unit_name):
            raise BudgetError(
                f"Budget {balance.name!r} protects {balance.protects}, and the facts of the data "
                f"set {served.name!r} protect {served.schema.protected}. List a budget for that."
            )


def payer(accounts: Sequence[tuple[Account, Neighbours]], asked: Neighbours) -> Account:
    """The first budget of the same relation, else the first that has a conversion.

    Raises:
        BudgetError: if there is none.
    """
    for account, own in accounts:
        if own is asked:
            return account
    for account, own in accounts:
        if (asked, own) in STEPS:
            return account
    raise BudgetError(
        f"The data set has no budget for {asked} neighbours. Nothing was charged, no data was read."
    )


def shown_balance(balance: Balance, caller: Token, protects: str) -> dict[str, Any]:
    """A budget as JSON, for one caller; `protects` says in words whom it protects."""
    limit = balance.limit
    used = spent(balance)
    cap = balance.cap(caller.analyst)
    own = balance.by(caller.analyst)
    return {
        "name": balance.name,
        "neighbours": str(balance.neighbours),
        "protects": protects,
        "epsilon": decimal_text(limit.epsilon),
        "delta": None if limit.delta is None else decimal_text(limit.delta),
        "spent": short_text(used, up=True),
        "left": short_text(limit.epsilon - used, up=False),
        "status": str(balance.status),
        "largest": None if balance.largest is None else decimal_text(balance.largest),
        "your_cap": None if cap is None else decimal_text(cap.epsilon),
        "spent_by_you": None if own.epsilon is None else short_text(own.epsilon, up=True),
    }


def _allows(served: Served, caller: Token) -> bool:
    if served.analysts is None or _is_curator(caller):
        return True
    return folded(caller.analyst) in map(folded, served.analysts)


def _is_curator(caller: Token) -> bool:
    return caller.role is Role.CURATOR


def _shown_record(record: Record) -> dict[str, Any]:
    charge = record.charge
    return {
        "charge": charge.id,
        "time": charge.time.isoformat(timespec="seconds"),
        "budget": record.budget,
        "dataset": charge.dataset,
        "analyst": charge.analyst,
        "query": record.query,
        "mechanism": charge.mechanism,
        "epsilon": None if charge.epsilon is None else decimal_text(charge.epsilon),
        "released": record.released,
    }
