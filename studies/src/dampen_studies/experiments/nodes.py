"""Influential nodes above the degree's ceiling: twelve graphs, the default beside its rivals.

Accuracy is the share of the true top k by egocentric betweenness that is found, the mean over 40
runs; k = 5, 10, 20, 50.  Where `dampen` looks worse than `degree-joint`, these two are run anew,
400 times each, and only that counts.  Beside the methods stand both ceilings, what they would find
without any noise: `degree-ceiling` by degrees, `triangle-ceiling` by degrees less triangles, the
default's question at large ε.  And a limit: with h edges the k-th and the next node change places,
so no ε-DP method can be right about them on both graphs with a probability above
e^(hε) / (1 + e^(hε)).

DEVELOPMENT names the graphs that the constants of the default were fixed on.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.epsilon import exact
from dampen.questions.nodes.graphs import Graph, graph_of
from dampen.questions.nodes.two_rounds import Shares, question_after
from dampen_studies.datasets import small
from dampen_studies.experiments.graph_methods import load, prepared, share, true_top
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

DEVELOPMENT = ("wiki-vote", "ego-facebook", "ca-hepth", "enron", "github", "dblp")
OTHERS = (
    "ca-astroph", "facebook-pages", "brightkite", "facebook-artist", "slashdot", "dblp-2010",
)  # fmt: skip
EPSILONS = ("0.05", "0.1", "0.5", "1", "5")
SIZES = (5, 10, 20, 50)
COMPARED = ("em", "ld", "sld", "degree-joint", "dampen")
NO_NOISE = Fraction(10**6)
"""An ε at which the question has as much of everything as it may have."""
RUNS = 40
MORE = 10
"""The runs of a cell, and how many times as many decide where the default looks worse."""


def _cells(quick: bool) -> Sequence[Parameters]:
    names: Sequence[str] = small.GRAPHS if quick else (*DEVELOPMENT, *OTHERS)
    sizes, epsilons = (SIZES[:2], EPSILONS[2:]) if quick else (SIZES, EPSILONS)
    runs = 10 if quick else RUNS
    return [
        {"dataset": name, "k": k, "epsilon": epsilon, "runs": runs}
        for name in names
        for k in sizes
        for epsilon in epsilons
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    k = int(cell["k"])
    runs = int(cell["runs"])
    epsilon = exact(str(cell["epsilon"]))
    ebc, ready = prepared(name)
    edges = load(name)
    graph = graph_of((edges.src, edges.dst), range(edges.n))
    truth = true_top(ebc, k)
    h = flips(ebc, graph, k)

    def accuracies(method: str, count: int) -> list[float]:
        return [share(ready[method](k, epsilon, entropy), truth) for _ in range(count)]

    found = {method: accuracies(method, runs) for method in COMPARED}
    if sum(found["dampen"]) < sum(found["degree-joint"]):
        found |= {m: accuracies(m, MORE * runs) for m in ("degree-joint", "dampen")}
    cells = [
        (name, k, float(epsilon), m, len(f), float(np.mean(f)), _standard_error(f), h)
        for m, f in found.items()
    ]
    limit = 1 / (1 + exp(-h * float(epsilon)))
    fixed = {**ceilings(graph, truth, k), "limit": limit}
    return cells + [(name, k, float(epsilon), m, 0, v, 0.0, h) for m, v in fixed.items()]


def _standard_error(found: Sequence[float]) -> float:
    return float(np.std(found, ddof=1) / np.sqrt(len(found)))


def ceilings(graph: Graph, truth: set[int], k: int) -> dict[str, float]:
    """What degrees, and degrees less triangles, find without noise."""
    d = graph.degrees
    by_degree = np.argsort(-d, kind="stable")[:k].tolist()
    question = question_after(d, k, Shares.of(NO_NOISE))
    by_both = by_degree if question is None else question.best(question.vector(graph), k)
    return {
        "degree-ceiling": share(by_degree, truth),
        "triangle-ceiling": share([int(v) for v in by_both], truth),
    }


def flips(ebc: FloatArray, graph: Graph, k: int) -> int:
    """How many new edges lift the node after the k-th above it, at most.

    Joined to nodes that none of its neighbours knows, it gains one for each pair of a new and an
    old neighbour: d for the first edge, d + 1 for the second, and so on.
    """
    order = np.lexsort((np.arange(len(ebc)), -ebc))
    gap = ebc[order[k - 1]] - ebc[order[k]]
    d = int(graph.degrees[order[k]])
    h = 0
    while gap >= 0:
        gap -= d + h
        h += 1
    return h


def _caption(rows: Rows) -> str:
    runs = listed([row for row in rows if row["runs"]], "runs")
    return f"Mean of {runs} runs; bands are two standard errors; dotted: no noise, and a limit."


STUDY = Study(
    name="nodes",
    title="Influential nodes above the degree's ceiling",
    figure="beyond the paper",
    about="The share of the true top k, by egocentric betweenness: the default in two rounds, the "
    "joint release of degrees, the paper's methods, what they would find without noise, and what "
    "no private method can exceed on the last node.",
    finding="Two rounds pass the ceiling of the degree where neighbours know each other, and at "
    "small ε need fewer edges for the same answer; elsewhere they are the joint release.",
    caption=_caption,
    columns=("dataset", "k", "epsilon", "method", "runs", "accuracy", "spread", "flips"),
    cells=_cells,
    run=_run,
    revision=4,
    minutes=30,
)
