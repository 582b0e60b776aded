"""The exact law of all tables together: their privacy loss, broken twins, fits that follow it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dampen.core.sampling import SystemEntropy
from dampen.questions.classify import NaiveBayesClassifier
from dampen.questions.classify.encoding import Categories, first_codes
from dampen.questions.classify.growing import Rows
from dampen.questions.classify.model import noise_scale, noisy_tables
from dampen.testing.universe import Universe
from goodness import assert_draws_follow

WORLDS = {
    "one attribute": [Categories((0, 1))],
    "two attributes": [Categories((0, 1)), Categories("a")],
    "three attributes": [Categories("a"), Categories("a"), Categories("a")],
}
CLASSES = 2


def true_counts(rows, domains):
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, len(domains))
    classes = np.array([r[-1] for r in rows], dtype=np.int64)
    return Rows(codes, classes, CLASSES).tables([0], first_codes(domains))[0]


def universe(domains):
    sizes = [*map(len, domains), CLASSES]
    return Universe.add_remove_row(list(itertools.product(*map(range, sizes))), max_rows=3)


def log_law(counts, scale, reach=4, noisy_where=lambda count: True):
    """The log-probability of every outcome with all cells in -reach..reach, up to a constant.

    The constant is the same for all data: every cell has the same noise.
    """
    outcomes = np.arange(-reach, reach + 1)
    total = np.zeros((len(outcomes),) * counts.size)
    for axis, count in enumerate(counts.ravel().tolist()):
        shape = [1] * counts.size
        shape[axis] = -1
        exact = np.where(outcomes == count, 0.0, -1e9)
        cell = -np.abs(outcomes - count) / float(scale) if noisy_where(count) else exact
        total = total + cell.reshape(shape)
    return total


def largest_loss(domains, scale, **changes):
    every = universe(domains)
    laws = [log_law(true_counts(x, domains), scale, **changes) for x in every.databases]
    return max(np.abs(laws[i] - laws[j]).max() for i, j in every.neighbours)


@pytest.mark.parametrize("epsilon", ["1/3", "2"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_privacy_loss_of_all_tables_is_epsilon_exactly(world, epsilon):
    domains, e = WORLDS[world], Fraction(epsilon)
    loss = largest_loss(domains, noise_scale(len(domains), e))
    assert loss == pytest.approx(float(e), rel=1e-9)


@pytest.mark.parametrize("world", ["two attributes", "three attributes"])
def test_a_twin_whose_tables_each_take_all_of_epsilon_is_found(world):
    """Noise of scale 1/ε is right for one table; here a row is in several."""
    assert largest_loss(WORLDS[world], noise_scale(1, Fraction(1))) > 1.9


def test_a_twin_that_leaves_empty_cells_without_noise_is_found():
    """Then an outcome is possible with a row and impossible without it."""
    domains = WORLDS["one attribute"]
    twin = largest_loss(domains, noise_scale(1, Fraction(1)), noisy_where=lambda count: count > 0)
    assert twin > 1e6


def test_empty_cells_have_noise():
    nothing = np.zeros((20, 2), dtype=np.int64)
    noisy = noisy_tables(nothing, np.array([0, 20]), Fraction(1, 50), entropy=SystemEntropy())
    assert (noisy.counts != 0).sum() > 20  # a cell stays 0 with probability 0.01


def probabilities(count, scale, outcomes):
    p = np.exp(-np.abs(outcomes - count) / float(scale))
    return p / p.sum()


def test_fits_follow_the_law():
    """2,000 fits, each cell against its law; an ε that is 30 % off would be rejected."""
    X, y = [[0, "a"], [0, "b"], [1, "b"]], ["no", "no", "yes"]
    model = NaiveBayesClassifier("4", domains=[2, ["a", "b"]], classes=["no", "yes"])
    draws = np.stack([model.fit(X, y).tables_.counts for _ in range(2000)])
    truth = np.array([[2, 0], [0, 1], [1, 0], [1, 1]])
    outcomes = np.arange(-12, 13)
    for cell, count in np.ndenumerate(truth):
        seen = np.bincount(np.clip(draws[(slice(None), *cell)], -12, 12) + 12, minlength=25)
        right, wrong = (probabilities(count, Fraction(2) / e, outcomes) for e in (4, 5.2))
        assert_draws_follow(seen, right, wrong)
    noise = draws - truth
    together = np.corrcoef(noise.reshape(len(noise), -1).T)
    assert np.abs(together - np.eye(8)).max() < 0.14  # 6.3 standard deviations


def test_the_stated_noise_follows_the_law() -> None:
    """|Z| <= t with probability 0.9, and t - 1 would not do."""
    epsilon = Fraction(3, 10)
    public = {"domains": [2] * 5, "classes": [0, 1]}
    model = NaiveBayesClassifier(epsilon, **public).fit(np.zeros((1, 5)), [0])
    told = model.release_.accuracy.error
    assert model.release_.accuracy.unit == "rows"
    z = np.arange(-3000, 3001)
    p = np.exp(-np.abs(z) * float(epsilon) / 5)
    p /= p.sum()
    assert p[np.abs(z) <= told].sum() >= 0.9 > p[np.abs(z) < told].sum()
