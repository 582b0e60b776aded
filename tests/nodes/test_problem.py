"""The influential node, proved by brute force on all graphs with up to six vertices.

All graphs with six vertices are one big graph here: see `small_graphs`.
"""

from dataclasses import dataclass
from math import comb

import networkx as nx
import numpy as np
import pytest

from dampen.core.mechanisms import named
from dampen.core.scores import Dampened, Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.core.sensitivity import constant
from dampen.errors import ParameterError
from dampen.questions.nodes.betweenness import Betweenness, EgoSensitivity, q
from dampen.questions.nodes.graphs import Graph
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.testing import check_admissible, privacy_loss, verify
from dampen.testing.universe import Universe
from small_graphs import all_graphs

DELTAS = ("degree", "codegree")


def test_betweenness_of_all_graphs_with_five_vertices_equals_networkx() -> None:
    world = all_graphs(5)
    for (src, dst), row in zip(Universe.graphs(5).databases, world.u, strict=True):
        graph = nx.empty_graph(5)
        graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
        for c in range(5):
            ego = nx.ego_graph(graph, c)
            expected = nx.betweenness_centrality(ego, normalized=False)[c]
            assert row[c] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("stretch", [1, 10])
def test_both_sensitivity_functions_are_admissible(n: int, delta: str, stretch: int) -> None:
    world, T = all_graphs(n), stretch * (n - 1)
    s = world.selection(delta, T)
    left, right = world.left, world.right
    step = np.abs(world.u[left] - world.u[right])
    assert step.max() <= q(n - 1)
    now = world.delta(s, 0)
    assert (now[left] >= step - 1e-12).all()
    assert (now[right] >= step - 1e-12).all()
    for t in range(min(T, 12) + 1):
        then = world.delta(s, t + 1)
        assert (then >= now).all()
        assert (then[left] >= now[right]).all()
        assert (then[right] >= now[left]).all()
        now = then
    assert (world.delta(s, T) == s.bound).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(
    "score",
    [Global(), Dampened(), Dampened(shift=3.0), Dampened(shift=-5.0), Shifted()],
    ids=["global", "dampened", "dampened, shift 3", "dampened, shift -5", "shifted"],
)
def test_every_score_has_sensitivity_one(n: int, delta: str, score: Score) -> None:
    world = all_graphs(n)
    for stretch in (1, 10):
        scores = world.scores(world.selection(delta, stretch * (n - 1)), score)
        assert np.abs(scores[world.left] - scores[world.right]).max() <= 1 + 1e-5


@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("stretch", [1, 2, 10])
def test_the_joint_vector_changes_by_exactly_two_at_most(n: int, stretch: int) -> None:
    world, D = all_graphs(n), stretch * (n - 1)
    scores = world.scores(world.selection("degree", D), Shifted())
    norm = np.abs(scores[world.left] - scores[world.right]).sum(axis=1)
    assert InfluentialNode(n=n, cap_degree=D).selection(([], [])).joint == {Shifted(): 2.0}
    assert norm.max() == pytest.approx(2, abs=1e-9)


def test_the_joint_bound_holds_on_larger_graphs_that_stretch_it() -> None:
    """Two ends of degree about 5 with two or three common neighbours: where the proof is tight."""
    rng = np.random.default_rng(11)
    for _ in range(400):
        n, p = int(rng.integers(7, 14)), rng.uniform(0.3, 0.9)
        graph = nx.gnp_random_graph(n, p, seed=int(rng.integers(1 << 30)))
        a, b = (int(v) for v in rng.choice(n, 2, replace=False))
        problem = InfluentialNode(n=n, max_degree=n - 1)
        graph.add_edge(a, b)
        after = Shifted().of(problem.selection(graph)).values
        graph.remove_edge(a, b)
        before = Shifted().of(problem.selection(graph)).values
        assert np.abs(after - before).sum() <= 2 + 1e-9


def test_with_codegrees_one_edge_moves_many_scores_so_no_joint_release_is_offered() -> None:
    """Six nodes, each sharing three neighbours with x; then all share one more, y."""
    graph = nx.star_graph(["y0", *(f"v{i}" for i in range(6))])
    graph.add_edges_from((f"v{i}", f"z{i}{j}") for i in range(6) for j in range(3))
    graph.add_edges_from(("x", f"z{i}{j}") for i in range(6) for j in range(3))
    problem = InfluentialNode(nodes=list(graph), delta="codegree")
    before = problem.selection(graph)
    graph.add_edge("x", "y0")
    change = Shifted().of(problem.selection(graph)).values - Shifted().of(before).values
    assert np.abs(change).sum() > 7
    assert np.abs(change).max() <= 1 + 1e-9
    assert not before.joint


