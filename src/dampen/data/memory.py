"""Tables and columns in memory: numpy, pandas, polars, pyarrow, lists; by what they offer.

No library is imported to find out what an object is.  What is not listed here is refused, before
any charge: its `len` or its names might already be a look at the data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dampen.data.columns import joined_numbers
from dampen.data.opened import Batch, CellOf, Chunk, Field, Kind, counted
from dampen.errors import ParameterError
from dampen.selection import FloatArray, IntArray

__all__ = [
    "COLUMNS",
    "TABLES",
    "MemoryTable",
    "StreamTable",
    "is_column",
    "numbers_in",
    "open_memory",
]

BATCH = 1 << 17
"""Rows that are encoded at a time: what they are turned into stays in the cache."""

COLUMNS = "a list, a numpy array, or one column of pandas, polars or pyarrow"
TABLES = "a DataFrame of pandas or polars (also lazy), a pyarrow table, or a dict of columns"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryTable:
    """Columns of equal length that lie in memory."""

    columns: Mapping[str, Any]
    title: str = "the data"
    declared = True
    ordered = True
    streams = False

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise ParameterError(
                f"Expected columns of equal length ({', '.join(self.columns)}): one entry per row."
            )

    @property
    def fields(self) -> Sequence[Field]:
        return [_field(name, column) for name, column in self.columns.items()]

    @property
    def rows(self) -> int:
        return min((len(column) for column in self.columns.values()), default=0)

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        held = {name: as_chunk(self.columns[name]) for name in wanted}
        for start in range(0, max(self.rows, 1), BATCH):
            yield {name: chunk[start : start + BATCH] for name, chunk in held.items()}

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StreamTable:
    """A table that is computed or read when it is asked for, as Arrow batches: a lazy frame."""

    fields: Sequence[Field]
    stream: Any
    title: str = "the data"
    declared = True
    rows = None
    ordered = True
    streams = False

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        for batch in self.stream(list(wanted)):
            yield {name: batch.column(name) for name in wanted}

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


def open_memory(data: Any) -> MemoryTable | StreamTable | None:
    """The table that lies in memory, or None if `data` is none of the known kinds."""
    for is_kind, opened in _KINDS:
        if is_kind(data):
            return opened(data)
    return None


def is_column(data: Any) -> bool:
    """Whether `data` is one column of a known kind; its values are not looked at."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and not data.dtype.names
    if isinstance(data, str | bytes | Mapping):
        return False
    if isinstance(data, Sequence):
        return True
    arrow = _has(data, "type", "to_pylist", "__len__")
    series = _has(data, "dtype", "to_numpy", "__len__") and not _has(data, "columns")
    other = _has(data, "__array__", "__len__") and len(getattr(data, "shape", (0,))) == 1
    return arrow or series or (other and not _has(data, "columns"))


def numbers_in(column: Any) -> FloatArray:
    """A column in memory as floats; see `dampen.data.columns.as_numbers`."""
    return joined_numbers([as_chunk(column)])


def as_chunk(column: Any) -> Chunk:
    """A column in memory as one chunk, without a copy where that can be."""
    if isinstance(column, np.ndarray | list | tuple):
        return column
    if _has(column, "to_pylist") or _has(column, "to_arrow"):  # pyarrow, polars
        return _whole(column if _has(column, "to_pylist") else column.to_arrow())
    if _has(column, "to_numpy") and not _is_plain(column.dtype):  # pandas' own types
        import pyarrow as pa

        return _whole(pa.array(column, from_pandas=True))
    plain = _has(column, "to_numpy") or _has(column, "__array__")
    return np.asarray(column) if plain else list(column)


def arrow_field(field: Any) -> Field:
    """The public facts about a column of an Arrow schema."""
    return Field(str(field.name), str(field.type), _arrow_holds(field.type))


def _arrow_holds(kind: Any) -> Literal["numbers", "labels", "other"]:
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind):
        return _arrow_holds(kind.value_type)
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return "numbers"
    text = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
    plain = kinds.is_boolean(kind) or kinds.is_temporal(kind) or kinds.is_null(kind)
    return "labels" if text or plain else "other"


