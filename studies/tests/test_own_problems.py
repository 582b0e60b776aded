"""The problems of the study `shift`, by brute force; the law of a rival; the committed table."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dampen import Selection, sensitivity
from dampen.testing import Universe, check_admissible, check_one_sided, check_separable
from dampen.workbench import AddRemove, ReplaceOne, search
from dampen_studies.experiments import own_problems as own
from dampen_studies.experiments import shift

BITS = [(y, a, b) for y in (0, 1) for a in (0, 1) for b in (0, 1)]


def worlds():
    places = ((0.0, 0.0), (0.5, 0.5), (1.0, 0.25))
    sites = ((0.0, 0.0), (1.0, 1.0), (0.5, 0.0))
    distances = ((0.0, 2.0, 5.0), (2.0, 0.0, 3.0), (5.0, 3.0, 0.0))
    return {
        "median": (own.SiteByQuantile(sites, 3), Universe.replace_one(places, 3)),
        "quantile": (own.SiteByQuantile(sites, 4, 0.9), Universe.replace_one(places, 4)),
        "f1": (own.FeatureByF1(2, 6), Universe.add_remove_row(BITS, 4)),
        "jaccard": (own.MostSimilar(2, 6), Universe.add_remove_row(BITS, 4)),
        "accuracy": (own.FeatureByAccuracy(2), Universe.add_remove_row(BITS, 3)),
        "auc": (
            own.FeatureByAUC(2, 6),
            Universe.add_remove_row([(y, a, 2 - a) for y in (0, 1) for a in (0, 1, 2)], 5),
        ),
        "information": (own.FeatureByInformation((2, 2), 2, 4, 5), Universe.replace_one(BITS, 4)),
        "mean": (
            own.ArmByMean(2, 6),
            Universe.add_remove_row([(0, 0.0), (0, 1.0), (1, 0.5), (1, 1.0)], 4),
        ),
        "road": (own.RoadMedian(distances), Universe.add_remove_row((0, 1, 2), 4)),
    }


@pytest.mark.parametrize("world", worlds())
def test_they_are_admissible(world: str) -> None:
    problem, universe = worlds()[world]
    assert check_admissible(problem, universe)
    first = problem.selection(universe.databases[0])
    assert not first.separable or check_separable(problem, universe)
    assert not first.one_sided or check_one_sided(problem, universe)
    if first.ends is not None:
        made = np.array([problem.selection(x).utility for x in universe.databases])
        assert first.ends[0] - 1e-9 <= made.min() and made.max() <= first.ends[1] + 1e-9


@pytest.mark.parametrize("world", ["f1", "jaccard", "auc", "mean", "road"])
def test_they_are_on_larger_databases(world: str) -> None:
    problem, universe = worlds()[world]
    rows = sorted({row for x in universe.databases for row in x})
    start = tuple(rows * 4)
    assert search(problem, [start, ()], AddRemove(rows), pairs=1500, distances=6)


def test_sites_and_arms_on_larger_databases() -> None:
    points = [(x / 4, y / 4) for x in range(5) for y in range(5)]
    sites = own.SiteByQuantile(((0.0, 0.0), (0.75, 0.5)), 15, 0.9)
    assert search(sites, [tuple(points[:15])], ReplaceOne(points), pairs=1500, distances=6)

    def neighbours(rewards):
        for arm, values in enumerate(rewards):
            for i in range(len(values)):
                for value in (0.0, 0.3, 1.0):
                    changed = (*values[:i], value, *values[i + 1 :])
                    yield (*rewards[:arm], changed, *rewards[arm + 1 :])

    arms = own.ArmByMedian((5, 3))
    start = ((0.1, 0.2, 0.3, 0.4, 0.5), (0.6, 0.7, 0.9))
    assert search(arms, [start], neighbours, pairs=1500, distances=6)


def test_gem_with_one_sensitivity_is_half_of_the_exponential_mechanism() -> None:
    made = Selection([3.0, 1.0, 0.0], sensitivity.constant(2.0))
    law = shift.gem(shift.Instance(made, np.full(3, 2.0)), 1.5)
    half = np.exp(made.utility * 1.5 / 2 / 4)
    assert law == pytest.approx(half / half.sum())


def test_gem_prefers_candidates_of_low_sensitivity() -> None:
    made = Selection([3.0, 3.0, 0.0], sensitivity.constant(2.0))
    law = shift.gem(shift.Instance(made, np.array([0.1, 2.0, 2.0])), 1.0)
    assert law[0] > 10 * law[1]


RESULTS = Path(__file__).parents[1] / "results" / "shift.csv"


def test_the_private_shift_is_at_least_as_good_as_em_and_ld_on_two_thirds() -> None:
    """By `auto`, on the committed table; docs/own-problem.md says where it is not."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    with RESULTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = cells.setdefault((row["problem"], row["epsilon"]), {})
            cell[row["method"]] = float(row["error"])
    assert {problem for problem, _ in cells} == set(shift.PROBLEMS)
    good = [cell["auto"] <= min(cell["em"], cell["ld"]) * (1 + 1e-9) for cell in cells.values()]
    assert sum(good) >= 2 / 3 * len(good)


@pytest.mark.parametrize("problem", shift.QUICK)
def test_the_committed_table_is_what_the_study_computes(problem: str) -> None:
    [cell] = [c for c in shift.STUDY.cells(True) if c["problem"] == problem]
    with RESULTS.open(encoding="utf-8") as file:
        kept = {
            (row["problem"], float(row["epsilon"]), row["method"]): float(row["error"])
            for row in csv.DictReader(file)
        }
    for name, _, epsilon, method, error, *_ in shift.STUDY.compute(cell):
        assert error == pytest.approx(kept[name, epsilon, method], rel=1e-6, abs=1e-9)
