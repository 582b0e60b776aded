"""Copies of a log in single files: what a backup writes and a restore reads.

A copy is a database like that of a ledger, but no head lies beside it, so it pays nothing until it
is put in place by a restore.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from dampen.errors import BudgetError
from dampen.ledger.log import START, Head, Row, damaged
from dampen.ledger.storage import files, sqlite_errors

__all__ = ["read_copy", "write_copy"]


def write_copy(path: Path, rows: Iterable[Row]) -> Head:
    """Writes a new file with these rows, synchronised; its head.

    Raises:
        BudgetError: if there is such a file already, or it cannot be written.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise BudgetError(f"There is a file {path} already; it was left as it is.") from None
    except OSError as error:
        raise BudgetError(f"Cannot write {path}: {error.strerror}.") from None
    try:
        return _fill(path, rows)
    except sqlite_errors.FAILURES as error:
        path.unlink(missing_ok=True)
        raise sqlite_errors.explanation(error, path) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _fill(path: Path, rows: Iterable[Row]) -> Head:
    files.initialise(path)
    head = START
    with closing(files.connect(path, "rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for row in rows:
            connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", row)
            head = Head(row.seq, row.digest)
        connection.execute("UPDATE head SET seq = ?, digest = ?", (head.seq, head.digest))
        connection.execute("COMMIT")
        # A copy is one file: without a log that could be left behind.
        connection.execute("PRAGMA journal_mode = DELETE")
    return head


def read_copy(path: Path) -> Iterator[Row]:
    """The rows of a copy, or of any ledger on SQLite, whether or not it has a head file.

    Raises:
        BudgetError: if it is no ledger, or its rows end before the head that it names.
    """
    if not path.exists():
        raise BudgetError(f"There is no file {path}.")
    mode = "ro" if files.writable(path) or files.log_path(path).exists() else "ro&immutable=1"
    try:
        with closing(files.connect(path, mode)) as connection:
            connection.execute("BEGIN")
            last = START.seq
            for row in map(Row._make, connection.execute(files.ROWS, (START.seq,))):
                last = row.seq
                yield row
            if connection.execute(files.HEAD).fetchone()[0] != last:
                raise damaged(f"entry {last + 1} is missing")
    except sqlite_errors.FAILURES as error:
        raise sqlite_errors.explanation(error, path) from None
