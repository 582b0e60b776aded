"""SQLite: the tables of a database file, read in pieces by Python's own sqlite3.

A column of SQLite declares an affinity, not a type: any value may hold anything.  So a value is
taken as what it is: text in a column of numbers is a missing number, bytes are a missing label, and
text that is not UTF-8 has U+FFFD in place of what cannot be read.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dampen.core.selection import IntArray
from dampen.data.duckdb import quoted
from dampen.data.expressions import Expression, SqlTerms, condition_sql, whole_literal
from dampen.data.source import Batch, CellOf, Field, Kind, counted
from dampen.data.sql import Dialect, KeyQuery, UnitQuery, asked_weights, failed
from dampen.data.units import People
from dampen.errors import ParameterError, raise_alone

__all__ = ["SqliteTable", "open_sqlite_file"]

BATCH = 1 << 14
TABLES = "select name from sqlite_master where type in ('table', 'view') order by name"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SqliteTable:
    """One table of a file, opened for reading whenever rows are asked for."""

    path: str
    name: str
    fields: Sequence[Field]
    where: str = "true"
    declared = True
    rows = None
    ordered = False
    streams = True

    @property
    def title(self) -> str:
        return f"{self.name} of {self.path}"

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        columns = ", ".join(map(quoted, wanted))
        try:
            with closing(_connected(self.path)) as connection:
                asked = f"select {columns} from {quoted(self.name)} where {self.where}"
                cursor = connection.execute(asked)
                numbers = {each.name for each in self.fields if each.holds == "numbers"}
                while rows := cursor.fetchmany(BATCH):
                    yield {
                        name: _as_kind(column, kind, numbers=name in numbers)
                        for (name, kind), column in zip(
                            wanted.items(), zip(*rows, strict=True), strict=True
                        )
                    }
            return
        except sqlite3.Error:
            failure = failed(self.title)
        raise_alone(failure)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def weights(
        self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, people: People, /
    ) -> IntArray | None:
        """Only where no cell is of another type than its column declares."""
        held = {"numbers": "integer", "labels": "text"}
        typed = [Field(each.name, held.get(str(each.holds))) for each in self.fields]
        keys = KeyQuery.of(cell_of, wanted, typed, DIALECT)
        query = UnitQuery.of(keys, typed, DIALECT, people, quoted)
        if query is None:
            return None
        types = {each.name: each.type for each in typed}
        other = " or ".join(
            f"typeof({quoted(name)}) not in ('null', '{types[name]}')"
            for name in {people.unit, *wanted}
        )
        table = f"{quoted(self.name)} where {self.where}"
        try:
            with closing(_connected(self.path)) as connection:
                if connection.execute(f"select 1 from {table} and ({other}) limit 1").fetchone():
                    return None
                return asked_weights(query, table, quoted, size, connection.execute)
        except sqlite3.Error:
            raise_alone(failed(self.title))

    def filtered(self, condition: Expression, /) -> "SqliteTable | None":
        held = {field.type for field in self.fields if field.holds == "numbers"}
        text = {field.type for field in self.fields if field.holds == "labels"}
        terms = replace(TERMS, whole=frozenset(map(str, held)), text=frozenset(map(str, text)))
        sql = condition_sql(condition, self.fields, terms)
        return None if sql is None else replace(self, where=f"{self.where} and {sql}")


DIALECT = Dialect(
    text=frozenset({"text"}),
    whole=frozenset({"integer"}),
    floats=frozenset(),
    label="({x} collate binary)",
    nearest="",
    literal="cast(x'{x}' as text)",
    quotient="{a} / {b}",
    larger="max",
    smaller="min",
)

TERMS = SqlTerms(
    quoted=quoted,
    whole=frozenset(),
    floats=frozenset(),
    text=frozenset(),
    whole_number="(case when typeof({x}) in ('integer', 'real') then cast({x} as real) end)",
    float_number="",
    text_bytes="(case when typeof({x}) = 'text' then {x} end) collate binary",
    number=whole_literal,
    literal="{x}",
    orders_text=False,
)
"""What a condition is made of.  A cell may be of another type than its column declares."""


def open_sqlite_file(path: str, choose: Callable[[Sequence[str]], str]) -> SqliteTable:
    """One table of a database file; see `dampen.data.duckdb.open_duckdb_file`."""
    try:
        with closing(_connected(path)) as connection:
            chosen = choose([name for (name,) in connection.execute(TABLES)])
            columns = connection.execute(f"pragma table_info({quoted(chosen)})").fetchall()
    except sqlite3.Error:
        raise_alone(ParameterError(f"Cannot open {path}: it is not a whole SQLite file."))
    return SqliteTable(path, chosen, [_field(name, kind) for _, name, kind, *_ in columns])


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _field(name: str, kind: str) -> Field:
    return Field(name, kind or None, _holds(kind.upper()))


def _holds(kind: str) -> Literal["numbers", "labels", "other"] | None:
    """What a column holds, by SQLite's rules of affinity."""
    if any(word in kind for word in ("INT", "REAL", "FLOA", "DOUB")):
        return "numbers"
    return "labels" if any(word in kind for word in ("CHAR", "CLOB", "TEXT")) else None


def _as_kind(column: tuple[Any, ...], kind: Kind, *, numbers: bool) -> tuple[Any, ...]:
    """Cells as they are wanted; text in a column that declares numbers is none."""
    if kind == "numbers" and numbers and any(isinstance(cell, str) for cell in column):
        return tuple(None if isinstance(cell, str) else cell for cell in column)
    return tuple(map(_as_text, column)) if kind == "text" else column


def _as_text(value: Any) -> str | None:
    return None if value is None or isinstance(value, bytes) else str(value)
