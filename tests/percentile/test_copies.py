"""Permute-and-flip among all decimals: the law is enumerated copy by copy."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dampen import testing
from dampen.core.mechanisms import EM, PF
from dampen.core.noise import LargestOf, permute_and_flip
from dampen.core.sampling import InsecureEntropy, SystemEntropy, best_of_copies
from dampen.core.selection import Neighbours
from dampen.data.columns import as_bound
from dampen.questions.percentile.unbounded import Column, Copies, Decimals, Moments, RankDraw
from goodness import assert_draws_follow, counts_of, draw_many

REPLACE = Neighbours.REPLACE_ONE
ROWS = Neighbours.ADD_REMOVE_ROW
TINY = Decimals(digits=1, exponents=(-1, 1))
SMALL = Decimals(digits=2, exponents=(0, 1), lower=-2, peak=3)
CUT = Decimals(digits=2, exponents=(-1, 1), lower=0, upper=12, step="0.5")
DAYS = Moments(as_bound("2024-12-15"), as_bound("2025-02-15"))
VALUES = (-20.0, -0.3, 0.0, 1.25, 40.0, math.nan)
RECORDS = [1.25, 3.0, 3.0, 0.2, 7.5, 8.0, -4.0]


@cache
def candidates_of(candidates):
    """Every candidate with its weight."""
    low, high = candidates.ends
    codes = np.arange(low, high + 1)
    mass = np.diff(candidates.mass(np.append(low - 1, codes)))
    return [(int(c), int(m)) for c, m in zip(codes, mass, strict=True) if m]


def codes_of(draw, values):
    return draw.candidates.codes(np.array([v for v in values if not math.isnan(v)]))


def by_definition(draw, values, epsilon, *, none=False):
    """P of every candidate, from the scores of all of them; of "too few rows" at the end."""
    codes = np.sort(codes_of(draw, values))
    target = draw.share * len(codes)

    @cache
    def score(less, at_most):
        u = -max(0, less - target, target - at_most)
        return float(epsilon * u / (2 * draw.span))

    candidates = candidates_of(draw.candidates)
    each = [code for code, _ in candidates]
    less, at_most = (np.searchsorted(codes, each, side).tolist() for side in ("left", "right"))
    scores = [
        score(*ranks) + math.log(mass)
        for *ranks, (_, mass) in zip(less, at_most, candidates, strict=True)
    ]
    if none:
        u = draw.none_utility(len(codes), epsilon)
        scores.append(float(draw.scale(epsilon)) * u + math.log(draw.candidates.total))
    a = np.array(scores)
    return permute_and_flip(a - a.max())


def by_copies(draw, values, epsilon):
    """The same from the parts that are drawn."""
    column = Column.of(codes_of(draw, values))
    copies = Copies.of(column, draw.candidates)
    each = draw.law(copies, column.n, epsilon) / copies.count
    found = {code: 0.0 for code, _ in candidates_of(draw.candidates)}
    for i, share in enumerate(each):
        inside = range(int(copies.first[i]), int(copies.last[i]) + 1)
        same = [c for c, m in candidates_of(draw.candidates) if c in inside]
        weight = dict(candidates_of(draw.candidates))
        kind = [c for c in same if weight[c] == copies.weight[i]]
        assert len(kind) == copies.count[i]
        for code in kind:
            found[code] += share
    return np.array(list(found.values()))


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
@pytest.mark.parametrize("p", [10, "33.5", 50, 100])
@pytest.mark.parametrize("candidates", [TINY, SMALL, CUT], ids=repr)
def test_the_law_by_copies_is_that_of_all_candidates(candidates, p, neighbours):
    draw = RankDraw(p, candidates, neighbours, PF)
    rng = np.random.default_rng(3)
    for size in (0, 1, 2, 5, 17):
        values = rng.choice([*VALUES, 1.0, 1.04, 3.3, 7.0, 99.0], size=size)
        expected = by_definition(draw, values, Fraction(3, 2))
        assert by_copies(draw, values, Fraction(3, 2)) == pytest.approx(expected, rel=1e-9)


def test_the_law_of_days_is_that_of_all_days():
    draw = RankDraw(50, DAYS, ROWS, PF)
    values = [as_bound(f"2025-01-{day:02}") for day in (1, 5, 5, 20)]
    expected = by_definition(draw, values, Fraction(2))
    assert by_copies(draw, values, Fraction(2)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", [10, 50, 75])
@pytest.mark.parametrize("candidates", [TINY, CUT], ids=repr)
def test_the_privacy_loss_is_at_most_epsilon(candidates, p):
    """Missing numbers are among the records: under replacement one may become a number."""
    for neighbours, universe in (
        (REPLACE, testing.Universe.replace_one(VALUES, 4)),
        (ROWS, testing.Universe.add_remove_row(VALUES, max_rows=4)),
    ):
        draw = RankDraw(p, candidates, neighbours, PF)
        verdict = testing.law_loss(
            lambda x, draw=draw: by_definition(draw, x, Fraction(1)), universe, epsilon="1"
        )
        assert verdict, verdict
        assert verdict.value > 0.3


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
def test_too_few_rows_are_private(neighbours):
    draw = RankDraw(20, TINY, neighbours, PF)
    epsilon = Fraction(8)
    if neighbours is ROWS:
        universe = testing.Universe.add_remove_row((1.0, 5.0), max_rows=9)
    else:
        universe = testing.Universe.replace_one((1.0, 5.0), 9)
    law = lambda x: by_definition(draw, x, epsilon, none=True)  # noqa: E731
    assert testing.law_loss(law, universe, epsilon="8", name="none")


def test_one_exponential_for_all_copies_is_not_private():
    """The broken twin: the logarithm of a run's mass is a score, and depends on the records."""
    draw = RankDraw(50, TINY, ROWS, PF)

    def law(values):
        column = Column.of(codes_of(draw, values))
        parts = RankDraw(50, TINY, ROWS, EM).parts(column)
        a = draw.utility(parts, column.n) * float(draw.scale(Fraction(1))) + np.log(parts.mass)
        each = permute_and_flip(a - a.max()) / parts.mass
        ends = parts.start + parts.mass
        weights = np.array([m for _, m in candidates_of(TINY)])
        starts = np.cumsum(weights) - weights
        return each[np.searchsorted(ends, starts, side="right")] * weights

    universe = testing.Universe.add_remove_row(VALUES, max_rows=4)
    assert not testing.law_loss(law, universe, epsilon="1", name="twin")


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
@pytest.mark.parametrize("candidates", [TINY, CUT], ids=repr)
def test_draws_follow_the_law(candidates, neighbours):
    draw = RankDraw(40, candidates, neighbours, PF)
    column = Column.of(codes_of(draw, RECORDS))
    entropy = SystemEntropy()
    drawn = draw_many(lambda: draw.draw(column, Fraction(2), entropy), 2_600)
    codes = [code for code, _ in candidates_of(candidates)]
    right, wrong = (by_definition(draw, RECORDS, e) for e in (Fraction(2), Fraction(26, 10)))
    assert_draws_follow(counts_of(drawn, codes), right, wrong)


