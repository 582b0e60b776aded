"""Rows for a tree: from tables of any kind to integer codes."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from dampen.core.selection import IntArray
from dampen.data.columns import as_labels, is_missing
from dampen.data.memory import (
    COLUMNS,
    TABLES,
    MemoryTable,
    StreamTable,
    is_column,
    offers,
    open_memory,
)
from dampen.data.source import Batch, CellOf, Field, Kind, Opened, counted, reading
from dampen.errors import DataError, ParameterError, raise_alone
from dampen.questions.classify.encoding import Categories, Domain, leaked_domain
from dampen.questions.classify.grow_levels import LevelRows, Rows
from dampen.questions.classify.streaming import Coding, StreamedRows

__all__ = ["TARGET", "ReadRows", "Supervised", "read_rows"]

TARGET = "y="
"""The name of the classes beside the columns of X."""


class ReadRows(NamedTuple):
    """The private rows, ready to be counted, and the public domains by which they are coded."""

    rows: LevelRows
    domains: dict[str, Domain]
    classes: Sequence[Hashable]
    size: int


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
    def open(cls, X: Any, y: Any) -> "Supervised":
        """Looks at the names, the types and the width of X alone.

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
        fields = [Field(f"x{i}") for i in range(_width(X))] if table is None else table.fields
        if not fields:
            raise ParameterError(
                "Expected columns, got 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )
        names = [field.name for field in fields]
        named = table is not None and list(getattr(X, "columns", names)) == names
        return cls(X, y, names, named, [*fields, Field(TARGET)])

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        y = self.y if is_column(self.y) else column_or_1d(self.y, warn=True)
        columns = _columns(self.X, self.names)
        if len({len(y), *map(len, columns.values())}) > 1:
            # scikit-learn's own message would tell how many rows there are.
            raise DataError("Expected as many classes in y as rows in X.")
        yield from MemoryTable({**columns, TARGET: y}).batches(wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


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


def _width(X: Any) -> int:
    """How many columns there are, from what X says of itself, or from its first row."""
    if offers("scipy", "tocoo")(X):
        raise ParameterError(
            "Expected a dense table, got a sparse matrix; sparse data is not supported. Use "
            "X.toarray()."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise ParameterError("Expected numbers or text. Complex data not supported.")
    shape = _shape(X)
    if not shape:
        raise ParameterError(
            f"Expected a table: an array with rows and columns, {TABLES}; got a "
            f"{type(X).__name__}. fit_table takes files and tables that are read in a stream."
        )
    if len(shape) != 2:
        raise ParameterError(
            f"Expected 2D array, rows and columns, got {len(shape)} dimension(s) instead. Reshape "
            "your data."
        )
    return shape[1]


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of an array, or of lists in a list by the first of them; empty for all else."""
    if isinstance(data, np.ndarray):
        return data.shape
    if isinstance(data, list | tuple):
        return (len(data), *(_shape(data[0]) if data else ()))
    if hasattr(type(data), "__array__") and not is_column(data):
        # What scikit-learn takes for an array; one that does not say its shape lies in memory.
        return tuple(data.shape) if hasattr(data, "shape") else np.asarray(data).shape
    return (len(data),) if is_column(data) else ()


def _columns(X: Any, names: Sequence[str]) -> dict[str, Any]:
    table = open_memory(X)
    if isinstance(table, MemoryTable):
        return dict(table.columns)
    array = _array(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError("Expected a table: rows of equal length.")
    return {name: array[:, i] for i, name in enumerate(names)}


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


def read_rows(
    table: Opened,
    domains: Mapping[str, Domain | None],
    target: str,
    classes: Sequence[Hashable] | None,
    max_rows: int | None,
) -> ReadRows:
    """Reads and codes the rows; what is not given is taken from them, which was warned of.

    Where the table streams and all is given, its rows stay where they are.

    Raises:
        DataError: if there are more than `max_rows` rows, or values outside their domains.
    """
    leaked = None
    if classes is None or None in domains.values():
        leaked = list(table.batches(_wanted(domains, target, classes)))
        classes = _leaked_classes(leaked, target) if classes is None else classes
        domains = _completed(domains, leaked)
    known = {name: domain for name, domain in domains.items() if domain is not None}
    coding = Coding(known, target, classes)
    if leaked is None and table.streams:
        streamed = StreamedRows(table, coding)
        size = int(streamed.class_counts().sum())
        _check_size(size, max_rows)
        return ReadRows(streamed, known, classes, size)
    with reading(table.batches(coding.wanted) if leaked is None else iter(leaked)) as stream:
        held, size = _held(stream, coding, max_rows)
    return ReadRows(held, known, classes, size)


def _held(batches: Iterable[Batch], coding: Coding, max_rows: int | None) -> tuple[Rows, int]:
    size = 0
    codes: list[Any] = [np.empty((0, len(coding.domains)), dtype=np.int16)]
    class_codes: list[IntArray] = [np.empty(0, dtype=np.int64)]
    for batch in batches:
        size += len(batch[coding.target])
        _check_size(size, max_rows)
        codes.append(coding.codes(batch))
        class_codes.append(coding.class_codes(batch))
    classes = len(coding.classes)
    return Rows(np.concatenate(codes), np.concatenate(class_codes), classes), size


def _check_size(size: int, max_rows: int | None) -> None:
    if max_rows is not None and size > max_rows:
        raise DataError("Expected at most max_rows rows, the public bound; there are more.")


def _wanted(
    domains: Mapping[str, Domain | None], target: str, classes: Sequence[Hashable] | None
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {
        name: "any" if domain is None else domain.kind for name, domain in domains.items()
    }
    return kinds | {target: "any" if classes is None else Categories(tuple(classes)).kind}


def _leaked_classes(batches: Sequence[Batch], target: str) -> Sequence[Hashable]:
    labels = as_labels(batch[target] for batch in batches)
    if any(map(is_missing, labels)):
        raise DataError("Expected a class in every row; some are missing (NaN).")
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        raise DataError(
            "Unknown label type: expected classes, not continuous numbers, fractions or infinite "
            "ones (inf)."
        )
    classes = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
    if len(classes) < 2:
        raise DataError("Expected rows of at least two classes; all are of one class.")
    return classes


def _completed(
    domains: Mapping[str, Domain | None], batches: Sequence[Batch]
) -> dict[str, Domain | None]:
    return {
        name: leaked_domain([batch[name] for batch in batches]) if domain is None else domain
        for name, domain in domains.items()
    }
