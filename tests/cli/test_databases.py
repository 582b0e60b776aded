"""Tables of DuckDB and SQLite files, directories and patterns of Parquet on the command line."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = {"pay": [10, 20, 30, 40] * 50, "team": ["a", "b"] * 100, "a": [0, 1, 2, 3] * 50}
VALUE = ["--value", "pay", "-p", "50", "--upper", "50", "--step", "10"]


@pytest.fixture
def ask(dampen) -> Any:
    return lambda *words: dampen(*map(str, words), "--epsilon", "20", "--json")


@pytest.fixture(params=["duckdb", "sqlite"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "warehouse"
    if request.param == "duckdb":
        table = pa.table(ROWS)
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute("create table other (x integer)")
            connection.from_arrow(table).create("payroll")
    else:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table other (x integer)")
            connection.execute("create table payroll (pay integer, team text, a integer)")
            rows = zip(*ROWS.values(), strict=True)
            connection.executemany("insert into payroll values (?, ?, ?)", rows)
    return path


def test_a_table_of_a_database(warehouse: Path, ask) -> None:
    done = ask("percentile", warehouse, "--table", "payroll", *VALUE)
    assert json.loads(done.out)["answer"] in (20, 30)
    words = ["--by", "team", "--groups", "a,b", "--lower", "0", "--upper", "50", "--step", "10"]
    done = ask("top-groups", warehouse, "--table", "payroll", "--value", "pay", *words)
    assert done.code == 0, done.err
    assert json.loads(done.out)["answer"] == "b"
    ends = ["--source", "pay", "--target", "a", "--n", "50"]
    done = ask("top-k", warehouse, "--table", "payroll", *ends)
    assert done.code == 0, done.err
    assert json.loads(done.out)["answer"] in range(50)


def test_which_table_is_a_question_before_the_charge(warehouse: Path, ask) -> None:
    done = ask("percentile", warehouse, *VALUE)
    assert done.code == 2
    assert "--table" in done.err
    assert "payroll" in done.err
    done = ask("percentile", warehouse, "--table", "payrol", *VALUE)
    assert done.code == 2
    assert "Did you mean 'payroll'" in done.err


def test_directories_and_patterns_of_parquet(tmp_path: Path, ask) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(2):
        pq.write_table(pa.table(ROWS), folder / f"{i}.parquet")
    for path in (folder, folder / "*.parquet"):
        done = ask("percentile", path, *VALUE)
        assert json.loads(done.out)["answer"] in (20, 30)
    done = ask("percentile", folder, "--table", "payroll", *VALUE)
    assert done.code == 2
    assert "a DuckDB or SQLite file with --table" in done.err
