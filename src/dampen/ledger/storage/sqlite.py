"""A log in an SQLite file: the embedded default.

The file is in WAL mode with full synchronisation: a committed entry survives a power cut, at the
price of one synchronisation.  It must lie on a local disk, because WAL needs shared memory between
its users.  One connection is kept between transactions; `dampen.ledger.worker` closes it before a
fork.  Beside the file lies its head (`head_file.py`).
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from dampen.errors import BudgetError
from dampen.ledger import storage
from dampen.ledger.log import START, Head, Row, damaged
from dampen.ledger.storage import files
from dampen.ledger.storage.head_file import HeadFile

__all__ = ["SQLiteStorage"]

ROWS_AT_ONCE = 100

T = TypeVar("T")


@dataclass(slots=True)
class _View:
    """A transaction on an open connection."""

    connection: Connection
    fresh: bool
    floor: Head | None
    appended: Head | None = None
    curator: bool = True

    def head(self) -> Head:
        found = self.connection.execute(files.HEAD).fetchall()
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise damaged("its head cannot be read")
        return Head(*found[0])

    def rows(self, after: int) -> Iterator[Row]:
        return map(Row._make, self.connection.execute(files.ROWS, (after,)))

    def row(self, seq: int) -> Row | None:
        found = self.connection.execute(files.ROW, (seq,)).fetchone()
        return None if found is None else Row._make(found)

    def answers(self, charge: int) -> Iterator[Row]:
        return map(Row._make, self.connection.execute(files.ANSWERS, (charge,)))

    def checkpoint(self, at_most: int) -> Row | None:
        found = self.connection.execute(files.CHECKPOINT, (at_most,)).fetchone()
        return None if found is None else Row._make(found)

    def append(self, rows: Sequence[Row]) -> None:
        # One statement for many rows: each statement hands the interpreter to other threads, and
        # with many chargers waiting takes long to get it back.
        for i in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[i : i + ROWS_AT_ONCE]
            values = ", ".join(["(?, ?, ?, ?, ?)"] * len(some))
            flat = [field for row in some for field in row]
            self.connection.execute(f"INSERT INTO entry VALUES {values}", flat)
        self.appended = Head(rows[-1].seq, rows[-1].digest)
        self.connection.execute(
            "UPDATE head SET seq = ?, digest = ?", (self.appended.seq, self.appended.digest)
        )


class SQLiteStorage:
    """A log in a file.  Used by one thread at a time; not across a fork."""

    def __init__(self, place: str) -> None:
        self._path = Path(place)
        self._open_file: _OpenFile | None = None

    @property
    def place(self) -> str:
        return str(self._path)

    def create(self) -> None:
        path = self._path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.is_dir():
                raise BudgetError(f"Expected a ledger file, but {path} is a directory.")
            if path.exists() and path.stat().st_size and not files.head_path(path).exists():
                _patiently(path, lambda: files.require_no_entries(path))
            head_file = HeadFile(files.head_path(path), create=True)
        except OSError as error:
            raise BudgetError(f"Cannot create the ledger {path}: {error.strerror}.") from None
        with closing(head_file):
            head_file.lock(storage.PATIENCE_SECONDS)
            if head_file.read() is None:
                _patiently(path, lambda: files.initialise(path))
                head_file.reset(START)

    @contextmanager
    def read(self) -> Iterator[_View]:
        file = self._opened()
        try:
            with self._explained():
                yield _patiently(self._path, lambda: file.begin("BEGIN"))
            file.fresh = False
        finally:
            file.roll_back()
            if not file.writable:  # it may be an immutable view, which does not see a writer
                self.close()

    @contextmanager
    def write(self) -> Iterator[_View]:
        file = self._opened()
        if not file.writable:
            raise files.unusable(self._path, "it is read-only")
        file.head_file.lock(storage.PATIENCE_SECONDS)
        try:
            with self._explained():
                if not file.head_file.in_place():  # it went while this writer waited for its turn
                    raise files.no_head(self._path)
                view = _patiently(self._path, lambda: file.begin("BEGIN IMMEDIATE"))
                yield view
            if view.appended is not None:
                self._commit(file, view.appended)
            file.fresh = False
        finally:
            file.roll_back()
            file.head_file.unlock()

    def known(self) -> Head | None:
        try:
            head_file = HeadFile(files.head_path(self._path), writable=False)
        except OSError:
            return None
        with closing(head_file):
            return head_file.read()

    def replace(self, rows: Iterable[Row]) -> None:
        self.close()
        fresh = self._path.with_name(f"{self._path.name}-restoring")
        fresh.unlink(missing_ok=True)
        head = files.write_copy(fresh, rows)
        files.put_aside(self._path)
        fresh.rename(self._path)
        with closing(HeadFile(files.head_path(self._path), create=True)) as head_file:
            head_file.reset(head)

    def close(self) -> None:
        if self._open_file is not None:
            self._open_file.close()
            self._open_file = None

    def _opened(self) -> "_OpenFile":
        """The file that lies at the path, opened if it is not the one that is open."""
        found = _identity(self._path)
        file = self._open_file
        if file is None or file.identity != found or not file.head_file.in_place():
            self.close()
            files.require(self._path)
            file = self._open_file = _OpenFile.open(self._path)
            files.warn_if_exposed(self._path)
        return file

    def _commit(self, file: "_OpenFile", head: Head) -> None:
        try:
            file.connection.execute("COMMIT")
        except files.FAILURES as error:
            uncertain = files.code(error) == sqlite3.SQLITE_IOERR
            self.close()  # so that what is believed from now on is read from the disk
            raise files.explanation(error, self._path, uncertain=uncertain) from None
        log = _identity(file.log_path)
        if _identity(self._path) != file.identity or log is None or log != (file.log or log):
            self.close()
            raise BudgetError(
                f"The ledger {self._path} or its log was replaced while it was in use. The charge "
                "went to the file that was there before; no data was read."
            )
        file.log = log
        try:
            file.head_file.write(head)
            if not file.head_file.in_place():
                raise FileNotFoundError(ENOENT, "it is gone")
        except OSError as error:
            raise BudgetError(
                f"The charge is in the ledger {self._path}, but not in its head file: "
                f"{error.strerror}. The charge stands; no data was read."
            ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors as one line; whatever went wrong, the next use opens the file anew."""
        try:
            yield
        except files.FAILURES as error:
            self.close()
            raise files.explanation(error, self._path) from None
        except BaseException:
            self.close()
            raise


