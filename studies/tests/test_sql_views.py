"""The appendix's SQL on DuckDB against counting by hand; the derived sensitivity by brute force."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from dampen_studies.datasets import Edges
from dampen_studies.experiments import sql_views


def by_hand(adjacency):
    n = len(adjacency)
    u, v = sql_views.pairs(n)
    counts = np.zeros((n, len(u)), dtype=np.int64)
    for c, row in enumerate(adjacency):
        open_pair = row[u] & row[v] & ~adjacency[u, v]
        between = (row & adjacency[u] & adjacency[v]).sum(axis=1)
        counts[c] = np.where(open_pair, 1 + between, 0)
    return counts


def random_graph(n, density, seed):
    above = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    src, dst = np.nonzero(above)
    return above | above.T, Edges(src.astype(np.int32), dst.astype(np.int32), n)


@pytest.mark.parametrize(("n", "density", "seed"), [(5, 0.5, 1), (8, 0.3, 2), (9, 0.7, 3)])
def test_the_sql_counts_paths(n, density, seed):
    adjacency, edges = random_graph(n, density, seed)
    assert (sql_views.views(edges, truncation=n) == by_hand(adjacency)).all()


def test_exact_views_give_exact_betweenness():
    adjacency, edges = random_graph(9, 0.4, 4)
    graph = nx.from_numpy_array(adjacency.astype(int))
    expected = [
        nx.betweenness_centrality(nx.ego_graph(graph, c), normalized=False)[c] for c in graph
    ]
    assert np.allclose(sql_views.betweenness(sql_views.views(edges, truncation=9)), expected)


def test_truncation_drops_the_edges_of_larger_degrees():
    star = Edges(np.array([0, 0, 0], np.int32), np.array([1, 2, 3], np.int32), 4)
    assert sql_views.views(star, truncation=3).sum() == 3
    assert sql_views.views(star, truncation=2).sum() == 0


def all_views(n):
    edges = list(combinations(range(n), 2))
    found = []
    for mask in range(1 << len(edges)):
        adjacency = np.zeros((n, n), dtype=bool)
        for bit, (i, j) in enumerate(edges):
            adjacency[i, j] = adjacency[j, i] = mask >> bit & 1
        found.append((by_hand(adjacency), int(adjacency.sum(axis=0).max())))
    return found, len(edges)


@pytest.mark.parametrize("n", [4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_the_derived_sensitivity_covers_every_small_graph(n):
    found, edges = all_views(n)
    largest = 0
    for mask, (views, _) in enumerate(found):
        for bit in range(edges):
            if mask >> bit & 1:
                continue
            more, degree = found[mask | 1 << bit]
            change = np.abs(views - more).sum(axis=1).max()
            assert change <= sql_views.sensitivity(degree)
            largest = max(largest, change)
    assert largest >= n - 2


@pytest.mark.parametrize("n", [4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_one_view_for_all_nodes_changes_by_at_most_the_derived_sum(n):
    found, edges = all_views(n)
    largest = {}
    for mask, (views, _) in enumerate(found):
        for bit in range(edges):
            if not mask >> bit & 1:
                more, degree = found[mask | 1 << bit]
                change = int(np.abs(views - more).sum())
                assert change <= sql_views.joint_sensitivity(degree)
                largest[degree] = max(change, largest.get(degree, 0))
    assert largest[n - 1] > sql_views.sensitivity(n - 1)


def test_the_synopsis_is_the_non_negative_least_squares_fit():
    from scipy.optimize import nnls

    random = np.random.default_rng(7)
    for _ in range(300):
        counts = random.normal(scale=3, size=(2, 6))
        totals = random.normal(scale=6, size=2)
        for fit, y, t in zip(sql_views.synopsis(counts, totals), counts, totals, strict=True):
            expected = nnls(np.vstack([np.eye(6), np.ones((1, 6))]), np.append(y, t))[0]
            assert np.allclose(fit, expected, atol=1e-9)


def test_single_counts_are_fitted_by_dropping_negative_ones():
    """Why a synopsis of the workload alone is what `betweenness` does anyway."""
    from scipy.optimize import nnls

    y = np.random.default_rng(8).normal(size=30)
    assert np.allclose(nnls(np.eye(30), y)[0], np.maximum(y, 0))


def test_the_paper_s_number():
    assert sql_views.elastic_sensitivity(10) == 1448
    assert all(
        sql_views.elastic_sensitivity(d) > sql_views.sensitivity(d) > 0 for d in range(1, 400)
    )
