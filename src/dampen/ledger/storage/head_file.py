"""Where the head of a ledger is kept besides its log: the head file, and a witness elsewhere.

- `HeadFile`: a small file beside a ledger that knows how far the ledger has come.
- `Witness`: a second place that knows the newest head of a ledger.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import storage
from dampen.ledger.log import Head
from dampen.ledger.storage import is_address

__all__ = [
    "APPENDED",
    "HeadFile",
    "Witness",
    "locked",
    "open_witness",
    "overtaken",
    "witness_place",
]

try:
    import fcntl
except ImportError:  # not on Windows: writers then queue at SQLite's own lock
    fcntl = None  # type: ignore[assignment]


SLOT = 128


class HeadFile:
    """An open head file.  `close` it.

    A copy of a database file without its write-ahead log, or a backup that was put back, is a valid
    database with an old state; nothing inside it can tell.  So the head of the log is written once
    more, into a file of its own, after each commit and before the charge is acknowledged.  A ledger
    whose log does not contain that head went backwards and pays nothing.

    Two slots are written in turn, so that a power cut while one is written leaves the other; the
    valid slot with the larger number counts.  The file is also the lock by which writers queue.
    """

    def __init__(self, path: Path, *, create: bool = False, writable: bool = True) -> None:
        flags = os.O_RDWR if writable else os.O_RDONLY
        self.path = path
        self._file = os.open(path, flags | (os.O_CREAT if create else 0) | _CLOSE_ON_EXEC, 0o600)
        self._opened = os.fstat(self._file)
        self._content = b""
        self._heads: tuple[Head | None, Head | None] = (None, None)

    def in_place(self) -> bool:
        """Whether this file still lies at its path."""
        try:
            return self._file >= 0 and os.path.samestat(os.stat(self.path), self._opened)
        except OSError:
            return False

    def close(self) -> None:
        """Closes the file, and with it gives back its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self) -> Head | None:
        """The head that was written last, or None if there is no valid one."""
        return max(self._slots(), key=lambda head: head.seq if head else -1)

    def write(self, head: Head) -> None:
        """Writes a head, synchronised, if it is further than the one in the file."""
        slots = self._slots()
        numbers = [-1 if slot is None else slot.seq for slot in slots]
        if head.seq > max(numbers):
            self._write(_packed(head), SLOT * numbers.index(min(numbers)))

    def reset(self, head: Head) -> None:
        """Writes a head whatever was there: for a new and for a restored ledger."""
        self._write(_packed(head) * 2, 0)

    def lock(self) -> None:
        """Waits for the turn of this writer.

        Raises:
            BudgetError: if it does not come within `storage.PATIENCE_SECONDS`.
        """
        _lock(self._file, self.path)

    def unlock(self) -> None:
        """Lets the next writer have its turn."""
        if fcntl is not None and self._file >= 0:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _write(self, content: bytes, offset: int) -> None:
        os.lseek(self._file, offset, os.SEEK_SET)
        os.write(self._file, content)
        _synchronise(self._file)

    def _slots(self) -> tuple[Head | None, Head | None]:
        os.lseek(self._file, 0, os.SEEK_SET)
        content = os.read(self._file, 2 * SLOT)
        if content != self._content:
            self._content = content
            self._heads = _unpacked(content[:SLOT]), _unpacked(content[SLOT:])
        return self._heads


_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_synchronise = getattr(os, "fdatasync", os.fsync)


@contextmanager
def locked(path: Path, flags: int) -> Iterator[int]:
    """A file that is open, and locked against other writers."""
    file = os.open(path, flags | _CLOSE_ON_EXEC, 0o600)
    try:
        _lock(file, path)
        yield file
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    patience = storage.PATIENCE_SECONDS
    start = time.monotonic()
    pause = 0.0001
    while fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - start
            if waited > patience:
                raise BudgetError(
                    f"The ledger of {path} cannot be used: another process has held it "
                    f"for {patience:.0f} seconds. Nothing was charged."
                ) from None
            # Whoever has waited long on a busy machine stops sleeping, and so gets its turn.
            time.sleep(pause if waited < 5 else 0)
            pause = min(2 * pause, 0.002)


