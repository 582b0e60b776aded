"""What the entries of a ledger add up to: every budget with its limits and what was spent of it.

The state is a fold over the log: every total is what the entries add up to.  A process that opens a
ledger begins with its last checkpoint, adds up the entries behind it, checking every digest on the
way, and from then on only those that are new.

**Checkpoints** are entries of the log that hold all totals; opening reads only what follows.  The
digest of a checkpoint is part of the chain: the head, which also lies in the head file, vouches
for the totals in the last one as it vouches for every entry.  An older entry that was edited cannot
change a total; it is found when the whole log is verified (`recovery`), where each checkpoint must
be what the entries before it add up to.

**Refusals** cost nothing, so an analyst without budget could fill a disk with them.  Those of one
analyst, by one budget and for one reason, are alike.  Of those that are alike the first 10 of a day
are recorded, then the 16th, the 32nd and so on; each entry says how many were not recorded since
the last one (`repeats`).  So n refusals a day make at most 10 + log2(n) entries, and an audit sees
who was refused, why, when it began and, within a factor of two, how often.  A process that ends
forgets the repeats that it has not recorded yet.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Self, TypeAlias

from dampen.core.selection import Neighbours
from dampen.ledger.balances import EVERYONE, Balance, Limit, Spent, Status, loaded, saved
from dampen.ledger.log import (
    START,
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

__all__ = ["Refusals", "State"]

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
    """How often was refused today, and how many of these refusals are in no entry."""

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
