"""Influential nodes: the measures that are compared, and what tables make of the rows."""

import networkx as nx
import numpy as np
import pytest

from dampen.influence.graphs import graph_of
from dampen_studies.experiments.centralities import core_numbers, eigenvector, pagerank
from dampen_studies.report.node_tables import summary

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
