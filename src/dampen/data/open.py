"""Opens tables of every kind and finds the columns that a question names.

A column argument is either the *name* of a column of `data`, or a *column* itself:

    percentile(frame, "salary", ...)         percentile(frame["salary"], ...)
    top_groups(frame, "days", by="ward")     top_groups(days, by=wards)

A database holds several tables, of which one is opened: files of DuckDB and SQLite, and databases
of PostgreSQL.  They are told apart by how the file, or the address, begins.
"""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, cast

from dampen.data.duckdb import DuckTable, is_relation, open_duckdb_file, open_relation
from dampen.data.memory import COLUMNS, TABLES, MemoryTable, is_column, open_memory
from dampen.data.postgres import PostgresTable, is_address, open_postgres, shown
from dampen.data.source import (
    Opened,
    columns_of,
    is_opened,
    is_opened_type,
    joined_columns,
    require,
)
from dampen.data.spark import is_spark_frame, open_spark_frame
from dampen.data.sqlite import SqliteTable, open_sqlite_file
from dampen.errors import ParameterError, a_thing, did_you_mean

__all__ = [
    "FILES",
    "is_database",
    "is_engine",
    "located",
    "open_columns",
    "open_database",
    "open_table",
]

FILES = (
    "the path of a file (CSV, TSV, JSON lines, Parquet, Feather, DuckDB, SQLite), '-' for "
    "standard input, or the address of a database of PostgreSQL"
)
ENGINES = "a relation of DuckDB, a DataFrame of Spark"
ENGINE_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Opened]], ...] = (
    (is_relation, open_relation),
    (is_spark_frame, open_spark_frame),
)
"""How the tables of an engine are recognised and opened: one line each."""
RELATION = "of a connection pass a relation, such as connection.table('name')"


def open_table(
    data: Any,
    *,
    header: bool = False,
    table: str | None = None,
    where: str | None = None,
    value: str | None = None,
) -> Opened:
    """Opens a table: checks what it is and reads the names of its columns, nothing else.

    Args:
        data: a table in memory or in an engine, or a path; an `Opened` is returned as it is.
        header: says that the first line of a text file surely holds the names of its columns, so
            that errors may quote them.
        table: which table of a database; its only one may be left unnamed.
        where: a condition on every row (`dampen.data.expressions`); other rows do not exist.
        value: a column, or a formula, which becomes a column of that name.

    Returns:
        Public facts, and rows that are read later.

    Raises:
        ParameterError: if it is none of the known kinds, or there are no such columns.
    """
    opened = _open_any(data, header=header, table=table)
    if value is not None:
        opened = _with_column(opened, value)
    if where is None:
        return opened
    from dampen.data.expressions import filtered

    return filtered(opened, where)


def located(data: Any, *, header: bool = False, encoding: str = "", decimal: str = ".") -> Any:
    """Data as its facts say that it is written: a text file in another encoding is opened by them.

    Args:
        data: what a question is asked of.
        header: see `open_table`.
        encoding: of a text file that is not UTF-8.
        decimal: the point of numbers in CSV.

    Returns:
        The opened file; anything else as it is.

    Raises:
        ParameterError: if it cannot be opened so.
    """
    plain = not encoding and decimal == "."
    if plain or not isinstance(data, str | PathLike) or is_database(data):
        return data
    from dampen.data.files import open_file

    return open_file(data, header=header, encoding=encoding, decimal=decimal)


def _with_column(opened: Opened, value: str) -> Opened:
    """The table with a column of that name; a name that it does not have may be a formula."""
    several = len(columns_of(opened, value)) > 1 and "[" not in value
    if several or any(field.name == value for field in opened.fields):
        return opened
    from dampen.data.expressions import derived

    return derived(opened, value)


def _open_any(data: Any, *, header: bool, table: str | None) -> Opened:
    if isinstance(data, str | PathLike):
        return _open_path(data, header=header, table=table)
    if is_opened_type(data.__class__) and table is None:
        return cast("Opened", data)
    if table is not None:
        raise ParameterError(f"Expected table= with a database file or address alone; {RELATION}.")
    opened = open_memory(data)
    if opened is not None:
        return opened
    for is_kind, open_kind in ENGINE_KINDS:
        if is_kind(data):
            return open_kind(data)
    if is_opened(data):
        return data
    hint = f" {RELATION[0].upper()}{RELATION[1:]}." if "Connection" in type(data).__name__ else ""
    raise ParameterError(
        f"Expected a table: {TABLES}, {ENGINES}, or {FILES}; got {a_thing(data)}.{hint}"
    )


def is_engine(data: Any) -> bool:
    """Whether `data` is a table in an engine.  To be asked first: it looks at the class alone.

    Other questions look for attributes, which might make an engine run a query.
    """
    return any(is_kind(data) for is_kind, _ in ENGINE_KINDS)


def _open_path(path: str | PathLike[str], *, header: bool, table: str | None) -> Opened:
    from dampen.data.files import open_file
    from dampen.data.open import is_database, open_database

    if is_database(path):
        return open_database(path, table)
    if table is not None:
        raise ParameterError(
            f"Expected a DuckDB or SQLite file with table=, or postgresql://..., got {path}."
        )
    return open_file(path, header=header)


