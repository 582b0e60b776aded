"""Adjacency lists: compressed rows, and the same rows with nodes in the order of their degrees.

A graph is `first` (n + 1 offsets, int64) and `to` (both directions of every edge, int32, each row
sorted, no loops, no repeats).
"""

from typing import Any, NamedTuple

import numpy as np

from dampen._kernels.compile import compiled


class Ordered(NamedTuple):
    """A graph whose nodes are renamed 0, 1, ... in the order of their degrees, smallest first.

    A node has few later neighbours, however many neighbours it has: at most sqrt(2 m) of m edges.
    """

    order: Any  # per node: its old name
    first: Any
    to: Any
    later: Any  # per node: where in its row the later ones begin


@compiled
def compressed(src: Any, dst: Any, n: int) -> tuple[Any, Any]:
    """Rows of an undirected simple graph from edges that may repeat, turn round or loop.

    Two counting passes leave every row sorted, as a radix sort does, whatever the order of input.
    """
    first = np.zeros(n + 1, np.int64)
    for i in range(len(src)):
        if src[i] != dst[i]:
            first[src[i] + 1] += 1
            first[dst[i] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    unsorted, fill = np.empty(first[n], np.int32), first[:-1].copy()
    for i in range(len(src)):
        if src[i] != dst[i]:
            unsorted[fill[src[i]]] = dst[i]
            fill[src[i]] += 1
            unsorted[fill[dst[i]]] = src[i]
            fill[dst[i]] += 1
    return without_repeats(first, transposed(first, unsorted))


@compiled
def transposed(first: Any, to: Any) -> Any:
    """The rows of a symmetric matrix, sorted: row v is read in the order of v."""
    ordered, fill = np.empty_like(to), first[:-1].copy()
    for v in range(len(first) - 1):
        for i in range(first[v], first[v + 1]):
            ordered[fill[to[i]]] = v
            fill[to[i]] += 1
    return ordered


@compiled
def without_repeats(first: Any, to: Any) -> tuple[Any, Any]:
    """The same rows, sorted already, each neighbour once."""
    kept_first, kept = np.zeros_like(first), 0
    for v in range(len(first) - 1):
        for i in range(first[v], first[v + 1]):
            if i == first[v] or to[i] != to[i - 1]:
                to[kept] = to[i]
                kept += 1
        kept_first[v + 1] = kept
    return kept_first, to[:kept].copy()


@compiled
def by_degree(first: Any, to: Any) -> Ordered:
    """The same graph in the order of degrees; nodes of equal degree keep theirs."""
    n = len(first) - 1
    order, rank = _sorted_by_degree(first)
    new_first = np.zeros(n + 1, np.int64)
    for v in range(n):
        new_first[v + 1] = new_first[v] + first[order[v] + 1] - first[order[v]]
    new_to, fill, later = np.empty(len(to), np.uint32), new_first[:-1].copy(), new_first[:-1].copy()
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
    order, rank = np.empty(n, np.int32), np.empty(n, np.int32)
    for v in range(n):
        d = first[v + 1] - first[v]
        order[start[d]], rank[v] = v, start[d]
        start[d] += 1
    return order, rank
