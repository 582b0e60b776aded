"""Influence by triangles, how many there are at a node and how few; and by cores.

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
integers: 3 (D - 1) d - 4 T.

**Cores.**  u = the core number, the largest k for which v is in a subgraph of smallest degree k.
Without one edge that subgraph has smallest degree k - 1, so Δ = 1; an edge more lowers none.
One-sided; any number of core numbers may change at once, so there is no joint release.

Tests repeat all of it on all small graphs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dampen.core import sensitivity
from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.errors import ParameterError
from dampen.questions.nodes.graphs import Graph, for_all


def triangles(graph: Graph) -> IntArray:
    """T of every node."""
    from dampen.kernels.shortlist import Listed, Workspace, outside_and_triangles

    n = len(graph.nodes)
    nobody = np.zeros(n, dtype=np.bool_)
    everyone = np.arange(n)
    listed = Listed(graph.first, graph.to, everyone, nobody, np.full(n, n, dtype=np.int32))
    stop = np.zeros(1, dtype=np.bool_)
    result = np.zeros((n, 2), dtype=np.int64)

    def worker() -> Any:
        work = Workspace(np.zeros(n, dtype=np.bool_), stop)
        return lambda begin, end: outside_and_triangles(begin, end, listed, work, result)

    for_all(worker, graph.degrees, stop, "Triangles")
    return result[:, 1]


def counted(counts: IntArray, joint: Mapping[Score, float], max_degree: int) -> Selection:
    """Whole numbers up to D that an edge more raises by at most 1 each: Δ = 1, one-sided, exact."""
    return Selection(
        counts,
        sensitivity.constant(1),
        one_sided=True,
        joint=joint,
        exact=True,
        utility_range=float(max_degree),
    )


def core_numbers(graph: Graph) -> IntArray:
    """The core number of every node."""
    from dampen.kernels.compile import interruptible
    from dampen.kernels.neighbours import peel

    core = graph.degrees.copy()
    interruptible(peel)(graph.first, graph.to, core)
    return core


@dataclass(frozen=True)
class Triangles:
    """The number of edges among the neighbours of a node."""

    @property
    def joint(self) -> Mapping[Score, float]:
        return {Global(): 3.0}

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

    max_degree: int

    @property
    def joint(self) -> Mapping[Score, float]:
        norm = 6 * (self.max_degree - 1) / self.bound
        return {Global(): norm, Shifted(): norm}

    @property
    def bound(self) -> int:
        """Δ: an end of an edge changes by 3 (D - 1) - 4c, a common neighbour by 4."""
        return max(3 * (self.max_degree - 1), 4)

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        u = 3 * (max_degree - 1) * graph.degrees - 4 * triangles(graph)
        return Selection(
            u,
            sensitivity.constant(self.bound),
            joint=self.joint,
            exact=True,
            utility_range=float(max_degree),
        )


@dataclass(frozen=True)
class Core:
    """The core number of a node; see `centralities` for what finds it best."""

    joint = MappingProxyType[Score, float]({})

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        return counted(core_numbers(graph), self.joint, max_degree)


@dataclass(frozen=True)
class OnlyInRounds:
    """A metric without a useful sensitivity function; see `dampen.questions.nodes.centralities`."""

    name: str

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:  # noqa: ARG002
        raise self.refusal

    @property
    def refusal(self) -> ParameterError:
        return ParameterError(
            f"Expected no mechanism, or 'two-rounds', for metric {self.name!r}: no useful "
            "sensitivity function of it is known."
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
