"""Adjacency lists: compressed rows, and the same rows with nodes in the order of their degrees.

A graph is `first` (n + 1 offsets, int64) and `to` (both directions of every edge, int32, each row
sorted, no loops, no repeats).
"""

from typing import Any, NamedTuple

import numpy as np

from dampen.kernels.compile import compiled


class Ordered(NamedTuple):
    """A graph whose nodes are renamed 0, 1, ... in the order of their degrees, smallest first.

    A node has few later neighbours, however many neighbours it has: at most sqrt(2 m) of m edges.
    """

    order: Any  # per node: its old name
    first: Any
    to: Any
    later: Any  # per node: where in its row the later ones begin


@compiled
def both_ways(half: Any, degrees: Any) -> tuple[Any, Any, Any]:
    """Whole rows from those that hold every edge once, at its lower end, in any order.

    Two counting passes leave every row sorted, as a radix sort does.  Also returns where in each
    row the higher neighbours begin.
    """
    n = len(degrees)
    begin, end, higher = half
    first = np.zeros(n + 1, np.int64)
    for v in range(n):
        first[v + 1] = first[v] + degrees[v]
    to = np.empty(first[n], np.int32)
    later = first[:-1].copy()
    for v in range(n):
        for i in range(begin[v], end[v]):
            to[later[higher[i]]] = v
            later[higher[i]] += 1
    fill = later.copy()
    for v in range(n):
        for i in range(first[v], later[v]):
            to[fill[to[i]]] = v
            fill[to[i]] += 1
    return first, to, later


@compiled
def by_degree(first: Any, to: Any) -> Ordered:
    """The same graph in the order of degrees; nodes of equal degree keep theirs."""
    n = len(first) - 1
    order, rank = _sorted_by_degree(first)
    new_first = np.zeros(n + 1, np.int64)
    for v in range(n):
        new_first[v + 1] = new_first[v] + first[order[v] + 1] - first[order[v]]
    new_to = np.empty(len(to), np.uint32)
    fill = new_first[:-1].copy()
    later = new_first[:-1].copy()
    for v in range(n):
        later[v] = fill[v]
        for i in range(first[order[v]], first[order[v] + 1]):
            u = rank[to[i]]
            new_to[fill[u]] = v
            fill[u] += 1
    return Ordered(order, new_first, new_to, later)


@compiled
def _sorted_by_degree(first: Any) -> tuple[Any, Any]:
    n = len(first) - 1
    start = np.zeros(n + 1, np.int64)
    for v in range(n):
        start[first[v + 1] - first[v] + 1] += 1
    for d in range(n):
        start[d + 1] += start[d]
    order = np.empty(n, np.int32)
    rank = np.empty(n, np.int32)
    for v in range(n):
        d = first[v + 1] - first[v]
        order[start[d]] = v
        rank[v] = start[d]
        start[d] += 1
    return order, rank
