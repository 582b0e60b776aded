"""Where a table may live: each holder takes a pyarrow table and gives what a user would pass.

One call gives the first argument of a release and the keywords that go with it.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dampen.data.duckdb_tables import quoted

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
    "parquet": parquet_files,
}
