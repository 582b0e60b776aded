"""What the entries of a ledger add up to: every budget with its limits and what was spent of it.

- `State`: the state of a ledger; `saved` and `loaded` are for its checkpoints.
- `Balance`: a budget as it stands: its limits (`Limit`), its status, what was spent (`Spent`) and
  by whom.
- `Refusals`: the refusals of a day, of which most are counted and not recorded.

The state is a fold over the log: every total is what the entries add up to.  A process that opens a
ledger begins with its last checkpoint, adds up the entries behind it, checking every digest on the
way, and from then on only those that are new.

**Checkpoints** are entries of the log that hold all totals; opening reads only what follows.  The
digest of a checkpoint is part of the chain: the head, which also lies in the head file, vouches
for the totals in the last one as it vouches for every entry.  An older entry that was edited cannot
change a total; it is found when the whole log is verified (`verify`), where each checkpoint must
be what the entries before it add up to.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import lcm
from typing import Any, Self, TypeAlias

from dampen.core.losses import Loss, composed_epsilon, rho_of
from dampen.core.selection import Neighbours
from dampen.core.zcdp import epsilon_at, rho_within
from dampen.epsilon import decimal_text, short_text
from dampen.ledger.log import (
    START,
    Charge,
    Draft,
    Head,
    Kind,
    Row,
    damaged,
    folded,
    key_of,
    sealed,
    stamp,
)
from dampen.printing import html_table
from dampen.schema.schema import protected

__all__ = [
    "EVERYONE",
    "Balance",
    "Limit",
    "Refusals",
    "Spent",
    "State",
    "Status",
    "Total",
    "balances_html",
    "composed",
    "loaded",
    "saved",
    "spent",
]

EVERYONE = "*"
"""Who a cap is for that holds for each analyst without an own one."""

LARGEST_DENOMINATOR = 10**400
MOST_COMPOSED = 20_000
"""Charges that are composed numerically."""
CHEAPER = Fraction(4, 5)
"""A charge whose ρ is below this part of the ρ of its losses is composed by its ρ.

At δ = 10^-6 a sum by ρ is as large as one by losses whose ρ is a quarter more.
"""
GRID = 10**200


@dataclass(slots=True)
class Total:
    """A sum of fractions over a common denominator: a million additions take a second.

    Sums of ε and of ρ are exact for all practical purposes, never too low, never too long.  A sum
    of fractions whose denominators have nothing in common grows by a denominator with each of them;
    a few hundred hostile charges would make every later sum slow.  A sum stays exact while the
    least common multiple of its denominators has at most 400 digits, which holds for any number of
    decimals, and for thirds, sevenths and their like; beyond, it is rounded *up* to a multiple of
    10^-200.  The result depends on the order of the charges only, so everyone who adds up a ledger
    gets the same.
    """

    numerator: int = 0
    denominator: int = 1

    def add(self, cost: Fraction) -> None:
        """Adds a cost, or a little above it."""
        n, d = cost.as_integer_ratio()
        if self.denominator % d:
            self._rescale(lcm(self.denominator, d))
        if self.denominator % d:  # it was rounded: d does not divide the grid
            n = -(-n * self.denominator // d)
            d = self.denominator
        self.numerator += n * (self.denominator // d)

    @property
    def value(self) -> Fraction:
        return Fraction(self.numerator, self.denominator)

    def _rescale(self, denominator: int) -> None:
        if denominator > LARGEST_DENOMINATOR:
            self.numerator = -(-self.numerator * GRID // self.denominator)
            self.denominator = GRID
        else:
            self.numerator *= denominator // self.denominator
            self.denominator = denominator


@dataclass(slots=True)
class Spent:
    """What was charged so far.

    Attributes:
        pure: whether every charge had an ε; if not, there is no sum of ε.
        charges: how many.
    """

    pure: bool = True
    charges: int = 0
    _epsilon: Total = field(default_factory=Total)
    _rho: Total = field(default_factory=Total)
    _delta: Total = field(default_factory=Total)

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of all ε; None once a charge was made that has no pure ε."""
        return self._epsilon.value if self.pure else None

    @property
    def rho(self) -> Fraction:
        """The sum of all ρ."""
        return self._rho.value

    @property
    def delta(self) -> Fraction:
        """The sum of all δ."""
        return self._delta.value

    def sums(self) -> list[int]:
        """Numerators and denominators of the sums, as they are kept: later sums depend on them.

        Those of δ are left out where no charge had one.
        """
        kept = [self._epsilon, self._rho, *([self._delta] if self._delta.numerator else [])]
        return [number for total in kept for number in (total.numerator, total.denominator)]

    def add(self, epsilon: Fraction | None, rho: Fraction, delta: Fraction = Fraction(0)) -> None:
        """Adds a charge."""
        if delta:
            self._delta.add(delta)
        if epsilon is None:
            self.pure = False
        else:
            self._epsilon.add(epsilon)
        self._rho.add(rho)
        self.charges += 1

    def joined(self, other: "Spent") -> "Spent":
        """What was charged here and there."""
        both = self._copied()
        both.pure = self.pure and other.pure
        both.charges += other.charges
        both._epsilon.add(other._epsilon.value)
        both._rho.add(other._rho.value)
        both._delta.add(other._delta.value)
        return both

    def plus(
        self, epsilon: Fraction | None, rho: Fraction, delta: Fraction = Fraction(0)
    ) -> "Spent":
        """What will have been charged after one more charge."""
        after = self._copied()
        after.add(epsilon, rho, delta)
        return after

    def _copied(self) -> "Spent":
        totals = (replace(each) for each in (self._epsilon, self._rho, self._delta))
        return Spent(self.pure, self.charges, *totals)


