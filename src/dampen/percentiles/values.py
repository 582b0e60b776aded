"""What is the value of the p-th percentile?  Selection on a public grid, by rank.

Replace one record.  Candidates are the points g of a public grid; with L(g) = #{x < g},
R(g) = #{x <= g} and k = ceil(p (n+1) / 100) clamped to 1..n, g would be the k-th smallest value for
every k in [L+1, R], and

    u(x, g) = -max(0, L(g) + 1 - k, k - R(g)):

minus the distance of k from that range; between two values, where the range is empty, from its two
ends.  0 means that g is the percentile.

**Sensitivity 1.**  Replacing one record moves L(g) by -1, 0 or 1, and R(g) too; each of the three
terms moves by at most 1, hence so does their maximum.  u is an integer: no rounding.  It is not
one-sided: a replaced record raises u on one side of the percentile and lowers it on the other.

**Counts are enough.**  L and R are sums of counts over public cells: cell 2i holds the values equal
to the point g_i, cell 2i+1 those between g_i and g_{i+1}, after clipping to the grid.  So the data
may lie anywhere: a backend counts, in one pass, and a value never leaves it.

The sensitivity is the same for every candidate and database, so LD and SLD are the exponential
mechanism here, and permute-and-flip, never worse, is the mechanism to use.  The error is counted in
records, whatever the range of the values is: that is what label selection, by distance, cannot do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from dampen import sensitivity
from dampen.data.columns import as_numbers, finite_range, missing_numbers
from dampen.data.memory import MemoryTable
from dampen.data.opened import Batch, Opened
from dampen.errors import DataError, ParameterError
from dampen.percentiles.labels import Percent, rank
from dampen.selection import FloatArray, IntArray, Neighbours, Selection

LARGEST_GRID = 10_000_000
BLOCK = 1 << 14
"""Values that are looked up at a time: they stay in the cache."""


@dataclass(frozen=True, kw_only=True)
class PercentileValue:
    """Which point of the grid lower, lower + step, ..., upper is the p-th percentile?

    Attributes:
        n: how many values there are; public.
        p: which percentile, 0 to 100; a decimal is taken exactly.
        upper: public upper end of the grid; larger values are clipped to it.
        step: distance of the grid's points; `upper` is a point even if no multiple of it.
        lower: public lower end of the grid.
    """

    n: int
    p: Percent
    upper: float
    step: float
    lower: float = 0.0
    neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        rank(self.p, self.n)
        finite_range(self.lower, self.upper)
        _check_step(self.step, self.lower, self.upper)

    @property
    def candidates(self) -> Sequence[float]:
        """The grid; indexing gives Python numbers."""
        return cast("Sequence[float]", memoryview(cast("Any", self.grid)))

    @cached_property
    def grid(self) -> FloatArray | IntArray:
        """The points, ascending; whole numbers if lower, upper and step are.

        Each is the float nearest to the decimal: 0.3, not 3 * 0.1.
        """
        low, high, step = (Fraction(str(a)) for a in (self.lower, self.upper, self.step))
        points = (high - low) // step + 1
        unit = np.lcm.reduce([a.denominator for a in (low, high, step)], dtype=object)
        first, last, stride = (int(a * unit) for a in (low, high, step))
        if max(abs(first), abs(last), unit) > 2**53:
            grid = np.unique(np.minimum(float(low) + np.arange(points) * float(step), float(high)))
        elif unit == 1:
            grid = first + np.arange(points) * stride
        else:
            grid = (first + np.arange(points) * stride) / unit
        return grid if grid[-1] == float(high) else np.append(grid, grid.dtype.type(high))

    def selection(self, values: Any, /) -> Selection:
        """Rank utilities of the grid's points, from a column of n values."""
        counts = self.opened_counts(MemoryTable({"": values}), "")
        if counts.sum() != self.n:
            raise DataError("Expected as many values as n, the public size.")
        return self.selection_of_counts(counts)

    def opened_counts(self, rows: Opened, column: str, /) -> IntArray:
        """The rows in every cell, then those without a number, of an opened table."""
        cells = _Cells(column, np.asarray(self.grid, dtype=np.float64))
        return rows.counts({column: "numbers"}, cells, len(cells))

    def selection_of_counts(self, counts: IntArray, /) -> Selection:
        """From the rows in every cell, then those without a number; O(points) time and memory.

        Raises:
            DataError: if a row has no number.
        """
        if counts[-1]:
            raise missing_numbers()
        k, up_to = rank(self.p, self.n), np.cumsum(counts[:-1])
        at_most = up_to[::2]
        less = at_most - counts[:-1:2]
        u = -np.maximum(np.maximum(less + 1 - k, k - at_most), 0)
        return Selection(u, sensitivity.constant(1), exact=True, utility_range=float(self.n))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cell of every number of a column, -1 where there is none.

    A division guesses the point at or below a number; whatever two comparisons do not confirm is
    searched for, so that no rounding decides.
    """

    column: str
    grid: FloatArray

    def __len__(self) -> int:
        return 2 * len(self.grid) - 1

    def __call__(self, batch: Batch) -> IntArray:
        numbers = as_numbers(batch[self.column])
        cells = np.empty(len(numbers), dtype=np.int64)
        for start in range(0, len(numbers), BLOCK):
            block = slice(start, start + BLOCK)
            cells[block] = self._of(numbers[block])
        return cells

    def _of(self, numbers: FloatArray) -> IntArray:
        grid, missing = self._fenced, np.isnan(numbers)
        x = np.clip(np.where(missing, grid[0], numbers), grid[0], grid[-2])
        # Values that lie on the grid are guessed well in spite of rounding by a little more.
        i = ((x - grid[0]) * self._per_step + 2.0**-20).astype(np.int64)
        np.clip(i, 0, len(grid) - 2, out=i)
        wrong = np.flatnonzero((x < grid[i]) | (x >= grid[i + 1]))
        i[wrong] = np.searchsorted(grid, x[wrong], side="right") - 1
        return np.where(missing, -1, 2 * i + (x != grid[i]))

    @cached_property
    def _fenced(self) -> FloatArray:
        return np.append(self.grid, np.inf)

    @property
    def _per_step(self) -> float:
        first, second = self.grid[:2]
        return float(1 / (second - first))


def _check_step(step: float, lower: float, upper: float) -> None:
    try:
        distance = Fraction(str(step))
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(
            f"Expected step > 0, the public distance of the grid's points, got step={step!r}."
        ) from None
    if distance <= 0:
        raise ParameterError(f"Expected step > 0, got step={step}.")
    if (Fraction(str(upper)) - Fraction(str(lower))) / distance > LARGEST_GRID:
        raise ParameterError(
            f"Expected a grid of at most {LARGEST_GRID:,} points, got step={step}. "
            "Take a larger step: half the precision you need is enough."
        )
