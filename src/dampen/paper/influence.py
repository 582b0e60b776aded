"""What the influential-node studies share: graphs, their selections by method, accuracy.

D is the largest degree of the graph, as in the paper, which calls it public; a release would state
it.  `sld-n` is SLD with D = n - 1, which needs no assumption at all.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dampen import datasets
from dampen.datasets import Edges
from dampen.influence.graphs import Graph, graph_of
from dampen.influence.problem import InfluentialNode
from dampen.mechanisms import EM, JOINT, LD, PF, SLD, SLD_PF, Prepared, prepare
from dampen.paper import small
from dampen.selection import FloatArray

GRAPHS = ("enron", "dblp", "github")
JOINT_CAP = 10
"""The joint release of shifted scores uses the cap of degree 10 D."""


def load(name: str) -> Edges:
    """A graph of the paper, or a bundled one."""
    return small.graph(name) if name in small.GRAPHS else datasets.load_graph(name)


def largest_degree(edges: Edges) -> int:
    ends = np.concatenate([edges.src, edges.dst])
    return int(np.bincount(ends, minlength=edges.n).max())


def methods(edges: Edges) -> tuple[FloatArray, dict[str, Prepared]]:
    """EBC of every node, and every method ready to draw."""
    graph: Graph = graph_of((edges.src, edges.dst), range(edges.n))
    D = largest_degree(edges)
    ebc = InfluentialNode(n=edges.n, max_degree=D).selection(graph)
    wide = InfluentialNode(n=edges.n).selection(graph)
    capped = InfluentialNode(n=edges.n, max_degree=D, cap_degree=JOINT_CAP * D).selection(graph)
    degree = InfluentialNode(n=edges.n, metric="degree").selection(graph)
    pairs = {
        "em": (ebc, EM),
        "pf": (ebc, PF),
        "ld": (ebc, LD),
        "sld": (ebc, SLD),
        "sld-pf": (ebc, SLD_PF),
        "sld-n": (wide, SLD),
        "joint": (capped, JOINT),
        "degree": (degree, EM),
        "degree-joint": (degree, JOINT),
    }
    return ebc.utility, {name: prepare(s, m) for name, (s, m) in pairs.items()}


@lru_cache(maxsize=1)
def prepared(name: str) -> tuple[FloatArray, dict[str, Prepared]]:
    """`methods` of a named graph, kept for the next cell."""
    return methods(load(name))


def true_top(ebc: FloatArray, k: int) -> set[int]:
    """The k nodes of largest EBC; among equals, the smallest ids."""
    return set(np.lexsort((np.arange(len(ebc)), -ebc))[:k].tolist())


def share(found: Sequence[int], truth: set[int]) -> float:
    """The share of the true top k that was found."""
    return len(truth.intersection(found)) / len(truth)
