"""Percentile values: the rank utility on a public grid."""

from itertools import product

import numpy as np
import pytest

from dampen import testing
from dampen.core.mechanisms import probabilities, select
from dampen.core.scores import Global
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

UNIVERSE = testing.Universe.replace_one(range(4), 4)


def rank_utility(x, k, g):
    """By definition: minus the distance from k to the ranks that g has or would have."""
    first, last = sum(v < g for v in x) + 1, sum(v <= g for v in x)
    return -max(0, first - k, k - last)


@pytest.mark.parametrize("p", [0, 30, 50, 90, 100])
@pytest.mark.parametrize("step", [1, 0.5])
def test_utility_is_the_distance_of_ranks(p, step):
    problem = PercentileValue(n=4, p=p, upper=3, step=step)
    for x in product(range(4), repeat=4):
        expected = [rank_utility(x, rank(p, 4), g) for g in problem.grid]
        assert problem.selection(x).utility.tolist() == expected


@pytest.mark.parametrize("p", [0, 30, 50, 90, 100])
@pytest.mark.parametrize("step", [1, 0.5])
def test_sensitivity_is_one_and_no_less(p, step):
    problem = PercentileValue(n=4, p=p, upper=3, step=step)
    assert testing.check_unit_sensitivity(problem, UNIVERSE, Global())
    assert testing.local_sensitivity(problem, UNIVERSE, 0).max() == 1


@pytest.mark.parametrize("mechanism", ["em", "pf", "ld", "ld-pf", "sld"])
@pytest.mark.parametrize("p", [10, 50, 100])
def test_the_privacy_loss_is_at_most_epsilon(mechanism, p):
    problem = PercentileValue(n=4, p=p, upper=3, step=0.5)
    verdict = testing.privacy_loss(problem, UNIVERSE, epsilon="1", mechanism=mechanism)
    assert verdict, verdict


def test_dropping_the_half_would_not_be_private():
    """Replacing a record raises u on one side and lowers it on the other: not one-sided."""
    problem = PercentileValue(n=4, p=50, upper=3, step=0.5)
    verdict = testing.privacy_loss(problem, UNIVERSE, epsilon="2", mechanism="em")
    assert verdict.value > 1.2


def test_the_percentile_itself_has_utility_zero_and_wins():
    hours = [40] * 5000 + [38] * 2000 + [60] * 2000 + list(range(1000))
    problem = PercentileValue(n=len(hours), p=50, upper=99, step=1)
    s = problem.selection(hours)
    assert s.utility[40] == 0
    assert probabilities(s, epsilon=1, mechanism="pf")[40] > 0.999999
    assert problem.candidates[select(s, epsilon=1, mechanism="pf")] == 40


@pytest.mark.parametrize(
    ("lower", "upper", "step", "expected"),
    [
        (0, 3, 1, [0, 1, 2, 3]),
        (0, 5, 2, [0, 2, 4, 5]),
        (0, 0.4, 0.1, [0, 0.1, 0.2, 0.3, 0.4]),
        (-0.3, 0.3, 0.2, [-0.3, -0.1, 0.1, 0.3]),
        (0, 1, 0.3, [0, 0.3, 0.6, 0.9, 1]),
        (0, 2, 5, [0, 2]),
        (0, 0.5, 1e18, [0, 0.5]),
        (1e300, 3e300, 1e300, [1e300, 2e300, 3e300]),
    ],
)
def test_the_grid_is_the_decimals_it_says(lower, upper, step, expected):
    problem = PercentileValue(n=1, p=50, lower=lower, upper=upper, step=step)
    assert list(problem.candidates) == expected
    assert type(problem.candidates[1]) is (int if isinstance(step, int) else float)


def test_values_are_clipped_to_the_grid():
    problem = PercentileValue(n=3, p=100, lower=0, upper=10, step=1)
    assert problem.selection([-5, 4, 1e9]).utility.tolist() == [-2, *[-2] * 3, -1, *[-1] * 5, 0]


def test_a_million_points_need_no_loop():
    x = np.random.default_rng(0).lognormal(size=1000)
    problem = PercentileValue(n=1000, p=50, upper=10, step=1e-5)
    u = problem.selection(x).utility
    assert len(u) == len(problem.candidates) == 1_000_001
    best = problem.grid[np.flatnonzero(u == u.max())]
    assert best.min() <= np.sort(x)[rank(50, 1000) - 1] + 1e-5
    assert best.max() >= np.sort(x)[rank(50, 1000) - 1] - 1e-5


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"step": 0}, "step > 0"),
        ({"step": -1}, "step > 0"),
        ({"step": float("nan")}, "step > 0"),
        ({"step": "fine"}, "step > 0"),
        ({"step": 1e-9}, "larger step"),
        ({"p": 101}, "0 to 100"),
        ({"upper": 0}, "lower < upper"),
        ({"n": 0}, "at least one value"),
    ],
)
def test_public_parameters_are_checked(wrong, says):
    with pytest.raises(ParameterError, match=says):
        PercentileValue(**({"n": 3, "p": 50, "upper": 5, "step": 1} | wrong))


def test_missing_values_are_the_lower_end_or_dropped():
    given = {"p": 50, "upper": 5, "step": 1}
    fixed = PercentileValue(n=2, **given).selection
    assert fixed([1, float("nan")]).utility.tolist() == fixed([1, 0]).utility.tolist()
    rows = PercentileValueOfRows(**given).selection
    assert rows([1, None, 3]).utility.tolist() == rows([1, 3]).utility.tolist()
