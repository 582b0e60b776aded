"""Warehouses: tables behind any Python connection (DB-API 2.0), counted by one GROUP BY.

    stays = dampen.warehouse(connection, "clinic.stays", dialect="snowflake")
    dampen.top_groups(stays, "days", by="ward", ...)

The query that a question needs is composed once and written by `sqlglot` (`dampen[sql]`) in the
dialect of the warehouse.  Opening asks the catalogue for names and types and looks at no row.  Rows
are counted where they lie if the question is by keys (`dampen.data.cells`); else they come in
pieces and are counted by the product's own encoders, with the same answer.

DuckDB, PostgreSQL, SQLite and Spark run these queries in the tests.  (A cell of SQLite may be of
any type, so its files have a backend of their own, `dampen.data.sqlite`.)  BigQuery and Snowflake
do not: their text is compared with text that people have read, and a stand-in takes the place of
the connection.

Errors of a warehouse quote rows, so they are replaced.  ε speaks of the rows of the table or view.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

from dampen.core.selection import IntArray
from dampen.data.cells import ValueCounts, ValuesOf
from dampen.data.columns import typed
from dampen.data.duckdb import quoted
from dampen.data.source import Batch, CellOf, Field, Kind, counted
from dampen.data.sql import Dialect, KeyQuery, failed
from dampen.errors import ParameterError, did_you_mean, raise_alone

__all__ = ["DIALECTS", "WarehouseTable", "group_by", "warehouse"]

BATCH = 1 << 14
WRITTEN = "duckdb"
"""The dialect in which queries are composed."""
NUMBERS = {
    "bigint", "bignumeric", "byteint", "decimal", "double", "double precision", "float", "float4",
    "float64", "float8", "int", "int64", "integer", "number", "numeric", "real", "smallint",
    "tinyint",
}  # fmt: skip
OTHERS = ("array", "bytea", "bytes", "binary", "geography", "json", "object", "struct", "variant")
DIALECTS = {
    name: Dialect(
        text=frozenset({"char", "character varying", "string", "text", "varchar"}),
        whole=frozenset({"bigint", "int", "int64", "integer", "smallint", "tinyint"}),
        floats=frozenset({"double", "double precision", "float", "float64", "real"}),
        label="{x}",
        nearest="floor({} + cast('0.5' as double))",
    )
    for name in ("bigquery", "duckdb", "postgres", "snowflake", "spark", "sqlite")
}
DIALECTS["snowflake"] = replace(
    DIALECTS["snowflake"], whole=frozenset({"number", *DIALECTS["snowflake"].whole})
)
"""By the names of sqlglot.  A NUMBER of Snowflake is whole where its scale is 0."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WarehouseTable:
    """One table of a warehouse, of which the catalogue was read."""

    connection: Any
    table: str
    dialect: str
    fields: Sequence[Field]
    declared = True
    rows = None
    ordered = False
    streams = True

    @property
    def title(self) -> str:
        return f"{self.table} of {self.dialect}"

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        columns = ", ".join(map(quoted, wanted))
        asked = f"select {columns} from {_origin(self.table)}"
        for piece in self._run(_written(asked, self.dialect)):
            yield {
                name: typed(column, kind)
                for (name, kind), column in zip(wanted.items(), piece, strict=True)
            }

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        query = KeyQuery.of(cell_of, wanted, self.fields, DIALECTS[self.dialect])
        if query is None:
            return counted(self.batches(wanted), cell_of, size)
        return query.counted(self._run(group_by(query, self.table, self.dialect)), size)

    def value_counts(self, asked: ValuesOf, /) -> ValueCounts:
        query = KeyQuery.of(asked.keys, asked.wanted, self.fields, DIALECTS[self.dialect])
        if query is None:
            return asked.counted(self.batches(asked.wanted))
        return asked.merged(query.keyed(self._run(group_by(query, self.table, self.dialect))))

    def _run(self, asked: str) -> Iterator[Sequence[Sequence[Any]]]:
        """The columns of an answer, piece by piece."""
        try:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(asked)
                while rows := cursor.fetchmany(BATCH):
                    yield list(zip(*rows, strict=True))
            return
        except Exception:
            failure = failed(self.title)
        raise_alone(failure)


