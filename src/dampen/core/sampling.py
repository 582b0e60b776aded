"""Exact sampling: the only module that draws.

Floating-point samplers break differential privacy (Mironov 2012; Ilvento 2020), so noise is never
a float here.  A noise value is a function of a uniform real number U of which some bits are known,
and so has certified bounds (`dampen.core.noise`).  A first pass over all candidates, whose work
does not depend on the scores, keeps those that may still win; only near-ties get further bits and
are decided in ball arithmetic (`arb`).  The answer therefore has *exactly* the distribution of the
ideal mechanism on the given scores, at every rank.

**In two steps.**  `contenders` is the first pass over one block of candidates: whoever may be among
its k best, with the bits drawn so far.  `settle` merges the contenders of one or several blocks and
extends bits only where the order is open.  The k best of all are among the k best of their blocks,
so the answer has the same law however the candidates are divided, and blocks may be drawn where
they are stored.  Each place then needs its own entropy, the operating system's: two copies of a
seeded generator repeat each other's noise, which is not private at all.

The first pass trusts `numpy.log` to 2^-44 of its value (its documented error is some 2^-51; a test
compares it with ball arithmetic), and widens every bound by that much.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import EXPONENTIAL, Bounded, Words
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "Contenders",
    "Entropy",
    "InsecureEntropy",
    "SystemEntropy",
    "contenders",
    "discrete_laplace",
    "fresh",
    "geometric",
    "narrowed",
    "noisy_top",
    "random_order",
    "random_words",
    "settle",
]

FIRST_PASS_BITS = 32
REFINEMENT_BITS = 64
CHUNK = 1 << 14
PIECE = 1 << 18  # bytes of the system's entropy that are worth a thread
SLACK = 2.0**-40
"""Covers the rounding of a noise value below 2^6 in the first pass, log included."""
RELATIVE_SLACK = 2.0**-49
LOWEST = -1e300
LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_SCALE = 2**40
"""Of discrete noise: so far its values fit into 64 bits, but for a chance below 2^-10^6."""


class Entropy(Protocol):
    """Where random bits come from.  A source is shared, never copied: see `fresh`."""

    @property
    def secure(self) -> bool: ...

    def read(self, size: int, /) -> bytes:
        """As many uniform bytes, none of which was given before."""
        ...


@dataclass(frozen=True, slots=True)
class SystemEntropy:
    """The operating system's entropy: the default of every release."""

    secure: bool = field(default=True, init=False)

    def read(self, size: int, /) -> bytes:
        if size < PIECE:
            return os.urandom(size)
        with ThreadPoolExecutor() as pool:
            pieces = [*repeat(PIECE, size // PIECE), size % PIECE]
            return b"".join(pool.map(os.urandom, pieces))


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


def fresh(entropy: Entropy) -> Entropy:
    """The entropy for one more run of something repeatable, such as fitting an estimator again.

    A seeded generator starts again at its seed, so that the run repeats.  Every other source is
    returned as it is: a copy of a source with a state would repeat noise that was used already.
    """
    if isinstance(entropy, InsecureEntropy):
        return InsecureEntropy(entropy.seed, entropy.allow_release)
    return entropy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contenders:
    """Those of one block who may be among its k best, and the bits of their noise so far.

    Attributes:
        ids: who they are, numbered over all blocks.
        values: their scores.
        words: the known bits of their noise.
        bits: how many are known.
        largest: the largest score of the block, which bounds in floats are relative to.
    """

    ids: IntArray
    values: FloatArray
    words: Words
    bits: int
    largest: float


def noisy_top(
    values: FloatArray,
    scale: Fraction,
    noise: Bounded,
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
    block = contenders(values, scale, noise, k, entropy, bits=bits)
    return settle([block], scale, noise, k, entropy)


def contenders(
    values: FloatArray,
    scale: Fraction,
    noise: Bounded,
    k: int,
    entropy: Entropy,
    *,
    start: int = 0,
    bits: int = FIRST_PASS_BITS,
) -> Contenders:
    """The first pass over one block, whose candidates are numbered from `start`.

    Arguments as in `noisy_top`; k is the number of answers over all blocks and may exceed the
    block.  If blocks are drawn in different places, `entropy` is a `SystemEntropy` in each.
    """
    race = _Race(scale, noise, bits, float(values.max(initial=-np.inf)))
    words, upper = race.first_pass(values, entropy)
    if k < len(values):
        leaders = np.argpartition(upper, -k)[-k:] if k > 1 else upper[None].argmax(1)
        pool = np.flatnonzero(upper >= race.lower(values[leaders], words[leaders]).min())
    else:
        pool = np.arange(len(values))
    return Contenders(pool + start, values[pool], words[pool], bits, race.largest)


def narrowed(blocks: Iterable[Contenders], scale: Fraction, noise: Bounded, k: int) -> Contenders:
    """The contenders of several blocks as one block's: those who may be among the k best of all."""
    parts = list(blocks)
    ids, values, words = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("ids", "values", "words")
    )
    race = _Race(scale, noise, parts[0].bits, max(part.largest for part in parts))
    if k < len(ids):
        least = np.partition(race.lower(values, words), -k)[-k]
        pool = np.flatnonzero(race.upper(values, words) >= least)
        ids = ids[pool]
        values = values[pool]
        words = words[pool]
    return Contenders(ids, values, words, race.bits, race.largest)


def settle(
    blocks: Iterable[Contenders], scale: Fraction, noise: Bounded, k: int, entropy: Entropy
) -> list[int]:
    """The ids of the k largest over all blocks, largest first; near-ties get further bits."""
    everyone = narrowed(blocks, scale, noise, k)
    if len(everyone.ids) == 1:
        return everyone.ids.tolist()
    race = _Race(scale, noise, everyone.bits, everyone.largest)
    top: list[int] = []
    for cluster in race.clusters(everyone.values, everyone.words, k):
        top += race.exact_order(cluster, everyone, entropy) if len(cluster) > 1 else cluster
    return everyone.ids[top[:k]].tolist()


def discrete_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """`size` integers with P(z) proportional to exp(-|z| / scale), drawn exactly.

    A floored exponential is geometric, and the difference of two geometric numbers is this.

    Raises:
        ParameterError: if the scale is above 2^40.
    """
    if not 0 < scale <= LARGEST_SCALE:
        raise ParameterError("Expected noise of a scale above 0 and at most 2^40. Raise epsilon.")
    return geometric(scale, size, entropy) - geometric(scale, size, entropy)


def random_words(size: int, entropy: Entropy) -> NDArray[np.uint64]:
    """Independent and uniform words of 64 bits."""
    return np.frombuffer(entropy.read(8 * size), dtype=np.uint64)


def random_order(size: int, entropy: Entropy) -> IntArray:
    """The numbers 0..size-1 in an order that is exactly uniform: that of words, all different."""
    while True:
        words = np.frombuffer(entropy.read(8 * size), dtype=np.uint64)
        if len(np.unique(words)) == size:
            return np.argsort(words)


@dataclass(frozen=True, slots=True)
class _Race:
    """One noisy maximum: what the bits known so far say, and what further bits do.

    Bounds in floats are of noisy values relative to the largest score.  A score far below it is
    rounded by more than `SLACK`, but by less than what scaling with `_float_below` or
    `_float_above` gives away.
    """

    scale: Fraction
    noise: Bounded
    bits: int
    largest: float

    def first_pass(self, values: FloatArray, entropy: Entropy) -> tuple[Words, FloatArray]:
        """Random words, and the upper bounds that follow from them."""
        n = len(values)
        words = np.empty(n, dtype=np.uint32)
        upper = np.empty(n)
        for start in range(0, n, CHUNK):
            part = slice(start, min(start + CHUNK, n))
            m = np.frombuffer(entropy.read(4 * (part.stop - start)), dtype=np.uint32)
            words[part] = m >> np.uint32(32 - self.bits)
            upper[part] = self.upper(values[part], words[part])
        return words, upper

    def upper(self, values: FloatArray, words: Words) -> FloatArray:
        factor = _float_below(self.scale)
        # Where the difference overflows, -LARGEST_FLOAT is above it.
        lowest = max(LOWEST, -LARGEST_FLOAT * factor)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            score = values - self.largest
            score *= factor
            np.maximum(score, lowest, out=score)
            score += self.noise.upper(words, self.bits)
            score += SLACK
        return score

    def lower(self, values: FloatArray, words: Words) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            score = (values - self.largest) * _float_above(self.scale)
            score = np.where(np.isnan(score), 0.0, score)  # 0 times an infinite factor
            return score + self.noise.lower(words, self.bits) - SLACK

    def clusters(self, values: FloatArray, words: Words, k: int) -> list[list[int]]:
        """Groups of positions whose intervals overlap, best first, until they hold the top k."""
        upper = self.upper(values, words)
        lower = self.lower(values, words)
        ranked = np.argsort(-upper, kind="stable")
        lowest = np.minimum.accumulate(lower[ranked])
        cuts = (np.flatnonzero(lowest[:-1] > upper[ranked[1:]]) + 1).tolist()
        ends = [*cuts[: bisect_left(cuts, k) + 1], len(ranked)]
        positions = ranked.tolist()
        return [positions[start:end] for start, end in pairwise([0, *ends]) if start < k]

    def exact_order(self, cluster: list[int], of: Contenders, entropy: Entropy) -> list[int]:
        """A cluster by exact noisy value, largest first; near-ties get further bits."""
        score = [Fraction(float(of.values[i])) * self.scale for i in cluster]
        runners = [
            _Runner.of(q - score[0], int(of.words[i]), self.bits, self.noise)
            for q, i in zip(score, cluster, strict=True)
        ]
        while overlapping := _overlapping(runners):
            for i in overlapping:
                more = int.from_bytes(entropy.read(REFINEMENT_BITS // 8), "little")
                runners[i] = runners[i].extended(more, self.noise)
        return [cluster[i] for i in _ranked(runners)]


@dataclass(frozen=True, slots=True)
class _Runner:
    """A scaled score, the bits of its noise, and exact bounds on the sum; None if infinite."""

    score: Fraction
    word: int
    bits: int
    bounds: "tuple[arb, arb] | None"

    @classmethod
    def of(cls, score: Fraction, word: int, bits: int, noise: Bounded) -> "_Runner":
        from flint import arb, ctx, fmpq

        size = score.numerator.bit_length() - score.denominator.bit_length()
        # Bounds are taken inside: outside, `lower` and `upper` would round to 53 bits.
        with ctx.workprec(bits + 64 + max(0, size)):
            ball = arb(fmpq(score.numerator, score.denominator)) + noise.ball(word, bits)
            bounds = (ball.lower(), ball.upper()) if ball.is_finite() else None
        return cls(score, word, bits, bounds)

    def extended(self, more: int, noise: Bounded) -> "_Runner":
        word = (self.word << REFINEMENT_BITS) | more
        return _Runner.of(self.score, word, self.bits + REFINEMENT_BITS, noise)

    @property
    def low(self) -> "arb":
        assert self.bounds is not None
        return self.bounds[0]

    @property
    def high(self) -> "arb":
        assert self.bounds is not None
        return self.bounds[1]


def _ranked(runners: list[_Runner]) -> list[int]:
    """By upper bound, the largest first.  Numbers without a radius compare exactly."""
    return sorted(range(len(runners)), key=lambda i: runners[i].high, reverse=True)


def _overlapping(runners: list[_Runner]) -> list[int]:
    """Who overlaps somebody else; while some have infinite bounds, those first."""
    if infinite := [i for i, runner in enumerate(runners) if runner.bounds is None]:
        return infinite
    first, *others = _ranked(runners)
    # of those so far, the one that reaches down furthest
    overlapping = set[int]()
    lowest = first
    for i in others:
        if not runners[lowest].low > runners[i].high:
            overlapping |= {lowest, i}
        if runners[i].low < runners[lowest].low:
            lowest = i
    return sorted(overlapping)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """floor(-scale * log U): P(g) proportional to exp(-g / scale), g = 0, 1, ...

    The first 53 bits of U tell -log U up to 1 / word, and nearly always the floor.
    """
    words = np.frombuffer(entropy.read(8 * size), dtype=np.uint64) >> np.uint64(11)
    g = np.empty(size, dtype=np.int64)
    factor = float(scale)
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
        word = words[part].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
            x = -np.log(word * 2.0**-53) * factor
            error = factor / word + 2.0**-44 * x + SLACK
            floor = np.floor(np.maximum(x - error, 0.0))
            settled = (floor == np.floor(x + error)) & (x < 2.0**52)
        g[part] = np.where(settled, floor, 0.0)
        for i in start + np.flatnonzero(~settled):
            g[i] = _floored(scale, int(words[i]), 53, entropy)
    return g


def _floored(scale: Fraction, word: int, bits: int, entropy: Entropy) -> int:
    """floor(-scale * log U) by as many further bits of U as it takes."""
    from flint import arb, ctx, fmpq

    while True:
        with ctx.workprec(bits + 64 + scale.numerator.bit_length()):
            x = EXPONENTIAL.ball(word, bits) * arb(fmpq(scale.numerator, scale.denominator))
            floor = x.floor().unique_fmpz() if x.is_finite() else None
        if floor is not None:
            return int(floor)
        more = int.from_bytes(entropy.read(REFINEMENT_BITS // 8), "little")
        word = (word << REFINEMENT_BITS) | more
        bits = bits + REFINEMENT_BITS


def _float_below(scale: Fraction) -> float:
    return float(scale) * (1 - RELATIVE_SLACK) if scale < 10**300 else 1e300


def _float_above(scale: Fraction) -> float:
    return float(scale) * (1 + RELATIVE_SLACK) if scale < 10**300 else np.inf
