"""A log in an SQLite file, the embedded default: its place, tables and format, copies, and errors.

The file is in WAL mode with full synchronisation: a committed entry survives a power cut, at the
price of one synchronisation.  It must lie on a local disk, because WAL needs shared memory between
its users.  One connection is kept between transactions; `dampen.ledger.worker` closes it before a
fork.  Beside the file lies its head (`head_file.py`).

**Copies** (`write_copy`, `read_copy`).  A copy, which a backup writes and a restore reads, is a
database like that of a ledger.  No head lies beside it, so it pays nothing until it is put in place
by a restore.
"""

import os
import sqlite3
import stat
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import ENOENT
from itertools import count
from pathlib import Path
from sqlite3 import Connection
from typing import TypeAlias, TypeVar

from dampen.errors import BudgetError, ExposedLedgerWarning
from dampen.ledger import storage
from dampen.ledger.log import START, Draft, Head, Kind, Row, budget_name, damaged, key_of, sealed
from dampen.ledger.storage.head_file import HeadFile

__all__ = [
    "FAILURES",
    "Failure",
    "SQLiteStorage",
    "code",
    "connect",
    "explanation",
    "format_of",
    "head_path",
    "initialise",
    "is_busy",
    "log_path",
    "migrate",
    "no_head",
    "put_aside",
    "read_copy",
    "require",
    "require_no_entries",
    "unusable",
    "warn_if_exposed",
    "writable",
    "write_copy",
]

APPLICATION_ID = 0x64616D70  # "damp" in the header of the file
FORMAT = 3
READABLE = (1, 2, FORMAT)
"""Files of dampen 0.1 (1) and 0.2 (2) are brought up to date when they are first opened to be
written.  One of 0.2 lacks indexes alone.  One of 0.1 has a table of budgets and one of charges,
which are kept and closed; their rows become entries, in the order of time."""

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


# The tables of dampen 0.1 take nothing more, also from a process of 0.1 that waits for its turn.
_CLOSED = """
CREATE TRIGGER IF NOT EXISTS budget_is_closed BEFORE INSERT ON budget
  BEGIN SELECT RAISE(ABORT, 'the ledger was brought up to date'); END;
CREATE TRIGGER IF NOT EXISTS charge_is_closed BEFORE INSERT ON charge
  BEGIN SELECT RAISE(ABORT, 'the ledger was brought up to date'); END;
"""
_TEXTS_OF_0_1 = ("neighbours", "query", "mechanism", "analyst", "dataset")
_TABLES_OF_0_1 = """
SELECT 'budget', name, epsilon, '', neighbours, '', '', '', '', time, version FROM budget
UNION ALL
SELECT 'charge', budget, epsilon, rho, neighbours, query, mechanism, analyst, dataset,
  max(time, (SELECT time FROM budget WHERE name = charge.budget)), version FROM charge
ORDER BY 10, 1
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
    """The path of the head file of a ledger."""
    return path.with_name(f"{path.name}-head")


def log_path(path: Path) -> Path:
    """The path of SQLite's write-ahead log."""
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


def migrate(connection: Connection, path: Path) -> None:
    """Brings a file of an older format up to date; every entry, and every charge, stays as it is.

    Raises:
        BudgetError: if a head file lies beside a file of dampen 0.1, which had none, and knows
            another ledger.
    """
    if format_of(connection) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    if format_of(connection) == 1:
        _adopt(connection, path)
    for statement in _split(_INDEXES):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _adopt(connection: Connection, path: Path) -> None:
    """Makes the entries of a file of dampen 0.1, closes its tables and writes its head.

    A process that is killed after the head was written leaves the file as it was; the next one
    makes the same entries again.
    """
    rows = list(_rows_of_0_1(connection))
    head = Head(rows[-1].seq, rows[-1].digest) if rows else START
    with closing(HeadFile(head_path(path), create=True)) as head_file:
        known = head_file.read()
        if known not in (None, START, *(Head(row.seq, row.digest) for row in rows)):
            raise no_head(path)
        for statement in _split(_TABLES + _CLOSED):
            connection.execute(statement)
        connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO head VALUES (1, ?, ?)", head)
        head_file.reset(head)


