"""Many percentiles by noisy counts: the whole law on small universes, twins, bounds, accuracy."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import dampen
from dampen.core.noise import pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import (
    COUNTING,
    Descent,
    Halving,
    NoisyTree,
    Ranks,
    estimates,
    isotonic,
    shape,
    target_ranks,
)
from dampen.testing import Universe
from renyi import least_rho

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW
VALUES = (0, 0.5, 1, 2)
GRID = (0, 1, 2)
ROWS = Universe.add_remove_row(VALUES, max_rows=3)
FIXED = Universe.replace_one(VALUES, 3)
SHARES = (Fraction(1, 3), Fraction(3, 4))
WIDEST = 16
"""Noise beyond it has a probability below 1e-6 in what follows, and less where ε is 4."""


def ranks_of(x, grid=GRID):
    x = np.array(x, dtype=float)
    less, at_most = ([count(x, g).sum() for g in grid] for count in (np.less, np.less_equal))
    return Ranks(np.array(less, dtype=np.int64), np.array(at_most, dtype=np.int64))


def hundred(m=99):
    return tuple(Fraction(i, m + 1) for i in range(1, m + 1))


def law_of_noise(scale):
    z = np.arange(-WIDEST, WIDEST + 1)
    p = np.exp(-np.abs(z) / scale)
    return z, p / p.sum()


def law(problem, x, size, epsilon):
    """Every tuple of answers of a tree with one level, by all noise, given N."""
    counts = problem.counts(problem.edges(ranks_of(x)), np.zeros(1, dtype=np.int64), 1)
    z, p = law_of_noise(float(problem.scale(epsilon)))
    b = problem.parts
    noisy = counts + np.stack(np.meshgrid(*[z] * b, indexing="ij"), axis=-1).reshape(-1, b)
    chance = np.prod(np.stack(np.meshgrid(*[p] * b, indexing="ij"), axis=-1).reshape(-1, b), axis=1)
    ends = np.stack([np.zeros(len(noisy)), np.full(len(noisy), float(size))])
    sums = estimates(noisy / 2, np.full(len(noisy), b), ends)
    drawn = [(sums[:, 1:b] < r).sum(axis=1) for r in target_ranks(problem.shares, size)]
    total = np.bincount(drawn[0] * b + drawn[1], weights=chance, minlength=b * b)
    return {divmod(i, b): w for i, w in enumerate(total) if w > 0}


def loss(problem, universe, epsilon):
    """The largest log-ratio over ε, that of N, which is any size that is likely, included."""
    sizes = [3] if problem.neighbours is REPLACE else [1, 2, 4]
    found = []
    for size in sizes:
        laws = {tuple(sorted(x)): law(problem, x, size, epsilon) for x in universe.databases}
        for a, b in universe.neighbours:
            one, two = (laws[tuple(sorted(universe.databases[i]))] for i in (a, b))
            assert one.keys() == two.keys()
            found += [abs(np.log(one[z] / two[z])) for z in one]
    paid = 0 if problem.neighbours is REPLACE else float(COUNTING)
    return max(found) / float(epsilon) + paid


@pytest.mark.parametrize(("neighbours", "universe"), [(ADD, ROWS), (REPLACE, FIXED)])
def test_the_loss_of_all_answers_is_at_most_epsilon(neighbours, universe):
    problem = NoisyTree(SHARES, neighbours, len(GRID))
    assert (problem.parts, problem.levels) == (3, 1)
    assert 0.5 < loss(problem, universe, Fraction(4)) <= 1 + 1e-6


class OfHalfTheNoise(NoisyTree):
    """As if a record between two points, or replaced, counted once."""

    def scale(self, epsilon):
        return super().scale(2 * epsilon)


@pytest.mark.parametrize(("neighbours", "universe"), [(ADD, ROWS), (REPLACE, FIXED)])
def test_a_broken_twin_is_found(neighbours, universe):
    assert loss(OfHalfTheNoise(SHARES, neighbours, len(GRID)), universe, Fraction(4)) > 1.1


@pytest.mark.parametrize(("neighbours", "universe"), [(ADD, ROWS), (REPLACE, FIXED)])
def test_all_counts_of_all_levels_cost_epsilon(neighbours, universe):
    """Exactly: the 1-norm over the scale, summed over the levels of a tree of nine points."""
    grid = np.linspace(0, 2, 9)
    problem = NoisyTree(SHARES, neighbours, 9)
    object.__setattr__(problem, "parts", 3)
    object.__setattr__(problem, "levels", 2)

    def counted(x):
        edges = problem.edges(ranks_of(x, grid))
        levels = [problem.counts(edges, np.arange(3 ** (level - 1)), level) for level in (1, 2)]
        return np.concatenate([level.ravel() for level in levels])

    counts = [counted(x) for x in universe.databases]
    moved = max(int(np.abs(counts[a] - counts[b]).sum()) for a, b in universe.neighbours)
    paid = 0 if neighbours is REPLACE else COUNTING
    assert moved / problem.scale(Fraction(1)) + paid == 1


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_draws_have_the_law(neighbours):
    """Chi-square over all tuples given N; false alarms: below 1e-6 each."""
    from scipy.stats import chisquare

    problem, x, epsilon = NoisyTree(SHARES, neighbours, len(GRID)), [0, 0.5, 2], Fraction(3)
    expected = law(problem, x, 4, epsilon)
    entropy, ranks = dampen.InsecureEntropy(3), ranks_of(x)
    drawn = [tuple(problem.draw_given(4, ranks, epsilon, entropy)) for _ in range(3000)]
    counts = [drawn.count(z) for z in expected]
    assert sum(counts) == 3000
    assert chisquare(counts, 3000 * np.array(list(expected.values()))).pvalue > 1e-6


def test_isotonic_is_the_nearest_and_moves_nothing_by_more():
    """Against every sequence of block means; and the property that the lemma needs."""
    generator = np.random.default_rng(1)
    for _ in range(50):
        one, two = generator.normal(size=(2, 5)) * 3
        fitted = isotonic(np.stack([one, two]))
        assert (np.diff(fitted) >= -1e-12).all()
        assert np.abs(fitted[0] - fitted[1]).max() <= np.abs(one - two).max() + 1e-12
        best = np.inf
        for ends in product([False, True], repeat=4):
            blocks = np.cumsum(np.r_[0, ends])
            means = np.array([one[blocks == block].mean() for block in blocks])
            if (np.diff(means) >= 0).all():
                best = min(best, ((one - means) ** 2).sum())
        assert ((one - fitted[0]) ** 2).sum() == pytest.approx(best)


def test_estimates_are_off_as_the_lemma_says():
    """Parts beyond the grid included."""
    generator = np.random.default_rng(2)
    for _ in range(200):
        b, real = 6, int(generator.integers(1, 7))
        counts = np.where(np.arange(b) < real, generator.choice([0, 0, 1, 5, 40], b), 0)
        noise = generator.laplace(0, 4, b) * (np.arange(b) < real)
        truth = np.r_[0, np.cumsum(counts)].astype(float)
        ends = np.array([[0.0], [truth[-1]]]) + generator.normal(0, 3, (2, 1))
        ends[1] = np.maximum(ends[0], ends[1])
        found = estimates((counts + noise)[None], np.array([real]), ends)[0]
        walk = np.cumsum(noise)
        bridge = walk - np.minimum(np.arange(1, b + 1) / real, 1) * walk[-1]
        off = max(abs(ends[0, 0]), abs(ends[1, 0] - truth[-1])) + np.abs(bridge).max()
        assert (np.diff(found) >= 0).all()
        assert np.abs(found - truth).max() <= off + 1e-9


def test_without_noise_every_percentile_is_found():
    generator = np.random.default_rng(3)
    for points in (1, 2, 3, 17, 100, 1000):
        x = generator.integers(0, points, 5000)
        at_most = np.cumsum(np.bincount(x, minlength=points))
        ranks = Ranks(np.r_[0, at_most[:-1]], at_most)
        for neighbours in (REPLACE, ADD):
            problem = NoisyTree(hundred(), neighbours, points)
            drawn = np.array(problem.draw(ranks, Fraction(10**9), dampen.InsecureEntropy(1)))
            k = np.array([rank(100 * q, 5000) for q in problem.shares])
            assert ((ranks.less[drawn] < k) & (k <= ranks.at_most[drawn])).all()


def test_the_tree_covers_the_grid_with_few_parts():
    for points in [*range(1, 400), 4096, 10**5, 10**7]:
        b, h = shape(points)
        assert b**h >= points
        assert b <= 80


def test_a_percentile_never_leaves_the_grid():
    """1,000 points have 10 parts a level; 1,001 have 11, most of the last ones empty."""
    problem = NoisyTree(hundred(9), REPLACE, 1001)
    ranks = Ranks(np.zeros(1001, dtype=np.int64), np.r_[np.zeros(1000, dtype=np.int64), 50])
    for seed in range(50):
        drawn = problem.draw(ranks, Fraction(1, 100), dampen.InsecureEntropy(seed))
        assert drawn == sorted(drawn)
        assert drawn[-1] <= 1000


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize("epsilon", ["1e-40", "1e-6", "60", "1e5", "1e40"])
def test_every_epsilon_works(neighbours, epsilon):
    at_most = np.cumsum(np.bincount(np.repeat([10, 40, 80], [200, 600, 200]), minlength=101))
    ranks = Ranks(np.r_[0, at_most[:-1]], at_most)
    problem = NoisyTree(hundred(), neighbours, 101)
    drawn = problem.draw(ranks, Fraction(epsilon), dampen.InsecureEntropy(1))
    assert drawn == sorted(drawn)
    if Fraction(epsilon) > 1:
        assert [drawn[i] for i in (9, 49, 89)] == [10, 40, 80]


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize("x", [[], [7]])
def test_no_rows_and_one(neighbours, x):
    at_most = np.cumsum(np.bincount(np.array(x, dtype=int), minlength=51))
    ranks = Ranks(np.r_[0, at_most[:-1]], at_most)
    problem = NoisyTree(hundred(), neighbours, 51)
    drawn = problem.draw(ranks, Fraction(2), dampen.InsecureEntropy(1))
    assert drawn == sorted(drawn)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize("between", [False, True])
def test_all_values_are_as_near_as_stated(neighbours, between):
    """Records on points, and halfway between them; the bound is some five times too wide."""
    generator = np.random.default_rng(4)
    x = np.sort(generator.integers(0, 499, 20_000) + 0.5 * between)
    grid = np.arange(500)
    less, at_most = np.searchsorted(x, grid), np.searchsorted(x, grid, side="right")
    problem, epsilon = NoisyTree(hundred(), neighbours, 500), Fraction(1, 2)
    k = np.array([rank(100 * q, len(x)) for q in problem.shares])
    error = np.maximum(np.maximum(less[:, None] + 1 - k, k - at_most[:, None]), 0)
    worst = []
    for seed in range(60):
        drawn = problem.draw(Ranks(less, at_most), epsilon, dampen.InsecureEntropy(seed))
        worst.append((error[drawn, np.arange(99)] - error.min(axis=0)).max())
    told = problem.farthest(epsilon)
    assert np.mean(np.array(worst) > told) <= 0.1
    assert told < 12 * np.quantile(worst, 0.9)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_the_tree_beats_halving_on_long_lists(neighbours):
    x = np.floor(np.minimum(200 * np.random.default_rng(8).lognormal(0, 1, 20_000), 4095))
    at_most = np.cumsum(np.bincount(x.astype(int), minlength=4096))
    ranks, shares = Ranks(np.r_[0, at_most[:-1]], at_most), hundred(199)
    k = np.array([rank(100 * q, len(x)) for q in shares])

    def error(way, runs):
        drawn = np.array([
            way.draw(ranks, Fraction(1, 2), dampen.InsecureEntropy(seed)) for seed in range(runs)
        ])  # fmt: skip
        return np.maximum(np.maximum(ranks.less[drawn] + 1 - k, k - at_most[drawn]), 0).mean()

    tree = NoisyTree(shares, neighbours, 4096)
    assert 1.3 * error(tree, 10) < error(Halving.on(4096, shares, neighbours), 3)


def test_a_descent_keeps_the_order():
    """Whatever the noise is."""
    generator = np.random.default_rng(6)
    for tuple_of_targets in combinations_with_replacement((0.5, 3.5, 9.5), 3):
        found = Descent.of(tuple_of_targets, 10)
        for _ in range(3):
            nodes = found.asked
            noisy = generator.integers(-9, 9, (len(nodes), 4))
            found = found.further(noisy, np.full(len(nodes), 4))
        assert (np.diff(found.node) >= 0).all()


def test_the_stated_ranks_are_within_three_times_those_that_are_needed():
    """99 percentiles of values that are spread evenly: noise alone is nearly as bad as stated."""
    points = 4096
    tree = NoisyTree(tuple(Fraction(i, 100) for i in range(1, 100)), REPLACE, points)
    at_most = np.arange(50, 50 * (points + 1), 50)
    entropy = InsecureEntropy(7)
    epsilon = Fraction(1, 10)
    targets = np.array(target_ranks(tree.shares, int(at_most[-1])))

    def error():
        answers = np.array(tree.draw(Ranks(at_most - 50, at_most), epsilon, entropy))
        return np.maximum(at_most[answers] - 50 - targets, targets - at_most[answers]).max()

    needed = np.quantile([error() for _ in range(40)], 0.9)
    assert needed < tree.farthest(epsilon) < 3 * needed


def test_the_cost_in_zcdp():
    """Two counts that move by half the price each cost half of what one does.

    A count that moves by 2, or two by 1 each; under replace-one two counts by 2 each.  Twins that
    are charged for one level less, or for N alone, are found.
    """
    e = Fraction(1)
    z = np.arange(-4000, 4001)
    for neighbours, moves in ((ADD, ([2], [1, 1])), (REPLACE, ([2, 2], [2, 1, 1], [1] * 4))):
        problem = NoisyTree(SHARES, neighbours, 4096)
        scale = float(problem.scale(e))

        def lost(move, scale=scale):
            logs = [np.logaddexp.reduce(a := -np.abs(z - m) / scale) * -1 + a for m in (0, move)]
            return least_rho(*logs)

        levels = max(problem.levels * sum(map(lost, level)) for level in moves)
        size = 0.0 if neighbours is REPLACE else float(pure_rho(COUNTING * e))
        stated = float(problem.rho(e))
        assert 0.9 * stated < levels + size <= stated * (1 + 1e-12)
        assert levels + size > stated * (1 - 1 / problem.levels / 2)
