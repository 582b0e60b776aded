"""`top_k`: the most influential nodes of a graph, privately."""

from collections.abc import Hashable, Sequence
from typing import Any

from dampen.data.edges import OpenedEdges, open_edges
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, warn_leak
from dampen.influence.graphs import (
    LARGEST_N,
    Degrees,
    Graph,
    check_size,
    graph_of,
    load_degrees,
    load_graph,
    node_set,
    prepare,
)
from dampen.influence.problem import Delta, InfluentialNode, Metric
from dampen.mechanisms import Mechanism, check_joint, check_k, named
from dampen.releases import Budget, Release, pay, selection_cost
from dampen.sampling import Entropy

JOINT_STRETCH = 10
"""The joint release caps at q(10 D): the scores of the largest nodes are then not squeezed."""


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

    The default is what found most of the nodes of largest EBC on the graphs of the paper (see
    docs/influence.md), and it ranks by the degree, as the paper's SLD does in all but the last
    decimals.  From k = 3 on it is `joint`: shifted local dampening with Laplace noise, once for all
    nodes.  For one or two nodes it is permute-and-flip on the degree itself, which is one-sided;
    the release then says `ranked_by` degree.

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
        metric: "betweenness" (egocentric), "degree", or a `dampen.influence.problem.Metric`.
        mechanism: a name such as "sld" (as in the paper), or a `Mechanism`; None for the best one.
        delta: the sensitivity function of betweenness: "degree" or "codegree".
        budget: where to charge ε.
        entropy: of random bits.

    >>> import networkx
    >>> top_k(networkx.les_miserables_graph(), nodes="graph", k=1, epsilon="10").answer
    ['Valjean']
    """
    ranked_by, default = _most_accurate(metric, delta, k)
    if mechanism is not None:
        ranked_by = metric
    chosen = named(default if mechanism is None else mechanism)
    joint = chosen.noise.joint and metric == "betweenness"

    def problem_on(nodes: Sequence[Hashable]) -> InfluentialNode:
        made = InfluentialNode(nodes=nodes, max_degree=max_degree, metric=ranked_by, delta=delta)
        return _for_joint_release(made) if joint else made

    known, opened = _opened(graph, nodes, n, (source, target, table))
    prepare(ranked_by if isinstance(ranked_by, str) else "other", delta)
    wanted = check_k(k, LARGEST_N if known is None else len(known))
    problem = problem_on(range(wanted) if known is None else known)
    if problem.joint is not None:
        check_joint(chosen, problem.joint)
    cost = selection_cost(
        problem.neighbours,
        query="top-k",
        epsilon=epsilon,
        rho=rho,
        mechanism=chosen,
        k=k or 1,
        leaks=("nodes",) if known is None else (),
    )
    if known is None:
        warn_leak("nodes", "Pass nodes= or n=, the public node set.")
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        made = _loaded(opened, known, degrees_only=ranked_by == "degree")
        if known is None:
            problem = problem_on(made.nodes)
        answer = paid.draw(problem.selection(made), problem.candidates, chosen, k)
    return paid.release(answer, _shown(problem, metric, k))


def _most_accurate(metric: str | Metric, delta: Delta, k: int | None) -> tuple[str | Metric, str]:
    """What to rank by and how: the most accurate sound method, of theory and of measurement.

    Noise on the degree: exponential of scale k/ε for permute-and-flip (one-sided), Laplace of scale
    2/ε for the joint release, which is the wider one for k <= 2.
    """
    if metric not in ("betweenness", "degree") or delta != "degree":
        return metric, "ld-pf"
    if k is None or k in (1, 2):
        return "degree", "pf"
    return metric, "joint"


def _for_joint_release(problem: InfluentialNode) -> InfluentialNode:
    if problem.delta != "degree":
        raise ParameterError(
            f"Expected delta 'degree' for a joint release, got {problem.delta!r}: with codegrees "
            "one edge can move any number of scores."
        )
    return problem.with_cap_degree(JOINT_STRETCH)


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


def _shown(problem: InfluentialNode, metric: str | Metric, k: int | None) -> dict[str, Any]:
    """Public facts only: what was asked, and what stood in for it."""
    asked = metric if isinstance(metric, str) else type(metric).__name__
    facts: dict[str, Any] = {
        "nodes": problem.n,
        "max_degree": problem.max_degree,
        "metric": asked,
    }
    if problem.metric == "betweenness":
        facts["delta"] = problem.delta
    elif problem.metric != metric:
        facts["ranked_by"] = problem.metric
    return facts | ({} if k is None else {"k": k})
