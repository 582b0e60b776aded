"""Apache Spark: DataFrames, counted where their rows are.

Rows are counted by one GROUP BY where the question is by keys (`dampen.data.cells`).  Else every
executor runs the product's own encoders over the Arrow batches of its partitions (`mapInArrow`) and
sends counts of cells; Spark adds them up before they come to the driver.  So an answer is the same
as in memory, and no row leaves the executors, except where a question needs a column or all edges:
those come to the driver as Arrow, one partition at a time.  Nothing is drawn on an executor.

Opening asks for names and types, which Spark knows from analysing a query; and it runs one job
*without data*, which proves that the executors import this version of dampen.

Errors of Spark and of its workers quote rows, so they are replaced.  What Spark writes into its own
logs is the curator's side.

ε speaks of the rows of the DataFrame, not of the tables that it was joined from.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.cells import Numbering, ValueCounts, ValuesOf, as_labels
from dampen.data.columns import typed
from dampen.data.expressions import Expression, SqlTerms, condition_sql, double_literal
from dampen.data.source import Batch, CellOf, Field, Kind, counted, require_arrow
from dampen.data.sql import MOST_KEYS, Dialect, KeyQuery, UnitQuery, failed
from dampen.data.units import People
from dampen.errors import ParameterError, raise_alone

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkTable", "is_spark_frame", "open_spark_frame"]

TITLE = "the DataFrame of Spark"
ROWS = 1 << 16
"""Rows that an executor encodes at a time; the batches of Spark are smaller."""
WHOLE_NUMBERS = {"tinyint", "smallint", "int", "bigint"}
DIALECT = Dialect(
    text=frozenset({"string"}),
    whole=frozenset(WHOLE_NUMBERS),
    floats=frozenset({"float", "double"}),
    label="(cast({x} as string) collate UTF8_BINARY)",
    nearest="rint({})",
    literal="cast(unhex('{x}') as string)",
    quotient="{a} div {b}",
)
NUMBERS = {"byte", "short", "integer", "long", "float", "double", "decimal"}
LABELS = {"string", "boolean", "date", "timestamp", "timestamp_ntz", "void", "char", "varchar"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkTable:
    """A DataFrame that was analysed and not run."""

    frame: Any
    fields: Sequence[Field]
    title: str = TITLE
    declared = True
    rows = None
    ordered = False
    streams = True

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        """The rows of the wanted columns come to the driver as Arrow, one partition at a time."""
        import pyarrow as pa

        packed = _mapped(self._columns(wanted), PackedPart(), "packed binary")
        for row in _taken(packed, self.title):
            with pa.ipc.open_stream(row.packed) as stream:
                for batch in stream:
                    yield _typed(batch, wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        query = KeyQuery.of(cell_of, wanted, self.fields, DIALECT)
        if query is not None:
            most = size + MOST_OTHERS
            groups = _collected(_grouped(query, self.frame).limit(most + 1), self.title)
            if len(groups) <= most:
                return query.counted((batch.columns for batch in groups.to_batches()), size)
        return self._counted_by_executors(wanted, cell_of, size)

    def value_counts(self, asked: ValuesOf, /) -> ValueCounts:
        query = KeyQuery.of(asked.keys, asked.wanted, self.fields, DIALECT)
        if query is None:
            return asked.counted(self.batches(asked.wanted))
        groups = _collected(_grouped(query, self.frame), self.title)
        return asked.merged(query.keyed(batch.columns for batch in groups.to_batches()))

    def _counted_by_executors(
        self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int
    ) -> IntArray:
        part = CountedPart(dict(wanted), cell_of, size)
        parts = _mapped(self._columns(wanted), part, PART)
        added = parts.groupBy("cell").agg({"rows": "sum"})
        table = _collected(added.toDF("cell", "rows"), self.title)
        counts = np.zeros(size + 1, dtype=np.int64)
        counts[np.asarray(table.column("cell"))] = np.asarray(table.column("rows"))
        return counts

    def weights(
        self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, people: People, /
    ) -> IntArray | None:
        keys = KeyQuery.of(cell_of, wanted, self.fields, DIALECT)
        query = UnitQuery.of(keys, self.fields, DIALECT, people, quoted)
        if query is None:
            return None
        asked = _keyed(query.keys, self.frame).distinct().limit(MOST_KEYS + 1)
        found = _collected(asked, self.title)
        if len(found) > MOST_KEYS:
            return None
        listed = query.listed(batch.columns for batch in found.to_batches())
        if listed is None:
            return None
        if not listed:
            return np.zeros(size + 1, dtype=np.int64)
        table = _collected(_weighed(query, listed, self.frame), self.title)
        return query.counted((batch.columns for batch in table.to_batches()), size)

    def filtered(self, condition: Expression, /) -> "SparkTable | None":
        sql = condition_sql(condition, self.fields, TERMS)
        return None if sql is None else SparkTable(self.frame.filter(sql), self.fields, self.title)

    def degrees(self, source: str, target: str, numbering: Numbering, /) -> IntArray:
        ends = self._columns([source, target])
        pairs = _mapped(ends, NumberedPart(numbering), "lo long, hi long")
        counted = _collected(_degrees(pairs), self.title)
        degrees = np.zeros(len(numbering.nodes), dtype=np.int64)
        degrees[np.asarray(counted.column("node"))] = np.asarray(counted.column("count"))
        return degrees

    def _columns(self, wanted: Iterable[str]) -> Any:
        """The wanted columns by their places: Spark reads dots in names as paths."""
        return self.frame.selectExpr(*(f"{quoted(name)} as c{i}" for i, name in enumerate(wanted)))


MOST_OTHERS = 1 << 16
"""Groups of a query beyond the public cells: labels that are not listed may be many."""


def _grouped(query: KeyQuery, frame: Any) -> Any:
    """The rows of every key."""
    return _keyed(query, frame).groupBy(*query.keys).count()


def _keyed(query: KeyQuery, frame: Any) -> Any:
    """The keys of all rows."""
    return frame.selectExpr(*query.sources(quoted)).selectExpr(*query.cells)


def _weighed(query: UnitQuery, listed: Sequence[tuple[Any, ...]], frame: Any) -> Any:
    """The weight of every cell."""
    known = frame.filter(query.known).selectExpr(f"{query.unit} as u", *query.keys.sources(quoted))
    rows = known.selectExpr("u", *query.keys.cells)
    kinds = ["string" if isinstance(each, str) else "long" for each in listed[0][:-1]]
    names = [f"k{i} {kind}" for i, kind in enumerate(kinds)]
    cells = frame.sparkSession.createDataFrame(listed, ", ".join([*names, "cell long"]))
    statement = query.statement("select * from {rows}", "select * from {cells}")
    return frame.sparkSession.sql(statement, rows=rows, cells=cells)


PART = "cell long, rows long"


@dataclass(frozen=True, slots=True)
class CountedPart:
    """Counts the rows of a partition, where they are."""

    wanted: dict[str, Kind]
    cell_of: CellOf
    size: int

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        given = (_typed(batch, self.wanted) for batch in _larger(batches))
        counts = counted(given, self.cell_of, self.size)
        cells = np.flatnonzero(counts)
        yield pa.RecordBatch.from_pydict({"cell": cells, "rows": counts[cells]})


@dataclass(frozen=True, slots=True)
class PackedPart:
    """Packs the rows of a partition into few values, each a stream of Arrow."""

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in _larger(batches):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"packed": [sink.getvalue().to_pybytes()]})


@dataclass(frozen=True, slots=True)
class NumberedPart:
    """The edges of a partition that join two of the nodes, by their places; no loops."""

    numbering: Numbering

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in _larger(batches):
            src, dst = (self.numbering.positions(as_labels(end)) for end in batch.columns)
            joins = (src >= 0) & (dst >= 0) & (src != dst)
            ends = src[joins].astype(np.int64), dst[joins].astype(np.int64)
            lower = pa.array(np.minimum(*ends))
            yield pa.RecordBatch.from_arrays([lower, pa.array(np.maximum(*ends))], ["lo", "hi"])


@dataclass(frozen=True, slots=True)
class VersionPart:
    """What an executor imports as dampen; it takes no data."""

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"version": [_version()]})


def _larger(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The same rows in batches of about `ROWS`."""
    gathered: list[pa.RecordBatch] = []
    for batch in batches:
        gathered.append(batch)
        if sum(map(len, gathered)) >= ROWS:
            yield _joined(gathered)
            gathered = []
    if gathered:
        yield _joined(gathered)


