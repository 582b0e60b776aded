"""The worked examples of the paper, computed from their definitions by brute force.

The running graphs have eight nodes, so EBC is summed pair by pair and LS(G, t, v) is the maximum
over every graph within t edges of G and every edge on top: nothing here uses a closed form.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dampen.core import error_analysis, sensitivity
from dampen.core.mechanisms import SLD, Mechanism, probabilities
from dampen.core.noise import GUMBEL
from dampen.core.sampling import InsecureEntropy
from dampen.core.scores import Dampened, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
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
    """EBC of every node by Definition 19: one term per pair of neighbours that are not adjacent.

    Takes one graph, or an array of graphs.
    """
    between = np.einsum("...cw,...uw,...vw->...cuv", *[adjacency.astype(np.float64)] * 3)
    pair = adjacency[..., :, :, None] & adjacency[..., :, None, :] & ~adjacency[..., None, :, :]
    pair &= np.triu(np.ones(adjacency.shape[-2:], dtype=np.bool_), 1)
    return np.asarray(np.where(pair, 1 / (1 + between), 0).sum(axis=(-2, -1)))


PAIRS = tuple(combinations(range(len(NODES)), 2))


def local_sensitivity(adjacency: Adjacency, t: int) -> FloatArray:
    """LS(G, t, v) for every node, by enumeration (Definition 5): of every graph within t edges,
    and of every graph that differs from it by one edge more.
    """
    scores: dict[int, FloatArray] = {}
    for distance in range(t + 2):
        flips = [
            sum(chosen) for chosen in combinations([1 << i for i in range(len(PAIRS))], distance)
        ]
        for some in np.array_split(np.array(flips), max(1, len(flips) // 2000)):
            scores |= zip(some.tolist(), betweenness(_flipped(adjacency, some)), strict=True)
    largest = np.zeros(len(adjacency))
    for flip, before in scores.items():
        if flip.bit_count() <= t:
            steps = [scores[flip ^ (1 << i)] for i in range(len(PAIRS))]
            largest = np.maximum(largest, np.abs(np.array(steps) - before).max(axis=0))
    return largest


def _flipped(adjacency: Adjacency, flips: IntArray) -> Adjacency:
    """The graph with some edges added or removed: bit i of a flip stands for the i-th pair."""
    changed = np.repeat(adjacency[None], len(flips), axis=0)
    for i, (u, v) in enumerate(PAIRS):
        bit = (flips >> i & 1).astype(np.bool_)
        changed[:, u, v] ^= bit
        changed[:, v, u] ^= bit
    return changed


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
    """Example 8 with LS itself, as far as the shifted utilities reach; a stands for a and b, v0
    for v0, v1, v4 and v5, v2 for v2 and v3.
    """
    usual = graph(USUAL)
    u = betweenness(usual)
    exact = [local_sensitivity(usual, t) for t in range(4)]
    by_seven = Dampened(shift=7.0)
    shifted = Selection(u, sensitivity.table(exact), 7.5)
    scores = by_seven.of(shifted).values
    chance = probabilities(
        shifted, epsilon=2, mechanism=Mechanism("shifted by 7", by_seven, GUMBEL)
    )
    yield "Example 8", "LS(G, 0, v0)", 2, exact[0][2]
    yield "Example 8", "LS(G, 0, v2)", 2, exact[0][4]
    yield "Example 8", "D(G, a), shifted by 7", 0.1, float(scores[0])
    yield "Example 8", "D(G, v0), shifted by 7", -2, float(scores[2])
    yield "Example 8", "D(G, v2), shifted by 7", -2, float(scores[4])
    yield "Example 8", "P[a], shifted by 7", 0.472, chance[0]
    yield "Example 8", "P[v0], shifted by 7", 0.0046, chance[2]
    yield "Example 8", "P[v2], shifted by 7", 0.0046, chance[4]


def _inversion() -> Iterator[Row]:
    delta = sensitivity.table([[1, 4], [2, 4], [4, 4]])
    scores = Dampened().of(Selection([3, 4], delta, 4)).values
    yield "Example 7", "D(r1), u = 3", 2, float(scores[0])
    yield "Example 7", "D(r2), u = 4", 1, float(scores[1])


def _dominance() -> Iterator[Row]:
    """Lemmas 6 and 8 as printed: the first δ should have the smaller error, and has the larger."""
    down = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)

    def error(delta: list[int], mechanism: Mechanism) -> float:
        s = Selection([1, 0], sensitivity.table([delta] * 5), 10)
        return error_analysis.expected_error(s, epsilon=1, mechanism=mechanism)

    yield "Lemma 6", "error, δ = (2, 2)", error([8, 2], SLD), error([2, 2], SLD)
    yield "Lemma 8", "error, LS = (2, 2)", error([2, 8], down), error([2, 2], down)


def _cells(quick: bool) -> Sequence[Parameters]:
    del quick  # there is nothing to shorten
    return [{}]


STUDY = Study(
    name="examples",
    title="The worked examples",
    figure="Examples 1 to 8",
    about="Every number of the running examples, recomputed by enumeration of all graphs around "
    "the eight-node graph, without closed forms. The last lines are counterexamples: the "
    "error that Lemma 6, or 8, promises to be the smaller one, beside the other.",
    finding="",
    caption=lambda rows: f"{len(rows)} numbers; nothing is random.",
    columns=("example", "quantity", "paper", "measured"),
    cells=_cells,
    run=_run,
    revision=2,
)
