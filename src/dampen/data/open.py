"""Opening whatever holds a table, and finding in it the columns that a question speaks of.

A column argument is either the *name* of a column of `data`, or a *column* itself:

    percentile(frame, "salary", ...)         percentile(frame["salary"], ...)
    top_groups(frame, "days", by="ward")     top_groups(days, by=wards)
"""

from os import PathLike
from typing import Any, cast

from dampen.data.duckdb import is_relation, open_relation
from dampen.data.memory import COLUMNS, TABLES, MemoryTable, is_column, open_memory
from dampen.data.source import Opened, is_opened, is_opened_type, require
from dampen.data.spark import is_spark_frame, open_spark_frame
from dampen.errors import ParameterError

__all__ = ["FILES", "is_engine", "open_columns", "open_table"]

FILES = (
    "the path of a file (CSV, TSV, JSON lines, Parquet, Feather, DuckDB, SQLite), '-' for "
    "standard input, or the address of a database of PostgreSQL"
)
ENGINES = "a relation of DuckDB, a DataFrame of Spark"
RELATION = "of a connection pass a relation, such as connection.table('name')"


def open_table(data: Any, *, header: bool = False, table: str | None = None) -> Opened:
    """Opens a table: checks what it is and reads the names of its columns, nothing else.

    Args:
        data: a table in memory or in an engine, or a path; an `Opened` is returned as it is.
        header: says that the first line of a text file surely holds the names of its columns, so
            that errors may quote them.
        table: which table of a database; its only one may be left unnamed.

    Returns:
        Public facts, and rows that are read later.

    Raises:
        ParameterError: if it is none of the known kinds.
    """
    if isinstance(data, str | PathLike):
        return _open_path(data, header=header, table=table)
    if is_opened_type(data.__class__) and table is None:
        return cast("Opened", data)
    if table is not None:
        raise ParameterError(f"Expected table= with a database file or address alone; {RELATION}.")
    opened = open_memory(data)
    if opened is not None:
        return opened
    if is_relation(data):
        return open_relation(data)
    if is_spark_frame(data):
        return open_spark_frame(data)
    if is_opened(data):
        return data
    raise ParameterError(
        f"Expected a table: {TABLES}, {ENGINES}, or {FILES}; got a {type(data).__name__}."
    )


def is_engine(data: Any) -> bool:
    """Whether `data` is a table in an engine.  To be asked first: it looks at the class alone.

    Other questions look for attributes, which might make an engine run a query.
    """
    return is_relation(data) or is_spark_frame(data)


def _open_path(path: str | PathLike[str], *, header: bool, table: str | None) -> Opened:
    from dampen.data.databases import is_database, open_database
    from dampen.data.files import open_file

    if is_database(path):
        return open_database(path, table)
    if table is not None:
        raise ParameterError(
            f"Expected a DuckDB or SQLite file with table=, or postgresql://...; {path} is neither."
        )
    return open_file(path, header=header)


def open_columns(
    data: Any, /, *, header: bool = False, table: str | None = None, **roles: Any
) -> tuple[Opened, dict[str, str]]:
    """Opens `data` and finds the columns that a question speaks of, the first of them its values.

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
            f"Expected {first} to be the name of a column, got a {type(roles[first]).__name__}."
        )
    if roles[first] is None:
        return _open_bare_columns(data, first, {role: roles[role] for role in others})
    opened = open_table(data, header=header, table=table)
    names = dict[str, str]()
    extra: dict[str, Any] = {}
    for role, column in roles.items():
        if isinstance(column, str):
            require(opened, column)
            names[role] = column
        elif column is not None:
            names[role] = f"{role}="
            extra[names[role]] = _checked_column(column, role)
    if extra and not isinstance(opened, MemoryTable):
        raise ParameterError(
            f"Expected {', '.join(extra)} to be the name of a column of {opened.title}."
        )
    if extra:
        assert isinstance(opened, MemoryTable)
        opened = MemoryTable({**opened.columns, **extra})
    return opened, names


def _open_bare_columns(
    data: Any, first: str, others: dict[str, Any]
) -> tuple[Opened, dict[str, str]]:
    if not is_column(data):
        what = f"{first}=, the name of a column," if _is_table(data) else f"a column: {COLUMNS};"
        raise ParameterError(f"Expected {what} got a {type(data).__name__}.")
    columns = {f"{role}=": _checked_column(c, role) for role, c in others.items() if c is not None}
    names = {role: f"{role}=" for role, column in others.items() if column is not None}
    return MemoryTable({"values": data, **columns}), {first: "values", **names}


def _is_table(data: Any) -> bool:
    if isinstance(data, str | PathLike) or is_engine(data):
        return True
    return is_opened(data) or open_memory(data) is not None


def _checked_column(column: Any, role: str) -> Any:
    if not is_column(column):
        raise ParameterError(
            f"Expected {role}= to be a column: {COLUMNS}; got a {type(column).__name__}."
        )
    return column