def test_draws_of_too_few_rows_follow_the_law():
    draw = RankDraw(40, TINY, ROWS, PF)
    column = Column.of(codes_of(draw, RECORDS * 2))
    entropy = SystemEntropy()
    drawn = draw_many(lambda: draw.draw_or_none(column, Fraction(4), entropy), 1_000)
    codes = [*(code for code, _ in candidates_of(TINY)), None]
    right, wrong = (
        by_definition(draw, RECORDS * 2, e, none=True) for e in (Fraction(4), Fraction(52, 10))
    )
    assert_draws_follow(counts_of(drawn, codes), right, wrong)


@pytest.mark.parametrize("bits", [3, 32])
def test_the_best_of_copies_follows_its_law(bits):
    values = np.array([0.0, -1.0, -3.0, -60.0, -2.0])
    weights = np.array([3, 2, 1, 10**6, 3])
    copies = np.array([1, 2, 10, 10**12, 3])
    entropy = InsecureEntropy(5)
    drawn = draw_many(
        lambda: best_of_copies(values, weights, copies, Fraction(1, 2), entropy, bits=bits), 3_000
    )

    def law(scale):
        a = values * scale + np.log(weights)
        return permute_and_flip(a - a.max(), copies.astype(float))

    assert_draws_follow(counts_of(drawn, range(5)), law(0.5), law(0.65))


@pytest.mark.parametrize("copies", [1, 2, 17, 10**9, 2**62])
def test_bounds_of_the_largest_of_many_enclose_it(copies):
    """Against ball arithmetic, at both ends of the interval of U."""
    from flint import arb, ctx

    words = np.array([0, 1, 2, 12345, 2**31, 2**32 - 2, 2**32 - 1], dtype=np.uint32)
    noise = LargestOf(copies)
    with np.errstate(divide="ignore"):
        lower, upper = noise.lower(words, 32), noise.upper(words, 32)
    with ctx.workprec(300):
        for i, word in enumerate(words.tolist()):
            for end, bound in ((word, lower[i]), (word + 1, upper[i])):
                if end in (0, 2**32):
                    assert bound == (0 if end == 0 else np.inf)
                    continue
                u = arb(end) / arb(2) ** 32
                exact = -(-((u.log() / copies).expm1())).log()
                assert abs(float(exact) - bound) < 2.0**-36


@pytest.mark.parametrize("neighbours", [REPLACE, ROWS])
def test_the_stated_ranks_hold_in_nine_of_ten_runs(neighbours):
    """On the worst column: every record at one of the lightest candidates."""
    draw = RankDraw(50, SMALL, neighbours, PF)
    light = min(candidates_of(SMALL), key=lambda pair: pair[1])[0]
    column = Column(np.array([light]), np.array([400]))
    copies = Copies.of(column, SMALL)
    away = -draw.utility(copies, 400) / draw.share.denominator
    law = draw.law(copies, 400, Fraction(1, 10))
    assert law[away > draw.farthest(Fraction(1, 10))].sum() <= 0.1
