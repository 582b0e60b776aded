"""Exact sampling: certified bounds, refinement, injected bits.  Laws are tested in statistical/."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dampen.sampling import (
    _LOWER,
    _UPPER,
    SLACK,
    InsecureEntropy,
    Noise,
    SystemEntropy,
    discrete_laplace,
    noisy_top,
)


class Replay:
    """Plays given bytes; afterwards, zeros and ones in turn."""

    secure = False

    def __init__(self, *words: int) -> None:
        self.pending = b"".join(int(w).to_bytes(4, "little") for w in words)
        self.reads = 0

    def read(self, size: int, /) -> bytes:
        self.reads += 1
        taken, self.pending = self.pending[:size], self.pending[size:]
        return taken + b"\x55" * (size - len(taken))


def word(u: float) -> int:
    return int(u * 2**32)


def test_injected_bits_decide_the_winner() -> None:
    # Gumbel noise grows with U, exponential noise falls with it.
    bits = [word(0.2), word(0.9), word(0.5)]
    values = np.zeros(3)
    assert noisy_top(values, Fraction(1), Noise.GUMBEL, 3, Replay(*bits)) == [1, 2, 0]
    assert noisy_top(values, Fraction(1), Noise.EXPONENTIAL, 3, Replay(*bits)) == [0, 2, 1]


def test_laplace_noise_takes_its_sign_from_the_last_bit() -> None:
    small, large = word(0.01) & ~1, word(0.9) & ~1  # far from zero, near zero
    bits = [small | 1, large, small]  # very negative, slightly positive, very positive
    assert noisy_top(np.zeros(3), Fraction(1), Noise.LAPLACE, 3, Replay(*bits)) == [2, 1, 0]


def test_scores_count_exactly_where_noise_ties() -> None:
    same = [word(0.5)] * 2
    values = np.array([1.0, np.nextafter(1.0, 2)])
    entropy = Replay(*same)
    assert noisy_top(values, Fraction(1), Noise.GUMBEL, 1, entropy) == [1]
    assert entropy.reads > 1  # the tie was decided by further bits


@pytest.mark.parametrize("noise", list(Noise))
@pytest.mark.parametrize("bits", [2, 3, 8, 32])
def test_first_pass_bounds_enclose_the_noise(noise: Noise, bits: int) -> None:
    rng = np.random.default_rng(bits)
    words = np.unique(np.r_[rng.integers(0, 2**bits, 500), 0, 1, 2**bits - 2, 2**bits - 1])
    words = words.astype(np.uint32)
    with np.errstate(divide="ignore"):
        low, high = _LOWER[noise](words, bits) - SLACK, _UPPER[noise](words, bits) + SLACK
    for w, a, b in zip(words.tolist(), low, high, strict=True):
        for inside in (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            value = noise_at(noise, w, bits, inside)
            assert value.lower() >= a or np.isinf(a)
            assert value.upper() <= b or np.isinf(b)


def noise_at(noise: Noise, w: int, bits: int, inside: Fraction) -> arb:
    """The noise for U at a point inside the interval that the word stands for."""
    negative = noise is Noise.LAPLACE and w & 1
    m, b = (w >> 1, bits - 1) if noise is Noise.LAPLACE else (w, bits)
    with ctx.workprec(200):
        u = (arb(m) + arb(inside.numerator) / inside.denominator) / arb(2) ** b
        e = -u.log()
        return -e.log() if noise is Noise.GUMBEL else -e if negative else e


def test_numpy_log_is_as_good_as_the_first_pass_trusts() -> None:
    rng = np.random.default_rng(1)
    x = np.r_[rng.random(3000), 1 - rng.random(1000) * 2.0**-20, rng.random(500) * 2.0**-30]
    with ctx.workprec(200):
        worst = max(
            float(abs((arb(float(v)) - arb(float(p)).log()) / arb(float(p)).log()))
            for p, v in zip(x, np.log(x), strict=True)
        )
    assert worst < 2.0**-44


@pytest.mark.parametrize("noise", list(Noise))
def test_a_short_first_pass_sorts_everything_the_same_way(noise: Noise) -> None:
    # With 2 bits nearly everything is a near-tie; the order must still be strict and complete.
    top = noisy_top(np.arange(40) / 10, Fraction(1, 3), noise, 40, InsecureEntropy(5), bits=2)
    assert sorted(top) == list(range(40))


@pytest.mark.parametrize("noise", list(Noise))
@pytest.mark.parametrize("k", [1, 5, 30])
def test_the_top_k_are_the_largest_exact_values(noise: Noise, k: int) -> None:
    """Recomputes every noisy value from the recorded bits, in ball arithmetic."""
    values = np.random.default_rng(k).normal(size=30) * 2
    for seed in range(20):
        entropy = Recorder(InsecureEntropy(seed))
        top = noisy_top(values, Fraction(1, 2), noise, k, entropy, bits=32)
        words = np.frombuffer(entropy.first, dtype=np.uint32).tolist()
        noisy = [float(values[i]) / 2 + float(noise_at(noise, w, 32, Fraction(1, 2)).mid())
                 for i, w in enumerate(words)]  # fmt: skip
        gaps = -np.diff(np.sort(noisy)[::-1])
        if gaps.min() > 1e-6:  # no near-tie: 32 bits decide
            assert top == np.argsort(noisy)[::-1][:k].tolist()


class Recorder:
    """Keeps the bytes of the first read."""

    secure = False

    def __init__(self, inner: InsecureEntropy) -> None:
        self.inner, self.first = inner, b""

    def read(self, size: int, /) -> bytes:
        taken = self.inner.read(size)
        self.first = self.first or taken
        return taken


def test_extreme_scores() -> None:
    values = np.array([1e308, -1e308, 0.0, 1e308])
    for noise in Noise:
        assert noisy_top(values, Fraction(1), noise, 1, SystemEntropy())[0] in (0, 3)
        assert noisy_top(values, Fraction(10**320), noise, 1, SystemEntropy())[0] in (0, 3)
        tiny = noisy_top(values, Fraction(1, 10**320), noise, 4, SystemEntropy())
        assert sorted(tiny) == [0, 1, 2, 3]


def test_an_insecure_source_repeats_itself_and_says_so() -> None:
    first, second = InsecureEntropy(7), InsecureEntropy(7)
    assert first.read(64) == second.read(64)
    assert first.read(64) != InsecureEntropy(8).read(64)
    assert not first.secure
    assert SystemEntropy().secure
    assert SystemEntropy().read(32) != SystemEntropy().read(32)


def test_discrete_laplace_of_a_tiny_scale_is_zero() -> None:
    assert not discrete_laplace(Fraction(1, 1000), 1000, SystemEntropy()).any()
