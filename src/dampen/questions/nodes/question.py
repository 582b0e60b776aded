"""The most influential nodes of a graph: the question, and where its method is chosen.

The choice is made from public facts alone, before the charge.  Where `mechanism=` is left out, the
metric says what finds it best (`dampen.questions.nodes.metric`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from dampen.core.mechanisms import MECHANISMS, Mechanism, named
from dampen.core.sampling import Entropy
from dampen.core.selection import check_k
from dampen.data.cells import Numbering
from dampen.data.edges import EdgeTable, open_edges
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError
from dampen.questions.frequency import FrequencyQuestion
from dampen.questions.nodes.graphs import (
    LARGEST_N,
    Graph,
    check_odds,
    check_size,
    copies_well,
    node_set,
)
from dampen.questions.nodes.methods import (
    DegreesMethod,
    NoisyGraph,
    OfSources,
    OneRound,
    OpenedGraph,
    TwoRounds,
    Wanted,
    read_once,
)
from dampen.questions.nodes.metric import NOISY_GRAPH, TWO_ROUNDS, InDegree, Metric, Usual
from dampen.questions.nodes.metrics import (
    DELTAS,
    METRICS,
    NAMES,
    Delta,
    in_rounds,
    metric_of,
    name_of,
    with_selection,
)
from dampen.questions.nodes.two_rounds import check_epsilon
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Price
from dampen.releases.method import Measured, checked_share
from dampen.releases.question import Fact, Shape, checked_choice, parameter, public_parameter
from dampen.releases.release import Release
from dampen.schema.schema import Schema

__all__ = ["NodesQuestion", "top_k"]

USUAL_N = 10_000
"""Stands in for the number of nodes where it is not public, in the choice of a method alone."""


@dataclass(frozen=True, kw_only=True)
class NodesQuestion:
    """Which nodes of a graph are the most influential?"""

    k: int | None = parameter(
        "count", "How many nodes; one if left out.", default=None, label="How many", short="k"
    )
    metric: str | Metric = parameter(
        "word",
        f"What influence means: {'; '.join(f'{each.name} ({each.help})' for each in METRICS)}.",
        default="betweenness",
        choices=NAMES,
        label="By",
    )
    mechanism: str | Mechanism | None = parameter(
        "word",
        "Mechanism; the best known one if left out.",
        default=None,
        choices=(*(each.name for each in MECHANISMS), TWO_ROUNDS, NOISY_GRAPH),
    )
    delta: Delta = parameter(
        "word",
        "Sensitivity function of betweenness.",
        default="degree",
        choices=DELTAS,
    )
    measure: str | None = parameter(
        "word",
        "Give the degree of every winner too, for a share of ε.",
        default=None,
        choices=("degree",),
        label="Also its",
    )
    share: Epsilon | None = parameter(
        "exact", "Share of ε for the degree; a quarter if left out.", default=None
    )
    nodes: Sequence[Hashable] | str | None = parameter(
        "labels", "Public list of the nodes.", default=None, fact=Fact("nodes")
    )
    n: int | None = parameter(
        "count", "The public nodes are 0 to n-1.", default=None, fact=Fact("n")
    )
    max_degree: int | None = parameter(
        "count",
        "Public bound on the degrees. State it only if it surely holds: a graph that breaks it may "
        "lose up to 3 epsilon. n-1 if left out.",
        default=None,
        fact=Fact("max_degree"),
    )
    source: str | None = parameter(
        "column",
        "Column with one end of every edge.",
        default=None,
        holds="names",
        fact=Fact("source"),
    )
    target: str | None = parameter(
        "column", "Column with the other end.", default=None, holds="names", fact=Fact("target")
    )
    public: str | None = public_parameter("nodes")
    name: ClassVar[str] = "top-k"
    title: ClassVar[str] = "Most influential nodes"
    data: ClassVar[Literal["table", "edges"]] = "edges"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen top-k follows.csv.gz -k 10 --epsilon 0.5 --n 40",
        "zcat follows.csv.gz | dampen top-k - --epsilon 0.5 --n 40",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> OpenedGraph:
        """The public nodes, where they are known without reading edges, and what holds the edges.

        Raises:
            ParameterError: if the data is of no known kind, or the nodes are not as expected.
        """
        del header
        if isinstance(data, Graph):
            own = self.nodes is None or (isinstance(self.nodes, str) and self.nodes == "graph")
            return OpenedGraph(node_set(data.nodes if own else self.nodes, self.n), data)
        opened = open_edges(data, source=self.source, target=self.target, table=table)
        if not isinstance(self.nodes, str):
            known = node_set(self.nodes, self.n) or opened.nodes
        elif self.nodes == "graph" and opened.carried is not None:
            known = node_set(opened.carried(), self.n)
        else:
            raise ParameterError(
                "Expected nodes= to be the list of public nodes; nodes='graph' is for networkx and "
                "igraph graphs alone."
            )
        if known is not None:
            check_size(len(known))
        return OpenedGraph(known, opened)

    def method(
        self, source: OpenedGraph, schema: Schema, price: Price, /
    ) -> OneRound | TwoRounds | NoisyGraph | Measured:
        """What names the nodes, and the degrees of the winners if they are asked for."""
        del schema
        if source.nodes is None and self.public != "data":
            raise ParameterError(
                "Expected nodes=, the public list of nodes, or n=, their number: they are then "
                "called 0 to n-1. In Python, public='data' takes them from data that is public "
                "itself."
            )
        if self.measure is None:
            if self.share is not None:
                raise ParameterError("Expected measure= with share=, such as measure='degree'.")
            return self._naming(source, price)
        self._check_measure()
        share = checked_share(self.share)
        named_for = Price(price.asked() * (1 - share))
        method = self._naming(source, named_for)
        return Measured(method, DegreesMethod, share, range(method.wanted.count), read_once)

    def _check_measure(self) -> None:
        """Degrees are those of undirected graphs of which an edge is protected.

        Raises:
            ParameterError: if others are asked for.
        """
        checked_choice("measure", self.measure, ("degree",))
        if name_of(self.metric) == InDegree.name:
            raise ParameterError(
                "measure='degree' counts neighbours in both directions. Leave it out with "
                "metric='indegree'."
            )

    def _naming(self, source: OpenedGraph, price: Price) -> OneRound | TwoRounds | NoisyGraph:
        n = None if source.nodes is None else len(source.nodes)
        k = check_k(self.k, n or LARGEST_N)
        wanted = Wanted(source.nodes, self.k, self.max_degree)
        asked = metric_of(self.metric, self.delta)
        chosen = self._chosen(asked, n, k, price)
        if chosen.mechanism == TWO_ROUNDS:
            twice = TwoRounds(wanted, in_rounds(chosen.metric, TWO_ROUNDS, self.delta))
            check_epsilon(twice.cost(price).epsilon)
            return twice
        if chosen.mechanism == NOISY_GRAPH:
            copied = NoisyGraph(wanted, in_rounds(chosen.metric, NOISY_GRAPH, self.delta))
            check_odds(n or LARGEST_N, copied.cost(price).epsilon)
            return copied
        ranked_by = with_selection(chosen.metric)
        stands_in = chosen.metric is not asked
        return OneRound(wanted, ranked_by, named(chosen.mechanism), stands_in)

    def unit_method(self, source: OpenedGraph, schema: Schema, price: Price, /) -> OfSources:
        """Distinct sources of every node: the nearest question that hides all edges of a source.

        Raises:
            ParameterError: of other metrics, and of undirected graphs.
        """
        if name_of(self.metric) != InDegree.name or isinstance(source.edges, Graph):
            raise ParameterError(
                "A node of an undirected graph cannot be named while all of its edges are hidden: "
                "without its edges it is like any other node. This data set protects "
                f"{schema.protected}. Ask for metric='indegree' of directed edges, which counts "
                "the sources of every node; or protect edges, with unit='edge'."
            )
        if self.measure is not None:
            self._check_measure()
        if source.nodes is None:
            raise ParameterError("Expected nodes= or n=, the public nodes, with unit='source'.")
        wanted = Wanted(source.nodes, self.k, self.max_degree)
        as_text = Numbering(source.nodes).as_text
        question = FrequencyQuestion(
            value="target", categories=source.nodes, k=self.k, mechanism=self.mechanism
        )
        facts = replace(schema, unit="source", graph=None)
        method = question.unit_method(EdgeTable(source.edges, as_text), facts, price)
        return OfSources(wanted, method, as_text)

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        """The mechanism, unless another metric stands in for the one that is asked for."""
        listed = None if self.nodes is None else len(self.nodes)
        n = self.n or listed
        asked = metric_of(self.metric, self.delta)
        chosen = self._chosen(asked, n, check_k(self.k, n or USUAL_N), price)
        if chosen.metric is not asked:
            return {}
        return {"mechanism": getattr(chosen.mechanism, "name", chosen.mechanism)}

    def _chosen(self, metric: Any, n: int | None, k: int, price: Price) -> Usual:
        """The metric and the mechanism: as asked, or as the metric has it, or a noisy copy.

        n is None where the number of nodes is not public.
        """
        if self.mechanism is not None:
            return Usual(metric, self.mechanism)
        if not hasattr(metric, "usual"):
            return Usual(metric, "ld-pf" if price.pure else "ld")
        has_values = hasattr(metric, "values") and self.delta == "degree"
        if has_values and copies_well(n or LARGEST_N, price.asked()):
            return Usual(metric, NOISY_GRAPH)
        usual: Usual = metric.usual(n or USUAL_N, k, price.asked())
        return usual if usual.mechanism != "pf" else replace(usual, mechanism=price.selection)

    def shown(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {"metric": name_of(self.metric)}
        if self.k is not None:
            facts["k"] = self.k
        if self.measure is not None:
            facts |= {"measure": self.measure, "share": decimal_text(checked_share(self.share))}
        return facts

    def text(self) -> str:
        return f"k={self.k or 1} by {name_of(self.metric)}"

    def shape(self) -> Shape:
        return "name" if self.k is None else "ranking"


def top_k(
    graph: Any,
    *,
    k: int | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    nodes: Sequence[Hashable] | str | None = None,
    n: int | None = None,
    source: str | None = None,
    target: str | None = None,
    table: str | None = None,
    max_degree: int | None = None,
    metric: str | Metric = "betweenness",
    mechanism: str | Mechanism | None = None,
    delta: Delta = "degree",
    public: str | None = None,
    measure: str | None = None,
    share: Epsilon | None = None,
    unit: str | None = None,
    groups_per_unit: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The k most influential nodes, best first, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one edge, for all k nodes together.

    The default finds most of the nodes of largest egocentric betweenness on the graphs of
    docs/lab-nodes.md.  It asks in two rounds, for noisy degrees first and then, among those that
    they leave in question, for degrees less triangles.  From ε = log(10 n) on it ranks a noisy copy
    of the graph, and ends at the nodes of largest betweenness.  One or two nodes are asked for
    once, by the degree, if ε is small; the release then says `ranked_by` degree.

    Args:
        graph: a networkx or igraph graph, a sparse matrix, a list of pairs, a tuple (src, dst) of
            columns, an array or a table with two columns (pandas, polars, pyarrow), or the path of
            a file (CSV, TSV, blanks, JSON lines, Parquet, Feather, npz; gzip or bz2; `-` is
            standard input).  Direction, loops, repeated edges and the attributes of edges do not
            matter.  Rows that do not join two of the nodes are dropped, whatever they hold.
        k: how many nodes; None for one node that is not in a list.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        nodes: the public node set, or "graph", which says that the nodes of a networkx or igraph
            graph are public (one that was made from an edge list has only nodes with edges: that
            is data).  The shape of a sparse matrix and the n of an npz file count as public.  In
            all other cases pass `nodes` or `n`.
        n: short for the nodes 0, 1, ..., n-1.
        source: in a table, the name of the column with one end of every edge.
        target: the name of the column with the other end.
        table: of a database file (DuckDB, SQLite), which table.
        max_degree: a public bound on all degrees; n - 1 if left out, which is usually better.  Of a
            graph that breaks it, what exceeds it is cut off by a public rule; for betweenness,
            triangles and brokerage in one round, ε holds between graphs that keep it, and 3 ε
            otherwise (see `dampen.problems.InfluentialNode`).
        metric: "betweenness" (egocentric), "degree", "indegree" (of directed edges), "triangles"
            (edges among the neighbours), "brokerage" (the degree less triangles, for a public
            `max_degree`), "eigenvector", "core", "pagerank" (below ε = log(10 n) as far as
            neighbours and their degrees tell them, see `dampen.questions.nodes.centralities`), or a
            `dampen.questions.nodes.metric.Metric`.
        mechanism: a name such as "sld" (as in the paper), "two-rounds", "noisy-graph", or a
            `Mechanism`; None for the best one.
        delta: the sensitivity function of betweenness: "degree" or "codegree".
        public: "data" takes the nodes from the data, which ε does not cover: for data that is
            public itself.
        measure: "degree": give the degree of every winner too, for a share of ε.
            `Release.numbers` has it, by node if there is a k; `Release.interval` says where the
            true one lies.
        share: of ε, for the degrees; a quarter if left out.
        unit: "source" protects a source of directed edges with all of them, for "indegree"; an
            edge is protected by default.
        groups_per_unit: a hint for that, how many targets a source usually has.
        budget: where to charge ε.
        entropy: of random bits.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import networkx
    >>> top_k(networkx.les_miserables_graph(), nodes="graph", k=1, epsilon="10").answer
    ['Valjean']
    """
    question = NodesQuestion(
        k=k,
        metric=metric,
        mechanism=mechanism,
        delta=delta,
        measure=measure,
        share=share,
        nodes=nodes,
        n=n,
        max_degree=max_degree,
        source=source,
        target=target,
        public=public,
    )
    return answer(
        question,
        graph,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=_facts(unit, groups_per_unit),
        table=table,
    )


def _facts(unit: str | None, groups_per_unit: int | None) -> Schema | None:
    """The facts of a graph without a name: what ε protects."""
    if unit in (None, "edge") and groups_per_unit is None:
        return None
    if unit != "source":
        raise ParameterError(f"Expected unit='edge' or unit='source', got {unit!r}.")
    return Schema(unit=unit, groups_per_unit=groups_per_unit)
