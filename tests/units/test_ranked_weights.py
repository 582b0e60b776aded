"""The k largest noisy weights, of which the ranking alone is shown: exact laws."""

from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest

from dampen.core.sampling import InsecureEntropy
from dampen.data.open import open_table
from dampen.data.units import Pairs, Shares
from dampen.questions.frequency import FrequencyQuestion, RankedWeights
from goodness import assert_draws_follow, counts_of, draw_many


def law(weights, k, scale, least=-16):
    """P of every ranking of k, ties in a random order: sums over the values of the noisy weights.

    The noise is at least `least` times its scale.
    """
    order = sorted(range(len(weights)), key=lambda i: weights[i])
    made = sorted_law(tuple(sorted(weights)), k, scale, least)
    place = {category: i for i, category in enumerate(order)}
    return np.array(
        [made[tuple(place[i] for i in s)] for s in permutations(range(len(weights)), k)]
    )


@cache
def sorted_law(weights, k, scale, least):
    noise = np.arange(int(least * scale), int(24 * scale) + 2)
    mass = np.exp(-np.abs(noise) / scale)
    p = np.zeros((len(weights), len(noise) + max(weights) + 1))
    for each, weight in zip(p, weights, strict=True):
        each[weight : weight + len(mass)] = mass / mass.sum()
    up_to = p.cumsum(axis=1)
    orders = list(permutations(range(len(weights))))
    return {
        ranking: np.mean([_chance(p, up_to, ranking, order) for order in orders])
        for ranking in permutations(range(len(weights)), k)
    }


def _chance(p, up_to, ranking, order):
    """Where ties go to the category that comes first in `order`."""
    place = np.argsort(order)
    last = ranking[-1]
    chance = p[last].copy()
    for other in set(order) - set(ranking):
        chance *= up_to[other] - (place[other] < place[last]) * p[other]
    for before, after in zip(ranking[-2::-1], ranking[:0:-1], strict=True):
        chance = p[before] * (chance.cumsum() - (place[before] > place[after]) * chance)
    return chance.sum()


def loss(n, k, weighing, most=3, least=-16):
    """The largest log-ratio over weights of others up to `most`, and any person who comes."""
    scale = weighing.quantum
    worst = 0.0
    for others in combinations_with_replacement(range(most + 1), n):
        before = law(others, k, scale, least)
        for r in range(1, n + 1):
            own = weighing.weights(Pairs(np.zeros(r, int), np.arange(r), np.ones(r, int)))
            for cells in combinations(range(n), r):
                after = np.array(others)
                after[list(cells)] += own
                log_ratio = np.log(law(tuple(after.tolist()), k, scale, least)) - np.log(before)
                worst = max(worst, float(np.abs(log_ratio).max()))
    return worst


@pytest.mark.parametrize(("n", "k", "m", "quantum"), [(3, 2, 1, 2), (4, 2, 1, 2), (4, 3, 2, 6)])
def test_a_person_with_any_categories_loses_epsilon_at_most(n, k, m, quantum):
    weighing = Shares(quantum, m, distinct=True, shared_by=k)
    assert 0.5 < loss(n, k, weighing) <= 1 + 1e-9


@pytest.mark.parametrize(("n", "k"), [(3, 1), (3, 2), (4, 2), (4, 3)])
def test_one_sided_noise_where_all_categories_count_in_full(n, k):
    """Shares of fewer categories than k are rejected: noise would have to fall below 0."""
    assert 0.5 < loss(n, k, Shares(k, k, distinct=True, shared_by=k), least=0) <= 1 + 1e-9
    if k > 1:
        assert loss(n, k, Shares(k, 1, distinct=True, shared_by=k), most=5, least=0) > 1.1


@pytest.mark.parametrize("quantum", [2, 4])
def test_weights_shared_by_fewer_are_rejected(quantum):
    """Two names, and a person who counts in full everywhere at the noise of one."""
    assert loss(4, 2, Shares(quantum, 1, distinct=True, shared_by=1), most=2) > 1.1


def test_the_noisy_weights_themselves_are_not_private():
    """A person of four categories moves each by Q/2, so that the 1-norm is 2 Q."""
    weighing = Shares(2, 1, distinct=True, shared_by=2)
    own = weighing.weights(Pairs(np.zeros(4, int), np.arange(4), np.ones(4, int)))
    assert own.tolist() == [1, 1, 1, 1]


def test_a_quantum_is_shared_without_a_remainder():
    for k in (3, 7, 20):
        for m in (1, 2):
            question = FrequencyQuestion(value="item", categories=range(99), k=k)
            weighing = RankedWeights(question, "who", m).weighing
            assert weighing.quantum >= 840
            for r in (1, 2, k - 1, k, k + 1, 90):
                own = weighing.weights(Pairs(np.zeros(r, int), np.arange(r), np.ones(r, int)))
                assert min(own.sum(), k * own.max()) <= weighing.quantum
                assert own.max() * max(min(r, k), m) >= weighing.quantum


WHO = [0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 5]
ITEM = [0, 1, 2, 3, 0, 1, 0, 2, 3, 0, 1, 0]


@pytest.mark.parametrize("in_full", [1, 2])
def test_rankings_are_drawn_as_enumerated(in_full):
    bits = InsecureEntropy(17)
    question = FrequencyQuestion(value="item", categories=range(4), k=2)
    method = RankedWeights(question, "who", in_full)
    opened = open_table({"who": WHO, "item": ITEM})
    quantum = method.weighing.quantum
    sizes = np.bincount(WHO)
    weights = np.zeros(4, int)
    for who, item in zip(WHO, ITEM, strict=True):
        weights[item] += quantum // max(min(sizes[who], 2), in_full)
    found = draw_many(lambda: tuple(method.draw(opened, Fraction(1), bits).answer), 3000)
    right, wrong = (
        law(tuple(weights.tolist()), 2, quantum / e, least=0 if in_full == 2 else -16)
        for e in (1.0, 0.6)
    )
    assert_draws_follow(counts_of(found, list(permutations(range(4), 2))), right, wrong)
