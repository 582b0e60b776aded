"""One private column, whatever holds it: as numbers, as positions among categories, as labels.

A chunk is a piece of a column: a numpy array, an Arrow array, a list.  All functions here act on
each record alone, so that neighbouring databases stay neighbours, and quote nothing.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.source import Chunk, Kind
from dampen.errors import DataError, ParameterError

__all__ = [
    "Lookup",
    "as_labels",
    "as_numbers",
    "clipped",
    "finite_range",
    "is_missing",
    "joined_numbers",
    "missing_in",
    "missing_numbers",
    "typed",
]

SMALLEST_RANGE = 2.0**-900
"""Below it floats lose digits; no measured quantity is that small."""


def as_numbers(chunk: Chunk) -> FloatArray:
    """A chunk as floats, NaN where a number is missing.

    Whole numbers above 2^53 become the nearest float.

    Raises:
        DataError: if it holds text, booleans, dates or anything else; nothing is converted.
    """
    numbers = _arrow_numbers(chunk) if _is_arrow(chunk) else _numpy_numbers(chunk)
    if numbers is None:
        raise DataError(
            "Expected a column of numbers; text, booleans and dates are not converted. Turn the "
            "column into numbers first."
        )
    return numbers


def joined_numbers(chunks: Sequence[Chunk]) -> FloatArray:
    """The chunks of a column as one array of floats."""
    parts = [as_numbers(chunk) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])


def clipped(numbers: FloatArray, lower: float, upper: float) -> FloatArray:
    """The numbers clipped to the public range.  How many were clipped stays private.

    Raises:
        DataError: if a number is missing.
    """
    inside: FloatArray = np.clip(numbers, lower, upper)
    if len(inside) and np.isnan(inside.min()):
        raise missing_numbers()
    return inside


def missing_numbers() -> DataError:
    """What to say where a number is missing."""
    return DataError(
        "Expected numbers only; some are missing (NaN or null). Fill or drop them first, by a rule "
        "that looks at each record alone."
    )


def finite_range(lower: float, upper: float) -> tuple[float, float]:
    """The public range [lower, upper] as floats.

    Raises:
        ParameterError: if it is not two finite numbers with lower < upper.
    """
    try:
        low = float(lower)
        high = float(upper)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"Expected lower and upper to be numbers, got lower={lower!r}, upper={upper!r}."
        ) from None
    if not (np.isfinite(high - low) and high - low > SMALLEST_RANGE):
        raise ParameterError(
            f"Expected lower < upper, both finite and public, got lower={low:g}, upper={high:g}."
        )
    return low, high


def as_labels(chunks: Iterable[Chunk]) -> list[Hashable]:
    """The chunks of a column as Python objects."""
    labels: list[Hashable] = []
    for chunk in chunks:
        if isinstance(chunk, np.ndarray):
            # numpy turns times with nanoseconds into bare numbers; Arrow does not.
            labels += _as_arrow(chunk).to_pylist() if chunk.dtype.kind in "Mm" else chunk.tolist()
        else:
            labels += chunk.to_pylist() if _is_arrow(chunk) else list(chunk)  # type: ignore[union-attr]
    return labels


def is_missing(value: Any) -> bool:
    """Whether one record is missing: None, NaN, NaT, or pandas' NA, which equals nothing."""
    if value is None:
        return True
    same = value == value  # noqa: PLR0124
    return not same if isinstance(same, bool | np.bool_) else type(value).__name__ == "NAType"


def missing_in(chunk: Chunk) -> NDArray[np.bool_]:
    """Which records are missing."""
    if _is_arrow(chunk):
        nulls: NDArray[np.bool_] = chunk.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)  # type: ignore[union-attr]
        return nulls
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return np.asarray(chunk != chunk)  # noqa: PLR0124
    return np.fromiter(map(is_missing, chunk), dtype=np.bool_, count=len(chunk))


def typed(column: Any, kind: Kind) -> Any:
    """A column of Arrow as the wanted kind; other kinds than text are as declared."""
    import pyarrow as pa

    return column.cast(pa.string()) if kind == "text" and column.type != pa.string() else column


