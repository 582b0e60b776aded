"""The noise of several labels: certified bounds, its law, and what it can and cannot hide."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import ctx

from dampen.core.sampling import InsecureEntropy, contenders, narrowed, noisy_top, settle
from dampen.errors import ParameterError
from dampen.questions.percentile.methods import Staircase
from staircases import exponential_tail, of_sets, staircase_tail

EPSILONS = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7), Fraction(10**5)]


def tail(x, epsilon):
    """P[S > x], by its definition: whole numbers and a uniform number."""
    z = np.arange(-400, 401)
    mass = np.exp(-epsilon * np.abs(z)) * np.tanh(epsilon / 2)
    return float(mass @ np.clip(z + 0.5 - x, 0, 1))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_floats_enclose_the_certified_value(epsilon):
    noise, generator = Staircase(epsilon), np.random.default_rng(1)
    for bits in (2, 5, 20, 32):
        words = generator.integers(0, 2**bits, 300).astype(np.uint32)
        words[:2] = 2**bits - 1, 2 ** (bits - 1) - 1
        upper, lower = noise.upper(words, bits), noise.lower(words, bits)
        with ctx.workprec(200):
            balls = [noise.ball(int(word), bits) for word in words]
        for ball, low, high in zip(balls, lower, upper, strict=True):
            if ball.is_finite():
                # The radius of a ball has 30 bits.
                slack = 2**-41 + 2**-26 * float(ball.rad())
                assert low - slack <= float(ball.lower())
                assert float(ball.upper()) <= high + slack
                assert high - low < 2 * float(ball.rad()) + 1e-10
            else:
                assert np.isinf(low) or np.isinf(high)


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2), Fraction(5)], ids=str)
def test_the_value_has_the_tails_of_whole_numbers_with_random_ties(epsilon):
    """The uniform number of a value is its tail, as the definition gives it."""
    noise = Staircase(epsilon)
    words = np.arange(2**7 + 1, 2**8, dtype=np.uint32)  # of 8 bits, the negative values
    x = -noise.upper(words, 8) / float(noise.scale)
    wanted = (words - 2**7 + 1) / 2**7 / 2
    assert [tail(v, float(epsilon)) for v in x] == pytest.approx(wanted.tolist(), abs=1e-9)


def set_loss(k, epsilon, above, labels=4):
    """Over all 0/1 utilities and all replacements of one of them."""
    worst = 0.0
    for code in range(2**labels):
        u = [(code >> i) & 1 for i in range(labels)]
        one = of_sets(u, k, epsilon, above)
        other = of_sets([1 - u[0], *u[1:]], k, epsilon, above)
        worst = max(worst, *(abs(np.log(one[s] / other[s])) for s in one))
    return worst


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_a_set_of_any_size_loses_epsilon(k, epsilon):
    found = set_loss(k, epsilon, staircase_tail(epsilon))
    assert 0.6 * epsilon < found <= epsilon * (1 + 1e-6)


def test_exponential_noise_drawn_once_is_not_private():
    """The twin: permute-and-flip hides one label, not a set of two."""
    assert set_loss(2, 2.0, exponential_tail(2.0)) > 1.2 * 2


def test_the_whole_order_is_private_too():
    """Of whole numbers: the densities of a changed label differ by e^ε at most, everywhere."""
    above, x = staircase_tail(2.0), np.arange(-12, 12.01, 0.25)
    density = -np.diff(above(x))
    for shift in range(1, 5):  # up to a whole step
        ratio = density[shift:] / density[:-shift]
        assert np.abs(np.log(ratio)).max() <= 2 + 1e-6


@pytest.mark.parametrize("bits", [3, 32])
def test_draws_have_the_law_of_sets(bits):
    """Chi-square over sets; false alarms: below 1e-6."""
    from scipy.stats import chisquare

    utility, noise, entropy = (
        np.array([1.0, 1, 0, 0]),
        Staircase(Fraction(3, 2)),
        InsecureEntropy(5),
    )
    sets = list(combinations(range(4), 2))
    drawn = [
        tuple(sorted(noisy_top(utility, noise.scale, noise, 2, entropy, bits=bits)))
        for _ in range(3000)
    ]
    law = of_sets(utility, 2, 1.5, staircase_tail(1.5))
    found = np.array([drawn.count(s) for s in sets])
    wanted = np.array([law[s] for s in sets])
    assert chisquare(found, 3000 * wanted / wanted.sum()).pvalue > 1e-6


def test_narrowing_keeps_every_winner():
    utility, noise = (np.arange(500) % 3 == 0).astype(float), Staircase(Fraction(2))
    for seed in range(30):
        entropy = InsecureEntropy(seed)
        whole = noisy_top(utility, noise.scale, noise, 7, entropy)
        entropy, left = InsecureEntropy(seed), []
        for start in range(0, 500, 50):
            part = utility[start : start + 50]
            found = contenders(part, noise.scale, noise, 7, entropy, start=start)
            left = [narrowed([*left, found], noise.scale, noise, 7)]
        assert len(left[0].ids) < 20
        assert settle(left, noise.scale, noise, 7, entropy) == whole


def test_noise_without_end_is_refused():
    with pytest.raises(ParameterError, match="Raise epsilon"):
        Staircase(Fraction(1, 10**30))
