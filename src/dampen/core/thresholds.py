"""Two uses of a threshold: counts of keys that nobody listed, and questions that are paid once.

- `Threshold`: keys with a noisy count above T are published, by truncated discrete Laplace noise.
- `AboveThreshold`: the first of many questions whose answer reaches a threshold ends a run.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import LARGEST_SCALE, Entropy, geometric, truncated_laplace, uniform_words
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "AboveThreshold",
    "Threshold",
    "delta_above",
    "first_above_law",
    "likely_miss",
    "noise_scale",
]

COIN_BITS = 64
LARGEST_EPSILON = Fraction(1000)
"""Of a step: at a larger one the noise is that of this, which no δ of 60 digits tells apart."""
BITS = 320
"""Of balls: ε and δ have at most 60 digits."""
LEAST_DELTA_BITS = 1024
"""A part of a δ of 60 digits is far above 2^-1024."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How counts of keys are published; all of it is public.

    X is a whole number with P(x) proportional to exp(-ε |x|) for |x| <= T, and |x| never exceeds T.
    A key with c > 0 rows is published as c + X exactly if c + X > T.  A key that no row has would
    need X > T, so it is never published, and the possible keys need not be known.

    **Theorem.**  Where one row more or less changes one count by 1, this is (ε, δ)-DP with
    δ(T) = P(X = T).
    Proof.  Take the counts c and c + 1 of one key; the others do not change.  A published y = c + x
    is c + 1 + (x - 1), so each single output is at most e^ε times as likely under one as under the
    other as long as x - 1 >= -T, or x + 1 <= T, is possible.  What is left under c + 1 is
    y = c + 1 + T, of probability P(X = T); under c it is c - T, or the part of "not published" that
    comes from it: P(X = -T), the same.  The rest of "not published" is a sum of such terms. ∎
    It is tight: a key of one row is published with probability δ(T), a key of none never.

    **Several keys at once.**  Where a person moves all counts together by at most s *steps*,
    upwards or downwards, on however many keys, and ε is that of one step, this is (s ε, δ)-DP for
    T >= s with δ(T) = P(X > T - s).  Proof.  Let the counts of keys i move by w_i, Σ w_i <= s.
    Outputs of which each noisy count has a noise x_i on one side and x_i - w_i, both within T, on
    the other have a ratio of at most exp(Σ ε w_i).  The others need a noise beyond T - w_i for one
    key: a probability of at most Σ f(w_i), f(w) = P(X > T - w).  Each step adds P(X = T - w) to f,
    which grows with w up to T, so that f is convex, f(0) = 0, and Σ f(w_i) <= f(s).  ∎  One row is
    s = 1.

    **The coin.**  The least T with δ(T) <= δ may waste most of δ.  So each key has a coin of its
    own: a public probability λ decides whether its threshold is T - 1 in place of T, noise
    included, with (1 - λ) δ(T) + λ δ(T-1) <= δ.  The coins do not depend on the data, and the
    divergence of a mixture is at most the mean of the divergences.

    **Exactness.**  δ(T) = a^(T-s+1) (1 - a^s) / (1 + a - 2 a^(T+1)), a = e^-ε, is a ball; T, and λ
    as a multiple of 2^-64, follow from the upper ends of balls as exact fractions.  So the true δ
    is never above the stated one.  The noise is drawn exactly
    (`dampen.core.sampling.truncated_laplace`).

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
            epsilon: of one step; the noise of a thousand serves every larger one.
            delta: of all of it.
            steps: s.

        Raises:
            ParameterError: unless 0 < δ < 1 and ε >= 2^-40.
        """
        if not 0 < delta < 1:
            raise ParameterError("Expected delta above 0 and below 1, such as delta='1e-6'.")
        if epsilon * LARGEST_SCALE < 1:
            raise ParameterError("Expected epsilon of at least 2^-40. Raise epsilon.")
        return _threshold(min(epsilon, LARGEST_EPSILON), delta, steps)

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

    Or 2^-1024, below any δ that is asked for: of a large ε the exact number would fill the memory.

    >>> float(delta_above(Fraction(1), 14))
    3.8...e-07
    """
    mantissa, exponent = _delta(epsilon, high, steps).upper().man_exp()
    if int(exponent) + int(mantissa).bit_length() < -LEAST_DELTA_BITS:
        return Fraction(1, 1 << LEAST_DELTA_BITS)
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