class Status(StrEnum):
    """Whether a budget pays."""

    OPEN = "open"
    FROZEN = "frozen"
    RESTORED = "restored"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Limit:
    """How much may be spent: ε in all or, with δ, as much as ρ-zCDP allows at half of it.

    **Charges with a δ.**  A budget of (ε, δ) has δ in two halves: one pays for releases that have a
    δ of their own, the other for reading ρ as ε (`dampen.core.zcdp`).  It covers what was spent if
    Σδ <= δ/2, and Σε <= ε or Σρ <= ρ(ε, δ/2).

    **Theorem.**  Such a budget is (ε, δ)-DP, however charges follow from earlier answers.  Proof.
    An (ε_i, δ_i)-DP release that costs ρ_i answers, but for an event E_i of probability δ_i under
    either law, by laws that are ε_i-DP to each other; and but for an event that is a part of E_i by
    laws that are ρ_i-zCDP (Kairouz, Oh and Viswanath 2015; E_i itself, or a threshold that fails,
    where ε_i was read from ρ_i).  As Σδ <= δ/2 on every path, some E_i happens with probability at
    most δ/2.  Otherwise transcripts have, but for a factor Π (1 - δ_i) that is the same under both
    laws, the chances of those of releases without a δ, which are (ε, δ/2)-DP by the theorem of
    `dampen.core.zcdp`. ∎

    *Why halves that are fixed beforehand.*  Whether to use δ in this way or in the other may be
    decided by answers.  With one δ for both, 8 answers by randomised response at ε_i = 0.124, then
    by their number Gaussian noise or one answer that tells all with probability δ, cost 1.17 δ at
    ε = 1, δ = 0.01 (`tests/ledger/test_delta.py`).
    """

    epsilon: Fraction
    delta: Fraction | None = None
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction | None = None) -> Self:
        """A limit with the ρ that follows from ε and δ."""
        return cls(epsilon, delta, None if delta is None else rho_within(epsilon, delta / 2))

    def covers(self, spent: Spent) -> bool:
        """Whether so much may be spent; see the class for charges with a δ."""
        pure = spent.epsilon is not None and spent.epsilon <= self.epsilon
        if self.delta is None or self.rho is None:
            return pure and not spent.delta
        pays = pure or spent.rho <= self.rho
        if not spent.delta:
            return pays
        return pays and self.keeps_half and spent.delta <= self.delta / 2

    @property
    def keeps_half(self) -> bool:
        """Whether half of δ is free for releases that have one; 0.2 took all of it for zCDP."""
        if self.delta is None or self.rho is None:
            return False
        return self.rho <= rho_within(self.epsilon, self.delta / 2)


