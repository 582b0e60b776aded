"""The configuration of `dampen serve`: data sets, their public facts and settings.

    [service]
    state = "service.sqlite3"      # tokens and incidents, relative to this file
    hosts = ["dampen.example.org"] # names under which it is reached, besides this machine's own
    step = 0.25                    # seconds: answers leave at multiples of it
    patience = 60                  # seconds: an answer that takes longer is fetched later
    requests-per-minute = 240      # of one analyst
    waiting = 1000                 # questions that wait; more are turned away
    waiting-each = 100             # the same of one analyst
    workers = 16                   # questions worked on at a time; a quarter may be long
    register-from = ["data"]       # directories whose files curators may register on the page
    show-check = "local"           # who sees exact counts: curators on this machine; or "always"

**Where the rows of a data set are** (`Source`): a file, a table of PostgreSQL, a table of Spark.

    files = ["salaries.csv"]                              # or a DuckDB or SQLite file
    tables = ["postgresql://reader@hr.example.org/staff"] # psycopg: dampen[postgres]
    tables = ["sc://spark.example.org:15002"]             # Spark Connect: dampen[spark]
    tables = ["spark://spark.example.org:7077"]           # a session of Spark's own; or "local[2]"

The table itself is named by `table` among the public facts.  A source knows what a release takes,
what to write in the place of its address where analysts read, and whether rows may have changed:
a file tells, a server does not; that of PostgreSQL is at least asked for its columns every time,
and that of Spark Connect whether it is there.
"""

import os
import socket
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from dampen.data.open import located, open_table
from dampen.data.postgres import is_address, shown
from dampen.errors import ParameterError, did_you_mean, raise_alone
from dampen.ledger import DataSet, Ledger, default_place
from dampen.ledger.policy import policy_of
from dampen.schema.grammar import Data, File, Place, load_file, read_table, with_nodes
from dampen.schema.schema import Schema
from dampen.service.questions import possible_questions

__all__ = [
    "Configuration",
    "FileSource",
    "PostgresSource",
    "Served",
    "Settings",
    "Source",
    "SparkSource",
    "configuration_of",
    "load_configuration",
    "source_of",
]

Located: TypeAlias = tuple[Any, str | None]
CONNECT = "sc://"
CONNECT_PORT = 15002
SECONDS_TO_CONNECT = 5
SPARK = (CONNECT, "spark://", "local", "yarn", "k8s://")


class Source(Protocol):
    """Where rows are, before anything is opened."""

    @property
    def place(self) -> str:
        """What the ledger records, and the policy compares."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that analysts see replaced by the name of the data set."""
        ...

    def data(self) -> Located:
        """What a release takes: the data, and `table=` for it."""
        ...

    def state(self) -> Hashable:
        """Another one if the rows may be others."""
        ...


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file; a database file has tables."""

    path: Path
    table: str | None = None
    encoding: str = ""
    decimal: str = "."

    @property
    def place(self) -> str:
        return str(self.path.resolve())

    @property
    def secrets(self) -> tuple[str, ...]:
        return (str(self.path),)

    def data(self) -> Located:
        return located(self.path, encoding=self.encoding, decimal=self.decimal), self.table

    def state(self) -> Hashable:
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise ParameterError(f"Cannot read {self.path}: {error.strerror}.") from None
        return found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """A table, or a view, of PostgreSQL."""

    address: str
    table: str | None = None

    @property
    def place(self) -> str:
        return shown(self.address)

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.address, shown(self.address)

    def data(self) -> Located:
        return self.address, self.table

    def state(self) -> Hashable:
        """By the catalogue: a server that is down, or a table that is gone, must cost nothing."""
        opened = open_table(self.address, table=self.table)
        return tuple((field.name, field.type) for field in opened.fields)


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A table that a session of Spark knows: of its catalogue, or such as parquet.`/data/rows`."""

    master: str
    table: str | None = None
    _frames: list[Any] = field(default_factory=list, repr=False, compare=False)
    _mutex: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def place(self) -> str:
        return f"{self.master} {self.table}"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.master,)

    def data(self) -> Located:
        self._require_server()
        with self._mutex:
            if not self._frames:
                self._frames.append(_spark_table(self.master, self.table))
            return self._frames[0], None

    def state(self) -> Hashable:
        self._require_server()
        return None

    def _require_server(self) -> None:
        """A server of Spark Connect that is down must cost nothing: a client tries for minutes."""
        if not self.master.startswith(CONNECT):
            return
        found = urlsplit(self.master)
        try:
            where = found.hostname or "", found.port or CONNECT_PORT
            socket.create_connection(where, timeout=SECONDS_TO_CONNECT).close()
        except (OSError, ValueError):
            raise_alone(_not_opened(self.master, self.table))


