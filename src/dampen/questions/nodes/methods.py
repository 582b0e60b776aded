"""How the most influential nodes are found: in one round, or in two."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dampen.core.mechanisms import Mechanism, check_joint, check_k, select
from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.edges import OpenedEdges
from dampen.questions.nodes.accuracy import of_one_round, of_two_rounds
from dampen.questions.nodes.graphs import (
    Degrees,
    Graph,
    graph_of,
    load_degrees,
    load_graph,
)
from dampen.questions.nodes.metric import TWO_ROUNDS, DrawnMetric
from dampen.questions.nodes.problem import InfluentialNode
from dampen.questions.nodes.two_rounds import two_rounds
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak

QUERY = "top-k"
NODES_LEAK = Leak("nodes", "nodes", "Pass nodes= or n=, the public node set.")


@dataclass(frozen=True)
class OpenedGraph:
    """A graph that was opened but not read.

    Attributes:
        nodes: the public ones; None where they have to be taken from the edges.
        edges: what holds them; private.
    """

    nodes: Sequence[Hashable] | None
    edges: Graph | OpenedEdges

    def __repr__(self) -> str:
        return "<OpenedGraph>"

    def loaded(self, *, degrees_only: bool = False) -> Graph | Degrees:
        """Reads the edges, or where these are enough and an engine counts them the degrees."""
        if isinstance(self.edges, Graph):
            return graph_of(self.edges, self.nodes)
        if degrees_only and self.nodes is not None:
            return load_degrees(self.edges, self.nodes)
        return load_graph(self.edges, self.nodes)


@dataclass(frozen=True)
class Wanted:
    """What every method has to know; public.

    Attributes:
        nodes: None where they have to be taken from the edges.
        k: None for one node that is not in a list.
        max_degree: a bound on all degrees, if there is one.
    """

    nodes: Sequence[Hashable] | None
    k: int | None
    max_degree: int | None

    @property
    def count(self) -> int:
        return self.k or 1

    def leaks(self) -> tuple[Leak, ...]:
        return (NODES_LEAK,) if self.nodes is None else ()

    def leaked(self) -> tuple[str, ...]:
        return tuple(leak.parameter for leak in self.leaks())

    def problem(self, metric: Any, nodes: Sequence[Hashable] | None = None) -> InfluentialNode:
        """The problem on its nodes, or those found in the edges; as many as k until then."""
        known = self.nodes if nodes is None else nodes
        some = range(self.count) if known is None else known
        return InfluentialNode(nodes=some, max_degree=self.max_degree, metric=metric)

    def drawn(self, problem: InfluentialNode, places: list[int], **shown: Any) -> Drawn:
        names = [problem.candidates[i] for i in places]
        facts = {"nodes": problem.n, "max_degree": problem.max_degree, **shown}
        return Drawn(names[0] if self.k is None else names, facts)


@dataclass(frozen=True)
class OneRound:
    """A mechanism on the scores of all nodes.

    Attributes:
        wanted: which nodes, and how many.
        metric: what is ranked by; it has a selection.
        mechanism: how it is drawn.
        stands_in: whether the metric stands in for another one that was asked for.
    """

    wanted: Wanted
    metric: Any
    mechanism: Mechanism
    stands_in: bool = False

    def __post_init__(self) -> None:
        joint = self.problem().joint
        if joint is not None:
            check_joint(self.mechanism, joint)

    def problem(self, nodes: Sequence[Hashable] | None = None) -> InfluentialNode:
        """Raises `ParameterError` if public parameters do not fit together."""
        made = self.wanted.problem(self.metric, nodes)
        if not isinstance(self.metric, DrawnMetric):
            return made
        assert made.max_degree is not None
        return self.wanted.problem(self.metric.suited(self.mechanism, made.max_degree), nodes)

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            Neighbours.ADD_REMOVE_EDGE,
            price,
            query=QUERY,
            mechanism=self.mechanism,
            k=self.wanted.count,
            leaks=self.wanted.leaked(),
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        if self.wanted.nodes is None:
            return UNKNOWN
        max_degree = self.problem().max_degree
        assert max_degree is not None
        return of_one_round(
            self.metric,
            self.mechanism,
            n=len(self.wanted.nodes),
            k=self.wanted.count,
            max_degree=max_degree,
            epsilon=epsilon,
        )

    def leaks(self) -> tuple[Leak, ...]:
        return self.wanted.leaks()

    def draw(self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        problem, places = self.places(source, epsilon, entropy)
        shown: dict[str, Any] = {}
        if self.stands_in:
            shown["ranked_by"] = self.metric.name
        if hasattr(self.metric, "delta"):
            shown["delta"] = self.metric.delta
        return self.wanted.drawn(problem, places, **shown)

    def places(
        self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /
    ) -> tuple[InfluentialNode, list[int]]:
        """The problem, and the places of its k best nodes, best first."""
        made = source.loaded(degrees_only=getattr(self.metric, "degrees_only", False))
        problem = self.problem(made.nodes)
        mechanism = self.mechanism
        k = self.wanted.count
        metric: Any = problem.metric
        if isinstance(metric, DrawnMetric):
            graph = problem.graph(made)
            best = metric.draw(graph, mechanism, k=k, epsilon=epsilon, entropy=entropy)
        else:
            selection = problem.selection(made)
            best = select(selection, mechanism=mechanism, k=k, epsilon=epsilon, entropy=entropy)
        return problem, best


@dataclass(frozen=True)
class TwoRounds:
    """Noisy degrees first, then what they make worth asking.

    Attributes:
        wanted: which nodes, and how many.
        metric: what is asked for; it has rounds.
    """

    wanted: Wanted
    metric: Any

    def cost(self, price: Price, /) -> Cost:
        return composed_cost(
            Neighbours.ADD_REMOVE_EDGE,
            price,
            query=QUERY,
            mechanism=TWO_ROUNDS,
            leaks=self.wanted.leaked(),
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        if self.wanted.nodes is None:
            return UNKNOWN
        max_degree = self.wanted.problem(self.metric).max_degree
        assert max_degree is not None
        n = len(self.wanted.nodes)
        return of_two_rounds(n=n, k=self.wanted.count, max_degree=max_degree, epsilon=epsilon)

    def leaks(self) -> tuple[Leak, ...]:
        return self.wanted.leaks()

    def draw(self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.wanted.drawn(*self.places(source, epsilon, entropy))

    def places(
        self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /
    ) -> tuple[InfluentialNode, list[int]]:
        """The problem, and the places of its k best nodes, best first."""
        graph = source.loaded()
        assert isinstance(graph, Graph)
        problem = self.wanted.problem(self.metric, graph.nodes)
        k = check_k(self.wanted.count, len(graph.nodes))
        rounds = self.metric.rounds
        D = problem.max_degree
        best = two_rounds(graph, rounds, k=k, epsilon=epsilon, entropy=entropy, max_degree=D)
        return problem, best
