"""The worked examples of the paper, computed from their definitions by brute force.

The running graphs have eight nodes, so EBC is summed pair by pair and LS(G, t, v) is the maximum
over every graph within t edges of G and every edge on top: nothing here uses a closed form.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dampen.core import error_analysis, sensitivity
from dampen.core.mechanisms import Mechanism, probabilities
from dampen.core.noise import GUMBEL
from dampen.core.sampling import InsecureEntropy
from dampen.core.scores import Dampened
from dampen.core.selection import FloatArray, Selection
from dampen_studies.study import Parameters, Row, Study

Adjacency = NDArray[np.bool_]
NODES = ("a", "b", "v0", "v1", "v2", "v3", "v4", "v5")
WORST = "a-b a-v0 a-v1 a-v2 a-v3 a-v4 a-v5 b-v0 b-v1 b-v2 b-v3 b-v4 b-v5"
USUAL = "a-b a-v0 a-v1 a-v2 a-v3 b-v2 b-v3 b-v4 b-v5 v0-v1 v4-v5"


def graph(edges: str) -> Adjacency:
    """Figure 1: the worst case and the usual case."""
    adjacency = np.zeros((len(NODES), len(NODES)), dtype=np.bool_)
    for edge in edges.split():
        i, j = (NODES.index(end) for end in edge.split("-"))
        adjacency[i, j] = adjacency[j, i] = True
    return adjacency


def betweenness(adjacency: Adjacency) -> FloatArray:
    """EBC of every node by Definition 19: one term per pair of neighbours that are not adjacent."""
    scores = np.zeros(len(adjacency))
    for c, row in enumerate(adjacency):
        for u, v in combinations(np.flatnonzero(row), 2):
            if not adjacency[u, v]:
                between = row & adjacency[u] & adjacency[v]
                scores[c] += 1 / (1 + between.sum())
    return scores


def local_sensitivity(adjacency: Adjacency, t: int) -> FloatArray:
    """LS(G, t, v) for every node, by enumeration (Definitions 5 and 6)."""
    largest = np.zeros(len(adjacency))
    for y in _within(adjacency, t):
        before = betweenness(y)
        for z in _neighbours(y):
            largest = np.maximum(largest, np.abs(betweenness(z) - before))
    return largest


def _neighbours(adjacency: Adjacency) -> Iterator[Adjacency]:
    for i, j in combinations(range(len(adjacency)), 2):
        changed = adjacency.copy()
        changed[i, j] = changed[j, i] = not adjacency[i, j]
        yield changed


def _within(adjacency: Adjacency, t: int) -> Iterator[Adjacency]:
    yield adjacency
    if t > 0:
        for neighbour in _neighbours(adjacency):
            yield from _within(neighbour, t - 1)


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del cell, entropy  # everything is computed
    return [*_running_graphs(), *_mechanisms(), *_inversion(), *_shifting(), *_dominance()]


def _running_graphs() -> Iterator[Row]:
    worst = graph(WORST)
    usual = graph(USUAL)
    without = worst.copy()
    without[0, 1] = without[1, 0] = False
    yield "Example 1", "EBC(a), worst case", 7.5, betweenness(worst)[0]
    yield "Example 1", "EBC(a), worst case without the edge a-b", 15, betweenness(without)[0]
    yield "Example 1", "EBC(a), usual case", 6.5, betweenness(usual)[0]
    yield "Example 2", "LS(worst case, 0, v0)", 1, local_sensitivity(worst, 0)[2]
    yield "Example 3", "LS(G, 0)", 3, local_sensitivity(usual, 0).max()
    yield "Example 3", "LS(G, 1)", 5, local_sensitivity(usual, 1).max()
    yield "Example 4", "LS(G, 0, v4)", 2, local_sensitivity(usual, 0)[6]


def _mechanisms() -> Iterator[Row]:
    usual = graph(USUAL)
    u = betweenness(usual)
    at0 = local_sensitivity(usual, 0)
    at1 = local_sensitivity(usual, 1)
    flat = sensitivity.table([np.full(8, at0.max()), np.full(8, at1.max())])
    dampened = Dampened().of(Selection(u, flat, 7.5))
    yield "Example 5", "D(G, a)", 1.7, float(dampened.values[0])
    local = probabilities(Selection(u, flat, 7.5), epsilon=2, mechanism="ld")
    yield "Example 5", "P[a], local dampening", 0.32, local[0]
    yield "Example 5", "P[v0], local dampening", 0.06, local[2]
    exponential = probabilities(Selection(u, flat, 7.5), epsilon=2, mechanism="em")
    yield "Example 6", "P[a], exponential mechanism", 0.22, exponential[0]
    yield "Example 6", "P[v0], exponential mechanism", 0.09, exponential[2]


def _shifting() -> Iterator[Row]:
    """Example 8, with the δ that it states or implies (D(v0) = -2), and with LS itself."""
    usual = graph(USUAL)
    u = betweenness(usual)
    at0 = local_sensitivity(usual, 0)
    at1 = local_sensitivity(usual, 1)
    by_seven = Dampened(shift=7.0)
    mechanism = Mechanism("shifted by 7", by_seven, GUMBEL)
    stated = np.where(u > 0, 3.0, 2.0)
    printed = Selection(u, sensitivity.table([stated, np.full(8, 5.0)]), 7.5)
    yield "Example 8", "LS(G, 0, v2)", 2, at0[4]
    yield "Example 8", "D(G, a), shifted by 7", 0.1, float(by_seven.of(printed).values[0])
    yield "Example 8", "D(G, v0), shifted by 7", -2, float(by_seven.of(printed).values[2])
    chance = probabilities(printed, epsilon=2, mechanism=mechanism)
    yield "Example 8", "P[a], shifted by 7", 0.472, chance[0]
    yield "Example 8", "P[v0], shifted by 7", 0.0046, chance[2]
    chance = probabilities(
        Selection(u, sensitivity.table([at0, at1]), 7.5), epsilon=2, mechanism=mechanism
    )
    yield "Example 8", "P[a], shifted by 7, exact LS", 0.472, chance[0]
    yield "Example 8", "P[v0], shifted by 7, exact LS", 0.0046, chance[2]


def _inversion() -> Iterator[Row]:
    delta = sensitivity.table([[1, 4], [2, 4], [4, 4]])
    scores = Dampened().of(Selection([3, 4], delta, 4)).values
    yield "Example 7", "D(r1), u = 3", 2, float(scores[0])
    yield "Example 7", "D(r2), u = 4", 1, float(scores[1])


def _dominance() -> Iterator[Row]:
    """Dominance as printed: the first δ should have the smaller error, and has the larger one."""

    def error(delta: list[int]) -> float:
        s = Selection([1, 0], sensitivity.table([delta] * 5), 10)
        return error_analysis.expected_error(s, epsilon=1, mechanism="sld")

    dominating = error([2, 2])
    dominated = error([8, 2])
    yield "Dominance", "error, dominating δ", dominated, dominating


def _cells(quick: bool) -> Sequence[Parameters]:
    del quick  # there is nothing to shorten
    return [{}]


STUDY = Study(
    name="examples",
    title="The worked examples",
    figure="Examples 1 to 8",
    about="Every number of the running examples, recomputed by enumeration of all graphs around "
    "the eight-node graph, without closed forms. The last line is a counterexample: the "
    "error that the dominance lemma promises to be the smaller one, beside the other.",
    finding="",
    caption=lambda rows: f"{len(rows)} numbers; nothing is random.",
    columns=("example", "quantity", "paper", "measured"),
    cells=_cells,
    run=_run,
)
