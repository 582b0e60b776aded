"""Several percentiles by taut paths: the whole law on small universes, twins, kernel, accuracy."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

import dampen
from dampen.core.noise import pure_rho
from dampen.core.selection import Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile import joint_tight
from dampen.questions.percentile.halving import COUNTING, Halving, NoisyTree, Ranks
from dampen.questions.percentile.joint_tight import Paths, Targets, Taut, intervals
from dampen.questions.percentile.values import PercentileValue
from dampen.testing import Universe
from joint_laws import law_of, ranks_of
from relations import RELATIONS, percentile
from renyi import least_rho_of

VALUES = (0, 0.5, 1, 2)
GRID = (0, 1, 2)
CROWDED = (0, *(0.6 + i / 100 for i in range(30)), 1, 2)
"""Many points at one rank: where they are likely, the sum of all weights moves most."""
ROWS = Universe.add_remove_row(VALUES, max_rows=4)
FIXED = Universe.replace_one(VALUES, 4)
REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW
LISTS = [("1/2", "3/4"), ("1/10", "1/2", "9/10"), tuple(f"{i}/12" for i in range(1, 12))]


def asked(shares, neighbours, points=3, kind=Taut):
    shares = tuple(map(Fraction, shares))
    way = joint_tight.together(shares, neighbours, points)
    return kind(shares, neighbours, points, way.otherwise)


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


def least_variation(points, targets, chosen):
    """TV by all paths whose places are 0, the end, or ends of intervals; one of them is best."""
    end = points[1, -1] - targets.end
    places = np.unique(np.r_[0.0, end, np.subtract.outer(points.ravel(), targets.ranks).ravel()])
    cost = np.where(places == 0, 0.0, np.inf)
    for i, r in zip(chosen, targets.ranks, strict=True):
        cost = (cost[:, None] + np.abs(places[:, None] - places)).min(axis=0)
        inside = (points[0, i] - r <= places) & (places <= points[1, i] - r)
        cost = np.where(inside, cost, np.inf)
    return (cost + np.abs(places - end)).min()


def loss(problem, universe, grid, epsilon, law=law_of):
    """The largest log-ratio over ε; a noisy number of records is any that is likely."""
    left, right = universe.neighbours.T
    found = []
    for public in (1, 2, 3, 5) if problem.counts else [None]:

        @cache
        def logs_of(x, public=public):
            points = intervals(ranks_of(x, grid))
            n = points[1, -1]
            fixed = int(n) if problem.neighbours is REPLACE else public
            return np.log(list(law(points, problem.targets(n, fixed, epsilon)).values()))

        logs = np.array([logs_of(tuple(sorted(x))) for x in universe.databases])
        found += [np.abs(logs[a] - logs[b]).max() for a, b in zip(left, right, strict=True)]
    return max(found) / float(epsilon) + (float(COUNTING) if problem.counts else 0)


FEWER = Universe.add_remove_row(VALUES, max_rows=3)


@pytest.mark.parametrize("epsilon", ["1/5", "3", "12"])
@pytest.mark.parametrize(
    ("shares", "neighbours", "universe", "grid", "near"),
    [
        (LISTS[0], REPLACE, FIXED, CROWDED, 0.55),
        (LISTS[1], REPLACE, FIXED, CROWDED, 0.55),
        (LISTS[1], REPLACE, FIXED, GRID, 0.55),
        (LISTS[0], ADD, ROWS, CROWDED, 0.55),
        (LISTS[1], ADD, ROWS, CROWDED, 0.55),
        (LISTS[2], ADD, FEWER, GRID, 0.5),
    ],
)
def test_the_loss_is_at_most_epsilon(shares, neighbours, universe, grid, near, epsilon):
    found = loss(asked(shares, neighbours, len(grid)), universe, grid, Fraction(epsilon))
    assert near < found <= 1


@pytest.mark.parametrize("epsilon", ["1/5", "1", "3"])
@pytest.mark.parametrize(
    ("shares", "neighbours", "universe", "grid"),
    [(LISTS[1], REPLACE, FIXED, GRID), (LISTS[0], ADD, ROWS, CROWDED)],
)
def test_the_price_in_zcdp_covers_the_law(shares, neighbours, universe, grid, epsilon):
    """ε²/8 for up to nine percentiles.  A twin that is charged for half of its ε is found."""
    problem, e = asked(shares, neighbours, len(grid)), Fraction(epsilon)

    def logs_of(x):
        points = intervals(ranks_of(x, grid))
        size = int(points[1, -1]) if neighbours is REPLACE else None
        return np.log(list(law_of(points, problem.targets(points[1, -1], size, e)).values()))

    lost = least_rho_of(np.array([logs_of(x) for x in universe.databases]), universe)
    assert e**2 / 8 < problem.rho(e) < e**2 / 8 * Fraction("1.000001")
    assert float(problem.rho(e / 2)) < lost <= float(problem.rho(e))


def test_the_price_is_that_of_the_way_which_is_taken():
    """Known before the charge, but for the two ways that a noisy number of records decides."""
    few = asked(LISTS[0], REPLACE, 3)
    tiny = Fraction("1e-12")
    assert few.rho(tiny) == few.otherwise.rho(tiny)
    many, e = asked(LISTS[2], ADD), Fraction(1)
    dearer = max(many.otherwise.rho_given(e), ((1 - COUNTING) * e + 2 * many.rounding(e)) ** 2 / 8)
    assert many.rho(e) == pure_rho(COUNTING * e) + dearer


def test_the_loss_comes_near_epsilon():
    """So no factor is given away: .98 where points crowd."""
    problem = asked(LISTS[0], REPLACE, len(CROWDED))
    assert loss(problem, FIXED, CROWDED, Fraction(1, 5)) > 0.95


def test_a_noisy_count_is_paid_for_where_it_is_taken():
    noise = dampen.InsecureEntropy(1)
    assert not asked(LISTS[1], ADD).counts
    assert not asked(LISTS[2], REPLACE).counts
    many = asked(LISTS[2], ADD)
    drawn = [many.size(1000, Fraction(1), noise) - 1000 for _ in range(2000)]
    scale = float(1 / COUNTING)
    assert np.mean(np.abs(drawn)) == pytest.approx(scale, rel=0.15)
    assert many.alpha(Fraction(1)) == pytest.approx(float(1 - COUNTING) / 2)


class WithoutTheHalf(Taut):
    """As if a record moved all weights in one direction."""

    def alpha(self, epsilon):
        return super().alpha(2 * epsilon)


class WholeTargets(Taut):
    """Targets rounded to whole ranks, for which nobody pays."""

    def targets(self, n, size, epsilon):
        exact = super().targets(n, size, epsilon)
        return Targets(tuple(round(r) for r in exact.ranks), float(n), exact.alpha)


@pytest.mark.parametrize(
    ("twin", "shares", "neighbours", "universe"),
    [
        (WithoutTheHalf, LISTS[0], REPLACE, FIXED),
        (WithoutTheHalf, LISTS[0], ADD, ROWS),
        (WholeTargets, ("1/6", "2/6", "3/6", "4/6", "5/6"), ADD, ROWS),
    ],
)
def test_a_broken_twin_is_found(twin, shares, neighbours, universe):
    grid = CROWDED if len(shares) == 2 else GRID
    assert loss(asked(shares, neighbours, len(grid), twin), universe, grid, Fraction(1, 5)) > 1.1


def random_paths(generator, points, J):
    """Ties, empty points, targets that coincide or lie beyond the end, within a reach."""
    sizes = generator.choice([0, 0, 0.5, 1, 2, 7], points)
    edges = np.r_[0.0, np.cumsum(sizes)]
    ranks = np.sort(generator.integers(0, int(edges[-1]) + 4, J)) + generator.choice([0.5, 0.25])
    end = float(max(edges[-1] + generator.integers(-1, 2), ranks[-1]))
    alpha = float(generator.choice([0.0, 0.1, 1.0, 3.0, 400.0]))
    targets = Targets(tuple(ranks.tolist()), end, alpha)
    return Paths(np.stack([edges[:-1], edges[1:]]), targets, 170 / max(alpha, 1e-9))


def drawn_law(paths):
    """Of the tuples, by the scores from which states are drawn one after the other."""

    def chances(scores):
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    *last, any_tuple = chances(paths.last_scores())
    J, G = len(paths.rows), paths.points.shape[1]
    tuples = list(combinations_with_replacement(range(G), J))
    law = dict.fromkeys(tuples, any_tuple / len(tuples))
    open_paths = [((int(paths.rows[-1][0, s]),), s, p) for s, p in enumerate(last)]
    for j in reversed(range(1, J)):
        longer = []
        for z, state, p in open_paths:
            if p > 0:
                first, scores = paths.scores_before(j, state)
                longer += [
                    ((int(paths.rows[j - 1][0, first + i]), *z), first + i, p * q)
                    for i, q in enumerate(chances(scores))
                ]
        open_paths = longer
    for z, _, p in open_paths:
        law[z] += p
    return law


def test_the_scores_give_the_law():
    """Every sum of the kernel, and what is left out beyond the reach, against the definition."""
    generator = np.random.default_rng(3)
    for _ in range(150):
        paths = random_paths(generator, 6, int(generator.integers(1, 5)))
        law, expected = drawn_law(paths), law_of(paths.points, paths.targets)
        assert np.array(list(law.values())) == pytest.approx(
            np.array([expected[z] for z in law]), rel=1e-10, abs=1e-300
        )


def test_the_lazy_path_is_shortest():
    generator = np.random.default_rng(4)
    for _ in range(100):
        paths = random_paths(generator, 8, 5)
        points, targets = paths.points, paths.targets
        chosen = np.sort(generator.integers(0, 8, 5))
        e, cost = 0.0, 0.0
        for i, r in zip(chosen, targets.ranks, strict=True):
            nearest = float(np.clip(e, points[0, i] - r, points[1, i] - r))
            e, cost = nearest, cost + abs(nearest - e)
        cost += abs(points[1, -1] - targets.end - e)
        assert cost == pytest.approx(least_variation(points, targets, chosen), abs=1e-12)


def test_weights_are_within_the_rounding_that_is_paid_for():
    """Against exact sums over the states before; the bound holds for all data, so it is loose."""
    generator = np.random.default_rng(5)
    for _ in range(12):
        paths = random_paths(generator, 40, 6)
        alpha = paths.targets.alpha
        for (before, row), (r, s) in zip(
            pairwise(paths.rows), pairwise(paths.targets.ranks), strict=True
        ):
            for point, y, weight in row.T:
                low, high = paths.points[:, int(point)]
                exact = sum(
                    (
                        Fraction(float(w)) * Fraction(float(np.exp(-alpha * abs(x + s - r - y))))
                        for i, x, w in before.T
                        if i <= point and float(np.clip(x + s - r, low, high)) == y
                    ),
                    Fraction(0),
                )
                assert abs(Fraction(float(weight)) / exact - 1) < 4 * (row.shape[1] + 512) / 2**53


def test_the_best_tuple_costs_nothing():
    generator = np.random.default_rng(6)
    for _ in range(20):
        x = np.sort(generator.choice(VALUES, int(generator.integers(1, 30))))
        problem, points = asked(LISTS[1], REPLACE), intervals(ranks_of(x, GRID))
        targets = problem.targets(points[1, -1], len(x), Fraction(1))
        tuples = combinations_with_replacement(range(len(GRID)), 3)
        assert min(least_variation(points, targets, z) for z in tuples) == 0


@pytest.mark.parametrize(("x", "neighbours"), [([0, 0, 1, 2], ADD), ([0, 0.5, 0.5, 2], REPLACE)])
def test_draws_have_the_law(x, neighbours):
    """Chi-square over all tuples; false alarms: below 1e-6 each."""
    from scipy.stats import chisquare

    problem, points = asked(LISTS[1], neighbours), intervals(ranks_of(x, GRID))
    entropy = dampen.InsecureEntropy(7)
    n = int(points[1, -1])
    targets = problem.targets(n, problem.size(n, Fraction(3), entropy), Fraction(3))
    expected = law_of(points, targets)
    paths = Paths(points, targets, 1e3)
    drawn = [tuple(paths.draw(entropy)) for _ in range(3000)]
    counts = [drawn.count(z) for z in expected]
    assert sum(counts) == 3000
    assert chisquare(counts, 3000 * np.array(list(expected.values()))).pvalue > 1e-6


def test_out_of_reach_every_tuple_is_alike():
    """Chi-square; false alarms: below 1e-6."""
    from scipy.stats import chisquare

    paths = Paths(np.array([[0.0, 1, 2], [1.0, 2, 3]]), Targets((1e6, 1e6), 1e6, 1.0), 100.0)
    entropy = dampen.InsecureEntropy(8)
    drawn = [tuple(paths.draw(entropy)) for _ in range(1200)]
    counts = [drawn.count(z) for z in combinations_with_replacement(range(3), 2)]
    assert sum(counts) == 1200
    assert chisquare(counts).pvalue > 1e-6


def test_the_way_is_chosen_by_public_numbers():
    deciles = tuple(Fraction(i, 10) for i in range(1, 10))
    hundred = tuple(Fraction(i, 100) for i in range(1, 100))
    assert isinstance(joint_tight.together(deciles, REPLACE, 10**6), Taut)
    assert isinstance(joint_tight.together(hundred, REPLACE, 4096), Taut)
    assert isinstance(joint_tight.together(hundred, ADD, 100_000), NoisyTree)
    assert isinstance(joint_tight.together(hundred, ADD, 4096).otherwise, NoisyTree)
    assert isinstance(joint_tight.together(deciles, ADD, 4096).otherwise, Halving)
    assert isinstance(joint_tight.together(deciles, ADD, 5 * 10**6), Halving)
    assert joint_tight.together(deciles[:2], ADD, 5 * 10**6) is None
    for neighbours in (REPLACE, ADD):
        assert asked(deciles, neighbours, 4096).fits(Fraction(1, 1000))
        assert asked(hundred, neighbours, 4096).fits(Fraction(1, 2))
        assert not asked(deciles, neighbours, 10**6).fits(Fraction(1, 10**9))


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_where_empty_points_would_outweigh_the_data_the_tree_draws(neighbours):
    """99 percentiles of few records in one corner: 95 here, where the tuple has 250 and 130."""
    hundred = tuple(Fraction(i, 100) for i in range(1, 100))
    points = [100 * q for q in hundred]
    x = np.floor(np.minimum(200 * np.random.default_rng(5).lognormal(0, 1, 8000), 4095))
    ranks, epsilon = ranks_of_points(x, 4096), Fraction(1, 10)
    way = joint_tight.together(hundred, neighbours, 4096)
    assert way.crowded(len(x), epsilon)
    assert not way.crowded(20 * len(x), epsilon)
    tree = NoisyTree(hundred, neighbours, 4096)
    errors, by_tree = (
        np.mean([
            rank_errors(x, points, drawn.draw(ranks, epsilon, dampen.InsecureEntropy(seed))).mean()
            for seed in range(12)
        ])
        for drawn in (way, tree)
    )  # fmt: skip
    assert errors < 1.3 * by_tree
    size = len(x) if neighbours is REPLACE else way.size(len(x), epsilon, dampen.InsecureEntropy(0))
    alone = Paths(intervals(ranks), way.targets(len(x), size, epsilon), way._reach(epsilon))
    assert rank_errors(x, points, alone.draw(dampen.InsecureEntropy(1))).mean() > 1.3 * errors


def ranks_of_points(x, points):
    at_most = np.cumsum(np.bincount(x.astype(int), minlength=points))
    return Ranks(np.r_[0, at_most[:-1]], at_most)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("m", "times"), [(9, 20), (99, 60)])
def test_one_draw_beats_splitting(relation, m, times):
    """By far: the means are 50 and 200 times apart here, or more."""
    x = np.floor(np.minimum(np.random.default_rng(8).lognormal(3, 1, 20_000), 500))
    points = [100 * Fraction(i, m + 1) for i in range(1, m + 1)]
    given = {"p": points, "epsilon": "0.5", "upper": 500, "step": 1}
    errors = [
        rank_errors(x, points, percentile(
            x, relation, entropy=dampen.InsecureEntropy(seed, allow_release=True), **given
        ).answer).mean()
        for seed in range(6)
    ]  # fmt: skip
    assert np.mean(errors) * times < split_errors(x, points, "0.5")


@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_in_ties_three_cost_what_one_does(epsilon):
    """Beyond the expected error of each alone, for the whole ε, there is at most some noise."""
    x = np.repeat([10, 20, 30, 40, 90], [230, 240, 260, 200, 70])
    points = [20, 45, 90]
    alone = np.mean([
        split_errors(x, [p], epsilon) for p in points
    ])  # fmt: skip
    errors = [
        rank_errors(x, points, percentile(
            x, "replace-one", p=points, epsilon=epsilon, upper=500, step=1,
            entropy=dampen.InsecureEntropy(seed, allow_release=True),
        ).answer).mean()
        for seed in range(200)
    ]  # fmt: skip
    assert np.mean(errors) <= 1.3 * alone + 4 * np.std(errors) / 200**0.5 + 0.05


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [3, 12])
def test_all_values_are_as_near_as_stated(relation, m):
    """On data that is as hard as can be: all points but a few crowd far from the percentiles."""
    x = np.r_[np.zeros(400), np.full(200, 50.5), np.full(400, 100.0)]
    points = [100 * i // (m + 1) for i in range(1, m + 1)]
    missed = 0
    for seed in range(60):
        made = percentile(
            x, relation, p=points, epsilon="0.5", upper=100, step=1,
            entropy=dampen.InsecureEntropy(seed, allow_release=True),
        )  # fmt: skip
        told = made.accuracy.error
        best = [
            -PercentileValue(n=len(x), p=p, upper=100, step=1).selection(x).utility.max()
            for p in points
        ]
        missed += (rank_errors(x, points, made.answer) - best).max() > told
    assert missed <= 60 * 0.1


def test_the_bound_of_the_sentence_holds_by_the_law():
    problem = asked(LISTS[1], REPLACE, points=4)
    for sizes in ([50, 0, 0, 50], [0, 30, 40, 30], [1, 98, 0, 1], [25, 25, 25, 25]):
        edges = np.r_[0.0, np.cumsum(sizes)]
        points = np.stack([edges[:-1], edges[1:]])
        for epsilon in (Fraction(1, 20), Fraction(1, 2)):
            targets = problem.targets(100.0, 100, epsilon)
            far = problem.farthest(epsilon)
            law = law_of(points, targets)
            bad = sum(p for z, p in law.items() if least_variation(points, targets, z) > far)
            assert bad < 0.1


def test_ranks_are_those_of_labels():
    made = asked(LISTS[1], REPLACE).targets(1000.0, 1000, Fraction(1))
    assert made.ranks == tuple(rank(p, 1000) - 0.5 for p in (10, 50, 90))
    assert made.end == 1000


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")
@pytest.mark.parametrize("epsilon", ["1e-40", "1e-6", "60", "1e5", "1e40"])
def test_every_epsilon_works(relation, epsilon):
    x = [10] * 200 + [40] * 600 + [80] * 200
    made = percentile(x, relation, p="deciles", epsilon=epsilon, upper=100, step=1)
    assert made.answer == sorted(made.answer)
    if Fraction(epsilon) > 1:
        assert [made.answer[i] for i in (0, 4, 8)] == [10, 40, 80]


@pytest.mark.parametrize("m", [3, 12])
@pytest.mark.parametrize("x", [[], [7]])
def test_no_rows_and_one(x, m):
    made = dampen.percentile(
        x, p=[100 * i // (m + 1) for i in range(1, m + 1)], epsilon="2", upper=50,
        step=1,
    )  # fmt: skip
    assert made.answer == sorted(made.answer)
    assert len(made.answer) == m