@dataclass(slots=True)
class Balance:
    """One budget.

    Attributes:
        name: as it was created.
        neighbours: the relation that its ε speaks of.
        limit: what may be spent in all.
        dataset: the data set that it belongs to; empty if to none.
        location: a fingerprint of where that data set lies, never of what is in it.
        largest: the largest ε of one question, if there is such a bound.
        trial: whether it was opened to try things out.
        status: whether it pays.
        spent: by all.
        spent_by: by each analyst.
        lost: what was spent after a backup that was restored; nobody knows by whom.
        caps: what single analysts may spend of it, and under `EVERYONE` each of the others.
        unit: where it protects units with all that belongs to them, what one is called, such as
            "patient".  A budget that was opened without a name gets that of its first charge.
    """

    name: str
    neighbours: Neighbours
    limit: Limit
    dataset: str = ""
    location: str = ""
    largest: Fraction | None = None
    trial: bool = False
    status: Status = Status.OPEN
    spent: Spent = field(default_factory=Spent)
    spent_by: dict[str, Spent] = field(default_factory=dict)
    lost: Spent = field(default_factory=Spent)
    caps: dict[str, Limit] = field(default_factory=dict)
    unit: str = ""

    @property
    def protects(self) -> str:
        """Whom its ε protects, in words: such as "one patient, with all their rows"."""
        return protected(self.neighbours, self.unit)

    def by(self, analyst: str) -> Spent:
        """What one analyst has spent at most: what was lost in a restore may all be theirs."""
        return self.spent_by.get(folded(analyst), Spent()).joined(self.lost)

    def cap(self, analyst: str) -> Limit | None:
        """What one analyst may spend, if not all of it."""
        return self.caps.get(folded(analyst), self.caps.get(EVERYONE))


def spent(balance: Balance) -> Fraction:
    """The ε of all that was spent: the sum or, with δ, the least of what can be said."""
    limit = balance.limit
    pure = balance.spent.epsilon
    rho = balance.spent.rho
    if limit.delta is None or limit.rho is None:
        assert pure is not None
        return pure
    left = min(limit.delta / 2, limit.delta - balance.spent.delta)
    bounds = [] if left <= 0 else [epsilon_at(rho, left)]
    bounds += [] if pure is None else [pure]
    bounds += [limit.epsilon] if limit.covers(balance.spent) else []
    return min(bounds)


def composed(balance: Balance, charges: Iterable[Charge]) -> Fraction:
    """The ε of all that was spent if all was fixed beforehand: see `Ledger.composed`."""
    used = spent(balance)
    left = (balance.limit.delta or 0) - balance.spent.delta
    if left <= 0:
        return used
    losses: list[Loss] = []
    others = Total()
    others.add(balance.lost.rho)
    for each in charges:
        parts = _parts(each)
        if each.rho < CHEAPER * rho_of(parts) or not parts:
            others.add(each.rho)
        else:
            losses += parts
    if sum(each.times for each in losses) > MOST_COMPOSED:
        return used
    return min(used, composed_epsilon(losses, left, others.value))


def _parts(charge: Charge) -> tuple[Loss, ...]:
    """What a charge loses; nothing is known of one without an ε but its ρ."""
    return charge.losses or (() if charge.epsilon is None else (Loss(charge.epsilon),))


def balances_html(balances: Iterable[Balance]) -> str:
    """A table for notebooks, one row per budget; rounded numbers are marked, names are escaped."""
    titles = ["budget", "neighbours", "ε", "δ", "spent", "left", "status"]
    return html_table(titles, map(_cells, balances))


def _cells(balance: Balance) -> list[str]:
    limit = balance.limit
    used = spent(balance)
    return [
        f"{balance.name} (trial)" if balance.trial else balance.name,
        str(balance.neighbours),
        decimal_text(limit.epsilon),
        "" if limit.delta is None else decimal_text(limit.delta),
        short_text(used, up=True),
        short_text(limit.epsilon - used, up=False),
        str(balance.status),
    ]


