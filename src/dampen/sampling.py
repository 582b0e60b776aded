"""Exact sampling: the only module that draws.

Floating-point samplers break differential privacy (Mironov 2012; Ilvento 2020), so noise is never
a float here.  A noise value is a function of a uniform real number U in [0, 1] of which some bits
are known: m / 2^b <= U <= (m+1) / 2^b.  That interval gives certified bounds on the noise.  A first
pass over all candidates, whose work does not depend on the scores, keeps those that may still win;
only near-ties get further bits and are decided in ball arithmetic (`arb`).  The answer therefore
has *exactly* the distribution of the ideal mechanism on the given scores.

The first pass trusts `numpy.log` to 2^-44 of its value (its documented error is some 2^-51; a test
compares it with ball arithmetic), and widens every bound by that much.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.selection import FloatArray, IntArray

if TYPE_CHECKING:
    from flint import arb

FIRST_PASS_BITS = 32
REFINEMENT_BITS = 64
CHUNK = 1 << 14
SLACK = 2.0**-40
"""Covers the rounding of a noise value below 2^6 in the first pass, log included."""
RELATIVE_SLACK = 2.0**-49
LOWEST = -1e300


class Noise(StrEnum):
    """The noise that a mechanism adds to every scaled score."""

    GUMBEL = "gumbel"
    """-log(-log U): the exponential mechanism; the k largest are k draws without replacement."""
    EXPONENTIAL = "exponential"
    """-log U: permute-and-flip."""
    LAPLACE = "laplace"
    """±(-log U): the joint release."""

    def rho(self, epsilon: Fraction) -> Fraction:
        """What a draw at ε costs in zCDP: ε-bounded range makes it ε²/8, pure ε-DP ε²/2."""
        return epsilon**2 / (8 if self is Noise.GUMBEL else 2)


class Entropy(Protocol):
    """Where random bits come from."""

    @property
    def secure(self) -> bool: ...

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SystemEntropy:
    """The operating system's entropy: the default of every release."""

    secure: bool = field(default=True, init=False)

    def read(self, size: int, /) -> bytes:
        return os.urandom(size)


@dataclass(slots=True)
class InsecureEntropy:
    """A seeded, predictable generator, for experiments and tests only.

    Who knows the seed can undo the noise.  A release refuses it unless it was made with
    `allow_release=True`, and then says `secure=False`.
    """

    seed: int
    allow_release: bool = False
    secure: bool = field(default=False, init=False)
    _generator: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._generator = np.random.Generator(np.random.PCG64(self.seed))

    def read(self, size: int, /) -> bytes:
        return self._generator.bytes(size)


def noisy_top(
    values: FloatArray,
    scale: Fraction,
    noise: Noise,
    k: int,
    entropy: Entropy,
    *,
    bits: int = FIRST_PASS_BITS,
) -> list[int]:
    """The k largest of `scale * values + noise`, largest first, drawn exactly.

    Args:
        values: finite floats, taken as the exact numbers they are.
        scale: an exact positive number.
        noise: independent for every candidate.
        k: how many, 1 <= k <= len(values).
        entropy: where the bits come from.
        bits: known bits per candidate in the first pass, 2 to 32.  The distribution of the answer
            does not depend on it; tests make it small to force refinement.
    """
    race = _Race(values, scale, noise, entropy, bits)
    words, upper = race.first_pass()
    pool = race.contenders(words, upper, k)
    if len(pool) == 1:
        return pool.tolist()
    top: list[int] = []
    for cluster in race.clusters(words, upper, pool, k):
        top += race.settle(cluster, words[cluster]) if len(cluster) > 1 else cluster.tolist()
    return top[:k]


def discrete_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """`size` integers with P(z) proportional to exp(-|z| / scale), drawn exactly.

    A floored exponential is geometric, and the difference of two geometric numbers is this.
    """
    return _geometric(scale, size, entropy) - _geometric(scale, size, entropy)


def random_order(size: int, entropy: Entropy) -> IntArray:
    """The numbers 0..size-1 in an order that is exactly uniform: that of words, all different."""
    while True:
        words = np.frombuffer(entropy.read(8 * size), dtype=np.uint64)
        if len(np.unique(words)) == size:
            return np.argsort(words)