def _joined(gathered: "list[pa.RecordBatch]") -> "pa.RecordBatch":
    import pyarrow as pa

    table = pa.Table.from_batches(gathered).combine_chunks()
    return table.to_batches()[0] if len(table) else gathered[0]


def is_spark_frame(data: Any) -> bool:
    """Whether `data` is a DataFrame of Spark; nothing is imported or asked."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__ == "pyspark.sql.dataframe"
        for kind in type(data).__mro__
    )


def open_spark_frame(frame: Any) -> SparkTable:
    """A DataFrame whose executors import this dampen.

    Raises:
        ParameterError: if they do not, or if it is a stream.
    """
    require_arrow("in which Spark returns rows", "spark")
    try:
        streaming = frame.isStreaming
        schema = frame.schema
    except Exception:
        raise_alone(ParameterError("Expected a DataFrame of Spark whose query can be analysed."))
    if streaming:
        raise ParameterError("Expected a table, got a stream of Spark: its rows never end.")
    _check_executors(frame.sparkSession)
    return SparkTable(frame, [_field(field) for field in schema])


def quoted(name: str) -> str:
    """A name as Spark writes it."""
    return "`" + name.replace("`", "``") + "`"


TERMS = SqlTerms(
    quoted=quoted,
    whole=DIALECT.whole,
    floats=DIALECT.floats,
    text=DIALECT.text,
    whole_number="cast({x} as double)",
    float_number="(case when isnan({x}) then null else cast({x} as double) end)",
    text_bytes="cast({x} as binary)",
    number=double_literal,
    literal="cast({x} as binary)",
)
"""What a condition is made of."""

_PROVED: "WeakSet[Any]" = WeakSet()
"""Sessions whose executors were asked."""


def _check_executors(session: Any) -> None:
    if session in _PROVED:
        return
    try:
        asked = _mapped(session.range(0, 64), VersionPart(), "version string")
        versions = asked.distinct().toArrow().column("version").to_pylist()
    except Exception:
        versions = ["none"]
    if versions != [_version()]:
        raise_alone(
            ParameterError(
                f"Expected the executors of Spark to import dampen {_version()}, but they import "
                f"{', '.join(sorted(versions))}. Install it in the Python that they run, and name "
                "that Python in the environment variable PYSPARK_PYTHON."
            )
        )
    _PROVED.add(session)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dampen")
    except PackageNotFoundError:  # run from its source, not installed
        return "unknown"


def _collected(frame: Any, title: str) -> Any:
    try:
        return frame.toArrow()
    except Exception:
        raise_alone(failed(title))


def _taken(frame: Any, title: str) -> Iterator[Any]:
    """The rows of a small DataFrame, one partition after the other."""
    try:
        yield from frame.toLocalIterator(prefetchPartitions=True)
        return
    except Exception:
        failure = failed(title)
    raise_alone(failure)


def _mapped(frame: Any, part: Any, schema: str) -> Any:
    """`mapInArrow`; Spark warns of versions of pandas, which takes no part in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(part, schema)


def _degrees(pairs: Any) -> Any:
    """Every node that has neighbours, with their number."""
    return pairs.distinct().selectExpr("explode(array(lo, hi)) as node").groupBy("node").count()


def _typed(batch: Any, wanted: Mapping[str, Kind]) -> Batch:
    return {
        name: typed(column, kind)
        for (name, kind), column in zip(wanted.items(), batch.columns, strict=True)
    }


def _field(field: Any) -> Field:
    return Field(field.name, field.dataType.simpleString(), _holds(field.dataType.typeName()))


def _holds(kind: str) -> Literal["numbers", "labels", "other"]:
    if kind in NUMBERS:
        return "numbers"
    return "labels" if kind in LABELS else "other"
