"""The head file: a small file beside a ledger that knows how far the ledger has come.

A copy of a database file without its write-ahead log, or a backup that was put back, is a valid
database with an old state; nothing inside it can tell.  So the head of the log is written once
more, into a file of its own, after each commit and before the charge is acknowledged.  A ledger
whose log does not contain that head went backwards and pays nothing.

Two slots are written in turn, so that a power cut while one is written leaves the other; the valid
slot with the larger number counts.  The file is also the lock by which writers queue.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from dampen.errors import BudgetError
from dampen.ledger.log import Head

try:
    import fcntl
except ImportError:  # not on Windows: writers then queue at SQLite's own lock
    fcntl = None  # type: ignore[assignment]

__all__ = ["HeadFile", "locked"]

SLOT = 128


class HeadFile:
    """An open head file.  `close` it."""

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

    def lock(self, patience: float) -> None:
        """Waits for the turn of this writer.

        Raises:
            BudgetError: if it does not come within `patience` seconds.
        """
        _lock(self._file, self.path, patience)

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
def locked(path: Path, flags: int, patience: float = 60.0) -> Iterator[int]:
    """A file that is open, and locked against other writers."""
    file = os.open(path, flags | _CLOSE_ON_EXEC, 0o600)
    try:
        _lock(file, path, patience)
        yield file
    finally:
        os.close(file)


def _lock(file: int, path: Path, patience: float) -> None:
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
