"""Other measures of influence: what the degree finds of them.

PageRank, eigenvector centrality and the k-core number have no useful sensitivity: one edge changes
all values of the first two, and any number of the third.  But the degree may find their top k.  A
released node counts as found if its value is at least that of the k-th node; k = 20.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array

from dampen.epsilon import exact
from dampen.influence.graphs import Graph, graph_of
from dampen.influence.problem import InfluentialNode
from dampen.mechanisms import JOINT
from dampen.sampling import InsecureEntropy
from dampen.selection import FloatArray, IntArray
from dampen_studies.datasets import small
from dampen_studies.experiments.graph_methods import load, ready
from dampen_studies.experiments.nodes import DEVELOPMENT, OTHERS
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

K = 20
EPSILONS = ("0.1", "1")
DAMPING = 0.85
CLOSE = 1e-12


def pagerank(graph: Graph) -> FloatArray:
    """With the usual damping; nodes without edges jump anywhere."""
    n, d = len(graph.nodes), graph.degrees
    walk = csr_array((1 / np.repeat(np.maximum(d, 1), d), graph.to, graph.first), shape=(n, n)).T

    def step(x: FloatArray) -> FloatArray:
        lost = 1 - DAMPING * x[d > 0].sum()
        return DAMPING * (walk @ x) + lost / n

    return _settled(step, n)


def eigenvector(graph: Graph) -> FloatArray:
    """Of the adjacency matrix; with the identity added, so that bipartite graphs settle too."""
    n = len(graph.nodes)
    matrix = csr_array((np.ones(len(graph.to)), graph.to, graph.first), shape=(n, n))

    def step(x: FloatArray) -> FloatArray:
        y = matrix @ x + x
        return y / y.sum()

    return _settled(step, n)


def _settled(step: Callable[[FloatArray], FloatArray], n: int) -> FloatArray:
    x = np.full(n, 1 / n)
    for _ in range(5000):
        before, x = x, step(x)
        if np.abs(x - before).sum() < CLOSE:
            break
    return x


def core_numbers(graph: Graph) -> IntArray:
    """The largest k such that a node is in the k-core, by peeling."""
    degrees, core, level = graph.degrees.copy(), np.zeros(len(graph.nodes), dtype=np.int64), 0
    alive = np.ones(len(core), dtype=np.bool_)
    while alive.any():
        peeled = np.flatnonzero(alive & (degrees <= level))
        if len(peeled) == 0:
            level = int(degrees[alive].min())
            continue
        core[peeled], alive[peeled] = level, False
        rows = [graph.to[graph.first[v] : graph.first[v + 1]] for v in peeled.tolist()]
        degrees -= np.bincount(np.concatenate(rows), minlength=len(core))
    return core


MEASURES: dict[str, Callable[[Graph], FloatArray | IntArray]] = {
    "PageRank": pagerank,
    "eigenvector": eigenvector,
    "k-core": core_numbers,
}


def _cells(quick: bool) -> Sequence[Parameters]:
    names: Sequence[str] = small.GRAPHS if quick else (*DEVELOPMENT, *OTHERS)
    return [{"dataset": name, "runs": 10 if quick else 40} for name in names]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name, runs = str(cell["dataset"]), int(cell["runs"])
    edges = load(name)
    graph = graph_of((edges.src, edges.dst), range(edges.n))
    truth = {measure: compute(graph) for measure, compute in MEASURES.items()}
    draw = ready(InfluentialNode(n=edges.n, metric="degree").selection(graph), JOINT)
    rows: list[Row] = []
    for epsilon in EPSILONS:
        tops = [draw(K, exact(epsilon), entropy) for _ in range(runs)]
        for measure, value in truth.items():
            least = np.sort(value)[-K]
            found = [float((value[top] >= least * (1 - 1e-9)).mean()) for top in tops]
            error = float(np.std(found, ddof=1) / np.sqrt(runs))
            rows.append((name, measure, float(epsilon), runs, float(np.mean(found)), error))
    return rows


def _caption(rows: Rows) -> str:
    return f"Mean of {listed(rows, 'runs')} runs, k = {K}."


STUDY = Study(
    name="centralities",
    title="Other measures of influence, by the degree",
    figure="beyond the paper",
    about="The share of the nodes that a joint release of degrees names which belong to the top "
    "20 by PageRank, by eigenvector centrality, and by k-core number.",
    finding="Where hubs are large the degree finds the top 20 by PageRank; what it finds of the "
    "others depends on the graph.",
    caption=_caption,
    columns=("dataset", "centrality", "epsilon", "runs", "found", "spread"),
    cells=_cells,
    run=_run,
    minutes=3,
)
