"""Where a table may live: each holder takes a pyarrow table and gives what a user would pass.

One call gives the first argument of a release and the keywords that go with it.
"""

import atexit
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dampen.data.duckdb import quoted
from ledger import servers

Hold = Callable[[pa.Table], tuple[Any, dict[str, Any]]]


@contextmanager
def relation(_: Path) -> Iterator[Hold]:
    with closing(duckdb.connect()) as connection:
        yield lambda table: (connection.from_arrow(table), {})


@contextmanager
def duckdb_file(folder: Path) -> Iterator[Hold]:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = fresh(folder, "duckdb")
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute("create table other (x integer)")
            connection.from_arrow(table).create("rows")
        return path, {"table": "rows"}

    yield hold


@contextmanager
def sqlite_file(folder: Path) -> Iterator[Hold]:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = fresh(folder, "db")
        names = ", ".join(map(quoted, table.column_names))
        marks = ", ".join("?" * len(table.column_names))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table other (x integer)")
            connection.execute(f"create table rows ({names})")
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            connection.executemany(f"insert into rows values ({marks})", rows)
        return path, {"table": "rows"}

    yield hold


@cache
def postgres_server() -> servers.Server:
    """A server that lives as long as the process of the tests."""
    pytest.importorskip("psycopg")
    if servers.program("initdb") is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl: apt-get install postgresql")
    living = servers.running()
    server = living.__enter__()
    atexit.register(living.__exit__, None, None, None)
    return server


@contextmanager
def postgres_table(_: Path) -> Iterator[Hold]:
    import psycopg

    address = postgres_server().new_schema()
    with psycopg.connect(address, autocommit=True) as connection:
        names = (f"rows{i}" for i in range(1000))

        def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
            name = next(names)
            columns = ", ".join(f"{quoted(c.name)} {postgres_type(c.type)}" for c in table.schema)
            connection.execute(f"create table {name} ({columns})")
            with connection.cursor().copy(f"copy {name} from stdin") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
            return address, {"table": name}

        yield hold


def postgres_type(kind: pa.DataType) -> str:
    known = {
        pa.int8(): "smallint", pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint",
        pa.uint8(): "smallint", pa.uint16(): "integer", pa.uint32(): "bigint",
        pa.uint64(): "numeric(20)", pa.float32(): "real", pa.float64(): "double precision",
        pa.decimal128(9, 2): "numeric(9, 2)", pa.bool_(): "boolean", pa.date32(): "date",
        pa.timestamp("us"): "timestamp", pa.null(): "integer",
    }  # fmt: skip
    return known.get(kind, "text")


@contextmanager
def parquet_files(folder: Path) -> Iterator[Hold]:
    def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
        path = fresh(folder, "rows")
        path.mkdir()
        half = len(table) // 2
        pq.write_table(table[:half], path / "1.parquet", row_group_size=100)
        pq.write_table(table[half:], path / "2.parquet", row_group_size=100)
        return str(path), {}

    yield hold


def fresh(folder: Path, suffix: str) -> Path:
    return folder / f"{len(list(folder.iterdir()))}.{suffix}"


HOLDERS = {
    "relation": relation,
    "duckdb": duckdb_file,
    "sqlite": sqlite_file,
    "postgresql": postgres_table,
    "parquet": parquet_files,
}