def _packed(head: Head) -> bytes:
    text = f"dampen {head.seq:020d} {head.digest} "
    return f"{text}{_check(text)}".ljust(SLOT - 1).encode() + b"\n"


def _unpacked(slot: bytes) -> Head | None:
    with suppress(ValueError):
        _, number, digest, _ = slot.decode("ascii").split()
        head = Head(int(number), digest)
        if _packed(head) == slot:
            return head
    return None


def _check(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


APPENDED = "append:"
"""Before the path of a witness that is only ever appended to."""


class Witness(Protocol):
    """A place for the head of one ledger.  Its errors are `BudgetError`.

    The files of a ledger cannot tell that they were copied together: two copies would both pay.
    The log names its witness, so every copy asks the same one.  The head of the witness must be in
    the log whenever the ledger is used; after each commit, and before the charge is acknowledged,
    the witness is moved on from a head that is in the log.  So only one of several copies can go
    on.

    A witness may lag behind by a commit whose process died before it could move it; the charge of
    that commit was not acknowledged.
    """

    def read(self) -> Head | None:
        """The newest head; None if there is none."""
        ...

    def advance(self, seen: Head | None, head: Head) -> bool:
        """Moves on to `head`, synchronised, if the newest head is still `seen`; whether it was."""
        ...

    def reset(self, head: Head) -> None:
        """Moves to a head wherever it was: for a restored ledger."""
        ...


def witness_place(place: str) -> str:
    """A place as the log names it: absolute, and without a password."""
    if is_address(place):
        from dampen.ledger.storage.postgres import holds_password

        if holds_password(place):
            raise ParameterError(
                "Expected the address of the witness without a password: the ledger records it. "
                "Pass the password by PostgreSQL's own means, such as ~/.pgpass."
            )
        return place
    prefix = APPENDED if place.startswith(APPENDED) else ""
    return prefix + os.path.realpath(place.removeprefix(APPENDED))


def open_witness(place: str, ledger: str) -> Witness:
    """The witness at a place, of the ledger whose first entry has that digest."""
    if is_address(place):
        from dampen.ledger.storage.postgres import PostgresWitness

        return PostgresWitness(place, ledger)
    if place.startswith(APPENDED):
        return _AppendedFile(Path(place.removeprefix(APPENDED)))
    return _File(Path(place))


def overtaken(witness: Witness) -> BudgetError:
    """The refusal of a copy that another one has overtaken."""
    return BudgetError(
        f"The witness {witness} was moved by another copy of this ledger. The charge stands in "
        "this copy; no data was read."
    )


class _File:
    """A head file in another directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def read(self) -> Head | None:
        if not self._path.exists():
            return None
        with self._opened(create=False) as file:
            return file.read()

    def advance(self, seen: Head | None, head: Head) -> bool:
        with self._opened(create=seen is None) as file:
            file.lock()
            if file.read() != seen:
                return False
            file.write(head)
            return True

    def reset(self, head: Head) -> None:
        with self._opened(create=True) as file:
            file.lock()
            file.reset(head)

    @contextmanager
    def _opened(self, *, create: bool) -> Iterator[HeadFile]:
        with _explained(self._path), closing(HeadFile(self._path, create=create)) as file:
            yield file


class _AppendedFile:
    """Heads line by line, the newest last: a file that the system lets nobody shorten."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def read(self) -> Head | None:
        if not self._path.exists():
            return None
        with _explained(self._path), self._path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 1024))
            whole = file.read().split(b"\n")[:-1]  # what follows the last line feed was cut off
        try:
            return Head.parse(whole[-1].decode()) if whole else None
        except (ParameterError, UnicodeDecodeError):
            raise _unusable(self._path, "its last line is not a head") from None

    def advance(self, seen: Head | None, head: Head) -> bool:
        return self._append(head, lambda: self.read() == seen)

    def reset(self, head: Head) -> None:
        self._append(head, lambda: True)

    def _append(self, head: Head, allowed: Callable[[], bool]) -> bool:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with _explained(self._path), locked(self._path, flags) as file:
            if not allowed():
                return False
            os.write(file, f"{head}\n".encode())
            os.fsync(file)
            return True


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(path, str(error.strerror)) from None


def _unusable(path: Path, why: str) -> BudgetError:
    return BudgetError(f"The witness {path} cannot be used: {why}. No data was read.")
