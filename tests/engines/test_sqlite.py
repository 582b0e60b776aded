"""SQLite: a column may hold anything, and what it holds is taken as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dampen
from dampen.data import open_table
from dampen.errors import DataError, ParameterError
from dampen.questions.frequency import MostFrequent

VALUE = {"p": 50, "lower": 0, "upper": 9, "step": 1, "epsilon": "1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table pay (pay integer, name text, any, 'double' double)")
        rows = [(i % 10, f"n{i % 3}", i % 2, i / 7) for i in range(100)]
        connection.executemany("insert into pay values (?, ?, ?, ?)", rows)
        connection.execute("create table mixed (pay integer)")
        connection.executemany("insert into mixed values (?)", [(1,), ("secret",)])
        connection.execute("create table gaps (pay real)")
        connection.executemany("insert into gaps values (?)", [(1.5,), (None,)])
        connection.execute('create view "select" as select pay from pay where pay < 5')
    return path


def test_affinities_are_public_types(path: Path) -> None:
    fields = open_table(path, table="pay").fields
    assert [field.name for field in fields] == ["pay", "name", "any", "double"]
    assert [field.holds for field in fields] == ["numbers", "labels", None, "numbers"]
    with pytest.raises(ParameterError, match="Column 'name' is not numeric"):
        dampen.percentile(path, "name", **VALUE, table="pay")


def test_views_and_text(path: Path) -> None:
    assert dampen.percentile(path, "pay", **VALUE, table="select").answer in range(10)
    opened = open_table(path, table="pay")
    assert MostFrequent(["n0", "n1", "n2"]).opened_counts(opened, "name").tolist() == [
        34,
        33,
        33,
        0,
    ]
    assert MostFrequent(["0", "1"]).opened_counts(opened, "any").tolist() == [50, 50, 0]
    assert MostFrequent([0, 1]).opened_counts(opened, "any").tolist() == [50, 50, 0]


def test_cells_without_a_number_are_missing(path: Path) -> None:
    for table in ("mixed", "gaps"):
        assert dampen.percentile(path, "pay", **VALUE, table=table).answer in range(10)


def test_a_table_that_is_gone_and_a_torn_file(path: Path) -> None:
    with pytest.raises(ParameterError, match=r"table=, one of .*gaps, mixed, pay, select"):
        open_table(path)
    opened = open_table(path, table="gaps")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("drop table gaps")
    with pytest.raises(DataError, match="the engine failed"):
        list(opened.batches({"pay": "numbers"}))
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 5000)
    with pytest.raises(ParameterError, match="not a whole SQLite file"):
        open_table(path, table="pay")