@dataclass(slots=True)
class AboveThreshold:
    """One run: it answers questions until the first yes.

    Questions are asked one after the other, each a whole number f_i of the data, chosen with the
    answers so far in sight.  Z, E_1, E_2, ... are independent whole numbers >= 0 with P(z)
    proportional to exp(-z / s).  Question i is answered

        yes  if  f_i + E_i >= T + Z,     else no,

    and the first yes ends it.  However many questions were answered with no, ε is paid once.

    **Theorem.**  Let a step between neighbours move every f_i by at most Δ.  With s = 3 Δ / ε the
    list of answers is ε-DP.  If each step moves all f_i upwards, or all downwards, s = 2 Δ / ε
    suffices (*monotone* questions, such as counts of rows).

    Proof.  Take the outcome "no" k - 1 times, then "yes"; f are the numbers under x, g under x',
    which the same answers lead to.  Map (Z, E_k) to (Z + u, E_k + v) and keep the other noise.
    Each such pair is a pair of values the noise can have, no two pairs become the same, and the
    probability of its value is exp(-(u + v) / s) of what it was.  So if the map turns each noise
    with that outcome under x into one with that outcome under x', P(x) <= exp((u + v) / s) P(x').

    A question i < k stays "no" if g_i - f_i <= u, question k stays "yes" if g_k + v - u >= f_k.  In
    general u = Δ, v = 2 Δ serve, together 3 Δ.  If g >= f, u = Δ and v = Δ serve; if g <= f, u = 0
    and v = Δ do: at most 2 Δ.  Where nothing is answered with yes, E_k is not needed.  ∎

    The difference Z - E_i is symmetric about 0, so that the answer of one question errs on both
    sides alike.

    **Exactness.**  All is done in whole numbers, and the noise is drawn exactly
    (`dampen.core.sampling.geometric`).

    Attributes:
        level: the threshold with its noise; private, and the only state, so that a run can be kept
            and continued.
        scale: of the noise in every question.
        ended: whether a question was answered with yes.
    """

    level: int = field(repr=False)
    scale: Fraction
    ended: bool = False

    @classmethod
    def start(cls, threshold: int, scale: Fraction, entropy: Entropy) -> "AboveThreshold":
        """A run of its own ε.

        Args:
            threshold: T, public.
            scale: s, see `noise_scale`.
            entropy: of random bits.
        """
        return cls(threshold + int(geometric(scale, 1, entropy)[0]), scale)

    def is_above(self, number: int, entropy: Entropy) -> bool:
        """The answer to the next question, given its exact number.

        Raises:
            ParameterError: if a question was answered with yes before.
        """
        if self.ended:
            raise ParameterError("This run has ended with a yes. Start another one, which costs ε.")
        self.ended = number + int(geometric(self.scale, 1, entropy)[0]) >= self.level
        return self.ended

    def first(self, numbers: Iterable[int], entropy: Entropy) -> int | None:
        """The place of the first number that is answered with yes; None if none is."""
        for place, number in enumerate(numbers):
            if self.is_above(number, entropy):
                return place
        return None


def noise_scale(epsilon: Fraction, *, sensitivity: int = 1, monotone: bool = True) -> Fraction:
    """The scale s at which a run is ε-DP.

    Args:
        epsilon: of the run.
        sensitivity: Δ, what a step between neighbours moves a number by at most.
        monotone: whether each step moves all numbers in one direction.

    Raises:
        ParameterError: if it is above 2^40.
    """
    scale = (2 if monotone else 3) * sensitivity / epsilon
    if scale > LARGEST_SCALE:
        raise ParameterError("Expected a larger epsilon: the noise would have a scale above 2^40.")
    return scale


def likely_miss(scale: Fraction, questions: int, confidence: float) -> int:
    """The smallest B that bounds all noise of a run, with at least the stated probability.

    Then each question that was answered with yes has f >= T - B, and each with no f < T + B.
    P(Z, E_1, ..., E_m <= B) = (1 - a^(B+1))^(m+1), a = exp(-1/s).
    """
    one = -math.expm1(math.log(confidence) / (questions + 1))
    return max(0, math.ceil(-float(scale) * math.log(one)) - 1)


def first_above_law(gaps: Sequence[int], a: Fraction) -> list[Fraction]:
    """The law of a run: P(question i is the first yes), then P(none is).

    Σ over Z = z of (1-a) a^z Π (1 - a^max(t_j + z, 0)) a^max(t_i + z, 0),
    whose tail is a sum of geometric series.

    Args:
        gaps: t_i = T - f_i of all questions.
        a: exp(-1/s).

    >>> first_above_law([0, 0], Fraction(1, 2))
    [Fraction(2, 3), Fraction(2, 21), Fraction(5, 21)]
    """
    start = max(0, -min(gaps, default=0))
    law = [_first_at(gaps[:i], gaps[i], start, a) for i in range(len(gaps))]
    return [*law, 1 - sum(law, Fraction(0))]


def _first_at(before: Sequence[int], last: int, start: int, a: Fraction) -> Fraction:
    """P(no for all questions before, then yes); from Z = `start` on all gaps are at least 0."""
    whole = Fraction(0)
    for z in range(start):
        chance = (1 - a) * a**z * a ** max(last + z, 0)
        for gap in before:
            chance *= 1 - a ** max(gap + z, 0)
        whole += chance
    # With y = a^n the tail is Σ over n of y² times a polynomial in y.
    terms = [(1 - a) * a**start * a ** (last + start)]
    for gap in before:
        shifted = [Fraction(0), *(-(a ** (gap + start)) * each for each in terms)]
        terms = [p + q for p, q in zip([*terms, Fraction(0)], shifted, strict=True)]
    return whole + sum(term / (1 - a ** (m + 2)) for m, term in enumerate(terms))
