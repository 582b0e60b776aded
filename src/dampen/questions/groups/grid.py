"""The public grid of values: lower, lower + step, ..., upper."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
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
        low = _decimal(lower, "lower")
        high = _decimal(upper, "upper")
        distance = _decimal(step, "step")
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
    def _ends(self) -> tuple[float, float]:
        return float(self.lower), float(self.lower + self.top * self.step)

    def value(self, cells: Fraction) -> Fraction:
        """The value at a place of the grid, counted in cells."""
        return self.lower + cells * self.step


def _decimal(number: Exact, name: str) -> Fraction:
    try:
        check_length(str(number))
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"Expected {name} to be a number, got {name}={shortened(number)}."
        ) from None