def open_columns(
    data: Any, /, *, header: bool = False, table: str | None = None, **roles: Any
) -> tuple[Opened, dict[str, str]]:
    """Opens `data` and finds the columns that a question names, the values first.

    Args:
        data: a table, or the column that plays the first role.
        header: see `open_table`.
        table: see `open_table`.
        **roles: what each column is for, and which it is: a name, a column, or None for none.  Only
            the first role may be None because `data` itself is the column.

    Returns:
        The opened table and the name in it of every role that is not None.

    Raises:
        ParameterError: if a column does not exist, or `data` is none of the known kinds.
    """
    first, *others = roles
    if roles[first] is not None and not isinstance(roles[first], str):
        raise ParameterError(
            f"Expected {first}= to be the name of a column of the data, got "
            f"{a_thing(roles[first])}.{_as_text(roles[first])}"
        )
    if roles[first] is None:
        return _open_bare_columns(data, first, {role: roles[role] for role in others})
    opened = open_table(data, header=header, table=table)
    names = dict[str, str]()
    extra: dict[str, Any] = {}
    for role, given in roles.items():
        column = _names_joined(opened, given)
        if isinstance(column, str):
            opened = _with_column(opened, column) if role == first else opened
            require(opened, *columns_of(opened, column))
            names[role] = column
        elif column is not None:
            names[role] = _own_name(role, opened)
            extra[names[role]] = _checked_column(column, role)
    if extra and not isinstance(opened, MemoryTable):
        raise ParameterError(
            f"Expected {', '.join(extra)} to be the name of a column of {opened.title}."
        )
    if extra:
        assert isinstance(opened, MemoryTable)
        opened = MemoryTable({**opened.columns, **extra})
    return opened, names


def _as_text(name: Any) -> str:
    return f" Write it as text, {str(name)!r}." if isinstance(name, int) else ""


def _names_joined(opened: Opened, column: Any) -> Any:
    """Names of several columns as one; a column of the data, and one name, as they are.

    A list that is no column, because it is of another length, is one of names with a mistake.
    """
    known = {field.name for field in opened.fields}
    listed = isinstance(column, list | tuple) and 1 <= len(column) <= len(known)
    if not (listed and all(isinstance(name, str) for name in column)):
        return column
    is_column = isinstance(opened, MemoryTable) and len(column) == opened.rows
    all_known = known.issuperset(column)
    some_known = not is_column and not known.isdisjoint(column)
    return joined_columns(column) if all_known or some_known else column


def _open_bare_columns(
    data: Any, first: str, others: dict[str, Any]
) -> tuple[Opened, dict[str, str]]:
    if not is_column(data):
        if _is_table(data):
            raise ParameterError(f"Expected {first}=, the name of a column of the data.")
        raise ParameterError(f"Expected a column: {COLUMNS}; got {a_thing(data)}.")
    names = {role: _own_name(role) for role, column in others.items() if column is not None}
    columns = {names[role]: _checked_column(others[role], role) for role in names}
    return MemoryTable({"values": data, **columns}), {first: "values", **names}


def _own_name(role: str, beside: Opened | None = None) -> str:
    """The name of a column that has none; releases show that of the persons."""
    taken = beside is not None and any(field.name == "person" for field in beside.fields)
    return "person" if role == "unit" and not taken else f"{role}="


def _is_table(data: Any) -> bool:
    if isinstance(data, str | PathLike) or is_engine(data):
        return True
    return is_opened(data) or open_memory(data) is not None


def _checked_column(column: Any, role: str) -> Any:
    if not is_column(column):
        raise ParameterError(f"Expected {role}= to be a column: {COLUMNS}; got {a_thing(column)}.")
    return column


MOST_NAMED = 20
"""Tables that an error lists."""


def is_database(path: str | PathLike[str]) -> bool:
    """Whether a path is a database file, or an address; pipes are not touched."""
    if is_address(path):
        return True
    return _begins(path, 0, b"SQLite format 3\0") or _begins(path, 8, b"DUCK")


def open_database(
    path: str | PathLike[str], table: str | None = None
) -> DuckTable | SqliteTable | PostgresTable:
    """Opens one table, or view, of a database; the only one may be left unnamed.

    Raises:
        ParameterError: if it cannot be opened, or has no such table.
    """
    name = str(path)
    if is_address(path):
        return open_postgres(name, partial(_chosen, shown(name), table))
    open_file = open_duckdb_file if _begins(path, 8, b"DUCK") else open_sqlite_file
    return open_file(name, partial(_chosen, name, table))


def _chosen(path: str, table: str | None, names: Sequence[str]) -> str:
    if table is None and len(names) == 1:
        return names[0]
    if table is None:
        listed = ", ".join(names[:MOST_NAMED]) or "none"
        raise ParameterError(f"Expected table=, one of the tables of {path}: {listed}.")
    if table not in names:
        raise ParameterError(f"Expected a table {table!r} in {path}.{did_you_mean(table, names)}")
    return table


def _begins(path: str | PathLike[str], at: int, word: bytes) -> bool:
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            file.seek(at)
            return file.read(len(word)) == word
    except OSError:
        return False
