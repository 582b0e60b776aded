"""What the entries of a ledger add up to: every budget with its limits and what was spent of it.

The state is a fold over the log: every total is what the entries add up to.  A process that opens a
ledger begins with its last checkpoint, adds up the entries behind it, checking every digest on the
way, and from then on only those that are new.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Self

from dampen.core.selection import Neighbours
from dampen.ledger import checkpoints
from dampen.ledger.balances import EVERYONE, Balance, Limit, Spent, Status
from dampen.ledger.log import (
    START,
    Draft,
    Head,
    Kind,
    Row,
    damaged,
    digest_of,
    folded,
    key_of,
    sealed,
)
from dampen.ledger.refusals import Refusals

__all__ = ["State"]


MOST_RECENT = 1024
LONGEST_RECENT = 2**16
"""Entries that are held, and their characters: a longer one is not, nor are those before it."""

UNREADABLE = (ValueError, KeyError, TypeError, ZeroDivisionError, AttributeError)
"""What reading an entry raises that says what no entry can say."""


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
        if row.digest != digest_of(before, *row[:4]):
            raise damaged(f"entry {row.seq} is missing or was changed")
        try:
            details = json.loads(row.content)
            budgets = checkpoints.budgets_of(details)
            witness = str(details["witness"])
            origin = str(details["origin"])
        except UNREADABLE:
            raise damaged(f"entry {row.seq} cannot be read") from None
        head = Head(row.seq, row.digest)
        return cls(head, budgets, checkpoint=row.seq, witness=witness, origin=origin)

    def summary(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        budgets = checkpoints.content(self.budgets)
        return {"budgets": budgets, "witness": self.witness, "origin": self.origin}

    def apply(self, row: Row) -> None:
        """Adds one entry.

        Raises:
            BudgetError: if it does not follow the head, or says what no entry can say.
        """
        before = self.head
        if row.seq != before.seq + 1 or row.digest != digest_of(before.digest, *row[:4]):
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
