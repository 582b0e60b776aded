"""Egocentric betweenness of every node, from integer counts.

Notation: c is the ego, its d neighbours are numbered 0 .. d-1 by degree, e edges run among them.
For two neighbours a < b that are not adjacent, g is the number of neighbours of c adjacent to both;

    EBC(c) = sum over those pairs of 1 / (1 + g) = sum over g of pairs[g] / (1 + g),

so an ego needs the integer histogram `pairs` and nothing else: the result depends neither on the
order of work nor on the number of threads.

Three ways to count, chosen per ego by an estimate of their cost:

- *wedges*: walk a - w - b for every a and every b > a;
- *hubs*: a neighbour w adjacent to t others makes t(t-1)/2 wedges.  The worst of them are taken out
  as hubs: neighbours adjacent to the same set of hubs form a class, and all pairs are counted class
  by class.  Only pairs that are adjacent or share another neighbour are corrected one by one, so
  that a neighbour adjacent to everything costs d, not d²;
- *bit sets*: for a dense ego, the words of two rows are intersected for every pair not adjacent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import popcount, trailing_zeros
else:
    from dampen.kernels.primitives import popcount, trailing_zeros

MOST_HUBS = cython.declare(cython.longlong, 64)
MOST_WORDS = cython.declare(cython.longlong, 1 << 21)
"""Bit sets of one ego: at most 16 MB."""
WORDS_PER_STEP = cython.declare(cython.longlong, 2)
"""Words intersected in the time of one step of a walk."""
ADJACENT = cython.declare(cython.longlong, -(1 << 30))
ALL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


@cython.cclass
class Workspace:
    """The memory of one thread: linear in nodes and edges, reused for every ego.

    Pages that are never touched cost nothing: an ego uses what its own size asks for.
    """

    place: cython.int[::1]  # per node of the graph: its number in the ego, plus 1
    start: cython.longlong[::1]  # per neighbour: where its row of `later` begins
    later: cython.uint[::1]  # numbers of later adjacent neighbours
    degree: cython.longlong[::1]  # per neighbour: how many others are adjacent to it
    row: cython.longlong[::1]  # per neighbour: where its row of `adjacent` begins
    up: cython.longlong[::1]  # where, in that row, the later ones begin
    adjacent: cython.uint[::1]  # numbers of adjacent neighbours, each row sorted
    is_hub: cython.uchar[::1]
    hubs: cython.ulonglong[::1]  # per neighbour: the hubs adjacent to it, one bit each
    classes: cython.ulonglong[::1]  # the different sets of hubs
    members: cython.longlong[::1]  # how many neighbours each has
    count: cython.int[::1]  # per neighbour b: wedges from the current a to b
    touched: cython.uint[::1]  # the b that have any
    words: cython.ulonglong[::1]  # bit sets
    pairs: cython.longlong[::1]  # the histogram of g
    stop: cython.const[cython.uchar][::1]  # a flag that all threads share
    d: cython.longlong  # neighbours of the current ego
    e: cython.longlong  # edges among them
    wedges: cython.longlong  # that are left to walk
    h: cython.longlong  # hubs

    def __init__(self, n: Any, edges: Any, largest_degree: Any, stop: Any) -> None:
        d = largest_degree + 1
        self.place = memoryview(np.zeros(n, np.int32))
        self.start = memoryview(np.empty(d + 1, np.int64))
        self.later = memoryview(np.empty(edges + 1, np.uint32))
        self.degree = memoryview(np.empty(d, np.int64))
        self.row = memoryview(np.empty(d + 1, np.int64))
        self.up = memoryview(np.empty(d + 1, np.int64))
        self.adjacent = memoryview(np.empty(2 * edges + 1, np.uint32))
        self.is_hub = memoryview(np.zeros(d, np.uint8))
        self.hubs = memoryview(np.zeros(d, np.uint64))
        self.classes = memoryview(np.empty(d, np.uint64))
        self.members = memoryview(np.empty(d, np.int64))
        self.count = memoryview(np.zeros(d, np.int32))
        self.touched = memoryview(np.empty(d + 1, np.uint32))
        self.words = memoryview(np.empty(MOST_WORDS, np.uint64))
        self.pairs = memoryview(np.zeros(d, np.int64))
        self.stop = memoryview(stop)


@kernel
def betweenness_of(
    egos: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.uint][::1],
    later: cython.const[cython.longlong][::1],
    work: Workspace,
    result: cython.double[::1],
) -> None:
    """EBC of the nodes `egos`; returns early when the stop flag rises."""
    i: cython.Py_ssize_t
    c: cython.longlong
    apart: cython.longlong
    with cython.nogil:
        for i in range(len(egos)):
            if work.stop[0]:
                break
            c = egos[i]
            work.d = first[c + 1] - first[c]
            _ego_network(c, first, to, later, work)
            apart = work.d * (work.d - 1) // 2 - work.e
            if apart == 0 or work.wedges == 0:
                result[c] = apart
            else:
                _count_pairs(apart, work)
                result[c] = _sum_of_shares(work)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _ego_network(
    c: cython.longlong,
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.uint][::1],
    later: cython.const[cython.longlong][::1],
    work: Workspace,
) -> cython.void:
    """Lists the edges among the neighbours, each once; counts them and the wedges."""
    d: cython.longlong = work.d
    begin: cython.longlong = first[c]
    e: cython.longlong = 0
    wedges: cython.longlong = 0
    number: cython.int
    v: cython.uint
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(d):
        work.place[to[begin + i]] = i + 1
        work.degree[i] = 0
    for i in range(d):
        work.start[i] = e
        v = to[begin + i]
        for j in range(later[v], first[v + 1]):
            number = work.place[to[j]]
            if number:
                work.later[e] = number - 1
                work.degree[number - 1] += 1
                e += 1
        work.degree[i] += e - work.start[i]
    work.start[d] = e
    for i in range(d):
        work.place[to[begin + i]] = 0
        wedges += work.degree[i] * (work.degree[i] - 1) // 2
    work.e = e
    work.wedges = wedges


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_pairs(apart: cython.longlong, work: Workspace) -> cython.void:
    """Fills the histogram in the cheapest of three ways."""
    d: cython.longlong = work.d
    size: cython.longlong = (d + 63) // 64
    words: cython.longlong = work.wedges
    v: cython.Py_ssize_t
    if d * size <= MOST_WORDS:
        words = apart * size // WORDS_PER_STEP
    if words < min(work.wedges, 16 * d + work.e):
        _pairs_by_bits(size, work)
        return
    _choose_hubs(work)
    if words < work.wedges:
        _pairs_by_bits(size, work)
    else:
        _symmetric_rows(work)
        _pairs_by_hubs(work)
        _correct_by_wedges(work)
    if work.h:
        for v in range(d):
            work.is_hub[v] = 0
            work.hubs[v] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_hubs(work: Workspace) -> cython.void:
    """Marks the hubs that are worth it, and takes their wedges off."""
    d: cython.longlong = work.d
    cost: cython.longlong = 16 * d + work.e
    gain: cython.longlong
    w: cython.longlong
    v: cython.longlong
    work.h = 0
    while work.h < MOST_HUBS and work.wedges > cost:
        w = -1
        for v in range(d):
            if not work.is_hub[v] and (w < 0 or work.degree[v] > work.degree[w]):
                w = v
        gain = work.degree[w] * (work.degree[w] - 1) // 2
        if gain <= cost:
            break
        work.is_hub[w] = 1
        work.wedges -= gain
        work.h += 1
        cost = 2 * d + _pairs_of_classes(work.h + 1, d) - _pairs_of_classes(work.h, d)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pairs_of_classes(h: cython.longlong, d: cython.longlong) -> cython.longlong:
    one: cython.longlong = 1
    classes: cython.longlong = min(one << min(h, 32), d)
    return classes * classes // 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _symmetric_rows(work: Workspace) -> cython.void:
    """Both directions of every edge, each row sorted because the rows are read in order."""
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    w: cython.uint
    work.row[0] = 0
    for v in range(work.d):
        work.up[v] = work.row[v]
        work.row[v + 1] = work.row[v] + work.degree[v]
    for v in range(work.d):
        for i in range(work.start[v], work.start[v + 1]):
            w = work.later[i]
            work.adjacent[work.up[v] + i - work.start[v]] = w
            work.adjacent[work.up[w]] = v
            work.up[w] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pairs_by_hubs(work: Workspace) -> cython.void:
    """How many pairs, adjacent or not, have exactly k hubs in common, for every k."""
    n: cython.longlong
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    if work.h == 0:
        work.pairs[0] = work.d * (work.d - 1) // 2
        return
    _mark_hubs(work)
    n = _classes(work)
    for i in range(n):
        work.pairs[popcount(work.classes[i])] += work.members[i] * (work.members[i] - 1) // 2
        for j in range(i):
            work.pairs[popcount(work.classes[i] & work.classes[j])] += (
                work.members[i] * work.members[j]
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _classes(work: Workspace) -> cython.longlong:
    """The different sets of hubs, how often each occurs, how many there are.

    A heap gives them in order: the largest that is left comes from its top.
    """
    n: cython.longlong = 0
    end: cython.longlong
    value: cython.ulonglong
    i: cython.longlong
    for i in range(work.d):
        work.classes[i] = work.hubs[i]
    for i in range(work.d // 2 - 1, -1, -1):
        _sink(work.classes, i, work.d)
    for end in range(work.d - 1, -1, -1):
        value = work.classes[0]
        work.classes[0] = work.classes[end]
        work.classes[end] = value
        _sink(work.classes, 0, end)
    for i in range(work.d):
        value = work.classes[i]
        if i == 0 or value != work.classes[n - 1]:
            work.classes[n] = value
            work.members[n] = 0
            n += 1
        work.members[n - 1] += 1
    return n


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sink(heap: cython.ulonglong[::1], i: cython.longlong, end: cython.longlong) -> cython.void:
    """Moves the i-th value down a heap of `end` values, of which the largest is on top."""
    value: cython.ulonglong = heap[i]
    child: cython.longlong = 2 * i + 1
    while child < end:
        if child + 1 < end and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[i] = heap[child]
        i = child
        child = 2 * i + 1
    if i < end:
        heap[i] = value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_hubs(work: Workspace) -> cython.void:
    bit: cython.ulonglong = 1
    w: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for w in range(work.d):
        if work.is_hub[w]:
            for i in range(work.row[w], work.row[w + 1]):
                work.hubs[work.adjacent[i]] |= bit
            bit <<= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _correct_by_wedges(work: Workspace) -> cython.void:
    """Takes out adjacent pairs and moves those that share a neighbour which is no hub."""
    a: cython.longlong
    b: cython.uint
    w: cython.uint
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t
    k: cython.int
    for a in range(work.d):
        for i in range(work.up[a], work.row[a + 1]):
            b = work.adjacent[i]
            work.count[b] = ADJACENT
            work.pairs[popcount(work.hubs[a] & work.hubs[b])] -= 1
        n = 0
        for i in range(work.row[a], work.row[a + 1]):
            w = work.adjacent[i]
            if work.h and work.is_hub[w]:
                continue
            j = work.row[w + 1] - 1
            b = work.adjacent[j]
            while b > a:
                work.touched[n] = b
                n += work.count[b] == 0
                work.count[b] += 1
                j -= 1
                b = work.adjacent[j]
        for i in range(n):
            b = work.touched[i]
            k = popcount(work.hubs[a] & work.hubs[b])
            work.pairs[k] -= 1
            work.pairs[k + work.count[b]] += 1
            work.count[b] = 0
        for i in range(work.up[a], work.row[a + 1]):
            work.count[work.adjacent[i]] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pairs_by_bits(size: cython.longlong, work: Workspace) -> cython.void:
    """Intersects the rows of every pair that is not adjacent."""
    d: cython.longlong = work.d
    one: cython.ulonglong = 1
    free: cython.ulonglong
    g: cython.longlong
    a: cython.longlong
    b: cython.longlong
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    _rows_of_bits(size, work)
    for a in range(d - 1):
        for i in range((a + 1) // 64, size):
            free = work.words[a * size + i] ^ ALL
            if i == (a + 1) // 64:
                free &= ALL ^ ((one << ((a + 1) % 64)) - 1)
            if i == d // 64:
                free &= (one << (d % 64)) - 1
            while free:
                b = i * 64 + trailing_zeros(free)
                free &= free - 1
                g = 0
                for j in range(size):
                    g += popcount(work.words[a * size + j] & work.words[b * size + j])
                work.pairs[g] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rows_of_bits(size: cython.longlong, work: Workspace) -> cython.void:
    one: cython.ulonglong = 1
    v: cython.longlong
    w: cython.longlong
    i: cython.Py_ssize_t
    for i in range(work.d * size):
        work.words[i] = 0
    for v in range(work.d):
        for i in range(work.start[v], work.start[v + 1]):
            w = work.later[i]
            work.words[v * size + (w >> 6)] |= one << (w & 63)
            work.words[w * size + (v >> 6)] |= one << (v & 63)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_of_shares(work: Workspace) -> cython.double:
    """The sum of pairs[g] / (1 + g), and an empty histogram again.

    All terms are positive; `lost` carries the rounding errors of the additions (Knuth), so that the
    relative error is below 2^-51.
    """
    total: cython.double = 0.0
    lost: cython.double = 0.0
    share: cython.double
    s: cython.double
    back: cython.double
    largest: cython.longlong = 0
    g: cython.longlong
    for g in range(work.d):
        largest = max(largest, work.degree[g])
    for g in range(largest, -1, -1):
        if work.pairs[g]:
            share = work.pairs[g] / (1.0 + g)
            s = total + share
            back = s - total
            lost += (total - (s - back)) + (share - back)
            total = s
            work.pairs[g] = 0
    return total + lost