def _whole(array: Any) -> Any:
    """An Arrow array in one piece."""
    import pyarrow as pa

    if not _has(array, "chunks"):
        return array
    return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)


def _is_plain(dtype: Any) -> bool:
    """Whether numpy holds such values as they are."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iufbO"


def _of_mapping(data: Mapping[Any, Any]) -> MemoryTable | None:
    if not data or not all(isinstance(name, str) for name in data):
        return None
    return MemoryTable(dict(data)) if all(map(is_column, data.values())) else None


def _of_pandas(frame: Any) -> MemoryTable:
    return _named([str(name) for name in frame.columns], lambda i: frame.iloc[:, i])


def _of_polars(frame: Any) -> MemoryTable:
    return _named(frame.columns, lambda i: frame.get_column(frame.columns[i]))


def _of_arrow(table: Any) -> MemoryTable:
    return _named([str(name) for name in table.column_names], table.column)


def _of_records(array: Any) -> MemoryTable:
    return _named(array.dtype.names, lambda i: array[array.dtype.names[i]])


def _named(names: Sequence[str], column: Callable[[int], Any]) -> MemoryTable:
    if len(set(names)) < len(names):
        raise ParameterError("Expected columns with different names; some occur twice.")
    return MemoryTable({name: column(i) for i, name in enumerate(names)})


def _of_arrow_reader(reader: Any) -> StreamTable:
    """Can be read once."""
    fields = [arrow_field(field) for field in reader.schema]
    return StreamTable(fields, lambda names: (batch.select(names) for batch in reader))


def _of_lazy_polars(frame: Any) -> StreamTable:
    fields = [_polars_field(name, kind) for name, kind in frame.collect_schema().items()]

    def stream(names: list[str]) -> Iterator[Any]:
        for part in frame.select(names).collect_batches(maintain_order=True):
            yield from part.to_arrow().to_batches()

    return StreamTable(fields, stream)


def _polars_field(name: str, kind: Any) -> Field:
    other = "other" if kind.is_nested() else "labels"
    return Field(name, str(kind), "numbers" if kind.is_numeric() else other)  # type: ignore[arg-type]


def _field(name: str, column: Any) -> Field:
    """The declared type of a column in memory; that of Python objects shows only in the values."""
    if _has(column, "to_pylist", "type"):
        return Field(name, str(column.type), _arrow_holds(column.type))
    kind = getattr(column, "dtype", None)
    if kind is None or str(kind) == "object":
        return Field(name)
    text = str(kind).lower()
    if text.startswith(("int", "uint", "float", "decimal")):
        return Field(name, str(kind), "numbers")
    other = text.startswith(("list", "array", "struct", "binary", "object", "complex", "void"))
    # The categories of pandas and polars may be numbers; only they themselves know.
    unknown = text.startswith(("category", "enum"))
    return Field(name, str(kind), None if unknown else "other" if other else "labels")


def _has(data: Any, *names: str) -> bool:
    return all(hasattr(data, name) for name in names)


def _offers(*names: str) -> Callable[[Any], bool]:
    return lambda data: _has(data, *names)


# By what they offer, not by class, so that no library is imported to find out.
_KINDS: tuple[
    tuple[Callable[[Any], bool], Callable[[Any], MemoryTable | StreamTable | None]], ...
] = (
    (lambda data: isinstance(data, Mapping) and not _has(data, "tocoo"), _of_mapping),
    (_offers("iloc", "columns", "dtypes"), _of_pandas),
    (_offers("collect_schema", "get_column"), _of_polars),
    (_offers("collect_schema", "collect_batches"), _of_lazy_polars),
    (_offers("schema", "column_names", "column"), _of_arrow),
    (_offers("schema", "read_next_batch"), _of_arrow_reader),
    (lambda data: isinstance(data, np.ndarray) and bool(data.dtype.names), _of_records),
)
