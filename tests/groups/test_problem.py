"""Public parameters, counts, and the statistics as they are meant."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dampen.errors import ParameterError
from dampen.problems import BestGroup
from dampen.questions.groups.reach import Reach, Rows
from dampen.questions.groups.statistics import (
    Fractions,
    Grid,
    Histograms,
    Mean,
    Quantile,
    TrimmedMean,
)

GIVEN = {"groups": ["a", "b"], "lower": 0, "upper": 10, "step": 1}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"groups": []}, "list of groups, got an empty one"),
        ({"groups": "ab"}, "groups= to be a list, .* got a str"),
        ({"groups": None}, "groups= to be a list, .* got nothing"),
        ({"groups": 5}, "groups= to be a list, .* got an int"),
        ({"groups": {"a", "b"}}, "got a set"),
        ({"groups": iter("ab")}, "got a str_"),
        ({"groups": ["a", None]}, "without None and NaN.* list dampen.MISSING"),
        ({"groups": ["a", float("nan")]}, "list dampen.MISSING"),
        ({"groups": [("a", 1), ("a", None)]}, "list dampen.MISSING"),
        ({"groups": ["a", "a"]}, "different groups"),
        ({"groups": [["a"]]}, "such as text"),
        ({"statistic": "medain"}, "Did you mean 'median'"),
        ({"statistic": "quantile"}, "Expected p="),
        ({"statistic": "median", "p": 90}, "statistic='quantile'"),
        ({"statistic": "mean", "p": 90}, "Expected no p="),
        ({"statistic": "max"}, "p=99"),
        ({"statistic": "min"}, "p=1"),
        ({"p": 0}, "p > 0"),
        ({"p": 100}, "p < 100"),
        ({"p": "33.33333"}, "four decimals"),
        ({"p": "many"}, "Expected p"),
        ({"statistic": "trimmed-mean", "p": 50}, "p < 50"),
        ({"lower": 10}, "lower < upper"),
        ({"lower": float("nan")}, "lower < upper"),
        ({"upper": "high"}, "numbers"),
        ({"step": 3}, "divides"),
        ({"step": 0}, "step > 0"),
        ({"step": "fine"}, "step to be a number"),
        ({"step": "1e-9999999"}, "step to be a number"),
        ({"step": 1e-9}, "larger step"),
        ({"step": 1e-6, "groups": range(6)}, "larger step"),
        ({"min_rows": 0}, "min_rows"),
        ({"min_rows": 1.5}, "min_rows"),
        ({"min_rows": 2, "statistic": "sum"}, "no min_rows="),
        ({"caution": -1}, "caution"),
        ({"caution": "a lot"}, "caution"),
        ({"caution": 1001}, "caution of at most 1,000"),
        ({"neighbours": "add-remove-edge"}, "neighbours"),
    ],
)
def test_public_parameters_are_checked(wrong, says):
    with pytest.raises(ParameterError, match=says):
        BestGroup(**(GIVEN | wrong))


@pytest.mark.parametrize("groups", [np.arange(2), pd.Series([0, 1], index=[1, 0]), range(2)])
def test_groups_keep_their_order_and_become_plain(groups):
    """Whatever list they come in; a series must not be looked up by its labels."""
    candidates = BestGroup(**GIVEN | {"groups": groups}).candidates
    assert candidates == (0, 1) and type(candidates[0]) is int


@pytest.mark.parametrize("epsilon", ["1e-10", 0, -1, "none"])
def test_epsilon_is_checked_before_the_data(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        BestGroup(**GIVEN).exact_epsilon(epsilon)


def test_rows_are_counted_by_group_and_cell():
    problem = BestGroup(groups=["b", "a"], lower=0, upper=1, step="0.1")
    values = [0.3, 0.3, 0.7, -5, 99, 0.34, 0.36]
    counts = problem.counts(values, ["a", "a", "a", "b", "b", "b", "b"])
    assert [np.flatnonzero(row).tolist() for row in counts] == [[0, 3, 4, 10], [3, 7]]
    assert counts.sum(axis=1).tolist() == [4, 3]


def test_rows_of_other_groups_are_dropped():
    problem = BestGroup(**GIVEN)
    nan = float("nan")
    counts = problem.counts([1, 2, nan, nan, nan], ["a", "c", None, nan, 7])
    assert counts.sum() == 1


@pytest.mark.parametrize("values", [[1, float("nan")], [1, "two"], [1, [2]]])
def test_rows_without_a_number_are_dropped(values):
    counts = BestGroup(**GIVEN).counts(values, ["a", "b"])
    assert counts.tolist() == BestGroup(**GIVEN).counts([1], ["a"]).tolist()


def test_infinite_values_belong_to_the_ends():
    counts = BestGroup(**GIVEN).counts([np.inf, -np.inf], ["a", "b"])
    assert counts[0, 10] == counts[1, 0] == 1


def test_empty_groups_have_a_law_too():
    law = BestGroup(**GIVEN).probabilities([], [], epsilon=1)
    assert law == pytest.approx([0.5, 0.5])


def test_a_grid_takes_decimals_as_they_are_written():
    grid = Grid.between(0, 0.3, 0.1)
    assert (grid.lower, grid.step, grid.top) == (0, Fraction(1, 10), 3)
    assert grid.cells(np.array([0.1 + 0.2, 0.3, 0.25, 0.2])).tolist() == [3, 3, 3, 2]


def test_fractions_are_ordered_exactly():
    """Neighbours in a Farey sequence: as close as two fractions with such denominators can be."""
    generator, pairs = np.random.default_rng(1), []
    for _ in range(300):
        a, b, c, d = 0, 1, 1, 1
        while b + d < 2**35:
            if generator.random() < 0.5:
                a, b = a + c, b + d
            else:
                c, d = a + c, b + d
        pairs.append((a, b, c, d))
    a, b, c, d = np.array(pairs).T
    below, above = Fractions.ratio(a, b), Fractions.ratio(c, d)
    assert all(x < y for x, y in zip(as_tuples(below), as_tuples(above), strict=True))


def test_equal_fractions_have_equal_ordinals():
    a, b = np.random.default_rng(4).integers(1, 2**33, size=(2, 200))
    assert as_tuples(Fractions.ratio(a, b)) == as_tuples(Fractions.ratio(3 * a, 3 * b))


def as_tuples(numbers):
    return list(zip(*(key.tolist() for key in numbers.ordinals()), strict=True))


def test_a_fraction_subtracted_from_a_number():
    difference = Fractions.ratio(np.array([7, 8]), np.array([4, 4])).subtracted_from(5)
    assert difference.whole.tolist() == [3, 3]
    assert difference.rest.tolist() == [1, 0]


@pytest.mark.parametrize(
    "statistic",
    [
        *(Quantile(Fraction(p, 100)) for p in (3, 35, 50, 80)),
        Mean(),
        *(TrimmedMean(Fraction(p, 100)) for p in (5, 30, 45)),
    ],
    ids=str,
)
@pytest.mark.parametrize("floor", [1, 25])
def test_the_best_number_of_rows_to_take_out_is_found(statistic, floor):
    """Against all numbers r, on groups larger than balls can be gone through."""
    generator = np.random.default_rng(2)
    x = Histograms(generator.poisson(generator.gamma(0.3, 4, size=(40, 30))))
    reach = Reach(x, statistic, Rows(), floor)
    for w in (0, 1, 2, 5, 17, 60, 200):
        who = np.arange(40)
        found = reach.at(who, np.full(40, w))
        for g in range(40):
            z = min(w, int(x.sizes[g]) + floor)
            most = min(z, int(x.sizes[g]), (int(x.sizes[g]) + z - floor) // 2)
            if most < 0 or x.sizes[g] + w < floor:
                assert found.whole[g] == -1
                continue
            out = np.arange(most + 1)
            tried = statistic.value(x, np.full(most + 1, g), out, z - out)
            assert as_tuples(found)[g] == max(as_tuples(tried))


def test_statistics_are_what_they_are_called():
    generator = np.random.default_rng(3)
    rows = generator.integers(0, 50, size=201)
    x = Histograms(np.bincount(rows, minlength=50)[None, :])
    at_rest = (x, np.array([0]), np.array([0]), np.array([0]))
    median = Quantile(Fraction(1, 2)).value(*at_rest)
    assert np.median(rows) < (median.whole[0] + median.rest[0] / median.of[0]) / 4
    assert (median.whole[0] + median.rest[0] / median.of[0]) / 4 < np.median(rows) + 1
    mean = Mean().value(*at_rest)
    assert mean.whole[0] + mean.rest[0] / mean.of[0] == pytest.approx(rows.mean())
    trimmed = TrimmedMean(Fraction(1, 10)).value(*at_rest)
    kept = np.sort(rows)[20:-20]
    assert trimmed.whole[0] + trimmed.rest[0] / trimmed.of[0] == pytest.approx(kept.mean())


def test_the_order_refines_that_of_ordinary_medians():
    generator = np.random.default_rng(5)
    counts = generator.poisson(0.4, size=(300, 12))
    counts = counts[counts.sum(axis=1) > 0]
    everyone, none = np.arange(len(counts)), np.zeros(len(counts), dtype=np.int64)
    interpolated = Quantile(Fraction(1, 2)).value(Histograms(counts), everyone, none, none)
    ordinary = [np.median(np.repeat(np.arange(12), line)) for line in counts]
    pairs = sorted(zip(as_tuples(interpolated), ordinary, strict=True))
    assert [median for _, median in pairs] == sorted(ordinary)
    assert len(set(as_tuples(interpolated))) > len(set(ordinary))


def test_private_counts_are_not_shown():
    problem = BestGroup(**GIVEN)
    contest = problem.contest(problem.counts([9, 9, 9], ["a", "a", "b"]))
    assert "[" not in repr(contest) and "=" not in repr(contest)