@dataclass(frozen=True, slots=True)
class _Race:
    """One noisy maximum: who may win by the bits known so far, and who does by further bits."""

    values: FloatArray
    scale: Fraction
    noise: Noise
    entropy: Entropy
    bits: int

    def first_pass(self) -> tuple[NDArray[np.uint32], FloatArray]:
        """Random words, and an upper bound on every noisy value, relative to the largest score."""
        n, largest = len(self.values), self.values.max()
        factor, bound = _float_below(self.scale), _UPPER[self.noise]
        words, upper = np.empty(n, dtype=np.uint32), np.empty(n)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            for start in range(0, n, CHUNK):
                part = slice(start, min(start + CHUNK, n))
                m = np.frombuffer(self.entropy.read(4 * (part.stop - start)), dtype=np.uint32)
                words[part] = m >> np.uint32(32 - self.bits)
                score = np.maximum((self.values[part] - largest) * factor, LOWEST)
                upper[part] = score + bound(words[part], self.bits) + SLACK
        return words, upper

    def lower(self, words: NDArray[np.uint32], chosen: IntArray) -> FloatArray:
        """A lower bound on the noisy values of the chosen candidates."""
        factor, bound = _float_above(self.scale), _LOWER[self.noise]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            score = (self.values[chosen] - self.values.max()) * factor
            score = np.where(np.isnan(score), 0.0, score)  # 0 times an infinite factor
            return score + bound(words[chosen], self.bits) - SLACK

    def contenders(self, words: NDArray[np.uint32], upper: FloatArray, k: int) -> IntArray:
        """All candidates whose upper bound reaches the lower bounds of some k candidates."""
        n = len(upper)
        if k == n:
            return np.arange(n)
        leaders = np.argpartition(upper, n - k)[n - k :]
        return np.flatnonzero(upper >= self.lower(words, leaders).min())

    def clusters(
        self, words: NDArray[np.uint32], upper: FloatArray, pool: IntArray, k: int
    ) -> list[IntArray]:
        """Groups of the pool whose intervals overlap, best first, until they hold the top k."""
        ranked = pool[np.argsort(-upper[pool], kind="stable")]
        lowest = np.minimum.accumulate(self.lower(words, ranked))
        cuts = np.flatnonzero(lowest[:-1] > upper[ranked[1:]]) + 1
        return [group for group in np.split(ranked, cuts[cuts < k]) if len(group)]

    def settle(self, cluster: IntArray, words: NDArray[np.uint32]) -> list[int]:
        """The cluster by exact noisy value, largest first; near-ties get further bits."""
        members = cluster.tolist()
        uniform = {
            i: _Uniform.from_word(int(w), self.bits, self.noise)
            for i, w in zip(members, words, strict=True)
        }
        reference = Fraction(float(self.values[members[0]]))
        score = {i: (Fraction(float(self.values[i])) - reference) * self.scale for i in members}
        ball = {i: _noisy_ball(score[i], uniform[i], self.noise) for i in members}
        while unsettled := _unsettled(ball):
            for i in unsettled:
                uniform[i] = uniform[i].extended(self.entropy)
                ball[i] = _noisy_ball(score[i], uniform[i], self.noise)
        return _ranked(ball)


