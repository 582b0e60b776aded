"""The rivals of reach are private too, and in their best form; how they compare."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import group_balls as balls
from dampen import testing
from dampen.problems import BestGroup
from dampen.questions.groups.reach import Reach, Rows
from dampen.questions.groups.statistics import Histograms, Mean, Quantile
from dampen_studies.rivals.groups import (
    GroupMethod,
    _Rivals,
    epsilon_for_best,
    group_methods,
    true_statistics,
)

ROWS = [(g, v) for g in "abc" for v in (0, 2)]
UNIVERSE = testing.Universe.add_remove_row(ROWS, 3)
GIVEN = {"groups": list("abc"), "lower": 0, "upper": 2, "step": 1}


@cache
def laws(options):
    """The law at ε = 1 of every method, for every database of the universe."""
    problem, found = BestGroup(**GIVEN, **dict(options)), {}
    for rows in UNIVERSE.databases:
        counts = problem.counts([v for _, v in rows], [g for g, _ in rows])
        for method in group_methods(problem, counts):
            found.setdefault(method.name, []).append(method.law(Fraction(1)))
    return {name: np.array(each) for name, each in found.items()}


def largest_loss(probabilities):
    left, right = UNIVERSE.neighbours.T
    log_p = np.log(probabilities)
    return np.abs(log_p[left] - log_p[right]).max()


STATISTICS = [(("p", 50),), (("p", 20),), (("statistic", "mean"),)]


@pytest.mark.parametrize("options", STATISTICS, ids=str)
@pytest.mark.parametrize(
    "name", ["reach", "em", "ld", "ld shifted", "sld", "smooth", "inverse", "control"]
)
def test_every_method_loses_at_most_epsilon(name, options):
    """Laws that are computed at some thousand levels are known to a few percent only."""
    probabilities = laws(options)[name]
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(UNIVERSE.databases)))
    rough = name == "smooth" or (name == "control" and options == STATISTICS[2])
    assert largest_loss(probabilities) <= 1 + (0.02 if rough else 1e-9)


def test_methods_are_tried_in_their_best_form():
    """None of these wastes more than half of its ε on this universe."""
    for name in ("reach", "em", "ld", "inverse"):
        assert largest_loss(laws((*STATISTICS[0], ("caution", 1)))[name]) > 0.5


GROUPS = list(balls.histograms(4, 4))


@pytest.mark.parametrize("statistic", [Quantile(Fraction(1, 2)), Quantile(Fraction(1, 5)), Mean()])
def test_the_sensitivity_function_is_admissible(statistic):
    rivals = _Rivals(Reach(Histograms(np.array(GROUPS)), statistic, Rows(), 1))
    index = {x: i for i, x in enumerate(GROUPS)}
    u = rivals.utility

    def delta(x, t):
        known = rivals.deltas[index[x]]
        return known[t] if t < len(known) else rivals.range

    for x in GROUPS:
        near = [y for y in balls.row_neighbours(x) if y in index]
        step = max(abs(u[index[x]] - u[index[y]]) for y in near)
        assert delta(x, 0) >= step - 1e-9
        for t in range(8):
            assert all(delta(x, t + 1) >= delta(y, t) - 1e-9 for y in near)


def test_dampening_is_that_of_the_library():
    from dampen import Selection
    from dampen.core import sensitivity
    from dampen.core.scores import Dampened, Shifted

    x = Histograms(np.array([[3, 1, 0, 2], [0, 1, 4, 0], [0, 0, 0, 1]]))
    rivals = _Rivals(Reach(x, Quantile(Fraction(1, 2)), Rows(), 1))
    horizon = max(map(len, rivals.deltas))
    rows = [[d[t] if t < len(d) else rivals.range for d in rivals.deltas] for t in range(horizon)]
    whole = Selection(rivals.utility, sensitivity.table(rows), bound=rivals.range)
    for shift in (0.0, 1.0):
        scores = Dampened(shift=shift * rivals.range).of(whole)
        values = scores.values / float(scores.unit)
        assert rivals.dampened(-shift) == pytest.approx(values, abs=1e-5)
    shifted = Shifted().of(whole)
    differences = np.diff(shifted.values / float(shifted.unit))
    assert np.diff(rivals.shifted) == pytest.approx(differences, abs=1e-5)


def test_margins_count_rows_and_have_unit_sensitivity():
    problem = BestGroup(**GIVEN)
    found = {}
    for rows in UNIVERSE.databases:
        counts = problem.counts([v for _, v in rows], [g for g, _ in rows])
        found[rows] = _Rivals(problem.contest(counts).reach).margins
    scores = np.array([found[rows] for rows in UNIVERSE.databases])
    left, right = UNIVERSE.neighbours.T
    assert np.abs(scores[left] - scores[right]).max() == 1


def hospital(sizes=(400, 300, 350, 20), medians=(10, 11, 14, 12)):
    generator = np.random.default_rng(0)
    values = np.concatenate(
        [generator.normal(m, 4, size=n) for m, n in zip(medians, sizes, strict=True)]
    )
    return values, np.repeat(np.arange(len(sizes)), sizes)


def test_reach_needs_less_epsilon_than_every_rival():
    problem = BestGroup(groups=range(4), lower=0, upper=60, step="0.1")
    counts = problem.counts(*hospital())
    statistics = true_statistics(problem, counts)
    needed = {
        method.name: epsilon_for_best(method, statistics)
        for method in group_methods(problem, counts)
    }
    assert needed["reach"] < min(needed["control"], needed["inverse"], needed["smooth"])
    assert min(needed["em"], needed["ld"], needed["sld"]) > 5 * needed["reach"]


def test_true_statistics_are_in_cells_and_mirrored_for_the_smallest():
    values, by = hospital()
    options = {"groups": range(5), "lower": 0, "upper": 60, "step": "0.5"}
    large, small = (BestGroup(**options, smallest=flag) for flag in (False, True))
    counts = large.counts(values, by)
    one, other = true_statistics(large, counts), true_statistics(small, counts)
    medians = [np.median(values[by == g]) for g in range(4)]
    assert one[:4] / 2 == pytest.approx(np.array(medians) + 0.25, abs=0.6)
    assert one[:4] + other[:4] == pytest.approx([121.0] * 4)
    assert one[4] == other[4] == -1


def test_sums_have_their_own_methods():
    problem = BestGroup(groups=range(4), statistic="sum", lower=0, upper=60, step="0.1")
    counts = problem.counts(*hospital())
    methods = group_methods(problem, counts)
    assert [m.name for m in methods] == ["pf", "em"]
    assert true_statistics(problem, counts).argmax() == 2
    assert methods[0].best_probability(true_statistics(problem, counts), epsilon=1) > 0.99


def test_the_epsilon_for_a_probability_is_where_it_crosses():
    def law(epsilon):
        lose = 0.5 * np.exp(-float(epsilon))
        return np.array([1 - lose, lose])

    method = GroupMethod("test", law)
    found = epsilon_for_best(method, np.array([2.0, 1.0]))
    assert found == pytest.approx(np.log(5), rel=0.03)
    never = GroupMethod("never", lambda _: np.array([0.5, 0.5]))
    assert epsilon_for_best(never, np.array([2.0, 1.0])) == float("inf")
