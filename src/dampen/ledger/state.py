"""What the entries of a ledger add up to: every budget with its limits and what was spent of it.

The state is a fold over the log: no total is stored anywhere that could differ from the entries.
A process adds up all entries once, when it opens the ledger, checking every digest on the way, and
from then on only those that are new.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dampen.core.selection import Neighbours
from dampen.ledger.log import START, Draft, Head, Kind, Row, damaged, digest_of, sealed
from dampen.ledger.names import folded, key_of
from dampen.ledger.refusals import Refusals
from dampen.ledger.totals import Spent

__all__ = ["EVERYONE", "Balance", "Limit", "State", "Status"]


EVERYONE = "*"
"""Who a cap is for that holds for each analyst without an own one."""


class Status(StrEnum):
    """Whether a budget pays."""

    OPEN = "open"
    FROZEN = "frozen"
    RESTORED = "restored"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Limit:
    """How much may be spent: ε in all or, with δ, as much as ρ-zCDP allows; see `zcdp`."""

    epsilon: Fraction
    delta: Fraction | None = None
    rho: Fraction | None = None

    def covers(self, spent: Spent) -> bool:
        """Whether so much may be spent."""
        pure = spent.epsilon is not None and spent.epsilon <= self.epsilon
        return pure or (self.rho is not None and spent.rho <= self.rho)


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

    def by(self, analyst: str) -> Spent:
        """What one analyst has spent at most: what was lost in a restore may all be theirs."""
        return self.spent_by.get(folded(analyst), Spent()).joined(self.lost)

    def cap(self, analyst: str) -> Limit | None:
        """What one analyst may spend, if not all of it."""
        return self.caps.get(folded(analyst), self.caps.get(EVERYONE))


@dataclass(slots=True)
class State:
    """All budgets, as of one head of the log."""

    head: Head = START
    budgets: dict[str, Balance] = field(default_factory=dict)
    refusals: Refusals = field(default_factory=Refusals)

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
        except (ValueError, KeyError, TypeError, ZeroDivisionError, AttributeError):
            raise damaged(f"entry {row.seq} cannot be read") from None
        self.head = Head(row.seq, row.digest)

    def append(self, draft: Draft) -> Row:
        """Adds an entry that was just made, and gives it its place in the log."""
        row = sealed(draft, self.head)
        if draft.kind is not Kind.ANSWER:  # which is long, and changes no balance
            self._add(draft.kind, draft.budget, json.loads(row.content))
        self.head = Head(row.seq, row.digest)
        return row

    def _add(self, kind: Kind, budget: str, details: dict[str, Any]) -> None:
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
            case Kind.REFUSAL:
                self.refusals.add(budget, details)
            case Kind.RESTORE if details["lost"]:
                for balance in self.budgets.values():
                    if balance.status is not Status.CLOSED:
                        balance.status = Status.RESTORED


_STATUS = {Kind.FREEZE: Status.FROZEN, Kind.THAW: Status.OPEN, Kind.CLOSE: Status.CLOSED}


def _charge(balance: Balance, details: dict[str, Any]) -> None:
    costs = _costs(details)
    who = details["analyst"]
    balance.spent.add(*costs)
    balance.spent_by.setdefault(folded(who), Spent()).add(*costs)


def _costs(details: dict[str, Any]) -> tuple[Fraction | None, Fraction]:
    return positive(details["epsilon"]) if details["epsilon"] else None, positive(details["rho"])


def _created(details: dict[str, Any]) -> Balance:
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


def _limit(details: dict[str, Any]) -> Limit:
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
