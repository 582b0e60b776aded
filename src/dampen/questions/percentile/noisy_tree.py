"""Many percentiles for one ε, from a tree of noisy counts (after Hay et al., 2010).

A draw of all percentiles together (`dampen.questions.percentile.joint_tight`) errs like a walk of
as many steps, and where few records lie between two percentiles, empty points outweigh it.  The
error of a tree of counts does not grow with the list.

**Counts.**  g_1 < ... < g_G is a public grid.  A record on a point counts 2 there, one between two
points counts 1 at each.  With b parts a level, h levels, b^h >= G, a node of level l has the points
k b^(h-l) to (k+1) b^(h-l) - 1; those beyond the grid are empty and public.  b and h are chosen from
G (`shape`).

**Theorem.**  Let N be the public number of records under replace-one, and n + discrete Laplace
noise of scale 1 / ε0 under add/remove, ε0 = `COUNTING` of ε.  Let every node of every level have
its count plus discrete Laplace noise of scale 4 h / ε under replace-one, 2 h / (ε - ε0) under
add/remove.  N and all counts together are ε-DP, and so is whatever is computed from them.
Proof.  A record is 2 in the counts of a level: coming or going, it moves them by 2 in the 1-norm,
which costs (ε - ε0) / h, and n by 1, which costs ε0.  Replacing one is one going, one coming: 4 in
the 1-norm, ε / h a level. ∎

Only the counts below nodes in which a percentile is sought are drawn: what nobody looks at is not
needed.  Counts and noise are whole numbers, so nothing is rounded before the noise is in.

**Reading.**  F is the number of records up to an edge between points, half of those between two
points included.  The estimate of F is 0 and N at the two ends.  Inside a node whose ends have
estimates, the sums of its noisy counts are shifted linearly to meet the one at the right end; the
estimates are the nearest sequence that never decreases (isotonic regression), within the two ends.
A percentile with the target r of `joint_tight` is sought in the part whose ends are around r.

**Lemma.**  Let B_k = S_k - (k/b) S_b, where S_k is the sum of the noise of the first k of b parts.
An estimate inside a node is off by at most the larger of what its two ends are off by, and
max_k |B_k|.  Proof.  Before the regression it is off by (1 - k/b) e_left + (k/b) e_right + B_k.
Isotonic regression is monotone and commutes with adding constants, so it moves no sequence by more
than the largest difference to another; F is its own regression.  Cutting off at the two ends is off
by no more than these are. ∎

So the target is at most D + Σ_l max_k |B_k| from the interval of its answer, D = |N - n|, and its
distance from the target of n itself is at most D + 1 (`farthest`).

**zCDP.**  Noise on one count that moves by the whole costs ε_l²/2 a level; under replace-one two
counts move by half the price each: half of it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, log, log1p
from typing import ClassVar

import numpy as np

from dampen.core.sampling import LARGEST_SCALE, Entropy, discrete_laplace
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import Ranks
from dampen.releases.accuracy import CONFIDENCE

__all__ = ["COUNTING", "NoisyTree", "noisy_size", "shape", "target_ranks"]

COUNTING = Fraction(3, 20)
"""The share of ε for a noisy number of records, where that is private."""
LARGEST_SIZE = 1 << 34


def shape(points: int) -> tuple[int, int]:
    """b and h for a grid: those with the least error, which is as the root of b h³.

    >>> shape(50), shape(4096), shape(10**6)
    ((50, 1), (16, 3), (16, 5))
    """
    found = [(_root(points, h), h) for h in range(1, max(points.bit_length(), 1) + 1)]
    return min(found, key=lambda b_h: b_h[0] * b_h[1] ** 3)


def noisy_size(n: int, epsilon: Fraction, entropy: Entropy) -> int:
    """N under add/remove, at least 1, for its share of ε; public from then on."""
    noisy = n + int(discrete_laplace(1 / (COUNTING * epsilon), 1, entropy)[0])
    return min(max(noisy, 1), LARGEST_SIZE)


def target_ranks(shares: tuple[Fraction, ...], size: int) -> tuple[float, ...]:
    """The rank of `dampen.paper.percentile_selection` less 1/2, for so many records."""
    return tuple(rank(100 * q, max(size, 1)) - 0.5 for q in shares)


@dataclass(frozen=True)
class NoisyTree:
    """Different percentiles, ascending, as exact shares between 0 and 1; all fields are public.

    Attributes:
        shares: the percentiles.
        neighbours: add or remove one record, or replace one.
        points: of the grid.
    """

    shares: tuple[Fraction, ...]
    neighbours: Neighbours
    points: int
    name: ClassVar[str] = "noisy-tree"

    @property
    def zcdp_shares(self) -> int:
        """ρ is at most ε² over twice this."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 2 * self.levels
        return int(1 / (COUNTING**2 + (1 - COUNTING) ** 2 / self.levels))

    @cached_property
    def parts(self) -> int:
        """b."""
        return shape(self.points)[0]

    @cached_property
    def levels(self) -> int:
        """h."""
        return shape(self.points)[1]

    def scale(self, epsilon: Fraction) -> Fraction:
        """Of the noise on every count, for the whole ε, that of N included."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 4 * self.levels / epsilon
        return 2 * self.levels / ((1 - COUNTING) * epsilon)

    def draw(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One point of the grid per percentile, ascending: ε-DP."""
        if not self._fits(epsilon):
            return self._without_data()
        size = int(ranks.at_most[-1])
        if self.neighbours is Neighbours.ADD_REMOVE_ROW:
            size = noisy_size(size, epsilon, entropy)
        return self.draw_given(size, ranks, epsilon, entropy)

    def draw_given(self, size: int, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The same where N is public already: for the rest of ε."""
        if not self._fits(epsilon):
            return self._without_data()
        edges = self.edges(ranks)
        scale = self.scale(epsilon)
        found = Descent.of(target_ranks(self.shares, size), size)
        for level in range(1, self.levels + 1):
            counts = self.counts(edges, found.asked, level)
            noise = discrete_laplace(scale, counts.size, entropy).reshape(counts.shape)
            found = found.further(counts + noise, self.real_parts(found.asked, level))
        return [int(i) for i in found.node]

    def edges(self, ranks: Ranks) -> IntArray:
        """Twice F of the G + 1 edges; private."""
        between = ranks.at_most[:-1] + ranks.less[1:]
        return np.concatenate([[0], between, 2 * ranks.at_most[-1:]])

    def counts(self, edges: IntArray, nodes: IntArray, level: int) -> IntArray:
        """Row by row the counts of all parts of the nodes above a level; private."""
        first = nodes[:, None] * self.parts + np.arange(self.parts + 1)
        return np.diff(edges[np.minimum(first * self._width(level), self.points)])

    def real_parts(self, nodes: IntArray, level: int) -> IntArray:
        """How many parts of each node begin within the grid."""
        begun = -(-self.points // self._width(level)) - nodes * self.parts
        return np.minimum(begun, self.parts)

    def farthest(self, epsilon: Fraction) -> float | None:
        """How many ranks farther than the best points answers are, at most, mostly; or None.

        By the lemma and a Chernoff bound over all percentiles: noise of a scale s has
        E e^(λz) <= 1 / (1 - λ²s²), the noise of a level is independent of what is asked there, and
        e^(λ max_k |B_k|) is at most the sum of all e^(±λ B_k).  Any λ will do.  The rank error is
        at most twice the distance of a target from its answer's interval, and 1, above the best
        point's: see `Taut.farthest`.
        """
        if not self._fits(epsilon):
            return None
        missed = 1 - CONFIDENCE
        off = 0.0
        if self.neighbours is Neighbours.ADD_REMOVE_ROW:
            missed /= 2
            off = 2 * (log(1 / missed) / float(COUNTING * epsilon) + 1) + 1
        counted = len(self.shares) / missed
        scale = float(self.scale(epsilon)) / 2
        bounds = (
            (log(counted) + self.levels * self._log_moment(x)) * scale / x
            for x in np.linspace(0.02, 0.98, 49).tolist()
        )
        return 2 * (off + min(bounds)) + 1

    def _log_moment(self, x: float) -> float:
        """The logarithm of a bound of E e^(λ max_k |B_k|), x = λ times the scale."""
        b = self.parts
        moments = [
            -k * log1p(-((x * (1 - k / b)) ** 2)) - (b - k) * log1p(-((x * k / b) ** 2))
            for k in range(1, b)
        ]
        return log(1 + sum(2 * exp(moment) for moment in moments))

    def _fits(self, epsilon: Fraction) -> bool:
        """Whether the noise can be drawn; for less ε it would drown any data."""
        return max(self.scale(epsilon), 1 / (COUNTING * epsilon)) <= LARGEST_SCALE

    def _without_data(self) -> list[int]:
        return [int(q * (self.points - 1)) for q in self.shares]

    def _width(self, level: int) -> int:
        """The points of a node."""
        return int(self.parts ** (self.levels - level))


@dataclass(frozen=True, eq=False)
class Descent:
    """How far every percentile has been followed; public.

    Attributes:
        target: r, ascending.
        node: the node in which it is sought.
        ends: two rows, the estimates of F at the ends of that node.
    """

    target: FloatArray
    node: IntArray
    ends: FloatArray

    @classmethod
    def of(cls, ranks: tuple[float, ...], size: int) -> "Descent":
        """At the root, for N records."""
        m = len(ranks)
        ends = np.stack([np.zeros(m), np.full(m, float(size))])
        return cls(np.array(ranks), np.zeros(m, dtype=np.int64), ends)

    @property
    def asked(self) -> IntArray:
        """The nodes, each once."""
        return np.unique(self.node)

    def further(self, noisy: IntArray, real: IntArray) -> "Descent":
        """One level down, by the noisy counts of all parts of the nodes that are asked."""
        _, one, row = np.unique(self.node, return_index=True, return_inverse=True)
        sums = estimates(noisy / 2, real, self.ends[:, one])[row]
        b = noisy.shape[1]
        part = (sums[:, 1:b] < self.target[:, None]).sum(axis=1)
        part = np.minimum(part, real[row] - 1)
        every = np.arange(len(row))
        ends = np.stack([sums[every, part], sums[every, part + 1]])
        return Descent(self.target, self.node * b + part, ends)


def estimates(noisy: FloatArray, real: IntArray, ends: FloatArray) -> FloatArray:
    """Of F at the b + 1 edges of the parts of every node, one row each, from the left."""
    number = np.arange(1, noisy.shape[1] + 1)
    parts = real[:, None]
    left = ends[0][:, None]
    right = ends[1][:, None]
    sums = np.cumsum(np.where(number <= parts, noisy, 0.0), axis=1)
    steps = np.minimum(number / parts, 1.0)
    met = left + sums + steps * (right - left - sums[:, -1:])
    inner = np.clip(isotonic(met), left, right)
    return np.concatenate([left, np.where(number < parts, inner, right)], axis=1)


def isotonic(rows: FloatArray) -> FloatArray:
    """The nearest sequence that never decreases, of every row, by the max-min formula."""
    b = rows.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    fitted = np.full(rows.shape, -np.inf)
    for first in range(b):
        means = (sums[:, first + 1 :] - sums[:, first : first + 1]) / np.arange(1, b - first + 1)
        least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        fitted[:, first:] = np.maximum(fitted[:, first:], least)
    return fitted


def _root(points: int, h: int) -> int:
    """The least b with b^h >= points."""
    b = max(ceil(points ** (1 / h)) - 1, 1)
    while b**h < points:
        b += 1
    return b
