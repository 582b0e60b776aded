"""Egocentric betweenness against networkx, ego by ego, and against exact fractions."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from dampen.questions.nodes import graphs
from dampen.questions.nodes.graphs import (
    Graph,
    betweenness,
    codegrees,
    egocentric_betweenness,
    graph_of,
)


def some_nodes(graph: nx.Graph, size: int) -> list[int]:
    """All nodes of a small graph; else random ones, with the two of largest degree."""
    if len(graph) <= size:
        return list(graph)
    largest = sorted(graph, key=graph.degree)[-2:]
    others = np.random.default_rng(0).choice(len(graph), size - 2, replace=False).tolist()
    return [*others, *largest]


def exactly(graph: nx.Graph, c: int) -> Fraction:
    """The definition, in fractions."""
    adjacent = {a: set(graph[a]) for a in graph[c]}
    around = set(adjacent)
    pairs = [(a, b) for a, b in combinations(around, 2) if b not in adjacent[a]]
    return sum(
        (Fraction(1, 1 + len(adjacent[a] & adjacent[b] & around)) for a, b in pairs), Fraction(0)
    )


def with_hubs(n: int, p: float, hubs: int) -> nx.Graph:
    """A sparse graph in which some nodes are adjacent to most others: the hub classes are used."""
    graph = nx.gnp_random_graph(n, p, seed=hubs)
    rng = np.random.default_rng(hubs)
    for hub in range(hubs):
        others = rng.choice(np.arange(hubs, n), int(0.9 * (n - hubs)), replace=False)
        graph.add_edges_from((hub, int(v)) for v in others)
    graph.add_edges_from(combinations(range(hubs), 2))
    return graph


GRAPHS = {
    "one node": nx.empty_graph(1),
    "no edges": nx.empty_graph(7),
    "one edge": nx.path_graph(2),
    "star": nx.star_graph(40),
    "wheel": nx.wheel_graph(30),
    "complete": nx.complete_graph(70),
    "complete without an edge": nx.complete_graph(66),
    "bipartite": nx.complete_bipartite_graph(5, 60),
    "cliques": nx.windmill_graph(6, 12),
    "karate": nx.karate_club_graph(),
    "miserables": nx.convert_node_labels_to_integers(nx.les_miserables_graph()),
    "sparse": nx.gnp_random_graph(200, 0.03, seed=1),
    "middle": nx.gnp_random_graph(130, 0.3, seed=2),
    "dense": nx.gnp_random_graph(130, 0.8, seed=3),
    "64 and 65 neighbours": nx.gnp_random_graph(66, 0.98, seed=4),
    "small world": nx.connected_watts_strogatz_graph(300, 12, 0.1, seed=5),
    "skewed": nx.powerlaw_cluster_graph(400, 8, 0.6, seed=6),
    "one hub": with_hubs(250, 0.02, 1),
    "eight hubs": with_hubs(250, 0.02, 8),
    "many hubs": with_hubs(200, 0.01, 70),
}
GRAPHS["complete without an edge"].remove_edge(3, 5)


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_networkx_on_ego_networks(name: str) -> None:
    graph = GRAPHS[name]
    ours = betweenness(graph_of(graph))
    for c in some_nodes(graph, 5 if graph.number_of_edges() > 1000 else 80):
        theirs = nx.betweenness_centrality(nx.ego_graph(graph, c), normalized=False)[c]
        assert ours[c] == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_relative_error_is_below_the_stated_one(name: str) -> None:
    graph = GRAPHS[name]
    ours = betweenness(graph_of(graph))
    for c in some_nodes(graph, 60):
        exact = exactly(graph, c)
        assert abs(Fraction(float(ours[c])) - exact) <= exact * Fraction(1, 2**51)


def test_the_order_of_nodes_and_edges_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    for name in ("skewed", "eight hubs", "middle"):
        ends = np.array(GRAPHS[name].edges())
        n = GRAPHS[name].number_of_nodes()
        before = egocentric_betweenness((ends[:, 0], ends[:, 1]), n=n)
        name_of = rng.permutation(n)
        turned = name_of[ends[rng.permutation(len(ends))]][:, ::-1]
        after = egocentric_betweenness((turned[:, 0], turned[:, 1]), n=n)
        assert np.array_equal(before, after[name_of])


def test_threads_and_chunks_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(nx.powerlaw_cluster_graph(2000, 10, 0.7, seed=8))
    threaded, codegree = betweenness(graph), codegrees(graph)
    monkeypatch.setattr(graphs, "SMALL", 1 << 60)
    assert np.array_equal(betweenness(graph), threaded)
    assert np.array_equal(codegrees(graph), codegree)


def test_an_interrupt_stops_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    graph = graph_of(nx.powerlaw_cluster_graph(3000, 10, 0.7, seed=8))
    before = betweenness(graph)
    with monkeypatch.context() as patch:
        patch.setattr(graphs, "_watch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            betweenness(graph)
    assert np.array_equal(betweenness(graph), before)


@pytest.mark.parametrize("name", GRAPHS)
def test_codegrees_are_the_largest_entries_of_the_squared_matrix(name: str) -> None:
    matrix = nx.to_numpy_array(GRAPHS[name], weight=None, dtype=np.int64)
    common = matrix @ matrix
    np.fill_diagonal(common, 0)
    assert np.array_equal(codegrees(graph_of(GRAPHS[name])), common.max(axis=1))


def test_hubs_cost_their_edges_and_not_their_pairs() -> None:
    """Each of these has billions of pairs of nodes that share a hub."""
    n, leaves = 100_000, np.arange(2, 100_002)
    star = graph_of((np.zeros(n, dtype=np.int64), leaves), range(2 * n + 2))
    assert codegrees(star)[:3].tolist() == [0, 0, 1]
    twice = (np.repeat([0, 1], n), np.tile(leaves, 2))
    assert codegrees(graph_of(twice, range(n + 2)))[:3].tolist() == [n, n, 2]
    legs = (np.append(np.zeros(n, dtype=np.int64), leaves), np.append(leaves, leaves + n))
    assert np.bincount(codegrees(graph_of(legs, range(2 * n + 2)))).tolist() == [1, 2 * n + 1]


def test_the_result_is_an_array_for_integers_and_a_dictionary_for_labels() -> None:
    path = ([10, 20, 30], [20, 30, 40])
    assert egocentric_betweenness(path).shape == (41,)
    assert egocentric_betweenness(path, n=50).shape == (50,)
    assert egocentric_betweenness(path, nodes=[10, 20, 30, 40, 50]) == {
        10: 0, 20: 1, 30: 1, 40: 0, 50: 0,
    }  # fmt: skip
    assert egocentric_betweenness(nx.path_graph(["a", "b", "c"])) == {"a": 0, "b": 1, "c": 0}


def test_neither_a_graph_nor_its_text_tells_the_number_of_edges() -> None:
    graph = graph_of(nx.star_graph(3))
    assert repr(graph) == "<Graph on 4 nodes>"
    assert isinstance(graph, Graph)


def test_a_graph_on_other_nodes_keeps_its_edges() -> None:
    graph = graph_of(nx.path_graph(["a", "b", "c"]))
    assert graph_of(graph, ["c", "d", "b", "a"]).degrees.tolist() == [1, 0, 2, 1]
    assert graph_of(graph, ["a", "b", "c"]) is graph
