"""Sums of ε and of ρ: exact for all practical purposes, never too low, never too long.

A sum of fractions whose denominators have nothing in common grows by a denominator with each of
them; a few hundred hostile charges would make every later sum slow.  A sum stays exact while the
least common multiple of its denominators has at most 400 digits, which holds for any number of
decimals, and for thirds, sevenths and their like; beyond, it is rounded *up* to a multiple of
10^-200.  The result depends on the order of the charges only, so everyone who adds up a ledger gets
the same.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

__all__ = ["Spent", "Total"]

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
