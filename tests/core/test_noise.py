"""What every noise promises: bounds that enclose its value, its law, its price; and one more."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import dampen
from dampen import Mechanism, Selection
from dampen.core import sensitivity
from dampen.core.mechanisms import JOINT
from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise, Words, laplace_rho, pure_rho
from dampen.core.sampling import SLACK
from dampen.core.scores import Global
from dampen.testing import Universe, privacy_loss
from noises import NOISES, noise_at
from renyi import least_rho


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
    assert EXPONENTIAL.rho(third) == LAPLACE.rho(third) == laplace_rho(third)
    assert Fraction(1, 20) < LAPLACE.rho(third) * Fraction("1.1") < pure_rho(third)
    assert EXPONENTIAL.rho(third) < Fraction(1, 18)
    # k answers at ε/k each add up; a joint release costs the same for any k.
    for noise in (GUMBEL, EXPONENTIAL):
        assert noise.rho(third, 5) == 5 * noise.rho(third / 5)
    assert LAPLACE.rho(third, 5) == LAPLACE.rho(third)


EPSILONS = [Fraction(e) for e in ("1e-9", "1e-3", "0.1", "0.5", "1", "3", "10", "50")]
ORDERS = [1 + Fraction(10) ** i for i in range(-12, 0)] + [Fraction(a) for a in range(2, 40)]
ORDERS += [Fraction(10) ** i for i in range(2, 9)]


def divergences(epsilon: Fraction, alpha: Fraction) -> tuple[arb, arb]:
    """(α - 1) D_α of randomised response and of continuous Laplace noise, as balls."""
    e, a = (arb(fmpq(x.numerator, x.denominator)) for x in (epsilon, alpha))
    t = 2 * a - 1
    response = ((t * e / 2).cosh() / (e / 2).cosh()).log()
    laplace = ((a * ((a - 1) * e).exp() + (a - 1) * (-a * e).exp()) / t).log()
    return response, laplace


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_pure_releases_and_laplace_noise_cost_what_the_theorems_say(epsilon: Fraction) -> None:
    """In ball arithmetic for 57 orders; a price that is a millionth lower is found for α -> 1."""
    pure, laplace = pure_rho(epsilon), laplace_rho(epsilon)
    assert laplace < pure <= epsilon**2 / 2 and laplace <= epsilon**2 / 2
    with ctx.workprec(400):
        for alpha in ORDERS:
            scale = alpha * (alpha - 1)
            for price, lost in zip((pure, laplace), divergences(epsilon, alpha), strict=True):
                most = price * scale
                assert lost <= arb(fmpq(most.numerator, most.denominator))
        nearly_one = 1 + Fraction(1, 10**12)
        for price, lost in zip((pure, laplace), divergences(epsilon, nearly_one), strict=True):
            twin = price * (1 - Fraction(1, 10**6)) * nearly_one * (nearly_one - 1)
            assert lost > arb(fmpq(twin.numerator, twin.denominator))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_randomised_response_is_the_worst_pure_release(epsilon: float) -> None:
    """Random laws with ratios within e^±ε; discrete Laplace noise loses all of it."""
    rng, rho = np.random.default_rng(0), float(pure_rho(Fraction(str(epsilon))))
    for _ in range(300):
        ratios = np.sort(rng.uniform(-epsilon, epsilon, 5))
        q = rng.dirichlet(np.ones(5))
        below, above = q[ratios < 0], q[ratios >= 0]
        if not (len(below) and len(above)):
            continue
        down, up = below @ np.expm1(ratios[ratios < 0]), above @ np.expm1(ratios[ratios >= 0])
        weights = np.where(ratios < 0, q * up, -q * down)
        weights /= weights.sum()
        assert least_rho(np.log(weights) + ratios, np.log(weights)) <= rho
    z = np.arange(-int(60 / epsilon), int(60 / epsilon) + 1)
    at_0, at_1 = (-np.abs(z - m) * epsilon - np.log(2 / np.tanh(epsilon / 2) / 2) for m in (0, 1))
    assert 0.999 * rho < least_rho(at_0, at_1) <= rho * (1 + 1e-9)


@pytest.mark.parametrize("norm", [1.0, 2.0, 2.5])
def test_scores_that_share_a_step_cost_less(norm: float) -> None:
    """Laplace noise of scale S/ε on moves of at most 1 each and S in all; one price for all."""
    e = Fraction(1)
    price = JOINT.rho(e, norm=norm)
    for moves in ([1.0] * int(norm) + [norm % 1], [norm / 4] * 4, [0.5] * int(2 * norm)):
        moved = [laplace_rho(e * Fraction(m) / Fraction(norm)) for m in moves if m]
        assert sum(moved) <= price * (1 + Fraction(1, 10**9))
    assert JOINT.rho(e, norm=1.0) == laplace_rho(e)
    assert JOINT.rho(e, norm=2.0) < Fraction("0.2131")


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
