"""A budget as it stands: its limits, its status, what was spent and by whom."""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from dampen.core.selection import Neighbours
from dampen.ledger.names import folded
from dampen.ledger.totals import Spent

__all__ = ["EVERYONE", "Balance", "Limit", "Status"]

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
