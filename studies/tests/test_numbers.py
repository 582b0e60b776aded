"""The committed tables about numbers: of the studies as they are, and what they show."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from dampen_studies.datasets.grouped import GROUPED
from dampen_studies.experiments.numbers import ABOVE, COUNT, MEASURED, NUMBERS, TEN
from dampen_studies.study import text

RESULTS = Path(__file__).parents[1] / "results"


def rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("study", [ABOVE, MEASURED], ids=lambda study: study.name)
def test_the_table_is_of_this_study(study):
    found = rows(study.name)
    assert tuple(found[0]) == study.columns
    assert {row["dataset"] for row in found} == set(GROUPED)
    smallest = "deliveries: time_to_delivery by day"
    [cell] = [c for c in study.cells(False) if c["dataset"] == smallest][:1]
    again = [tuple(text(value) for value in row) for row in study.compute(cell)]
    assert set(map(_above_rounding, again)) <= {_above_rounding(row.values()) for row in found}


def _above_rounding(row: Iterable[str]) -> tuple[str, ...]:
    """Probabilities below 1e-12 are the rounding of their sums."""
    return tuple("0" if "e-" in each and float(each) < 1e-12 else each for each in row)


def ratios(epsilon: str) -> list[float]:
    """Errors of reach by those of a private median, of every table: the mean over thresholds."""
    here = [row for row in rows("above") if row["epsilon"] == epsilon]
    found = []
    for name in GROUPED:
        ours, theirs = (
            np.mean([float(row[column]) for row in here if row["dataset"] == name])
            for column in ("reach", "private_median")
        )
        found.append(ours / theirs if theirs > 1e-6 else 0.0)
    return found


@pytest.mark.parametrize(
    ("epsilon", "median"),
    [("0.01", 0.6), ("0.03", 0.6), ("0.1", 0.6), ("1", 0.3), ("3", 0.3)],
)
def test_groups_above_a_threshold_have_fewer_errors_than_private_medians(epsilon, median):
    assert np.median(ratios(epsilon)) <= median
    assert max(ratios(epsilon)) <= 1.2


def test_a_quarter_for_the_number_costs_the_name_little():
    found = rows("shares")
    for epsilon, most in (("0.3", 0.05), ("1", 0.03), ("3", 0.03)):
        all_of_it, quarter = (
            np.mean(
                [
                    float(row["best"])
                    for row in found
                    if (row["epsilon"], row["share"]) == (epsilon, share)
                ]
            )
            for share in ("0", "0.25")
        )
        assert all_of_it - quarter <= most


def peers(statistic: str, library: str, own: str = "dampen") -> list[float]:
    """Errors of dampen by those of a peer, in every cell."""
    errors = {
        (row["column"], row["epsilon"], row["library"]): float(row["error"])
        for row in rows("numbers")
        if row["statistic"] == statistic
    }
    return [
        error / errors[column, epsilon, library]
        for (column, epsilon, name), error in errors.items()
        if name == own
    ]


def test_ten_columns_are_compared_with_two_libraries():
    found = rows("numbers")
    assert tuple(found[0]) == NUMBERS.columns
    assert {row["column"] for row in found} == set(TEN)
    assert len(TEN) == 10


def test_counts_are_as_good_as_those_of_others_and_means_better():
    """Both sides have a standard error of 1.6 %: four of their difference are 9 %."""
    for library in ("opendp", "diffprivlib"):
        assert max(peers(COUNT, library)) < 1.09
        assert max(peers("mean", library)) < 1
    assert max(peers("total", "opendp")) < 1.09


def test_a_public_number_of_rows_makes_totals_and_means_equal_to_diffprivlib():
    """A ratio has a standard error of 5.3 %, the geometric mean of twenty one of 1.2 %."""
    for statistic in ("total", "mean"):
        found = peers(statistic, "diffprivlib", "dampen, public rows")
        assert len(found) == 20
        assert max(found) < 1.22
        assert np.exp(np.mean(np.log(found))) < 1.05


def test_totals_of_diffprivlib_are_better_where_the_range_is_far_from_zero():
    """It publishes the number of rows, so that a value moves a total by less: 90 / 72 for ages."""
    found = peers("total", "diffprivlib")
    assert max(found) < 1.09 * 90 / 72
    assert np.mean([ratio < 1.09 for ratio in found]) >= 0.8