@pytest.mark.parametrize("stretch", [1, 2, 10])
def test_the_proof_of_the_joint_bound_holds_for_all_degrees(stretch: int) -> None:
    """Steps (1) to (4) of the module's proof, for ends of degrees i, j and c common neighbours."""
    for D in range(1, 60):
        cap, degrees = q(stretch * D), np.arange(D)
        i, j, c = np.meshgrid(degrees, degrees, degrees, indexing="ij")
        kappa = np.maximum(1, 1 / (1 + c) + c / 2)
        both_rise = 2 * cap - _q(i) - _q(j) + (i + j - 2 * c) * kappa + c
        one_falls = _q(i) - _q(j) + c * (c - 1) / 4 + (j - c) * kappa + (i - c) * c / 2 + c
        both_fall = _q(i) + _q(j) - 2 * cap + c * (c - 1) / 2 + (i + j - 2 * c) * c / 2 + c
        total = np.maximum.reduce([both_rise, one_falls, both_fall])
        assert total[(c <= i) & (c <= j)].max() <= 2 * cap + 1e-9


@pytest.mark.parametrize("delta", DELTAS)
def test_the_privacy_loss_of_gumbel_draws_on_six_vertices(delta: str) -> None:
    world = all_graphs(6)
    selection = world.selection(delta, 5)
    for score in (Global(), Dampened(), Shifted()):
        for epsilon in (0.5, 4.0):
            a = world.scores(selection, score) * epsilon / 2
            log_p = a - np.log(np.exp(a).sum(axis=1, keepdims=True))
            assert np.abs(log_p[world.left] - log_p[world.right]).max() <= epsilon


