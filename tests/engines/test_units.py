"""Engines add up the weights of persons as memory does: the same whole numbers, by one window."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import dampen
from dampen.data import units
from dampen.data.open import open_table
from dampen.data.units import People, Present, Shares, UnitTable
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.problem import BestGroup
from engines import holders, sparks

rng = np.random.default_rng(3)
N = 2000
NUMBERS = rng.zipf(1.3, N) % 300
ODD = ["", "o'hara", "Ünal", "ünal", "a\tb", "%s {x} $1", " x", "x", '"', "\\", "0", "00"]
IDS = [None if i % 41 == 0 else ODD[i] if i < len(ODD) else f"P{i}" for i in NUMBERS.tolist()]
WARDS = ["A", "B's", "c", "C"]
TABLE = pa.table(
    {
        "patient": pa.array(IDS, pa.string()),
        "number": pa.array([None if i == 5 else i - 100 for i in NUMBERS.tolist()], pa.int64()),
        "ward": pa.array(rng.choice([*WARDS, "elsewhere", None], N), pa.string()),
        "days": pa.array([None if i % 97 == 0 else i % 40 - 5 for i in range(N)], pa.int64()),
    }
)
PROBLEM = BestGroup(groups=WARDS, lower=0, upper=30, step=1)
WEIGHINGS = [
    Shares(840), Shares(840, cap=2), Shares(7), Shares(9, cap=3, distinct=True),
    Shares(12, cap=1, distinct=True, shared_by=2),
    Shares(840, within_lines=True), Shares(10, cap=5, within_lines=True), Present(),
]  # fmt: skip
HOLDERS = {
    "relation": holders.relation, "duckdb": holders.duckdb_file, "postgres": holders.postgres_table,
}  # fmt: skip


@contextmanager
def sqlite(folder):
    """With declared types: only then SQLite tells as much as the others."""
    import sqlite3

    def hold(table):
        path = folder / "typed.db"
        with sqlite3.connect(path) as connection:
            connection.execute(
                "create table stays (patient text, number integer, ward text, days integer)"
            )
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            connection.executemany("insert into stays values (?, ?, ?, ?)", rows)
        return path, {}

    yield hold


@pytest.fixture(scope="module", params=[*HOLDERS, "sqlite"])
def held(request, tmp_path_factory):
    make = HOLDERS.get(request.param, sqlite)
    with make(tmp_path_factory.mktemp(request.param)) as hold:
        data, options = hold(TABLE)
        yield open_table(data, **options)


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    """Also for tables so small that DuckDB would be read."""
    monkeypatch.setattr("dampen.data.duckdb.FEW_ROWS", -1)


def counted(opened, weighing, unit):
    table = UnitTable(opened, unit, weighing, PROBLEM.grid.top + 2)
    return PROBLEM.opened_counts(table, "days", "ward")


@pytest.mark.parametrize("weighing", WEIGHINGS, ids=repr)
@pytest.mark.parametrize("unit", ["patient", "number"])
def test_weights_are_those_of_memory(held, monkeypatch, weighing, unit):
    expected = counted(open_table(TABLE), weighing, unit)
    assert expected.sum() > 0
    monkeypatch.setattr(UnitTable, "_held", None)  # no row may be read
    assert (counted(held, weighing, unit) == expected).all()


def test_of_a_filtered_table_without_groups(held):
    of_rows = open_table(held, where="days >= 3")
    expected = open_table(TABLE, where="days >= 3")
    problem = MostFrequent(WARDS)
    made, wanted = (
        problem.opened_counts(UnitTable(each, "patient", Present()), "ward")
        for each in (of_rows, expected)
    )
    assert (made == wanted).all()


def test_no_rows_at_all(held):
    table = UnitTable(held, "patient", Shares(840))
    assert MostFrequent(["none", "such"]).opened_counts(table, "ward").sum() == 0


def test_cells_that_sql_cannot_compute_are_read(held, monkeypatch):
    """A function that is not by keys, a missing label that is a category, too many keys."""
    people = People("patient", Shares(840), 0)
    assert held.weights({"ward": "text"}, lambda _: np.zeros(1), 1, people) is None
    problem = MostFrequent([*WARDS, dampen.MISSING])
    made = problem.opened_counts(UnitTable(held, "patient", Present()), "ward")
    assert (
        made == problem.opened_counts(UnitTable(open_table(TABLE), "patient", Present()), "ward")
    ).all()
    for module in ("duckdb", "sql"):
        monkeypatch.setattr(f"dampen.data.{module}.MOST_KEYS", 3)
    expected = counted(open_table(TABLE), Shares(840), "patient")
    assert (counted(held, Shares(840), "patient") == expected).all()


def test_a_cell_of_another_type_in_sqlite_is_read(tmp_path):
    import sqlite3

    path = tmp_path / "mixed.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table stays (patient text, ward text)")
        connection.executemany(
            "insert into stays values (?, ?)", [("p", "A"), (b"q", "A"), ("r", b"A")]
        )
    opened = open_table(path)
    table = UnitTable(opened, "patient", Shares(840))
    assert MostFrequent(["A"]).opened_counts(table, "ward")[0] == 840


def test_large_files_are_read_in_parts(tmp_path, monkeypatch):
    """Of more rows than may be held a part of the persons at a time, with the same weights."""
    import pyarrow.parquet as pq

    path = tmp_path / "stays.parquet"
    pq.write_table(TABLE, path, row_group_size=300)
    expected = {
        unit: counted(open_table(path), Shares(840), unit) for unit in ("patient", "number")
    }
    parts = []
    once = UnitTable._held

    def watched(self, wanted, cell_of, part, of):
        ids, cells, rows = once(self, wanted, cell_of, part, of)
        parts.append((of, len(cells)))
        return ids, cells, rows

    monkeypatch.setattr(UnitTable, "_held", watched)
    monkeypatch.setattr(units, "MOST_HELD", 200)
    opened = open_table(path)
    streamed = SimpleNamespace(
        title="t", fields=opened.fields, declared=True, rows=None, ordered=True, streams=True,
        batches=opened.batches, counts=opened.counts,
    )  # fmt: skip
    for unit, wanted in expected.items():
        parts.clear()
        assert (counted(streamed, Shares(840), unit) == wanted).all()
        assert parts[0] == (1, 0)
        assert len(parts) == 1 + parts[1][0] > 5


@pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing())
@pytest.mark.filterwarnings(sparks.PANDAS)
@pytest.mark.xdist_group("spark")
def test_spark(monkeypatch):
    session = sparks.start("local[2]")
    kinds = "patient string, number bigint, ward string, days bigint"
    frame = session.createDataFrame(TABLE.to_pylist(), kinds)
    opened = open_table(frame)
    chosen = [Shares(7), Shares(10, cap=5, within_lines=True), Present()]
    expected = [counted(open_table(TABLE), each, "patient") for each in chosen]
    monkeypatch.setattr(UnitTable, "_held", None)
    for weighing, wanted in zip(chosen, expected, strict=True):
        assert (counted(opened, weighing, "patient") == wanted).all()
