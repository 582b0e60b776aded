"""Codegrees: how many neighbours two nodes have in common, at most, for every node.

A neighbour w of degree t makes t² pairs.  The few largest nodes are taken out as *hubs*, at most 64
of them: every node has a word with one bit for each hub that it is adjacent to.  Two nodes share
the ones of both their words, and the light neighbours that walking from one to the other finds.
Nodes that no walk finds share hubs alone, and there are few different words: the best partner of
every word is found once, so that a star costs its edges and not their square.

Graphs are in the order of degrees (see `dampen.kernels.adjacency`).
"""

from __future__ import annotations

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed, popcount
else:
    from dampen.kernels.primitives import heed, popcount

MOST_HUBS = cython.declare(cython.longlong, 64)
HEAVY = cython.declare(cython.longlong, 16)
"""A node is worth to be a hub if its pairs are more than this many for each node of the graph."""


@kernel
def first_hub(first: cython.const[cython.longlong][::1]) -> int:
    """Hubs are the nodes from this one on."""
    n: cython.longlong = len(first) - 1
    hub: cython.longlong = n
    d: cython.longlong
    while hub > 0 and n - hub < MOST_HUBS:
        d = first[hub] - first[hub - 1]
        if d * d <= HEAVY * n:
            break
        hub -= 1
    return hub


@kernel
def fill_words(
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.uint][::1],
    hub: cython.Py_ssize_t,
    words: cython.ulonglong[::1],
) -> None:
    """Which hubs every node is adjacent to, one bit each."""
    w: cython.Py_ssize_t
    i: cython.Py_ssize_t
    bit: cython.ulonglong = 1
    with cython.nogil:
        for w in range(hub, len(first) - 1):
            for i in range(first[w], first[w + 1]):
                words[to[i]] |= bit
            bit <<= 1


@kernel
def codegrees_of_range(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.uint][::1],
    hub: cython.uint,
    words: cython.const[cython.ulonglong][::1],
    common: cython.int[::1],
    touched: cython.uint[::1],
    stop: cython.const[cython.uchar][::1],
    result: cython.longlong[::1],
) -> None:
    """Raises result[v] to the largest number of neighbours that v shares with a node it walks to.

    Walks over light neighbours only, to the nodes x < v for v in begin .. end-1, and raises both
    ends; the results of several ranges combine by the maximum.  Returns early when the stop flag
    rises.  `common` has, per node, the light neighbours shared with the current one; it is zero
    before and after.
    """
    v: cython.uint
    w: cython.uint
    x: cython.uint
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t
    shared: cython.longlong
    with cython.nogil:
        for v in range(begin, end):
            if stop[0]:
                break
            n = 0
            for i in range(first[v], first[v + 1]):
                w = to[i]
                if w >= hub:
                    break
                for j in range(first[w], first[w + 1]):
                    x = to[j]
                    if x >= v:
                        break
                    touched[n] = x
                    n += common[x] == 0
                    common[x] += 1
            for i in range(n):
                x = touched[i]
                shared = common[x] + popcount(words[v] & words[x])
                result[v] = max(result[v], shared)
                result[x] = max(result[x], shared)
                common[x] = 0


@kernel
def shared_hubs(words: cython.const[cython.ulonglong][::1], result: cython.longlong[::1]) -> None:
    """Raises result[v] to the largest number of hubs that v shares with any other node."""
    different, which, counts = np.unique(words, return_inverse=True, return_counts=True)
    distinct: cython.const[cython.ulonglong][::1] = memoryview(different)
    place: cython.const[cython.longlong][::1] = memoryview(which.astype(np.int64))
    often: cython.const[cython.longlong][::1] = memoryview(counts.astype(np.int64))
    ones = np.bitwise_count(different).astype(np.int64)
    size: cython.const[cython.longlong][::1] = memoryview(ones)
    by_size: cython.const[cython.longlong][::1] = memoryview(np.argsort(-ones).astype(np.int64))
    bests: cython.longlong[::1] = memoryview(np.zeros(len(ones), np.int64))
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    best: cython.longlong
    with cython.nogil:
        for a in range(len(distinct)):
            best = size[a] if often[a] > 1 else 0
            for i in range(len(distinct)):
                b = by_size[i]
                if best >= min(size[a], size[b]):
                    break
                if b != a:
                    best = max(best, popcount(distinct[a] & distinct[b]))
            bests[a] = best
            if a % 64 == 0:
                heed()
        for i in range(len(place)):
            result[i] = max(result[i], bests[place[i]])
