"""Eigenvector centrality, cores and PageRank in two rounds: norms, laws, what they find."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from dampen import ParameterError, top_k
from dampen.core.sampling import Entropy, InsecureEntropy
from dampen.core.selection import IntArray
from dampen.questions.nodes import centralities as module
from dampen.questions.nodes import two_rounds as rounds_module
from dampen.questions.nodes.centralities import (
    EIGENVECTOR,
    PAGERANK,
    UNIT,
    Core,
    Leaders,
    Walk,
    Weighted,
    core_numbers,
)
from dampen.questions.nodes.graphs import Graph, graph_of
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.nodes.two_rounds import Shares, two_rounds
from dampen.testing import Universe, check_admissible
from small_graphs import AllGraphs, all_graphs

ROUNDS = {metric.name: metric.rounds for metric in (EIGENVECTOR, Core(), PAGERANK)}
CENTRAL = tuple(ROUNDS)


def shortlists(n: int) -> Iterator[IntArray]:
    """One of every size would do, were names alike; the kernel sees names, so all of them."""
    for m in range(1, n + 1):
        yield from map(np.array, combinations(range(n), m))


def weighted_everywhere(world: AllGraphs, q: Weighted) -> Weighted:
    return Weighted(world.tiled(q.nodes), np.tile(q.weights, len(world.u)))


def check_weights(n: int) -> None:
    world, rng = all_graphs(n), np.random.default_rng(n)
    tightest = 0.0
    for nodes in shortlists(n):
        for weights in (np.full(n, UNIT), rng.integers(0, UNIT + 1, n), UNIT * np.eye(n, 1)[:, 0]):
            made = Weighted(nodes, weights.astype(np.int64))
            change = world.norm(weighted_everywhere(world, made).vector)
            assert change <= made.norm
            tightest = max(tightest, change / made.norm)
    assert tightest == 1


@pytest.mark.parametrize("n", [3, 4, 5])
def test_one_edge_changes_weighted_neighbours_by_no_more_than_the_norm(n: int) -> None:
    check_weights(n)


@pytest.mark.slow
def test_one_edge_changes_weighted_neighbours_of_six_nodes_by_no_more_than_the_norm() -> None:
    check_weights(6)


def test_private_weights_fail_the_same_check() -> None:
    """A broken twin: neighbours count by their true degrees."""
    world = all_graphs(5)

    def by_true_degrees(graph: Graph) -> IntArray:
        everyone = np.arange(len(graph.nodes))
        return Weighted(everyone, UNIT * np.minimum(graph.degrees, 1)).vector(graph)

    def squared(graph: Graph) -> IntArray:
        everyone = np.arange(len(graph.nodes))
        return Weighted(everyone, UNIT * graph.degrees // 4).vector(graph)

    assert world.norm(squared) > 2 * UNIT
    assert world.norm(by_true_degrees) == 2 * UNIT


def walks(n: int, nodes: IntArray) -> Iterator[Walk]:
    """With levels as high as may be, and low ones; for average degrees of 1, 4 and 30."""
    bits = 40
    for average in (1, 4, 30):
        c1, c2 = 3 * 2**bits // 20, 51 * 2**bits // 400
        c0 = 289 * 2**bits // (400 * average)
        top = (c0 + c2) // 2
        for levels in (np.full(len(nodes), top), np.linspace(0, top, len(nodes)).astype(np.int64)):
            yield Walk(nodes, levels, c0, c1, c2, bits, n)


def walk_everywhere(world: AllGraphs, walk: Walk) -> Walk:
    copies = len(world.u)
    many = replace(walk, nodes=world.tiled(walk.nodes), levels=np.tile(walk.levels, copies))
    return replace(many, n=copies * world.n)


def check_walks(n: int, shortlists: Iterator[IntArray]) -> None:
    world = all_graphs(n)
    tightest = 0.0
    for nodes in shortlists:
        for walk in walks(n, nodes):
            change = world.norm(walk_everywhere(world, walk).vector)
            assert change <= walk.norm
            tightest = max(tightest, change / walk.norm)
    assert tightest > 0.75


@pytest.mark.parametrize("n", [3, 4, 5])
def test_one_edge_changes_two_steps_of_pagerank_by_no_more_than_the_norm(n: int) -> None:
    check_walks(n, shortlists(n))


@pytest.mark.slow
def test_one_edge_changes_two_steps_of_pagerank_on_six_nodes_by_no_more_than_the_norm() -> None:
    check_walks(6, shortlists(6))


def test_levels_above_half_of_the_largest_or_private_ones_fail_the_same_check() -> None:
    """Broken twins: degrees of the shortlist counted as those of others are."""
    world, n = all_graphs(5), 5
    walk = next(walks(n, np.arange(n)))
    too_high = replace(walk, levels=np.full(n, 2 * (walk.c0 + walk.c2)))
    assert world.norm(walk_everywhere(world, too_high).vector) > walk.norm

    def private(graph: Graph) -> IntArray:
        nobody = replace(walk, nodes=np.arange(0), levels=np.arange(0), n=len(graph.nodes))
        d, everyone = np.maximum(graph.degrees, 1), np.arange(len(graph.nodes))
        once = nobody.c0 + nobody.c2 // d
        twice = (nobody.c1 + module.over_neighbours(graph, everyone, once)) // d
        return module.over_neighbours(graph, everyone, twice) // nobody.step

    assert world.norm(private) > walk.norm


def test_larger_graphs_keep_the_norms_of_questions_as_they_come() -> None:
    """Hubs, leaves and crowds, with edges of all three kinds."""
    rng = np.random.default_rng(3)
    closest = dict.fromkeys(CENTRAL, 0.0)
    for _ in range(60):
        n = int(rng.integers(12, 120))
        graph = nx.gnp_random_graph(n, rng.uniform(0.01, 0.5), seed=int(rng.integers(1 << 30)))
        graph.add_edges_from((0, v) for v in range(1, int(rng.integers(2, n))))
        full = graph_of(graph)
        leaders = Leaders.of(full.degrees, 1, 0.5)
        some = rng.choice(n, int(rng.integers(1, n // 2)), replace=False)
        leaders = replace(leaders, nodes=some)
        for a, b in rng.permutation(list(graph.edges))[:5].tolist():
            less = graph.copy()
            less.remove_edge(a, b)
            for metric in CENTRAL:
                question = ROUNDS[metric].asked(leaders)
                change = np.abs(question.vector(full) - question.vector(graph_of(less))).sum()
                assert change <= question.norm
                closest[metric] = max(closest[metric], change / question.norm)
    assert min(closest.values()) > 0.5


def test_two_steps_of_pagerank_equal_their_definition() -> None:
    graph = nx.gnp_random_graph(60, 0.1, seed=5)
    made, leaders = graph_of(graph), Leaders.of(graph_of(graph).degrees, 2, 1e-3)
    walk = Walk.of(leaders)
    unit, d = 2.0**walk.bits, dict(graph.degree)
    c0, c1, c2 = (c / unit for c in (walk.c0, walk.c1, walk.c2))
    assert (c1, c2) == pytest.approx((0.15, 0.85 * 0.15))
    assert c0 == pytest.approx(0.85**2 / made.degrees.mean())
    level = dict(zip(walk.nodes.tolist(), walk.levels / unit, strict=True))
    t = {v: level.get(v, c0 + c2 / max(d[v], 1)) for v in graph}
    y = {v: level.get(v, (c1 + sum(t[w] for w in graph[v])) / max(d[v], 1)) for v in graph}
    expected = [sum(y[u] for u in graph[c]) for c in walk.nodes.tolist()]
    np.testing.assert_allclose(walk.vector(made) / 2**18, expected, atol=2**-17)


@pytest.mark.parametrize("n", [1, 2, 1000, 10**6, 10**7])
def test_sums_fit_into_64_bits_and_rounding_costs_little(n: int) -> None:
    leaders = Leaders(np.full(n, 8.0), np.arange(min(n, 1000)), 250, 1.0)
    walk = Walk.of(leaders)
    assert n * (walk.c0 + walk.c1 + walk.c2) < 2**62
    assert (walk.levels <= (walk.c0 + walk.c2) // 2).all()
    assert 0 <= walk.c2 <= walk.c1
    assert walk.worth_its_norm
    if n < 10**6:
        assert walk.norm < 1.02 * walk.exact_norm


def test_a_graph_too_large_for_the_grid_is_asked_for_its_degrees() -> None:
    leaders = Leaders(np.full(1 << 26, 8.0), np.arange(4000), 1000, 1.0)
    assert ROUNDS["pagerank"].question_about(leaders, 5, Shares.of(Fraction(1))) is None


def loss(metric: str, left: Graph, right: Graph, noisy: IntArray) -> Fraction:
    """The exact loss of both rounds, if round 1 said this; see `test_two_rounds`."""
    shares, change = Shares.of(Fraction(1)), Fraction(2, 2)
    question = ROUNDS[metric].asked(Leaders.of(noisy, 1, 1.0))
    moved = int(np.abs(question.vector(left) - question.vector(right)).sum())
    return change * shares.first + Fraction(moved, question.norm) * shares.second


@pytest.mark.parametrize("metric", CENTRAL)
def test_the_whole_loss_is_at_most_epsilon_for_all_small_graphs(metric: str) -> None:
    universe, rng = Universe.graphs(4), np.random.default_rng(1)
    graphs = [graph_of(edges, range(4)) for edges in universe.databases]
    worst = Fraction(0)
    for _ in range(12):
        noisy = rng.integers(-2, 9, 4)
        for a, b in universe.neighbours.tolist():
            worst = max(worst, loss(metric, graphs[a], graphs[b], noisy))
    assert Fraction(7, 10) < worst <= 1


def test_each_round_adds_the_noise_that_it_pays_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []

    def nested(
        s: Fraction, ratio: Fraction, size: int, _: Entropy
    ) -> tuple[Callable[[], IntArray], IntArray]:
        scales.append(s / ratio)
        return lambda: np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)

    def laplace(scale: Fraction, size: int, _: Entropy) -> IntArray:
        scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(rounds_module, "nested_laplace", nested)
    monkeypatch.setattr(rounds_module, "discrete_laplace", laplace)
    graph = graph_of(nx.disjoint_union(nx.complete_graph(80), nx.empty_graph(800)))
    for metric in CENTRAL:
        two_rounds(graph, ROUNDS[metric], k=1, epsilon=Fraction(2), entropy=InsecureEntropy(0))
        question = ROUNDS[metric].asked(Leaders.of(graph.degrees, 1, 2 / 0.6))
        assert scales[-2:] == [2 / Fraction(6, 10), question.norm / Fraction(14, 10)]


def test_where_nothing_is_dense_the_answer_is_that_of_one_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = graph_of(nx.gnp_random_graph(60, 0.3, seed=1))
    blurred, fine = np.random.default_rng(0).permuted(np.arange(120).reshape(2, 60), axis=1) * 99
    monkeypatch.setattr(rounds_module, "nested_laplace", lambda *_: (lambda: fine, blurred))
    for metric in CENTRAL:
        found = two_rounds(
            graph, ROUNDS[metric], k=9, epsilon=Fraction(1, 900), entropy=InsecureEntropy(0)
        )
        assert found == np.argsort(-(graph.degrees + fine), kind="stable")[:9].tolist()


def crowd_and_hubs() -> nx.Graph:
    """Twenty stars, whose centres have the most neighbours, and a clique, whose members do not."""
    graph = nx.complete_graph(90)
    for _ in range(20):
        graph = nx.disjoint_union(graph, nx.star_graph(150))
    return graph


@pytest.mark.parametrize("metric", ["eigenvector", "core"])
def test_a_dense_crowd_is_found_where_the_degree_finds_hubs(metric: str) -> None:
    """Noise of scale 3 on 90: a star is among the found with a probability below 1e-8."""
    graph = crowd_and_hubs()
    ask = {"nodes": "graph", "k": 20, "epsilon": "1"}
    made = top_k(graph, metric=metric, **ask)
    assert made.mechanism == "two-rounds"
    assert set(made.answer) <= set(range(90))
    assert not set(top_k(graph, metric="degree", **ask).answer) & set(range(90))


def test_pagerank_prefers_neighbours_that_have_few() -> None:
    """A hub of 300 leaves before one of 330 neighbours in crowds; noise is small against both."""
    graph = nx.star_graph(330)
    for crowd in np.arange(1, 331).reshape(30, 11).tolist():
        graph.add_edges_from(combinations(crowd, 2))
    graph = nx.disjoint_union(graph, nx.star_graph(300))
    true = nx.pagerank(graph)
    assert max(true, key=true.__getitem__) == 331
    ask = {"nodes": "graph", "k": 1, "epsilon": "40"}
    assert top_k(graph, metric="pagerank", **ask).answer == [331]
    assert top_k(graph, metric="degree", **ask).answer == [0]


def test_core_numbers_equal_those_of_networkx() -> None:
    graphs = [nx.gnp_random_graph(150, p, seed=7) for p in (0.0, 0.005, 0.03, 0.3)]
    for graph in [*graphs, nx.barabasi_albert_graph(200, 5, seed=1), nx.complete_graph(1)]:
        assert core_numbers(graph_of(graph)).tolist() == list(nx.core_number(graph).values())


def check_core(n: int) -> None:
    """Δ = 1, upwards, and no small 1-norm."""
    world = all_graphs(n)
    core = core_numbers(world.union).reshape(-1, n)
    change = core[world.right] - core[world.left]
    assert np.abs(change).max() == 1
    fewer = world.d[world.left].sum(axis=1) < world.d[world.right].sum(axis=1)
    assert (np.where(fewer[:, None], change, -change) >= 0).all()
    assert np.abs(change).sum(axis=1).max() == n


def test_core_numbers_change_by_one_upwards_and_all_at_once() -> None:
    check_core(5)
    for n in (3, 4):
        assert check_admissible(InfluentialNode(n=n, metric="core"), Universe.graphs(n)).holds


@pytest.mark.slow
def test_core_numbers_of_six_nodes_change_by_one_upwards_and_all_at_once() -> None:
    check_core(6)


def test_core_numbers_themselves_can_be_asked_for() -> None:
    graph = crowd_and_hubs()
    made = top_k(graph, nodes="graph", k=1, epsilon="5", metric="core", mechanism="pf")
    assert made.answer[0] < 90
    with pytest.raises(ParameterError, match="1-norm"):
        top_k(graph, nodes="graph", k=3, epsilon="1", metric="core", mechanism="joint")


@pytest.mark.parametrize("metric", ["eigenvector", "pagerank"])
def test_no_other_mechanism_is_there_for_what_has_no_sensitivity(metric: str) -> None:
    class Account:
        def charge(self, cost: object) -> str:
            raise AssertionError("charged")

    for mechanism in ("pf", "joint", "sld"):
        with pytest.raises(ParameterError, match="two-rounds"):
            top_k(
                ([0], [1]), n=5, epsilon="1", metric=metric, mechanism=mechanism, budget=Account()
            )  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="two-rounds"):
        InfluentialNode(n=5, metric=metric).selection(([0], [1]))
    with pytest.raises(ParameterError, match="delta"):
        top_k(([0], [1]), n=5, epsilon="1", metric=metric, delta="codegree")


@pytest.mark.parametrize("metric", CENTRAL)
def test_a_release_says_what_it_is_and_what_to_expect(metric: str) -> None:
    made = top_k(([0, 1], [1, 2]), n=3000, k=20, epsilon="1", metric=metric)
    assert (made.mechanism, made.epsilon, len(set(made.answer))) == ("two-rounds", 1, 20)
    assert made.parameters == {"nodes": 3000, "max_degree": 2999, "metric": metric, "k": 20}
    assert made.accuracy == top_k(([0, 1], [1, 2]), n=3000, k=20, epsilon="1").accuracy
    assert made.accuracy.unit == "neighbours"


def test_every_k_and_epsilon_gives_k_different_nodes() -> None:
    graph = graph_of(nx.barabasi_albert_graph(300, 6, seed=3))
    for metric in CENTRAL:
        for epsilon in ("0.01", "1", "40", "1e7"):
            for k in (1, 7, 150, 300):
                draw = {"epsilon": Fraction(epsilon), "entropy": InsecureEntropy(k)}
                top = two_rounds(graph, ROUNDS[metric], k=k, **draw)
                assert len(set(top)) == len(top) == k
