"""A log in PostgreSQL: one ledger for many machines.  Needs psycopg 3, `dampen[postgres]`.

Writers queue at the row of the head, which each locks before it reads; a commit returns when the
server has synchronised its log, whatever the role's default says.  A server that does not
synchronise at all (`fsync = off`) is refused.

Two tables, `dampen_entry` and `dampen_head`, in the first schema of the search path.  Triggers
refuse every change of an entry.  Analysts need SELECT on both and EXECUTE on two functions
(`postgres_powers`), and nothing else.  Keep a head elsewhere, or set a witness: a server that was
restored to an earlier time is found by these alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, LiteralString

from dampen.errors import BudgetError, ParameterError
from dampen.ledger.log import START, Head, Row, damaged
from dampen.ledger.storage import sqlite_errors
from dampen.ledger.storage.postgres_powers import FUNCTIONS

try:
    import psycopg
    from psycopg import Connection, errors, sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise ParameterError(
        "Expected psycopg for a ledger on PostgreSQL: pip install 'dampen[postgres]'."
    ) from None

__all__ = ["PostgresStorage", "PostgresWitness", "holds_password"]

CREATING = 0x64616D70
"""The number of the lock under which tables are made."""

ROWS = 500
"""Inserted by one statement."""

_TABLES = """
CREATE TABLE dampen_entry (
  seq bigint PRIMARY KEY,
  kind text NOT NULL,
  budget text NOT NULL,
  content text NOT NULL,
  digest text NOT NULL
);
CREATE TABLE dampen_head (
  one integer PRIMARY KEY CHECK (one = 1), seq bigint NOT NULL, digest text NOT NULL
);
CREATE OR REPLACE FUNCTION dampen_append_only() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dampen_entry
  FOR EACH STATEMENT EXECUTE FUNCTION dampen_append_only();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON dampen_head
  FOR EACH STATEMENT EXECUTE FUNCTION dampen_append_only();
"""

_LOCK = "SELECT dampen_lock()"

_WITNESS = """
CREATE TABLE dampen_witness (ledger text PRIMARY KEY, seq bigint NOT NULL, digest text NOT NULL)
"""

_INDEXES = """
CREATE INDEX IF NOT EXISTS dampen_entry_answer
  ON dampen_entry (split_part(substr(content, 12, 20), '-', 1)) WHERE kind = 'answer';
CREATE INDEX IF NOT EXISTS dampen_entry_checkpoint
  ON dampen_entry (seq) WHERE kind = 'checkpoint';
"""

# The content of an answer begins with {"charge":"42-0f...", so its number begins at character 12.
_ANSWERS = """
SELECT seq, kind, budget, content, digest FROM dampen_entry
  WHERE kind = 'answer' AND split_part(substr(content, 12, 20), '-', 1) = %s ORDER BY seq
"""

_CHECKPOINT = """
SELECT seq, kind, budget, content, digest FROM dampen_entry
  WHERE kind = 'checkpoint' AND seq <= %s ORDER BY seq DESC LIMIT 1