@dataclass(slots=True)
class _OpenFile:
    """The handles of an open ledger."""

    path: Path
    connection: Connection
    head_file: HeadFile
    writable: bool
    identity: tuple[int, int] | None
    log_path: Path
    log: tuple[int, int] | None = None
    fresh: bool = True

    @classmethod
    def open(cls, path: Path) -> "_OpenFile":
        writable = files.writable(path)
        identity = _identity(path)
        connection = _patiently(path, lambda: files.connect(path, _mode(path, writable)))
        try:
            if writable:
                _patiently(path, lambda: files.migrate(connection, path))
            elif files.format_of(connection) == 1:
                raise files.unusable(path, "it is of dampen 0.1 and was never opened to be written")
            head_file = _open_head_file(path, writable)
            if writable:  # a copy that was put in place has no log yet
                _patiently(path, lambda: connection.execute("PRAGMA journal_mode = WAL").close())
        except BaseException:
            connection.close()
            raise
        return cls(path, connection, head_file, writable, identity, files.log_path(path))

    def begin(self, statement: str) -> _View:
        # First the head file, then the view: so the view has come at least as far.
        floor = self.head_file.read()
        if floor is None:
            raise files.no_head(self.path)
        self.connection.execute(statement)
        return _View(self.connection, self.fresh, floor)

    def roll_back(self) -> None:
        with suppress(*files.FAILURES):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.head_file.close()
        with suppress(*files.FAILURES):
            self.connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _mode(path: Path, writable: bool) -> str:
    # A WAL file whose directory cannot be written is readable only as immutable; it is complete
    # then, unless a log lies beside it.
    if writable:
        return "rw"
    seen = files.log_path(path).exists() or os.access(path.parent, os.W_OK)
    return "ro" if seen else "ro&immutable=1"


def _open_head_file(path: Path, writable: bool) -> HeadFile:
    try:
        return HeadFile(files.head_path(path), writable=writable)
    except FileNotFoundError:
        raise files.no_head(path) from None
    except OSError as error:
        raise files.unusable(path, f"its head file: {error.strerror}") from None


def _patiently(path: Path, attempt: Callable[[], T]) -> T:
    """Repeats `attempt` while other processes hold the file.

    SQLite waits by itself in most places, but not where it switches to WAL or recovers a log.
    """
    deadline = time.monotonic() + storage.PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except files.FAILURES as error:
            if not (files.is_busy(error) and time.monotonic() < deadline):
                raise files.explanation(error, path) from None
            time.sleep(0.005)
