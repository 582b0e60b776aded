"""Egocentric betweenness of every node, and codegrees, from integer counts.

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

The codegree of a node is how many neighbours it shares with another, at most.  A neighbour w of
degree t makes t² pairs.  The few largest nodes are taken out as *hubs*: every node has a word with
one bit for each hub that it is adjacent to.  Two nodes share the ones of both their words, and the
light neighbours that walking from one to the other finds.  Nodes that no walk finds share hubs
alone, and there are few different words: the best partner of every word is found once, so that a
star costs its edges and not their square.

Graphs are in the order of degrees (see `dampen.kernels.graphs`).
"""

import numpy as np

try:
    import cython
except ImportError:
    from dampen.kernels import primitives as cython
if not cython.compiled:  # else the .pxd has them
    from dampen.kernels.primitives import *

MOST_HUBS = cython.declare(cython.longlong, 64)
MOST_WORDS = cython.declare(cython.longlong, 1 << 21)
"""Bit sets of one ego: at most 16 MB."""
WORDS_PER_STEP = cython.declare(cython.longlong, 2)
"""Words intersected in the time of one step of a walk."""
HEAVY = 16
"""A node is a hub if its pairs are more than this many for each node of the graph."""
ADJACENT = cython.declare(cython.longlong, -(1 << 30))
ALL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


class Workspace:
    """The memory of one thread: linear in nodes and edges, reused for every ego.

    Pages that are never touched cost nothing: an ego uses what its own size asks for.  Of the
    current ego `d` is the number of neighbours, `e` of edges among them, `wedges` of those that are
    left to walk, `h` of hubs.
    """

    def __init__(self, n, edges, largest_degree, stop):
        d = largest_degree + 1
        self.place = memoryview(np.zeros(n, np.int32))  # per node: its number in the ego, plus 1
        self.start = memoryview(np.empty(d + 1, np.int64))  # where a row of `later` begins
        self.later = memoryview(np.empty(edges + 1, np.uint32))  # later adjacent neighbours
        self.degree = memoryview(np.empty(d, np.int64))  # how many others are adjacent
        self.row = memoryview(np.empty(d + 1, np.int64))  # where a row of `adjacent` begins
        self.up = memoryview(np.empty(d + 1, np.int64))  # where the later ones begin in it
        self.adjacent = memoryview(np.empty(2 * edges + 1, np.uint32))  # each row sorted
        self.is_hub = memoryview(np.zeros(d, np.uint8))
        self.hubs = memoryview(np.zeros(d, np.uint64))  # the hubs adjacent to it, one bit each
        self.classes = memoryview(np.empty(d, np.uint64))  # the different sets of hubs
        self.members = memoryview(np.empty(d, np.int64))  # how many neighbours each has
        self.count = memoryview(np.zeros(d, np.int32))  # per b: wedges from the current a to b
        self.touched = memoryview(np.empty(d + 1, np.uint32))  # the b that have any
        self.words = memoryview(np.empty(MOST_WORDS, np.uint64))  # bit sets
        self.pairs = memoryview(np.zeros(d, np.int64))  # the histogram of g
        self.stop = memoryview(stop)  # a flag that all threads share


def betweenness_of(egos, first, to, later, work, result):
    """EBC of the nodes `egos`; returns early when the stop flag rises."""
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


def _ego_network(c, first, to, later, work):
    """Lists the edges among the neighbours, each once; counts them and the wedges."""
    d: Long = work.d
    begin: Long = first[c]
    e: Long = 0
    wedges: Long = 0
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


def _count_pairs(apart, work):
    """Fills the histogram in the cheapest of three ways."""
    d: Long = work.d
    size: Long = (d + 63) // 64
    words: Long = work.wedges
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


def _choose_hubs(work):
    """Marks the hubs that are worth it, and takes their wedges off."""
    d: Long = work.d
    cost: Long = 16 * d + work.e
    work.h = 0
    while work.h < MOST_HUBS and work.wedges > cost:
        w: Long = -1
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


def _pairs_of_classes(h, d):
    one: Long = 1
    classes: Long = min(one << min(h, 32), d)
    return classes * classes // 2


def _symmetric_rows(work):
    """Both directions of every edge, each row sorted because the rows are read in order."""
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


