"""The vectors of round 2: one edge changes them by at most 1, whatever round 1 said."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from dampen.influence import two_rounds as module
from dampen.influence.capped import CappedBetweenness
from dampen.influence.graphs import Graph, graph_of
from dampen.influence.two_rounds import (
    FEW,
    UNIT,
    Halved,
    Oriented,
    Question,
    Shares,
    Shortlist,
    question_after,
    slopes,
    two_rounds,
    worth_it,
)
from dampen.sampling import Entropy, InsecureEntropy
from dampen.selection import IntArray
from small_graphs import AllGraphs, all_graphs

SHARES = Shares.of(Fraction(1))


def shortlists(n: int, length: int | None = None) -> Iterator[Shortlist]:
    """Every shortlist of n nodes, with slopes as steep as they may be, in three ways."""
    for m in range(1, n + 1):
        for nodes in combinations(range(n), m):
            for share in (np.ones(m), np.arange(1, m + 1), np.eye(m)[0]):
                steep = (UNIT * share / share.sum()).astype(np.int64)
                allowed = 2 * UNIT // int(steep.max())
                yield Shortlist(np.array(nodes), steep, length or allowed)


def everywhere(world: AllGraphs, question: Shortlist) -> Shortlist:
    copies = len(world.u)
    return Shortlist(world.tiled(question.nodes), np.tile(question.slopes, copies), question.length)


def check_shortlists(n: int) -> float:
    world = all_graphs(n)
    return max(world.norm(everywhere(world, s).vector) for s in shortlists(n)) / UNIT


@pytest.mark.parametrize("n", [3, 4, 5])
def test_every_shortlist_changes_by_at_most_one(n: int) -> None:
    assert check_shortlists(n) == 1


@pytest.mark.slow
def test_every_shortlist_of_six_nodes_changes_by_at_most_one() -> None:
    assert check_shortlists(6) == 1


@pytest.mark.parametrize("n", [4, 5])
def test_without_lists_the_same_check_fails(n: int) -> None:
    world = all_graphs(n)
    norms = [world.norm(everywhere(world, s).vector) / UNIT for s in shortlists(n, length=n)]
    assert max(norms) == n - 3  # a neighbour that closes n - 2 triangles counts for 1 - (n - 2)


def check_degrees(n: int) -> None:
    world = all_graphs(n)
    rng = np.random.default_rng(n)
    for spread in (0, 1, 9):
        noisy = np.tile(rng.integers(-spread, spread + 1, n), len(world.u))
        for question in (Oriented(noisy, SHARES), Halved(noisy, SHARES)):
            assert world.norm(question.vector) == UNIT


@pytest.mark.parametrize("n", [3, 4, 5])
def test_oriented_and_halved_degrees_change_by_exactly_one(n: int) -> None:
    check_degrees(n)


@pytest.mark.slow
def test_oriented_and_halved_degrees_of_six_nodes() -> None:
    check_degrees(6)


def test_counting_an_edge_at_both_ends_fails_the_check() -> None:
    world = all_graphs(4)
    assert world.norm(lambda graph: UNIT * graph.degrees) == 2 * UNIT


def check_capped(n: int) -> None:
    world = all_graphs(n)
    for m in (1, 2, n):
        for level in (5, 6, 9):
            capped = CappedBetweenness(np.arange(m), level)
            d, u = world.d[:, :m], world.u[:, :m]
            scores = capped.scores(u, d)
            norm = np.abs(scores[world.left] - scores[world.right]).sum(axis=1).max()
            assert norm <= float(capped.norm)


@pytest.mark.parametrize("n", [4, 5])
def test_capped_betweenness_keeps_its_norm(n: int) -> None:
    check_capped(n)


@pytest.mark.slow
def test_capped_betweenness_keeps_its_norm_on_six_nodes() -> None:
    check_capped(6)


def test_large_egos_keep_the_norm_of_capped_betweenness_where_degrees_exceed_the_level() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        graph = nx.gnp_random_graph(24, rng.uniform(0.3, 0.95), seed=int(rng.integers(1 << 30)))
        a, b = (int(v) for v in rng.choice(24, 2, replace=False))
        graph.remove_edges_from([(a, b)])
        capped = CappedBetweenness(np.arange(24), int(rng.integers(5, 20)))
        before = capped_scores(capped, graph)
        graph.add_edge(a, b)
        assert np.abs(capped_scores(capped, graph) - before).sum() <= float(capped.norm)


def capped_scores(capped: CappedBetweenness, graph: nx.Graph) -> np.ndarray:
    from dampen.influence.graphs import betweenness

    made = graph_of(graph)
    return capped.scores(betweenness(made), made.degrees)


@pytest.mark.slow
def test_roots_and_dampened_scores_of_betweenness_have_no_small_norm() -> None:
    """What does not work, so that nobody tries again: the bounds on six nodes."""
    from dampen.scores import Dampened

    world = all_graphs(6)
    roots = np.sqrt(2 * world.u)
    norm = np.abs(roots[world.left] - roots[world.right]).sum(axis=1).max()
    assert norm == pytest.approx(7.7, abs=0.05)
    scores = world.scores(world.selection("degree", 5), Dampened())
    norm = np.abs(scores[world.left] - scores[world.right]).sum(axis=1).max()
    assert norm == pytest.approx(3.6, abs=0.05)


def loss(question: Question, left: Graph, right: Graph, shares: Shares) -> Fraction:
    """The exact privacy loss of both rounds, if round 1 led to this question.

    A vector plus discrete Laplace noise of scale s tells neighbours apart by the 1-norm of their
    difference over s, for the worst answer.
    """
    first = Fraction(int(np.abs(left.degrees - right.degrees).sum())) / (2 / shares.first)
    change = int(np.abs(question.vector(left) - question.vector(right)).sum())
    return first + Fraction(change) / (UNIT / shares.second)


def test_the_whole_loss_is_epsilon_on_larger_graphs_with_questions_as_they_come() -> None:
    """Edges that close many triangles, between hubs and within crowds, at all kinds of noise."""
    rng = np.random.default_rng(3)
    seen, worst = set(), Fraction(0)
    for _ in range(250):
        n = int(rng.integers(12, 70))
        graph = nx.gnp_random_graph(n, rng.uniform(0.05, 0.9), seed=int(rng.integers(1 << 30)))
        graph.add_edges_from((0, v) for v in range(1, int(rng.integers(2, n))))
        shares, k = Shares.of(Fraction(int(rng.choice([1, 10, 100])))), int(rng.integers(1, 6))
        full = graph_of(graph)
        noisy = full.degrees + rng.geometric(0.5, n) - rng.geometric(0.5, n)
        question = question_after(noisy, k, shares)
        seen.add(type(question))
        for a, b in rng.permutation(list(graph.edges))[:4].tolist():
            less = graph.copy()
            less.remove_edge(a, b)
            worst = max(worst, loss(question, full, graph_of(less), shares) / (shares.second / 7))
            assert loss(question, full, graph_of(less), shares) <= shares.first + shares.second
    assert seen == {Shortlist, Oriented, Halved}
    assert worst == 10  # seven sevenths of round 2 and three of round 1


def test_slopes_keep_their_guarantee_in_integers() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        levels = np.sort(rng.integers(1, int(10 ** rng.uniform(0.1, 7)) + 2, rng.integers(1, 600)))
        steep, length = slopes(levels)
        assert steep.sum() <= UNIT
        assert (steep * length <= 2 * UNIT).all()
        assert length >= 2


def brute_counts(graph: nx.Graph, shortlist: Shortlist) -> list[tuple[int, int]]:
    listed = set(shortlist.nodes.tolist())
    lists = {
        y: set(sorted(set(graph[y]) - listed)[: shortlist.length]) for y in set(graph) - listed
    }
    counts = []
    for c in shortlist.nodes.tolist():
        outside = set(graph[c]) - listed
        edges = [
            (y, z) for y, z in graph.subgraph(outside).edges if z in lists[y] and y in lists[z]
        ]
        counts.append((len(outside), len(edges)))
    return counts


@pytest.mark.parametrize("length", [1, 2, 5, 300])
def test_counts_equal_their_definition(length: int) -> None:
    for seed, p in enumerate((0.02, 0.1, 0.5)):
        graph = nx.gnp_random_graph(150, p, seed=seed)
        nodes = np.random.default_rng(seed).choice(150, 12, replace=False)
        shortlist = Shortlist(nodes, np.ones(12, dtype=np.int64), length)
        found = list(
            zip(*(column.tolist() for column in shortlist.counts(graph_of(graph))), strict=True)
        )
        assert found == brute_counts(graph, shortlist)


def test_oriented_degrees_equal_their_definition() -> None:
    graph = nx.gnp_random_graph(80, 0.2, seed=2)
    noisy = np.random.default_rng(2).integers(0, 5, 80)
    below = [sum((noisy[u], u) < (noisy[v], v) for u in graph[v]) for v in range(80)]
    assert Oriented(noisy, SHARES).vector(graph_of(graph)).tolist() == [UNIT * b for b in below]


def test_each_round_adds_the_noise_that_it_pays_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[tuple[Fraction, int]] = []

    def recorded(scale: Fraction, size: int, _: Entropy) -> IntArray:
        scales.append((scale, size))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(module, "discrete_laplace", recorded)
    graph = graph_of(nx.star_graph(300))
    assert two_rounds(graph, k=1, epsilon=Fraction(2), entropy=InsecureEntropy(0)) == [0]
    first, second = Fraction(6, 10), Fraction(14, 10)
    assert scales[0] == (2 / first, 301)
    assert scales[1][0] == UNIT / second
    assert Shares(first, second) == Shares.of(Fraction(2))


def test_the_best_come_first_and_none_twice() -> None:
    graph = graph_of(nx.barabasi_albert_graph(400, 4, seed=3))
    for epsilon in ("0.01", "1", "40", "1e7"):
        for k in (1, 7, 150, 400):
            top = two_rounds(graph, k=k, epsilon=Fraction(epsilon), entropy=InsecureEntropy(k))
            assert len(set(top)) == len(top) == k


def test_at_a_very_large_epsilon_the_true_best_are_found() -> None:
    """A hub whose neighbours all know each other loses to a smaller one whose do not."""
    from dampen.influence.graphs import betweenness

    graph = nx.disjoint_union(nx.complete_graph(40), nx.star_graph(20))
    graph = nx.disjoint_union(graph, nx.powerlaw_cluster_graph(200, 5, 0.8, seed=1))
    made = graph_of(graph)
    for k in (1, 3, 10):
        true = np.argsort(-betweenness(made), kind="stable")[:k]
        found = two_rounds(made, k=k, epsilon=Fraction(10**9), entropy=InsecureEntropy(k))
        assert found == true.tolist()


def test_the_public_rule_looks_at_sizes_and_epsilon_only() -> None:
    for k in (3, 20, 50):
        assert worth_it(FEW * k, k, Fraction(1, 100))
        assert not worth_it(FEW * k - 1, k, Fraction(1, 100))
        assert worth_it(FEW * k - 1, k, Fraction(100))
    assert not worth_it(10**6, 1, Fraction(1, 100))
    assert worth_it(10**6, 1, Fraction(1))
    assert not worth_it(10**6, 20, Fraction(1, 10**12))
