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

from typing import Any, NamedTuple

import numpy as np

from dampen.kernels.adjacency import Ordered
from dampen.kernels.compile import compiled, popcount, trailing_zeros

MOST_HUBS = 64
MOST_WORDS = 1 << 21
"""Bit sets of one ego: at most 16 MB."""
WORDS_PER_STEP = 2
"""Words intersected in the time of one step of a walk."""
ADJACENT = -(1 << 30)


class Workspace(NamedTuple):
    """The memory of one thread: linear in nodes and edges, reused for every ego."""

    place: Any  # per node of the graph: its number in the ego, plus 1
    start: Any  # per neighbour: where its row of `later` begins
    later: Any  # numbers of later adjacent neighbours
    degree: Any  # per neighbour: how many others are adjacent to it
    row: Any  # per neighbour: where its row of `adjacent` begins
    up: Any  # where, in that row, the later ones begin
    adjacent: Any  # numbers of adjacent neighbours, each row sorted
    is_hub: Any
    hubs: Any  # per neighbour: the hubs adjacent to it, one bit each
    classes: Any  # the different sets of hubs
    members: Any  # how many neighbours each has
    count: Any  # per neighbour b: wedges from the current a to b
    touched: Any  # the b that have any
    words: Any  # bit sets
    pairs: Any  # the histogram of g
    stop: Any  # a flag that all threads share


def workspace(n: int, edges: int, largest_degree: int, stop: Any) -> Workspace:
    """Pages that are never touched cost nothing: an ego uses what its own size asks for."""
    d = largest_degree + 1
    return Workspace(
        place=np.zeros(n, np.int32),
        start=np.empty(d + 1, np.int64),
        later=np.empty(edges + 1, np.uint32),
        degree=np.empty(d, np.int64),
        row=np.empty(d + 1, np.int64),
        up=np.empty(d + 1, np.int64),
        adjacent=np.empty(2 * edges + 1, np.uint32),
        is_hub=np.zeros(d, np.bool_),
        hubs=np.zeros(d, np.uint64),
        classes=np.empty(d, np.uint64),
        members=np.empty(d, np.int64),
        count=np.zeros(d, np.int32),
        touched=np.empty(d + 1, np.uint32),
        words=np.empty(MOST_WORDS, np.uint64),
        pairs=np.zeros(d, np.int64),
        stop=stop,
    )


@compiled
def betweenness_of(egos: Any, graph: Ordered, work: Workspace, result: Any) -> None:
    """EBC of the nodes `egos`; returns early when the stop flag rises."""
    for c in egos:
        if work.stop[0]:
            return
        d = graph.first[c + 1] - graph.first[c]
        e, wedges = _ego_network(c, graph, work)
        apart = d * (d - 1) // 2 - e
        if apart == 0 or wedges == 0:
            result[c] = float(apart)
        else:
            _count_pairs(d, e, apart, wedges, work)
            result[c] = _sum_of_shares(work.pairs, work.degree[:d].max())


@compiled
def _ego_network(c: int, graph: Ordered, work: Workspace) -> tuple[int, int]:
    """Lists the edges among the neighbours, each once; returns their number and the wedges."""
    first = graph.first
    to = graph.to
    later = graph.later
    neighbours = to[first[c] : first[c + 1]]
    d = len(neighbours)
    place = work.place
    start = work.start
    degree = work.degree
    for i in range(d):
        place[neighbours[i]] = i + 1
        degree[i] = 0
    e = 0
    for i in range(d):
        start[i] = e
        for j in range(later[neighbours[i]], first[neighbours[i] + 1]):
            number = place[to[j]]
            if number:
                work.later[e] = number - 1
                degree[number - 1] += 1
                e += 1
        degree[i] += e - start[i]
    start[d] = e
    wedges = 0
    for i in range(d):
        place[neighbours[i]] = 0
        wedges += degree[i] * (degree[i] - 1) // 2
    return e, wedges


@compiled
def _count_pairs(d: int, e: int, apart: int, wedges: int, work: Workspace) -> None:
    """Fills the histogram in the cheapest of three ways."""
    size = (d + 63) // 64
    words = apart * size // WORDS_PER_STEP if d * size <= MOST_WORDS else wedges
    if words < min(wedges, 16 * d + e):
        _pairs_by_bits(d, size, work)
        return
    h, walked = _choose_hubs(d, e, wedges, work)
    if words < walked:
        _pairs_by_bits(d, size, work)
    else:
        _symmetric_rows(d, work)
        _pairs_by_hubs(d, h, work)
        _correct_by_wedges(d, h, work)
    if h:
        for v in range(d):
            work.is_hub[v] = False
            work.hubs[v] = 0


@compiled
def _choose_hubs(d: int, e: int, wedges: int, work: Workspace) -> tuple[int, int]:
    """Marks the hubs that are worth it; returns their number and the wedges left to walk."""
    h = 0
    cost = 16 * d + e
    while h < MOST_HUBS and wedges > cost:
        w = -1
        for v in range(d):
            if not work.is_hub[v] and (w < 0 or work.degree[v] > work.degree[w]):
                w = v
        gain = work.degree[w] * (work.degree[w] - 1) // 2
        if gain <= cost:
            break
        work.is_hub[w] = True
        wedges -= gain
        h += 1
        cost = 2 * d + _pairs_of_classes(h + 1, d) - _pairs_of_classes(h, d)
    return h, wedges


