"""Where the rows of a data set are: a file, a table of PostgreSQL, a table of Spark.

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
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from dampen.data.open import located, open_table
from dampen.data.postgres import is_address, shown
from dampen.errors import ParameterError, raise_alone
from dampen.schema.schema import Schema

__all__ = ["FileSource", "PostgresSource", "Source", "SparkSource", "source_of"]

Data: TypeAlias = tuple[Any, str | None]
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
        """What analysts are told the name of the data set for."""
        ...

    def data(self) -> Data:
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

    def data(self) -> Data:
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

    def data(self) -> Data:
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

    def data(self) -> Data:
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
