"""Betweenness computed where the order is open gives the answers of betweenness computed whole."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from dampen.core.mechanisms import named, select
from dampen.core.noise import GUMBEL, LAPLACE, Noise
from dampen.core.sampling import InsecureEntropy, noisy_top
from dampen.core.selection import FloatArray, IntArray
from dampen.questions.nodes import betweenness as module
from dampen.questions.nodes.betweenness import Betweenness, draw_nodes, lazy_top
from dampen.questions.nodes.graphs import Graph, betweenness, graph_of

GRAPHS = {
    "skewed": nx.powerlaw_cluster_graph(400, 4, 0.6, seed=6),
    "tied": nx.circulant_graph(60, [1, 2, 5]),
    "few": nx.karate_club_graph(),
    "empty": nx.empty_graph(12),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [(m, delta) for m in ("em", "ld", "sld") for delta in ("degree", "codegree")]
    + [("joint", "degree")],
)
def test_the_same_bits_give_the_same_answer(name: str, mechanism: str, delta: str) -> None:
    graph = graph_of(GRAPHS[name])
    n = len(graph.nodes)
    metric, chosen = Betweenness(delta, 10 * (n - 1)), named(mechanism)  # type: ignore[arg-type]
    whole = metric.selection(graph, n - 1)
    for seed, epsilon in enumerate(("0.01", "1", "30", "4000", "1e9")):
        for k in (1, 5, n):
            e = Fraction(epsilon)
            expected = select(
                whole, epsilon=e, mechanism=chosen, k=k, entropy=InsecureEntropy(seed)
            )
            drawn = draw_nodes(graph, metric, chosen, epsilon=e, k=k, entropy=InsecureEntropy(seed))
            assert drawn == expected


def test_few_nodes_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(nx.barabasi_albert_graph(3000, 5, seed=1))
    asked: list[int] = []

    def counted(of: Graph, nodes: IntArray) -> FloatArray:
        asked.append(len(nodes))
        return betweenness(of, nodes)

    monkeypatch.setattr(module, "betweenness", counted)
    for seed in range(10):
        for mechanism in ("joint", "sld"):
            draw_nodes(
                graph,
                Betweenness("degree", 29990),
                named(mechanism),
                epsilon=Fraction(1),
                k=10,
                entropy=InsecureEntropy(seed),
            )
    assert len(asked) == 20
    assert max(asked) < 60


@pytest.mark.parametrize("noise", [GUMBEL, LAPLACE], ids=lambda noise: noise.name)
@pytest.mark.parametrize("k", [1, 3, 40])
def test_any_interval_around_the_scores_gives_the_answer_of_the_scores(
    noise: Noise, k: int
) -> None:
    rng = np.random.default_rng(k)
    for seed in range(60):
        values = rng.integers(-20, 20, 40) / 4
        scale = Fraction(float(rng.choice([1e-3, 0.3, 2.0, 1e4])))
        around = values - rng.exponential(1, 40), values + rng.exponential(1, 40)
        lazily = lazy_top(
            around, values.__getitem__, scale, noise, k=k, entropy=InsecureEntropy(seed)
        )
        assert lazily == noisy_top(values, scale, noise, k, InsecureEntropy(seed))


def test_a_wrong_interval_is_not_forgiven() -> None:
    """Were scores outside their intervals, the answer would differ: the test above has power."""
    values = np.arange(40.0)
    wrong = values[::-1] - 0.5, values[::-1] + 0.5
    lazily = lazy_top(
        wrong, values.__getitem__, Fraction(100), LAPLACE, k=3, entropy=InsecureEntropy(1)
    )
    assert lazily != noisy_top(values, Fraction(100), LAPLACE, 3, InsecureEntropy(1))


def test_the_value_of_a_node_does_not_depend_on_who_else_is_asked_for() -> None:
    graph = graph_of(GRAPHS["skewed"])
    whole = betweenness(graph)
    chosen = np.array([7, 399, 3, 120])
    assert np.array_equal(betweenness(graph, chosen), whole[chosen])
    assert len(betweenness(graph, np.array([], dtype=np.int64))) == 0