def saved(budgets: Mapping[str, Balance]) -> dict[str, Any]:
    """All budgets as JSON, for a checkpoint (`state`)."""
    return {key: _balance_content(balance) for key, balance in budgets.items()}


def loaded(content: Mapping[str, Any]) -> dict[str, Balance]:
    """The budgets in what `saved` wrote."""
    return {key: _balance(each) for key, each in content.items()}


def _balance_content(balance: Balance) -> dict[str, Any]:
    return {
        "name": balance.name,
        "neighbours": balance.neighbours.value,
        "limit": _limit_content(balance.limit),
        "dataset": balance.dataset,
        "location": balance.location,
        "largest": _text(balance.largest),
        "trial": balance.trial,
        "status": balance.status.value,
        "spent": _spent_content(balance.spent),
        "spent_by": {who: _spent_content(spent) for who, spent in balance.spent_by.items()},
        "lost": _spent_content(balance.lost),
        "caps": {who: _limit_content(cap) for who, cap in balance.caps.items()},
        **({"unit": balance.unit} if balance.unit else {}),
    }


def _balance(saved: Mapping[str, Any]) -> Balance:
    return Balance(
        name=saved["name"],
        neighbours=Neighbours(saved["neighbours"]),
        limit=_saved_limit(saved["limit"]),
        dataset=saved["dataset"],
        location=saved["location"],
        largest=_number(saved["largest"]),
        trial=saved["trial"],
        status=Status(saved["status"]),
        spent=_spent(saved["spent"]),
        spent_by={who: _spent(spent) for who, spent in saved["spent_by"].items()},
        lost=_spent(saved["lost"]),
        caps={who: _saved_limit(cap) for who, cap in saved["caps"].items()},
        unit=saved.get("unit", ""),
    )


def _limit_content(limit: Limit) -> list[str]:
    return [_text(limit.epsilon), _text(limit.delta), _text(limit.rho)]


def _saved_limit(saved: list[str]) -> Limit:
    epsilon, delta, rho = saved
    return Limit(Fraction(epsilon), _number(delta), _number(rho))


def _spent_content(spent: Spent) -> list[Any]:
    return [spent.pure, spent.charges, *spent.sums()]


def _spent(saved: list[Any]) -> Spent:
    pure, charges, *sums = saved
    numbers = list(map(int, sums))
    totals = [Total(*numbers[i : i + 2]) for i in range(0, len(numbers), 2)]
    return Spent(bool(pure), int(charges), *totals)


def _text(value: Fraction | None) -> str:
    return "" if value is None else decimal_text(value)


def _number(text: str) -> Fraction | None:
    return Fraction(text) if text else None


CHECKPOINT_EVERY = 4096
"""Entries from one checkpoint to the next."""

MOST_RECENT = 1024
LONGEST_RECENT = 2**16
"""Entries that are held, and their characters: a longer one is not, nor are those before it."""

UNREADABLE = (ValueError, KeyError, TypeError, ZeroDivisionError, AttributeError)
"""What reading an entry raises that says what no entry can say."""


IN_FULL = 10
"""Refusals that are alike and recorded one by one, each day."""

MOST_ANALYSTS = 100
"""Names of analysts that are counted apart, for each budget and day; the others share a count."""

_Alike: TypeAlias = tuple[str, str, str]


