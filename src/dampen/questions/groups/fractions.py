"""Exact fractions in arrays: numpy has integers and floats, and a float must not decide here.

A fraction is whole + rest / of with 0 <= rest < of < 2^45.  Two different fractions with such
denominators differ by more than 2^-90, so the first 108 binary digits of rest / of order them as
the fractions themselves; six rounds of long division by 2^18 give these digits in 64-bit integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray

DIGITS = 18
ROUNDS = 3
"""Of long division, for each of two integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Fractions:
    """One exact number per entry: whole + rest / of."""

    whole: IntArray
    rest: IntArray
    of: IntArray

    @classmethod
    def ratio(cls, numerator: IntArray, denominator: IntArray) -> "Fractions":
        """numerator / denominator, for denominators from 1 to 2^45."""
        whole, rest = np.divmod(numerator, denominator)
        return cls(whole, rest, denominator)

    def __len__(self) -> int:
        return len(self.whole)

    def plus(self, number: IntArray) -> "Fractions":
        return Fractions(self.whole + number, self.rest, self.of)

    def subtracted_from(self, number: int) -> "Fractions":
        """number - self."""
        whole = number - self.whole - (self.rest > 0)
        return Fractions(whole, np.where(self.rest > 0, self.of - self.rest, 0), self.of)

    def ordinals(self) -> tuple[IntArray, IntArray, IntArray]:
        """Three integers per number, the most significant first: their order is the numbers'."""
        first, rest = self._digits(self.rest)
        second, _ = self._digits(rest)
        return self.whole, first, second

    def _digits(self, rest: IntArray) -> tuple[IntArray, IntArray]:
        """The next digits of a rest, and what is left after them."""
        digits = np.zeros_like(rest)
        for _ in range(ROUNDS):
            next_digits, rest = np.divmod(rest << DIGITS, self.of)
            digits = (digits << DIGITS) | next_digits
        return digits, rest

    def best(self) -> "Fractions":
        """The largest number of every row of a two-dimensional array."""
        leads = np.ones(self.whole.shape, dtype=np.bool_)
        for key in self.ordinals():
            largest = np.where(leads, key, -1).max(axis=1, keepdims=True)
            leads &= key == largest
        chosen = (np.arange(len(leads)), leads.argmax(axis=1))
        return Fractions(self.whole[chosen], self.rest[chosen], self.of[chosen])

    def where(self, condition: NDArray[np.bool_], otherwise: int) -> "Fractions":
        """Self where the condition holds, a whole number elsewhere."""
        whole = np.where(condition, self.whole, otherwise)
        return Fractions(whole, np.where(condition, self.rest, 0), self.of)

    def taken(self, index: IntArray) -> "Fractions":
        return Fractions(self.whole[index], self.rest[index], self.of[index])

    @classmethod
    def joined(cls, parts: "Sequence[Fractions]") -> "Fractions":
        return cls(
            np.concatenate([part.whole for part in parts]),
            np.concatenate([part.rest for part in parts]),
            np.concatenate([part.of for part in parts]),
        )
