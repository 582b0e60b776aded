"""A log in PostgreSQL: one ledger for many machines.  Needs psycopg 3, `dampen[postgres]`.

Writers queue at the row of the head, which each locks before it reads; a commit returns when the
server has synchronised its log, whatever the role's default says.  A server that does not
synchronise at all (`fsync = off`) is refused.

Everything lies in the first schema of the search path.  The curator's role owns it: the tables
`dampen_entry` and `dampen_head`, whose triggers refuse every change of an entry, and
`dampen_budget`, what the entries of each budget add up to.

**Powers of analysts.**  Their roles read the view `dampen_log`, in which the answers of other roles
are withheld, and write through three functions that run with the owner's rights:

- `dampen_lock` queues for the head.
- `dampen_append` accepts charges that their budget can pay, refusals, up to a number a day, and
  answers to charges of the same role, if they follow the head, and nothing that another reader of
  the log could not read.  A query that is marked as one of a service is refused: the service would
  give its answer to everyone who asks the same.  The function knows limits of ε, ρ and δ, the
  largest charge and whether a budget is open; it does not know who an analyst is, so caps are the
  client's to check.
- `dampen_evict` ends sessions of other roles that have kept the head locked for seconds.  An honest
  client needs milliseconds.  The owner needs `pg_signal_backend` and `pg_read_all_stats` for it.

The sums of `dampen_budget` are rounded down and limits up, by less than 10^-190 each (ρ by a
billionth), so the server never refuses what the client, whose sums are exact, grants.

Keep a head elsewhere, or set a witness: a server that was restored to an earlier time is found by
these alone.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, LiteralString

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import storage
from dampen.ledger.log import START, WITHHELD, Head, Row, damaged

try:
    import psycopg
    from psycopg import Connection, errors, sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise ParameterError(
        "Expected psycopg for a ledger on PostgreSQL: pip install 'dampen[postgres]'."
    ) from None

__all__ = ["PostgresStorage", "PostgresWitness", "holds_password"]

ROWS = 500
"""Inserted by one statement."""

SECONDS_OF_LOCK = 6.0
"""How long a writer waits for the head before it has those evicted who keep it.

It is more than the 5 seconds of `dampen_evict`.  So a session that keeps the head is evicted at
the first try; and sessions that take turns, none for longer, cannot keep a writer from its place in
the queue.
"""

# The column `role` is no part of the chain: it says which role reads an answer.
_TABLES = """
CREATE TABLE dampen_head (
  one integer PRIMARY KEY CHECK (one = 1), seq bigint NOT NULL, digest text NOT NULL
);
CREATE TABLE dampen_entry (
  seq bigint PRIMARY KEY,
  kind text NOT NULL,
  budget text NOT NULL,
  content text NOT NULL,
  digest text NOT NULL,
  role name DEFAULT session_user
);
CREATE OR REPLACE FUNCTION dampen_append_only() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dampen_entry
  FOR EACH STATEMENT EXECUTE FUNCTION dampen_append_only();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON dampen_head
  FOR EACH STATEMENT EXECUTE FUNCTION dampen_append_only();
"""

# A ledger of dampen 0.2 has the tables alone; nobody but the curator reads its answers.
_UPGRADE = """
LOCK TABLE dampen_head IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE dampen_entry ADD COLUMN IF NOT EXISTS role name;
ALTER TABLE dampen_entry ALTER COLUMN role SET DEFAULT session_user;
"""

_INDEXES = """
CREATE INDEX IF NOT EXISTS dampen_entry_answer
  ON dampen_entry (split_part(substr(content, 12, 20), '-', 1)) WHERE kind = 'answer';
CREATE INDEX IF NOT EXISTS dampen_entry_checkpoint
  ON dampen_entry (seq) WHERE kind = 'checkpoint';