@dataclass(frozen=True, slots=True)
class _Uniform:
    """A uniform number in [m, m+1] / 2^bits, and the sign that goes with it under Laplace."""

    m: int
    bits: int
    negative: bool

    @classmethod
    def from_word(cls, word: int, bits: int, noise: Noise) -> "_Uniform":
        if noise is Noise.LAPLACE:
            return cls(word >> 1, bits - 1, bool(word & 1))
        return cls(word, bits, negative=False)

    def extended(self, entropy: Entropy) -> "_Uniform":
        more = int.from_bytes(entropy.read(REFINEMENT_BITS // 8), "little")
        return _Uniform(
            (self.m << REFINEMENT_BITS) | more, self.bits + REFINEMENT_BITS, self.negative
        )

    def ball(self) -> "arb":
        from flint import arb

        return arb(2 * self.m + 1, 1) / arb(2) ** (self.bits + 1)


def _noisy_ball(score: Fraction, uniform: _Uniform, noise: Noise) -> "arb":
    """An enclosure of score + noise; not finite while U may still be 0 or 1."""
    from flint import arb, ctx, fmpq

    size = score.numerator.bit_length() - score.denominator.bit_length()
    with ctx.workprec(uniform.bits + 64 + max(0, size)):
        e = -uniform.ball().log()
        value = -e.log() if noise is Noise.GUMBEL else -e if uniform.negative else e
        return arb(fmpq(score.numerator, score.denominator)) + value


def _ranked(ball: dict[int, "arb"]) -> list[int]:
    return sorted(ball, key=lambda i: _Descending(ball[i].mid()))


@dataclass(frozen=True, slots=True)
class _Descending:
    """Sorts exact numbers, the largest first."""

    value: "arb"

    def __lt__(self, other: "_Descending") -> bool:
        return bool(self.value > other.value)


def _unsettled(ball: dict[int, "arb"]) -> list[int]:
    """The candidates whose enclosures still overlap another's; the infinite ones first."""
    infinite = [i for i, b in ball.items() if not b.is_finite()]
    if infinite:
        return infinite
    overlapping: set[int] = set()
    lowest: int | None = None  # of the candidates ranked so far, the one that reaches down furthest
    for i in _ranked(ball):
        if lowest is not None and not ball[lowest] > ball[i]:
            overlapping |= {lowest, i}
        if lowest is None or ball[i].lower() < ball[lowest].lower():
            lowest = i
    return list(overlapping)


def _geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """floor(-scale * log U): P(g) proportional to exp(-g / scale), g = 0, 1, ..."""
    words = np.frombuffer(entropy.read(8 * size), dtype=np.uint64) >> np.uint64(11)
    factor = float(scale)
    with np.errstate(divide="ignore"):
        high = -np.log(words * 2.0**-53) * (factor * (1 + 2.0**-44)) + SLACK
        low = -np.log((words + np.uint64(1)) * 2.0**-53) * (factor * (1 - 2.0**-44)) - SLACK
    settled = (np.floor(low) == np.floor(high)) & (high < 2.0**52)
    g = np.zeros(size, dtype=np.int64)
    g[settled] = np.floor(low[settled])
    for i in np.flatnonzero(~settled):
        g[i] = _floored(scale, _Uniform(int(words[i]), 53, negative=False), entropy)
    return g


def _floored(scale: Fraction, uniform: _Uniform, entropy: Entropy) -> int:
    from flint import arb, ctx, fmpq

    while True:
        with ctx.workprec(uniform.bits + 64 + scale.numerator.bit_length()):
            x = -uniform.ball().log() * arb(fmpq(scale.numerator, scale.denominator))
            floor = x.floor().unique_fmpz() if x.is_finite() else None
        if floor is not None:
            return int(floor)
        uniform = uniform.extended(entropy)


_Bound = Callable[[NDArray[np.uint32], int], FloatArray]


def _gumbel(word: NDArray[np.uint32], bits: int, step: int) -> FloatArray:
    e = np.log((word + float(step)) * 2.0**-bits)
    np.negative(e, out=e)
    np.log(e, out=e)
    return np.negative(e, out=e)


def _exponential(word: NDArray[np.uint32], bits: int, step: int) -> FloatArray:
    e = np.log((word + float(step)) * 2.0**-bits)
    return np.negative(e, out=e)


def _laplace(word: NDArray[np.uint32], bits: int, step: int) -> FloatArray:
    negative = (word & np.uint32(1)).astype(bool)
    e = np.log(((word >> np.uint32(1)) + np.where(negative, 1.0 - step, step)) * 2.0 ** (1 - bits))
    return np.where(negative, e, -e)


# Gumbel noise grows with U; the others fall, so that their upper bound is at the lower end of U.
_UPPER: dict[Noise, _Bound] = {
    Noise.GUMBEL: partial(_gumbel, step=1),
    Noise.EXPONENTIAL: partial(_exponential, step=0),
    Noise.LAPLACE: partial(_laplace, step=0),
}
_LOWER: dict[Noise, _Bound] = {
    Noise.GUMBEL: partial(_gumbel, step=0),
    Noise.EXPONENTIAL: partial(_exponential, step=1),
    Noise.LAPLACE: partial(_laplace, step=1),
}


def _float_below(scale: Fraction) -> float:
    return float(scale) * (1 - RELATIVE_SLACK) if scale < 10**300 else 1e300


def _float_above(scale: Fraction) -> float:
    return float(scale) * (1 + RELATIVE_SLACK) if scale < 10**300 else np.inf