"""


@dataclass(slots=True)
class _View:
    """A transaction on an open connection."""

    connection: "Connection[tuple[Any, ...]]"
    fresh: bool
    floor: Head | None = None
    appended: bool = False
    curator: bool = True

    def head(self) -> Head:
        found = self.connection.execute("SELECT seq, digest FROM dampen_head").fetchall()
        if len(found) != 1:
            raise damaged("its head cannot be read")
        return Head(*found[0])

    def rows(self, after: int) -> Iterator[Row]:
        with self.connection.cursor(name="dampen_rows") as cursor:
            cursor.itersize = 2000
            cursor.execute(
                "SELECT seq, kind, budget, content, digest FROM dampen_entry WHERE seq > %s "
                "ORDER BY seq",
                (after,),
            )
            yield from map(Row._make, cursor)

    def row(self, seq: int) -> Row | None:
        found = self.connection.execute(
            "SELECT seq, kind, budget, content, digest FROM dampen_entry WHERE seq = %s", (seq,)
        ).fetchone()
        return None if found is None else Row._make(found)

    def answers(self, charge: int) -> Iterator[Row]:
        found = self.connection.execute(_ANSWERS, (str(charge),))
        return map(Row._make, found)

    def checkpoint(self, at_most: int) -> Row | None:
        found = self.connection.execute(_CHECKPOINT, (at_most,)).fetchone()
        return None if found is None else Row._make(found)

    def append(self, rows: Sequence[Row]) -> None:
        if self.curator:
            _insert(self.connection, rows)
        else:
            columns = [list(column) for column in zip(*rows, strict=True)]
            self.connection.execute("SELECT dampen_append(%s::bigint[], %s, %s, %s, %s)", columns)
        self.appended = True


class PostgresStorage:
    """A log on a server.  Used by one thread at a time; not across a fork."""

    def __init__(self, place: str) -> None:
        self._address = place
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._fresh = False

    @property
    def place(self) -> str:
        return shown(self._address)

    def create(self) -> None:
        with self._explained():
            connection = self._connected()
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATING,))
            if not _has(connection, "dampen_head"):
                _create(connection, START)
            elif not _has(connection, "dampen_entry_checkpoint"):  # it was made by dampen 0.2
                connection.execute(_INDEXES)
                _create_functions(connection)
            connection.commit()

    @contextmanager
    def read(self) -> Iterator[_View]:
        with self._explained():
            connection = self._begun("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield _View(connection, self._fresh)
                self._fresh = False
            finally:
                _roll_back(connection)

    @contextmanager
    def write(self) -> Iterator[_View]:
        with self._explained():
            connection = self._begun("SET LOCAL synchronous_commit = on")
            try:
                patience = f"{sqlite_errors.PATIENCE_SECONDS * 1000:.0f}"
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (patience,))
                curator = _may_write(connection)
                lock = "SELECT seq FROM dampen_head FOR UPDATE" if curator else _LOCK
                connection.execute(lock)
                view = _View(connection, self._fresh, curator=curator)
                yield view
                if view.appended:
                    self._commit(connection)
                self._fresh = False
            finally:
                _roll_back(connection)

    def known(self) -> Head | None:
        return None

    def replace(self, rows: Iterable[Row]) -> None:
        with self._explained():
            connection = self._connected()
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATING,))
            if _has(connection, "dampen_head"):
                _put_aside(connection)
            _create(connection, START)
            several = iter(rows)
            while some := list(islice(several, ROWS)):
                _insert(connection, some)
            self._commit(connection)
            self._fresh = True

    def close(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _begun(self, statement: str) -> "Connection[tuple[Any, ...]]":
        """A connection in a new transaction; one that broke while it was idle is opened again."""
        if self._connection is not None:
            try:
                self._connection.execute(statement)
                return self._connection
            except psycopg.OperationalError:
                self.close()
        connection = self._connected()
        connection.execute(statement)
        return connection

    def _connected(self) -> "Connection[tuple[Any, ...]]":
        if self._connection is None:
            seconds = int(sqlite_errors.PATIENCE_SECONDS)
            connection = psycopg.connect(self._address, connect_timeout=seconds)
            try:
                _check_server(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._fresh = True
        return self._connection

    def _commit(self, connection: "Connection[tuple[Any, ...]]") -> None:
        try:
            connection.commit()
        except psycopg.OperationalError:
            self.close()
            raise BudgetError(
                f"The ledger {self.place} cannot be used: the connection broke during the commit. "
                "It is not certain whether this was charged; no data was read."
            ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the server as one line; whatever went wrong, the next use connects anew."""
        try:
            yield
        except psycopg.Error as error:
            self.close()
            raise _explanation(error, self.place) from None
        except BaseException:
            self.close()
            raise


