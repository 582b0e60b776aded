"""`top_k`: the most influential nodes of a graph, privately."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from dampen.core.mechanisms import Mechanism, check_k
from dampen.core.sampling import Entropy
from dampen.data.edges import OpenedEdges, open_edges
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, warn_leak
from dampen.questions.nodes.accuracy import accuracy
from dampen.questions.nodes.graphs import (
    LARGEST_N,
    Degrees,
    Graph,
    check_size,
    graph_of,
    load_degrees,
    load_graph,
    node_set,
)
from dampen.questions.nodes.methods import TWO_ROUNDS, Asked, way
from dampen.questions.nodes.problem import Delta, InfluentialNode, Metric
from dampen.releases.answer import pay
from dampen.releases.cost import Budget
from dampen.releases.release import Release

USUAL_N = 10_000
"""Stands in for the number of nodes where it is not public, in the choice of a way alone."""


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
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The k most influential nodes, best first, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one edge, for all k nodes together.

    The default finds most of the nodes of largest egocentric betweenness on the graphs of
    docs/influence.md.  It asks in two rounds, for noisy degrees first and then, among those that
    they leave in question, for degrees less triangles; with a very large ε it ends at the nodes of
    largest betweenness.  One or two nodes are asked for once, by the degree, if ε is small; the
    release then says `ranked_by` degree.

    Args:
        graph: a networkx or igraph graph, a sparse matrix, a tuple (src, dst) of columns, an array
            or a table with two columns (pandas, polars, pyarrow), or the path of a file (CSV, TSV,
            blanks, JSON lines, Parquet, Feather, npz; gzip or bz2; `-` is standard input).
            Direction, loops, repeated edges and the attributes of edges do not matter.
        k: how many nodes; None for one node that is not in a list.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        nodes: the public node set, or "graph", which says that the nodes of a networkx or igraph
            graph are public (one that was made from an edge list has only nodes with edges: that
            is data).  The shape of a sparse matrix and the n of an npz file count as public.  In
            all other cases nodes are taken from the data, with a `PrivacyLeakWarning`.
        n: short for the nodes 0, 1, ..., n-1.
        source: in a table, the name of the column with one end of every edge.
        target: the name of the column with the other end.
        table: of a database file (DuckDB, SQLite), which table.
        max_degree: a public bound on all degrees; n - 1 if left out, which is usually better.
        metric: "betweenness" (egocentric), "degree", "triangles" (edges among the neighbours),
            "brokerage" (the degree less triangles, for a public `max_degree`), "eigenvector",
            "core", "pagerank" (as far as neighbours and their degrees tell them, see
            `dampen.questions.nodes.centralities`), or a `dampen.questions.nodes.problem.Metric`.
        mechanism: a name such as "sld" (as in the paper), "two-rounds", or a `Mechanism`; None for
            the best one.
        delta: the sensitivity function of betweenness: "degree" or "codegree".
        budget: where to charge ε.
        entropy: of random bits.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data is not as promised; the charge stands.

    >>> import networkx
    >>> top_k(networkx.les_miserables_graph(), nodes="graph", k=1, epsilon="10").answer
    ['Valjean']
    """
    asked = Asked(metric, mechanism, delta, max_degree, epsilon, rho)
    known, opened = _opened(graph, nodes, n, (source, target, table))
    wanted = check_k(k, LARGEST_N if known is None else len(known))
    chosen = way(asked, n=USUAL_N if known is None else len(known), k=wanted)
    problem = chosen.problem(range(wanted) if known is None else known)
    cost = chosen.cost(wanted, ("nodes",) if known is None else ())
    chosen.prepare()
    if known is None:
        warn_leak("nodes", "Pass nodes= or n=, the public node set.")
    else:
        cost = replace(cost, accuracy=accuracy(chosen, len(known), wanted, cost.epsilon))
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        made = _loaded(opened, known, degrees_only=chosen.degrees_only)
        if known is None:
            problem = chosen.problem(made.nodes)
        top = chosen.draw(problem, made, k=wanted, epsilon=cost.epsilon, entropy=paid.entropy)
        names = [problem.candidates[i] for i in top]
    answer = names[0] if k is None else names
    return paid.release(answer, _shown(problem, cost.mechanism, metric, k))


def _opened(
    graph: Any,
    nodes: Sequence[Hashable] | str | None,
    n: int | None,
    where: tuple[str | None, str | None, str | None],
) -> tuple[Sequence[Hashable] | None, Graph | OpenedEdges]:
    """The public nodes, where they are known without reading edges, and what holds the edges."""
    if isinstance(graph, Graph):
        own = nodes is None or (isinstance(nodes, str) and nodes == "graph")
        return node_set(graph.nodes if own else nodes, n), graph
    source, target, table = where
    opened = open_edges(graph, source=source, target=target, table=table)
    if isinstance(nodes, str):
        if nodes != "graph" or opened.carried is None:
            raise ParameterError(
                "Expected nodes= to be the list of public nodes; nodes='graph' is for networkx and "
                "igraph graphs alone."
            )
        known = node_set(opened.carried(), n)
    else:
        known = node_set(nodes, n) or opened.nodes
    if known is not None:
        check_size(len(known))
    return known, opened


def _loaded(
    opened: Graph | OpenedEdges, known: Sequence[Hashable] | None, *, degrees_only: bool
) -> Graph | Degrees:
    if isinstance(opened, Graph):
        return graph_of(opened, known)
    if degrees_only and known is not None:
        return load_degrees(opened, known)
    return load_graph(opened, known)


def _shown(
    problem: InfluentialNode, mechanism: str, metric: str | Metric, k: int | None
) -> dict[str, Any]:
    """Public facts only: what was asked, and what stood in for it."""
    asked = metric if isinstance(metric, str) else type(metric).__name__
    facts: dict[str, Any] = {
        "nodes": problem.n,
        "max_degree": problem.max_degree,
        "metric": asked,
    }
    if problem.metric == "betweenness" and mechanism != TWO_ROUNDS:
        facts["delta"] = problem.delta
    elif problem.metric != metric:
        facts["ranked_by"] = problem.metric
    return facts | ({} if k is None else {"k": k})
