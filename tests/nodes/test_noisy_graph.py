"""A noisy copy of a graph: its law and its loss, who is asked for by it, and what it finds."""

import warnings
from fractions import Fraction
from itertools import combinations
from math import exp, expm1, log
from typing import Any

import networkx as nx
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy.stats import binom

from dampen import ParameterError, PrivacyLeakWarning, top_k
from dampen.core.noise import pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.questions.nodes import NodesQuestion
from dampen.questions.nodes.centralities import (
    core_numbers,
    eigenvector,
    page_rank,
    triangles,
)
from dampen.questions.nodes.graphs import (
    LARGEST_N,
    betweenness,
    copies_well,
    flipped_pairs,
    graph_of,
    noisy_copy,
    odds,
    wrong_pairs,
)
from dampen.releases.answer import expect
from dampen.testing import Universe, law_loss
from goodness import assert_draws_follow, counts_of

FOUND = ("betweenness", "triangles", "eigenvector", "core", "pagerank")


def pairs_of(graph: Any) -> frozenset[tuple[int, int]]:
    src = np.repeat(np.arange(len(graph.nodes)), graph.degrees)
    once = src < graph.to
    return frozenset(zip(src[once].tolist(), graph.to[once].tolist(), strict=True))


def law_of(n: int, chance: float, *, drops_only: bool = False) -> Any:
    """The chances of all copies of a graph with n nodes, if every pair is flipped with this one."""
    pairs = list(combinations(range(n), 2))
    copies = [frozenset(c) for m in range(len(pairs) + 1) for c in combinations(pairs, m)]

    def law(edges: Any) -> list[float]:
        true = pairs_of(graph_of(edges, range(n)))
        chances = []
        for copy in copies:
            added, dropped = len(copy - true), len(true - copy)
            open_pairs = len(true) if drops_only else len(pairs)
            flips = dropped if drops_only else added + dropped
            possible = not (drops_only and added)
            chances.append(possible * chance**flips * (1 - chance) ** (open_pairs - flips))
        return chances

    return law


