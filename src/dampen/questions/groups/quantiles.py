"""The quantile of a group that is public by now, with an interval: for `measure=`.

Three draws by permute-and-flip, each with a
third of its ε: the value aims at the rank p n, the ends of the interval at p n - B and p n + B.  Of
a cell with r rows below it and r' rows up to it, an aim t is max(r - t, t - r', 0) rows off, which
a row changes by at most h = max(p, 1-p); so exp(-ε'/2h) per row off is ε'-DP.  The lower end has
one more candidate, "below all cells", which is max(t, 0) rows off, and the upper end one above all
cells, max(n - t, 0) rows off: there always is a candidate that is 0 rows off.  So a draw from m
candidates is at least B rows off with probability 1 - (1 - exp(-ε' B / 2h))^m at most.

**Theorem.**  With B such that this is α/2, the interval holds the true quantile x with probability
1 - α or more, whatever the data is.  Proof.  At most p n rows are below x and at least p n are up
to x.  If the lower end L were above x, it would have r >= p n rows below it and be at least B rows
off from p n - B; if the upper end were below x, it would have r' <= p n rows up to it and be at
least B rows off from p n + B. ∎
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np

from dampen.core.noise import EXPONENTIAL
from dampen.core.sampling import Entropy, noisy_top
from dampen.core.selection import IntArray, Neighbours
from dampen.data.cells import Grouping, Keyed
from dampen.data.source import Kind, Opened
from dampen.questions.groups.statistics import Grid
from dampen.releases.accuracy import CONFIDENCE, Accuracy, rounded_up
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.numbers import BRACKET, BracketLaw

__all__ = ["QuantileMethod"]

DRAWS = 3
"""The value and both ends of its interval."""


@dataclass(frozen=True)
class QuantileMethod:
    """The quantile of every group with an interval, by three draws by rank.

    Attributes:
        value: the column of numbers.
        by: the column of groups.
        groups: which are measured.
        grid: of the values.
        p: which quantile, from 0 to 1.
    """

    value: str
    by: str
    groups: Sequence[Hashable]
    grid: Grid
    p: Fraction

    def cost(self, price: Price, /) -> Cost:
        return composed_cost(
            Neighbours.ADD_REMOVE_ROW, price, query="measure", mechanism="pf", shares=DRAWS
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        off = rounded_up(self.far(epsilon / DRAWS, 1 - CONFIDENCE))
        sentence = (
            f"In at least {10 * CONFIDENCE:.0f} of 10 runs it is a quantile of its group after at "
            f"most {off:,} rows were added or removed."
        )
        return Accuracy(float(off), "rows per group", sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        keyed = Keyed(
            {self.value: self.grid.key}, itemgetter(self.value), ("nearest", self.value, self.grid)
        )
        wanted: dict[str, Kind] = {self.value: "numbers"}
        grouping = Grouping(list(self.groups))
        counts = grouping.counts(source, self.by, wanted, keyed, self.grid.top + 1)
        found = [self.measured(line[:-1], epsilon, entropy) for line in counts]
        numbers = dict(zip(self.groups, found, strict=True))
        values = {name: number["value"] for name, number in numbers.items()}
        return Drawn(values, numbers=numbers, law=BracketLaw())

    def measured(self, counts: IntArray, epsilon: Fraction, entropy: Entropy) -> dict[str, Any]:
        """The quantile of one group, and both ends, from the rows of every cell: ε-DP."""
        each = epsilon / DRAWS
        away = math.ceil(self.far(each, float(1 - BRACKET) / 2))
        place, low, high = (
            self._drawn(self.rows_off(counts, aim), each, entropy) for aim in (0, -away, away)
        )
        top = self.grid.top
        place, low, high = (min(max(cell, 0), top) for cell in (place, low - 1, high))
        ends = min(low, place), max(high, place)
        return {"value": self._told(place), "low": self._told(ends[0]), "high": self._told(ends[1])}

    def rows_off(self, counts: IntArray, aim: int) -> IntArray:
        """How many rows every candidate is off from the rank p n + aim, times the denominator of p.

        One candidate more comes first if the aim is below, last if it is above.
        """
        of = self.p.denominator
        up_to = np.cumsum(counts) * of
        target = self.p.numerator * int(counts.sum()) + aim * of
        off = np.maximum(np.maximum(up_to - counts * of - target, target - up_to), 0)
        if aim < 0:
            return np.r_[max(target, 0), off]
        return np.r_[off, max(int(up_to[-1]) - target, 0)] if aim > 0 else off

    def far(self, epsilon: Fraction, tail: float) -> float:
        """B: a draw is off by as many rows or more with probability `tail` at most."""
        one = -math.expm1(math.log1p(-tail) / (self.grid.top + 2))
        return -math.log(one) * 2 * float(self._step / epsilon)

    def _drawn(self, off: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
        scale = epsilon / (2 * self._step * self.p.denominator)
        [best] = noisy_top(-off.astype(np.float64), scale, EXPONENTIAL, 1, entropy)
        return best

    @property
    def _step(self) -> Fraction:
        """h."""
        return max(self.p, 1 - self.p)

    def _told(self, cell: int) -> int | float:
        value = self.grid.value(Fraction(cell))
        return int(value) if value.denominator == 1 else float(value)
