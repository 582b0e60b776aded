"""What is the value of the p-th percentile?  Selection on a public grid, by rank.

Candidates are the points g of a public grid; L(g) = #{x < g}, R(g) = #{x <= g}.

**Replace one record** (`PercentileValue`; n is public).  With k = ceil(p (n+1) / 100) clamped to
1..n, g would be the k-th smallest value for every k in [L+1, R], and

    u(x, g) = -max(0, L(g) + 1 - k, k - R(g)):

minus the distance of k from that range; between two values, where the range is empty, from its two
ends.  0 means that g is the percentile.  Sensitivity 1: replacing one record moves L(g) by -1, 0 or
1, and R(g) too; each of the three terms moves by at most 1, hence so does their maximum.

**Add or remove one record** (`PercentileValueOfRows`; n is private, and may be 0).  With the target
q n, q = p / 100, in place of k,

    u(x, g) = -max(0, L(g) - q n, q n - R(g)),

which is 0 where a share of at most q lies below g and a share of at least q at or below it.  A
record more moves L - q n by 1 - q if it is below g and by -q if not, and q n - R by q if it is
above g and by -(1 - q) if not.  So the sensitivity is max(q, 1 - q): less than 1, and half of it
for the median.  In whole numbers: q = P/Q in lowest terms, Q u has the sensitivity max(P, Q - P).

**Counts are enough.**  L and R are sums of counts over public cells: cell 2i holds the values equal
to the i-th point, cell 2i+1 those between it and the next, after clipping to the grid.  So a
backend counts, wherever the data lies, in one pass; a value never leaves it.

**Missing numbers.**  Where n is private a row without a number is dropped.  Where n is public that
would change n, so that such a row counts as the lower end of the grid.

Neither is one-sided: a record raises u on one side of the percentile and lowers it on the other.
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

from dampen.core import sensitivity
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.data.cells import GridKey, cell_between
from dampen.data.columns import finite_range
from dampen.data.memory import numbers_in
from dampen.epsilon import check_length, shortened
from dampen.errors import DataError, ParameterError
from dampen.paper.percentile_selection import Percent, as_fraction, rank

LARGEST_GRID = 10_000_000
BLOCK = 1 << 14
"""Values that are looked up at a time: they stay in the cache."""
FINEST = 10**6
"""p has at most four decimals, so that ranks times its denominator are exact floats."""


@dataclass(frozen=True)
class ValueGrid:
    """The public points lower, lower + step, ..., upper; `upper` even if no multiple of a step.

    Raises:
        ParameterError: unless lower < upper, step > 0, and the points are not too many.
    """

    lower: float
    upper: float
    step: float

    def __post_init__(self) -> None:
        finite_range(self.lower, self.upper)
        _check_step(self.step, self.lower, self.upper)

    @cached_property
    def points(self) -> FloatArray | IntArray:
        """Ascending; whole numbers if lower, upper and step are.

        Each is the float nearest to the decimal: 0.3, not 3 * 0.1.
        """
        low, high, step = (Fraction(str(a)) for a in (self.lower, self.upper, self.step))
        if self._whole is None:
            points = np.arange((high - low) // step + 1)
            grid = np.unique(np.minimum(float(low) + points * float(step), float(high)))
        else:
            first, stride, unit, count = self._whole
            grid = first + np.arange(count) * stride
            grid = grid if unit == 1 else grid / unit
        return grid if grid[-1] == float(high) else np.append(grid, grid.dtype.type(high))

    @cached_property
    def _whole(self) -> tuple[int, int, int, int] | None:
        """(first, stride, unit, count): the points are (first + i stride) / unit for i < count.

        None where the floats would not hold those whole numbers.
        """
        low, high, step = (Fraction(str(a)) for a in (self.lower, self.upper, self.step))
        unit = int(np.lcm.reduce([a.denominator for a in (low, high, step)], dtype=object))
        first, last, stride = (int(a * unit) for a in (low, high, step))
        if max(abs(first), abs(last), stride, unit) > 2**53:
            return None
        return first, stride, unit, int((high - low) // step) + 1

    @property
    def key(self) -> GridKey:
        """The cells of a column, as engines may count them by themselves."""
        whole = self._whole
        ends = (float(self.lower), float(self.upper))
        return GridKey(self.cells, ends, whole and cell_between(*whole, last=ends[1]))

    @property
    def candidates(self) -> Sequence[float]:
        """The points; indexing gives Python numbers."""
        return cast("Sequence[float]", memoryview(cast("Any", self.points)))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return 2 * len(self.points) - 1

    def cells(self, numbers: FloatArray) -> IntArray:
        """The cell of every number, -1 for NaN."""
        cells = np.empty(len(numbers), dtype=np.int64)
        for start in range(0, len(numbers), BLOCK):
            block = slice(start, start + BLOCK)
            cells[block] = self._cells_of(numbers[block])
        return cells

    def _cells_of(self, numbers: FloatArray) -> IntArray:
        """A division guesses the point at or below; what two comparisons do not confirm is sought.

        So no rounding decides.
        """
        grid = self._fenced
        missing = np.isnan(numbers)
        x = np.clip(np.where(missing, grid[0], numbers), grid[0], grid[-2])
        # A little more, so that rounding seldom puts a value that lies on the grid below its point.
        i = ((x - grid[0]) / (grid[1] - grid[0]) + 2.0**-20).astype(np.int64)
        np.clip(i, 0, len(grid) - 2, out=i)
        wrong = np.flatnonzero((x < grid[i]) | (x >= grid[i + 1]))
        i[wrong] = np.searchsorted(grid, x[wrong], side="right") - 1
        return np.where(missing, -1, 2 * i + (x != grid[i]))

    @cached_property
    def _fenced(self) -> FloatArray:
        return np.append(self.points, np.inf)

    def ranks(self, counts: IntArray) -> tuple[IntArray, IntArray]:
        """L and R of every point, from the rows in every cell, then those without a number."""
        at_most = np.cumsum(counts[:-1])[::2]
        return at_most - counts[:-1:2], at_most

    def counts(self, values: Any) -> IntArray:
        """The rows of a column in memory in every cell, then those without a number."""
        cells = self.cells(numbers_in(values))
        return np.bincount(np.where(cells < 0, self.size, cells), minlength=self.size + 1)


@dataclass(frozen=True, kw_only=True)
class PercentileValue:
    """Which point of the grid lower, lower + step, ..., upper is the p-th percentile of n values?

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
        self.public_grid  # noqa: B018 (checks it)

    @cached_property
    def public_grid(self) -> ValueGrid:
        return ValueGrid(self.lower, self.upper, self.step)

    @property
    def grid(self) -> FloatArray | IntArray:
        return self.public_grid.points

    @property
    def candidates(self) -> Sequence[float]:
        return self.public_grid.candidates

    def selection(self, values: Any, /) -> Selection:
        """Rank utilities of the grid's points: O(n + points) time and memory."""
        counts = missing_as_lowest(self.public_grid.counts(values))
        if counts.sum() != self.n:
            raise DataError("Expected as many values as n, the public size.")
        return self.selection_of_ranks(*self.public_grid.ranks(counts))

    def selection_of_ranks(self, less: IntArray, at_most: IntArray) -> Selection:
        """From L and R of every point."""
        k = rank(self.p, self.n)
        u = -np.maximum(np.maximum(less + 1 - k, k - at_most), 0)
        return Selection(u, sensitivity.constant(1), exact=True, utility_range=float(self.n))


