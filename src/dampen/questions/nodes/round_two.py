"""What round 2 may ask, once round 1 has told about how large degrees are.

See `dampen.questions.nodes.two_rounds` for the theorem: one edge changes each of these vectors by
at most its norm, whatever the answer of round 1 was.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Protocol

import numpy as np

from dampen.core.selection import IntArray
from dampen.questions.nodes.counting import counts_around, oriented_degrees
from dampen.questions.nodes.graphs import Graph
from dampen.questions.nodes.shortlist_betweenness import largest

UNIT = 6 << 14
"""The grid of round 2: its vectors are integers, in units of 1/UNIT."""
SURE = 3
"""In noise scales: beyond this a noisy degree hides one node in forty."""
SLOPES = tuple(Fraction(x, 4) for x in range(4, 11))
"""Those of a whole shortlist, in parts of 1 / level: from the triangles' own share upwards."""
ROOM = Fraction(4, 3)
"""How long lists of a whole shortlist are at least, in parts of the k-th degree."""
LONGEST = 600
"""Of shortlists.  Longer ones cost time, and their slopes are too small to matter."""


class Question(Protocol):
    """What round 2 asks: public, made from the answer of round 1."""

    @property
    def norm(self) -> int:
        """By how much one edge changes the vector at most, in the 1-norm."""
        ...

    def vector(self, graph: Graph, /) -> IntArray:
        """Private integers, in units of their own: `norm` is in the same."""
        ...

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """The k best nodes by the vector plus noise, best first."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Oriented:
    """How many neighbours of a node are below it."""

    noisy: IntArray
    held: float
    norm = UNIT

    def vector(self, graph: Graph, /) -> IntArray:
        return UNIT * oriented_degrees(graph, self.noisy)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """An answer above the noisy degree is held back, by a public share."""
        s = answers / UNIT
        return largest(s - self.held * np.maximum(s - self.noisy, 0), k)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shortlist:
    """The nodes that may be among the k best, with their slopes in units of 1/UNIT.

    Attributes:
        nodes: who is on it.
        slopes: what a triangle takes off.
        length: of everyone's list.
        whole: whether neighbours on the shortlist count as others do, and triangles with them.
    """

    nodes: IntArray
    slopes: IntArray
    length: int
    whole: bool = False

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float, *, steepest: Fraction) -> "Shortlist | None":
        """The one of norm 1; None where the noisy degrees do not tell who may be among the best."""
        n = len(noisy)
        level = outstanding(noisy, k, noise)
        if level is None:
            return None
        size = likely(noisy, k, level, noise)
        if size > min(n, 2 * level, LONGEST):
            return None
        nodes = largest(noisy, size)
        levels = np.maximum(noisy[nodes], level)
        return cls(nodes, *slopes(levels, steepest, UNIT))

    @classmethod
    def whole_of(
        cls, noisy: IntArray, k: int, noise: float, *, steepest: Fraction, norm: float
    ) -> "Shortlist | None":
        """A whole shortlist, if slopes of 1 / level keep within the norm.

        What they leave of it is shared, as a ratio: half for less noise, and half for steeper
        slopes, then for more nodes, then for longer lists.
        """
        n = len(noisy)
        level = outstanding(noisy, k, noise)
        if level is None or (size := likely(noisy, k, level, noise)) > min(n, LONGEST):
            return None
        levels = np.maximum(noisy[largest(noisy, min(n, LONGEST))], level)
        sums = np.cumsum(1 / levels)
        least = whole_norm(Fraction(1), sums[size - 1])
        if least > norm:
            return None
        within = (least * norm) ** 0.5
        steep = max(s for s in SLOPES if s <= steepest and whole_norm(s, sums[size - 1]) <= within)
        if steep == steepest:
            spare = (within - whole_norm(steep, 0)) / float(steep)
            size = max(size, int(np.searchsorted(sums, spare)))
        slopes = steep.numerator * UNIT // (steep.denominator * levels[:size])
        rise = max(int(within * UNIT) - int(slopes.sum()), 2 * UNIT) // 2
        length = min((UNIT + rise) // max(int(slopes[-1]), 1), n)
        return cls(largest(noisy, size), slopes, length, whole=True)

    @property
    def norm(self) -> int:
        rise = max(UNIT, int(self.slopes.max()) * self.length - UNIT)
        fall = int(self.slopes.sum())
        return 2 * rise + fall if self.whole else max(rise, fall)

    def vector(self, graph: Graph, /) -> IntArray:
        outside, triangles = self.counts(graph)
        inside = graph.degrees[self.nodes] - outside
        return UNIT * outside + (UNIT // 2) * inside - self.slopes * triangles

    def counts(self, graph: Graph) -> tuple[IntArray, IntArray]:
        """Neighbours outside the shortlist, and the edges among them that count; or all."""
        return counts_around(self.nodes, self.length, graph, whole=self.whole)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        return self.nodes[largest(answers, k)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TriangleList:
    """Triangles of a shortlist, of which at most `length` nodes are on it.

    The unit is 1 / length, which is the weight of a triangle: it gets finer as lists get longer,
    and nothing is rounded.
    """

    nodes: IntArray
    length: int

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float, longest: int) -> "TriangleList | None":
        """None where the noisy degrees do not tell who may be among the k best.

        Nor is there one where its lists would be above `longest`, for which noise is too large.
        """
        size = 2 * k + 5
        level = outstanding(noisy, k, noise)
        if level is None or size > min(len(noisy), LONGEST):
            return None
        length = max(level // 2, size)
        return cls(largest(noisy, size), length) if length <= longest else None

    @property
    def norm(self) -> int:
        return self.length

    def vector(self, graph: Graph, /) -> IntArray:
        return counts_around(self.nodes, self.length, graph)[1]

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        return self.nodes[largest(answers, k)]


def slopes(levels: IntArray, steepest: Fraction, unit: int) -> tuple[IntArray, int]:
    """Slopes steepest / level, all made smaller if their sum is above 1; and the length of lists.

    Integers only: the guarantee of `Shortlist` is not left to floats.
    """
    steep = steepest.numerator * unit // (steepest.denominator * levels)
    total = int(steep.sum())
    if total > unit:
        steep = steep * unit // total
    return steep, 2 * unit // max(int(steep.max()), 1)


def whole_norm(steep: Fraction, weight: float) -> float:
    """Of a whole shortlist with slopes of `steep` / level and the shortest lists.

    The weight is the sum of all 1 / level.
    """
    return 2 * max(1.0, float(ROOM * steep) - 1) + float(steep) * weight


def likely(noisy: IntArray, k: int, level: int, noise: float) -> int:
    """How many nodes may be among the k best; some more, for degrees do not tell all."""
    return max(int(np.count_nonzero(noisy >= level - SURE * noise)), least_size(k))


def least_size(k: int) -> int:
    """A shortlist holds some nodes more than are asked for: degrees do not tell all."""
    return ceil(1.5 * k + 5)


def outstanding(noisy: IntArray, k: int, noise: float) -> int | None:
    """The k-th largest noisy degree, if it is far enough above the average one.

    Guarantee: it is at least 1, so that the slopes that are made from it are not negative.
    """
    n = len(noisy)
    level = int(np.partition(noisy, n - k)[n - k])
    if level < 1 or level - noisy.mean() < noise * standing_out(n, k):
        return None
    return level


def standing_out(n: int, k: int) -> float:
    """How many noise scales the k-th of n must be above the many: fewer than e^-SURE k pass it."""
    return log(max(n / (2 * k), 1)) + SURE
