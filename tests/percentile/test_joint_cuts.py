"""Many percentiles in one draw: the whole law on small universes, twins, the kernel, accuracy."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

import dampen
from dampen.core.selection import Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile import joint_cuts
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_cuts import FLOOR, Chain, Cuts, Joint
from dampen.questions.percentile.values import PercentileValue
from dampen.testing import Universe

POINTS = 3
ROWS = Universe.add_remove_row(range(POINTS), max_rows=4)
FIXED = Universe.replace_one(range(POINTS), 4)
REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW
LISTS = [("1/2", "3/4"), ("1/10", "1/2", "9/10"), tuple(f"{i}/11" for i in range(1, 11))]
EPSILON = Fraction(12)
"""Large, so that the weights of few tuples make up the sum, and losses come near ε."""


def ranks_of(x, points=POINTS):
    x = np.array(x, dtype=int)
    at_most = np.array([(x <= g).sum() for g in range(points)], dtype=np.int64)
    return Ranks(np.array([(x < g).sum() for g in range(points)], dtype=np.int64), at_most)


def asked(shares, neighbours, kind=Joint):
    return kind(tuple(map(Fraction, shares)), neighbours)


def weight(chain, tuple_of_cuts):
    """Of one tuple, by the definition."""
    places = [chain.ends[0], *chain.place[list(tuple_of_cuts)], chain.ends[1]]
    links = [
        np.exp(-chain.alpha * abs(b - a - t)) + FLOOR
        for (a, b), t in zip(pairwise(places), chain.steps, strict=True)
    ]
    return np.prod(links) * np.prod(chain.base[list(tuple_of_cuts)])


def transcripts(problem, x, parts, points=POINTS):
    """Every list of cuts with its probability, level by level, by the definition."""
    ranks = ranks_of(x, points)
    cuts, n = Cuts.of(ranks, parts), len(x)
    plan, m = list(problem.plan()), len(problem.shares)

    @cache
    def law(group, a, b):
        low = 0.0 if group.first == 0 else float(cuts.place[a])
        high = float(n) if group.last == m else float(cuts.place[b])
        chain = problem.chain(cuts, group, n, ((a, low), (b, high)), EPSILON / problem.levels)
        every = list(combinations_with_replacement(range(b - a + 1), len(group.wanted)))
        w = np.array([weight(chain, z) for z in every])
        return {tuple(a + i for i in z): p for z, p in zip(every, w / w.sum(), strict=True)}

    found = {}
    for z in combinations_with_replacement(range(len(cuts.point)), m):
        known = dict(enumerate(z)) | {-1: 0, m: len(cuts.point) - 1}
        found[z] = np.prod([
            law(g, known[g.first - 1], known[g.last])[tuple(known[i] for i in g.wanted)]
            for g in plan
        ])  # fmt: skip
    return found


def loss(problem, universe):
    laws = [transcripts(problem, x, np.array([2, 1, 2])) for x in universe.databases]
    left, right = universe.neighbours.T
    log_p = np.log([[law.get(z, 0.0) or 1e-300 for z in laws[0]] for law in laws])
    return float(np.abs(log_p[left] - log_p[right]).max() / EPSILON)


@pytest.mark.parametrize("shares", LISTS, ids=len)
@pytest.mark.parametrize(
    ("neighbours", "universe"), [(ADD, ROWS), (REPLACE, FIXED)], ids=["rows", "replace"]
)
def test_the_loss_of_all_cuts_is_at_most_epsilon(shares, neighbours, universe):
    assert 0.35 < loss(asked(shares, neighbours), universe) <= 1


class WithoutTheHalf(Joint):
    """As if a record moved all weights in one direction."""

    def chain(self, cuts, group, n, between, epsilon):
        return super().chain(cuts, group, n, between, 2 * epsilon)


class EachLevelAtEpsilon(Joint):
    """As if one record were in one level only."""

    def chain(self, cuts, group, n, between, epsilon):
        return super().chain(cuts, group, n, between, self.levels * epsilon)


@pytest.mark.parametrize(
    ("twin", "shares", "neighbours", "universe"),
    [
        (WithoutTheHalf, LISTS[1], ADD, ROWS),
        (WithoutTheHalf, LISTS[1], REPLACE, FIXED),
        (EachLevelAtEpsilon, LISTS[2], ADD, ROWS),
    ],
)
def test_a_broken_twin_is_found(twin, shares, neighbours, universe):
    assert loss(asked(shares, neighbours, twin), universe) > 1.1


def random_chain(generator, cells, links):
    place = np.sort(generator.integers(0, 40, cells)) / 2
    steps = tuple((generator.integers(0, 30, links + 1) / 2).tolist())
    base = 1 / 2.0 ** generator.integers(0, 5, cells)
    return Chain(place, base, float(generator.choice([0.0, 0.1, 3.0, 400.0])), steps, (0.0, 20.0))


def test_the_scores_give_the_law():
    """The fast sums against every tuple, and against the definition in order of the draws."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        chain = random_chain(generator, 7, 3)
        law, total = {}, 0.0
        for z in combinations_with_replacement(range(7), 3):
            law[z] = weight(chain, z)
            total += law[z]
        for (i, j, k), w in law.items():
            drawn = 1.0
            for level, here, after in ((2, k, None), (1, j, k), (0, i, j)):
                scores = np.exp(chain.scores(level, after))
                drawn *= scores[here] / scores.sum()
            assert drawn == pytest.approx(w / total, rel=1e-11)


