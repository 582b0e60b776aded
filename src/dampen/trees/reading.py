"""Rows for a tree: from tables of any kind to integer codes."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from dampen.data.columns import as_labels
from dampen.data.memory import MemoryTable, is_column, open_memory
from dampen.data.opened import Batch, CellOf, Field, Kind, Opened, counted
from dampen.errors import DataError, ParameterError
from dampen.selection import IntArray
from dampen.trees.encoding import Categories, Domain, leaked_domain
from dampen.trees.growing import LevelRows, Rows
from dampen.trees.streaming import Coding, StreamedRows

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
    """X and y as scikit-learn takes them, opened: their rows are looked at after the charge."""

    X: Any
    y: Any
    names: Sequence[str]
    title: str = "X and y"
    declared = True
    rows = None
    ordered = True
    streams = False

    @classmethod
    def open(cls, X: Any, y: Any) -> "Supervised":
        """Looks at the names and the shape of X alone.

        Raises:
            ParameterError: if X is not a table of at least one column, or y is missing.
        """
        if y is None:
            raise ParameterError(
                "Expected y, one class per row: this estimator requires y to be passed, but the "
                "target y is None."
            )
        names = _names(X)
        if not names:
            raise ParameterError(
                "Expected columns, got 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )
        return cls(X, y, names)

    @property
    def fields(self) -> Sequence[Field]:
        return [Field(name) for name in (*self.names, TARGET)]

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        y = self.y if is_column(self.y) else column_or_1d(self.y, warn=True)
        columns = _columns(self.X, self.names)
        if len({len(y), *map(len, columns.values())}) > 1:
            # scikit-learn's own message would tell how many rows there are.
            raise DataError("Expected as many classes in y as rows in X.")
        yield from MemoryTable({**columns, TARGET: y}).batches(wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


def _names(X: Any) -> list[str]:
    """The public names of the columns: those of a table, or x0, x1, ..."""
    table = open_memory(X)
    if table is not None:
        return [field.name for field in table.fields]
    if hasattr(X, "tocoo"):
        raise ParameterError(
            "Expected a dense table, got a sparse matrix; sparse data is not supported. Use "
            "X.toarray()."
        )
    shape = X.shape if hasattr(X, "shape") else _array(X).shape
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ParameterError("Expected numbers or text. Complex data not supported.")
    if len(shape) != 2:
        raise ParameterError(
            f"Expected 2D array, rows and columns, got {len(shape)} dimension(s) instead. Reshape "
            "your data."
        )
    return [f"x{i}" for i in range(shape[1])]


def _columns(X: Any, names: Sequence[str]) -> dict[str, Any]:
    table = open_memory(X)
    if isinstance(table, MemoryTable):
        return dict(table.columns)
    array = _array(X)
    return {name: array[:, i] for i, name in enumerate(names)}


def _array(X: Any) -> Any:
    try:
        return np.asarray(X)
    except ValueError:
        raise ParameterError("Expected a table: rows of equal length.") from None


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
    batches = None
    if classes is None or None in domains.values():
        batches = list(table.batches(_wanted(domains, target, classes)))
        classes = _leaked_classes(batches, target) if classes is None else classes
        domains = _completed(domains, batches)
    known = {name: domain for name, domain in domains.items() if domain is not None}
    coding = Coding(known, target, classes)
    if batches is None and table.streams:
        streamed = StreamedRows(table, coding)
        size = int(streamed.class_counts().sum())
        _check_size(size, max_rows)
        return ReadRows(streamed, known, classes, size)
    read = table.batches(coding.wanted) if batches is None else batches
    held, size = _held(read, coding, max_rows)
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
    y = np.asarray(as_labels(batch[target] for batch in batches))
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("Expected a class in every row; some are NaN or infinite (inf).")
    try:
        check_classification_targets(y)
    except ValueError:
        raise DataError("Unknown label type: expected classes, not continuous numbers.") from None
    classes: list[Hashable] = np.unique(y).tolist()
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
