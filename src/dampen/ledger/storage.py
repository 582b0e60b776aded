"""The SQLite file under the ledger: transactions that wait their turn, errors in one line.

Every operation opens its own connection, so a ledger survives `fork`, threads and pickling.  The
file is in WAL mode with full synchronisation: a committed charge survives a power cut.  It must
lie on a local disk, because WAL needs shared memory between its users.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from dampen.errors import BudgetError

PATIENCE_SECONDS = 60.0
"""How long an operation waits for other processes before it gives up."""

APPLICATION_ID = 0x64616D70  # "damp" in the header of the file
FORMAT = 1

T = TypeVar("T")

_TABLES = """
CREATE TABLE budget (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  epsilon TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  time TEXT NOT NULL,
  version TEXT NOT NULL
);
CREATE TABLE charge (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  budget TEXT NOT NULL REFERENCES budget (name),
  epsilon TEXT NOT NULL,
  rho TEXT NOT NULL,
  query TEXT NOT NULL,
  mechanism TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  analyst TEXT NOT NULL,
  dataset TEXT NOT NULL,
  time TEXT NOT NULL,
  version TEXT NOT NULL
);
CREATE INDEX charge_sums ON charge (budget, epsilon);
"""

# INSERT OR REPLACE removes rows without firing the delete trigger, hence the third one.
_APPEND_ONLY = """
CREATE TRIGGER {table}_keeps_values BEFORE UPDATE ON {table}
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER {table}_keeps_rows BEFORE DELETE ON {table}
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER {table}_keeps_keys BEFORE INSERT ON {table}
  WHEN EXISTS (SELECT 1 FROM {table} WHERE {key})
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""


def create(path: Path) -> None:
    """Makes the file with its tables where there is none yet; any number of processes may try."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        directory = path.is_dir()
    except OSError as error:
        raise BudgetError(f"Cannot create the ledger {path}: {error.strerror}.") from None
    if directory:
        raise BudgetError(f"Expected a ledger file, but {path} is a directory.")
    _patiently(path, lambda: _initialise(path))


def write(path: Path, change: Callable[[Connection], T]) -> T:
    """Runs `change` in one transaction that holds the write lock from its start.

    An exception from `change` rolls everything back.
    """
    _require(path)

    def attempt() -> T:
        with closing(_connect(path, "rw")) as connection:
            _check_format(connection, path)
            connection.execute("BEGIN IMMEDIATE")
            # Without a COMMIT, closing the connection rolls back.
            result = change(connection)
            connection.execute("COMMIT")
            return result

    return _patiently(path, attempt)


def read(path: Path, query: Callable[[Connection], T]) -> T:
    """Runs `query` on one consistent state of the file."""
    _require(path)

    def attempt() -> T:
        with closing(_connect(path, _read_mode(path))) as connection:
            _check_format(connection, path)
            connection.execute("BEGIN")
            return query(connection)

    return _patiently(path, attempt)


def _initialise(path: Path) -> None:
    with closing(_connect(path, "rwc")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            statements = _TABLES + _APPEND_ONLY.format(table="budget", key="name = NEW.name")
            statements += _APPEND_ONLY.format(table="charge", key="id = NEW.id")
            for statement in _split(statements):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        _check_format(connection, path)
        connection.execute("COMMIT")
        # Last, so that a process killed on the way leaves either no ledger or a whole one.
        connection.execute("PRAGMA journal_mode = WAL")


def _split(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit before it starts."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def _connect(path: Path, mode: str) -> Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _read_mode(path: Path) -> str:
    # A WAL file whose directory cannot be written is readable only as immutable; it is complete
    # then, unless a log lies beside it.
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    log = path.with_name(path.name + "-wal")
    return "ro" if writable or log.exists() else "ro&immutable=1"


def _require(path: Path) -> None:
    try:
        present = path.exists()
    except OSError as error:
        raise BudgetError(f"Cannot read the ledger {path}: {error.strerror}.") from None
    if not present:
        raise BudgetError(
            f"There is no ledger {path}. Create a budget first: "
            "dampen budget create NAME --epsilon E --neighbours RELATION."
        )


def _check_format(connection: Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    written = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise BudgetError(f"{path} is not a ledger of dampen.")
    if written != FORMAT:
        raise BudgetError(f"{path} was written by another version of dampen (format {written}).")


def _patiently(path: Path, attempt: Callable[[], T]) -> T:
    """Repeats `attempt` while other processes hold the file; every other failure is one line.

    SQLite waits by itself in most places, but not where it switches to WAL or recovers a log.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.Error as error:
            if not (_is_busy(error) and time.monotonic() < deadline):
                raise BudgetError(_explanation(error, path)) from None
            time.sleep(0.01)
        except (ValueError, ZeroDivisionError):
            raise BudgetError(f"The ledger {path} is damaged: a row cannot be read.") from None


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _explanation(error: sqlite3.Error, path: Path) -> str:
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            why = f"another process has held it for {PATIENCE_SECONDS:.0f} seconds"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            why = "it is read-only"
        case sqlite3.SQLITE_FULL:
            why = "the disk is full"
        case sqlite3.SQLITE_IOERR:
            why = "the disk reports an error"
        case sqlite3.SQLITE_CANTOPEN:
            why = "it cannot be opened; are the file and its directory writable?"
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is not a ledger of dampen."
        case sqlite3.SQLITE_CORRUPT:
            why = "the file is damaged; restore it from a copy"
        case _:
            why = str(error)
    return f"The ledger {path} cannot be used: {why.rstrip('.')}. Nothing was charged."
