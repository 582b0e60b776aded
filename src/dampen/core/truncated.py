"""Counts of keys that nobody listed: truncated discrete Laplace noise and a threshold.

X is a whole number with P(x) proportional to exp(-ε |x|) for |x| <= T, and |x| never exceeds T.  A
key with c > 0 rows is published as c + X exactly if c + X > T.  A key that no row has would need
X > T, so it is never published, and the possible keys need not be known.

**Theorem.**  Where one row more or less changes one count by 1, this is (ε, δ)-DP with
δ(T) = P(X = T).
Proof.  Take the counts c and c + 1 of one key; the others do not change.  A published y = c + x is
c + 1 + (x - 1), so each single output is at most e^ε times as likely under one as under the other
as long as x - 1 >= -T, or x + 1 <= T, is possible.  What is left under c + 1 is y = c + 1 + T, of
probability P(X = T); under c it is c - T, or the part of "not published" that comes from it:
P(X = -T), the same.  The rest of "not published" is a sum of such terms. ∎
It is tight: a key of one row is published with probability δ(T), a key of none never.

**Several keys at once.**  Where a person moves all counts together by at most s *steps*, upwards or
downwards, on however many keys, and ε is that of one step, this is (s ε, δ)-DP for T >= s with
δ(T) = P(X > T - s).  Proof.  Let the counts of keys i move by w_i, Σ w_i <= s.  Outputs of which
each noisy count has a noise x_i on one side and x_i - w_i, both within T, on the other have a ratio
of at most exp(Σ ε w_i).  The others need a noise beyond T - w_i for one key: a probability of at
most Σ f(w_i), f(w) = P(X > T - w).  Each step adds P(X = T - w) to f, which grows with w up to T,
so that f is convex, f(0) = 0, and Σ f(w_i) <= f(s).  ∎  One row is s = 1.

**The coin.**  The least T with δ(T) <= δ may waste most of δ.  So each key has a coin of its own: a
public probability λ decides whether its threshold is T - 1 in place of T, noise included, with
(1 - λ) δ(T) + λ δ(T-1) <= δ.  The coins do not depend on the data, and the divergence of a mixture
is at most the mean of the divergences.

**Exactness.**  δ(T) = a^(T-s+1) (1 - a^s) / (1 + a - 2 a^(T+1)), a = e^-ε, is a ball; T, and λ
as a multiple of 2^-64, follow from the upper ends of balls as exact fractions.  So the true δ is
never above the stated one.  The noise is drawn exactly (`dampen.core.sampling.truncated_laplace`).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import LARGEST_SCALE, Entropy, truncated_laplace, uniform_words
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Threshold", "delta_above"]

COIN_BITS = 64
BITS = 320
"""Of balls: ε and δ have at most 60 digits."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How counts of keys are published; all of it is public.

    Attributes:
        epsilon: the exact ε of one step.
        delta: the true δ is at most this, and this is at most the δ that was asked for.
        high: T.
        coin: λ times 2^64: so often the threshold of a key is T - 1.
        steps: s, by how much a person moves all counts together.
    """

    epsilon: Fraction
    delta: Fraction
    high: int
    coin: int
    steps: int = 1

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, steps: int = 1) -> "Threshold":
        """The threshold that publishes the most keys.

        Args:
            epsilon: of one step.
            delta: of all of it.
            steps: s.

        Raises:
            ParameterError: unless 0 < δ < 1 and ε >= 2^-40.
        """
        if not 0 < delta < 1:
            raise ParameterError("Expected delta above 0 and below 1, such as delta='1e-6'.")
        if epsilon * LARGEST_SCALE < 1:
            raise ParameterError("Expected epsilon of at least 2^-40. Raise epsilon.")
        return _threshold(epsilon, delta, steps)

    @property
    def chance_of_lower(self) -> Fraction:
        """λ."""
        return Fraction(self.coin, 1 << COIN_BITS)

    def published(self, counts: IntArray, entropy: Entropy) -> "tuple[NDArray[np.bool_], IntArray]":
        """Which keys are published, and the noisy counts of all keys: (ε, δ)-DP of those published.

        Args:
            counts: the rows of every key, each at least 1.
            entropy: of random bits.
        """
        low = uniform_words(len(counts), entropy) < np.uint64(self.coin)
        noisy = np.empty(len(counts), dtype=np.int64)
        limit = np.where(low, self.high - 1, self.high)
        for bound, here in ((self.high, ~low), (self.high - 1, low)):
            scale = 1 / self.epsilon
            noise = truncated_laplace(scale, bound, int(here.sum()), entropy)
            noisy[here] = counts[here] + noise
        return noisy > limit, noisy

    def law(self, count: int) -> dict[int | None, float]:
        """The probability of every outcome of a key: its noisy count, or None; not private."""
        law: dict[int | None, float] = {None: 0.0}
        share = float(self.chance_of_lower)
        for bound, chance in ((self.high, 1 - share), (self.high - 1, share)):
            for x, p in zip(range(-bound, bound + 1), _noise_law(self.epsilon, bound), strict=True):
                shown = count + x if count > 0 and count + x > bound else None
                law[shown] = law.get(shown, 0.0) + chance * float(p)
        return law

    def chance(self, count: int) -> float:
        """The probability that a key of so many rows is published."""
        share = float(self.chance_of_lower)
        return (1 - share) * _chance_above(self.epsilon, self.high, count) + share * _chance_above(
            self.epsilon, self.high - 1, count
        )


def delta_above(epsilon: Fraction, high: int, steps: int = 1) -> Fraction:
    """A number that is at least δ(T) = P(X > T - s), and by less than 2^-200 of it above.

    >>> float(delta_above(Fraction(1), 14))
    3.8...e-07
    """
    mantissa, exponent = _delta(epsilon, high, steps).upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _delta(epsilon: Fraction, high: int, steps: int) -> "arb":
    from flint import arb, ctx, fmpq

    size = epsilon.denominator.bit_length() + epsilon.numerator.bit_length()
    with ctx.workprec(BITS + size + high.bit_length()):
        e = arb(fmpq(epsilon.numerator, epsilon.denominator))
        a = (-e).exp()
        at_end = (-e * (high - steps + 1)).exp()
        # expm1 keeps the digits of 1 - a where ε is small.
        none = -(-e).expm1()
        return at_end * -(-e * steps).expm1() / (none + 2 * a * -(-e * high).expm1())


@lru_cache(maxsize=1024)
def _threshold(epsilon: Fraction, delta: Fraction, steps: int) -> Threshold:
    least = steps
    high = least
    while delta_above(epsilon, high, steps) > delta:
        high *= 2
    low = max(high // 2, least - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if delta_above(epsilon, middle, steps) > delta:
            low = middle
        else:
            high = middle
    at_high = delta_above(epsilon, high, steps)
    # Below T = s nothing is hidden.
    at_lower = Fraction(1) if high == least else delta_above(epsilon, high - 1, steps)
    coin = ((delta - at_high) * (1 << COIN_BITS)) // (at_lower - at_high)
    coin = min(max(int(coin), 0), (1 << COIN_BITS) - 1)
    share = Fraction(coin, 1 << COIN_BITS)
    return Threshold(epsilon, (1 - share) * at_high + share * at_lower, high, coin, steps)


def _noise_law(epsilon: Fraction, bound: int) -> FloatArray:
    """P(x) for x = -bound .. bound."""
    weight = np.exp(-float(epsilon) * np.abs(np.arange(-bound, bound + 1)))
    return np.asarray(weight / weight.sum())


def _chance_above(epsilon: Fraction, bound: int, count: int) -> float:
    """P(count + X > bound), by the closed form of the tails."""
    e = float(epsilon)
    if count <= 0:
        return 0.0
    if count > 2 * bound:
        return 1.0
    none = -np.expm1(-e)
    total = none + 2 * np.exp(-e) * -np.expm1(-e * bound)  # (1 - a) times the sum of all weights
    first = bound - count + 1
    if first >= 0:
        weight = np.exp(-e * first) * -np.expm1(-e * (bound - first + 1))
        return float(weight / total)
    below = bound + first  # so many x from -bound to first - 1
    weight = np.exp(-e * (1 - first)) * -np.expm1(-e * below)
    return float(1 - weight / total)