def _rows_of_0_1(connection: Connection) -> Iterator[Row]:
    """The budgets and charges of a file of dampen 0.1 as entries."""
    keys: dict[str, str] = {}
    head = START
    for of, name, epsilon, rho, *texts, when, version in connection.execute(_TABLES_OF_0_1):
        signed = {"time": when, "version": version}
        if of == "budget":
            said = _another(budget_name(name), keys.values())
            keys[name] = key_of(said)
            limit = {"name": said, "epsilon": epsilon, "delta": "", "rho": ""}
            rules = {"dataset": "", "location": "", "largest": "", "each": None, "who": ""}
            details = limit | {"neighbours": texts[0]} | rules | signed
            draft = Draft(Kind.CREATE, keys[name], details)
        else:
            note = dict(zip(_TEXTS_OF_0_1, texts, strict=True)) | {"leaks": []}
            details = {"epsilon": epsilon, "rho": rho} | note | signed
            draft = Draft(Kind.CHARGE, keys[name], details)
        row = sealed(draft, head)
        head = Head(row.seq, row.digest)
        yield row


def _another(name: str, keys: Collection[str]) -> str:
    """The name, or with a number if it differs only in case from one that was there before."""
    numbered = (name if i == 1 else f"{name} ({i})" for i in count(1))
    return next(each for each in numbered if key_of(each) not in keys)


def format_of(connection: Connection) -> int:
    """The format of a file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def require_no_entries(path: Path) -> None:
    """Refuses a file that is no ledger, or one with entries, which must have a head."""
    with closing(connect(path, "ro")) as connection:
        _check_no_entries(connection, path)


def _check_no_entries(connection: Connection, path: Path) -> None:
    if format_of(connection) != 1 and connection.execute("SELECT 1 FROM entry").fetchone():
        raise no_head(path)


def connect(path: Path, mode: str, *, check: bool = True) -> Connection:
    """A connection that synchronises fully and may be used by any one thread at a time."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=storage.PATIENCE_SECONDS,
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
    written = format_of(connection)
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
            f"dampen budget create NAME --epsilon E --neighbours RELATION --ledger {path}"
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
            f"Other users may write the {what} of the ledger {path}, so they could forge it. "
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
    except FAILURES as error:
        path.unlink(missing_ok=True)
        raise explanation(error, path) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _fill(path: Path, rows: Iterable[Row]) -> Head:
    initialise(path)
    head = START
    with closing(connect(path, "rw")) as connection:
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
    mode = "ro" if writable(path) or log_path(path).exists() else "ro&immutable=1"
    try:
        with closing(connect(path, mode)) as connection:
            connection.execute("BEGIN")
            if format_of(connection) == 1:
                yield from _rows_of_0_1(connection)
                return
            last = START.seq
            for row in map(Row._make, connection.execute(ROWS, (START.seq,))):
                last = row.seq
                yield row
            if connection.execute(HEAD).fetchone()[0] != last:
                raise damaged(f"entry {last + 1} is missing")
    except FAILURES as error:
        raise explanation(error, path) from None


Failure: TypeAlias = sqlite3.Error | UnicodeDecodeError
FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; of a damaged file its message may quote bytes that are no text."""


def is_busy(error: Failure) -> bool:
    """Whether another process holds the file."""
    return code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def code(error: Failure) -> int:
    """SQLite's primary result code."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explanation(error: Failure, path: Path, *, uncertain: bool = False) -> BudgetError:
    """An error of SQLite for people."""
    match code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            why = f"another process has held it for {storage.PATIENCE_SECONDS:.0f} seconds"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            why = "it is read-only"
        case sqlite3.SQLITE_FULL:
            why = "the disk is full"
        case sqlite3.SQLITE_IOERR:
            why = "the disk reports an error"
        case sqlite3.SQLITE_CANTOPEN:
            why = "it cannot be opened; are the file and its directory writable?"
        case sqlite3.SQLITE_NOTADB:
            return BudgetError(f"{path} is not a ledger of dampen.")
        case sqlite3.SQLITE_CORRUPT:
            why = "the file is damaged; restore it from a backup: dampen budget restore FILE"
        case _:
            why = str(error).rstrip(".")
    return unusable(path, why, uncertain=uncertain)


def unusable(path: Path, why: str, *, uncertain: bool = False) -> BudgetError:
    """The refusal of a ledger that cannot be used now."""
    end = "It is not certain whether this was charged; no data was read."
    return BudgetError(
        f"The ledger {path} cannot be used: {why}. {end if uncertain else 'Nothing was charged.'}"
    )