@pytest.mark.parametrize("epsilon", ["1", "2", "5"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_loss_of_a_copy_is_at_most_epsilon(n: int, epsilon: str) -> None:
    s = odds(Fraction(epsilon))
    verdict = law_loss(law_of(n, -expm1(-1 / s)), Universe.graphs(n), epsilon=epsilon)
    assert verdict.holds
    assert verdict.value is not None
    assert float(epsilon) - 2 / s < verdict.value <= float(epsilon)


def test_odds_above_e_to_the_epsilon_and_edges_that_are_dropped_alone_are_rejected() -> None:
    """Broken twins."""
    universe = Universe.graphs(3)
    above = -expm1(-1 / (odds(Fraction(2)) + 2))
    assert not law_loss(law_of(3, above), universe, epsilon="2").holds
    dropped = law_of(3, 1 / (1 + exp(2)), drops_only=True)
    assert not law_loss(dropped, universe, epsilon="2").holds


def test_the_odds_keep_the_theorem_by_ball_arithmetic() -> None:
    for numerator in (*range(7, 60), 157, 271, 280, 400, 10**9):
        epsilon = Fraction(numerator, 10)
        s = odds(epsilon)
        assert 2 <= s <= 2**40
        with ctx.workprec(256):
            ratio = 1 / (arb(fmpq(1, s)).exp() - 1)
            assert 1 < ratio < s
            assert arb(s).log() <= arb(fmpq(numerator, 10))


def test_copies_are_drawn_by_their_law() -> None:
    """The eight copies of a graph on three nodes; the seed is fixed."""
    edges = ([0, 1], [1, 2])
    graph = graph_of(edges, range(3))
    entropy = InsecureEntropy(11)
    drawn = [pairs_of(noisy_copy(graph, Fraction(1), entropy)) for _ in range(2000)]
    pairs = list(combinations(range(3), 2))
    copies = [frozenset(c) for m in range(4) for c in combinations(pairs, m)]
    right, wrong = (law_of(3, -expm1(-1 / s))(edges) for s in (2, 3))
    assert_draws_follow(counts_of(drawn, copies), right, wrong)


@pytest.mark.parametrize("n", range(2, 10))
def test_every_pair_has_one_number(n: int) -> None:
    """Odds of 2 flip a pair with a chance of .39: 200 draws miss one with one below 1e-40."""
    entropy = InsecureEntropy(n)
    found = [flipped_pairs(n, 2, entropy) for _ in range(200)]
    assert all(len(np.unique(codes)) == len(codes) for codes in found)
    expected = {i * n + j for i, j in combinations(range(n), 2)}
    assert set(np.concatenate(found).tolist()) == expected


def test_a_copy_of_whole_rows_and_of_half_rows_is_the_same() -> None:
    graph = nx.gnp_random_graph(60, 0.2, seed=1)
    half, whole = graph_of(graph), graph_of(graph)
    assert len(whole.to) == 2 * graph.number_of_edges()
    for epsilon in (Fraction(3), Fraction(40)):
        one, other = (noisy_copy(g, epsilon, InsecureEntropy(5)) for g in (half, whole))
        assert pairs_of(one) == pairs_of(other)
    assert pairs_of(one) == {tuple(sorted(edge)) for edge in graph.edges}
    nobody = graph_of(([], []), range(1))
    assert noisy_copy(nobody, Fraction(9), InsecureEntropy(1)).degrees.tolist() == [0]


@pytest.mark.parametrize(("n", "epsilon"), [(15, 5), (40, 6), (1000, 10), (1000, 16), (20_000, 12)])
def test_as_many_pairs_are_wrong_as_is_stated(n: int, epsilon: int) -> None:
    pairs, chance = n * (n - 1) // 2, -expm1(-1 / odds(Fraction(epsilon)))
    stated = wrong_pairs(n, Fraction(epsilon), 0.9)
    assert binom.cdf(stated, pairs, chance) >= 0.9
    assert binom.cdf(0.8 * stated - 1, pairs, chance) < 0.9


def test_the_default_copies_a_graph_where_that_tells_nearly_all_of_it() -> None:
    """By n and ε alone: from log(10 n) on."""
    edges = ([0, 1], [1, 2])
    for n in (4, 100, 3000):
        least = log(10 * n) + 0.1
        for metric in FOUND:
            for epsilon, copied in ((least, True), (least - 0.2, False)):
                made = NodesQuestion(n=n, k=2, metric=metric)
                price = expect(made, edges, epsilon=f"{epsilon:.3f}")
                assert (price.cost.mechanism == "noisy-graph") == copied
        for other in ({"metric": "degree"}, {"metric": "brokerage"}, {"delta": "codegree"}):
            price = expect(NodesQuestion(n=n, k=2, **other), edges, epsilon="20")
            assert price.cost.mechanism != "noisy-graph"


def test_a_number_of_nodes_that_is_not_public_may_be_the_largest() -> None:
    edges = ([0, 1, 2], [1, 2, 0])
    for epsilon, copied in (("20", False), ("24", True)):
        assert copies_well(LARGEST_N, Fraction(epsilon)) == copied
        with pytest.warns(PrivacyLeakWarning):
            made = top_k(edges, k=1, epsilon=epsilon, metric="core", public="data")
        assert (made.mechanism == "noisy-graph") == copied


def test_a_copy_that_would_be_mostly_noise_is_refused_before_the_charge() -> None:
    class Account:
        def charge(self, cost: object) -> str:
            raise AssertionError("charged")

    ask = {"mechanism": "noisy-graph", "k": 3, "budget": Account()}
    with pytest.raises(ParameterError, match=r"epsilon >= 4\.1 .* 1000 nodes. Raise epsilon"):
        top_k(([0], [1]), n=1000, epsilon="3.9", **ask)  # type: ignore[arg-type]
    for other in ({"metric": "degree"}, {"delta": "codegree"}):
        with pytest.raises(ParameterError, match="noisy-graph"):
            top_k(([0], [1]), n=1000, epsilon="9", **ask, **other)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="charged"):
        top_k(([0], [1]), n=1000, epsilon="4.1", **ask)  # type: ignore[arg-type]


def test_a_copy_costs_epsilon_and_states_how_many_pairs_are_wrong() -> None:
    ask = {"n": 300, "k": 5, "metric": "triangles"}
    exactly = top_k(([0, 1], [1, 2]), epsilon="16", **ask)  # type: ignore[arg-type]
    assert (exactly.epsilon, exactly.rho) == (16, pure_rho(Fraction(16)))
    assert exactly.accuracy.sentence == "In at least 9 of 10 runs the answer is the true top 5."
    nearly = top_k(([0, 1], [1, 2]), epsilon="8.5", **ask)  # type: ignore[arg-type]
    assert nearly.accuracy.sentence == (
        "In at least 9 of 10 runs the answer is the true top 5 after at most 13 edges were added "
        "or removed."
    )
    assert nearly.parameters == {"nodes": 300, "max_degree": 299, "metric": "triangles", "k": 5}


@pytest.mark.parametrize("metric", FOUND)
def test_the_true_best_are_found_with_much_epsilon(metric: str) -> None:
    """With a chance of 1 - 7e-9: so rarely is one of 7,140 pairs flipped at odds of 2^40."""
    block = nx.stochastic_block_model([30, 90], [[0.5, 0.1], [0.1, 0.05]], seed=3)
    graph = nx.compose(nx.Graph(block.edges), nx.path_graph(120))
    values = {
        "betweenness": betweenness,
        "triangles": triangles,
        "eigenvector": eigenvector,
        "core": core_numbers,
        "pagerank": page_rank,
    }[metric](graph_of(graph))
    for k in (1, 3, 10):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = top_k(graph, nodes="graph", k=k, epsilon="50", metric=metric)
        best = np.array([list(graph).index(v) for v in made.answer])
        assert (values[best] >= np.sort(values)[-k] * (1 - 1e-9)).all()


def test_eigenvectors_and_pageranks_equal_those_of_networkx() -> None:
    graphs = [
        nx.karate_club_graph(),
        nx.complete_bipartite_graph(4, 9),
        nx.compose(nx.star_graph(12), nx.path_graph(40)),
        nx.gnp_random_graph(300, 0.03, seed=2),
    ]
    for graph in graphs:
        made = graph_of(graph)
        walk = nx.pagerank(graph, weight=None, tol=1e-12, max_iter=1000)
        np.testing.assert_allclose(page_rank(made), [walk[v] for v in graph], atol=1e-10)
        if nx.is_connected(graph):
            exact = nx.eigenvector_centrality_numpy(graph, weight=None)
            vector = np.array([exact[v] for v in graph])
            np.testing.assert_allclose(eigenvector(made), vector / vector.sum(), atol=1e-8)
    assert eigenvector(graph_of(([], []), range(3))).tolist() == pytest.approx([1 / 3] * 3)
