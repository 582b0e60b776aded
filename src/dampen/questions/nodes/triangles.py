"""Influence by triangles, how many there are at a node and how few.

T(v) is the number of edges among the neighbours of v.  An edge ab between nodes with c common
neighbours changes T(a) and T(b) by c and T of every common neighbour by 1, all in one direction.
Degrees are at most D, so c <= D - 1.

**Triangles.**  u = T, Δ = D - 1.  The c of an edge at v is at most d(v), and other edges change
T(v) by at most 1, only where d(v) >= 2; one edge changes d(v) by at most 1.  So
δ(G, t, v) = min(d(v) + t, D - 1) is admissible.  One-sided; the vector changes by 3c <= 3Δ in the
1-norm.

**Brokerage.**  u = d - κ T / (D - 1) with κ = 4/3, for who has a public bound D on degrees: a
neighbour counts less the more others it knows.  With x = κ c / (D - 1), an edge changes u at its
ends by 1 - x and at the c common neighbours by x together, in the 1-norm by 2 |1 - x| + x, which is
at most 2 for x <= κ = 4/3 (2 - x below 1, 3x - 2 above).  With κ = 3/2 it is 2.5.  Here in
integers: 3 (D - 1) d - 4 T, so that Δ = 3 (D - 1): an end of an edge changes by 3 (D - 1) - 4c, a
common neighbour by 4.  A bound of 3 stands in for smaller ones: it holds where they do.

Tests repeat all of it on all small graphs.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dampen.core import sensitivity
from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.nodes.graphs import Graph, for_all
from dampen.questions.nodes.metric import TWO_ROUNDS, Usual
from dampen.questions.nodes.two_rounds import TriangleRounds


def triangles(graph: Graph) -> IntArray:
    """T of every node."""
    from dampen.kernels.graphs import outside_and_triangles

    n = len(graph.nodes)
    nobody = np.zeros(n, dtype=np.uint8)
    everyone = np.arange(n)
    listed = graph.first, graph.to, everyone, nobody, np.full(n, n, dtype=np.int32)
    stop = np.zeros(1, dtype=np.uint8)
    result = np.zeros((n, 2), dtype=np.int64)

    def worker() -> Any:
        mark = np.zeros(n, dtype=np.uint8)
        return lambda *nodes: outside_and_triangles(*nodes, *listed, mark, stop, result)

    for_all(worker, graph.degrees, stop, "Triangles")
    return result[:, 1]


@dataclass(frozen=True)
class Triangles:
    """The number of edges among the neighbours of a node."""

    name: ClassVar[str] = "triangles"
    help: ClassVar[str] = "edges among the neighbours of a node"
    rounds: ClassVar[TriangleRounds] = TriangleRounds()
    joint = MappingProxyType[Score, float]({Global(): 3.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In two rounds."""
        del n, k, epsilon
        return Usual(self, TWO_ROUNDS)

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        cap = float(max(max_degree - 1, 1))
        return Selection(
            triangles(graph),
            DegreeSensitivity(graph.degrees, cap, max_degree),
            bound=cap,
            one_sided=True,
            joint=self.joint,
            exact=True,
            # T is at most D(D-1)/2.
            utility_range=max_degree / 2 + 1,
        )


@dataclass(frozen=True)
class Brokerage:
    """The degree less triangles, as far as a public bound on degrees allows."""

    name: ClassVar[str] = "brokerage"
    help: ClassVar[str] = "the degree less triangles, for a public max_degree"
    rounds: ClassVar[None] = None
    unit: ClassVar[str] = "neighbours"
    joint = MappingProxyType[Score, float]({Global(): 2.0, Shifted(): 2.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """All nodes at once."""
        del n, k, epsilon
        return Usual(self, "joint")

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        neighbour = 3 * (max(max_degree, 3) - 1)
        return Selection(
            neighbour * graph.degrees - 4 * triangles(graph),
            sensitivity.constant(neighbour),
            joint=self.joint,
            exact=True,
            utility_range=float(max_degree),
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DegreeSensitivity:
    """min(d + t, cap) in closed form, exact below 2^53; `horizon` is public."""

    d: IntArray
    cap: float
    horizon: int

    def part(self, candidates: slice, /) -> "DegreeSensitivity":
        return DegreeSensitivity(self.d[candidates], self.cap, self.horizon)

    def at(self, t: int, /) -> FloatArray:
        return np.minimum(self.d + t, self.cap)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return np.minimum(self.d + t, self.cap)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        rising = np.minimum(t, np.maximum(int(self.cap) - self.d, 0))
        return rising * (2 * self.d + rising - 1) / 2 + (t - rising) * self.cap
