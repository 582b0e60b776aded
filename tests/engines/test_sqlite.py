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


DATED = [
    (0, "2020-01-01", "2020-01-01 10:00:00"),
    (1, " 2019-05-05", "2021-01-01T00:00:00Z"),
    (2, None, None),
    (3, 20200101, 1577836800),
    (4, "2020-02-31", ""),
]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("d >= '2020-01-01'", [0]),
        ("d < '2020-01-01'", [1]),
        ("d is missing", [2, 3, 4]),
        ("at > '2020-01-01T09:59:59'", [0, 1]),
        ("at > '2020-06-01'", [1]),
        ("at - d > 0", [0, 1]),
    ],
)
def test_dates_in_conditions_are_text(tmp_path: Path, where: str, rows: list[int]) -> None:
    """They were missing in every row; numbers are no dates, as in every other question."""
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (id integer, d date, at timestamp)")
        connection.executemany("insert into t values (?, ?, ?)", DATED)
    opened = open_table(path, where=where)
    kept = [int(each) for batch in opened.batches({"id": "any"}) for each in batch["id"]]
    assert kept == rows


def test_text_in_a_column_of_numbers_is_missing_in_every_question(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (x integer, y)")
        connection.executemany("insert into t (x) values (?)", [(1,), ("inf",), (None,), (3.5,)])
    [batch] = open_table(path).batches({"x": "numbers"})
    assert batch["x"] == (1, None, None, 3.5)
    kept = {
        where: sum(len(each["y"]) for each in open_table(path, where=where).batches({"y": "any"}))
        for where in ("x > 0", "x + 0 > 0", "x is missing")
    }
    assert kept == {"x > 0": 2, "x + 0 > 0": 2, "x is missing": 2}
