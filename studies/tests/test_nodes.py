"""Influential nodes: the measures that are compared, and what tables make of the rows."""

import networkx as nx
import numpy as np
import pytest

from dampen.core.sampling import InsecureEntropy
from dampen.epsilon import exact
from dampen.questions.nodes.graphs import graph_of
from dampen_studies.datasets.generated import HELD_OUT, generated
from dampen_studies.experiments.centralities import core_numbers, eigenvector, pagerank
from dampen_studies.experiments.sweep import joint_degrees, overlap
from dampen_studies.report.node_tables import summary, sweep
from dampen_studies.rivals.nodes import DefaultNodes

GRAPHS = [nx.karate_club_graph(), nx.gnp_random_graph(60, 0.02, seed=1), nx.star_graph(7)]


@pytest.mark.parametrize("graph", GRAPHS)
def test_measures_equal_those_of_networkx(graph: nx.Graph) -> None:
    made = graph_of(graph)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000, weight=None)
    np.testing.assert_allclose(pagerank(made), [expected[v] for v in graph], atol=1e-9)
    assert core_numbers(made).tolist() == [nx.core_number(graph)[v] for v in graph]


def test_the_eigenvector_of_a_connected_graph_is_one() -> None:
    graph = GRAPHS[0]
    x, matrix = eigenvector(graph_of(graph)), nx.to_numpy_array(graph, weight=None)
    ratio = (matrix @ x) / x
    np.testing.assert_allclose(ratio, np.linalg.eigvalsh(matrix)[-1], rtol=1e-8)


def row(k: float, epsilon: float, method: str, accuracy: float) -> dict[str, str | float]:
    fixed = {"dataset": "enron", "runs": 40.0, "spread": 0.01, "flips": 1.0}
    return fixed | {"k": k, "epsilon": epsilon, "method": method, "accuracy": accuracy}


def test_the_summary_counts_cells_and_tells_the_extremes() -> None:
    ours = {(5.0, 0.1): 0.5, (5.0, 1.0): 0.9, (10.0, 0.1): 0.7, (10.0, 1.0): 0.6}
    theirs = {(5.0, 0.1): 0.5, (5.0, 1.0): 0.8, (10.0, 0.1): 0.75, (10.0, 1.0): 0.59}
    rows = [row(*cell, "dampen", a) for cell, a in ours.items()]
    rows += [row(*cell, "degree-joint", a) for cell, a in theirs.items()]
    header, lines = summary(rows)
    assert header[1:4] == ["better", "level", "worse"]
    assert lines[0][:4] == ["Enron", "1", "2", "1"]
    assert lines[1] == ["all", *lines[0][1:]]
    gain, loss, fall = lines[0][4:]
    assert gain == "+.100 ± .014 (k = 5, ε = 1)"
    assert loss == "-.050 ± .014 (k = 10, ε = 0.1)"
    assert fall == "-.100 ± .014 (k = 10, ε = 1)"


def test_generated_graphs_are_what_their_generators_drew() -> None:
    for name in ("windmill", "cliques and a star", "regular 300", "scale-free 1500"):
        drawn = nx.Graph(HELD_OUT[name]())
        drawn.remove_edges_from(list(nx.selfloop_edges(drawn)))
        made = generated(name)
        assert sorted(made.degrees.tolist()) == sorted(d for _, d in drawn.degree)
        assert made.degrees.tolist() == generated(name).degrees.tolist()


def test_any_of_the_equals_at_the_last_place_is_right() -> None:
    ebc = np.array([0.0, 5.0, 2.0, 2.0, 2.0 * (1 + 1e-15), 1.0])
    assert overlap([1, 2, 3], ebc) == overlap([4, 1, 2], ebc) == 1
    assert overlap([2, 3, 4], ebc) == overlap([1, 2, 5], ebc) == pytest.approx(2 / 3)


def test_where_nothing_is_better_the_default_is_the_joint_release_with_the_same_noise() -> None:
    graph = generated("regular 300")
    for seed in range(5):
        ours = DefaultNodes(graph).draw(epsilon="2", k=10, entropy=InsecureEntropy(seed))
        assert joint_degrees(graph, 10, exact("2"), InsecureEntropy(seed)) == ours


def test_the_sweep_counts_paired_cells_and_tells_the_extremes() -> None:
    found = {(3.0, 0.1): (0.5, 0.1), (3.0, 2.0): (0.4, 0.01), (5.0, 0.1): (0.6, -0.03)}
    fixed = {"graph": "caves", "nodes": 600.0, "edges": 3300.0, "runs": 200.0, "joint": 0.5}
    rows = [
        fixed | {"k": k, "epsilon": e, "accuracy": a, "gain": g, "spread": 0.01, "gain_error": 0.01}
        for (k, e), (a, g) in found.items()
    ]
    _, (line, whole) = sweep(rows)
    assert line[:6] == ["caves", "600", "3300", "1", "1", "1"]
    gain, loss, fall = line[6:]
    assert gain == "+.100 ± .010 (k = 3, ε = 0.1)"
    assert loss == "-.030 ± .010 (k = 5, ε = 0.1)"
    assert fall == "-.100 ± .014 (k = 3, ε = 0.1 to 2, joint +.000)"
    assert whole[:6] == ["all", "", "", "1", "1", "1"]
