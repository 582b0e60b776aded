"""A witness: a second place that knows the newest head of a ledger.

The files of a ledger cannot tell that they were copied together: two copies would both pay.  The
log names its witness, so every copy asks the same one.  The head of the witness must be in the
log whenever the ledger is used; after each commit, and before the charge is acknowledged, the
witness is moved on from a head that is in the log.  So only one of several copies can go on.

A witness may lag behind by a commit whose process died before it could move it; the charge of that
commit was not acknowledged.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import storage
from dampen.ledger.log import Head
from dampen.ledger.storage import is_address
from dampen.ledger.storage.head_file import HeadFile, locked

__all__ = ["APPENDED", "Witness", "open_witness", "overtaken", "witness_place"]

APPENDED = "append:"
"""Before the path of a witness that is only ever appended to."""


class Witness(Protocol):
    """A place for the head of one ledger.  Its errors are `BudgetError`."""

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
            file.lock(storage.PATIENCE_SECONDS)
            if file.read() != seen:
                return False
            file.write(head)
            return True

    def reset(self, head: Head) -> None:
        with self._opened(create=True) as file:
            file.lock(storage.PATIENCE_SECONDS)
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
            raise _unusable(self._path, "its last line is no head") from None

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
