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
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import EXPONENTIAL, GUMBEL, Bounded, LargestOf, Words
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "Contenders",
    "Entropy",
    "InsecureEntropy",
    "SystemEntropy",
    "best_of_copies",
    "contenders",
    "discrete_gaussian",
    "discrete_laplace",
    "fresh",
    "geometric",
    "narrowed",
    "noisy_top",
    "random_order",
    "settle",
    "truncated_laplace",
    "uniform_below",
    "uniform_words",
    "weighted_best",
]

FIRST_PASS_BITS = 32
FEW_BITS = 16
"""Of many candidates: few of them are near the top, and half the entropy is half the time."""
MANY = 1 << 16
REFINEMENT_BITS = 64
STRIDE = 32
"""One in so many candidates shows how far a leader must be ahead."""
CHUNK = 1 << 14
PIECE = 1 << 18  # bytes of the system's entropy that are worth a thread
SLACK = 2.0**-40
"""Covers the rounding of a noise value below 2^6 in the first pass, log included."""
RELATIVE_SLACK = 2.0**-49
WEIGHT_SLACK = 2.0**-37
"""Covers the rounding of the log of a weight below 2^63 in the first pass."""
COPIES_SLACK = 2.0**-35
"""Covers that of the largest of at most 2^63 exponential numbers as well, which is below 2^7."""
LOWEST = -1e300
LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_SCALE = 2**40
"""Of discrete noise: so far its values fit into 64 bits, but for a chance below 2^-10^6."""


class Entropy(Protocol):
    """A source of random bits.  It is shared, never copied: see `fresh`."""

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
    """The candidates of one block that may be among its k best, and the bits of their noise so far.

    Attributes:
        ids: who they are, numbered over all blocks.
        values: their scores.
        words: the known bits of their noise.
        bits: how many are known.
        largest: the largest score of the block, which bounds in floats are relative to.
        weights: whole numbers whose logarithms are added to the scores; None for none.
    """

    ids: IntArray
    values: FloatArray
    words: Words
    bits: int
    largest: float
    weights: IntArray | None = None