def source_of(
    files: tuple[Path, ...], tables: tuple[str, ...], table: str | None, where: str, schema: Schema
) -> Source:
    """The one source of a data set; nothing is opened.

    Raises:
        ParameterError: if there are several, or its kind is not known.
    """
    if len(files) + len(tables) != 1:
        raise ParameterError(f"Expected one of files, or one of tables, beside {where}.")
    if files:
        return FileSource(files[0], table, schema.encoding, schema.decimal)
    if is_address(tables[0]):
        return PostgresSource(tables[0], table)
    if not tables[0].startswith(SPARK):
        raise ParameterError(
            "Expected tables = ['postgresql://...'], ['sc://...'] or a master of Spark beside "
            f"{where}."
        )
    if table is None:
        raise ParameterError(f"Expected table, the name of a table of Spark, in {where}.")
    return SparkSource(tables[0], table)


def _spark_table(master: str, table: str | None) -> Any:
    """A DataFrame that was analysed and not run."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError(
            "Expected the package pyspark, to read tables of Spark. Install dampen[spark]."
        ) from None
    try:
        builder = SparkSession.builder.appName("dampen")
        builder = builder.remote(master) if master.startswith(CONNECT) else builder.master(master)
        frame = builder.getOrCreate().table(str(table))
        frame.schema  # noqa: B018  Spark Connect analyses a query when it is first asked about
    except Exception:
        raise_alone(_not_opened(master, table))
    return frame


def _not_opened(master: str, table: str | None) -> ParameterError:
    return ParameterError(
        f"Cannot open the table {table!r} of Spark at {master}: it does not answer, or has no such "
        "table."
    )


STATE = "service.sqlite3"
LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service behaves; all of it public."""

    state: Path = Path(STATE)
    hosts: tuple[str, ...] = ()
    step: float = 0.25
    patience: float = 60
    requests_per_minute: int = 240
    waiting: int = 1000
    waiting_each: int = 100
    workers: int = 16
    register_from: tuple[Path, ...] = ()
    show_check: Literal["local", "always", "never"] = "local"

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not 0 < value < LARGEST:
                key = each.name.replace("_", "-")
                raise ParameterError(f"Expected {key} to be a number above 0 and below 10^6.")


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A data set that can be asked, by all analysts or by some; `digest` is that of its schema."""

    name: str
    budgets: tuple[str, ...]
    schema: Schema
    digest: str
    source: Source
    questions: tuple[str, ...]
    analysts: tuple[str, ...] | None = None
    sample: Path | None = None

    def shown(self) -> dict[str, object]:
        """The public facts as JSON, for analysts."""
        asked = {"questions": list(self.questions), "sample": self.sample is not None}
        return self.schema.shown() | asked


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of a service, before any data is opened.

    Attributes:
        source: the file.
        settings: of the service.
        sets: the data sets that are served, by name.
        ledger: of their budgets.
        unserved: the names of data sets without public facts, which nobody can ask about.
    """

    source: Path
    settings: Settings
    sets: Mapping[str, Served]
    ledger: Ledger
    unserved: tuple[str, ...] = ()


def load_configuration(path: str | Path) -> Configuration:
    """Reads and checks a `dampen.toml` for a service; no data is opened.

    Raises:
        ParameterError: if it cannot be read, or says what no configuration can say.
    """
    source = Path(path)
    return configuration_of(load_file(source), source)


def configuration_of(file: File, source: Path) -> Configuration:
    """The configuration in a `dampen.toml` that was read from `source`; no data is opened.

    Raises:
        ParameterError: if it says what no configuration can say.
    """
    policy = policy_of(file, source)
    settings = read_table(Settings, file.service, Place(str(source), "service"))
    served: dict[str, Served] = {}
    unserved: list[str] = []
    for registered, data in zip(policy.sets, file.data, strict=True):
        if not data.schema.columns and data.schema.graph is None:
            unserved.append(data.name)
            continue
        if data.name in served:
            raise ParameterError(
                f"The name {data.name!r} occurs twice in {source}. Choose another."
            )
        served[data.name] = _served(registered, data, source)
    if not served and not settings.register_from:
        raise ParameterError(
            f"Expected a data set with [data.columns] or [data.graph] in {source}, or "
            "register-from in [service] to register one on the page."
        )
    base = source.resolve().parent
    open_to = tuple(base / each for each in settings.register_from)
    settings = replace(settings, state=base / settings.state, register_from=open_to)
    ledger = Ledger(policy.ledger or default_place())
    return Configuration(source, settings, served, ledger, tuple(unserved))


def _served(registered: DataSet, data: Data, source: Path) -> Served:
    where = f"[[data]] of {data.name!r} in {source}"
    base = source.resolve().parent
    if "/" in data.name or not data.name.isprintable():
        raise ParameterError(f"Expected a name without '/' in {where}.")
    schema = with_nodes(data.schema, base)
    return Served(
        data.name,
        registered.budgets,
        schema,
        schema.digest(),
        source_of(registered.files, registered.tables, data.table, where, schema),
        _questions(schema, data.questions, where),
        data.analysts,
        None if data.sample is None else base / data.sample,
    )


def _questions(schema: Schema, wanted: tuple[str, ...] | None, where: str) -> tuple[str, ...]:
    possible = possible_questions(schema)
    for name in wanted or ():
        if name not in possible:
            raise ParameterError(
                f"Expected questions that the facts are enough for, {', '.join(possible)}, in "
                f"{where}, got {name!r}.{did_you_mean(name, possible)}"
            )
    return possible if wanted is None else wanted
