"""Percentiles by runs of equal utility: the law is enumerated candidate by candidate."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dampen import testing
from dampen.core.sampling import InsecureEntropy, SystemEntropy, uniform_below, weighted_best
from dampen.core.selection import Neighbours
from dampen.errors import ParameterError
from dampen.questions.percentile.unbounded import Column, Decimals, RankDraw, Runs
from goodness import FALSE_ALARM, assert_draws_follow, counts_of, draw_many, p_value

REPLACE = Neighbours.REPLACE_ONE
ROWS = Neighbours.ADD_REMOVE_ROW
TINY = Decimals(digits=1, exponents=(-1, 1))
SMALL = Decimals(digits=2, exponents=(0, 1), lower=-2)
CUT = Decimals(digits=2, exponents=(-1, 1), lower=0, upper=12, step="0.5")
VALUES = (-20.0, -0.3, 0.0, 1.25, 40.0, math.nan)


@cache
def candidates_of(decimals):
    """Every candidate with its weight."""
    low, high = decimals.ends
    codes = np.arange(low, high + 1)
    mass = np.diff(decimals.mass(codes), prepend=0)
    return [(int(c), int(m)) for c, m in zip(codes, mass, strict=True) if m]


def brute_force(draw, values, epsilon):
    """P of every candidate by definition, from the ranks of rounded values."""
    codes = np.sort(draw.candidates.codes(np.array([v for v in values if not math.isnan(v)])))
    target = draw.share * len(codes)

    @cache
    def factor(less, at_most):
        u = -max(0, less - target, target - at_most)
        return math.exp(float(epsilon * u / (2 * draw.span)))

    candidates = candidates_of(draw.candidates)
    each = [code for code, _ in candidates]
    less, at_most = (np.searchsorted(codes, each, side).tolist() for side in ("left", "right"))
    weights = [
        mass * factor(*ranks) for *ranks, (_, mass) in zip(less, at_most, candidates, strict=True)
    ]
    return np.array(weights) / sum(weights)


def column_of(draw, values):
    numbers = np.array([v for v in values if not math.isnan(v)])
    return Column.of(draw.candidates.codes(numbers))


def law_by_runs(draw, values, epsilon):
    """P of every candidate from the probabilities of the runs, as they are drawn."""
    column = column_of(draw, values)
    runs = Runs.of(column, draw.candidates)
    by_run = draw.law(runs, column.n, epsilon)
    ends = runs.start + runs.mass
    law = []
    start = 0
    for _, mass in candidates_of(draw.candidates):
        run = int(np.searchsorted(ends, start, side="right"))
        assert start + mass <= ends[run]  # a candidate lies in one run
        law.append(by_run[run] * mass / runs.mass[run])
        start += mass
    return np.array(law)


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
@pytest.mark.parametrize("p", [0, 10, "33.5", 50, 90, 100])
@pytest.mark.parametrize("decimals", [TINY, SMALL, CUT], ids=repr)
def test_the_law_by_runs_is_that_of_all_candidates(decimals, p, neighbours):
    draw = RankDraw(p, decimals, neighbours)
    rng = np.random.default_rng(3)
    for size in (0, 1, 2, 5, 17):
        values = rng.choice([*VALUES, 1.0, 1.04, 3.3, 7.0, 99.0], size=size)
        expected = brute_force(draw, values, Fraction(3, 2))
        assert law_by_runs(draw, values, Fraction(3, 2)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", [10, 50, 75])
@pytest.mark.parametrize("decimals", [TINY, CUT], ids=repr)
def test_the_privacy_loss_is_at_most_epsilon(decimals, p):
    """Missing numbers are among the records: under replacement one may become a number."""
    for neighbours, universe in (
        (REPLACE, testing.Universe.replace_one(VALUES, 4)),
        (ROWS, testing.Universe.add_remove_row(VALUES, max_rows=4)),
    ):
        draw = RankDraw(p, decimals, neighbours)
        verdict = testing.law_loss(
            lambda x, draw=draw: brute_force(draw, x, Fraction(1)), universe, epsilon="1"
        )
        assert verdict, verdict
        assert verdict.value > 0.45


@dataclass(frozen=True)
class Careless(RankDraw):
    """Takes the smaller sensitivity of added rows for replaced records as well."""

    @property
    def span(self):
        return max(self.share, 1 - self.share)


def test_half_the_sensitivity_is_not_enough_for_replacing():
    universe = testing.Universe.replace_one(VALUES, 4)
    draw = Careless(50, TINY, REPLACE)
    verdict = testing.law_loss(
        lambda x: brute_force(draw, x, Fraction(1)), universe, epsilon="1", name="careless"
    )
    assert not verdict
    assert verdict.value > 1.3


def test_a_prior_taken_from_the_data_is_not_private():
    """The broken twin: candidates weigh more where records are."""

    def law(values):
        draw = RankDraw(50, TINY, ROWS)
        codes = TINY.codes(np.array(values))
        seen = np.array([1 + 9 * (codes == code).any() for code, _ in candidates_of(TINY)])
        weights = brute_force(draw, values, Fraction(1)) * seen
        return weights / weights.sum()

    universe = testing.Universe.add_remove_row((0.0, 1.0, 5.0), max_rows=3)
    assert not testing.law_loss(law, universe, epsilon="1", name="twin")


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
@pytest.mark.parametrize("decimals", [TINY, CUT], ids=repr)
def test_draws_follow_the_law(decimals, neighbours):
    draw = RankDraw(40, decimals, neighbours)
    values = [1.25, 3.0, 3.0, 0.2, 7.5, 8.0, -4.0]
    column = column_of(draw, values)
    entropy = SystemEntropy()
    drawn = draw_many(lambda: draw.draw(column, Fraction(2), entropy), 2_600)
    codes = [code for code, _ in candidates_of(decimals)]
    right, wrong = (brute_force(draw, values, e) for e in (Fraction(2), Fraction(26, 10)))
    assert_draws_follow(counts_of(drawn, codes), right, wrong)


def with_none(draw, values, epsilon):
    """The law of all candidates and of "too few rows", one by one."""
    codes = draw.candidates.codes(np.array(values, dtype=float))
    each = candidates_of(draw.candidates)
    q = float(draw.share)
    away = [max(0, (codes < g).sum() - q * len(codes), q * len(codes) - (codes <= g).sum())
            for g, _ in each]  # fmt: skip
    c = float(epsilon) / (2 * float(draw.span))
    none = np.ceil(14 / draw.scale(epsilon)) / draw.share.denominator
    none -= float(draw.open_tail) * len(codes)
    weights = np.array([w for _, w in each], dtype=float)
    law = np.append(weights, weights.sum()) * np.exp(c * (np.append(-np.array(away), none) - none))
    return law / law.sum()


@pytest.mark.parametrize("p", [20, 50])
@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
def test_too_few_rows_are_private(neighbours, p):
    """At a large ε, so that numbers are not negligible beside "too few rows"."""
    epsilon = Fraction(8)
    draw = RankDraw(p, TINY, neighbours)
    if neighbours is ROWS:
        universe = testing.Universe.add_remove_row((1.0, 5.0), max_rows=9)
    else:
        universe = testing.Universe.replace_one((1.0, 5.0), 9)
    assert testing.law_loss(lambda x: with_none(draw, x, epsilon), universe, epsilon="8", name="")


def test_a_bonus_that_grows_with_the_rows_is_not_private():
    """The broken twin: "too few rows" falls by 3 per record."""

    class Steep(RankDraw):
        open_tail = Fraction(3)

    universe = testing.Universe.add_remove_row((1.0, 5.0), max_rows=9)
    draw = Steep(50, TINY, ROWS)
    law = lambda x: with_none(draw, x, Fraction(8))  # noqa: E731
    assert not testing.law_loss(law, universe, epsilon="8", name="steep")


def test_draws_of_too_few_rows_follow_the_law():
    draw = RankDraw(40, TINY, ROWS)
    values = [1.25, 3.0, 3.0, 0.2, 7.5, 8.0, -4.0] * 2
    column = column_of(draw, values)
    entropy = SystemEntropy()
    drawn = draw_many(lambda: draw.draw_or_none(column, Fraction(4), entropy), 1_000)
    codes = [*(code for code, _ in candidates_of(TINY)), None]
    right, wrong = (with_none(draw, values, e) for e in (Fraction(4), Fraction(52, 10)))
    assert_draws_follow(counts_of(drawn, codes), right, wrong)


@pytest.mark.parametrize("n", [1, 5, 30, 100, 300])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_numbers_beyond_the_records_have_a_probability_below_a_millionth(n, epsilon):
    draw = RankDraw(95, Decimals(), ROWS)
    column = column_of(draw, np.random.default_rng(n).integers(1950, 2020, n))
    runs = Runs.of(column, draw.candidates)
    exponent = draw.utility(runs, column.n) * float(draw.scale(epsilon)) + np.log(runs.mass)
    none = draw.none_utility(column.n, epsilon) * float(draw.scale(epsilon))
    none += np.log(draw.candidates.total)
    beyond = (runs.at_most == 0) | (runs.less == n)
    assert np.exp(exponent[beyond] - none).sum() < 1e-6


@pytest.mark.parametrize("bits", [3, 32])
def test_weighted_best_follows_its_law(bits):
    values = np.array([0.0, -1.0, -3.0, -60.0, -2.0])
    weights = np.array([1, 2, 10, 10**12, 3])
    entropy = InsecureEntropy(5)
    drawn = draw_many(
        lambda: weighted_best(values, weights, Fraction(1, 2), entropy, bits=bits), 3_000
    )
    right, wrong = (weights * np.exp(values * c) for c in (0.5, 0.65))
    assert_draws_follow(counts_of(drawn, range(5)), right / right.sum(), wrong / wrong.sum())


def test_weights_count_exactly_where_everything_else_ties():
    """2^62 and 2^62 + 1 have the same logarithm in floats; ball arithmetic tells them apart."""

    class Same:
        secure = False

        def read(self, size, /):
            return b"\x55" * size

    weights = np.array([2**62, 2**62 + 1])
    assert weighted_best(np.zeros(2), weights, Fraction(1), Same()) == 1
    assert weighted_best(np.zeros(2), weights[::-1].copy(), Fraction(1), Same()) == 0


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 200, 256, 257])
def test_uniform_numbers_are_uniform(bound):
    entropy = InsecureEntropy(bound)
    drawn = [uniform_below(bound, entropy) for _ in range(4000 if bound < 10 else 12_000)]
    assert set(drawn) <= set(range(bound))
    if bound > 1:
        assert p_value(np.bincount(drawn, minlength=bound), np.full(bound, 1 / bound)) > FALSE_ALARM


def test_the_stated_ranks_hold_in_nine_of_ten_runs():
    """On the worst column: every record at one of the lightest candidates."""
    for neighbours in (REPLACE, ROWS):
        draw = RankDraw(50, SMALL, neighbours)
        light = min(candidates_of(SMALL), key=lambda pair: pair[1])[0]
        n = 400
        column = Column(np.array([light]), np.array([n]))
        runs = Runs.of(column, SMALL)
        away = -draw.utility(runs, n) / draw.share.denominator
        law = draw.law(runs, n, Fraction(1, 10))
        assert law[away > draw.farthest(Fraction(1, 10))].sum() <= 0.1


def test_many_distinct_values_are_as_easy_as_few():
    rng = np.random.default_rng(1)
    draw = RankDraw(50, Decimals(), ROWS)
    values = rng.lognormal(10, 1, size=100_000)
    column = Column.of(draw.candidates.codes(values))
    found = draw.candidates.value(draw.draw(column, Fraction(1), SystemEntropy()))
    assert abs((values < found).sum() - 50_000) < 100  # false alarms: below 1e-40


def test_percentiles_have_at_most_four_decimals():
    with pytest.raises(ParameterError, match="four decimals"):
        RankDraw("33.33333", TINY, ROWS)


def test_counts_may_come_in_pieces():
    whole = Column.of(np.array([5, 1, 5, 5, 2]))
    pieces = Column.of(np.array([1, 5, 2, 5]), np.array([1, 1, 1, 2]))
    assert whole.codes.tolist() == pieces.codes.tolist() == [1, 2, 5]
    assert whole.counts.tolist() == pieces.counts.tolist() == [1, 1, 3]
