"""Adjacency lists: compressed rows, and the same rows with nodes in the order of their degrees.

A graph is `first` (n + 1 offsets, int64) and `to` (both directions of every edge, int32, each row
sorted, no loops, no repeats).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed
else:
    from dampen.kernels.primitives import heed

PAUSE = cython.declare(cython.longlong, 1 << 21)


class Ordered(NamedTuple):
    """A graph whose nodes are renamed 0, 1, ... in the order of their degrees, smallest first.

    A node has few later neighbours, however many neighbours it has: at most sqrt(2 m) of m edges.
    """

    order: Any  # per node: its old name
    first: Any
    to: Any
    later: Any  # per node: where in its row the later ones begin


@kernel
def both_ways(
    begin: cython.const[cython.longlong][::1],
    end: cython.const[cython.longlong][::1],
    higher: cython.const[cython.int][::1],
    degrees: cython.const[cython.longlong][::1],
) -> Any:
    """Whole rows from those that hold every edge once, at its lower end, in any order.

    Two counting passes leave every row sorted, as a radix sort does.  Also returns where in each
    row the higher neighbours begin.
    """
    n: cython.Py_ssize_t = len(degrees)
    sizes = np.cumsum(degrees, dtype=np.int64)
    first: cython.longlong[::1] = memoryview(np.concatenate([np.zeros(1, np.int64), sizes]))
    to: cython.int[::1] = memoryview(np.empty(first[n], np.int32))
    later: cython.longlong[::1] = memoryview(np.array(first[:n]))
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    steps: cython.longlong = 0
    with cython.nogil:
        for v in range(n):
            for i in range(begin[v], end[v]):
                to[later[higher[i]]] = v
                later[higher[i]] += 1
            steps += end[v] - begin[v]
            if steps > PAUSE:
                steps = 0
                heed()
    fill: cython.longlong[::1] = memoryview(np.array(later))
    with cython.nogil:
        for v in range(n):
            for i in range(first[v], later[v]):
                to[fill[to[i]]] = v
                fill[to[i]] += 1
            steps += later[v] - first[v]
            if steps > PAUSE:
                steps = 0
                heed()
    return np.asarray(first), np.asarray(to), np.asarray(later)


@kernel
def by_degree(
    first: cython.const[cython.longlong][::1], to: cython.const[cython.int][::1]
) -> Ordered:
    """The same graph in the order of degrees; nodes of equal degree keep theirs."""
    n: cython.Py_ssize_t = len(first) - 1
    degrees = np.diff(first)
    counts = np.bincount(degrees, minlength=1)
    start: cython.longlong[::1] = memoryview((np.cumsum(counts) - counts).astype(np.int64))
    order: cython.int[::1] = memoryview(np.empty(n, np.int32))
    rank: cython.int[::1] = memoryview(np.empty(n, np.int32))
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    u: cython.longlong
    steps: cython.longlong = 0
    with cython.nogil:
        for v in range(n):
            u = first[v + 1] - first[v]
            order[start[u]] = v
            rank[v] = start[u]
            start[u] += 1
    sizes = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees[np.asarray(order)])])
    new_first: cython.longlong[::1] = memoryview(sizes)
    new_to: cython.uint[::1] = memoryview(np.empty(len(to), np.uint32))
    fill: cython.longlong[::1] = memoryview(sizes[:n].copy())
    later: cython.longlong[::1] = memoryview(np.empty(n, np.int64))
    with cython.nogil:
        for v in range(n):
            later[v] = fill[v]
            for i in range(first[order[v]], first[order[v] + 1]):
                u = rank[to[i]]
                new_to[fill[u]] = v
                fill[u] += 1
            steps += new_first[v + 1] - new_first[v]
            if steps > PAUSE:
                steps = 0
                heed()
    return Ordered(np.asarray(order), sizes, np.asarray(new_to), np.asarray(later))