PROBLEMS = {
    "degree": InfluentialNode(n=3),
    "codegree": InfluentialNode(n=3, delta="codegree"),
    "capped": InfluentialNode(n=3, cap_degree=20),
    "metric": InfluentialNode(n=3, metric="degree"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_proof_kit_accepts_every_variant(name: str) -> None:
    for verdict in verify(PROBLEMS[name], Universe.graphs(3)):
        assert verdict, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("n", [4, 5])
def test_the_proof_kit_accepts_every_variant_on_larger_graphs(name: str, n: int) -> None:
    small = PROBLEMS[name]
    problem = InfluentialNode(
        n=n, delta=small.delta, metric=small.metric, cap_degree=small.cap_degree
    )
    for verdict in verify(problem, Universe.graphs(n)):
        assert verdict, str(verdict)


@pytest.mark.parametrize("mechanism", ["em", "sld"])
def test_the_privacy_loss_of_two_nodes(mechanism: str) -> None:
    verdict = privacy_loss(
        InfluentialNode(n=4), Universe.graphs(4), epsilon="1", mechanism=mechanism, k=2
    )
    assert verdict, str(verdict)


def test_a_smaller_delta_is_rejected_by_brute_force() -> None:
    @dataclass(frozen=True)
    class Halved:
        def selection(self, graph: Graph, max_degree: int, /) -> Selection:
            honest = Betweenness("degree", max_degree).selection(graph, max_degree)
            half = EgoSensitivity.of(graph.degrees // 2, graph.degrees // 2, honest.bound, 9)
            return Selection(honest.utility, half, honest.bound)

    assert not check_admissible(InfluentialNode(n=5, metric=Halved()), Universe.graphs(5))


@pytest.mark.parametrize("D", [1, 2, 3, 4, 5, 6, 9, 40])
def test_sums_equal_a_loop(D: int) -> None:
    rng = np.random.default_rng(D)
    d = rng.integers(0, D + 1, 400)
    for C in (d, np.minimum(d, rng.integers(0, D + 1, 400))):
        delta = EgoSensitivity.of(d, C, q(D), D)
        t = rng.integers(0, D + 1, 400)
        rows = np.array([delta.at(j) for j in range(D + 1)])
        loop = [
            [min(max((c + j) * (c + j - 1) / 4, v + j), q(D)) for v, c in zip(d, C, strict=True)]
            for j in range(D + 1)
        ]
        assert np.array_equal(rows, np.array(loop))
        assert np.array_equal(delta.at_each(t), rows[t, np.arange(400)])
        sums = np.vstack([np.zeros(400), np.cumsum(rows, axis=0)])
        np.testing.assert_allclose(delta.sum_to(t), sums[t, np.arange(400)], rtol=1e-15)
        assert (rows[D] == q(D)).all()


@pytest.mark.parametrize("D", [1, 2, 5, 6, 9, 40, 700])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_inverse_of_the_sums_counts_steps(D: int, delta: str) -> None:
    rng = np.random.default_rng(D)
    d = rng.integers(0, D + 1, 300)
    C = d if delta == "degree" else np.minimum(d, rng.integers(0, D + 1, 300))
    sums = EgoSensitivity.of(d, C, q(D), D)
    prefix = np.array([sums.sum_to(np.full(300, t)) for t in range(D + 1)])
    for _ in range(20):
        u = prefix[rng.integers(0, D + 1, 300), np.arange(300)] + rng.choice([0.25, 1, 7], 300)
        steps = (prefix <= u).sum(axis=0) - 1
        assert np.array_equal(np.clip(sums.steps_within(u), 0, D), steps)


@pytest.mark.parametrize("delta", DELTAS)
def test_dampened_scores_by_the_inverse_equal_those_by_bisection(delta: str) -> None:
    rng = np.random.default_rng(4)
    d = rng.integers(0, 3000, 5000)
    C = d if delta == "degree" else np.minimum(d, rng.integers(0, 900, 5000))
    u = rng.uniform(0, 1, 5000) ** 4 * d * (d - 1) / 2
    ours = EgoSensitivity.of(d, C, q(10**6), 10**6)

    class WithoutInverse:
        horizon, at, at_each, sum_to = ours.horizon, ours.at, ours.at_each, ours.sum_to

    for shift in (0.0, 1e5, -2e6):
        fast, slow = (
            Dampened(shift).of(Selection(u, delta, ours.cap)).values
            for delta in (ours, WithoutInverse())
        )
        np.testing.assert_allclose(fast, slow, rtol=0, atol=2.0**-19)


def test_sums_keep_their_precision_on_large_graphs() -> None:
    rng = np.random.default_rng(1)
    D = 2**30
    d, t = rng.integers(5, 10**6, 500), rng.integers(1, 10**8, 500)
    sums = EgoSensitivity.of(d, d, q(D), D).sum_to(t)
    for v, steps, value in zip(d.tolist(), t.tolist(), sums.tolist(), strict=True):
        exact = comb(v + steps, 3) - comb(v, 3)  # twice the sum of m(m-1)/4
        assert abs(int(value * 2) - exact) <= exact / 2**50 + 1


def test_the_degree_metric_counts_exactly() -> None:
    s = InfluentialNode(n=5, metric="degree").selection(([0, 0, 1], [1, 2, 2]))
    assert s.utility.tolist() == [2, 2, 2, 0, 0]
    assert (s.exact, s.one_sided, s.bound) == (True, True, 1.0)
    assert s.joint == {Global(): 2.0, Shifted(): 2.0}
    assert float(named("joint").score.of(s).values[0]) == 2.0


def test_a_metric_of_your_own() -> None:
    @dataclass(frozen=True)
    class Leaves:
        """Neighbours of degree 1: an edge between two of them takes both away."""

        bound: int

        def selection(self, graph: Graph, _max_degree: int, /) -> Selection:
            leaf = graph.degrees == 1
            counts = np.add.reduceat(np.append(leaf[graph.to], False), graph.first[:-1])
            return Selection(
                np.where(graph.degrees > 0, counts, 0), constant(self.bound), exact=True
            )

    problem = InfluentialNode(n=4, metric=Leaves(2))
    assert problem.selection(([0, 0, 0], [1, 2, 3])).utility.tolist() == [3, 0, 0, 0]
    assert check_admissible(problem, Universe.graphs(4))
    assert not check_admissible(InfluentialNode(n=4, metric=Leaves(1)), Universe.graphs(4))


def test_public_parameters_are_checked() -> None:
    assert InfluentialNode(n=9).max_degree == 8
    assert InfluentialNode(n=9, max_degree=100).max_degree == 8
    assert InfluentialNode(nodes=["a", "b"]).candidates == ["a", "b"]
    assert InfluentialNode(n=9).neighbours is Neighbours.ADD_REMOVE_EDGE
    for wrong in (
        {},
        {"n": 0},
        {"n": True},
        {"n": 2.0},
        {"n": 3, "nodes": ["a"]},
        {"nodes": []},
        {"nodes": ["a", "a"]},
        {"nodes": "abc"},
        {"n": 5, "max_degree": 0},
        {"n": 5, "max_degree": 1.5},
        {"n": 5, "cap_degree": 3},
        {"n": 5, "delta": "codegre"},
        {"n": 5, "delta": "codegree", "metric": "degree"},
        {"n": 5, "metric": 7},
        {"n": 5, "metric": "betweeness"},
    ):
        with pytest.raises(ParameterError, match="Expected"):
            InfluentialNode(**wrong)  # type: ignore[arg-type]


def test_one_node_and_no_edges_are_graphs_too() -> None:
    for problem in (InfluentialNode(n=1), InfluentialNode(n=3), InfluentialNode(n=2)):
        s = problem.selection(([], []))
        for score in (Global(), Dampened(), Shifted()):
            assert len(set(score.of(s).values.tolist())) == 1


def _q(m: IntArray) -> FloatArray:
    return np.maximum(m * (m - 1) / 4, m)
