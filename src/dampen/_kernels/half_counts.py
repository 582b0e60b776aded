"""What round 2 counts, from rows that hold every edge once: see `dampen.influence.counting`.

`half` are such rows: node u has the higher neighbours half.to[half.begin[u]:half.end[u]], in any
order.  Kernels that take a range of nodes can be shared by threads; the results are integers and
are filled into arrays that the caller made.
"""

from typing import Any, NamedTuple

import numpy as np

from dampen._kernels.compile import compiled, trailing_zeros


class Listed(NamedTuple):
    """A shortlist, and everyone's list."""

    number: Any  # per node: its place on the shortlist, or -1
    on_it: Any  # per node: whether it is left out of lists and counts
    last: Any  # per node: the last node on its own list, or n


class Words(NamedTuple):
    """Up to 64 nodes of the shortlist, one bit for each."""

    words: Any  # per node: which of them are its neighbours
    result: Any  # per bit, of one thread


@compiled
def count_oriented(begin: int, end: int, half: Any, level: Any, result: Any) -> None:
    """Counts these edges at the end of higher level each; at equal levels the name decides."""
    for u in range(begin, end):
        here, count = level[u], 0
        for i in range(half.begin[u], half.end[u]):
            below = level[half.to[i]] < here
            count += below
            result[half.to[i]] += not below
        result[u] += count


@compiled
def count_touching(begin: int, end: int, half: Any, chosen: Any) -> int:
    """How many edges of these rows have an end among the chosen nodes."""
    count = 0
    for u in range(begin, end):
        if chosen[u]:
            count += half.end[u] - half.begin[u]
        else:
            for i in range(half.begin[u], half.end[u]):
                count += chosen[half.to[i]]
    return count


@compiled
def fill_touching(begin: int, end: int, half: Any, chosen: Any, edges: Any) -> None:
    """Fills in those edges, in the order of their lower ends."""
    low, high = edges
    found = 0
    for u in range(begin, end):
        mine = chosen[u]
        for i in range(half.begin[u], half.end[u]):
            if mine or chosen[half.to[i]]:
                low[found], high[found] = u, half.to[i]
                found += 1


@compiled
def fill_lists(edges: Any, half: Any, listed: Listed, long: Any, length: int) -> None:
    """Everyone's list: the first `length` neighbours that are not on the shortlist.

    Fills in the last node of the lists of those that are `long`; all edges there are given, in the
    order of their lower ends.  Who has fewer neighbours keeps what was there.
    """
    low, high = edges
    on_it, last, seen = listed.on_it, listed.last, np.zeros(len(long), np.int32)
    for i in range(len(low)):
        u, v = low[i], high[i]
        if long[v] and not on_it[u]:
            seen[v] += 1
            if seen[v] == length:
                last[v] = u
    for u in range(len(long)):
        if long[u] and seen[u] < length:
            row = half.to[half.begin[u] : half.end[u]]
            rest, count = np.empty(len(row), np.int32), 0
            for v in row:
                rest[count] = v
                count += not on_it[v]
            if seen[u] + count >= length:
                last[u] = _smallest(rest[:count], length - seen[u], len(long))


@compiled
def _smallest(values: Any, rank: int, n: int) -> int:
    """The one of this rank, from 1 on, of different numbers below n, by bisection."""
    low, high = 0, n - 1
    while low < high:
        middle, count = (low + high) // 2, 0
        for value in values:
            count += value <= middle
        if count >= rank:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def count_outside(edges: Any, listed: Listed, result: Any) -> None:
    """How many neighbours outside the shortlist each of its nodes has."""
    low, high = edges
    for i in range(len(low)):
        u, v = low[i], high[i]
        a, b = listed.number[u], listed.number[v]
        if a >= 0:
            result[a] += not listed.on_it[v]
        if b >= 0:
            result[b] += not listed.on_it[u]


@compiled
def fill_words(edges: Any, listed: Listed, begin: int, words: Any) -> None:
    """One bit for each of 64 nodes of the shortlist: whether it is a neighbour."""
    low, high = edges
    for i in range(len(low)):
        u, v = low[i], high[i]
        a, b = listed.number[u] - begin, listed.number[v] - begin
        if 0 <= a < 64 and not listed.on_it[v]:
            words[v] |= np.uint64(1) << np.uint64(a)
        if 0 <= b < 64 and not listed.on_it[u]:
            words[u] |= np.uint64(1) << np.uint64(b)


@compiled
def count_triangles(begin: int, end: int, half: Any, listed: Listed, work: Words) -> None:
    """Counts the edges of these rows that are on the lists of both ends, for all bits of both."""
    words, last = work.words, listed.last
    for u in range(begin, end):
        here = words[u]
        if here:
            for i in range(half.begin[u], half.end[u]):
                v = half.to[i]
                shared = here & words[v]
                if shared and v <= last[u] and u <= last[v]:
                    while shared:
                        work.result[trailing_zeros(shared)] += 1
                        shared &= shared - np.uint64(1)
