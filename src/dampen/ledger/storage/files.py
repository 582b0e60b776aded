"""The file of a ledger on SQLite: its tables, its format, its place."""

import os
import sqlite3
import stat
import warnings
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection

from dampen.errors import BudgetError, ExposedLedgerWarning
from dampen.ledger.log import START
from dampen.ledger.storage import sqlite_errors

__all__ = [
    "connect",
    "head_path",
    "initialise",
    "log_path",
    "migrate",
    "put_aside",
    "require",
    "require_no_entries",
    "warn_if_exposed",
    "writable",
]

APPLICATION_ID = 0x64616D70  # "damp" in the header of the file
FORMAT = 3
READABLE = (2, FORMAT)
"""A file of format 2, of dampen 0.2, has no indexes; they are made when it is first opened to be
written."""

# The content of an answer begins with {"charge":"42-0f...", so its number begins at character 12.
_CHARGE = "CAST(substr(content, 12, 19) AS INTEGER)"
_INDEXES = f"""
CREATE INDEX IF NOT EXISTS entry_answer ON entry ({_CHARGE}) WHERE kind = 'answer';
CREATE INDEX IF NOT EXISTS entry_checkpoint ON entry (kind) WHERE kind = 'checkpoint';
"""

# The head comes after the indexes, which are empty at first: a file without its end has no head.
# INSERT OR REPLACE removes rows without firing the delete trigger, hence the third one.
_TABLES = f"""
CREATE TABLE entry (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  budget TEXT NOT NULL,
  content TEXT NOT NULL,
  digest TEXT NOT NULL
);
{_INDEXES}
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, digest TEXT);
CREATE TRIGGER entry_keeps_values BEFORE UPDATE ON entry
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entry_keeps_rows BEFORE DELETE ON entry
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entry_keeps_keys BEFORE INSERT ON entry
  WHEN EXISTS (SELECT 1 FROM entry WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""


ROWS = "SELECT seq, kind, budget, content, digest FROM entry WHERE seq > ? ORDER BY seq"
ROW = "SELECT seq, kind, budget, content, digest FROM entry WHERE seq = ?"
ANSWERS = (
    "SELECT seq, kind, budget, content, digest FROM entry "
    f"WHERE kind = 'answer' AND {_CHARGE} = ? ORDER BY seq"
)
CHECKPOINT = (
    "SELECT seq, kind, budget, content, digest FROM entry "
    "WHERE kind = 'checkpoint' AND seq <= ? ORDER BY seq DESC LIMIT 1"
)
HEAD = "SELECT seq, digest FROM head"


def head_path(path: Path) -> Path:
    """Where the head of a ledger lies."""
    return path.with_name(f"{path.name}-head")


def log_path(path: Path) -> Path:
    """Where SQLite keeps what is not yet in the file itself."""
    return path.with_name(f"{path.name}-wal")


def initialise(path: Path) -> None:
    """Makes the tables in a file that has none, and leaves any other file as it is.

    A process that is killed on the way leaves an empty file, or one with tables and no entry: the
    next one goes on from there.

    Raises:
        BudgetError: if it is no ledger, or one with entries already.
    """
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(connect(path, "rw", check=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _split(_TABLES):
                connection.execute(statement)
            connection.execute("INSERT INTO head VALUES (1, ?, ?)", (START.seq, START.digest))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        check_format(connection, path)
        _check_no_entries(connection, path)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def migrate(connection: Connection) -> None:
    """Brings a file of an older format up to date; every entry stays as it is."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    for statement in _split(_INDEXES):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def require_no_entries(path: Path) -> None:
    """Refuses a file that is no ledger, or one with entries, which must have a head."""
    with closing(connect(path, "ro")) as connection:
        _check_no_entries(connection, path)


def _check_no_entries(connection: Connection, path: Path) -> None:
    if connection.execute("SELECT count(*) FROM entry").fetchone()[0]:
        raise sqlite_errors.no_head(path)


def connect(path: Path, mode: str, *, check: bool = True) -> Connection:
    """A connection that synchronises fully and may be used by any one thread at a time."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=sqlite_errors.PATIENCE_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in ("synchronous = FULL", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if check:
            check_format(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_format(connection: Connection, path: Path) -> None:
    """Refuses what is no ledger, or one of another version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    written = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise BudgetError(f"{path} is not a ledger of dampen.")
    if written not in READABLE:
        raise BudgetError(f"{path} was written by another version of dampen (format {written}).")


def require(path: Path) -> None:
    """Refuses a place where no ledger is."""
    try:
        present = path.exists()
        moved = not present and head_path(path).exists()
    except OSError as error:
        raise BudgetError(f"Cannot read the ledger {path}: {error.strerror}.") from None
    if moved:
        raise BudgetError(
            f"The ledger {path} is gone, but its head file is still there. Nothing was charged. "
            "Restore it from a backup: dampen budget restore FILE."
        )
    if not present:
        raise BudgetError(
            f"There is no ledger {path}. Create a budget first: "
            "dampen budget create NAME --epsilon E --neighbours RELATION."
        )


def put_aside(path: Path) -> None:
    """Renames all files of a ledger: nothing is ever deleted."""
    mark = datetime.now(UTC).strftime("before-%Y%m%dT%H%M%S%f")
    shared = path.with_name(f"{path.name}-shm")
    for each in (head_path(path), path, log_path(path), shared):
        if each.exists():
            suffix = each.name.removeprefix(path.name)
            each.rename(path.with_name(f"{path.name}.{mark}{suffix}"))


def writable(path: Path) -> bool:
    """Whether this user may charge."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def warn_if_exposed(path: Path) -> None:
    """Warns if others may write.  A shared but sticky directory lets nobody replace files."""
    if os.name != "posix":
        return
    file = path.stat().st_mode
    directory = path.parent.stat().st_mode
    shared = directory & 0o022 and not directory & stat.S_ISVTX
    if file & 0o022 or shared:
        what, mode = ("file", "600") if file & 0o022 else ("directory", "700")
        warnings.warn(
            f"Others may write the {what} of the ledger {path}, and so forge it. "
            f"Set its mode to {mode}.",
            ExposedLedgerWarning,
            stacklevel=2,
        )


def _split(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit before it starts."""
    statements = []
    current = ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
