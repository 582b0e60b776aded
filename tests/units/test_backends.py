"""Weights are the same wherever the rows lie; and what a curator is told of units."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from dampen.data.open import open_table
from dampen.data.units import Shares, UnitTable
from dampen.questions.groups.problem import BestGroup

rng = np.random.default_rng(8)
N = 3000
IDS = rng.zipf(1.4, N) % 400
TEXT = [None if i == 7 else f"P{i}" for i in IDS]
FRAME = pd.DataFrame(
    {
        "patient": TEXT,
        "number": IDS,
        "ward": rng.choice(["A", "B", "C", "elsewhere"], N),
        "days": rng.integers(0, 30, N).astype(float),
    }
)
PROBLEM = BestGroup(groups=["A", "B", "C"], lower=0, upper=20, step=1)


def counted(data, unit="patient", **options):
    opened = UnitTable(open_table(data, **options), unit, Shares(840, cap=2), PROBLEM.grid.top + 2)
    return PROBLEM.opened_counts(opened, "days", "ward")


def by_definition(unit):
    """Person by person, row by row."""
    total = np.zeros((3, 21), dtype=np.int64)
    for _, rows in FRAME[FRAME.ward.isin(["A", "B", "C"])].groupby(unit):
        both = (rows.ward, rows.days)
        place = [(("A", "B", "C").index(w), int(min(d, 20))) for w, d in zip(*both, strict=True)]
        before = 0
        for i, cell in enumerate(sorted(place), 1):
            up_to = 840 * i // max(len(place), 2)
            total[cell] += up_to - before
            before = up_to
    return total


def in_file(tmp_path, kind):
    path = tmp_path / f"stays.{kind}"
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "parquet":
        FRAME.to_parquet(path)
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table stays as select * from FRAME")
    else:
        with sqlite3.connect(path) as connection:
            FRAME.to_sql("stays", connection, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "sqlite"])
@pytest.mark.parametrize("unit", ["patient", "number"])
def test_files_and_databases_count_as_memory_does(tmp_path, kind, unit):
    assert (counted(in_file(tmp_path, kind), unit) == by_definition(unit)).all()


@pytest.mark.parametrize(
    "data",
    [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy(), pa.Table.from_pandas(FRAME),
     FRAME.astype({"patient": "category"}), dict(FRAME.items())],
    ids=["pandas", "polars", "lazy", "arrow", "categories", "columns"],
)  # fmt: skip
def test_tables_in_memory_count_alike(data):
    assert (counted(data) == by_definition("patient")).all()


def test_the_check_reports_units():
    data = FRAME.assign(days=np.where(FRAME.patient.isna(), 29.0, FRAME.days % 10))
    facts = {"ward": ["A", "B", "C"], "days": dampen.number(0, 30)}
    found = dampen.dataset(data, unit="patient", columns=facts).check()
    sizes = FRAME.patient.value_counts()
    assert found.units.units == len(sizes)
    assert found.units.without == FRAME.patient.isna().sum()
    assert found.units.rows_per_unit[0] == sizes.quantile(0.5, interpolation="lower")
    assert found.units.rows_per_unit[3] == sizes.max()
    assert found.units.largest == sizes[sizes * 10 >= N].to_dict()
    text = str(found)
    assert "rows without a patient are special: days differs" in text
    assert "ward differs" not in text
    assert f"{sizes.index[0]} has {sizes.iloc[0] / N:.0%} of all rows" in text
    assert found.to_dict()["units"]["unit"] == "patient"
