"""The public grid of values, lower, lower + step, ..., upper, and counts by group and cell.

For a group x with n rows on the cells 0, 1, ..., m of a public grid, B_v is the number of rows
below cell v (B_0 = 0, B_{m+1} = n), and A_v the sum of their cells.  Questions come in arrays:
`who` is the group's row in the counts, and all arguments have, or broadcast to, one shape.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.cells import GridKey, nearest_cell
from dampen.data.columns import finite_range
from dampen.epsilon import check_length, shortened
from dampen.errors import ParameterError

Exact: TypeAlias = str | int | float | Fraction | Decimal
"""A number that means the decimal it is written as."""

LARGEST_GRID = 10_000_000
USUAL_STEPS = 1000
MOST_FINER = 100
"""How many times as many steps a usual step may make, to be a round number."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells 0..top; cell i stands for lower + i step.

    Every number is the decimal it is written as: a step of 0.1 divides the range from 0 to 0.3.
    """

    lower: Fraction
    step: Fraction
    top: int

    @classmethod
    def between(cls, lower: Exact, upper: Exact, step: Exact) -> "Grid":
        """Checks the public parameters.

        Raises:
            ParameterError: unless lower < upper, step > 0 and step divides upper - lower.
        """
        finite_range(cast("float", lower), cast("float", upper))
        low = decimal(lower, "lower")
        high = decimal(upper, "upper")
        distance = decimal(step, "step")
        if distance <= 0:
            raise ParameterError(f"Expected step > 0, got step={step}.")
        top = (high - low) / distance
        if top > LARGEST_GRID:
            raise ParameterError(
                f"Expected a grid of at most {LARGEST_GRID:,} points, got step={step}. "
                "Take a larger step: half the precision you need is enough."
            )
        if top.denominator > 1:
            raise ParameterError(
                f"Expected a step that divides upper - lower, got lower={lower}, upper={upper}, "
                f"step={step}. Move an end of the range by less than a step."
            )
        return cls(low, distance, int(top))

    def cells(self, values: FloatArray) -> IntArray:
        """The cell nearest to each value, -1 for NaN; values beyond an end belong to that end.

        Which cell a row gets depends on its own value alone, so that neighbours stay neighbours
        whatever the rounding of this division does.
        """
        lower, upper = self._ends
        place = np.clip(values, lower, upper)
        place -= lower
        place /= float(self.step)
        place += 0.5
        with np.errstate(invalid="ignore"):
            cell = place.astype(np.int64)
        np.minimum(cell, self.top, out=cell)
        cell[np.isnan(values)] = -1
        return cell

    @property
    def key(self) -> GridKey:
        """The cells of a column, as engines may count them by themselves."""
        sql = nearest_cell(*self._ends, float(self.step), self.top)
        return GridKey(self.cells, self._ends, sql)

    @property
    def upper(self) -> Fraction:
        return self.lower + self.top * self.step

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self.lower), float(self.upper)

    def value(self, cells: Fraction) -> Fraction:
        """The value at a place of the grid, counted in cells."""
        return self.lower + cells * self.step


def usual_step(
    lower: Exact,
    upper: Exact,
    least: int = USUAL_STEPS,
    firsts: tuple[int, ...] = (5, 2, 1),
) -> Fraction:
    """A step for a range of which no step is stated: it divides the range, `least` times or more.

    The largest one of the form 1, 2 or 5 times a power of ten (`firsts`) that gives at most a
    hundred times as many; where none does, the range divided by `least`.

    >>> usual_step(0, 90), usual_step("-1.5", 2), usual_step(0, "0.123456789")
    (Fraction(1, 20), Fraction(1, 500), Fraction(123456789, 1000000000000))

    Raises:
        ParameterError: unless lower < upper, both finite.
    """
    finite_range(cast("float", lower), cast("float", upper))
    span = decimal(upper, "upper") - decimal(lower, "lower")
    power = Fraction(10) ** len(str(int(span)))
    while span < least * power:
        power /= 10
    for candidate in (first * power / 10**decade for decade in range(3) for first in firsts):
        steps = span / candidate
        if least <= steps <= MOST_FINER * least and steps.denominator == 1:
            return candidate
    return span / least


@dataclass(frozen=True, eq=False, repr=False)
class Histograms:
    """Private counts, one row per group, one column per cell."""

    counts: IntArray

    @property
    def top(self) -> int:
        """m, the highest cell."""
        return self.counts.shape[1] - 1

    @cached_property
    def sizes(self) -> IntArray:
        """n of every group."""
        return self.counts.sum(axis=1)

    @cached_property
    def mirrored(self) -> "Histograms":
        """Every value v becomes m - v."""
        return Histograms(self.counts[:, ::-1])

    def below(self, who: IntArray, cell: IntArray) -> IntArray:
        """B_cell, for cell = 0..m+1."""
        return self._ladder[who * (self.top + 2) + cell] - who * self._stride

    def cell_after(self, who: IntArray, rank: IntArray) -> IntArray:
        """The cell v of the lowest row that has `rank` rows before it: B_v <= rank < B_{v+1}.

        For rank = 0..n; m+1 for rank = n.
        """
        found = np.searchsorted(self._ladder, who * self._stride + rank, side="right")
        return found - who * (self.top + 2) - 1

    def lowest(self, who: IntArray, count: IntArray) -> IntArray:
        """The sum of the cells of the `count` lowest rows; rows beyond n count as cell m."""
        inside = np.minimum(count, self.sizes[who])
        cell = self.cell_after(who, inside)
        partial = (inside - self.below(who, cell)) * cell
        return self._sums[who * (self.top + 2) + cell] + partial + (count - inside) * self.top

    @cached_property
    def _stride(self) -> int:
        return int(self.sizes.max()) + 1

    @cached_property
    def _ladder(self) -> IntArray:
        """All B_v, group after group, each group a stride higher: one ascending array to search."""
        ladder = _running(self.counts)
        ladder += np.arange(len(ladder))[:, None] * self._stride
        return ladder.ravel()

    @cached_property
    def _sums(self) -> IntArray:
        """All A_v, group after group."""
        return _running(self.counts * np.arange(self.top + 1)).ravel()


def _running(counts: IntArray) -> IntArray:
    """Sums over the cells below each of the cells 0..m+1."""
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=sums[:, 1:])
    return sums


def decimal(number: Exact, name: str) -> Fraction:
    """A public number as the decimal it is written as.

    Raises:
        ParameterError: if it is no number.
    """
    try:
        check_length(str(number))
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"Expected {name} to be a number, got {name}={shortened(number)}."
        ) from None
