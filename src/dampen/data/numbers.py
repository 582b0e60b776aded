"""A private column of numbers: from whatever holds it to one clipped array."""

from typing import Any

import numpy as np

from dampen.errors import DataError, ParameterError
from dampen.selection import FloatArray

SMALLEST_RANGE = 2.0**-900
"""Below it floats lose digits; no measured quantity is that small."""


def clipped(values: Any, n: int, lower: float, upper: float) -> FloatArray:
    """The n numbers of a column, clipped to the public range.  How many were clipped stays private.

    Takes a list, a numpy array, a pandas, polars or pyarrow column.  Infinite values are clipped
    like any others; they are numbers.

    Raises:
        DataError: if the column is not n numbers, none of them missing.  It quotes none.
    """
    numbers = as_numbers(values)
    if numbers.shape != (n,):
        raise DataError("Expected as many values as n, the public size, in one dimension.")
    inside: FloatArray = np.clip(numbers, lower, upper)
    if np.isnan(inside.min()):
        raise DataError(
            "Expected numbers only; some are missing (NaN or null). Fill or drop them first, by a "
            "rule that looks at each record alone."
        )
    return inside


def as_numbers(values: Any) -> FloatArray:
    """A column as floats; text, booleans and dates are refused, not converted."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = _from_objects(array)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if np.ma.is_masked(values) or array.dtype.kind not in "iuf":
        raise DataError(
            "Expected a column of numbers, none of them missing; text, booleans and dates are not "
            "converted. Turn the column into numbers first."
        )
    return array.astype(np.float64, copy=False)


def finite_range(lower: float, upper: float) -> tuple[float, float]:
    """The public range [lower, upper] as floats.

    Raises:
        ParameterError: if it is not two finite numbers with lower < upper.
    """
    try:
        low, high = float(lower), float(upper)
    except (TypeError, ValueError):
        raise ParameterError(
            f"Expected lower and upper to be numbers, got lower={lower!r}, upper={upper!r}."
        ) from None
    if not (np.isfinite(high - low) and high - low > SMALLEST_RANGE):
        raise ParameterError(
            f"Expected lower < upper, both finite and public, got lower={low:g}, upper={high:g}."
        )
    return low, high


def _from_objects(array: Any) -> FloatArray:
    """Python numbers of any kind, such as Decimal; numpy would parse text, so text is refused."""
    if any(isinstance(value, str | bytes | bool | np.bool_) for value in array.flat):
        raise TypeError
    return np.asarray(array, dtype=np.float64)
