"""The degree: integers, Δ = 1, one-sided, S = 2.

Noise on it is exponential of scale k/ε for permute-and-flip (one-sided), Laplace of scale 2/ε for
the joint release, which is the wider one for k <= 2.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import Selection
from dampen.questions.nodes.graphs import Degrees, Graph
from dampen.questions.nodes.metric import Usual, counted


@dataclass(frozen=True)
class Degree:
    """The number of neighbours: integers, Δ = 1, and one edge changes exactly two of them."""

    name: ClassVar[str] = "degree"
    help: ClassVar[str] = "the number of neighbours"
    rounds: ClassVar[None] = None
    degrees_only: ClassVar[bool] = True
    any_degree: ClassVar[bool] = True
    unit: ClassVar[str] = "neighbours"
    joint = MappingProxyType[Score, float]({Global(): 2.0, Shifted(): 2.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In one round, with the narrower noise."""
        del n, epsilon
        return Usual(self, "pf" if k <= 2 else "joint")

    def selection(self, graph: Graph | Degrees, max_degree: int, /) -> Selection:
        return counted(graph.degrees, self.joint, max_degree)


@dataclass(frozen=True)
class InDegree:
    """The number of different sources of directed edges: Δ = 1, one-sided.

    An edge that is listed in both directions changes two of them, so that S = 2 as for the degree.
    Where ε protects a source with all its edges, distinct sources are counted
    (`dampen.questions.frequency.DistinctMethod`).
    """

    name: ClassVar[str] = "indegree"
    help: ClassVar[str] = "the number of sources of edges to it; for directed edges"
    rounds: ClassVar[None] = None
    directed: ClassVar[bool] = True
    any_degree: ClassVar[bool] = True
    unit: ClassVar[str] = "neighbours"
    joint = Degree.joint

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In one round, with the narrower noise."""
        del n, epsilon
        return Usual(self, "pf" if k <= 2 else "joint")

    def selection(self, graph: Graph | Degrees, max_degree: int, /) -> Selection:
        return counted(graph.degrees, self.joint, max_degree)
