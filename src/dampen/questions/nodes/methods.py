"""How the most influential nodes are found: in one round, in two, or in a noisy copy of the graph.

- `OneRound`, `OfSources`, `TwoRounds`, `NoisyGraph`: these ways; `DegreesMethod` gives the numbers
  of their winners.
- `of_one_round`, `of_two_rounds`: what an answer about nodes will be worth, from public facts
  alone.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dampen.core.losses import equal_parts
from dampen.core.mechanisms import JOINT, Mechanism, check_joint, select
from dampen.core.sampling import Entropy, discrete_laplace
from dampen.core.selection import IntArray, Neighbours, check_k
from dampen.data.edges import EdgeTable, OpenedEdges
from dampen.questions.nodes.graphs import (
    Degrees,
    Graph,
    graph_of,
    load_degrees,
    load_graph,
    load_in_degrees,
    made_up_graph,
    noisy_copy,
    wrong_pairs,
)
from dampen.questions.nodes.metric import NOISY_GRAPH, TWO_ROUNDS, Degree, DrawnMetric
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.nodes.two_rounds import Shares, refined, two_rounds
from dampen.releases.accuracy import (
    CONFIDENCE,
    UNKNOWN,
    Accuracy,
    by_edges,
    by_neighbours,
    lead,
    likely_noise,
)
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak, Method
from dampen.releases.numbers import ShiftLaw, check_scale, likely

__all__ = [
    "largest_lead",
    "of_one_round",
    "of_two_rounds",
]


DISCRETE = 2


def of_one_round(
    metric: Any, mechanism: Mechanism, *, n: int, k: int, max_degree: int, epsilon: Fraction
) -> Accuracy:
    """The accuracy of k of n nodes by a mechanism on a metric, where neighbours are its unit.

    A mechanism on the degree, or on brokerage, names nodes that lead by enough
    (`dampen.releases.accuracy`).  Nothing is said of other rankings in one round.
    """
    if getattr(metric, "unit", None) != "neighbours" or k >= n:
        return UNKNOWN
    tiny = metric.selection(made_up_graph(), max_degree)
    by_degree = isinstance(metric, Degree)

    def needed(count: int, at: Fraction) -> float | None:
        return lead(tiny, mechanism, m=n, k=count, epsilon=at)

    def most(count: int) -> int:
        return largest_lead(n, count, max_degree) if by_degree else max_degree

    of = "" if by_degree else metric.name
    return _by_leads(needed, most, k, epsilon, of=of)


def of_two_rounds(*, n: int, k: int, max_degree: int, epsilon: Fraction) -> Accuracy:
    """The accuracy of k of n nodes in two rounds.

    What the second one asks depends on the first answer, so only that is said which holds whatever
    it is: k nodes that lead all others by g degrees have the k largest noisy degrees with
    probability 0.9, by the theorem of `dampen.releases.accuracy` for noise of scale 2/ε1; every
    second question is about those at least.  Discrete noise of a scale is less than 1 away from
    continuous noise of that scale (the floors of two exponential numbers, subtracted): two degrees
    more are enough.  So is 2B + 1, if all noises are at most B with probability 0.9: that is less
    where ε is large.
    """
    if k >= n:
        return UNKNOWN
    degrees = Degree().selection(made_up_graph(), max_degree)

    def needed(count: int, at: Fraction) -> float:
        first = Shares.of(at).first
        continuous = lead(degrees, JOINT, m=n, k=count, epsilon=first)
        assert continuous is not None
        return min(continuous + DISCRETE, 2 * likely_noise(first / 2, n) + 1)

    def most(count: int) -> int:
        return largest_lead(n, count, max_degree)

    return _by_leads(needed, most, k, epsilon, decides=False)


def _by_leads(
    needed: Callable[[int, Fraction], float | None],
    most: Callable[[int], int],
    k: int,
    epsilon: Fraction,
    *,
    decides: bool = True,
    of: str = "",
) -> Accuracy:
    """From the leads that some nodes need at an ε, and the largest that they can have."""

    def suffices(count: int, at: Fraction) -> bool:
        lead_at = needed(count, at)
        return lead_at is None or lead_at <= most(count)

    return by_neighbours(
        needed(k, epsilon),
        k=k,
        epsilon=epsilon,
        most=most(k),
        enough=float(epsilon) if most(k) < 1 else _enough(lambda at: suffices(k, at), epsilon),
        one_is_enough=suffices(1, epsilon),
        decides=decides,
        of=of,
    )


def _enough(suffices: Callable[[Fraction], bool], epsilon: Fraction) -> float:
    """The smallest ε that suffices, from above, to about one part in a thousand."""
    if suffices(epsilon):
        return float(epsilon)
    low = epsilon
    high = 2 * epsilon
    while not suffices(high):
        low = high
        high *= 2
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return float(high)


def largest_lead(n: int, k: int, max_degree: int) -> int:
    """How many neighbours k < n nodes can have more than each of the others.

    Let k of n nodes have degrees of d <= D or more, of which at most k - 1 are among each other.
    Then at least k (d - k + 1) edges go to the n - k others, of which one has at least the average.
    So the lead is at most d - ⌈k (d - k + 1) / (n - k)⌉, which does not fall with d if 2k <= n and
    does not rise if 2k >= n, from d = k - 1 on: the largest is at one of the ends.

    >>> largest_lead(40, 1, 39), largest_lead(40, 5, 39), largest_lead(40, 30, 39)
    (38, 34, 29)
    """

    def with_degree(d: int) -> int:
        outside = k * max(d - k + 1, 0)
        return d - -(-outside // (n - k))

    return max(with_degree(max_degree), with_degree(min(max_degree, k - 1)))


QUERY = "top-k"
NODES_LEAK = Leak("nodes", "The list of nodes", "Pass nodes= or n=, the public node set.")


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

    def loaded(self, *, degrees_only: bool = False, directed: bool = False) -> Graph | Degrees:
        """Reads the edges, or where these are enough and an engine counts them the degrees."""
        if isinstance(self.edges, Graph):
            return graph_of(self.edges, self.nodes)
        if directed:
            return load_in_degrees(self.edges, self.nodes or load_graph(self.edges).nodes)
        if degrees_only and self.nodes is not None:
            return load_degrees(self.edges, self.nodes)
        return load_graph(self.edges, self.nodes)


def read_once(source: OpenedGraph) -> OpenedGraph:
    """The same graph, its edges read: a stream can be read once alone."""
    graph = source.loaded()
    assert isinstance(graph, Graph)
    return OpenedGraph(graph.nodes, graph)


def degrees_of(source: OpenedGraph, names: Sequence[Hashable]) -> IntArray:
    """The degrees of some nodes; private."""
    graph = source.loaded()
    assert isinstance(graph, Graph)
    place = {name: i for i, name in enumerate(graph.nodes)}
    return np.asarray(graph.degrees)[[place[name] for name in names]]


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

    def cost(self, price: Price, mechanism: str) -> Cost:
        """That of any ε-DP release."""
        return composed_cost(
            Neighbours.ADD_REMOVE_EDGE,
            price,
            query=QUERY,
            mechanism=mechanism,
            leaks=self.leaked(),
        )

    def loaded(self, source: OpenedGraph) -> tuple[Graph, int]:
        """The graph, and how many of its nodes to name."""
        graph = source.loaded()
        assert isinstance(graph, Graph)
        return graph, check_k(self.count, len(graph.nodes))

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
            norm=(self.problem().joint or {}).get(self.mechanism.score, 1.0),
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
        made = source.loaded(
            degrees_only=getattr(self.metric, "degrees_only", False),
            directed=getattr(self.metric, "directed", False),
        )
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
class OfSources:
    """The most frequent targets, where ε protects a source with all its edges.

    Attributes:
        wanted: which nodes, and how many.
        method: for the table of edges, see `dampen.questions.frequency`.
        as_text: whether labels are read as text.
    """

    wanted: Wanted
    method: Method
    as_text: bool | None

    def cost(self, price: Price, /) -> Cost:
        return replace(self.method.cost(price), query=QUERY)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        told = self.method.accuracy(epsilon, rows)
        words = told.sentence.replace("people", "sources").replace("categor", "nod")
        sentence = words.replace("nody", "node").replace("nodies", "nodes")
        return replace(told, unit=told.unit.replace("people", "sources"), sentence=sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        assert isinstance(source.edges, OpenedEdges)
        drawn = self.method.draw(EdgeTable(source.edges, self.as_text), epsilon, entropy)
        shown = {name: fact for name, fact in drawn.shown.items() if name != "categories"}
        assert self.wanted.nodes is not None
        facts = {**shown, "nodes": len(self.wanted.nodes), "unit": "source"}
        return replace(drawn, shown=facts)


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
        return self.wanted.cost(price, TWO_ROUNDS)

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
        graph, k = self.wanted.loaded(source)
        best = two_rounds(graph, self.metric.rounds, k=k, epsilon=epsilon, entropy=entropy)
        return self.wanted.problem(self.metric, graph.nodes), best


@dataclass(frozen=True)
class NoisyGraph:
    """The k best nodes of a noisy copy of the graph, equal ones in random order.

    **A noisy copy** of the graph has at most so many wrong pairs with probability 0.9
    (`dampen.questions.nodes.graphs.wrong_pairs`), and the answer is that of the copy.

    Attributes:
        wanted: which nodes, and how many.
        metric: what is asked for; it has values.
    """

    wanted: Wanted
    metric: Any

    def cost(self, price: Price, /) -> Cost:
        return self.wanted.cost(price, NOISY_GRAPH)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        if self.wanted.nodes is None:
            return UNKNOWN
        wrong = wrong_pairs(len(self.wanted.nodes), epsilon, CONFIDENCE)
        return by_edges(wrong, k=self.wanted.count)

    def leaks(self) -> tuple[Leak, ...]:
        return self.wanted.leaks()

    def draw(self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.wanted.drawn(*self.places(source, epsilon, entropy))

    def places(
        self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /
    ) -> tuple[InfluentialNode, list[int]]:
        """The problem, and the places of its k best nodes, best first."""
        graph, k = self.wanted.loaded(source)
        values = self.metric.values(noisy_copy(graph, epsilon, entropy))
        return self.wanted.problem(self.metric, graph.nodes), refined(values, k, entropy)


@dataclass(frozen=True)
class DegreesMethod:
    """The degrees of nodes that are public by now, with integer noise: for `measure=`.

    Attributes:
        names: the nodes.
    """

    names: Sequence[Hashable]

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.ADD_REMOVE_EDGE,
            price,
            query="measure",
            mechanism="discrete-laplace",
            losses=equal_parts(self._moved),
        )
        check_scale(self.scale(cost.epsilon))
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        tail = 1 - Fraction(str(CONFIDENCE)) ** (1 / len(self.names))
        most = likely(self.scale(epsilon), Fraction(tail))
        each = "the degree is" if len(self.names) == 1 else "all degrees are"
        runs = f"In at least {10 * CONFIDENCE:.0f} of 10 runs"
        return Accuracy(float(most), "neighbours", f"{runs} {each} off by at most {most:,}.")

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: OpenedGraph, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        scale = self.scale(epsilon)
        true = degrees_of(source, self.names)
        noisy = true + discrete_laplace(scale, len(true), entropy)
        numbers = dict(zip(self.names, noisy.tolist(), strict=True))
        return Drawn(numbers, numbers=numbers, law=ShiftLaw(scale, least=0))

    def scale(self, epsilon: Fraction) -> Fraction:
        return self._moved / epsilon

    @property
    def _moved(self) -> int:
        """An edge changes one of one degree by 1, or two of several."""
        return min(len(self.names), 2)
