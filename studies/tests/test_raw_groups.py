"""The committed table of the best group without a grid: its study, and what it shows."""

import csv
from pathlib import Path

import numpy as np

from dampen_studies.datasets.grouped import GROUPED
from dampen_studies.experiments.raw_groups import STUDY
from dampen_studies.study import text

TABLE = Path(__file__).parents[1] / "results" / "raw-groups.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open() as file:
        return list(csv.DictReader(file))


def test_the_table_is_of_this_study() -> None:
    found = rows()
    assert tuple(found[0]) == STUDY.columns
    assert {row["dataset"] for row in found} == set(GROUPED)
    again = [[text(value) for value in row] for c in STUDY.cells(True) for row in STUDY.compute(c)]
    known = {tuple(row.values())[:-1]: float(row["best"]) for row in found}
    for row in again:
        assert abs(known[tuple(row[:-1])] - float(row[-1])) < 1e-3


def test_no_range_is_as_good_as_the_true_one() -> None:
    def mean(way: str) -> float:
        return float(np.mean([float(row["best"]) for row in rows() if row["way"] == way]))

    assert mean("raw") > mean("points") - 0.005
    assert mean("wide") < mean("points") - 0.05