def test_messages_are_within_the_rounding_that_is_paid_for():
    """Against exact sums of the same weights; the bound holds for all data, so it is loose."""
    generator = np.random.default_rng(2)
    for _ in range(5):
        chain = random_chain(generator, 60, 9)
        before = [Fraction(float(v)) for v in chain.messages[0]]
        for j in range(1, 9):
            v = [b * Fraction(float(w)) for b, w in zip(before, chain.base, strict=True)]
            exact = []
            for c in range(60):
                d = np.abs(chain.place[c] - chain.place[: c + 1] - chain.steps[j])
                links = np.exp(-chain.alpha * d) + FLOOR
                exact.append(
                    sum(
                        (a * Fraction(float(w)) for a, w in zip(v, links, strict=False)),
                        Fraction(0),
                    )
                )
            scale = Fraction(float(chain.messages[j, -1])) / exact[-1]
            off = [
                float(Fraction(float(m)) / (e * scale) - 1)
                for m, e in zip(chain.messages[j], exact, strict=True)
            ]
            assert np.abs(off).max() < 4 * 60 * 2.0**-51
            before = exact
    bound = joint_cuts.MOST * 4 * 2 * joint_cuts.CELLS * 2.0**-51
    assert 4 * bound <= float(joint_cuts.ROUNDING)


def test_draws_have_the_law():
    """Chi-square over all cuts; false alarms: below 1e-6."""
    from scipy.stats import chisquare

    problem, x, parts = asked(LISTS[1], ADD), [0, 0, 1, 2], np.array([2, 1, 1])
    law = transcripts(problem, x, parts)
    cuts, entropy, ranks = Cuts.of(ranks_of(x), parts), dampen.InsecureEntropy(7), ranks_of(x)
    expected = {}
    for z, p in law.items():
        points = tuple(cuts.point[list(z)].tolist())
        expected[points] = expected.get(points, 0) + p
    drawn = [tuple(problem.drawn(cuts, ranks, EPSILON, entropy)) for _ in range(1500)]
    counts = [drawn.count(z) for z in expected]
    assert sum(counts) == 1500
    assert chisquare(counts, 1500 * np.array(list(expected.values()))).pvalue > 1e-6


def test_a_plan_asks_for_every_percentile_once():
    for m in [*range(1, 120), 999]:
        problem = Joint(tuple(Fraction(i, m + 1) for i in range(1, m + 1)), REPLACE)
        plan = list(problem.plan())
        assert sorted(i for g in plan for i in g.wanted) == list(range(m))
        assert max(len(g.wanted) for g in plan) <= joint_cuts.MOST
        assert max(g.level for g in plan) < problem.levels
        known = {-1, m}
        for group in plan:
            assert {group.first - 1, group.last} <= known
            known |= set(group.wanted)


def test_parts_follow_public_numbers_and_noisy_counts_only():
    problem, none = asked(LISTS[1], REPLACE), dampen.InsecureEntropy(1)
    few = problem.parts(ranks_of([0] * 50), Fraction(1), none)
    other = problem.parts(ranks_of([0, 1, 2, 2, 2] * 10), Fraction(1), none)
    assert few.parts.tolist() == other.parts.tolist() == [64] * 3
    assert few.left == 1
    heavy = Ranks(np.r_[0, np.full(4095, 10**6)], np.full(4096, 10**6))
    found = problem.parts(heavy, Fraction(1, 2), none)
    assert found.left == Fraction(19, 40)
    assert found.parts[0] > found.parts[1:].max() == joint_cuts.FEW_PARTS
    assert problem.parts(heavy, Fraction(1000), none).parts is None
    rows = asked(LISTS[1], ADD).parts(ranks_of([0] * 50), Fraction(1), none)
    assert rows.left == Fraction(95, 100)


def split_errors(x, points, epsilon):
    """The expected rank error of equal shares, computed."""
    found = []
    for p in points:
        one = PercentileValue(n=len(x), p=p, upper=500, step=1).selection(x)
        law = dampen.probabilities(one, epsilon=Fraction(epsilon) / len(points), mechanism="pf")
        found.append(-float(law @ one.utility))
    return np.mean(found)


def rank_errors(x, points, answers):
    x = np.sort(x)
    k = np.array([rank(p, len(x)) for p in points])
    less, at_most = np.searchsorted(x, answers), np.searchsorted(x, answers, side="right")
    return np.maximum(np.maximum(less + 1 - k, k - at_most), 0)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize(("m", "times"), [(9, 5), (99, 20)])
def test_one_draw_beats_splitting(neighbours, m, times):
    """By far: the means are 30 and 90 times apart here."""
    x = np.floor(np.minimum(np.random.default_rng(8).lognormal(3, 1, 20_000), 500))
    shares = tuple(Fraction(i, m + 1) for i in range(1, m + 1))
    points, ranks = [100 * q for q in shares], ranks_of(x, 501)
    problem = Joint(shares, neighbours)
    errors = [
        rank_errors(x, points, problem.draw(ranks, Fraction(1, 2), dampen.InsecureEntropy(s)))
        for s in range(4)
    ]
    assert np.mean(errors) * times < split_errors(x, points, "0.5")


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize("epsilon", ["1e-40", "1e-6", "60", "1e5", "1e40"])
def test_every_epsilon_works(neighbours, epsilon):
    ranks = ranks_of([10] * 200 + [40] * 600 + [80] * 200, 101)
    problem = Joint(tuple(Fraction(i, 10) for i in range(1, 10)), neighbours)
    drawn = problem.draw(ranks, Fraction(epsilon), dampen.InsecureEntropy(1))
    assert drawn == sorted(drawn)
    if Fraction(epsilon) > 1:
        assert [drawn[i] for i in (0, 4, 8)] == [10, 40, 80]
