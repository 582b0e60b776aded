"""The lead at which candidates are named, against enumeration, the laws of noise, and sampling."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dampen import Selection
from dampen.core import sensitivity
from dampen.core.mechanisms import EM, JOINT, PF, named, prepare
from dampen.core.scores import Shifted
from dampen.releases.accuracy import CONFIDENCE, lead, least_probability, rounded_up

TINY = Selection([0, 0], sensitivity.constant(1), one_sided=True, separable=True, exact=True,
                 joint={Shifted(): 1.0})  # fmt: skip


@pytest.mark.parametrize("mechanism", [EM, PF, JOINT])
@pytest.mark.parametrize("m", [2, 3, 17, 1000])
@pytest.mark.parametrize("g", [0.0, 0.7, 3.0, 9.0])
def test_one_answer_is_the_law_of_the_noise(mechanism, m, g):
    law = mechanism.noise.law(np.concatenate([[0.0], np.full(m - 1, -g)]))
    assert least_probability(mechanism, m=m, k=1, g=g) == pytest.approx(law[0], rel=1e-6)


@pytest.mark.parametrize("mechanism", [EM, PF])
def test_several_answers_by_enumeration_of_their_order(mechanism):
    m, k, g = 5, 3, 1.3
    scores = np.array([0.0] * k + [-g] * (m - k))

    def chain(left: tuple[int, ...], steps: int) -> float:
        if steps == 0:
            return 1.0
        law = mechanism.noise.law(scores[list(left)] - scores[list(left)].max())
        return sum(
            p * chain(tuple(r for r in left if r != c), steps - 1)
            for c, p in zip(left, law, strict=True)
            if c < k
        )

    found = least_probability(mechanism, m=m, k=k, g=g)
    assert found == pytest.approx(chain(tuple(range(m)), k), rel=1e-6)


def test_several_answers_of_one_draw_by_sampling():
    """200,000 draws; off by five standard errors once in two million runs."""
    rng = np.random.default_rng(0)
    m, k, g, draws = 12, 4, 2.5, 200_000
    noisy = rng.laplace(size=(draws, m)) + np.r_[np.full(k, g), np.zeros(m - k)]
    share = (noisy[:, :k].min(axis=1) > noisy[:, k:].max(axis=1)).mean()
    expected = least_probability(JOINT, m=m, k=k, g=g)
    assert share == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / draws))


@pytest.mark.parametrize("mechanism", [EM, PF, JOINT])
def test_ties_are_the_worst_case(mechanism):
    """Any data with the lead gives the right answer at least as often."""
    g = 1.1
    worst = least_probability(mechanism, m=4, k=1, g=g)
    for extra in itertools.product([0.0, 0.4, 3.0], repeat=3):
        law = mechanism.noise.law(np.array([0.0, *(-g - e for e in extra)]))
        assert law[0] >= worst - 1e-9


@pytest.mark.parametrize("name", ["em", "pf", "joint"])
@pytest.mark.parametrize(("m", "k"), [(4, 1), (200, 1), (50, 5)])
def test_the_lead_is_the_smallest_that_suffices(name, m, k):
    mechanism, epsilon = named(name), Fraction(1, 3)
    found = lead(TINY, mechanism, m=m, k=k, epsilon=epsilon)
    scale = float(prepare(TINY, mechanism).noise_scale(epsilon, k))
    assert least_probability(mechanism, m=m, k=k, g=found * scale) >= CONFIDENCE
    assert least_probability(mechanism, m=m, k=k, g=0.999 * found * scale) < CONFIDENCE


def test_nothing_is_left_to_chance_where_all_are_released():
    assert lead(TINY, PF, m=3, k=3, epsilon=Fraction(1)) == 0


def test_many_candidates_are_as_predictable_as_few():
    assert lead(TINY, JOINT, m=10**8, k=50, epsilon=Fraction(1)) < 60


@pytest.mark.parametrize(
    ("number", "shown"), [(0.0, 0), (0.2, 1), (8, 8), (41.3, 42), (137.2, 140), (1437, 1500)]
)
def test_rounding(number, shown):
    assert rounded_up(number) == shown
