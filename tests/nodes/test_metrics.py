"""Triangles and brokerage: admissible, with their 1-norms, on all small graphs."""

from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest

from dampen import ParameterError, Selection, sensitivity, top_k
from dampen.core.sampling import InsecureEntropy
from dampen.errors import AccuracyWarning
from dampen.questions.nodes import NodesQuestion, metrics
from dampen.questions.nodes.centralities import Brokerage, DegreeSensitivity, Triangles, triangles
from dampen.questions.nodes.graphs import Graph, graph_of, rows_of
from dampen.questions.nodes.metric import Usual
from dampen.questions.nodes.metrics import METRICS, NAMES, InfluentialNode
from dampen.questions.nodes.two_rounds import TriangleList
from dampen.releases.question import parameters
from dampen.testing import Universe, check_admissible
from small_graphs import all_graphs


def all_triangles(n: int) -> np.ndarray:
    return triangles(all_graphs(n).union).reshape(-1, n)


def largest_change(n: int, values: np.ndarray) -> float:
    world = all_graphs(n)
    return float(np.abs(values[world.left] - values[world.right]).sum(axis=1).max())


@pytest.mark.parametrize("metric", ["triangles", "brokerage"])
def test_the_sensitivity_is_admissible(metric: str) -> None:
    for n in (3, 4):
        assert check_admissible(InfluentialNode(n=n, metric=metric), Universe.graphs(n)).holds


def check_delta(n: int) -> None:
    """(1) and (2) of admissibility for δ = min(d + t, n - 2), and Δ, for all pairs at once."""
    world, T = all_graphs(n), all_triangles(n)
    d = world.d
    local = np.abs(T[world.left] - T[world.right])
    for t in range(n):
        for x, y in ((world.left, world.right), (world.right, world.left)):
            assert (np.minimum(d[x] + t + 1, n - 2) >= np.minimum(d[y] + t, n - 2)).all()
    assert (local <= np.minimum(np.maximum(d[world.left], d[world.right]), n - 2)).all()
    assert local.max() == n - 2


def check_norms(n: int) -> None:
    T, d = all_triangles(n), all_graphs(n).d
    assert largest_change(n, T) == 3 * (n - 2)
    assert largest_change(n, d - 4 / 3 * T / (n - 2)) == pytest.approx(2)
    assert largest_change(n, d - 3 / 2 * T / (n - 2)) == pytest.approx(2.5)  # a broken twin


@pytest.mark.parametrize("n", [3, 4, 5])
def test_one_edge_changes_the_vectors_by_the_stated_norm(n: int) -> None:
    check_delta(n)
    check_norms(n)


@pytest.mark.slow
def test_one_edge_changes_the_vectors_of_six_nodes_by_the_stated_norm() -> None:
    check_delta(6)
    check_norms(6)


def check_list(n: int) -> None:
    world = all_graphs(n)
    for m in range(1, n):
        for length in range(m, n + 1):
            question = TriangleList(world.tiled(np.arange(m)), length)
            assert world.norm(question.vector) <= question.norm
    broken = TriangleList(world.tiled(np.arange(3)), 1)
    assert world.norm(broken.vector) > broken.norm


def test_triangles_of_a_shortlist_change_by_at_most_one() -> None:
    check_list(5)


@pytest.mark.slow
def test_triangles_of_a_shortlist_of_six_nodes_change_by_at_most_one() -> None:
    check_list(6)


def test_triangles_of_the_largest_hubs_still_count() -> None:
    """Lists of 98,305 and more: each triangle was worth 98,304 // length, which is nothing."""
    graph = nx.disjoint_union(nx.complete_graph(5), nx.star_graph(9))
    question = TriangleList(np.array([0, 5]), 200_000)
    assert question.vector(graph_of(graph)).tolist() == [6, 0]
    noisy = np.zeros(1000, dtype=np.int64)
    noisy[:3] = 500_000
    made = TriangleList.of(noisy, 3, 1.0, longest=1 << 40)
    assert made is not None
    assert made.length == made.norm == 250_000
    assert TriangleList.of(noisy, 3, 1.0, longest=200_000) is None


def test_triangles_equal_those_of_networkx() -> None:
    graph = nx.gnp_random_graph(120, 0.15, seed=4)
    assert triangles(graph_of(graph)).tolist() == list(nx.triangles(graph).values())


def test_sums_of_the_sensitivity_are_sums() -> None:
    delta = DegreeSensitivity(np.array([0, 3, 9, 20]), 12.0, 21)
    for t in range(21):
        expected = sum((delta.at(s) for s in range(t)), start=np.zeros(4))
        assert delta.sum_to(np.full(4, t)).tolist() == expected.tolist()


