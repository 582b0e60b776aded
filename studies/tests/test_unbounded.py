"""The committed table of percentiles without bounds: of the study as it is, and what it shows."""

import csv
from pathlib import Path

import numpy as np

from dampen_studies.experiments.unbounded import COLUMNS, DRAWN, STUDY
from dampen_studies.study import text

TABLE = Path(__file__).parents[1] / "results" / "unbounded.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open() as file:
        return list(csv.DictReader(file))


def test_the_table_is_of_this_study() -> None:
    found = rows()
    assert tuple(found[0]) == STUDY.columns
    assert {row["dataset"] for row in found} == {c.name for c in (*COLUMNS, *DRAWN)}
    assert len(COLUMNS) >= 20
    again = [[text(value) for value in row] for c in STUDY.cells(True) for row in STUDY.compute(c)]
    known = {tuple(row.values())[:6]: tuple(row.values()) for row in found}
    for row in again:
        assert np.allclose(np.array(known[tuple(row[:6])][8:], float), np.array(row[8:], float))


def test_most_columns_are_better_without_bounds() -> None:
    """In the mean over all cells with n ε min(q, 1 - q) >= 100."""
    strong = [row for row in rows() if float(row["strength"]) >= 100]
    means = {
        name: [
            np.mean([float(row[method]) for row in strong if row["dataset"] == name])
            for method in ("error", "linear")
        ]
        for name in {row["dataset"] for row in strong}
    }
    cells = [float(row["error"]) <= float(row["linear"]) for row in strong]
    shifted = [float(row["error"]) <= float(row["shifted"]) for row in strong]
    assert np.mean(cells) >= 0.86
    assert np.mean(shifted) >= 0.88
    better = [ours <= linear for ours, linear in means.values()]
    assert np.mean(better) >= 0.86
    ours, linear = np.mean(list(means.values()), axis=0)
    assert ours < linear / 5


def test_permute_and_flip_is_better_also_on_columns_held_out() -> None:
    strong = [row for row in rows() if float(row["strength"]) >= 100]
    for name in {row["dataset"] for row in strong}:
        here = [row for row in strong if row["dataset"] == name]
        ours, exponential = (
            np.mean([float(row[way]) for row in here]) for way in ("error", "exponential")
        )
        assert ours <= 1.1 * max(exponential, 0.05)
    for kind in ("drawn", "held out"):
        here = [row for row in strong if row["kind"] == kind]
        sums = [sum(float(row[way]) for row in here) for way in ("error", "exponential")]
        assert sums[0] < 0.88 * sums[1]


def test_answers_that_pass_the_rule_about_tails_are_never_absurd() -> None:
    outside = {
        verdict: max(float(row["outside"]) for row in rows() if row["passes"] == verdict)
        for verdict in ("yes", "no")
    }
    assert outside["yes"] < 1e-10
    assert outside["no"] > 0.5
