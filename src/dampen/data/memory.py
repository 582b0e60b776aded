"""Tables and columns in memory: numpy, pandas, polars, pyarrow, lists.

An object is known by the library that its class comes from and by what it offers; no library is
imported to find out.  What is not listed here is refused, before any charge: the `len` or the names
of an object that only looks like a frame may be a query of the data.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from weakref import WeakSet

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import CALENDAR, DAY, joined_numbers, without_views
from dampen.data.source import Batch, CellOf, Chunk, Field, Kind, counted, has_arrow
from dampen.errors import ParameterError, raise_alone

__all__ = [
    "COLUMNS",
    "TABLES",
    "MemoryTable",
    "StreamTable",
    "arrow_field",
    "as_chunk",
    "as_counts",
    "field_of",
    "is_column",
    "is_counts",
    "numbers_in",
    "offers",
    "open_memory",
]

BATCH = 1 << 17
"""Rows that are encoded at a time: what they are turned into stays in the cache."""

WIDEST = 8
"""Bytes of a float; wider ones would be objects among Python's numbers."""

Holds: TypeAlias = Literal["numbers", "labels", "other"]

COLUMNS = "a list, a numpy array, or one column of pandas, polars or pyarrow"
TABLES = "a DataFrame of pandas or polars (also lazy), a pyarrow table, or a dict of columns"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryTable:
    """Columns of equal length that lie in memory.

    Attributes:
        columns: by their names.
        title: what errors call the table.
        index: the names of the levels of an index of pandas, which is no column.
    """

    columns: Mapping[str, Any]
    title: str = "the data"
    index: tuple[str, ...] = ()
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
        return [field_of(name, column) for name, column in self.columns.items()]

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
    """A table that is computed or read when it is asked for, in batches: a lazy frame."""

    fields: Sequence[Field]
    stream: Callable[[Sequence[str]], Iterator[Batch]]
    title: str = "the data"
    declared = True
    rows = None
    ordered = True
    streams = False

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        yield from self.stream(list(wanted))

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


def open_memory(data: Any) -> MemoryTable | StreamTable | None:
    """The table in memory, or None if `data` is of an unknown kind.

    Looks at the class alone: attributes of an object might make an engine run a query.
    """
    if isinstance(data, MemoryTable | StreamTable):
        return data
    for is_kind, opened in _KINDS:
        if is_kind(data):
            return opened(data)
    return None


