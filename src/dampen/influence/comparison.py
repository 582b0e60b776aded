"""What competes for the most influential nodes; not private, for study on public data."""

from dataclasses import replace

from dampen.comparison import Method
from dampen.influence.graphs import Graph
from dampen.influence.problem import InfluentialNode
from dampen.influence.release import JOINT_STRETCH
from dampen.mechanisms import named

__all__ = ["node_methods"]


def node_methods(graph: Graph, *, max_degree: int | None = None) -> list[Method]:
    """The paper's mechanisms, permute-and-flip, joint release, and all on the degree alone.

    The first one has the egocentric betweenness as its utility.
    """
    problem = InfluentialNode(nodes=graph.nodes, max_degree=max_degree)
    between = problem.selection(graph)
    capped = problem.with_cap_degree(JOINT_STRETCH).selection(graph)
    degree = replace(problem, metric="degree").selection(graph)
    return [
        *[
            Method(f"betweenness {name}", between, named(name))
            for name in ("em", "pf", "ld", "sld")
        ],
        Method("betweenness joint", capped, named("joint")),
        *[Method(f"degree {name}", degree, named(name)) for name in ("em", "pf", "joint")],
    ]
