"""Thresholds for unlisted keys: exact divergences, certified δ, draws against their law."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dampen.core.sampling import InsecureEntropy, truncated_laplace
from dampen.core.thresholds import Threshold, delta_above
from dampen.errors import ParameterError
from goodness import FALSE_ALARM, assert_draws_follow, counts_of, p_value

EPSILONS = ["1/20", "1/10", "3/10", "1/2", "1", "2", "5"]
DELTAS = ["1/100", "1/10000", "1e-6", "1e-9"]


def outcomes(epsilon, bound, count):
    """The exact law of a key, as balls: its noisy count, or None."""
    e = arb(fmpq(epsilon.numerator, epsilon.denominator))
    weight = {x: (-e * abs(x)).exp() for x in range(-bound, bound + 1)}
    total = sum(weight.values(), arb(0))
    law = {None: arb(0)}
    for x, w in weight.items():
        shown = count + x if count > 0 and count + x > bound else None
        law[shown] = law.get(shown, arb(0)) + w / total
    return law


def mixture(threshold, count):
    """The exact law with the coin, as balls."""
    share = arb(fmpq(threshold.coin, 2**64))
    law = {}
    for bound, part in ((threshold.high, 1 - share), (threshold.high - 1, share)):
        for shown, p in outcomes(threshold.epsilon, bound, count).items():
            law[shown] = law.get(shown, arb(0)) + part * p
    return law


def hockey_stick(left, right, epsilon):
    """The least δ with P(S) <= e^ε Q(S) + δ for all sets S of outcomes; an upper bound."""
    factor = arb(fmpq(epsilon.numerator, epsilon.denominator)).exp()
    gap = arb(0)
    for shown, p in left.items():
        more = p - factor * right.get(shown, arb(0))
        if not more < 0:
            gap += more
    return gap


def counts_to_try(high):
    """All where something can happen: small counts, around T, around 2T."""
    near = {*range(4), *range(high - 2, high + 3), *range(2 * high - 3, 2 * high + 4)}
    return sorted(count for count in near if count >= 0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_true_delta_is_at_most_the_stated_one(epsilon, delta):
    """By exact divergence, in both directions, at every count that matters."""
    e, d = Fraction(epsilon), Fraction(delta)
    threshold = Threshold.of(e, d)
    worst = arb(0)
    with ctx.workprec(300):
        laws = {c: mixture(threshold, c) for c in {*counts_to_try(threshold.high)}}
        laws |= {c + 1: mixture(threshold, c + 1) for c in list(laws)}
        for c in [c for c in laws if c + 1 in laws]:
            for left, right in ((laws[c], laws[c + 1]), (laws[c + 1], laws[c])):
                gap = hockey_stick(left, right, e)
                assert gap < arb(fmpq(d.numerator, d.denominator)) * (1 + arb(2) ** -180)
                worst = gap if gap > worst else worst
    assert threshold.delta <= d
    assert float(worst) == pytest.approx(float(d), rel=1e-9)  # nothing is wasted


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_a_threshold_that_is_one_lower_is_not_private(epsilon):
    """The broken twin: T - 1 for every key."""
    e, d = Fraction(epsilon), Fraction(1, 10**6)
    high = Threshold.of(e, d).high - 1
    twin = Threshold(e, d, high, 0)
    with ctx.workprec(300):
        gap = hockey_stick(mixture(twin, 1), mixture(twin, 0), e)
    assert float(gap) > 1.01e-6


def test_the_shape_of_noise_without_an_end_is_not_private_at_that_delta():
    """Plain discrete Laplace noise with the same threshold: a key of one row shows more often."""
    e = Fraction(1)
    threshold = Threshold.of(e, Fraction(1, 10**6))
    a = np.exp(-1.0)
    plain = a**threshold.high / (1 + a)  # P(1 + Z > T)
    assert plain > 1.4 * float(delta_above(e, threshold.high))


@pytest.mark.parametrize(("epsilon", "high"), [("1", 14), ("0.3", 40), ("0.1", 109)])
def test_thresholds_known_from_the_literature(epsilon, high):
    assert Threshold.of(Fraction(epsilon), Fraction(1, 10**6)).high == high


def test_chances_of_a_key_are_those_of_its_law():
    for epsilon, delta in (("1", "1e-6"), ("0.2", "1/1000"), ("4", "1/3")):
        threshold = Threshold.of(Fraction(epsilon), Fraction(delta))
        for count in range(0, 2 * threshold.high + 3):
            law = threshold.law(count)
            assert sum(law.values()) == pytest.approx(1)
            assert threshold.chance(count) == pytest.approx(1 - law[None], abs=1e-12)


def test_the_coin_finds_keys_that_the_threshold_alone_would_miss():
    threshold = Threshold.of(Fraction(1), Fraction(1, 10**6))
    alone = Threshold(threshold.epsilon, threshold.delta, threshold.high, 0)
    assert [alone.chance(c) for c in (14, 16)] == pytest.approx([0.27, 0.90], abs=0.01)
    assert [threshold.chance(c) for c in (14, 16)] == pytest.approx([0.70, 0.96], abs=0.01)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/100"), ("1/20", "1/20"), ("2", "1/2")])
def test_draws_follow_the_law(epsilon, delta):
    threshold = Threshold.of(Fraction(epsilon), Fraction(delta))
    count = max(threshold.high - 1, 2)
    entropy = InsecureEntropy(3)
    shown, noisy = threshold.published(np.full(40_000, count), entropy)
    drawn = [int(y) if s else None for s, y in zip(shown, noisy, strict=True)]
    right = threshold.law(count)
    wrong = Threshold.of(Fraction(epsilon) * 13 / 10, Fraction(delta)).law(count)
    keys = list({**right, **wrong})
    assert_draws_follow(
        counts_of(drawn, keys), *([law.get(k, 0) + 1e-300 for k in keys] for law in (right, wrong))
    )


@pytest.mark.parametrize(
    ("scale", "bound"), [("1", 3), ("10", 4), ("1/3", 2), ("1000", 30), ("5", 0)]
)
def test_truncated_noise_follows_its_law(scale, bound):
    drawn = truncated_laplace(Fraction(scale), bound, 20_000, InsecureEntropy(4))
    values = np.arange(-bound, bound + 1)
    law = np.exp(-np.abs(values) / float(Fraction(scale)))
    assert np.abs(drawn).max() <= bound
    if bound:
        assert p_value(counts_of(drawn.tolist(), values.tolist()), law / law.sum()) > FALSE_ALARM


def test_extreme_parameters_work():
    for epsilon in (Fraction(1, 2**40), Fraction(1, 10**6), Fraction(50), Fraction(10**6)):
        for delta in (Fraction(1, 2), Fraction(1, 10**50), 1 - Fraction(1, 10**9)):
            threshold = Threshold.of(epsilon, delta)
            assert threshold.delta <= delta
            shown, noisy = threshold.published(np.array([1, 10**15]), InsecureEntropy(1))
            assert shown.shape == noisy.shape == (2,)
            assert 0 <= threshold.chance(1) <= 1


@pytest.mark.parametrize("delta", [0, 1, 2, -1])
def test_an_invalid_delta_is_refused(delta):
    with pytest.raises(ParameterError, match="delta above 0"):
        Threshold.of(Fraction(1), Fraction(delta))


def test_thresholds_of_a_very_large_epsilon_are_found():
    """At e^-10^59, which no memory holds."""
    threshold = Threshold.of(Fraction(10**59), Fraction(1, 10**60))
    assert threshold.high == 1
    assert 0 < delta_above(Fraction(10**59), 1) <= Fraction(1, 10**60)
    assert threshold.published(np.array([1, 3, 1]), InsecureEntropy(1))[0].tolist() == [
        False,
        True,
        False,
    ]
