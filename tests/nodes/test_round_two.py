"""The vectors of round 2: one edge changes them by at most 1, whatever round 1 said."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, islice

import networkx as nx
import numpy as np
import pytest

from dampen.core.scores import Dampened
from dampen.questions.nodes.graphs import graph_of
from dampen.questions.nodes.two_rounds import UNIT, Oriented, Shortlist, slopes
from small_graphs import AllGraphs, all_graphs


def shortlists(n: int, *, whole: bool) -> Iterator[Shortlist]:
    """Every shortlist of n nodes: gentle and steep slopes of three forms, short and long lists."""
    for m in range(1, n + 1):
        for nodes in combinations(range(n), m):
            for share in (np.ones(m), np.arange(1, m + 1), np.eye(m)[0]):
                for total, length in ((1, 2), (1, 2 * m), (3, 1), (3, n)):
                    steep = (total * UNIT * share / share.sum()).astype(np.int64)
                    yield Shortlist(np.array(nodes), steep, length, whole)


def everywhere(world: AllGraphs, s: Shortlist) -> Shortlist:
    copies = len(world.u)
    return Shortlist(world.tiled(s.nodes), np.tile(s.slopes, copies), s.length, s.whole)


def changes(n: int, *, whole: bool, every: int = 1) -> Iterator[float]:
    """The largest change by one edge of shortlists, in parts of the norm that they state."""
    world = all_graphs(n)
    for s in islice(shortlists(n, whole=whole), 0, None, every):
        yield world.norm(everywhere(world, s).vector) / s.norm


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n", [3, 4])
def test_every_shortlist_changes_by_at_most_its_norm(n: int, whole: bool) -> None:
    assert 0.9 < max(changes(n, whole=whole)) <= 1


@pytest.mark.parametrize("whole", [False, True])
def test_shortlists_of_five_nodes_change_by_at_most_their_norm(whole: bool) -> None:
    """Every seventh: of the twelve forms and all numbers of nodes there are some."""
    assert 0.9 < max(changes(5, whole=whole, every=7)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n", [5, 6])
def test_every_shortlist_of_more_nodes_changes_by_at_most_its_norm(n: int, whole: bool) -> None:
    assert 0.9 < max(changes(n, whole=whole)) <= 1


@pytest.mark.parametrize("whole", [False, True])
def test_the_norm_of_shorter_lists_fails_the_same_check(whole: bool) -> None:
    """Steep slopes: a neighbour that closes four triangles counts for 1 - 4 * 3."""
    world, nodes, steep = all_graphs(6 if whole else 5), np.array([0]), np.array([3 * UNIT])
    short, long = (Shortlist(nodes, steep, length, whole) for length in (1, 4))
    change = world.norm(everywhere(world, long).vector)
    assert short.norm < change <= long.norm


@pytest.mark.parametrize("whole", [False, True])
def test_a_clique_less_an_edge_needs_lists(whole: bool) -> None:
    clique = nx.complete_graph(9)
    full = graph_of(clique)
    clique.remove_edge(0, 1)
    less = graph_of(clique)
    allowed = Shortlist(np.array([0]), np.array([UNIT]), 2, whole).norm
    for length, kept in ((2, True), (9, False)):
        shortlist = Shortlist(np.array([0]), np.array([UNIT]), length, whole)
        change = np.abs(shortlist.vector(full) - shortlist.vector(less)).sum()
        assert change <= shortlist.norm
        assert (change <= allowed) == kept


@pytest.mark.parametrize(("whole", "forgotten"), [(False, UNIT), (True, 2 * UNIT)])
def test_a_norm_without_the_triangles_of_others_fails_the_same_check(
    whole: bool, forgotten: int
) -> None:
    """An edge between two nodes takes its slope off all their common neighbours."""
    world = all_graphs(5)
    shortlist = Shortlist(np.arange(3), np.full(3, UNIT), 2, whole)
    assert forgotten < world.norm(everywhere(world, shortlist).vector) <= shortlist.norm


def check_oriented(n: int) -> None:
    world = all_graphs(n)
    rng = np.random.default_rng(n)
    for spread in (0, 1, 9):
        noisy = np.tile(rng.integers(-spread, spread + 1, n), len(world.u))
        assert world.norm(Oriented(noisy, 0.5).vector) == Oriented(noisy, 0.5).norm == UNIT


@pytest.mark.parametrize("n", [3, 4, 5])
def test_oriented_degrees_change_by_exactly_one(n: int) -> None:
    check_oriented(n)


@pytest.mark.slow
def test_oriented_degrees_of_six_nodes() -> None:
    check_oriented(6)


def test_counting_an_edge_at_both_ends_fails_the_check() -> None:
    world = all_graphs(4)
    assert world.norm(lambda graph: UNIT * graph.degrees) == 2 * UNIT


@pytest.mark.slow
def test_roots_and_dampened_scores_of_betweenness_have_no_small_norm() -> None:
    """What does not work, so that nobody tries again: the bounds on six nodes."""
    world = all_graphs(6)
    roots = np.sqrt(2 * world.u)
    norm = np.abs(roots[world.left] - roots[world.right]).sum(axis=1).max()
    assert norm == pytest.approx(7.7, abs=0.05)
    scores = world.scores(world.selection("degree", 5), Dampened())
    norm = np.abs(scores[world.left] - scores[world.right]).sum(axis=1).max()
    assert norm == pytest.approx(3.6, abs=0.05)


def test_slopes_keep_their_guarantee_in_integers() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        levels = np.sort(rng.integers(1, int(10 ** rng.uniform(0.1, 7)) + 2, rng.integers(1, 600)))
        for unit in (UNIT, UNIT // 3):
            steep, length = slopes(levels, Fraction(5, 2), unit)
            assert steep.sum() <= unit
            assert (steep * length <= 2 * unit).all()
            assert length >= 2


def test_a_whole_shortlist_keeps_within_the_norm_that_it_may_have() -> None:
    """And spends more of it as there is more: slopes, then nodes, then lists."""
    rng = np.random.default_rng(4)
    noisy = np.sort((rng.pareto(1.5, 3000) * 20).astype(np.int64))[::-1]
    sizes, steeps, lengths = [], [], []
    for norm in (1.9, 2.2, 3, 6, 20, 60, 1e4, 1e9):
        made = Shortlist.whole_of(noisy, 20, 0.1, steepest=Fraction(5, 2), norm=norm)
        assert (made is None) == (norm < 2)
        if made is not None:
            assert made.norm <= norm * UNIT
            sizes.append(len(made.nodes))
            steeps.append(int(made.slopes.max()))
            lengths.append(made.length)
    for grown in (sizes, steeps):
        assert grown == sorted(grown)
        assert grown[0] < grown[-1]
    assert lengths[-1] == 3000


def test_no_whole_shortlist_where_degrees_do_not_tell_who_may_be_on_it() -> None:
    noisy = np.random.default_rng(0).integers(0, 100, 3000)
    assert Shortlist.whole_of(noisy, 20, 30.0, steepest=Fraction(3, 2), norm=1e9) is None


def brute_counts(graph: nx.Graph, shortlist: Shortlist) -> list[tuple[int, int]]:
    listed = set() if shortlist.whole else set(shortlist.nodes.tolist())
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


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("length", [1, 2, 5, 300])
def test_counts_equal_their_definition(length: int, whole: bool) -> None:
    for seed, p in enumerate((0.02, 0.1, 0.5)):
        graph = nx.gnp_random_graph(150, p, seed=seed)
        nodes = np.random.default_rng(seed).choice(150, 12, replace=False)
        shortlist = Shortlist(nodes, np.ones(12, dtype=np.int64), length, whole)
        columns = (column.tolist() for column in shortlist.counts(graph_of(graph)))
        assert list(zip(*columns, strict=True)) == brute_counts(graph, shortlist)


def test_oriented_degrees_equal_their_definition() -> None:
    graph = nx.gnp_random_graph(80, 0.2, seed=2)
    noisy = np.random.default_rng(2).integers(0, 5, 80)
    below = [sum((noisy[u], u) < (noisy[v], v) for u in graph[v]) for v in range(80)]
    assert Oriented(noisy, 0.5).vector(graph_of(graph)).tolist() == [UNIT * b for b in below]
