"""Discrete Gaussian noise: drawn = law, exact decisions, and its cost in zCDP."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dampen.core.sampling import InsecureEntropy, SystemEntropy, _are_accepted, discrete_gaussian
from dampen.errors import ParameterError
from dampen.releases.numbers import GAUSSIAN, likely
from goodness import assert_draws_follow, counts_of


def law(scale, most):
    """P(z) for z from -most to most, by adding up."""
    z = np.arange(-most, most + 1)
    p = np.exp(-(z**2) / (2 * float(scale) ** 2))
    return p / p.sum()


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(1), Fraction(7, 3), Fraction(20)])
def test_draws_follow_the_stated_law(scale):
    """False alarms below 1e-7; a scale that is 30 % off is rejected."""
    drawn = discrete_gaussian(scale, 20_000, InsecureEntropy(3)).tolist()
    most = 12 * int(scale + 1)
    right, wrong = law(scale, most), law(scale * 13 / 10, most)
    assert_draws_follow(counts_of(drawn, range(-most, most + 1)), right, wrong)


def test_a_tiny_scale_is_zero_and_a_large_one_is_refused():
    for scale in (Fraction(1, 100), Fraction(1, 10**60)):
        assert not discrete_gaussian(scale, 1000, SystemEntropy()).any()
    widest = discrete_gaussian(Fraction(2**40), 1000, SystemEntropy())
    assert 2**38 < np.abs(widest).max() < 2**44
    for scale in (Fraction(2**40 + 1), Fraction(0)):
        with pytest.raises(ParameterError, match="Expected noise of a scale"):
            discrete_gaussian(scale, 1, SystemEntropy())


class Words:
    """Words of 64 bits as they are given, then 0101..."""

    secure = False

    def __init__(self, words):
        self.bits = np.array(words, dtype=np.uint64).tobytes()

    def read(self, size):
        taken, self.bits = self.bits[:size], self.bits[size:]
        return taken + b"U" * (size - len(taken))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(2**40), Fraction(22, 7)])
def test_proposals_are_accepted_as_exact_arithmetic_says(scale):
    """Words around exp(-γ), where no float decides, and at both ends."""
    centre = scale**2 / (int(scale) + 1)
    sizes = [0, 1, int(scale), 2 * int(scale) + 1, 3 * int(scale) + 2]
    with ctx.workprec(400):
        for size in sizes:
            exponent = (size - centre) ** 2 / (2 * scale**2)
            edge = (-arb(fmpq(exponent.numerator, exponent.denominator))).exp() * 2**53
            middle = int(edge.mid().floor().unique_fmpz())
            words = [w for w in (0, middle - 1, middle, middle + 1, 2**53 - 1) if 0 <= w < 2**53]
            found = _are_accepted(
                np.full(len(words), size), scale, centre, Words([w << 11 for w in words])
            )
            for word, accepted in zip(words, found.tolist(), strict=True):
                u = (arb(word) + arb(1) / 3) / arb(2) ** 53
                exact = -u.log() - arb(fmpq(exponent.numerator, exponent.denominator))
                assert accepted == bool(exact > 0)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("alpha", [1.1, 2, 8, 40])
def test_the_divergence_of_a_step_is_within_rho(scale, alpha):
    """ρ = 1 / (2σ²) for a count that moves by 1: D_α <= αρ, and more than half of it at σ = 3."""
    z = np.arange(-400, 401)
    rho = 1 / (2 * float(scale) ** 2)
    whole = np.log(np.sum(np.exp(-rho * z**2)))
    exponents = -alpha * rho * z**2 + (alpha - 1) * rho * (z - 1) ** 2
    top = exponents.max()
    divergence = (top + np.log(np.sum(np.exp(exponents - top))) - whole) / (alpha - 1)
    assert divergence <= alpha * rho * (1 + 1e-9)
    if scale == 3:
        assert divergence > alpha * rho / 2


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(9, 2), Fraction(300)])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)])
def test_the_width_is_the_smallest_that_holds(scale, level):
    most = 12 * int(scale + 1)
    z = np.arange(-most, most + 1)
    p = law(scale, most)
    width = likely(scale, 1 - level, GAUSSIAN)
    assert p[np.abs(z) <= width].sum() >= float(level) - 1e-12
    assert width == 0 or p[np.abs(z) < width].sum() < float(level)


def test_widths_of_large_scales_continue_those_that_are_added_up():
    for level in (Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)):
        added = likely(Fraction(2000), 1 - level, GAUSSIAN)
        beyond = likely(Fraction(2000) + Fraction(1, 10**6), 1 - level, GAUSSIAN)
        assert added <= beyond <= added + 1
