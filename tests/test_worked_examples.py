"""The paper's running example (Examples 1 to 8), recomputed; EBC here is networkx's betweenness."""

import itertools

import networkx as nx
import numpy as np
import pytest

from dampen import Selection, probabilities
from dampen.core import sensitivity
from dampen.core.mechanisms import Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.scores import Dampened

LEAVES = [f"v{i}" for i in range(6)]
NODES = ["a", "b", *LEAVES]
WORST = [("a", v) for v in LEAVES] + [("b", v) for v in LEAVES] + [("a", "b")]
USUAL = [
    ("a", "b"), ("a", "v0"), ("a", "v1"), ("a", "v2"), ("a", "v3"), ("b", "v2"), ("b", "v3"),
    ("b", "v4"), ("b", "v5"), ("v0", "v1"), ("v4", "v5"),
]  # fmt: skip


def graph(edges: list[tuple[str, str]]) -> nx.Graph:
    g = nx.Graph()
    g.add_nodes_from(NODES)
    g.add_edges_from(edges)
    return g


def ebc(g: nx.Graph, node: str) -> float:
    ego = nx.ego_graph(g, node)
    return float(nx.betweenness_centrality(ego, normalized=False)[node])


def flips(g: nx.Graph):
    """All graphs that differ from g by one edge."""
    for edge in itertools.combinations(NODES, 2):
        h = g.copy()
        if h.has_edge(*edge):
            h.remove_edge(*edge)
        else:
            h.add_edge(*edge)
        yield h


def element_sensitivity(g: nx.Graph, node: str) -> float:
    return max(abs(ebc(h, node) - ebc(g, node)) for h in flips(g))


def test_example_1_egocentric_betweenness() -> None:
    assert ebc(graph(WORST), "a") == 7.5
    assert ebc(graph(WORST[:-1]), "a") == 15
    assert [ebc(graph(USUAL), v) for v in NODES] == [6.5, 6.5, 0, 0, 0, 0, 0, 0]
    assert max(element_sensitivity(graph(USUAL), v) for v in NODES) == 3


def test_example_2_and_4_element_local_sensitivity() -> None:
    assert element_sensitivity(graph(WORST), "a") == 7.5
    g = graph(WORST)
    g.remove_edge("a", "b")
    assert ebc(g, "v0") - ebc(graph(WORST), "v0") == 1
    assert element_sensitivity(graph(USUAL), "v4") == 2


def test_example_3_local_sensitivity_at_distance_one() -> None:
    # b is enough: the other nodes have lower degree after one change.
    assert max(element_sensitivity(h, "b") for h in flips(graph(USUAL))) == 5


RUNNING = Selection([6.5, 6.5, 0, 0, 0, 0, 0, 0], sensitivity.table([[3] * 8, [5] * 8]), bound=7.5)


def test_example_5_local_dampening() -> None:
    D = Dampened().of(RUNNING).values
    assert pytest.approx([1.7, 1.7, 0, 0, 0, 0, 0, 0], abs=1e-6) == D
    assert (
        probabilities(RUNNING, epsilon=2, mechanism="ld").round(2).tolist()
        == [0.32] * 2 + [0.06] * 6
    )


def test_example_6_exponential_mechanism() -> None:
    assert (
        probabilities(RUNNING, epsilon=2, mechanism="em").round(2).tolist()
        == [0.22] * 2 + [0.09] * 6
    )


def test_example_7_inversion() -> None:
    s = Selection([3, 4], sensitivity.table([[1, 4], [2, 4]]), bound=4)
    assert Dampened().of(s).values.tolist() == [2, 1]
    p = probabilities(s, epsilon=1, mechanism="ld")
    assert p[0] > p[1]


def test_example_8_shifting_with_corrected_numbers() -> None:
    """The paper prints .1 and .44 for what is -.1667 and .846; hence .338 and .054."""
    rows = [[3, 3] + [2] * 6, [5, 5] + [5] * 6]
    s = Selection(RUNNING.utility, sensitivity.table(rows), bound=7.5)
    score = Dampened(shift=7.0)
    assert pytest.approx([-1 / 6] * 2 + [-2] * 6, abs=1e-6) == score.of(s).values
    assert np.exp(-1 / 6) == pytest.approx(0.846, abs=5e-4)
    p = probabilities(s, epsilon=2, mechanism=Mechanism("ld, shift 7", score, GUMBEL))
    assert p.round(3).tolist() == [0.338] * 2 + [0.054] * 6


def test_example_9_the_effect_of_beta_depends_on_the_horizon() -> None:
    """δ = min(u t / β, Δ): the error falls with β if T lets every δ reach Δ, else it rises.

    Once all have reached it, the sum of Δ - δ is about Δ² β / (2u), and a larger β spreads the
    candidates; on a short horizon a large β makes all δ alike, which is the exponential mechanism.
    """
    from dampen.core.error_analysis import expected_error

    u = np.array([10.0, 20.0, 30.0])

    def error(beta: float, horizon: int) -> float:
        delta = sensitivity.function(lambda t: np.minimum(u * t / beta, 100), horizon)
        return expected_error(Selection(u, delta, bound=100), epsilon=1, mechanism="sld")

    long = [error(beta, 1000) for beta in (0.1, 1, 3, 10, 100)]
    assert long == sorted(long, reverse=True)
    assert long[0] > 1.5 * long[3]
    short = [error(beta, 50) for beta in (100, 1000, 1e5)]
    assert short == sorted(short)
