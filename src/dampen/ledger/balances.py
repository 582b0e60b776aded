"""A budget as it stands: its limits, its status, what was spent and by whom.

Sums of ε and of ρ are exact for all practical purposes, never too low, never too long.  A sum of
fractions whose denominators have nothing in common grows by a denominator with each of them; a few
hundred hostile charges would make every later sum slow.  A sum stays exact while the least common
multiple of its denominators has at most 400 digits, which holds for any number of decimals, and for
thirds, sevenths and their like; beyond, it is rounded *up* to a multiple of 10^-200.  The result
depends on the order of the charges only, so everyone who adds up a ledger gets the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import lcm

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.ledger.log import folded
from dampen.ledger.zcdp import epsilon_at
from dampen.printing import html_table

__all__ = ["EVERYONE", "Balance", "Limit", "Spent", "Status", "Total", "balances_html", "spent"]

EVERYONE = "*"
"""Who a cap is for that holds for each analyst without an own one."""

LARGEST_DENOMINATOR = 10**400
GRID = 10**200


@dataclass(slots=True)
class Total:
    """A sum of fractions over a common denominator: a million additions take a second."""

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

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of all ε; None once a charge was made that has no pure ε."""
        return self._epsilon.value if self.pure else None

    @property
    def rho(self) -> Fraction:
        """The sum of all ρ."""
        return self._rho.value

    def sums(self) -> tuple[int, int, int, int]:
        """Numerators and denominators of both sums, as they are kept: later sums depend on them."""
        return (
            self._epsilon.numerator,
            self._epsilon.denominator,
            self._rho.numerator,
            self._rho.denominator,
        )

    def add(self, epsilon: Fraction | None, rho: Fraction) -> None:
        """Adds a charge."""
        if epsilon is None:
            self.pure = False
        else:
            self._epsilon.add(epsilon)
        self._rho.add(rho)
        self.charges += 1

    def joined(self, other: "Spent") -> "Spent":
        """What was charged here and there."""
        both = replace(self, _epsilon=replace(self._epsilon), _rho=replace(self._rho))
        both.pure = self.pure and other.pure
        both.charges += other.charges
        both._epsilon.add(other._epsilon.value)
        both._rho.add(other._rho.value)
        return both

    def plus(self, epsilon: Fraction | None, rho: Fraction) -> "Spent":
        """What will have been charged after one more charge."""
        after = Spent(self.pure, self.charges, replace(self._epsilon), replace(self._rho))
        after.add(epsilon, rho)
        return after


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


def spent(balance: Balance) -> Fraction:
    """The ε of all that was spent: the sum or, with δ, the least of what can be said."""
    limit = balance.limit
    pure = balance.spent.epsilon
    rho = balance.spent.rho
    if limit.delta is None or limit.rho is None:
        assert pure is not None
        return pure
    bounds = [epsilon_at(rho, limit.delta)]
    bounds += [] if pure is None else [pure]
    bounds += [limit.epsilon] if rho <= limit.rho else []
    return min(bounds)


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
