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
from dampen.data.columns import clipped, finite_range
from dampen.data.memory import numbers_in
from dampen.errors import DataError, ParameterError
from dampen.percentiles.labels import Percent, rank
from dampen.selection import FloatArray, IntArray, Neighbours, Selection

LARGEST_GRID = 10_000_000


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
            grid = np.minimum(float(low) + np.arange(points) * float(step), float(high))
        elif unit == 1:
            grid = first + np.arange(points) * stride
        else:
            grid = (first + np.arange(points) * stride) / unit
        return grid if grid[-1] == float(high) else np.append(grid, grid.dtype.type(high))

    def selection(self, values: Any, /) -> Selection:
        """Rank utilities of the grid's points: O((n + points) log n) time, O(n + points) memory."""
        lower, upper = finite_range(self.lower, self.upper)
        x, k = np.sort(clipped(numbers_in(values), lower, upper)), rank(self.p, self.n)
        if x.shape != (self.n,):
            raise DataError("Expected as many values as n, the public size.")
        less = np.searchsorted(x, self.grid, side="left")
        at_most = np.searchsorted(x, self.grid, side="right")
        u = -np.maximum(np.maximum(less + 1 - k, k - at_most), 0)
        return Selection(u, sensitivity.constant(1), exact=True, utility_range=float(self.n))


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