def is_column(data: Any) -> bool:
    """Whether `data` is one column of a known kind; its values are not looked at."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and not data.dtype.names
    if isinstance(data, list | tuple | range | array):
        return True
    return any(is_kind(data) for is_kind in _SERIES) and not hasattr(type(data), "columns")


def is_counts(data: Any) -> bool:
    """Whether `data` maps categories to counts, as a `Counter` does, not names to columns."""
    return isinstance(data, Mapping) and not _is_sparse(data) and open_memory(data) is None


def as_counts(data: Any) -> Any:
    """What `value_counts()` of pandas gives, as a mapping; all else as it is.

    It is known by its name, "count", and by its index, which holds values and not places.  Of a
    frame with one column every value is alone in a tuple.
    """
    if not offers("pandas", "to_numpy", "dtype", "items")(data) or data.name != "count":
        return data
    if type(data.index).__name__ == "RangeIndex":
        return data
    of_one_column = type(data.index).__name__ == "MultiIndex" and data.index.nlevels == 1
    return {value[0] if of_one_column else value: n for value, n in data.items()}


def numbers_in(column: Any) -> FloatArray:
    """A column in memory as floats; see `dampen.data.columns.as_numbers`."""
    return joined_numbers([as_chunk(column)])


def as_chunk(column: Any) -> Chunk:
    """A column in memory as one chunk, without a copy where that can be."""
    if isinstance(column, np.ma.MaskedArray):
        return _of_masked(column)
    if isinstance(column, np.ndarray):
        return _of_numpy(column)
    if isinstance(column, list | tuple):
        return column
    kind = type(column)  # an object may show its labels as attributes; its class does not
    if hasattr(kind, "to_pylist") or hasattr(kind, "to_arrow"):  # pyarrow, polars
        return _whole(column) if hasattr(kind, "to_pylist") else _of_polars_column(column)
    if hasattr(kind, "to_numpy") and not _is_plain(column.dtype):  # pandas' own types
        return _of_own_type(column)
    return as_chunk(np.asarray(column)) if hasattr(kind, "__array__") else list(column)


def _of_numpy(column: Any) -> Chunk:
    if column.dtype.kind == "T":  # text, and missing cells as its own type says
        kind = np.dtype(object)
    elif column.dtype.kind == "f" and column.dtype.itemsize > WIDEST:
        kind = np.dtype(np.float64)
    else:
        kind = column.dtype.newbyteorder("=")
    held: Chunk = column.astype(kind, copy=False)
    return held


def _of_masked(column: Any) -> Chunk:
    """A masked array, in a type that does not depend on whether any cell is masked."""
    if column.dtype.kind in "fMm":
        nothing = np.nan if column.dtype.kind == "f" else "NaT"
        return as_chunk(column.filled(np.array(nothing).astype(column.dtype)))
    objects: Chunk = column.astype(object).filled(None)
    return objects


def _of_own_type(column: Any) -> Chunk:
    """A column of a type of pandas' own; as objects where Arrow has no type for its values."""
    if hasattr(column.dtype, "categories") and not (has_arrow() and _have_a_type(column.dtype)):
        return _of_categories(column)
    if not has_arrow():
        moments = isinstance(column.dtype, np.dtype) and column.dtype.kind in "Mm"
        return np.asarray(column, dtype=None if moments else object)
    import pyarrow as pa

    try:
        held: Chunk = _whole(pa.array(column, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        held = np.asarray(column, dtype=object)
    return held


def _have_a_type(dtype: Any) -> bool:
    """Whether categories are no objects, for which Arrow would look for one type.

    Texts alone would be a column of text, and objects beside one row of numbers: numbers that are
    written as text would be read because of that row.
    """
    return bool(dtype.categories.dtype != object)


def _of_categories(column: Any) -> Chunk:
    """The category of every row; pandas would make floats of numbers beside a missing one."""
    held = getattr(column, "array", column)
    words = np.empty(len(held.categories) + 1, dtype=object)
    words[:-1] = np.asarray(held.categories, dtype=object)
    chunk: Chunk = words[held.codes]
    return chunk


def _of_polars_column(column: Any) -> Chunk:
    if has_arrow():
        return _whole(column.to_arrow())
    whole = column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count()
    # Python's times have no nanoseconds, and end where those of polars go on.
    moment = column.dtype.is_temporal() and str(column.dtype) != "Time"
    zoned = getattr(column.dtype, "time_zone", None) is not None
    if whole or (moment and not zoned):
        return as_chunk(column.to_numpy())
    values: Chunk = (_of_calendar(column) if zoned else column).to_list()
    return values


def _of_calendar(column: Any) -> Any:
    """Times with a zone, null where Python has none; polars would end the process there."""
    seconds = column.to_physical() // TICKS[column.dtype.time_unit]
    return column.zip_with(seconds.is_between(*WITHIN_CALENDAR), column.clear(len(column)))


TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
WITHIN_CALENDAR = (CALENDAR[0] + DAY, CALENDAR[1] - DAY)
"""Seconds from 1970 on that are within the calendar of Python in every zone."""


def arrow_field(field: Any) -> Field:
    """The public facts about a column of an Arrow schema."""
    return Field(str(field.name), str(field.type), _arrow_holds(field.type))


def _arrow_holds(kind: Any) -> Holds:
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

    if not hasattr(array, "chunks"):
        return without_views(array)
    chunks = array.unify_dictionaries().chunks
    return without_views(pa.concat_arrays(chunks) if chunks else pa.array([], array.type))


def _is_plain(dtype: Any) -> bool:
    """Whether numpy holds such values as they are, or as they would be if they were not sparse."""
    return (isinstance(dtype, np.dtype) and dtype.kind in "iufbO") or hasattr(dtype, "fill_value")


def _of_mapping(data: Mapping[Any, Any]) -> MemoryTable | None:
    if not data or not all(isinstance(name, str) for name in data):
        return None
    return MemoryTable(dict(data)) if all(map(is_column, data.values())) else None


def _of_pandas(frame: Any) -> MemoryTable:
    table = _named([str(name) for name in frame.columns], lambda i: frame.iloc[:, i])
    levels = tuple(str(name) for name in frame.index.names if name is not None)
    return replace(table, index=levels)


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


_READ: "WeakSet[Any]" = WeakSet()
"""Readers whose rows were taken: a second release from one would speak of no rows at all."""


def _of_arrow_reader(reader: Any) -> StreamTable:
    if reader in _READ:
        raise ParameterError("Expected a reader that was not read yet: its rows can be read once.")

    def stream(names: Sequence[str]) -> Iterator[Batch]:
        _READ.add(reader)
        return ({name: _whole(batch.column(name)) for name in names} for batch in reader)

    return StreamTable([arrow_field(field) for field in reader.schema], stream)


def _of_lazy_polars(frame: Any) -> StreamTable:
    try:
        kinds = frame.collect_schema()
    except Exception:  # whatever the plan of the query raises; it may quote what it read
        raise_alone(ParameterError("Expected a lazy frame whose columns are known; it gave none."))

    def stream(names: Sequence[str]) -> Iterator[Batch]:
        for part in frame.select(names).collect_batches(maintain_order=True):
            yield {name: as_chunk(part.get_column(name)) for name in names}

    return StreamTable([_polars_field(name, kind) for name, kind in kinds.items()], stream)


def field_of(name: str, column: Any) -> Field:
    """The declared type of a column in memory; that of Python objects shows only in the values."""
    if hasattr(type(column), "to_pylist"):
        return Field(name, str(column.type), _arrow_holds(column.type))
    dtype = getattr(column, "dtype", None)
    if dtype is None:
        return Field(name)
    if hasattr(dtype, "is_nested"):
        return _polars_field(name, dtype)
    holds = _holds(dtype)
    return Field(name, None if holds is None else str(dtype), holds)


def _polars_field(name: str, kind: Any) -> Field:
    # Those that Arrow has no type for, and those that are no labels.
    other = kind.is_nested() or str(kind) in ("Int128", "UInt128", "Object", "Binary", "Unknown")
    labels: Holds = "numbers" if kind.is_numeric() else "labels"
    return Field(name, str(kind), "other" if other else labels)


def _holds(dtype: Any) -> Holds | None:
    """What a type of numpy or pandas can hold."""
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_holds(dtype.pyarrow_dtype)
    if hasattr(dtype, "categories"):
        return _holds(dtype.categories.dtype)
    if dtype.kind in "iuf":
        return "numbers"
    if dtype.kind in "Mm" and _has_no_length(dtype):
        return "other"
    if dtype.kind in "bMmUTS" or str(dtype) in ("str", "string"):
        return "labels"
    return None if str(dtype) == "object" else "other"


def _has_no_length(dtype: Any) -> bool:
    """Whether times or spans have no length in seconds, such as months, or are in attoseconds.

    Neither numpy nor Arrow compares those with seconds.
    """
    unit = np.datetime_data(dtype)[0] if isinstance(dtype, np.dtype) else "ns"
    return unit in ("as", "generic") or (dtype.kind == "m" and unit in ("Y", "M"))


def offers(library: str, *names: str) -> Callable[[Any], bool]:
    """Whether an object's class comes from a library, by inheritance too, and has these names."""

    def offered(data: Any) -> bool:
        homes = (str(kind.__module__).partition(".")[0] for kind in type(data).__mro__)
        return library in homes and all(hasattr(type(data), name) for name in names)

    return offered


_is_sparse = offers("scipy", "tocoo")  # some sparse matrices are mappings
_SERIES = (
    offers("pyarrow", "to_pylist", "type"),
    offers("pandas", "to_numpy", "dtype"),
    offers("polars", "to_numpy", "to_arrow"),
)
_KINDS: tuple[
    tuple[Callable[[Any], bool], Callable[[Any], MemoryTable | StreamTable | None]], ...
] = (
    (lambda data: isinstance(data, Mapping) and not _is_sparse(data), _of_mapping),
    (offers("pandas", "columns", "iloc"), _of_pandas),
    (offers("polars", "columns", "get_column"), _of_polars),
    (offers("polars", "collect_schema", "collect_batches"), _of_lazy_polars),
    (offers("pyarrow", "column_names", "column"), _of_arrow),
    (offers("pyarrow", "read_next_batch"), _of_arrow_reader),
    (lambda data: isinstance(data, np.ndarray) and bool(data.dtype.names), _of_records),
)
