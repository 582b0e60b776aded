"""What every noise promises: bounds that enclose its value, its law, its price; and one more."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import dampen
from dampen import Mechanism, Selection
from dampen.core import sensitivity
from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise, Words
from dampen.core.sampling import SLACK
from dampen.core.scores import Global
from dampen.testing import Universe, privacy_loss
from noises import NOISES, noise_at


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("bits", [2, 3, 8, 32])
def test_bounds_in_floats_enclose_the_noise(noise: Noise, bits: int) -> None:
    rng = np.random.default_rng(bits)
    corners = [0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 2, 2**bits - 1]
    words = np.unique(np.r_[rng.integers(0, 2**bits, 500), corners]).astype(np.uint32)
    with np.errstate(divide="ignore"):
        low, high = noise.lower(words, bits) - SLACK, noise.upper(words, bits) + SLACK
    for w, a, b in zip(words.tolist(), low, high, strict=True):
        for inside in (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            value = noise_at(noise, w, bits, inside)
            assert value.lower() >= a or np.isinf(a)
            assert value.upper() <= b or np.isinf(b)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
@pytest.mark.parametrize("bits", [2, 3, 32, 96])
def test_balls_enclose_the_noise(noise: Noise, bits: int) -> None:
    last = 2**bits - 1
    for word in {1, last // 3, last // 2 - 1, last // 2, last // 2 + 1, last - 1}:
        with ctx.workprec(bits + 64):
            ball = noise.ball(word, bits)
        for inside in (Fraction(1, 1000), Fraction(999, 1000)):
            assert not ball.is_finite() or ball.contains(noise_at(noise, word, bits, inside).mid())


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.name)
def test_laws_are_those_of_the_noise(noise: Noise) -> None:
    """By a sum over all words of 9 bits each: a midpoint rule for three candidates."""
    a = np.array([0.0, -0.3, -1.1])
    values = np.sort([float(noise_at(noise, w, 9).mid()) for w in range(512)])
    below = [np.searchsorted(values, values[:, None] + a[r] - a) / 512 for r in range(3)]
    wins = [np.prod(np.delete(below[r], r, axis=1), axis=1).mean() for r in range(3)]
    assert noise.law(a) == pytest.approx(wins, abs=0.01)


def test_the_price_in_zero_concentrated_privacy() -> None:
    third = Fraction(1, 3)
    assert GUMBEL.rho(third) == Fraction(1, 72)
    assert EXPONENTIAL.rho(third) == LAPLACE.rho(third) == Fraction(1, 18)
    # k answers at ε/k each add up; a joint release costs the same for any k.
    for noise in (GUMBEL, EXPONENTIAL):
        assert noise.rho(third, 5) == 5 * noise.rho(third / 5)
    assert LAPLACE.rho(third, 5) == LAPLACE.rho(third)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_price_of_gumbel_noise_covers_the_renyi_divergence(epsilon: float) -> None:
    """ρ-zCDP is: the Rényi divergence of order α is at most α ρ, for every α."""
    rng = np.random.default_rng(1)
    rho = float(GUMBEL.rho(Fraction(str(epsilon))))
    for _ in range(300):
        q = rng.integers(-3, 4, 4).astype(float)
        p, r = (GUMBEL.law(epsilon / 2 * s) for s in (q, q + rng.uniform(-1, 1, 4)))
        for alpha in (1.5, 2.0, 8.0, 60.0):
            terms = alpha * np.log(p) + (1 - alpha) * np.log(r)
            divergence = np.logaddexp.reduce(terms) / (alpha - 1)
            assert divergence <= alpha * rho + 1e-12


@dataclass(frozen=True)
class Halved:
    """Gumbel noise of half the scale: a noise of one's own, which is not private."""

    name = "halved"
    joint = False
    one_draw = True

    def upper(self, words: Words, bits: int, /) -> np.ndarray:
        return GUMBEL.upper(words, bits) / 2

    def lower(self, words: Words, bits: int, /) -> np.ndarray:
        return GUMBEL.lower(words, bits) / 2

    def ball(self, word: int, bits: int, /) -> arb:
        return GUMBEL.ball(word, bits) / 2

    def law(self, a: np.ndarray, /) -> np.ndarray:
        return GUMBEL.law(2 * a)

    def rho(self, epsilon: Fraction, k: int = 1, /) -> Fraction:
        return 4 * GUMBEL.rho(epsilon, k)


def test_a_noise_is_one_object() -> None:
    """It draws, has probabilities, and the proof kit finds what it does to privacy."""
    from dampen.questions.frequency import MostFrequent

    halved = Mechanism("halved", Global(), Halved())
    s = Selection([3, 2, 0], sensitivity.constant(1), exact=True)
    assert dampen.select(s, epsilon=200, mechanism=halved, k=3) == [0, 1, 2]
    assert dampen.probabilities(s, epsilon=1, mechanism=halved) == pytest.approx(
        dampen.probabilities(s, epsilon=2, mechanism="em")
    )
    universe = Universe.add_remove_row("ab", max_rows=3)
    verdict = privacy_loss(MostFrequent(["a", "b"]), universe, epsilon=1, mechanism=halved)
    assert not verdict and verdict.value > 1.5


def test_noises_and_their_protocol_are_public() -> None:
    assert dampen.noise.GUMBEL is GUMBEL and dampen.Noise is Noise
    assert all(hasattr(dampen.noise, name) for name in dampen.noise.__all__)