def _pairs_by_hubs(work):
    """How many pairs, adjacent or not, have exactly k hubs in common, for every k."""
    bit: Word = 1
    if work.h == 0:
        work.pairs[0] = work.d * (work.d - 1) // 2
        return
    for w in range(work.d):
        if work.is_hub[w]:
            for i in range(work.row[w], work.row[w + 1]):
                work.hubs[work.adjacent[i]] |= bit
            bit <<= 1
    n = _classes(work)
    for i in range(n):
        work.pairs[popcount(work.classes[i])] += work.members[i] * (work.members[i] - 1) // 2
        for j in range(i):
            k = popcount(work.classes[i] & work.classes[j])
            work.pairs[k] += work.members[i] * work.members[j]


def _classes(work):
    """The different sets of hubs, how often each occurs, how many there are.

    A heap gives them in order: the largest that is left comes from its top.
    """
    n: Long = 0
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


def _sink(heap, i, end):
    """Moves the i-th value down a heap of `end` values, of which the largest is on top."""
    value: Word = heap[i]
    child: Long = 2 * i + 1
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


def _correct_by_wedges(work):
    """Takes out adjacent pairs and moves those that share a neighbour which is no hub."""
    n: Size
    b: cython.uint
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


def _pairs_by_bits(size, work):
    """Intersects the rows of every pair that is not adjacent."""
    d: Long = work.d
    one: Word = 1
    for i in range(d * size):
        work.words[i] = 0
    for a in range(d):
        for i in range(work.start[a], work.start[a + 1]):
            w = work.later[i]
            work.words[a * size + (w >> 6)] |= one << (w & 63)
            work.words[w * size + (a >> 6)] |= one << (a & 63)
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
                g: Long = 0
                for j in range(size):
                    g += popcount(work.words[a * size + j] & work.words[b * size + j])
                work.pairs[g] += 1


def _sum_of_shares(work):
    """The sum of pairs[g] / (1 + g), and an empty histogram again.

    All terms are positive and the rounding errors of the additions are carried along, so that the
    relative error is below 2^-51.
    """
    total: cython.double = 0.0
    error: cython.double = 0.0
    largest: Long = 0
    for g in range(work.d):
        largest = max(largest, work.degree[g])
    for g in range(largest, -1, -1):
        if work.pairs[g]:
            share = work.pairs[g] / (1.0 + g)
            new = total + share
            error += lost(total, share, new)
            total = new
            work.pairs[g] = 0
    return total + error


def first_hub(first):
    """Hubs are the nodes from this one on, at most 64."""
    heavy = np.diff(first) ** 2 > HEAVY * (len(first) - 1)
    return len(heavy) - min(64, np.count_nonzero(heavy))


def fill_words(first, to, hub, words):
    """Which hubs every node is adjacent to, one bit each."""
    bit: Word = 1
    with cython.nogil:
        for w in range(hub, len(first) - 1):
            for i in range(first[w], first[w + 1]):
                words[to[i]] |= bit
            bit <<= 1


def codegrees_of_range(begin, end, first, to, hub, words, common, touched, stop, result):
    """Raises result[v] to the largest number of neighbours that v shares with a node it walks to.

    Walks over light neighbours only, to the nodes x < v for v in begin .. end-1, and raises both
    ends; the results of several ranges combine by the maximum.  Returns early when the stop flag
    rises.  `common` has, per node, the light neighbours shared with the current one; it is zero
    before and after.
    """
    n: Size
    v: cython.uint
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


def shared_hubs(words, result):
    """Raises result[v] to the largest number of hubs that v shares with any other node."""
    different, which, counts = np.unique(words, return_inverse=True, return_counts=True)
    distinct: Words = memoryview(different)
    place: Longs = memoryview(which.astype(np.int64))
    often: Longs = memoryview(counts.astype(np.int64))
    ones = np.bitwise_count(different).astype(np.int64)
    size: Longs = memoryview(ones)
    by_size: Longs = memoryview(np.argsort(-ones).astype(np.int64))
    bests: OutLongs = memoryview(np.zeros(len(ones), np.int64))
    steps: Long = 0
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
            steps = heed(steps + (1 << 14))
        for i in range(len(place)):
            result[i] = max(result[i], bests[place[i]])


if not cython.compiled:
    plain(globals())
