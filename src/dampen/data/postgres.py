"""PostgreSQL: the tables and views of a server, read in pieces.  Needs psycopg, `dampen[postgres]`.

    percentile("postgresql://hr.example.org/staff", "salary", table="salaries", ...)

Opening asks the catalogue for names and types and runs nothing on the table itself.  Rows come
through a server-side cursor, in a transaction of their own that is read-only and sees one state of
the table (repeatable read), and are counted by the product's own encoders: collations, the types'
own ideas of equality and a server's settings have no part in an answer.

Errors of the server quote rows, so they are replaced; an address is shown without who logs in.
Passwords had better stand in `~/.pgpass` or `$PGPASSFILE`.

ε speaks of the rows of the table or view, not of the tables that a view was joined from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from dampen.core.selection import IntArray
from dampen.data.duckdb import quoted
from dampen.data.expressions import Expression, SqlTerms, condition_sql
from dampen.data.source import Batch, CellOf, Chunk, Field, Kind, counted, has_arrow
from dampen.data.sql import Dialect, KeyQuery, UnitQuery, asked_weights, failed
from dampen.data.units import People
from dampen.errors import ParameterError, raise_alone

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresTable", "is_address", "open_postgres"]

SCHEMES = ("postgresql://", "postgres://")
BATCH = 1 << 14
SECONDS_TO_CONNECT = 10
SESSION = "-c client_encoding=UTF8 -c datestyle=ISO -c timezone=UTC -c extra_float_digits=1"
"""Text is the same whatever the server, the database or the role prefers."""

WHOLE = {"int2", "int4", "int8"}
FLOATS = {"float4", "float8"}
TEXT = {"text", "varchar", "bpchar", "name"}
NUMBERS = {*WHOLE, *FLOATS, "numeric"}
TIMES = {"date", "time", "timetz", "timestamp", "timestamptz"}
LABELS = {*TEXT, *TIMES, "bool", "uuid"}

TABLES = """
    select c.oid, n.nspname, c.relname, pg_table_is_visible(c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege(c.oid, 'select')
      and has_schema_privilege(n.oid, 'usage')
      and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
    order by 2, 3
"""
COLUMNS = """
    select a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname),
           coalesce(b.typtype, t.typtype) = 'e'
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    left join pg_type b on t.typtype = 'd' and b.oid = t.typbasetype
    where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
    order by a.attnum
"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PostgresTable:
    """One table of a server, of which the catalogue was read; `kinds` are its types by name."""

    address: str
    source: str
    title: str
    fields: Sequence[Field]
    kinds: Mapping[str, str]
    where: str = "true"
    declared = True
    rows = None
    ordered = False
    streams = True

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        try:
            columns = ", ".join(self._selected(name, kind) for name, kind in wanted.items())
            with (
                _connected(self.address) as connection,
                connection.cursor(name="dampen_rows") as cursor,
            ):
                cursor.execute(f"select {columns} from {self.source} where {self.where}".encode())
                while rows := cursor.fetchmany(BATCH):
                    yield {
                        name: self._chunk(name, kind, column)
                        for (name, kind), column in zip(
                            wanted.items(), zip(*rows, strict=True), strict=True
                        )
                    }
            return
        except Exception:
            failure = failed(self.title)
        raise_alone(failure)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def weights(
        self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, people: People, /
    ) -> IntArray | None:
        based = [Field(name, kind) for name, kind in self.kinds.items()]
        keys = KeyQuery.of(cell_of, wanted, based, DIALECT)
        query = UnitQuery.of(keys, based, DIALECT, people, quoted)
        if query is None:
            return None
        table = f"{self.source} where {self.where}"
        try:
            with _connected(self.address) as connection:
                return asked_weights(
                    query, table, quoted, size, lambda text: connection.execute(text.encode())
                )
        except Exception:
            raise_alone(failed(self.title))

    def filtered(self, condition: Expression, /) -> "PostgresTable | None":
        based = [Field(name, kind) for name, kind in self.kinds.items()]
        sql = condition_sql(condition, based, TERMS)
        return None if sql is None else replace(self, where=f"{self.where} and {sql}")

    def _selected(self, name: str, kind: Kind) -> str:
        if kind == "text" or self.kinds[name] in TEXT:
            return f"{quoted(name)}::text"  # without the blanks that fill up a char(n)
        # The text of a short float names another, longer one.
        return f"{quoted(name)}::float8" if self.kinds[name] == "float4" else quoted(name)

    def _chunk(self, name: str, kind: Kind, column: tuple[Any, ...]) -> Chunk:
        """As Arrow where that is exact: it is counted many times faster."""
        if not has_arrow():
            return column
        import pyarrow as pa

        if kind == "text" or self.kinds[name] in TEXT:
            return pa.array(column, pa.string())
        if self.kinds[name] in WHOLE:
            return pa.array(column, pa.int64())
        return pa.array(column, pa.float64()) if self.kinds[name] in FLOATS else column


