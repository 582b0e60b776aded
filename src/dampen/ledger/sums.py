"""Sums of ε and of ρ: exact for all practical purposes, never too low, never too long.

A sum of fractions whose denominators have nothing in common grows by a denominator with each of
them; a few hundred hostile charges would make every later sum slow.  A sum stays exact while its
denominator has at most 400 digits, which holds for any number of decimals, and for thirds, sevenths
and their like; beyond, it is rounded *up* to a multiple of 10^-200.  The result depends on the
order of the charges only, so everyone who adds up a ledger gets the same.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

__all__ = ["Spent", "sum_up"]

LARGEST_DENOMINATOR = 10**400
GRID = 10**200


def sum_up(total: Fraction, cost: Fraction) -> Fraction:
    """`total + cost`, or a little above it."""
    exact = total + cost
    if exact.denominator > LARGEST_DENOMINATOR:
        return Fraction(ceil(exact * GRID), GRID)
    return exact


@dataclass(slots=True)
class Spent:
    """What was charged so far.

    Attributes:
        epsilon: the sum of all ε; None once a charge was made that has no pure ε.
        rho: the sum of all ρ.
        charges: how many.
    """

    epsilon: Fraction | None = field(default_factory=Fraction)
    rho: Fraction = field(default_factory=Fraction)
    charges: int = 0

    def plus(self, epsilon: Fraction | None, rho: Fraction) -> "Spent":
        """What will have been charged after one more charge."""
        pure = self.epsilon is not None and epsilon is not None
        total = sum_up(self.epsilon, epsilon) if pure else None  # type: ignore[arg-type]
        return Spent(total, sum_up(self.rho, rho), self.charges + 1)
