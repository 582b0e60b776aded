"""All graphs with n vertices as one big graph.

EBC, degrees, codegrees and all that is counted around a node are local, so their disjoint union has
the values of all of them (32,768 for n = 6) at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from dampen.core.scores import Score
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.nodes.betweenness import EgoSensitivity, q
from dampen.questions.nodes.graphs import Graph, betweenness, codegrees, graph_of
from dampen.testing.universe import Universe


@dataclass(frozen=True)
class AllGraphs:
    """Every graph with n vertices: u, d and C with one row per graph, and pairs of neighbours."""

    n: int
    union: Graph
    u: FloatArray
    d: IntArray
    C: IntArray
    left: IntArray
    right: IntArray

    def tiled(self, nodes: IntArray) -> IntArray:
        """These nodes of a graph, in all graphs."""
        return (np.arange(len(self.u))[:, None] * self.n + nodes).ravel()

    def norm(self, vector: Callable[[Graph], FloatArray | IntArray]) -> float:
        """The largest 1-norm of the change of a vector between neighbours."""
        rows = vector(self.union).reshape(len(self.u), -1)
        return float(np.abs(rows[self.left] - rows[self.right]).sum(axis=1).max())

    def selection(self, delta: str, cap_degree: int) -> Selection:
        d, C = self.d.ravel(), (self.d if delta == "degree" else self.C).ravel()
        cap = q(cap_degree)
        sensitivity = EgoSensitivity.of(d, C, cap, cap_degree)
        return Selection(self.u.ravel(), sensitivity, cap, utility_range=2.0)

    def delta(self, selection: Selection, t: int) -> FloatArray:
        return selection.sensitivity.at(t).reshape(-1, self.n)

    def scores(self, selection: Selection, score: Score) -> FloatArray:
        scores = score.of(selection)
        return (scores.values / float(scores.unit)).reshape(-1, self.n)


@cache
def all_graphs(n: int) -> AllGraphs:
    universe = Universe.graphs(n)
    ends = [(src + n * i, dst + n * i) for i, (src, dst) in enumerate(universe.databases)]
    src, dst = (np.concatenate(column) for column in zip(*ends, strict=True))
    union = graph_of((src, dst), range(n * len(ends)))
    values = (betweenness(union), union.degrees, codegrees(union))
    u, d, C = (value.reshape(-1, n) for value in values)
    return AllGraphs(n, union, u, d, C, *universe.neighbours.T)