class Lookup:
    """The position of values among public categories, -1 for a value that is not listed.

    Values match by equality, as in a dict: 1 and 1.0 are the same category, 1 and "1" are not.
    """

    def __init__(self, categories: Sequence[Hashable]) -> None:
        self.categories = tuple(categories)

    def __len__(self) -> int:
        return len(self.categories)

    @property
    def kind(self) -> Kind:
        """How to read a column of a file that is to be compared with the categories."""
        if all(isinstance(category, str) for category in self.categories):
            return "text"
        return "numbers" if all(map(_is_exact_number, self.categories)) else "any"

    def positions(self, chunk: Chunk) -> IntArray:
        """One position per record."""
        if _is_arrow(chunk):
            return self._arrow_positions(chunk)
        if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
            return self._numpy_positions(chunk)
        return self._python_positions(chunk.tolist() if isinstance(chunk, np.ndarray) else chunk)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {category: i for i, category in enumerate(self.categories)}

    @cached_property
    def _value_set(self) -> Any:
        """The categories as an Arrow array where all are text or all are whole numbers."""
        import pyarrow as pa

        for kind, arrow in ((str, pa.string()), (int, pa.int64())):
            if all(type(category) is kind for category in self.categories):
                try:
                    return pa.array(self.categories, type=arrow)
                except (pa.ArrowException, OverflowError):
                    return None
        return None

    @cached_property
    def _are_codes(self) -> bool:
        """Whether the categories are 0, 1, ..., each its own position."""
        return self.categories == tuple(range(len(self)))

    def _arrow_positions(self, chunk: Any) -> IntArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(chunk.type):
            return _taken(self._arrow_positions(chunk.dictionary), chunk.indices)
        values = self._value_set
        kinds = pa.types
        text = kinds.is_string(chunk.type) or kinds.is_large_string(chunk.type)
        if values is not None and (
            (text and values.type == pa.string()) or chunk.type == values.type
        ):
            found = pc.index_in(chunk, value_set=values.cast(chunk.type), skip_nulls=True)
            return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        seen = chunk.dictionary_encode()
        if not pa.types.is_dictionary(seen.type):  # nested types
            return self._python_positions(chunk.to_pylist())
        return _taken(self._python_positions(seen.dictionary.to_pylist()), seen.indices)

    def _numpy_positions(self, chunk: Any) -> IntArray:
        if chunk.dtype.kind in "iu" and self._are_codes:
            codes = np.ascontiguousarray(chunk, dtype=np.int64)
            inside = codes.view(np.uint64) < len(self)  # what is below 0 is very large here
            return codes if inside.all() else np.where(inside, codes, -1)
        if chunk.dtype.kind in "iUMm":
            return self._arrow_positions(_as_arrow(chunk))
        seen, inverse = np.unique(chunk, return_inverse=True)
        return self._python_positions(seen.tolist())[inverse]

    def _python_positions(self, values: Iterable[Any]) -> IntArray:
        try:
            return np.fromiter(map(self._position.get, values, repeat(-1)), dtype=np.int64)
        except TypeError:
            raise DataError(
                "Expected values that can be compared with the categories, such as text or numbers."
            ) from None


def _is_exact_number(value: Any) -> bool:
    """Whether a number loses nothing as a float."""
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (
        isinstance(value, int | np.integer) and -(2**53) <= int(value) <= 2**53
    )


def _is_arrow(chunk: Any) -> bool:
    return hasattr(chunk, "to_pylist")


def _as_arrow(chunk: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(chunk)


def _taken(positions: IntArray, indices: Any) -> IntArray:
    """The positions of a dictionary's words for every record, -1 for one that is missing."""
    # Indices may be unsigned, which cannot hold -1.
    at = indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(positions, -1)[at]


def _arrow_numbers(chunk: Any) -> FloatArray | None:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if kinds.is_null(chunk.type):
        return np.full(len(chunk), np.nan)
    if not (
        kinds.is_integer(chunk.type)
        or kinds.is_floating(chunk.type)
        or kinds.is_decimal(chunk.type)
    ):
        return None
    numbers: FloatArray = chunk.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _numpy_numbers(chunk: Any) -> FloatArray | None:
    try:
        array = chunk if isinstance(chunk, np.ndarray) else _array_of_numbers(chunk)
        if array.ndim != 1:
            return None
        if array.dtype.kind == "O":
            array = _from_objects(array)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.size == 0:
        return np.empty(0)
    if array.dtype.kind not in "iuf":
        return None
    numbers: FloatArray = array.astype(np.float64, copy=False)
    return numbers


def _array_of_numbers(values: Sequence[Any]) -> NDArray[Any]:
    if any(isinstance(value, bool | np.bool_) for value in values):
        raise TypeError  # among numbers, numpy would turn True into 1
    return np.asarray(values)


def _from_objects(array: Any) -> FloatArray:
    """Python numbers of any kind, such as Decimal; numpy would parse text, so text is refused."""
    if any(isinstance(value, str | bytes | bool | np.bool_) for value in array.flat):
        raise TypeError
    numbers = [np.nan if is_missing(value) else value for value in array]
    return np.asarray(numbers, dtype=np.float64)
