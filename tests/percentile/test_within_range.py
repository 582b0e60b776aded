"""Several percentiles without a grid: the loss of both stages, and what they find."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import EM
from dampen.core.sampling import InsecureEntropy, SystemEntropy
from dampen.core.selection import Neighbours
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.percentile import unbounded
from dampen.questions.percentile.joint_tight import intervals
from dampen.questions.percentile.unbounded import Column, Decimals, WithinRange
from dampen.releases.cost import Price
from dampen.testing import Universe
from joint_laws import law_of, ranks_of

REPLACE, ROWS = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW
GRID = (0, *(0.6 + i / 100 for i in range(12)), 1, 2)
LISTS = [(50, 75), (10, 50, 90), (20, 40, 60, 80)]
TINY = Decimals(digits=1, exponents=(-1, 1))


def stage_two_loss(draws, universe, epsilon, part=None):
    """The largest log-ratio of all tuples over ε, missing numbers (None) among the records."""
    way = draws.way(len(GRID))
    share = epsilon * (draws.part(way, epsilon) if part is None else part)

    @cache
    def logs_of(x):
        points = intervals(ranks_of([v for v in x if v is not None], GRID))
        n = points[1, -1]
        return np.log(list(law_of(points, way.targets(n, None, share)).values()))

    left, right = universe.neighbours.T
    logs = np.array([logs_of(x) for x in universe.databases])
    return np.abs(logs[left] - logs[right]).max() / float(epsilon)


@pytest.mark.parametrize("points", LISTS)
@pytest.mark.parametrize("epsilon", ["1/2", "6"])
def test_stage_two_loses_at_most_its_epsilon_where_numbers_go_missing(points, epsilon):
    universe = Universe.replace_one((0, 0.7, 2, None), 3)
    found = stage_two_loss(WithinRange(points, TINY, REPLACE), universe, Fraction(epsilon))
    assert 0.5 < found <= 1 + 1e-9


def test_stage_two_needs_its_part_of_epsilon_for_replacing():
    """The broken twin spends twice what is left."""
    universe = Universe.replace_one((0, 0.7, 2, None), 3)
    draws = WithinRange((50, 75), TINY, REPLACE)
    assert stage_two_loss(draws, universe, Fraction(1, 2), part=Fraction(2)) > 1.3
    ends = (0, Fraction(1, 2), Fraction(3, 4), 1)
    assert draws.part(draws.way(100), Fraction(1)) == 1 - min(b - a for a, b in pairwise(ends))


def test_both_stages_share_epsilon():
    spent = []

    class Watched(WithinRange):
        def range_of(self, column, epsilon, entropy):
            spent.append(epsilon)
            return super().range_of(column, epsilon, entropy)

        def together(self, column, listed, epsilon, entropy):
            spent.append(epsilon)
            return super().together(column, listed, epsilon, entropy)

    draws = Watched((10, 20, 30, 40, 50), TINY, ROWS)
    draws.draw(Column(np.array([1, 2, 5]), np.array([900] * 3)), Fraction(2), SystemEntropy())
    assert sum(spent) == 2
    assert draws.draw(Column.of(np.array([1, 2, 5])), Fraction(2), SystemEntropy()) == [None] * 5


def test_more_than_nine_have_half_under_replacing():
    many = tuple(range(5, 100, 5))
    draws = WithinRange(many, TINY, REPLACE)
    assert draws.part(draws.way(1000), Fraction(1)) == Fraction(1, 2)
    assert WithinRange(many, TINY, ROWS).part(draws.way(1000), Fraction(1)) == 1


@pytest.mark.parametrize("low_high", [(-3.0, 7.5), (0.25, 80.0), (-90.0, -0.2), (0.0, 0.0)])
@pytest.mark.parametrize("step", [None, "0.5"])
def test_listed_points_are_candidates_of_few_digits(low_high, step):
    decimals = Decimals(digits=2, exponents=(-1, 1), step=step)
    low, high = decimals.codes(np.array(low_high)).tolist()
    every = [
        code
        for code in range(low, high + 1)
        if decimals.mass(np.array([code]))[0] > decimals.mass(np.array([code - 1]))[0]
    ]
    assert decimals.listed(low, high, 10**6).tolist() == sorted({*every, low, high})
    few = decimals.listed(low, high, 40).tolist()
    assert set(few) <= {*every, low, high}
    assert len(few) <= 43
    assert (few[0], few[-1]) == (low, high)


@pytest.mark.parametrize("units_public", [True, False])
@pytest.mark.parametrize("p", ["deciles", range(1, 100)])
def test_long_lists_come_out_in_order_and_near(units_public, p):
    rng = np.random.default_rng(1)
    pay = rng.lognormal(10, 0.5, size=20_000).round(0)
    entropy = InsecureEntropy(1, allow_release=True)
    asked = dampen.dataset({"pay": pay}, units_public=units_public)
    made = asked.percentile("pay", p=p, epsilon=5, entropy=entropy)
    assert made.neighbours == ("replace-one" if units_public else "add-remove-row")
    assert made.mechanism == "joint-in-range"
    assert made.answer == sorted(made.answer)
    shares = np.searchsorted(np.sort(pay), made.answer) / len(pay)
    wanted = np.arange(1, len(made.answer) + 1) / (len(made.answer) + 1)
    assert np.abs(shares - wanted).max() < 0.02


def test_wrong_percentiles_are_refused():
    with pytest.raises(ParameterError, match="four decimals"):
        WithinRange((10, "33.33333"), TINY, ROWS)


def test_few_points_are_listed_where_the_range_is_wide():
    listed = Decimals().listed(-(10**9), 15 * 10**9, unbounded.MOST_POINTS)
    assert 1000 < len(listed) <= unbounded.MOST_POINTS + 3


def test_where_rows_are_few_the_percentiles_are_asked_for_that_they_are_enough_for():
    draws = WithinRange((95, 5, 25, 50, 75, 50), Decimals(), ROWS)
    assert draws.of_rows(None, Fraction(1)) == draws
    assert draws.of_rows(20_000, Fraction(1)) == draws
    for n in (100, 300, 1_000, 5_000, 10_000):
        chosen = draws.of_rows(n, Fraction(1))
        assert chosen.draws.mechanism == EM
        kept = [Fraction(p) / 100 for p in chosen.draws.points]
        for q in kept:
            assert n * min(q, 1 - q) / len(kept) > unbounded.ENOUGH * max(q, 1 - q)
        for more in range(len(kept) + 1, len(draws.shares) + 1):
            able = [q for q in draws.shares if n * min(q, 1 - q) / more > 75 * max(q, 1 - q)]
            assert len(able) < more
    many = WithinRange(tuple(range(1, 100)), Decimals(), ROWS).of_rows(30_000, Fraction(1))
    assert isinstance(many.draws, WithinRange)
    assert sorted(many.draws.points) == list(range(3, 98))


@pytest.mark.parametrize("relation", [REPLACE, ROWS])
def test_fewer_percentiles_cost_no_more_than_all_of_them(relation):
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(8)):
        price = Price(epsilon)
        whole = WithinRange((5, 25, 50, 75, 95), Decimals(), relation).cost(price, "percentile")
        for n in (300, 1_000, 10_000):
            rows = int(n / epsilon)
            some = WithinRange((5, 25, 50, 75, 95), Decimals(), relation).of_rows(rows, epsilon)
            cost = some.cost(price, "percentile")
            assert some.draws.points
            assert whole.epsilon * 2 / 3 <= cost.epsilon <= whole.epsilon
            assert cost.rho <= whole.rho


def test_the_middle_of_few_rows_is_answered():
    """An answer is off by 600 of 3,000 rows with a probability below 10^-7."""
    values = np.arange(3_000) + 100
    made = dampen.percentile(values, p=[5, 25, 50, 75, 95], epsilon=1)
    assert [answer is None for answer in made.answer] == [True, False, False, False, True]
    for answer, true in zip(made.answer[1:4], (850, 1_600, 2_350), strict=True):
        assert abs(answer - true) <= 600
    assert "too few for p = 5" in made.accuracy.sentence
    few = dampen.percentile(values[:9], p=[5, 25, 50, 75, 95], epsilon=1)
    assert few.answer.count(None) >= 4


def test_an_end_that_is_public_needs_no_rows_near_it():
    made = dampen.percentile(np.arange(1_500) + 100, p=[1, 2, 5, 10, 25], lower=0, epsilon=1)
    assert None not in made.answer
    assert dampen.percentile(np.arange(20), p=[1, 50, 99], epsilon=1).answer == [None] * 3


def test_a_stated_bound_on_the_rows_chooses_the_percentiles():
    values = {"pay": np.arange(3_000) + 100, "who": np.arange(3_000)}
    points = [5, 25, 50, 75, 95]
    stated = dampen.dataset(values, rows=3_000)
    with pytest.warns(AccuracyWarning, match="3,000 rows are too few for p = 5"):
        made = stated.percentile("pay", p=points, epsilon=1)
    assert [answer is None for answer in made.answer] == [True, False, False, False, True]
    assert made.accuracy.sentence.startswith("3,000 rows are too few for p = 5 at ε = 1")
    people = dampen.dataset(values, rows=3_000, unit="who")
    made = people.percentile("pay", p=[40, 45, 50, 55, 60], epsilon=8)
    assert None not in made.answer