"""

# {schema} is the schema of the tables.  pg_catalog comes first and pg_temp last, so that nothing
# of a caller's is mistaken for a function of the server or for one of the tables.
_POWERS = r"""
CREATE TABLE dampen_budget (
  budget text PRIMARY KEY,
  open boolean NOT NULL,
  epsilon numeric NOT NULL,
  delta numeric NOT NULL,
  rho numeric,
  largest numeric,
  spent_epsilon numeric DEFAULT 0,
  spent_delta numeric NOT NULL DEFAULT 0,
  spent_rho numeric NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS dampen_refused (
  role name, day date, count integer, PRIMARY KEY (role, day)
);

CREATE OR REPLACE FUNCTION dampen_amount(said text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN coalesce(said, '') = '' THEN NULL
    WHEN position('/' IN said) = 0 THEN said::numeric
    ELSE div(split_part(said, '/', 1)::numeric * ('1e200')::numeric,
             split_part(said, '/', 2)::numeric) * ('1e-200')::numeric
  END
$$;

CREATE OR REPLACE FUNCTION dampen_add_up(kind text, key text, content text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
  said json;
BEGIN
  IF kind NOT IN ('create', 'raise', 'charge', 'freeze', 'close', 'thaw', 'restore') THEN
    RETURN;
  END IF;
  -- The server reads no JSON with a zero byte.  What replaces it is valid after any character.
  said := replace(content, '\u0000', '\\n')::json;
  IF kind = 'create' THEN
    INSERT INTO dampen_budget VALUES (
      key, true, dampen_amount(said ->> 'epsilon'),
      coalesce(dampen_amount(said ->> 'delta'), 0),
      dampen_amount(said ->> 'rho'), dampen_amount(said ->> 'largest'));
  ELSIF kind = 'raise' THEN
    UPDATE dampen_budget SET epsilon = dampen_amount(said ->> 'epsilon'),
      rho = dampen_amount(said ->> 'rho') WHERE budget = key;
  ELSIF kind = 'charge' OR kind = 'thaw' AND said ->> 'rho' <> '' THEN
    UPDATE dampen_budget SET open = open OR kind = 'thaw',
      spent_epsilon = spent_epsilon + dampen_amount(said ->> 'epsilon'),
      spent_delta = spent_delta + coalesce(dampen_amount(said ->> 'delta'), 0),
      spent_rho = spent_rho + dampen_amount(said ->> 'rho') WHERE budget = key;
  ELSIF kind = 'restore' THEN
    UPDATE dampen_budget SET open = open AND NOT (said ->> 'lost')::boolean;
  ELSE
    UPDATE dampen_budget SET open = (kind = 'thaw') WHERE budget = key;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION dampen_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
  PERFORM dampen_add_up(NEW.kind, NEW.budget, NEW.content);
  RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS add_up ON dampen_entry;
CREATE TRIGGER add_up AFTER INSERT ON dampen_entry FOR EACH ROW EXECUTE FUNCTION dampen_added();
SELECT count(dampen_add_up(kind, budget, content)) FROM
  (SELECT * FROM dampen_entry ORDER BY seq) AS entries;

CREATE OR REPLACE VIEW dampen_log WITH (security_barrier) AS
  SELECT seq, kind, budget,
    CASE WHEN kind <> 'answer' OR role = session_user THEN content END AS content,
    digest, split_part(substr(content, 12, 20), '-', 1) AS charge
  FROM dampen_entry;

CREATE OR REPLACE FUNCTION dampen_lock() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
  PERFORM 1 FROM dampen_head FOR UPDATE;
END $$;

CREATE OR REPLACE FUNCTION dampen_evict() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
  RETURN (
    SELECT count(pg_terminate_backend(held.pid)) FROM pg_locks AS held
      JOIN pg_stat_activity AS session ON session.pid = held.pid
      WHERE held.relation = 'dampen_head'::regclass AND session.datname = current_database()
        AND held.granted AND held.mode IN ('RowShareLock', 'RowExclusiveLock')
        AND session.usename <> current_user
        AND session.wait_event_type IS DISTINCT FROM 'Lock'
        AND session.xact_start < clock_timestamp() - interval '5 seconds');
EXCEPTION WHEN insufficient_privilege THEN
  RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION dampen_says(content text, names text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  -- Reading every value as text refuses what is no Unicode.
  SELECT count(*) = count(DISTINCT key) AND bool_and(key = ANY (names) AND value IS NOT NULL
      AND json_typeof(content::json -> key) = CASE key
        WHEN 'leaks' THEN 'array' WHEN 'repeats' THEN 'number' ELSE 'string' END)
    FROM json_each_text(content::json)
$$;

CREATE OR REPLACE FUNCTION dampen_pays(key text, said json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp AS $$
  SELECT coalesce((
    SELECT open AND coalesce(e <= largest + tiny, true) AND spent_delta + d <= delta + tiny AND (
        coalesce(spent_epsilon + e <= epsilon + tiny, false)
        OR coalesce(spent_rho + r <= rho * 1.000000001 + tiny, false))
      FROM dampen_budget, (SELECT ('1e-190')::numeric AS tiny,
        dampen_amount(said ->> 'epsilon') AS e,
        coalesce(dampen_amount(said ->> 'delta'), 0) AS d,
        dampen_amount(said ->> 'rho') AS r) AS asked
      WHERE budget = key), false)
$$;

CREATE OR REPLACE FUNCTION dampen_append(
  seqs bigint[], kinds text[], budgets text[], contents text[], digests text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
  digits CONSTANT text := '[0-9]{{1,200}}';
  amount CONSTANT text := '^(?=[0-9.]*[1-9])(' || digits || '(\.' || digits || ')?|' || digits
    || '/[1-9][0-9]{{0,199}})$';
  moment CONSTANT text := '^[0-9]{{4}}(-[0-9]{{2}}){{2}}T([0-9]{{2}}:){{2}}[0-9]{{2}}'
    || '(\.[0-9]{{1,6}})?\+00:00$';
  last bigint;
  before text;
  said json;
  paid text;
  refused integer;
BEGIN
  SELECT seq, digest INTO last, before FROM dampen_head FOR UPDATE;
  FOR i IN 1 .. coalesce(array_length(seqs, 1), 0) LOOP
    IF kinds[i] IS NULL OR kinds[i] NOT IN ('charge', 'refusal', 'answer') THEN
      RAISE insufficient_privilege USING MESSAGE = 'this role may only charge';
    END IF;
    IF seqs[i] IS DISTINCT FROM last + 1 OR digests[i] IS DISTINCT FROM encode(sha256(convert_to(
      concat_ws(E'\n', before, seqs[i], kinds[i], budgets[i], contents[i]), 'UTF8')), 'hex')
    THEN
      RAISE check_violation USING MESSAGE = 'the entry does not follow the head';
    END IF;
    said := contents[i]::json;
    IF kinds[i] = 'answer' THEN
      paid := said ->> 'charge';
      IF NOT coalesce(budgets[i] = '' AND length(contents[i]) < 100000000
        AND dampen_says(contents[i], ARRAY['charge', 'answer', 'salt'])
        AND paid ~ '^[0-9]{{1,18}}-[0-9a-f]{{16}}$' AND said ->> 'answer' IS NOT NULL
        AND starts_with(contents[i], '{{"charge":"' || paid || '","answer":"')
        AND EXISTS (
          SELECT 1 FROM dampen_entry WHERE kind = 'charge' AND role = session_user
            AND seq || '-' || left(digest, 16) = paid AND seq = split_part(paid, '-', 1)::bigint)
        AND NOT EXISTS (
          SELECT 1 FROM dampen_entry WHERE kind = 'answer'
            AND split_part(substr(content, 12, 20), '-', 1) = split_part(paid, '-', 1)), false)
      THEN
        RAISE check_violation USING MESSAGE = 'not the one answer to a charge of this role';
      END IF;
    ELSIF NOT coalesce(
      EXISTS (SELECT 1 FROM dampen_budget WHERE budget = budgets[i])
      AND length(contents[i]) < 100000
      AND dampen_says(contents[i], ARRAY['epsilon', 'rho', 'delta', 'neighbours', 'query',
        'mechanism', 'analyst', 'dataset', 'leaks', 'time', 'version', 'converted', 'why', 'rule',
        'repeats', 'unit', 'losses'])
      AND length(coalesce(said ->> 'unit', '')) < 10000
      AND length(coalesce(said ->> 'losses', '')) < 10000
      AND said ->> 'rho' ~ amount AND (said ->> 'epsilon' = '' OR said ->> 'epsilon' ~ amount)
      AND coalesce(said ->> 'delta' ~ amount, true)
      AND said ->> 'neighbours' IN (
        'replace-one', 'add-remove-row', 'add-remove-edge', 'add-remove-unit')
      AND said ->> 'query' !~ ' #[0-9a-f]{{32}}$' AND said -> 'mechanism' IS NOT NULL
      AND said -> 'analyst' IS NOT NULL AND said -> 'dataset' IS NOT NULL
      AND said -> 'version' IS NOT NULL AND said -> 'leaks' IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM json_array_elements(said -> 'leaks') AS leak
        WHERE json_typeof(leak) <> 'string' OR leak #>> '{{}}' IS NULL)
      AND said ->> 'time' ~ moment AND abs(extract(epoch FROM
        (said ->> 'time')::timestamptz - clock_timestamp())) < 2 * 24 * 3600
      AND coalesce(said ->> 'repeats', '0') ~ '^[0-9]{{1,9}}$', false)
    THEN
      RAISE check_violation USING MESSAGE = 'not a charge';
    ELSIF kinds[i] = 'charge' AND NOT dampen_pays(budgets[i], said) THEN
      RAISE check_violation USING MESSAGE = 'the budget does not pay this';
    ELSIF kinds[i] = 'refusal' THEN
      INSERT INTO dampen_refused AS today VALUES (session_user, current_date, 1)
        ON CONFLICT (role, day) DO UPDATE SET count = today.count + 1
        RETURNING today.count INTO refused;
      IF refused > 2000 THEN
        RAISE check_violation USING MESSAGE = 'too many refusals of this role today';
      END IF;
    END IF;
    INSERT INTO dampen_entry VALUES (seqs[i], kinds[i], budgets[i], contents[i], digests[i]);
    last := seqs[i];
    before := digests[i];
  END LOOP;
  UPDATE dampen_head SET seq = last, digest = before;
END $$;

REVOKE ALL ON FUNCTION dampen_lock, dampen_append, dampen_evict, dampen_add_up, dampen_added,
  dampen_pays, dampen_says, dampen_amount FROM PUBLIC;
"""

_WITNESS = """
CREATE TABLE dampen_witness (ledger text PRIMARY KEY, seq bigint NOT NULL, digest text NOT NULL)
"""

_LOCK = "SELECT dampen_lock()"
_COLUMNS = "SELECT seq, kind, budget, content, digest FROM "


@dataclass(frozen=True, slots=True)
class _Powers:
    """What the role of a connection may do.

    Attributes:
        writes: whether it writes the tables itself; others charge through functions.
        source: what it reads entries from.
        answers: the condition for the answers to a charge.
    """

    writes: bool
    source: LiteralString
    answers: LiteralString

    @classmethod
    def of(cls, connection: "Connection[tuple[Any, ...]]") -> "_Powers":
        query = (
            "SELECT has_table_privilege('dampen_entry', 'INSERT'), "
            "has_table_privilege('dampen_entry', 'SELECT')"
        )
        found = connection.execute(query).fetchone()
        writes, reads = (False, False) if found is None else found
        if reads:
            return cls(writes, "dampen_entry", "split_part(substr(content, 12, 20), '-', 1)")
        return cls(writes, "dampen_log", "charge")


@dataclass(slots=True)
class _View:
    """A transaction on an open connection."""

    connection: "Connection[tuple[Any, ...]]"
    fresh: bool
    powers: _Powers
    floor: Head | None = None
    appended: bool = False

    @property
    def curator(self) -> bool:
        return self.powers.writes

    def head(self) -> Head:
        found = self.connection.execute("SELECT seq, digest FROM dampen_head").fetchall()
        if len(found) != 1:
            raise damaged("its head cannot be read")
        return Head(*found[0])

    def rows(self, after: int) -> Iterator[Row]:
        with self.connection.cursor(name="dampen_rows") as cursor:
            cursor.itersize = 2000
            cursor.execute(self._query("seq > %s ORDER BY seq"), (after,))
            yield from map(_row, cursor)

    def row(self, seq: int) -> Row | None:
        return self._one("seq = %s", seq)

    def answers(self, charge: int) -> Iterator[Row]:
        # Its content begins with {"charge":"42-0f...", so the number begins at character 12.
        condition: LiteralString = f"kind = 'answer' AND {self.powers.answers} = %s ORDER BY seq"
        return map(_row, self.connection.execute(self._query(condition), (str(charge),)))

    def checkpoint(self, at_most: int) -> Row | None:
        return self._one("kind = 'checkpoint' AND seq <= %s ORDER BY seq DESC LIMIT 1", at_most)

    def append(self, rows: Sequence[Row]) -> None:
        if self.powers.writes:
            _insert(self.connection, rows)
        else:
            columns = [list(column) for column in zip(*rows, strict=True)]
            self.connection.execute("SELECT dampen_append(%s::bigint[], %s, %s, %s, %s)", columns)
        self.appended = True

    def _query(self, condition: LiteralString) -> LiteralString:
        return _COLUMNS + self.powers.source + " WHERE " + condition

    def _one(self, condition: LiteralString, number: int) -> Row | None:
        found = self.connection.execute(self._query(condition), (number,)).fetchone()
        return None if found is None else _row(found)


def _row(found: Sequence[Any]) -> Row:
    """An entry; of an answer that belongs to another role all but its content is known."""
    row = Row._make(found)
    return row if row.content is not None else row._replace(content=WITHHELD)


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
            while True:
                connection = self._connected()
                try:
                    _make(connection)
                    connection.commit()
                    return
                except (errors.UniqueViolation, errors.DuplicateTable):
                    connection.rollback()  # another process made it in the meantime

    @contextmanager
    def read(self) -> Iterator[_View]:
        with self._explained():
            connection = self._begun("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield _View(connection, self._fresh, _Powers.of(connection))
                self._fresh = False
            finally:
                _roll_back(connection)

    @contextmanager
    def write(self) -> Iterator[_View]:
        with self._explained():
            view = self._locked()
            try:
                yield view
                if view.appended:
                    self._commit(view.connection)
                self._fresh = False
            finally:
                _roll_back(view.connection)

    def _locked(self) -> _View:
        """A transaction that holds the head, after those who held it for too long were evicted."""
        deadline = time.monotonic() + storage.PATIENCE_SECONDS
        while True:
            connection = self._begun("SET LOCAL synchronous_commit = on")
            powers = _Powers.of(connection)
            patience = min(SECONDS_OF_LOCK, max(0.001, deadline - time.monotonic()))
            _limit_waiting(connection, patience)
            try:
                lock = "SELECT seq FROM dampen_head FOR UPDATE" if powers.writes else _LOCK
                connection.execute(lock)
                return _View(connection, self._fresh, powers)
            except errors.LockNotAvailable:
                _roll_back(connection)
                if time.monotonic() >= deadline:
                    raise
            with suppress(errors.UndefinedFunction, errors.InsufficientPrivilege):
                connection.execute("SELECT dampen_evict()")
            _roll_back(connection)

    def known(self) -> Head | None:
        return None

    def replace(self, rows: Iterable[Row]) -> None:
        with self._explained():
            connection = self._connected()
            connection.execute("SET LOCAL synchronous_commit = on")
            _limit_waiting(connection, storage.PATIENCE_SECONDS)
            if _has(connection, "dampen_head"):
                _put_aside(connection)
            _make(connection)
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
            seconds = int(storage.PATIENCE_SECONDS)
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
            if not _has(connection, "dampen_witness"):
                connection.execute(_WITNESS)
            insert = "INSERT INTO dampen_witness VALUES (%s, %s, %s) ON CONFLICT (ledger) DO "
            done = connection.execute(insert + otherwise, (self._ledger, *head))
            return done.rowcount == 1

    @contextmanager
    def _connected(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """A connection whose transaction is committed, synchronised, at the end."""
        seconds = int(storage.PATIENCE_SECONDS)
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


def _make(connection: "Connection[tuple[Any, ...]]") -> None:
    """Makes what is missing of a ledger; a ledger of dampen 0.2 keeps its entries."""
    if not _has(connection, "dampen_head"):
        connection.execute(_TABLES)
        connection.execute("INSERT INTO dampen_head VALUES (1, %s, %s)", START)
    elif _has(connection, "dampen_budget"):
        return
    else:
        connection.execute(_UPGRADE)
    connection.execute(_INDEXES)
    found = connection.execute("SELECT current_schema()").fetchone()
    assert found is not None
    connection.execute(sql.SQL(_POWERS).format(schema=sql.Identifier(found[0])))


def _limit_waiting(connection: "Connection[tuple[Any, ...]]", seconds: float) -> None:
    """Waits no longer for any lock, until the transaction ends."""
    text = f"{seconds * 1000:.0f}"
    connection.execute("SELECT set_config('lock_timeout', %s, true)", (text,))


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
        ("TABLE", "dampen_budget"),
        ("VIEW", "dampen_log"),
        ("INDEX", "dampen_entry_pkey"),
        ("INDEX", "dampen_head_pkey"),
        ("INDEX", "dampen_budget_pkey"),
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
            why = f"another process has held it for {storage.PATIENCE_SECONDS:.0f} seconds"
        case errors.DiskFull():
            why = "the disk is full"
        case errors.InsufficientPrivilege() if "may only charge" in str(error):
            why = "this role may only charge; use the curator's role for this"
        case errors.CheckViolation():
            why = f"the server refuses the entry: {error.diag.message_primary}"
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            why = "it is read-only"
        case psycopg.OperationalError():
            why = "the server does not answer"
        case _:
            why = f"the server reports {type(error).__name__}"
    return BudgetError(f"The ledger {place} cannot be used: {why}. Nothing was charged.")
