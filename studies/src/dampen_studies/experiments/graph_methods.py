"""What the influential-node studies share: graphs, their selections by method, accuracy.

D is the largest degree of the graph, as in the paper, which calls it public; a release would state
it.  `sld-n` is SLD with D = n - 1, which needs no assumption at all.  `dampen` is what
`dampen.top_k` does by default.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dampen.core.mechanisms import EM, JOINT, LD, PF, SLD, SLD_PF, Mechanism, prepare
from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray, Selection
from dampen.questions.nodes.graphs import Graph, graph_of
from dampen.questions.nodes.metrics import InfluentialNode
from dampen_studies import datasets
from dampen_studies.datasets import Edges, small
from dampen_studies.rivals.nodes import DefaultNodes

GRAPHS = ("enron", "dblp", "github")

Top: TypeAlias = Callable[[int, Fraction, Entropy], list[int]]
"""From k, ε and entropy to k nodes; scores are computed before."""


def load(name: str) -> Edges:
    """A graph of the paper, or a bundled one."""
    return small.graph(name) if name in small.GRAPHS else datasets.load_graph(name)


def largest_degree(edges: Edges) -> int:
    ends = np.concatenate([edges.src, edges.dst])
    return int(np.bincount(ends, minlength=edges.n).max())


def methods(edges: Edges) -> tuple[FloatArray, dict[str, Top]]:
    """EBC of every node, and every method ready to draw."""
    graph: Graph = graph_of((edges.src, edges.dst), range(edges.n))
    ebc = betweenness(edges)
    wide = InfluentialNode(n=edges.n)
    degree = InfluentialNode(n=edges.n, metric="degree").selection(graph)
    default = DefaultNodes(graph)
    return ebc.utility, {
        "em": ready(ebc, EM),
        "pf": ready(ebc, PF),
        "ld": ready(ebc, LD),
        "sld": ready(ebc, SLD),
        "sld-pf": ready(ebc, SLD_PF),
        "sld-n": ready(wide.selection(graph), SLD),
        "degree": ready(degree, EM),
        "degree-joint": ready(degree, JOINT),
        "dampen": lambda k, epsilon, entropy: default.draw(epsilon=epsilon, k=k, entropy=entropy),
    }


def betweenness(edges: Edges) -> Selection:
    """The paper's selection: EBC, and δ with D the largest degree."""
    graph = graph_of((edges.src, edges.dst), range(edges.n))
    return InfluentialNode(n=edges.n, max_degree=largest_degree(edges)).selection(graph)


def ready(selection: Selection, mechanism: Mechanism) -> Top:
    """A mechanism on one graph: scores once, then drawn from many times."""
    prepared = prepare(selection, mechanism)

    def top(k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        return prepared.draw(epsilon=epsilon, k=k, entropy=entropy)

    return top


@lru_cache(maxsize=1)
def prepared(name: str) -> tuple[FloatArray, dict[str, Top]]:
    """`methods` of a named graph, kept for the next cell."""
    return methods(load(name))


def true_top(ebc: FloatArray, k: int) -> set[int]:
    """The k nodes of largest EBC; among equals, the smallest ids."""
    return set(np.lexsort((np.arange(len(ebc)), -ebc))[:k].tolist())


def share(found: Sequence[int], truth: set[int]) -> float:
    """The share of the true top k that was found."""
    return len(truth.intersection(found)) / len(truth)