@dataclass(frozen=True, kw_only=True)
class PercentileValueOfRows:
    """The same question where the number of values is private: add or remove one of them.

    Attributes:
        p: which percentile, 0 to 100, with at most four decimals.
        upper: public upper end of the grid; larger values are clipped to it.
        step: distance of the grid's points; `upper` is a point even if no multiple of it.
        lower: public lower end of the grid.
    """

    p: Percent
    upper: float
    step: float
    lower: float = 0.0
    neighbours = Neighbours.ADD_REMOVE_ROW

    def __post_init__(self) -> None:
        self.public_grid  # noqa: B018 (checks it)
        if (as_fraction(self.p) / 100).denominator > FINEST:
            raise ParameterError(f"Expected p with at most four decimals, got p={self.p}.")

    @cached_property
    def public_grid(self) -> ValueGrid:
        return ValueGrid(self.lower, self.upper, self.step)

    @property
    def grid(self) -> FloatArray | IntArray:
        return self.public_grid.points

    @property
    def candidates(self) -> Sequence[float]:
        return self.public_grid.candidates

    def selection(self, values: Any, /) -> Selection:
        """Rank utilities of the grid's points, times the denominator of p / 100."""
        counts = self.public_grid.counts(values)
        return self.selection_of_ranks(*self.public_grid.ranks(counts), int(counts[:-1].sum()))

    def selection_of_ranks(self, less: IntArray, at_most: IntArray, n: int) -> Selection:
        """From L and R of every point, and the private number of values."""
        q = as_fraction(self.p) / 100
        P = q.numerator
        Q = q.denominator
        u = -np.maximum(np.maximum(Q * less - P * n, P * n - Q * at_most), 0)
        return Selection(u, sensitivity.constant(max(P, Q - P)), exact=True)


def missing_as_lowest(counts: IntArray) -> IntArray:
    """Rows without a number, counted at the end, as rows at the lower end: n does not change.

    Along the last axis.
    """
    held = counts.copy()
    held[..., 0] += held[..., -1]
    held[..., -1] = 0
    return held


def grid_size(lower: float, upper: float, step: float) -> Fraction:
    """How many steps there are from lower to upper.

    Raises:
        ParameterError: unless lower < upper are finite and step > 0.
    """
    finite_range(lower, upper)
    try:
        check_length(str(step))
        distance = Fraction(str(step))
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(
            "Expected step > 0, the public distance of the grid's points, got "
            f"step={shortened(step)}."
        ) from None
    if distance <= 0:
        raise ParameterError(f"Expected step > 0, got step={step}.")
    return (Fraction(str(upper)) - Fraction(str(lower))) / distance


def _check_step(step: float, lower: float, upper: float) -> None:
    if grid_size(lower, upper, step) > LARGEST_GRID:
        raise ParameterError(
            f"Expected a grid of at most {LARGEST_GRID:,} points, got step={step}. "
            "Take a larger step: half the precision you need is enough."
        )
