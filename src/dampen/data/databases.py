"""One table of a database: files of DuckDB and SQLite, and databases of PostgreSQL.

They are told apart by how the file, or the address, begins.
"""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from dampen.data.duckdb import DuckTable, open_duckdb_file
from dampen.data.postgres import PostgresTable, is_address, open_postgres, shown
from dampen.data.sqlite import SqliteTable, open_sqlite_file
from dampen.errors import ParameterError, did_you_mean

__all__ = ["is_database", "open_database"]

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