def no_head(path: Path) -> BudgetError:
    """The refusal of a ledger without a head, which may be older than what was spent."""
    return BudgetError(
        f"The ledger {path} has no valid head file beside it, so charges may be missing from it: "
        "is it a copy or a backup? Nothing was charged. To use it from now on, run: dampen budget "
        "restore FILE."
    )


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
        found = self.connection.execute(HEAD).fetchall()
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise damaged("its head cannot be read")
        return Head(*found[0])

    def rows(self, after: int) -> Iterator[Row]:
        return map(Row._make, self.connection.execute(ROWS, (after,)))

    def row(self, seq: int) -> Row | None:
        found = self.connection.execute(ROW, (seq,)).fetchone()
        return None if found is None else Row._make(found)

    def answers(self, charge: int) -> Iterator[Row]:
        return map(Row._make, self.connection.execute(ANSWERS, (charge,)))

    def checkpoint(self, at_most: int) -> Row | None:
        found = self.connection.execute(CHECKPOINT, (at_most,)).fetchone()
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
            if path.exists() and path.stat().st_size and not head_path(path).exists():
                _patiently(path, lambda: require_no_entries(path))
            head_file = HeadFile(head_path(path), create=True)
        except OSError as error:
            raise BudgetError(f"Cannot create the ledger {path}: {error.strerror}.") from None
        with closing(head_file):
            head_file.lock()
            if head_file.read() is None:
                _patiently(path, lambda: initialise(path))
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
            raise unusable(self._path, "it is read-only")
        file.head_file.lock()
        try:
            with self._explained():
                if not file.head_file.in_place():  # it went while this writer waited for its turn
                    raise no_head(self._path)
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
            head_file = HeadFile(head_path(self._path), writable=False)
        except OSError:
            return None
        with closing(head_file):
            return head_file.read()

    def replace(self, rows: Iterable[Row]) -> None:
        self.close()
        fresh = self._path.with_name(f"{self._path.name}-restoring")
        fresh.unlink(missing_ok=True)
        head = write_copy(fresh, rows)
        put_aside(self._path)
        fresh.rename(self._path)
        with closing(HeadFile(head_path(self._path), create=True)) as head_file:
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
            require(self._path)
            file = self._open_file = _OpenFile.open(self._path)
            warn_if_exposed(self._path)
        return file

    def _commit(self, file: "_OpenFile", head: Head) -> None:
        try:
            file.connection.execute("COMMIT")
        except FAILURES as error:
            uncertain = code(error) == sqlite3.SQLITE_IOERR
            self.close()  # so that what is believed from now on is read from the disk
            raise explanation(error, self._path, uncertain=uncertain) from None
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
        except FAILURES as error:
            self.close()
            raise explanation(error, self._path) from None
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
        may_write = writable(path)
        identity = _identity(path)
        connection = _patiently(path, lambda: connect(path, _mode(path, may_write)))
        try:
            if may_write:
                _patiently(path, lambda: migrate(connection, path))
            elif format_of(connection) == 1:
                raise unusable(path, "it is of dampen 0.1 and was never opened to be written")
            head_file = _open_head_file(path, may_write)
            if may_write:  # a copy that was put in place has no log yet
                _patiently(path, lambda: connection.execute("PRAGMA journal_mode = WAL").close())
        except BaseException:
            connection.close()
            raise
        return cls(path, connection, head_file, may_write, identity, log_path(path))

    def begin(self, statement: str) -> _View:
        # First the head file, then the view: so the view has come at least as far.
        floor = self.head_file.read()
        if floor is None:
            raise no_head(self.path)
        self.connection.execute(statement)
        return _View(self.connection, self.fresh, floor)

    def roll_back(self) -> None:
        with suppress(*FAILURES):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.head_file.close()
        with suppress(*FAILURES):
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
    seen = log_path(path).exists() or os.access(path.parent, os.W_OK)
    return "ro" if seen else "ro&immutable=1"


def _open_head_file(path: Path, writable: bool) -> HeadFile:
    try:
        return HeadFile(head_path(path), writable=writable)
    except FileNotFoundError:
        raise no_head(path) from None
    except OSError as error:
        raise unusable(path, f"its head file: {error.strerror}") from None


def _patiently(path: Path, attempt: Callable[[], T]) -> T:
    """Repeats `attempt` while other processes hold the file.

    SQLite waits by itself in most places, but not where it switches to WAL or recovers a log.
    """
    deadline = time.monotonic() + storage.PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except FAILURES as error:
            if not (is_busy(error) and time.monotonic() < deadline):
                raise explanation(error, path) from None
            time.sleep(0.005)