def warehouse(connection: Any, table: str, *, dialect: str) -> WarehouseTable:
    """A table of a warehouse, for any question about tables; no row is looked at.

    Args:
        connection: of its Python driver (DB-API 2.0), opened by you.
        table: its name as the catalogue writes it, with schema or data set where needed:
            "clinic.stays", in Snowflake mostly "CLINIC.STAYS".
        dialect: of its SQL: "bigquery", "snowflake", "postgres", "duckdb" or "spark".

    Returns:
        The opened table.

    Raises:
        ParameterError: if the dialect is not known, or there is no such table.
    """
    known = [name for name in DIALECTS if name != "sqlite"]
    if dialect not in known:
        raise ParameterError(
            f"Expected a dialect, one of {', '.join(known)}, got {dialect!r}."
            f"{did_you_mean(str(dialect), known)} Of SQLite pass the path of the file."
        )
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(_catalogue(table, dialect))
            found = cursor.fetchall()
    except Exception:
        raise_alone(ParameterError(f"Cannot read the catalogue of {dialect} for {table!r}."))
    if not found:
        raise ParameterError(f"Expected a table {table!r} in {dialect}; it has no columns there.")
    fields = [_field(str(name), str(kind).lower(), scale) for name, kind, scale in found]
    return WarehouseTable(connection, table, dialect, fields)


def group_by(query: KeyQuery, table: str, dialect: str) -> str:
    """The rows of every key, as SQL of a dialect: the keys c0, c1, ..., and their number n."""
    keys = ", ".join(query.keys)
    sources = ", ".join(query.sources(quoted))
    rows = f"select {sources} from {_origin(table)}"
    cells = f"select {', '.join(query.cells)} from ({rows}) as r"
    asked = f"select {keys}, count(*) as n from ({cells}) as k group by {keys}"
    return _written(asked, dialect)


def _written(asked: str, dialect: str) -> str:
    """A query in a dialect.

    No dialect agrees with another on how to ask for NaN.  It is above infinity, or incomparable,
    which is the same here; SQLite has none.
    """
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(asked, read=WRITTEN)

    def without_nan(node: Any) -> Any:
        if not isinstance(node, exp.Not) or not isinstance(node.this, exp.IsNan):
            return node
        if dialect == "sqlite":
            return exp.true()
        infinity = exp.cast(exp.Literal.string("inf"), "double")
        return exp.LTE(this=node.this.this, expression=infinity)

    return tree.transform(without_nan).sql(dialect=dialect, identify=True)


def _origin(table: str) -> str:
    return ".".join(quoted(part) for part in table.split("."))


def _catalogue(table: str, dialect: str) -> str:
    """Asks for names, types and scales of the columns of a table, in their order."""
    from sqlglot import exp

    *within, name = table.split(".")
    place = [*within, "information_schema"] if dialect == "bigquery" else ["information_schema"]
    scale = exp.null() if dialect == "bigquery" else exp.column("numeric_scale")
    asked = (
        exp.select(exp.column("column_name"), exp.column("data_type"), scale)
        .from_(".".join([*place, "columns"]))
        .where(exp.column("table_name").eq(name))
        .order_by(exp.column("ordinal_position"))
    )
    if within and dialect != "bigquery":
        asked = asked.where(exp.column("table_schema").eq(within[-1]))
    return asked.sql(dialect=dialect)


def _field(name: str, kind: str, scale: Any) -> Field:
    plain = kind.partition("(")[0].strip()
    if plain in ("number", "numeric", "decimal") and scale != 0:
        plain = "decimal"
    return Field(name, plain, _holds(plain))


def _holds(kind: str) -> Literal["numbers", "labels", "other"]:
    if kind in NUMBERS:
        return "numbers"
    return "other" if kind.startswith(OTHERS) else "labels"
