"""`top_k`: the most influential nodes of a graph, privately."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, warn_leak
from dampen.graphs import LARGEST_N, Graph, graph_of, load_graph, node_set
from dampen.mechanisms import Mechanism, check_k, named
from dampen.problems.influence import Delta, InfluentialNode, Metric
from dampen.releases import Budget, Release, after_the_charge, pay
from dampen.sampling import Noise, Source
from dampen.sources.edges import open_edges

JOINT_STRETCH = 10
"""The joint release caps at q(10 D): the scores of the largest nodes are then not squeezed."""


def top_k(
    graph: Any,
    *,
    k: int | None = None,
    epsilon: Epsilon,
    nodes: Sequence[Hashable] | None = None,
    n: int | None = None,
    max_degree: int | None = None,
    metric: str | Metric = "betweenness",
    mechanism: str | Mechanism | None = None,
    delta: Delta = "degree",
    budget: Budget | None = None,
    source: Source | None = None,
) -> Release:
    """The k most influential nodes, best first, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one edge, for all k nodes together.

    The default mechanism is `joint`, whatever k is: shifted local dampening with Laplace noise,
    once for all nodes.  It was the most accurate sound method on the three graphs of the paper (see
    docs/influence.md), and it ranks by the degree, with EBC in the last decimals: so does SLD, and
    no method that weighs EBC itself more found the nodes of largest EBC as well at equal ε.

    Args:
        graph: a networkx or igraph graph, a sparse matrix, a pair (src, dst) of arrays, a DataFrame
            with two columns, or the path of a file (CSV, TSV, blanks, gzip, Parquet, npz).
            Direction, loops, repeated edges and the attributes of edges do not matter.
        k: how many nodes; None for one node that is not in a list.
        epsilon: the privacy parameter.
        nodes: the public node set.  The nodes of a networkx, igraph or sparse graph and the n of an
            npz file count as public; for a bare edge list they are taken from the edges, with a
            `PrivacyLeakWarning`.
        n: short for the nodes 0, 1, ..., n-1.
        max_degree: a public bound on all degrees; n - 1 if left out, which is usually better.
        metric: "betweenness" (egocentric), "degree", or a `dampen.problems.influence.Metric`.
        mechanism: a name such as "sld" (as in the paper), or a `Mechanism`.
        delta: the sensitivity function of betweenness: "degree" or "codegree".
        budget: where to charge ε.
        source: of random bits.

    >>> import networkx
    >>> top_k(networkx.les_miserables_graph(), k=1, epsilon="10").answer
    ['Valjean']
    """
    chosen = named(mechanism or ("joint" if delta == "degree" else "ld"))
    joint = chosen.noise is Noise.LAPLACE and metric == "betweenness"

    def problem_on(nodes: Sequence[Hashable]) -> InfluentialNode:
        made = InfluentialNode(nodes=nodes, max_degree=max_degree, metric=metric, delta=delta)
        return _for_joint_release(made) if joint else made

    known, load = _opened(graph, node_set(nodes, n))
    problem = problem_on(range(LARGEST_N) if known is None else known)
    check_k(k, len(problem.candidates))
    if known is None:
        warn_leak("nodes", "Pass nodes= or n=, the public node set.")
    paid = pay(
        problem.neighbours,
        query="top-k",
        epsilon=epsilon,
        mechanism=chosen,
        budget=budget,
        source=source,
    )
    with after_the_charge():
        made = load()
        if known is None:
            problem = problem_on(made.nodes)
    shown = {"nodes": problem.n, "max_degree": problem.max_degree, "metric": _name(metric)}
    shown |= ({"delta": delta} if metric == "betweenness" else {}) | ({} if k is None else {"k": k})
    return paid.release(problem, lambda: made, k=k, parameters=shown)


def _for_joint_release(problem: InfluentialNode) -> InfluentialNode:
    if problem.delta != "degree":
        raise ParameterError(
            f"Expected delta 'degree' for a joint release, got {problem.delta!r}: with codegrees "
            "one edge can move any number of scores."
        )
    return problem.with_cap_degree(JOINT_STRETCH)


def _opened(
    graph: Any, nodes: Sequence[Hashable] | None
) -> tuple[Sequence[Hashable] | None, Callable[[], Graph]]:
    """The public nodes, where they are known without reading edges, and how to read the edges."""
    if isinstance(graph, Graph):
        given = graph.nodes if nodes is None else nodes
        return given, lambda: graph_of(graph, given)
    opened = open_edges(graph)
    known = opened.nodes if nodes is None else nodes
    return known, lambda: load_graph(opened, known)


def _name(metric: str | Metric) -> str:
    return metric if isinstance(metric, str) else type(metric).__name__