@dataclass(slots=True)
class Refusals:
    """How often was refused today, and how many of these refusals are in no entry.

    Refusals cost nothing, so an analyst without budget could fill a disk with them.  Those of one
    analyst, by one budget and for one reason, are alike.  Of those that are alike the first 10 of a
    day are recorded, then the 16th, the 32nd and so on; each entry says how many were not recorded
    since the last one (`repeats`).  So n refusals a day make at most 10 + log2(n) entries, and an
    audit sees who was refused, why, when it began and, within a factor of two, how often.  A
    process that ends forgets the repeats that it has not recorded yet.
    """

    day: str = ""
    counts: dict[_Alike, int] = field(default_factory=dict)
    analysts: dict[str, set[str]] = field(default_factory=dict)
    unrecorded: dict[_Alike, int] = field(default_factory=dict)

    def add(self, budget: str, details: Mapping[str, Any]) -> None:
        """Counts a refusal that is in the log, with those that it stands for."""
        alike = self._alike(budget, details)
        before = self.counts.get(alike, 0)
        # This process has counted its own repeats already.
        others = max(0, int(details.get("repeats", 0)) - self.unrecorded.pop(alike, 0))
        self.counts[alike] = before + others + 1

    def entry(self, draft: Draft) -> Draft | None:
        """The entry of a refusal; None if it is only counted."""
        alike = self._alike(draft.budget, draft.details)
        count = self.counts.get(alike, 0) + 1
        repeats = self.unrecorded.get(alike, 0)
        if count > IN_FULL and count.bit_count() != 1:
            self.counts[alike] = count
            self.unrecorded[alike] = repeats + 1
            return None
        if not repeats:
            return draft
        return replace(draft, details={**draft.details, "repeats": repeats})

    def _alike(self, budget: str, details: Mapping[str, Any]) -> _Alike:
        day = str(details.get("time", ""))[:10]
        if day > self.day:
            self.day = day
            self.counts.clear()
            self.analysts.clear()
        who = folded(str(details.get("analyst", "")))
        known = self.analysts.setdefault(budget, set())
        if who not in known and len(known) >= MOST_ANALYSTS:
            who = "*"
        known.add(who)
        return budget, who, str(details.get("rule", ""))