def noisy_top(
    values: FloatArray,
    scale: Fraction,
    noise: Bounded,
    k: int,
    entropy: Entropy,
    *,
    bits: int | None = None,
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
    if bits is None:
        bits = FEW_BITS if len(values) >= MANY * max(1, k >> 4) else FIRST_PASS_BITS
    block = contenders(values, scale, noise, k, entropy, bits=bits)
    return settle([block], scale, noise, k, entropy)


def weighted_best(
    values: FloatArray,
    weights: IntArray,
    scale: Fraction,
    entropy: Entropy,
    *,
    bits: int = FIRST_PASS_BITS,
) -> int:
    """One index, drawn exactly with probability proportional to weight * exp(scale * value).

    It is the largest of `scale * values + log(weights)` plus Gumbel noise.  The logarithms are
    bounded in the first pass and refined in ball arithmetic with the noise, so that nothing is
    rounded and no rounding has to be paid for.

    Args:
        values: finite floats, taken as the exact numbers they are.
        weights: whole numbers from 1 to 2^63 - 1.
        scale: an exact positive number.
        entropy: where the bits come from.
        bits: as in `noisy_top`.
    """
    block = contenders(values, scale, GUMBEL, 1, entropy, bits=bits, weights=weights)
    [best] = settle([block], scale, GUMBEL, 1, entropy)
    return best


def best_of_copies(
    values: FloatArray,
    weights: IntArray,
    copies: IntArray,
    scale: Fraction,
    entropy: Entropy,
    *,
    bits: int = FIRST_PASS_BITS,
) -> int:
    """One index, drawn exactly as permute-and-flip draws one of the copies of all indices.

    Every copy has the score `scale * value + log(weight)` and an exponential number of its own on
    top.  The largest of N such numbers has the distribution function (1 - e^-x)^N, that of
    -log(1 - U^(1/N)) for a uniform U, so that one U stands for all copies of an index.

    Args:
        values: finite floats, taken as the exact numbers they are.
        weights: whole numbers from 1 to 2^63 - 1.
        copies: whole numbers from 1 to 2^63 - 1.
        scale: an exact positive number.
        entropy: where the bits come from.
        bits: as in `noisy_top`.
    """
    race = _Race(scale, LargestOf(copies), bits, float(values.max()))
    drawn = np.frombuffer(entropy.read(4 * len(values)), dtype=np.uint32)
    words = drawn >> np.uint32(32 - bits)
    upper = race.upper(values, words, weights) + COPIES_SLACK
    lower = race.lower(values, words, weights) - COPIES_SLACK
    pool = np.flatnonzero(upper >= lower.max())
    origin = Fraction(float(values[pool[0]])) * scale
    each = [LargestOf(int(copies[i])) for i in pool]
    runners = [
        _Runner.of(
            Fraction(float(values[i])) * scale - origin, int(words[i]), bits, own, int(weights[i])
        )
        for i, own in zip(pool, each, strict=True)
    ]
    while overlapping := _overlapping(runners):
        for i in overlapping:
            more = int.from_bytes(entropy.read(REFINEMENT_BITS // 8), "little")
            runners[i] = runners[i].extended(more, each[i])
    return int(pool[_ranked(runners)[0]])


def uniform_below(bound: int, entropy: Entropy) -> int:
    """One of 0 .. bound - 1, exactly uniform: words that are too large are drawn again."""
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        word = int.from_bytes(entropy.read(size), "little") >> (8 * size - bits)
        if word < bound:
            return word


def contenders(
    values: FloatArray,
    scale: Fraction,
    noise: Bounded,
    k: int,
    entropy: Entropy,
    *,
    start: int = 0,
    bits: int = FIRST_PASS_BITS,
    weights: IntArray | None = None,
) -> Contenders:
    """The first pass over one block, whose candidates are numbered from `start`.

    Arguments as in `noisy_top`; k is the number of answers over all blocks and may exceed the
    block.  If blocks are drawn in different places, `entropy` is a `SystemEntropy` in each.  The
    logarithms of `weights`, if there are any, are added to the scaled values.
    """
    race = _Race(scale, noise, bits, float(values.max(initial=-np.inf)))
    words, upper = race.first_pass(values, entropy)
    if weights is not None:
        upper += np.log(weights) + WEIGHT_SLACK
    if k < len(values):
        open_ended = np.flatnonzero(upper == np.inf)  # they do not tell where the others end
        upper[open_ended] = -np.inf
        leaders = _largest(upper, k)
        upper[open_ended] = np.inf
        least = race.lower(values[leaders], words[leaders], _part(weights, leaders)).min()
        pool = np.flatnonzero(upper >= least)
    else:
        pool = np.arange(len(values))
    return Contenders(
        pool + start, values[pool], words[pool], bits, race.largest, _part(weights, pool)
    )


def _largest(values: FloatArray, k: int) -> IntArray:
    """The positions of the k largest; in long arrays, small values are left out first."""
    if k == 1:
        return values[None].argmax(1)
    part = values[:: max(1, min(STRIDE, len(values) // k))]
    pool = np.flatnonzero(values >= np.partition(part, -k)[-k])
    return pool[np.argpartition(values[pool], -k)[-k:]]


def narrowed(blocks: Iterable[Contenders], scale: Fraction, noise: Bounded, k: int) -> Contenders:
    """The contenders of several blocks as one block's: those who may be among the k best of all."""
    parts = list(blocks)
    if len(parts) == 1 and k >= len(parts[0].ids):
        return parts[0]
    ids, values, words = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("ids", "values", "words")
    )
    weights = _joined_weights(parts)
    race = _Race(scale, noise, parts[0].bits, max(part.largest for part in parts))
    if k < len(ids):
        least = np.partition(race.lower(values, words, weights), -k)[-k]
        pool = np.flatnonzero(race.upper(values, words, weights) >= least)
        ids = ids[pool]
        values = values[pool]
        words = words[pool]
        weights = _part(weights, pool)
    return Contenders(ids, values, words, race.bits, race.largest, weights)


def settle(
    blocks: Iterable[Contenders], scale: Fraction, noise: Bounded, k: int, entropy: Entropy
) -> list[int]:
    """The ids of the k largest over all blocks, largest first; near-ties get further bits."""
    everyone = narrowed(blocks, scale, noise, k)
    if len(everyone.ids) == 1:
        return everyone.ids.tolist()
    race = _Race(scale, noise, everyone.bits, everyone.largest)
    top: list[int] = []
    for cluster in race.clusters(everyone, k):
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


def discrete_gaussian(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """`size` integers with P(z) proportional to exp(-z² / (2 scale²)), drawn exactly.

    Discrete Laplace noise y of the scale t, near its own, is proposed, and accepted with
    probability exp(-γ), γ = (|y| - scale² / t)² / (2 scale²); else drawn again (Canonne, Kamath and
    Steinke 2020).  The product exp(-|y| / t) exp(-γ) is exp(-y² / (2 scale²)) times a constant.
    At least a third is accepted.

    Raises:
        ParameterError: if the scale is above 2^40.
    """
    if not 0 < scale <= LARGEST_SCALE:
        raise ParameterError("Expected noise of a scale above 0 and at most 2^40. Raise epsilon.")
    around = min(int(scale) + 1, LARGEST_SCALE)
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    while len(left):
        proposed = discrete_laplace(Fraction(around), len(left), entropy)
        accepted = _are_accepted(np.abs(proposed), scale, scale**2 / around, entropy)
        drawn[left[accepted]] = proposed[accepted]
        left = left[~accepted]
    return drawn


def _are_accepted(
    sizes: IntArray, scale: Fraction, centre: Fraction, entropy: Entropy
) -> NDArray[np.bool_]:
    """Each yes with probability exp(-γ), γ = (size - centre)² / (2 scale²), exactly.

    An exponential number is compared with γ.  Floats know γ up to (1 + size / scale)² 2^-44, and
    the exponential of 53 bits up to 1 / word; where that does not decide, further bits do.
    """
    words = uniform_words(len(sizes), entropy) >> np.uint64(11)
    word = words.astype(np.float64)
    width = max(float(scale), 1e-150)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        exponent = ((sizes - float(centre)) / width) ** 2 / 2
        x = -np.log(word * 2.0**-53)
        error = 1 / word + 2.0**-44 * x + SLACK + (1 + sizes / width) ** 2 * 2.0**-44
        surely = x - error > exponent
        never = x + error < exponent
    for i in np.flatnonzero(~surely & ~never):
        exact = (int(sizes[i]) - centre) ** 2 / (2 * scale**2)
        surely[i] = _exceeds(exact, int(words[i]), entropy)
    return surely


def _exceeds(exponent: Fraction, word: int, entropy: Entropy) -> bool:
    """Whether -log U, of which 53 bits are known, is above a number: by as many further bits."""
    from flint import arb, ctx, fmpq

    bits = 53
    while True:
        with ctx.workprec(bits + 64 + exponent.numerator.bit_length()):
            ball = EXPONENTIAL.ball(word, bits)
            ball -= arb(fmpq(exponent.numerator, exponent.denominator))
        if ball > 0 or ball < 0:
            return bool(ball > 0)
        word = (word << REFINEMENT_BITS) | int.from_bytes(
            entropy.read(REFINEMENT_BITS // 8), "little"
        )
        bits += REFINEMENT_BITS


def truncated_laplace(scale: Fraction, bound: int, size: int, entropy: Entropy) -> IntArray:
    """`size` integers with P(z) proportional to exp(-|z| / scale) for |z| <= bound, drawn exactly.

    Numbers are proposed, and drawn again where they are not accepted.  If the bound is at least the
    scale, discrete Laplace noise is proposed, and accepted within the bound.  If not, a uniform
    number z, accepted with probability exp(-|z| / scale): that a geometric number is at least |z|.
    Either way more than a third is accepted.
    """
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    while len(left):
        if bound >= scale:
            proposed = discrete_laplace(scale, len(left), entropy)
            accepted = np.abs(proposed) <= bound
        else:
            proposed = _uniform_numbers(2 * bound + 1, len(left), entropy) - bound
            accepted = geometric(scale, len(left), entropy) >= np.abs(proposed)
        drawn[left[accepted]] = proposed[accepted]
        left = left[~accepted]
    return drawn


def uniform_words(size: int, entropy: Entropy) -> NDArray[np.uint64]:
    """`size` uniform words of 64 bits."""
    return np.frombuffer(entropy.read(8 * size), dtype=np.uint64)


def _uniform_numbers(bound: int, size: int, entropy: Entropy) -> IntArray:
    """`size` numbers from 0 to bound - 1, at most 2^62 - 1, exactly uniform."""
    shift = np.uint64(64 - max((bound - 1).bit_length(), 1))
    numbers = (uniform_words(size, entropy) >> shift).astype(np.int64)
    while len(over := np.flatnonzero(numbers >= bound)):
        numbers[over] = (uniform_words(len(over), entropy) >> shift).astype(np.int64)
    return numbers


def random_order(size: int, entropy: Entropy) -> IntArray:
    """The numbers 0..size-1 in an order that is exactly uniform: that of words, all different."""
    while True:
        words = uniform_words(size, entropy)
        order = np.argsort(words)
        if (np.diff(words[order]) != 0).all():
            return order


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
        size = 2 if self.bits == FEW_BITS else 4
        for start in range(0, n, CHUNK):
            part = slice(start, min(start + CHUNK, n))
            m = np.frombuffer(entropy.read(size * (part.stop - start)), dtype=f"u{size}")
            words[part] = m >> (8 * size - self.bits)
            upper[part] = self.upper(values[part], words[part])
        return words, upper

    def upper(
        self, values: FloatArray, words: Words, weights: IntArray | None = None
    ) -> FloatArray:
        factor = _float_below(self.scale)
        # Where the difference overflows, -LARGEST_FLOAT is above it.
        lowest = max(LOWEST, -LARGEST_FLOAT * factor)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            score = values - self.largest
            score *= factor
            np.maximum(score, lowest, out=score)
            score += self.noise.upper(words, self.bits)
            score += SLACK
        if weights is not None:
            score += np.log(weights) + WEIGHT_SLACK
        return score

    def lower(
        self, values: FloatArray, words: Words, weights: IntArray | None = None
    ) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            score = (values - self.largest) * _float_above(self.scale)
            score = np.where(np.isnan(score), 0.0, score)  # 0 times an infinite factor
            score += self.noise.lower(words, self.bits) - SLACK
        return score if weights is None else score + (np.log(weights) - WEIGHT_SLACK)

    def clusters(self, of: Contenders, k: int) -> list[list[int]]:
        """Groups of positions whose intervals overlap, best first, until they hold the top k."""
        upper = self.upper(of.values, of.words, of.weights)
        lower = self.lower(of.values, of.words, of.weights)
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
            _Runner.of(
                q - score[0],
                int(of.words[i]),
                self.bits,
                self.noise,
                1 if of.weights is None else int(of.weights[i]),
            )
            for q, i in zip(score, cluster, strict=True)
        ]
        while overlapping := _overlapping(runners):
            for i in overlapping:
                more = int.from_bytes(entropy.read(REFINEMENT_BITS // 8), "little")
                runners[i] = runners[i].extended(more, self.noise)
        return [cluster[i] for i in _ranked(runners)]


@dataclass(frozen=True, slots=True)
class _Runner:
    """A scaled score, its weight, the bits of its noise, and exact bounds on the sum of the score,
    the logarithm of the weight and the noise; None if infinite.
    """

    score: Fraction
    word: int
    bits: int
    bounds: "tuple[arb, arb] | None"
    weight: int = 1

    @classmethod
    def of(
        cls, score: Fraction, word: int, bits: int, noise: Bounded, weight: int = 1
    ) -> "_Runner":
        from flint import arb, ctx, fmpq

        size = score.numerator.bit_length() - score.denominator.bit_length()
        # Bounds are taken inside: outside, `lower` and `upper` would round to 53 bits.
        with ctx.workprec(bits + 64 + max(0, size)):
            ball = arb(fmpq(score.numerator, score.denominator)) + noise.ball(word, bits)
            if weight > 1:
                ball += arb(weight).log()
            bounds = (ball.lower(), ball.upper()) if ball.is_finite() else None
        return cls(score, word, bits, bounds, weight)

    def extended(self, more: int, noise: Bounded) -> "_Runner":
        word = (self.word << REFINEMENT_BITS) | more
        return _Runner.of(self.score, word, self.bits + REFINEMENT_BITS, noise, self.weight)

    @property
    def low(self) -> "arb":
        assert self.bounds is not None
        return self.bounds[0]

    @property
    def high(self) -> "arb":
        assert self.bounds is not None
        return self.bounds[1]


def _part(weights: IntArray | None, chosen: IntArray) -> IntArray | None:
    return None if weights is None else weights[chosen]


def _joined_weights(parts: list[Contenders]) -> IntArray | None:
    """The weights of several blocks; blocks without weights weigh 1 each."""
    if all(part.weights is None for part in parts):
        return None
    ones = (
        np.ones(len(part.ids), np.int64) if part.weights is None else part.weights for part in parts
    )
    return np.concatenate(list(ones))


def _ranked(runners: list[_Runner]) -> list[int]:
    """Sorted by upper bound, the largest first.  Numbers without a radius compare exactly."""
    return sorted(range(len(runners)), key=lambda i: runners[i].high, reverse=True)


def _overlapping(runners: list[_Runner]) -> list[int]:
    """The runners whose intervals overlap; those with infinite bounds first."""
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


def geometric(scale: Fraction, size: int, entropy: Entropy, *, bits: int = 53) -> IntArray:
    """floor(-scale * log U): P(g) proportional to exp(-g / scale), g = 0, 1, ...

    The first bits of U tell -log U up to 1 / word, and nearly always the floor.

    Args:
        scale: an exact positive number.
        size: how many numbers.
        entropy: where the bits come from.
        bits: of U that are drawn for every number, 53 or 32.  The law does not depend on it; 32
            take half the entropy, and leave one floor in 10^8 / scale open.
    """
    words: NDArray[Any]
    if bits == 32:
        words = np.frombuffer(entropy.read(4 * size), dtype=np.uint32)
    else:
        words = uniform_words(size, entropy) >> np.uint64(11)
    g = np.empty(size, dtype=np.int64)
    factor = float(scale)
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
        word = words[part].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
            x = -np.log(word * 2.0**-bits) * factor
            error = factor / word + 2.0**-44 * x + SLACK
            floor = np.floor(np.maximum(x - error, 0.0))
            settled = (floor == np.floor(x + error)) & (x < 2.0**52)
        g[part] = np.where(settled, floor, 0.0)
        for i in start + np.flatnonzero(~settled):
            g[i] = _floored(scale, int(words[i]), bits, entropy)
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
