"""Both rounds together: what they cost, what they ask and what they find."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest

from dampen import ParameterError, top_k
from dampen.core.sampling import Entropy, InsecureEntropy
from dampen.core.selection import IntArray
from dampen.questions.nodes import two_rounds as module
from dampen.questions.nodes.graphs import Graph, graph_of
from dampen.questions.nodes.two_rounds import (
    UNIT,
    BetweennessRounds,
    Oriented,
    Question,
    Shares,
    Shortlist,
    question_after,
    two_rounds,
    worth_it,
)
from dampen.testing import Universe

FIRST, SECOND = Fraction(3, 10), Fraction(7, 10)
ROUNDS = BetweennessRounds()


def loss(question: Question | None, left: Graph, right: Graph, shares: Shares) -> Fraction:
    """The exact privacy loss of both rounds, if round 1 led to this question.

    A vector plus discrete Laplace noise of scale s tells neighbours apart by the 1-norm of their
    difference over s, for the worst answer.
    """
    change = Fraction(int(np.abs(left.degrees - right.degrees).sum()), 2)
    if question is None:
        return change * (shares.first + shares.second)
    asked = int(np.abs(question.vector(left) - question.vector(right)).sum())
    return change * shares.first + Fraction(asked, question.norm) * shares.second


def kind(question: Question | None) -> str:
    whole = isinstance(question, Shortlist) and question.whole
    return "whole" if whole else type(question).__name__


def any_question(noisy: tuple[int, ...]) -> Question | None:
    """Some question for every answer of round 1: the theorem holds whatever it is."""
    order = np.argsort(noisy, kind="stable")
    nodes, choice = np.sort(order[: 1 + noisy[0] % 3]), sum(noisy) % 4
    steep = np.full(len(nodes), UNIT // len(nodes))
    return (
        None,
        Oriented(np.array(noisy), 0.5),
        Shortlist(nodes, steep, 2 * len(nodes)),
        Shortlist(nodes, steep, 2 * len(nodes), whole=True),
    )[choice]


def test_the_whole_loss_is_epsilon_for_all_small_graphs_and_first_answers() -> None:
    universe = Universe.graphs(4)
    graphs = [graph_of(edges, range(4)) for edges in universe.databases]
    worst: dict[str, Fraction] = {}
    for noisy in product(range(3), repeat=4):
        question = any_question(noisy)
        for a, b in universe.neighbours.tolist():
            found = loss(question, graphs[a], graphs[b], Shares.of(Fraction(1)))
            worst[kind(question)] = max(worst.get(kind(question), Fraction(0)), found)
    assert len(worst) == 4
    assert all(Fraction(7, 10) < value <= 1 for value in worst.values())


@pytest.mark.parametrize("k", [1, 2])
def test_the_law_of_the_whole_release_on_three_nodes_keeps_epsilon(k: int) -> None:
    """Round 2 refines here whatever d~ is, so the answer has the law of noise of scale 2/ε."""
    epsilon, reach = 2.0, 24
    x = np.arange(-reach, reach + 1)
    one = np.exp(-np.abs(x) * epsilon / 2) * np.tanh(epsilon / 4)
    weights = np.einsum("i,j,k->ijk", one, one, one).ravel()
    noise = np.stack([axis.ravel() for axis in np.meshgrid(x, x, x, indexing="ij")], axis=1)
    universe = Universe.graphs(3)
    laws = []
    for edges in universe.databases:
        noisy = graph_of(edges, range(3)).degrees + noise
        order = np.argsort(-noisy, axis=1, kind="stable")[:, :k]
        code = order @ (3 ** np.arange(k))
        laws.append(np.bincount(code, weights, minlength=3**k))
    table = np.array(laws)
    kept = table[:, table.min(axis=0) > 0]
    worst = max(np.abs(np.log(kept[a] / kept[b])).max() for a, b in universe.neighbours.tolist())
    assert 0.3 * epsilon < worst <= epsilon


def test_the_whole_loss_is_epsilon_on_larger_graphs_with_questions_as_they_come() -> None:
    """Edges that close many triangles, between hubs and within crowds, at all kinds of noise.

    400 pairs of neighbours: each kind of question occurs, and three of them reach ε exactly.
    """
    rng = np.random.default_rng(3)
    worst: dict[str, Fraction] = {}
    for i in range(100):
        n, seed = int(rng.integers(12, 160)), int(rng.integers(1 << 30))
        graph = nx.gnp_random_graph(n, rng.uniform(0.05, 0.9), seed=seed)
        if i % 5 == 0:
            n = 5 * n + 100
            graph = nx.powerlaw_cluster_graph(n, 8, 0.9, seed=seed)
        graph.add_edges_from((0, v) for v in range(1, int(rng.integers(2, n))))
        shares, k = Shares.of(Fraction(int(rng.choice([1, 10, 300])), 2)), int(rng.integers(1, 6))
        full = graph_of(graph)
        noisy = full.degrees + rng.geometric(0.5, n) - rng.geometric(0.5, n)
        question = question_after(noisy, k, shares)
        for a, b in rng.permutation(list(graph.edges))[:4].tolist():
            less = graph.copy()
            less.remove_edge(a, b)
            found = loss(question, full, graph_of(less), Shares.of(Fraction(1)))
            worst[kind(question)] = max(worst.get(kind(question), Fraction(0)), found)
    assert set(worst) == {"Shortlist", "whole", "Oriented", "NoneType"}
    assert max(worst.values()) == 1
    assert worst["Oriented"] == worst["NoneType"] == 1


def test_the_loss_is_epsilon_where_the_largest_noisy_degrees_are_not_positive() -> None:
    """Slopes in parts of a negative degree were negative; edges changed more than the norm."""
    rng = np.random.default_rng(0)
    graph = nx.powerlaw_cluster_graph(120, 8, 0.9, seed=1)
    full = graph_of(graph)
    for _ in range(60):
        noisy = rng.integers(-300, -100, 120)
        k = int(rng.integers(1, 8))
        noisy[rng.permutation(120)[: k + 3]] = rng.integers(-40, 2, k + 3)
        question = question_after(noisy, k, Shares.of(Fraction(int(rng.choice([1, 20, 100])), 10)))
        for a, b in rng.permutation(list(graph.edges))[:3].tolist():
            less = graph.copy()
            less.remove_edge(a, b)
            assert loss(question, full, graph_of(less), Shares.of(Fraction(1))) <= 1
        if isinstance(question, Shortlist):
            assert (question.slopes >= 0).all()


def test_each_round_adds_the_noise_that_it_pays_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[tuple[Fraction, int]] = []

    def nested(
        scale: Fraction, ratio: Fraction, size: int, _: Entropy
    ) -> tuple[Callable[[], IntArray], IntArray]:
        scales.append((scale / ratio, size))
        return lambda: np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)

    def laplace(scale: Fraction, size: int, _: Entropy) -> IntArray:
        scales.append((scale, size))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(module, "nested_laplace", nested)
    monkeypatch.setattr(module, "discrete_laplace", laplace)
    graph = graph_of(nx.barabasi_albert_graph(300, 5, seed=1))
    kinds = []
    for epsilon in (Fraction(1, 4), Fraction(20)):
        scales.clear()
        two_rounds(graph, ROUNDS, k=5, epsilon=epsilon, entropy=InsecureEntropy(0))
        assert scales[0] == (2 / (epsilon * FIRST), 300)
        question = question_after(graph.degrees, 5, Shares.of(epsilon))
        kinds.append(kind(question))
        if question is not None:
            asked = len(question.vector(graph))
            assert scales[1:] == [(question.norm / (epsilon * SECOND), asked)]
    assert kinds == ["Oriented", "whole"]


def test_where_nothing_is_better_the_answer_is_that_of_one_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The noise of scale 2/ε decides, not the blurred copy that was looked at first."""
    graph = graph_of(nx.gnp_random_graph(60, 0.3, seed=1))
    blurred, fine = np.random.default_rng(0).permuted(np.arange(120).reshape(2, 60), axis=1) * 99
    monkeypatch.setattr(module, "nested_laplace", lambda *_: (lambda: fine, blurred))
    monkeypatch.setattr(module, "question_after", lambda *_: None)
    found = two_rounds(graph, ROUNDS, k=9, epsilon=Fraction(1), entropy=InsecureEntropy(0))
    assert found == np.argsort(-(graph.degrees + fine), kind="stable")[:9].tolist()


