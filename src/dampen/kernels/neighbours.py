"""Sums over neighbours, and the order in which a graph falls apart.

Graphs are compressed rows (see `dampen.kernels.adjacency`); the results are integers and are
filled into arrays that the caller made.
"""

from __future__ import annotations

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


@kernel
def weighted_degrees(
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    nodes: cython.const[cython.longlong][::1],
    weights: cython.const[cython.longlong][::1],
    result: cython.longlong[::1],
) -> None:
    """For each of some nodes, the sum of the weights of its neighbours."""
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.longlong
    total: cython.longlong
    steps: cython.longlong = 0
    with cython.nogil:
        for a in range(len(nodes)):
            total = 0
            v = nodes[a]
            for i in range(first[v], first[v + 1]):
                total += weights[to[i]]
            result[a] = total
            steps += first[v + 1] - first[v]
            if steps > PAUSE:
                steps = 0
                heed()


@kernel
def peel(
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    core: cython.longlong[::1],
) -> None:
    """Fills in core numbers: the node of the fewest neighbours goes first, again and again.

    `core` holds the degrees at first.  Nodes lie in the order of their present degrees, `start`
    says where each degree begins; a node that loses a neighbour changes places with the first of
    its degree and joins the one below (Batagelj and Zaversnik 2003).
    """
    n: cython.Py_ssize_t = len(first) - 1
    counts = np.bincount(core, minlength=1)
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    start: cython.longlong[::1] = memoryview(begins)
    following: cython.longlong[::1] = memoryview(begins.copy())
    order: cython.longlong[::1] = memoryview(np.empty(n, np.int64))
    place: cython.longlong[::1] = memoryview(np.empty(n, np.int64))
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    v: cython.longlong
    u: cython.longlong
    head: cython.longlong
    other: cython.longlong
    steps: cython.longlong = 0
    with cython.nogil:
        for v in range(n):
            place[v] = following[core[v]]
            following[core[v]] += 1
            order[place[v]] = v
        for i in range(n):
            v = order[i]
            for j in range(first[v], first[v + 1]):
                u = to[j]
                if core[u] > core[v]:
                    head = max(start[core[u]], i + 1)
                    other = order[head]
                    order[head] = u
                    order[place[u]] = other
                    place[other] = place[u]
                    place[u] = head
                    start[core[u]] = head + 1
                    core[u] -= 1
            steps += first[v + 1] - first[v] + 1
            if steps > PAUSE:
                steps = 0
                heed()
