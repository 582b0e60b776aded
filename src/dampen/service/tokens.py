"""The state file of a service: hashed tokens, and incidents for the curator.

A token is 256 random bits, so its SHA-256 is as hard to invert as to guess the token; slow hashes
are for passwords that people choose.  A token is found by its hash: how long that takes says
nothing about any other token.
"""

import os
import sqlite3
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from dampen.core.sampling import SystemEntropy
from dampen.errors import ParameterError

__all__ = ["Incident", "Role", "Token", "Tokens", "random_text"]

PREFIX = "dampen_"
LONGEST_NAME = 100
TABLES = """
CREATE TABLE IF NOT EXISTS token (
    id TEXT PRIMARY KEY, analyst TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL, revoked TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS incident (
    id TEXT PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL, dataset TEXT NOT NULL,
    question TEXT NOT NULL, charge TEXT, text TEXT NOT NULL
) STRICT;
"""


def random_text(size: int) -> str:
    """So many random bytes, as text for addresses and headers."""
    return urlsafe_b64encode(SystemEntropy().read(size)).rstrip(b"=").decode()


class Role(StrEnum):
    """What a token allows."""

    ANALYST = "analyst"
    CURATOR = "curator"


@dataclass(frozen=True, slots=True)
class Token:
    """The owner of a token; the token itself is not stored."""

    id: str
    analyst: str
    role: Role
    created: str
    revoked: str | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """Why a question that was paid for has no answer."""

    id: str
    time: str
    analyst: str
    dataset: str
    question: str
    charge: str | None
    text: str


@dataclass
class _Reader:
    """A connection that is kept, since every request needs one; of the file that is there now."""

    connection: sqlite3.Connection | None = None
    file: tuple[int, int] | None = None
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def row(
        self, path: Path, opened: Callable[[], sqlite3.Connection], sql: str, value: str
    ) -> Any:
        """The one row that a query gives."""
        with self.mutex:
            if self.connection is None or self.file != _file(path):
                self.close()
                self.connection, self.file = opened(), _file(path)
            return self.connection.execute(sql, (value,)).fetchone()

    def close(self) -> None:
        """Lets go of the file."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A file that its owner alone may read; any number of processes may use it."""

    path: Path
    _reader: _Reader = field(default_factory=_Reader, repr=False, compare=False)

    def create(self, analyst: str, role: str = Role.ANALYST) -> str:
        """A new token, which is shown here and never again.

        Raises:
            ParameterError: if the name cannot be used, or the role is none.
        """
        name = self.checked_name(analyst)
        if role not in list(Role):
            raise ParameterError(f"Expected role analyst or curator, got {role!r}.")
        token = PREFIX + random_text(32)
        with closing(self._open()) as connection, connection:
            connection.execute(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?, NULL)",
                (SystemEntropy().read(4).hex(), name, str(role), _hash(token), _now()),
            )
        return token

    @staticmethod
    def checked_name(analyst: str) -> str:
        """The name of an analyst without surrounding blanks.

        Raises:
            ParameterError: if it cannot be used.
        """
        name = analyst.strip()
        if not name or not name.isprintable() or len(name) > LONGEST_NAME:
            raise ParameterError(
                f"Expected the name of an analyst, of at most {LONGEST_NAME} characters."
            )
        return name

    def find(self, token: str) -> Token | None:
        """The owner of a token that was not revoked."""
        asked = f"SELECT {_COLUMNS} FROM token WHERE hash = ? AND revoked IS NULL"
        row = self._reader.row(self.path, self._open, asked, _hash(token))
        return None if row is None else _token(row)

    def tokens(self) -> list[Token]:
        """All tokens, revoked ones too, oldest first."""
        with closing(self._open()) as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM token ORDER BY rowid").fetchall()
        return [_token(row) for row in rows]

    def revoke(self, who: str) -> list[Token]:
        """Ends a token by its id, or all tokens of an analyst.

        Raises:
            ParameterError: if there is none that was not revoked before.
        """
        ended = [t for t in self.tokens() if who in (t.id, t.analyst) and t.revoked is None]
        if not ended:
            raise ParameterError(f"There is no valid token, and no analyst with one, {who!r}.")
        with closing(self._open()) as connection, connection:
            connection.executemany(
                "UPDATE token SET revoked = ? WHERE id = ?", [(_now(), t.id) for t in ended]
            )
        return ended

    def report(
        self, analyst: str, dataset: str, question: str, charge: str | None, text: str
    ) -> str:
        """Keeps an incident for the curator, and returns its id."""
        number = SystemEntropy().read(8).hex()
        with closing(self._open()) as connection, connection:
            connection.execute(
                "INSERT INTO incident VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, _now(), analyst, dataset, question, charge, text),
            )
        return number

    def incident(self, number: str) -> Incident | None:
        """An incident by its id."""
        with closing(self._open()) as connection:
            row = connection.execute("SELECT * FROM incident WHERE id = ?", (number,)).fetchone()
        return None if row is None else Incident(*row)

    def _open(self) -> sqlite3.Connection:
        try:
            if not self.path.exists() or self.path.stat().st_size == 0:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
                with closing(self._connect()) as connection:
                    connection.executescript("PRAGMA journal_mode = WAL;" + TABLES)
            return self._connect()
        except (OSError, sqlite3.Error):
            raise ParameterError(f"Cannot open {self.path}, the state of the service.") from None

    def _connect(self) -> sqlite3.Connection:
        # Whoever keeps one sees to it that threads take turns.
        return sqlite3.connect(self.path, timeout=10, check_same_thread=False)


def _file(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_COLUMNS = "id, analyst, role, created, revoked"


def _token(row: tuple[str, str, str, str, str | None]) -> Token:
    number, analyst, role, created, revoked = row
    return Token(number, analyst, Role(role), created, revoked)


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