def test_equals_come_in_random_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names decide nothing; each of five misses 200 draws with a chance below 10^-19."""
    monkeypatch.setattr(module, "question_after", lambda *_: None)
    none = np.zeros(6, dtype=np.int64)
    monkeypatch.setattr(module, "nested_laplace", lambda *_: (lambda: none, none))
    graph = graph_of(nx.Graph([(0, v) for v in range(1, 6)]))
    found = [
        tuple(two_rounds(graph, ROUNDS, k=2, epsilon=Fraction(1, 2), entropy=InsecureEntropy(seed)))
        for seed in range(200)
    ]
    assert set(found) == {(0, v) for v in range(1, 6)}


def test_the_best_come_first_and_none_twice() -> None:
    graph = graph_of(nx.barabasi_albert_graph(400, 4, seed=3))
    for epsilon in ("0.01", "1", "40", "1e7"):
        for k in (1, 7, 150, 400):
            top = two_rounds(
                graph, ROUNDS, k=k, epsilon=Fraction(epsilon), entropy=InsecureEntropy(k)
            )
            assert len(set(top)) == len(top) == k


def test_degrees_alike_are_asked_for_as_in_one_round_and_hubs_are_not() -> None:
    rng, shares = np.random.default_rng(0), Shares.of(Fraction(1))
    alike = rng.binomial(2000, 0.05, 2000)
    assert question_after(alike, 20, shares) is None
    assert isinstance(question_after(alike, 20, Shares.of(Fraction(1, 20))), Oriented)
    hubs = np.sort((rng.pareto(1.5, 100_000) * 3).astype(np.int64))
    assert isinstance(question_after(hubs, 20, shares), Shortlist)
    assert kind(question_after(hubs, 20, Shares.of(Fraction(100)))) == "whole"


def test_a_shortlist_needs_a_level_far_above_the_average() -> None:
    """Noise makes degrees of a dense graph look apart; co-authors differ, by chance they do not."""
    rng, shares = np.random.default_rng(0), Shares.of(Fraction(1, 5))
    dense = rng.binomial(400, 0.4, 400) + rng.laplace(0, shares.noise, 400).astype(np.int64)
    assert not isinstance(question_after(dense, 50, shares), Shortlist)
    authors, shares = rng.poisson(5, 10_000), Shares.of(Fraction(5))
    authors[:10] = np.arange(57, 47, -1)
    assert isinstance(question_after(authors, 5, shares), Shortlist)


def test_one_or_two_nodes_are_asked_for_once_unless_epsilon_is_large() -> None:
    for k in (3, 20, 50):
        assert worth_it(60, k, Fraction(1, 100))
    assert not worth_it(10**6, 1, Fraction(1, 100))
    assert worth_it(10**6, 1, Fraction(1))


def test_noise_that_does_not_fit_is_refused_before_the_charge() -> None:
    tiny = "1e-12"
    assert not worth_it(10**6, 20, Fraction(tiny))
    graph = ([0, 1], [1, 2])
    assert top_k(graph, n=3, k=3, epsilon=tiny).mechanism == "joint"

    class Account:
        def charge(self, cost: object) -> str:
            raise AssertionError("charged")

    with pytest.raises(ParameterError, match="Raise epsilon"):
        top_k(graph, n=3, k=3, epsilon=tiny, mechanism="two-rounds", budget=Account())  # type: ignore[arg-type]