class PostgresWitness:
    """The head of a ledger in a row of the table `dampen_witness`; see `witness`."""

    def __init__(self, place: str, ledger: str) -> None:
        self._address = place
        self._ledger = ledger

    def read(self) -> Head | None:
        with self._connected() as connection:
            if not _has(connection, "dampen_witness"):
                return None
            query = "SELECT seq, digest FROM dampen_witness WHERE ledger = %s"
            found = connection.execute(query, (self._ledger,)).fetchone()
        return None if found is None else Head(*found)

    def advance(self, seen: Head | None, head: Head) -> bool:
        if seen is None:
            return self._insert(head, "NOTHING")
        with self._connected() as connection:
            done = connection.execute(
                "UPDATE dampen_witness SET seq = %s, digest = %s "
                "WHERE ledger = %s AND seq = %s AND digest = %s",
                (*head, self._ledger, *seen),
            )
            return done.rowcount == 1

    def reset(self, head: Head) -> None:
        self._insert(head, "UPDATE SET seq = excluded.seq, digest = excluded.digest")

    def __str__(self) -> str:
        return shown(self._address)

    def _insert(self, head: Head, otherwise: LiteralString) -> bool:
        with self._connected() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATING,))
            if not _has(connection, "dampen_witness"):
                connection.execute(_WITNESS)
            insert = "INSERT INTO dampen_witness VALUES (%s, %s, %s) ON CONFLICT (ledger) DO "
            done = connection.execute(insert + otherwise, (self._ledger, *head))
            return done.rowcount == 1

    @contextmanager
    def _connected(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """A connection whose transaction is committed, synchronised, at the end."""
        seconds = int(sqlite_errors.PATIENCE_SECONDS)
        try:
            with psycopg.connect(self._address, connect_timeout=seconds) as connection:
                _check_server(connection)
                connection.execute("SET LOCAL synchronous_commit = on")
                yield connection
        except psycopg.Error as error:
            why = f"the server reports {type(error).__name__}"
            raise BudgetError(
                f"The witness {shown(self._address)} cannot be used: {why}. No data was read."
            ) from None


def holds_password(address: str) -> bool:
    """Whether an address tells a password."""
    shown(address)
    return bool(conninfo_to_dict(address).get("password"))


def shown(address: str) -> str:
    """An address without passwords and other options."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error:
        raise ParameterError(
            "Expected the address of a ledger such as postgresql://host/name."
        ) from None
    host = parts.get("host") or ""
    name = parts.get("dbname") or ""
    return f"postgresql://{host}/{name}"


def _has(connection: "Connection[tuple[Any, ...]]", name: str) -> bool:
    """Whether there is a table, or an index, of that name."""
    found = connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()
    return found is not None and found[0] is not None


def _may_write(connection: "Connection[tuple[Any, ...]]") -> bool:
    """Whether this role writes the tables itself; others charge through functions."""
    query = "SELECT has_table_privilege('dampen_entry', 'INSERT')"
    found = connection.execute(query).fetchone()
    return found is not None and bool(found[0])


def _create_functions(connection: "Connection[tuple[Any, ...]]") -> None:
    found = connection.execute("SELECT current_schema()").fetchone()
    assert found is not None
    connection.execute(sql.SQL(FUNCTIONS).format(schema=sql.Identifier(found[0])))


def _create(connection: "Connection[tuple[Any, ...]]", head: Head) -> None:
    connection.execute(_TABLES + _INDEXES)
    _create_functions(connection)
    connection.execute("INSERT INTO dampen_head VALUES (1, %s, %s)", (head.seq, head.digest))


def _insert(connection: "Connection[tuple[Any, ...]]", rows: Sequence[Row]) -> None:
    for i in range(0, len(rows), ROWS):
        some = rows[i : i + ROWS]
        values = sql.SQL(", ").join([sql.SQL("(%s, %s, %s, %s, %s)")] * len(some))
        flat = [field for row in some for field in row]
        connection.execute(sql.SQL("INSERT INTO dampen_entry VALUES ") + values, flat)
    last = rows[-1]
    connection.execute("UPDATE dampen_head SET seq = %s, digest = %s", (last.seq, last.digest))


def _put_aside(connection: "Connection[tuple[Any, ...]]") -> None:
    """Renames the tables: nothing is ever deleted."""
    mark = datetime.now(UTC).strftime("before_%Y%m%d%H%M%S%f")
    for kind, name in (
        ("TABLE", "dampen_entry"),
        ("TABLE", "dampen_head"),
        ("INDEX", "dampen_entry_pkey"),
        ("INDEX", "dampen_head_pkey"),
        ("INDEX", "dampen_entry_answer"),
        ("INDEX", "dampen_entry_checkpoint"),
    ):
        rename = sql.SQL(f"ALTER {kind} IF EXISTS {{}} RENAME TO {{}}")
        connection.execute(rename.format(sql.Identifier(name), sql.Identifier(f"{name}_{mark}")))


def _check_server(connection: "Connection[tuple[Any, ...]]") -> None:
    setting = connection.execute("SHOW fsync").fetchone()
    connection.rollback()
    if setting is not None and setting[0] != "on":
        raise BudgetError(
            "The server of the ledger does not synchronise to disk (fsync = off), so charges could "
            "be lost. Nothing was charged."
        )


def _roll_back(connection: "Connection[tuple[Any, ...]]") -> None:
    with suppress(psycopg.Error):
        connection.rollback()


def _explanation(error: psycopg.Error, place: str) -> BudgetError:
    match error:
        case errors.UndefinedTable():
            return BudgetError(
                f"There is no ledger {place}. Create a budget first: "
                "dampen budget create NAME --epsilon E --neighbours RELATION."
            )
        case errors.LockNotAvailable():
            why = f"another process has held it for {sqlite_errors.PATIENCE_SECONDS:.0f} seconds"
        case errors.DiskFull():
            why = "the disk is full"
        case errors.InsufficientPrivilege() if "may only charge" in str(error):
            why = "this role may only charge; this is an act of the curator"
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            why = "it is read-only"
        case psycopg.OperationalError():
            why = "the server does not answer"
        case _:
            why = f"the server reports {type(error).__name__}"
    return BudgetError(f"The ledger {place} cannot be used: {why}. Nothing was charged.")
