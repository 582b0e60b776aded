"""DuckDB: relations and the tables of database files, counted by the engine.

Rows are counted by one GROUP BY where the question is by keys (`dampen.data.cells`).  Else they
come as a stream of Arrow batches, of the wanted columns alone, and are counted by the product's own
encoders.  So an answer is the same as in memory: SQL's own ideas of NaN, -0.0, collation and
decimals have no part in it, and a table may be larger than memory.  Without pyarrow the wanted
columns are held as a list of rows: the same answers, more slowly, from tables that fit.

Opening asks for names and types, which DuckDB knows from binding a query; it runs none.  A
connection that was opened here is closed here.  Errors of DuckDB quote rows, so they are replaced.

ε speaks of the rows of the relation, not of the tables that it was joined from: where one person
has many rows in it, they are many records.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.cells import Numbering, ValueCounts, ValuesOf, as_labels
from dampen.data.columns import typed
from dampen.data.expressions import Expression, SqlTerms, condition_sql, double_literal
from dampen.data.source import (
    Batch,
    CellOf,
    Field,
    Kind,
    counted,
    has_arrow,
    reading,
    require_arrow,
)
from dampen.data.sql import MOST_KEYS, Dialect, KeyQuery, UnitQuery, failed
from dampen.data.units import MOST_HELD, People
from dampen.errors import ParameterError, raise_alone

__all__ = ["DuckTable", "is_relation", "open_duckdb_file", "open_relation"]

BATCH = 1 << 17
FEW_ROWS = MOST_HELD
"""Up to so many rows are read to be weighed."""
ARROW_ALONE = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIME WITH TIME ZONE"}
"""Types of columns that DuckDB hands to Python without a loss only as Arrow."""
WHOLE_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
}  # fmt: skip
"""Types of SQL whose equality is that of Python's whole numbers, and which fit into 64 bits."""
DIALECT = Dialect(
    text=frozenset({"VARCHAR"}),
    whole=frozenset(WHOLE_NUMBERS),
    floats=frozenset({"FLOAT", "DOUBLE"}),
    label="encode({x})",
    nearest="cast({} as bigint)",  # which rounds
    literal="unhex('{x}')",
    quotient="{a} // {b}",
)
NUMBERS = {
    "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
    "hugeint", "float", "double", "decimal",
}  # fmt: skip
LABELS = {
    "varchar", "boolean", "enum", "uuid", "date", "time", "time with time zone", "timestamp",
    "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone", "null",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DuckTable:
    """A relation that was bound and not run; `held` gives it, and closes what it opened."""

    title: str
    fields: Sequence[Field]
    held: Callable[[], AbstractContextManager[Any]]
    declared = True
    rows = None
    ordered = False
    streams = True

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        types = {field.name: field.type for field in self.fields}
        columns = ", ".join(_selected(name, types[name]) for name in wanted)
        with reading(self._run(lambda relation: relation.project(columns))) as pieces:
            for piece in pieces:
                yield {
                    name: typed(column, kind)
                    for (name, kind), column in zip(wanted.items(), piece, strict=True)
                }

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        query = KeyQuery.of(cell_of, wanted, self.fields, DIALECT)
        if query is None:
            return counted(self.batches(wanted), cell_of, size)
        with reading(self._run(partial(_grouped, query))) as groups:
            return query.counted(groups, size)

    def weights(
        self,
        wanted: Mapping[str, Kind],
        cell_of: CellOf,
        size: int,
        people: People,
        /,
    ) -> IntArray | None:
        query = UnitQuery.of(
            KeyQuery.of(cell_of, wanted, self.fields, DIALECT), self.fields, DIALECT, people, quoted
        )
        if query is None or self._is_read_faster():
            return None
        with reading(self._run(partial(_keys, query))) as groups:
            found = list(groups)
        listed = None if sum(len(each[0]) for each in found) > MOST_KEYS else query.listed(found)
        if listed is None:
            return None
        if not listed:
            return np.zeros(size + 1, dtype=np.int64)
        with reading(self._run(partial(_weighed, query, listed))) as cells:
            return query.counted(cells, size)

    def value_counts(self, asked: ValuesOf, /) -> ValueCounts:
        query = KeyQuery.of(asked.keys, asked.wanted, self.fields, DIALECT)
        if query is None:
            return asked.counted(self.batches(asked.wanted))
        with reading(self._run(partial(_grouped, query))) as groups:
            return asked.merged(query.keyed(groups))

    def sums(
        self, wanted: Mapping[str, Kind], group_of: CellOf, size: int, value: str, key: Any, /
    ) -> IntArray | None:
        query = KeyQuery.of_sums(group_of, wanted, self.fields, DIALECT, value=value, key=key)
        if query is None:
            return None
        with reading(self._run(partial(_grouped, query))) as groups:
            return query.added(groups, size)[:-1]

    def filtered(self, condition: Expression, /) -> "DuckTable | None":
        sql = condition_sql(condition, self.fields, TERMS)
        if sql is None:
            return None

        @contextmanager
        def held() -> Iterator[Any]:
            with self.held() as relation:
                yield relation.filter(sql)

        return DuckTable(self.title, self.fields, held)

    def degrees(self, source: str, target: str, numbering: Numbering, /) -> IntArray | None:
        kinds = {field.type for field in self.fields if field.name in (source, target)}
        if kinds <= WHOLE_NUMBERS:
            label = "cast({} as bigint)"
            back = "{}"
        elif kinds <= {"VARCHAR"} and numbering.all_text:
            # As bytes, so that no collation makes different labels equal.
            label = "encode({})"
            back = "decode({})"
        else:
            return None
        ends = label.format(quoted(source)), label.format(quoted(target))
        degrees = np.zeros(len(numbering.nodes), dtype=np.int64)
        with reading(self._run(partial(_pairs, ends, back))) as pieces:
            for piece in pieces:
                lower, higher = (numbering.positions(as_labels(column)) for column in piece)
                joins = (lower >= 0) & (higher >= 0)
                np.add.at(degrees, lower[joins], 1)
                np.add.at(degrees, higher[joins], 1)
        return degrees

    def _is_read_faster(self) -> bool:
        """Whether all rows can be held: a window over them takes several times as long."""
        with reading(self._run(lambda rows: rows.aggregate("count(*)"))) as pieces:
            return int(np.asarray(next(pieces)[0])[0]) <= FEW_ROWS

    def _run(self, asked: Callable[[Any], Any]) -> Iterator[Sequence[Any]]:
        """The columns of the answer to a query, piece by piece."""
        try:
            with self.held() as relation:
                if has_arrow():
                    with _reader(asked(relation)) as reader:
                        for batch in reader:
                            yield batch.columns
                else:
                    rows = asked(relation).fetchall()
                    for first in range(0, len(rows), BATCH):
                        yield list(zip(*rows[first : first + BATCH], strict=True))
            return
        except Exception:
            failure = failed(self.title)
        raise_alone(failure)


def is_relation(data: Any) -> bool:
    """Whether `data` is a relation of DuckDB; nothing is imported or asked."""
    kind = type(data)
    return kind.__name__ == "DuckDBPyRelation" and "duckdb" in kind.__module__.split(".")[0]


def open_relation(relation: Any, title: str = "the relation") -> DuckTable:
    """A relation of the caller's own connection."""
    return DuckTable(title, _fields(relation), lambda: nullcontext(relation))


def open_duckdb_file(path: str, choose: Callable[[Sequence[str]], str]) -> DuckTable:
    """One table of a database file, which is opened for reading alone.

    Args:
        path: the file.
        choose: picks one of the names of its tables and views.

    Raises:
        ParameterError: if there is no such table, or the file cannot be opened.
    """
    with _connected(path) as connection:
        names = {_name(*row): row for row in connection.execute(TABLES).fetchall()}
        chosen = choose(list(names))
        origin = "from " + ".".join(map(quoted, names[chosen]))
        fields = _fields(connection.sql(origin))

    @contextmanager
    def held() -> Iterator[Any]:
        with _connected(path) as connection:
            yield connection.sql(origin)

    return DuckTable(f"{chosen} of {path}", fields, held)


def _grouped(query: KeyQuery, rows: Any) -> Any:
    """The numbers of every key."""
    keys = ", ".join(query.keys)
    rows = rows.project(", ".join(query.sources(quoted))).project(", ".join(query.cells))
    names = [number.rpartition(" ")[2] for number in query.numbers]
    grouped = rows.aggregate(", ".join([*query.keys, *query.numbers]), keys)
    return grouped.project(", ".join([*_texts(query), *names]))


def _texts(query: KeyQuery) -> list[str]:
    """The keys, bytes as the text that they are."""
    texts = {f"c{i}" for i, column in enumerate(query.columns) if column.source == DIALECT.label}
    return [f"decode({key})" if key in texts else key for key in query.keys]


def _keys(query: UnitQuery, rows: Any) -> Any:
    """The different keys, or one more than can be listed."""
    keys = query.keys
    rows = rows.project(", ".join(keys.sources(quoted))).project(", ".join(keys.cells))
    return rows.distinct().limit(MOST_KEYS + 1).project(", ".join(_texts(keys)))


def _weighed(query: UnitQuery, listed: Sequence[tuple[Any, ...]], rows: Any) -> Any:
    """The weight of every cell."""
    first = ", ".join([f"{query.unit} as u", *query.keys.sources(quoted)])
    second = ", ".join(["u", *query.keys.cells])
    names = ", ".join([*(f"k{i}" for i in range(len(query.keys.columns))), "cell"])
    return (
        rows.filter(query.known)
        .project(first)
        .project(second)
        .query(
            "given",
            query.statement(
                "from given", f"from (values {query.listed_sql(listed)}) as m({names})"
            ),
        )
    )


def _pairs(ends: tuple[str, str], back: str, edges: Any) -> Any:
    """Every edge once that is no loop and has both ends."""
    return (
        edges.project(f"{ends[0]} as a, {ends[1]} as b")
        .filter("a <> b")
        .project("least(a, b) as lo, greatest(a, b) as hi")
        .distinct()
        .project(f"{back.format('lo')}, {back.format('hi')}")
    )


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


TERMS = SqlTerms(
    quoted=quoted,
    whole=DIALECT.whole,
    floats=DIALECT.floats,
    text=DIALECT.text,
    whole_number="cast({x} as double)",
    float_number="(case when isnan({x}) then null else cast({x} as double) end)",
    text_bytes=DIALECT.label,
    number=double_literal,
    literal="encode({x})",
)
"""What a condition is made of."""

TABLES = """
    select table_schema, table_name from information_schema.tables
    where table_catalog = current_database() order by all
"""


@contextmanager
def _connected(path: str) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise ParameterError(
            f"Expected duckdb, which reads {path}: pip install 'dampen[duckdb]'."
        ) from None
    try:
        # A view of the file may name other files, which are other data, with budgets of their own.
        connection = duckdb.connect(
            path, read_only=True, config={"enable_external_access": "false"}
        )
    except duckdb.Error:
        raise_alone(
            ParameterError(
                f"Cannot open {path} for reading: it is broken, of another version of DuckDB, or "
                "open elsewhere. Pass a relation of the connection that has it open."
            )
        )
    try:
        connection.execute("set enable_progress_bar = false")  # it would write to standard output
        yield connection
    except duckdb.Error:
        raise_alone(ParameterError(f"Cannot read the tables of {path}."))
    finally:
        connection.close()


@contextmanager
def _reader(relation: Any) -> Iterator[Any]:
    """Arrow batches; the name of the method changed between versions of DuckDB."""
    stream = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    reader = stream(BATCH)
    try:
        yield reader
    finally:
        reader.close()


def _selected(name: str, kind: str | None) -> str:
    """A column, as Python gets it; Arrow has no UUID and gives its text."""
    return f"cast({quoted(name)} as varchar)" if kind == "UUID" else quoted(name)


def _fields(relation: Any) -> list[Field]:
    if ARROW_ALONE & {str(kind) for kind in relation.types}:
        require_arrow("in which DuckDB returns times with a zone or in nanoseconds", "files")
    return [
        Field(name, str(kind), _holds(kind.id))
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]


def _holds(kind: str) -> Literal["numbers", "labels", "other"]:
    if kind in NUMBERS:
        return "numbers"
    return "labels" if kind in LABELS else "other"


def _name(schema: str, table: str) -> str:
    return table if schema == "main" else f"{schema}.{table}"
