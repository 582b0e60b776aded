"""Other measures of influence: what `dampen.top_k` finds of them, and what the degree does.

PageRank, eigenvector centrality and the k-core number have no useful sensitivity: one edge changes
all values of the first two, and any number of the third.  Up to the ε of this study `dampen` asks
for a step or two of the iterations that end at them (`dampen.questions.nodes.centralities`), and
from about log(10 n) on for a noisy copy of the graph; `degree` is the control,
one joint release of degrees; `itself` is permute-and-flip on core numbers, with ε / k for each
node.  A released node counts as found if its value is at least that of the k-th node; k = 20.

`growing` doubles ε on small graphs of many kinds, for all four measures, k = 10: whether what is
found grows with it, and where it ends.  Where it seems to fall by more than 0.02, both cells are
run again, ten times as often, and the new runs count alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from dampen.core.mechanisms import JOINT, PF
from dampen.core.sampling import Entropy, InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.epsilon import exact
from dampen.questions.nodes.graphs import Graph, betweenness, graph_of
from dampen.questions.nodes.metrics import InfluentialNode
from dampen_studies.datasets import small
from dampen_studies.datasets.generated import HELD_OUT, SEEN, UNSEEN, generated
from dampen_studies.experiments.graph_methods import Top, load, ready
from dampen_studies.experiments.nodes import DEVELOPMENT, OTHERS
from dampen_studies.rivals.nodes import DefaultNodes
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

K = 20
EPSILONS = ("0.1", "1")
DAMPING = 0.85
CLOSE = 1e-12


def pagerank(graph: Graph) -> FloatArray:
    """With the usual damping; nodes without edges jump anywhere."""
    n = len(graph.nodes)
    d = graph.degrees
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
        before = x
        x = step(x)
        if np.abs(x - before).sum() < CLOSE:
            break
    return x


def core_numbers(graph: Graph) -> IntArray:
    """The largest k such that a node is in the k-core, by peeling."""
    degrees = graph.degrees.copy()
    core = np.zeros(len(graph.nodes), dtype=np.int64)
    level = 0
    alive = np.ones(len(core), dtype=np.bool_)
    while alive.any():
        peeled = np.flatnonzero(alive & (degrees <= level))
        if len(peeled) == 0:
            level = int(degrees[alive].min())
            continue
        core[peeled] = level
        alive[peeled] = False
        rows = [graph.to[graph.first[v] : graph.first[v + 1]] for v in peeled.tolist()]
        degrees -= np.bincount(np.concatenate(rows), minlength=len(core))
    return core


MEASURES: dict[str, Callable[[Graph], FloatArray | IntArray]] = {
    "PageRank": pagerank,
    "eigenvector": eigenvector,
    "k-core": core_numbers,
}
METRICS = {"PageRank": "pagerank", "eigenvector": "eigenvector", "k-core": "core"}


def _cells(quick: bool) -> Sequence[Parameters]:
    names: Sequence[str] = small.GRAPHS if quick else (*DEVELOPMENT, *OTHERS)
    return [{"dataset": name, "runs": 10 if quick else 40} for name in names]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    runs = int(cell["runs"])
    edges = load(name)
    graph = graph_of((edges.src, edges.dst), range(edges.n))
    methods = _methods(graph)
    rows: list[Row] = []
    for measure, compute in MEASURES.items():
        value = compute(graph)
        least = np.sort(value)[-K]
        for method, draw in methods(measure).items():
            for epsilon in EPSILONS:
                tops = [draw(K, exact(epsilon), entropy) for _ in range(runs)]
                found = [float((value[top] >= least * (1 - 1e-9)).mean()) for top in tops]
                error = float(np.std(found, ddof=1) / np.sqrt(runs))
                mean = float(np.mean(found))
                rows.append((name, measure, method, float(epsilon), runs, mean, error))
    return rows


def _methods(graph: Graph) -> Callable[[str], dict[str, Top]]:
    """What competes for a measure."""
    degree = ready(InfluentialNode(nodes=graph.nodes, metric="degree").selection(graph), JOINT)
    core = ready(InfluentialNode(nodes=graph.nodes, metric="core").selection(graph), PF)

    def of(measure: str) -> dict[str, Top]:
        default = DefaultNodes(graph, metric=METRICS[measure])

        def ours(k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
            return default.draw(epsilon=epsilon, k=k, entropy=entropy)

        both: dict[str, Top] = {"degree": degree, "dampen": ours}
        return both | ({"itself": core} if measure == "k-core" else {})

    return of


def _caption(rows: Rows) -> str:
    return f"Mean of {listed(rows, 'runs')} runs, k = {K}."


STUDY = Study(
    name="centralities",
    title="Other measures of influence",
    figure="beyond the paper",
    about="The share of the nodes that are named which belong to the top 20 by PageRank, by "
    "eigenvector centrality, and by k-core number: two rounds, beside a joint release of degrees "
    "and, for the k-core number, permute-and-flip on it.",
    finding="At ε = 1 one or two private steps of the iterations that end at these measures find "
    "more of them than the degree does; at ε = 0.1 the degree is asked for.",
    caption=_caption,
    columns=("dataset", "centrality", "method", "epsilon", "runs", "found", "spread"),
    cells=_cells,
    run=_run,
    minutes=5,
)


DOUBLED = tuple(str(2**i) for i in range(10))
LARGEST = "1000000"
"""Where it ends."""
ALL_MEASURES = {**MEASURES, "betweenness": betweenness}


AGAIN = 10
"""How many times as many runs a cell has where one run after the other seems to fall."""
FALL = 0.02


def _growing_cells(quick: bool) -> Sequence[Parameters]:
    names = SEEN if quick else SEEN | HELD_OUT | UNSEEN
    return [{"graph": name, "runs": 2 if quick else 40} for name in names]


def _run_growing(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["graph"])
    runs = int(cell["runs"])
    graph = generated(name)
    k = min(10, len(graph.nodes) // 2)
    epsilons = (*DOUBLED, LARGEST)
    rows: list[Row] = []
    for measure, compute in ALL_MEASURES.items():
        asked = Asked(DefaultNodes(graph, metric=METRICS.get(measure, measure)), compute(graph), k)
        shares = [asked.found(epsilon, runs, entropy) for epsilon in epsilons]
        falls = [after.mean() < before.mean() - FALL for before, after in pairwise(shares)]
        for i, epsilon in enumerate(epsilons):
            if True in falls[max(i - 1, 0) : i + 1]:
                shares[i] = asked.found(epsilon, AGAIN * runs, entropy)
            error = float(np.std(shares[i], ddof=1) / np.sqrt(len(shares[i])))
            known = (name, len(graph.nodes), measure, float(epsilon), k, len(shares[i]))
            rows.append((*known, round(float(shares[i].mean()), 4), round(error, 4)))
    return rows


@dataclass(frozen=True)
class Asked:
    """What names k nodes, and the true values of all nodes."""

    default: DefaultNodes
    value: FloatArray | IntArray
    k: int

    def found(self, epsilon: str, runs: int, entropy: Entropy) -> FloatArray:
        """The shares of named nodes that belong to the k best, of so many runs."""
        least = np.sort(self.value)[-self.k] * (1 - 1e-9)
        tops = [self.default.draw(epsilon=epsilon, k=self.k, entropy=entropy) for _ in range(runs)]
        return np.array([(self.value[top] >= least).mean() for top in tops])


def _growing_caption(rows: Rows) -> str:
    return f"Mean of {listed(rows, 'runs')} runs; the more where it seemed to fall."


GROWING = Study(
    name="growing",
    title="What is found as ε doubles",
    figure="beyond the paper",
    about="The share of the nodes that are named which belong to the top 10 by PageRank, "
    "eigenvector centrality, k-core number and egocentric betweenness, on small graphs, as ε "
    "doubles.",
    finding="What is found grows with ε, and from ε = 16 on it is all of it.",
    caption=_growing_caption,
    columns=("graph", "nodes", "measure", "epsilon", "k", "runs", "found", "spread"),
    cells=_growing_cells,
    run=_run_growing,
    revision=4,
    minutes=10,
)