def test_the_joint_bounds_are_in_units_of_the_global_sensitivity() -> None:
    graph = graph_of(nx.complete_graph(5))
    for metric, D, norm in ((Triangles(), 4, 9), (Brokerage(), 4, 18), (Brokerage(), 2, 12)):
        made = metric.selection(graph, D)
        (found,) = set(made.joint.values())
        assert found * made.bound == norm


@pytest.mark.parametrize("D", [1, 2, 3])
def test_brokerage_of_small_degrees_keeps_its_norm(D: int) -> None:
    """Over all graphs of five nodes whose degrees are at most D; a bound of 1 divided by 0."""
    world = all_graphs(5)
    selection = Brokerage().selection(world.union, D)
    rows = selection.utility.reshape(-1, 5)
    allowed = (world.d <= D).all(axis=1)
    kept = allowed[world.left] & allowed[world.right]
    change = np.abs(rows[world.left] - rows[world.right])[kept]
    assert change.max() == selection.bound
    assert change.sum(axis=1).max() == 2 * selection.bound


@pytest.mark.parametrize("D", [2**20, 2**25, 2**26, 2**30])
def test_brokerage_is_exact_as_far_as_floats_are(D: int) -> None:
    """One edge moves both ends by Δ exactly; beyond 2^53 floats round that, which is paid for."""
    rows = rows_of(np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32), 2)
    made = Brokerage().selection(Graph(range(2), rows), D)
    assert made.exact == (3 * (D - 1) * D <= 2**53)
    u = 3 * (D - 1) * np.array([D, D - 1])
    rounded = u.astype(np.float64)
    moved = float(Fraction(rounded[0]) - Fraction(rounded[1])) / made.bound
    assert abs(moved - 1) <= (0 if made.exact else 2 * made.rounding)


@pytest.mark.parametrize("public", [{"n": 1}, {"n": 2}, {"n": 9, "max_degree": 1}])
def test_brokerage_is_defined_for_every_public_bound(public: dict[str, int]) -> None:
    with pytest.warns(AccuracyWarning) if public["n"] > 1 else nullcontext():
        assert top_k(([], []), k=1, epsilon="1", metric="brokerage", **public).answer


def test_the_defaults_find_hubs_with_and_without_triangles() -> None:
    graph = nx.disjoint_union(nx.complete_graph(60), nx.star_graph(300))
    ask = {"nodes": "graph", "k": 1, "epsilon": "60"}
    star = top_k(graph, metric="brokerage", max_degree=310, **ask)
    assert (star.answer, star.mechanism) == ([60], "joint")
    busy = nx.disjoint_union(nx.powerlaw_cluster_graph(300, 8, 0.9, seed=1), nx.star_graph(20))
    true = max(nx.triangles(busy).items(), key=lambda item: item[1])[0]
    found = top_k(busy, metric="triangles", entropy=InsecureEntropy(1, allow_release=True), **ask)
    assert (found.answer, found.mechanism) == ([true], "noisy-graph")


def test_every_metric_is_a_choice_with_help_and_has_an_answer() -> None:
    (declared,) = [each for each in parameters(NodesQuestion) if each.name == "metric"]
    assert declared.choices == NAMES
    for metric in METRICS:
        assert f"{metric.name} ({metric.help})" in declared.help
        made = top_k(([0], [1]), n=400, k=2, epsilon="2", metric=metric.name)
        assert len(made.answer) == 2
        asked_twice = made.mechanism == "two-rounds"
        assert asked_twice <= (metric.rounds is not None)


def test_a_metric_is_one_object_that_can_be_added_to_the_list(monkeypatch) -> None:
    """What a new file and a new line would do."""

    @dataclass(frozen=True)
    class Solitude:
        name: ClassVar[str] = "solitude"
        help: ClassVar[str] = "few neighbours"
        rounds: ClassVar[None] = None

        def usual(self, n, k, epsilon, /):
            return Usual(self, "pf")

        def selection(self, graph, max_degree, /):
            return Selection(-graph.degrees, sensitivity.constant(1), exact=True)

    monkeypatch.setattr(metrics, "METRICS", (*METRICS, Solitude()))
    monkeypatch.setattr(metrics, "NAMES", (*NAMES, "solitude"))
    made = top_k(nx.star_graph(9), nodes="graph", k=1, epsilon="90", metric="solitude")
    assert made.answer != [0]
    assert (made.mechanism, made.parameters["metric"]) == ("pf", "solitude")
    with pytest.raises(ParameterError, match="betweenness, triangles"):
        top_k(([0], [1]), n=9, k=1, epsilon="1", metric="solitude", mechanism="two-rounds")
    with pytest.raises(ParameterError, match="Did you mean 'solitude'"):
        top_k(([0], [1]), n=9, k=1, epsilon="1", metric="solitud")


def test_an_unknown_metric_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="triangles"):
        InfluentialNode(n=4, metric="triangle")
