"""X and y as scikit-learn takes them: opened before the charge, read after it; and rows to predict.

What is public of X is its kind, its names, its types and its width.  How many rows there are is
not, so nothing here depends on it before the charge.  A plain list does not say how many columns it
has, and its first row is private; the number of columns is then that of `domains`, or, where these
are taken from the data with a warning, taken from the data as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.memory import (
    COLUMNS,
    TABLES,
    MemoryTable,
    StreamTable,
    as_chunk,
    is_column,
    offers,
    open_memory,
)
from dampen.data.source import Batch, CellOf, Chunk, Field, Kind, counted
from dampen.errors import DataError, ParameterError, raise_alone

__all__ = ["TARGET", "Supervised", "query_columns"]

TARGET = "y="
"""The name of the classes beside the columns of X."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Supervised:
    """X and y as scikit-learn takes them, opened: their rows are looked at after the charge.

    Attributes:
        X, y: the private data.
        names: of the columns; `named` says whether X has them itself.
    """

    X: Any
    y: Any
    names: Sequence[str]
    named: bool
    fields: Sequence[Field]
    title: str = "X and y"
    declared = True
    rows = None
    ordered = True
    streams = False

    @classmethod
    def open(cls, X: Any, y: Any, *, domains: Any) -> "Supervised":
        """Looks at the names, the types and the width of X alone.

        Args:
            X: a table in memory.
            y: a column.
            domains: of the columns, as the estimator has them.

        Raises:
            ParameterError: if X is not a table of at least one column in memory, or y no column.
        """
        _check_y(y)
        table = open_memory(X)
        if isinstance(table, StreamTable):
            raise ParameterError(
                "Expected X in memory, got a table that is read in a stream. Use fit_table, which "
                "takes the classes as one of its columns."
            )
        if table is None:
            fields: Sequence[Field] = [Field(f"x{i}") for i in range(_width(X, domains))]
        else:
            fields = table.fields
        if not fields:
            raise ParameterError(
                "Expected columns, got 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )
        names = [field.name for field in fields]
        return cls(X, y, names, table is not None and _has_text_names(X), [*fields, Field(TARGET)])

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        from sklearn.utils.validation import column_or_1d

        y = self.y if is_column(self.y) else column_or_1d(self.y, warn=True)
        columns = _columns(self.X, self.names)
        if len({len(y), *map(len, columns.values())}) > 1:
            # scikit-learn's own message would tell how many rows there are.
            raise DataError("Expected as many classes in y as rows in X.")
        yield from MemoryTable({**columns, TARGET: y}).batches(wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


def query_columns(estimator: Any, X: Any, names: Sequence[str], *, missing: bool) -> list[Chunk]:
    """The columns of rows to predict, those of a table with their own types.

    Takes what `fit` takes.  No error quotes a row.

    Args:
        estimator: fitted; scikit-learn compares its names and number of columns.
        X: a table in memory.
        names: of the columns of the model.
        missing: whether any of them may be missing.

    Raises:
        ParameterError: if X is no table, or has other columns.
        DataError: if its rows are not of equal length, or numbers are not finite.
    """
    from sklearn.utils.validation import validate_data

    table = open_memory(X)
    if isinstance(table, StreamTable):
        raise ParameterError(
            "Expected X in memory, got a table that is read in a stream. Use predict_table."
        )
    if table is None:
        _check_rows(X)
        array = _array(X)
        _check_dimensions(array.ndim)
        validate_data(estimator, array, reset=False, skip_check_array=True)
        _check_finite(array, missing=missing)
        return list(array.T)
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return list(map(as_chunk, table.columns.values()))
    for name in names:
        if name not in table.columns:
            raise ParameterError(f"Expected a column {name!r} in X: the model predicts from it.")
    return [as_chunk(table.columns[name]) for name in names]


def _has_text_names(X: Any) -> bool:
    """Whether the columns are named by text; a frame may number them."""
    labels = getattr(X, "columns", ()) if offers("pandas", "columns", "iloc")(X) else ()
    return all(isinstance(label, str) for label in labels)


def _check_y(y: Any) -> None:
    """A column, or what scikit-learn also takes for one: an array or a frame with one column."""
    if y is None:
        raise ParameterError(
            "Expected y, one class per row: this estimator requires y to be passed, but the "
            "target y is None."
        )
    frame = open_memory(y)
    one_column = frame is not None and len(frame.fields) == 1
    if not (is_column(y) or one_column or len(_shape(y)) == 1 or _shape(y)[1:] == (1,)):
        raise ParameterError(f"Expected y to be a column: {COLUMNS}; got a {type(y).__name__}.")


def _width(X: Any, domains: Any) -> int:
    """How many columns there are, by what X says of itself, or by the public domains."""
    _check_rows(X)
    if isinstance(X, list | tuple):
        return _leaked_width(X) if domains is None else _declared_width(domains)
    shape = _shape(X)
    _check_dimensions(len(shape))
    return shape[1]


def _declared_width(domains: Any) -> int:
    if isinstance(domains, Mapping) or not isinstance(domains, Sequence):
        raise ParameterError(
            "Expected domains=[...] with one domain per column for rows in a list, which does not "
            "say how many columns it has. Or pass X as a numpy array or a DataFrame."
        )
    return len(domains)


def _leaked_width(X: Sequence[Any]) -> int:
    """Taken from the first row with the domains, which is warned of; 1 where there is none."""
    first = X[0] if X else None
    return len(first) if isinstance(first, list | tuple | np.ndarray) else 1


def _check_rows(X: Any) -> None:
    """Refuses what is no table of rows, by its kind alone."""
    if offers("scipy", "tocoo")(X):
        raise ParameterError(
            "Expected a dense table, got a sparse matrix; sparse data is not supported. Use "
            "X.toarray()."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise ParameterError("Expected numbers or text. Complex data not supported.")
    rows = isinstance(X, list | tuple | np.ndarray) or is_column(X)
    if not (rows or hasattr(type(X), "__array__")):
        raise ParameterError(
            f"Expected a table: an array with rows and columns, {TABLES}; got a "
            f"{type(X).__name__}. fit_table and predict_table take files and tables that are read "
            "in a stream."
        )


def _check_dimensions(dimensions: int) -> None:
    if dimensions != 2:
        raise ParameterError(
            f"Expected 2D array, rows and columns, got {dimensions} dimension(s) instead. Reshape "
            "your data."
        )


def _check_finite(array: Any, *, missing: bool) -> None:
    """Numbers of an array; NaN is fine where missing values are declared."""
    if array.dtype.kind != "f":
        return
    if np.isinf(array).any() or (not missing and np.isnan(array).any()):
        raise DataError("Expected finite numbers in X; some are NaN or infinite (inf).")


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of an array, of a column one number; empty for all else."""
    if isinstance(data, np.ndarray):
        return data.shape
    if hasattr(type(data), "__array__") and not is_column(data):
        # What scikit-learn takes for an array; one that does not say its shape lies in memory.
        return tuple(data.shape) if hasattr(data, "shape") else np.asarray(data).shape
    return (len(data),) if is_column(data) else ()


def _columns(X: Any, names: Sequence[str]) -> dict[str, Any]:
    table = open_memory(X)
    if isinstance(table, MemoryTable):
        return dict(table.columns)
    array = _array_of_rows(X, len(names)) if isinstance(X, list | tuple) else _array(X)
    return {name: array[:, i] for i, name in enumerate(names)}


def _array_of_rows(X: Sequence[Any], width: int) -> Any:
    """The rows of a list; one of another length has no values."""
    with suppress(ValueError):
        array = _array(X)
        if array.ndim == 2 and array.shape[1] == width:
            return array
    array = np.full((len(X), width), None, dtype=object)
    for i, row in enumerate(X):
        if isinstance(row, list | tuple | np.ndarray) and len(row) == width:
            for j, value in enumerate(row):
                array[i, j] = value
    return array


def _array(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        raise_alone(DataError("Expected a table: rows of equal length."))
    if array.dtype.kind in "US":  # numbers beside text stay numbers
        array = np.array(X, dtype=object)
    return array