@compiled
def _pairs_of_classes(h: int, d: int) -> int:
    classes = min(1 << min(h, 32), d)
    return classes * classes // 2


@compiled
def _symmetric_rows(d: int, work: Workspace) -> None:
    """Both directions of every edge, each row sorted because the rows are read in order."""
    row = work.row
    up = work.up
    adjacent = work.adjacent
    row[0] = 0
    for v in range(d):
        up[v] = row[v]
        row[v + 1] = row[v] + work.degree[v]
    for v in range(d):
        for i in range(work.start[v], work.start[v + 1]):
            w = work.later[i]
            adjacent[up[v] + i - work.start[v]] = w
            adjacent[up[w]] = v
            up[w] += 1


@compiled
def _pairs_by_hubs(d: int, h: int, work: Workspace) -> None:
    """How many pairs, adjacent or not, have exactly k hubs in common, for every k."""
    pairs = work.pairs
    classes = work.classes
    members = work.members
    if h == 0:
        pairs[0] = d * (d - 1) // 2
        return
    _mark_hubs(d, work)
    n = _classes(np.sort(work.hubs[:d]), classes, members)
    for i in range(n):
        pairs[popcount(classes[i])] += members[i] * (members[i] - 1) // 2
        for j in range(i):
            pairs[popcount(classes[i] & classes[j])] += members[i] * members[j]


@compiled
def _classes(ordered: Any, classes: Any, members: Any) -> int:
    """The distinct values of a sorted array, how often each occurs, how many there are."""
    n = 0
    for i in range(len(ordered)):
        if i == 0 or ordered[i] != ordered[i - 1]:
            classes[n] = ordered[i]
            members[n] = 0
            n += 1
        members[n - 1] += 1
    return n


@compiled
def _mark_hubs(d: int, work: Workspace) -> None:
    bit = np.uint64(1)
    for w in range(d):
        if work.is_hub[w]:
            for i in range(work.row[w], work.row[w + 1]):
                work.hubs[work.adjacent[i]] |= bit
            bit <<= np.uint64(1)


@compiled
def _correct_by_wedges(d: int, h: int, work: Workspace) -> None:
    """Takes out adjacent pairs and moves those that share a neighbour which is no hub."""
    row = work.row
    up = work.up
    adjacent = work.adjacent
    count = work.count
    touched = work.touched
    hubs = work.hubs
    pairs = work.pairs
    for a in range(d):
        for i in range(up[a], row[a + 1]):
            count[adjacent[i]] = ADJACENT
            pairs[popcount(hubs[a] & hubs[adjacent[i]])] -= 1
        n = 0
        for i in range(row[a], row[a + 1]):
            w = adjacent[i]
            if h and work.is_hub[w]:
                continue
            j = row[w + 1] - 1
            b = adjacent[j]
            while b > a:
                touched[n] = b
                n += count[b] == 0
                count[b] += 1
                j -= 1
                b = adjacent[j]
        for i in range(n):
            b = touched[i]
            k = popcount(hubs[a] & hubs[b])
            pairs[k] -= 1
            pairs[k + count[b]] += 1
            count[b] = 0
        for i in range(up[a], row[a + 1]):
            count[adjacent[i]] = 0


@compiled
def _pairs_by_bits(d: int, size: int, work: Workspace) -> None:
    """Intersects the rows of every pair that is not adjacent."""
    words = work.words
    pairs = work.pairs
    _rows_of_bits(d, size, work)
    for a in range(d - 1):
        row = words[a * size : (a + 1) * size]
        for i in range((a + 1) // 64, size):
            free = ~row[i]
            if i == (a + 1) // 64:
                free &= ~np.uint64(0) << np.uint64((a + 1) % 64)
            if i == d // 64:
                free &= (np.uint64(1) << np.uint64(d % 64)) - np.uint64(1)
            while free:
                b = i * 64 + np.int64(trailing_zeros(free))
                free &= free - np.uint64(1)
                other = words[b * size : (b + 1) * size]
                g = np.uint64(0)
                for j in range(size):
                    g += popcount(row[j] & other[j])
                pairs[g] += 1


@compiled
def _rows_of_bits(d: int, size: int, work: Workspace) -> None:
    words = work.words
    one = np.uint64(1)
    words[: d * size] = 0
    for v in range(d):
        for i in range(work.start[v], work.start[v + 1]):
            w = np.int64(work.later[i])
            words[v * size + (w >> 6)] |= one << np.uint64(w & 63)
            words[w * size + (v >> 6)] |= one << np.uint64(v & 63)


@compiled
def _sum_of_shares(pairs: Any, largest: int) -> float:
    """The sum of pairs[g] / (1 + g), and an empty histogram again.

    All terms are positive; `lost` carries the rounding errors of the additions (Knuth), so that the
    relative error is below 2^-51.
    """
    total = lost = 0.0
    for g in range(largest, -1, -1):
        if pairs[g]:
            share = pairs[g] / (1.0 + g)
            s = total + share
            back = s - total
            lost += (total - (s - back)) + (share - back)
            total = s
            pairs[g] = 0
    return total + lost
