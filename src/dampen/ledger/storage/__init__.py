"""The storage of a log of entries, on SQLite and on PostgreSQL.

A storage keeps rows and the head, and answers in transactions.  It knows nothing of budgets; all
that is checked is checked above it, on the rows that it gives.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dampen.ledger.log import Head, Row

__all__ = ["PATIENCE_SECONDS", "Log", "Storage", "Transaction", "is_address", "open_storage"]

PATIENCE_SECONDS = 60.0
"""How long an operation waits for other processes before it gives up."""


class Log(Protocol):
    """Single entries of a log, found without reading the others."""

    def row(self, seq: int) -> Row | None:
        """The row of a number; None if there is none."""
        ...

    def answers(self, charge: int) -> Iterator[Row]:
        """The rows of the answers to the charge of a number, oldest first."""
        ...


class Transaction(Log, Protocol):
    """One consistent view of the log.

    Attributes:
        fresh: True if this is the first transaction since the storage was opened, so that nothing
            which was read before may be trusted.
        floor: a head that the storage knows, from beside the log, to have been reached; None if
            it keeps no such thing.
        curator: whether this process may write entries of every kind, and not only charges.
    """

    @property
    def fresh(self) -> bool: ...

    @property
    def floor(self) -> Head | None: ...

    @property
    def curator(self) -> bool: ...

    def head(self) -> Head:
        """The head that is stored with the log."""
        ...

    def rows(self, after: int) -> Iterator[Row]:
        """The rows behind number `after`, in order."""
        ...

    def checkpoint(self, at_most: int) -> Row | None:
        """The last row of a checkpoint up to a number; None if there is none."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Appends rows and moves the head; in a transaction of `write` only."""
        ...


class Storage(Protocol):
    """A place for one log, used by one thread at a time."""

    @property
    def place(self) -> str:
        """The place for messages, without passwords."""
        ...

    def create(self) -> None:
        """Makes the place with an empty log, if there is none; any processes may try."""
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """One consistent view; it waits for no writer."""
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other writer overlaps.

        When it ends without an exception its rows are on disk, synchronised; otherwise nothing was
        written, unless the exception says that this is not certain.
        """
        ...

    def known(self) -> Head | None:
        """The head that is known, from beside the log, to have been reached; None if none is."""
        ...

    def replace(self, rows: Iterable[Row]) -> None:
        """Puts a log in the place of whatever is there, which is kept under another name."""
        ...

    def close(self) -> None:
        """Gives back all handles; the next use opens them again."""
        ...


def open_storage(place: str) -> Storage:
    """The storage at a path, or at an address such as postgresql://host/name."""
    if is_address(place):
        from dampen.ledger.storage.postgres import PostgresStorage

        return PostgresStorage(place)
    from dampen.ledger.storage.sqlite import SQLiteStorage

    return SQLiteStorage(place)


def is_address(place: str) -> bool:
    """Whether a place is on a server, and not a path."""
    return place.startswith(("postgresql://", "postgres://"))