@dataclass(slots=True)
class State:
    """All budgets, as of one head of the log.

    Attributes:
        head: the last entry.
        budgets: by the keys of their names.
        refusals: of this day.
        checkpoint: the number of the last checkpoint.
        witness: where the newest head is kept besides; empty if nowhere.
        origin: the digest of the first entry.
        recent: the newest entries, so that who follows the log need not read them again.
    """

    head: Head = START
    budgets: dict[str, Balance] = field(default_factory=dict)
    refusals: Refusals = field(default_factory=Refusals)
    checkpoint: int = 0
    witness: str = ""
    origin: str = ""
    recent: "deque[Row]" = field(default_factory=lambda: deque(maxlen=MOST_RECENT))

    @classmethod
    def resumed(cls, row: Row, before: str) -> Self:
        """The state in a checkpoint that follows an entry of the digest `before`.

        Raises:
            BudgetError: if it does not follow, or cannot be read.
        """
        if not row.follows(Head(row.seq - 1, before)):
            raise damaged(f"entry {row.seq} is missing or was changed")
        try:
            details = json.loads(row.content)
            budgets = loaded(details["budgets"])
            witness = str(details["witness"])
            origin = str(details["origin"])
        except UNREADABLE:
            raise damaged(f"entry {row.seq} cannot be read") from None
        head = Head(row.seq, row.digest)
        return cls(head, budgets, checkpoint=row.seq, witness=witness, origin=origin)

    def summary(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        budgets = saved(self.budgets)
        return {"budgets": budgets, "witness": self.witness, "origin": self.origin}

    def checkpoint_due(self) -> Draft | None:
        """The entry of a checkpoint, if enough entries were added since the last one."""
        if self.head.seq - self.checkpoint < CHECKPOINT_EVERY:
            return None
        return Draft(Kind.CHECKPOINT, "", self.summary() | stamp())

    def apply(self, row: Row) -> None:
        """Adds one entry.

        Raises:
            BudgetError: if it does not follow the head, or says what no entry can say.
        """
        before = self.head
        if not row.follows(before):
            raise damaged(f"entry {before.seq + 1} is missing or was changed")
        try:
            details = json.loads(row.content)
            self._add(Kind(row.kind), row.budget, details)
        except UNREADABLE:
            raise damaged(f"entry {row.seq} cannot be read") from None
        self._move_to(row)

    def append(self, draft: Draft) -> Row:
        """Adds an entry that was just made, and gives it its place in the log."""
        row = sealed(draft, self.head)
        if draft.kind is not Kind.ANSWER:  # which is long, and changes no balance
            self._add(draft.kind, draft.budget, draft.details)
        self._move_to(row)
        return row

    def _move_to(self, row: Row) -> None:
        self.head = Head(row.seq, row.digest)
        self.origin = self.origin or row.digest
        if len(row.content) > LONGEST_RECENT:
            self.recent.clear()
        else:
            self.recent.append(row)

    def rows_after(self, last: Head) -> list[Row] | None:
        """The entries behind a head that was seen before; None if they are not all held."""
        first = len(self.recent) - (self.head.seq - last.seq)
        if last == self.head:
            return []
        if first < 1 or last != _head_of(self.recent[first - 1]):
            return None
        return list(islice(self.recent, first, None))

    def _add(self, kind: Kind, budget: str, details: Mapping[str, Any]) -> None:
        match kind:
            case Kind.CHARGE:
                _charge(self.budgets[budget], details)
            case Kind.CREATE:
                if budget in self.budgets or budget != key_of(details["name"]):
                    raise ValueError
                self.budgets[budget] = _created(details)
            case Kind.RAISE:
                self.budgets[budget].limit = _limit(details)
            case Kind.CAP:
                self.budgets[budget].caps[folded(details["analyst"])] = _limit(details)
            case Kind.FREEZE | Kind.CLOSE | Kind.THAW:
                balance = self.budgets[budget]
                balance.status = _STATUS[kind]
                if kind is Kind.THAW and details["rho"]:
                    balance.spent.add(*_costs(details))
                    balance.lost.add(*_costs(details))
            case Kind.CHECKPOINT:
                _check_summary(details, self.summary())
                self.checkpoint = self.head.seq + 1
            case Kind.WITNESS:
                self.witness = details["place"]
            case Kind.REFUSAL:
                self.refusals.add(budget, details)
            case Kind.RESTORE if details["lost"]:
                _freeze(self.budgets.values())


def _head_of(row: Row) -> Head:
    return Head(row.seq, row.digest)


_STATUS = {Kind.FREEZE: Status.FROZEN, Kind.THAW: Status.OPEN, Kind.CLOSE: Status.CLOSED}


def _check_summary(details: Mapping[str, Any], summary: dict[str, Any]) -> None:
    if {key: details[key] for key in summary} != summary:
        raise ValueError


def _freeze(balances: Iterable[Balance]) -> None:
    for balance in balances:
        if balance.status is not Status.CLOSED:
            balance.status = Status.RESTORED


def _charge(balance: Balance, details: Mapping[str, Any]) -> None:
    costs = _costs(details)
    who = details["analyst"]
    balance.spent.add(*costs)
    balance.spent_by.setdefault(folded(who), Spent()).add(*costs)
    if balance.neighbours is Neighbours.ADD_REMOVE_UNIT and not balance.unit:
        balance.unit = str(details.get("unit", ""))


def _costs(details: Mapping[str, Any]) -> tuple[Fraction | None, Fraction, Fraction]:
    epsilon = positive(details["epsilon"]) if details["epsilon"] else None
    delta = positive(details["delta"]) if details.get("delta") else Fraction(0)
    return epsilon, positive(details["rho"]), delta


def _created(details: Mapping[str, Any]) -> Balance:
    largest = details["largest"]
    each = details["each"]
    return Balance(
        name=details["name"],
        neighbours=Neighbours(details["neighbours"]),
        limit=_limit(details),
        dataset=details["dataset"],
        location=details["location"],
        largest=positive(largest) if largest else None,
        trial=details.get("trial", False) is True,
        caps={EVERYONE: _limit(each)} if each else {},
        unit=str(details.get("unit", "")),
    )


def _limit(details: Mapping[str, Any]) -> Limit:
    delta = positive(details["delta"]) if details["delta"] else None
    return Limit(
        positive(details["epsilon"]), delta, Fraction(details["rho"]) if delta is not None else None
    )


@lru_cache(maxsize=4096)
def positive(text: str) -> Fraction:
    """An amount of a ledger: whatever the file says, it is above zero."""
    value = Fraction(text)
    if value <= 0:
        raise ValueError
    return value
