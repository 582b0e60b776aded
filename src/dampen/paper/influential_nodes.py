"""Influential nodes (Application 2 of the paper): which k nodes have the largest EBC?

Add/remove one edge between public nodes; degrees are at most D, which is public.

| in the paper | here |
|---|---|
| EBC, the egocentric betweenness (Def. 19) | `EBC` |
| Δ^EBC (Lemma 12) | `delta_global` |
| δ^EBC by the degree d(v) | `delta_by_degree` |
| δ^EBC by the codegree C(v), for LD with a public shift | `delta_by_codegree` |
| PrivTopk (Algorithm 3) | `PrivTopk` |
| EM, PF, LD, SLD | `MECHANISMS` |

The proofs are in `dampen.questions.nodes.betweenness`; the same functions for all nodes at once, in
closed form, are `InfluentialNode(...).selection`.  SLD shifts to +infinity, because δ^EBC does not
fall with the degree.

Where this differs from the paper: D is a public parameter, not the largest degree of the private
graph; Algorithm 3 as printed never removes a node that it has chosen, so that it can name one
twice; Lemma 12 is a bound, not an equality (five nodes: 3 by enumeration, 4 by the lemma, which
takes the degree of a node with the edge instead of without it).

`dampen.top_k` finds more of the same nodes for the same ε.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from dampen.core.mechanisms import EM, LD, PF, SLD, Mechanism
from dampen.core.sampling import Entropy
from dampen.epsilon import Epsilon
from dampen.questions.nodes.graphs import egocentric_betweenness as EBC
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.releases.answer import release
from dampen.releases.cost import Budget
from dampen.releases.release import Release

__all__ = [
    "EBC",
    "MECHANISMS",
    "InfluentialNode",
    "PrivTopk",
    "delta_by_codegree",
    "delta_by_degree",
    "delta_global",
]

MECHANISMS = (EM, PF, LD, SLD)
"""Those that the paper compares."""


def delta_global(D: int) -> float:
    """Δ^EBC: how much one edge can change the EBC of any node of a graph with degrees up to D.

    >>> delta_global(4), delta_global(9)
    (4.0, 18.0)
    """
    return max(D * (D - 1) / 4, float(D))


def delta_by_degree(d: int, t: int, D: int) -> float:
    """δ^EBC(G, t, v) of a node v of degree d, by the degree that it may have after t edges.

    >>> [delta_by_degree(3, t, 9) for t in range(7)]
    [3.0, 4.0, 5.0, 7.5, 10.5, 14.0, 18.0]
    """
    return min(delta_global(d + t), delta_global(D))


def delta_by_codegree(d: int, C: int, t: int, D: int) -> float:
    """δ^EBC(G, t, v) of a node v that shares at most C neighbours with any other node.

    >>> [delta_by_codegree(6, 2, t, 9) for t in range(7)]
    [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 14.0]
    """
    m = C + t
    return min(max(m * (m - 1) / 4, float(d + t)), delta_global(D))


def PrivTopk(
    graph: Any,
    k: int,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    n: int | None = None,
    nodes: Sequence[Hashable] | None = None,
    max_degree: int | None = None,
    mechanism: str | Mechanism = "sld",
    delta: Literal["degree", "codegree"] = "degree",
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The k nodes of largest EBC, one after the other, each with an equal share of ε.

    Guarantee: ε-DP under adding or removing one edge, for all k nodes together; no node twice.

    Args:
        graph: any graph that `dampen.top_k` takes.
        k: how many nodes.
        epsilon: the privacy parameter, exact.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        n: the public nodes are 0, 1, ..., n-1; or else
        nodes: the public list of nodes.
        max_degree: D, a public bound on all degrees; n - 1 if left out.  A graph that breaks it is
            cut down to it, see `InfluentialNode`.
        mechanism: one of `MECHANISMS`, or any other by name.
        delta: which δ^EBC.
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> star = [0] * 80, list(range(1, 81))
    >>> PrivTopk(star, 1, n=81, epsilon="2").answer
    [0]
    """
    problem = InfluentialNode(n=n, nodes=nodes, max_degree=max_degree, delta=delta)
    return release(
        problem,
        lambda: graph,
        query="PrivTopk",
        epsilon=epsilon,
        rho=rho,
        mechanism=mechanism,
        k=k,
        budget=budget,
        entropy=entropy,
        parameters={"nodes": problem.n, "max_degree": problem.max_degree, "delta": delta, "k": k},
    )