DIALECT = Dialect(
    text=frozenset(TEXT),
    whole=frozenset(WHOLE),
    floats=frozenset(),
    label='({x}::text collate "C")',
    nearest="",
    literal="(convert_from('\\x{x}'::bytea, 'UTF8') collate \"C\")",
    quotient="{a} / {b}",
)
"""Labels and whole numbers; floats are read, not asked for."""

TERMS = SqlTerms(
    quoted=quoted,
    whole=frozenset(WHOLE),
    floats=frozenset(FLOATS | {"float4"}),
    text=frozenset(TEXT),
    whole_number="{x}::float8",
    float_number="nullif({x}::float8, 'NaN'::float8)",
    text_bytes='({x}::text collate "C")',
    number=lambda number: f"'{float(number)!r}'::float8",
    literal='({x}::text collate "C")',
)
"""What a condition is made of."""


def is_address(data: str | PathLike[str]) -> bool:
    """Whether it is the address of a database of PostgreSQL."""
    return isinstance(data, str) and data.startswith(SCHEMES)


def open_postgres(address: str, choose: Callable[[Sequence[str]], str]) -> PostgresTable:
    """One table or view of a database; see `dampen.data.duckdb.open_duckdb_file`.

    Raises:
        ParameterError: if there is no such table that may be read, or the server cannot be reached.
    """
    place = shown(address)
    with _catalogue(address, place) as connection:
        found = {
            name if visible else f"{schema}.{name}": (oid, schema, name)
            for oid, schema, name, visible in connection.execute(TABLES)
        }
        chosen = choose(list(found))
        oid, schema, name = found[chosen]
        columns = connection.execute(COLUMNS, (oid,)).fetchall()
    return PostgresTable(
        address,
        f"{quoted(schema)}.{quoted(name)}",
        f"{chosen} of {place}",
        [Field(name, kind, _holds(base, enum)) for name, kind, base, enum in columns],
        {name: base for name, _, base, _ in columns},
    )


def shown(address: str) -> str:
    """An address without the user, the password and the options.

    Raises:
        ParameterError: if it is none.
    """
    psycopg = _driver()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise_alone(ParameterError("Expected an address such as postgresql://host/database."))
    return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"


def _holds(kind: str, enum: bool) -> Literal["numbers", "labels", "other"]:
    if kind in NUMBERS:
        return "numbers"
    return "labels" if enum or kind in LABELS else "other"


@contextmanager
def _catalogue(address: str, place: str) -> "Iterator[Connection[tuple[Any, ...]]]":
    """A connection before the charge; what fails is the parameters' fault."""
    psycopg = _driver()
    try:
        with _connected(address) as connection:
            yield connection
        return
    except psycopg.Error:
        failure = ParameterError(
            f"Cannot read the catalogue of {place}: it does not answer, refuses the user, or has "
            "no such database. Try the address with psql."
        )
    raise_alone(failure)


@contextmanager
def _connected(address: str) -> "Iterator[Connection[tuple[Any, ...]]]":
    psycopg = _driver()
    own = psycopg.conninfo.conninfo_to_dict(address).get("options", "")
    connection = psycopg.connect(
        address, options=f"{own} {SESSION}", connect_timeout=SECONDS_TO_CONNECT
    )
    try:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        _tolerate(connection)
        yield connection
    finally:
        connection.close()


def _tolerate(connection: "Connection[tuple[Any, ...]]") -> None:
    """Times that Python has no object for are missing; text that is not UTF-8 has U+FFFD."""
    from psycopg.adapt import Loader
    from psycopg.pq import Format

    class Text(Loader):
        def load(self, data: Any) -> str:
            return bytes(data).decode("utf-8", "replace")

    def tolerant(strict: Any) -> type[Loader]:
        class Time(Loader):
            def __init__(self, oid: int, context: Any = None) -> None:
                super().__init__(oid, context)
                self.strict = strict(oid, context)

            def load(self, data: Any) -> Any:
                try:
                    return self.strict.load(data)
                except Exception:
                    return None

        return Time

    adapters = connection.adapters
    for name in TEXT:
        adapters.register_loader(name, Text)
    for name in TIMES:
        strict = adapters.get_loader(adapters.types[name].oid, Format.TEXT)
        assert strict is not None
        adapters.register_loader(name, tolerant(strict))


def _driver() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise ParameterError(
            "Expected psycopg, which reads PostgreSQL: pip install 'dampen[postgres]'."
        ) from None
    return psycopg
