"""A budget as it stands: its limits, its status, what was spent and by whom.

Sums of ε and of ρ are exact for all practical purposes, never too low, never too long.  A sum of
fractions whose denominators have nothing in common grows by a denominator with each of them; a few
hundred hostile charges would make every later sum slow.  A sum stays exact while the least common
multiple of its denominators has at most 400 digits, which holds for any number of decimals, and for
thirds, sevenths and their like; beyond, it is rounded *up* to a multiple of 10^-200.  The result
depends on the order of the charges only, so everyone who adds up a ledger gets the same.

**Charges with a δ.**  An (ε, δ)-DP release is δ-approximately ε²/2-zCDP; of such releases ρ adds up
and δ adds up, and what is ρ-zCDP with a Σδ in all is (ε', δ' + Σδ)-DP for every δ' > 0 and the ε'
that zCDP has at δ' (Bun and Steinke 2016, section 8).  So a budget of (ε, δ) covers what was spent
if either Σε <= ε and Σδ <= δ, or Σδ < δ and ρ-zCDP gives at most ε at δ - Σδ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import lcm
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.ledger.log import folded
from dampen.ledger.zcdp import epsilon_at
from dampen.printing import html_table

__all__ = [
    "EVERYONE",
    "Balance",
    "Limit",
    "Spent",
    "Status",
    "Total",
    "balances_html",
    "loaded",
    "saved",
    "spent",
]

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
    """How much may be spent: ε in all or, with δ, as much as ρ-zCDP allows; see `zcdp`."""

    epsilon: Fraction
    delta: Fraction | None = None
    rho: Fraction | None = None

    def covers(self, spent: Spent) -> bool:
        """Whether so much may be spent; see the module for charges with a δ."""
        pure = spent.epsilon is not None and spent.epsilon <= self.epsilon
        if pure and spent.delta <= (self.delta or 0):
            return True
        if self.delta is None or self.rho is None:
            return False
        if not spent.delta:
            return spent.rho <= self.rho
        left = self.delta - spent.delta
        return left > 0 and epsilon_at(spent.rho, left) <= self.epsilon


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
    left = limit.delta - balance.spent.delta
    bounds = [] if left <= 0 else [epsilon_at(rho, left)]
    bounds += [] if pure is None else [pure]
    bounds += [limit.epsilon] if limit.covers(balance.spent) else []
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
    }


def _balance(saved: Mapping[str, Any]) -> Balance:
    return Balance(
        name=saved["name"],
        neighbours=Neighbours(saved["neighbours"]),
        limit=_limit(saved["limit"]),
        dataset=saved["dataset"],
        location=saved["location"],
        largest=_number(saved["largest"]),
        trial=saved["trial"],
        status=Status(saved["status"]),
        spent=_spent(saved["spent"]),
        spent_by={who: _spent(spent) for who, spent in saved["spent_by"].items()},
        lost=_spent(saved["lost"]),
        caps={who: _limit(cap) for who, cap in saved["caps"].items()},
    )


def _limit_content(limit: Limit) -> list[str]:
    return [_text(limit.epsilon), _text(limit.delta), _text(limit.rho)]


def _limit(saved: list[str]) -> Limit:
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
