"""What round 2 counts, from rows that hold every edge once: see `dampen.questions.nodes.counting`.

Kernels that take a range of nodes can be shared by threads; the results are integers and are filled
into arrays that the caller made.  Arrays that belong together come in tuples:

- `half`: rows; node u has the higher neighbours to[begins[u]:ends[u]], in any order;
- `edges`: some edges, their lower ends, which rise, and their higher ends;
- `listed`: per node, its place on the shortlist or -1; whether it is left out of lists and counts;
  and the last node on its own list, or n.
"""

from typing import Any

import numpy as np

from dampen.kernels.compile import compiled, trailing_zeros


@compiled
def count_oriented(begin: int, end: int, half: Any, level: Any, result: Any) -> None:
    """Counts these edges at the end of higher level each; at equal levels the name decides."""
    begins, ends, to = half
    for u in range(begin, end):
        here = level[u]
        count = 0
        for i in range(begins[u], ends[u]):
            below = level[to[i]] < here
            count += below
            result[to[i]] += not below
        result[u] += count


@compiled
def count_touching(begin: int, end: int, half: Any, chosen: Any) -> int:
    """How many edges of these rows have an end among the chosen nodes."""
    begins, ends, to = half
    count = 0
    for u in range(begin, end):
        if chosen[u]:
            count += ends[u] - begins[u]
        else:
            for i in range(begins[u], ends[u]):
                count += chosen[to[i]]
    return count


@compiled
def fill_touching(begin: int, end: int, half: Any, chosen: Any, edges: Any) -> None:
    """Fills in those edges, in the order of their lower ends."""
    begins, ends, to = half
    low, high = edges
    found = 0
    for u in range(begin, end):
        mine = chosen[u]
        for i in range(begins[u], ends[u]):
            if mine or chosen[to[i]]:
                low[found] = u
                high[found] = to[i]
                found += 1


@compiled
def fill_lists(edges: Any, half: Any, listed: Any, long: Any, length: int) -> None:
    """Everyone's list: the first `length` neighbours that are not on the shortlist.

    Fills in the last node of the lists of those that are `long`; all edges there are given, in the
    order of their lower ends.  Who has fewer neighbours keeps what was there.
    """
    begins, ends, to = half
    low, high = edges
    _, on_it, last = listed
    seen = np.zeros(len(long), np.int32)
    for i in range(len(low)):
        u = low[i]
        v = high[i]
        if long[v] and not on_it[u]:
            seen[v] += 1
            if seen[v] == length:
                last[v] = u
    for u in range(len(long)):
        if long[u] and seen[u] < length:
            row = to[begins[u] : ends[u]]
            rest = np.empty(len(row), np.int32)
            count = 0
            for v in row:
                rest[count] = v
                count += not on_it[v]
            if seen[u] + count >= length:
                last[u] = _smallest(rest[:count], length - seen[u], len(long))


@compiled
def _smallest(values: Any, rank: int, n: int) -> int:
    """The one of this rank, from 1 on, of different numbers below n, by bisection."""
    low = 0
    high = n - 1
    while low < high:
        middle = (low + high) // 2
        count = 0
        for value in values:
            count += value <= middle
        if count >= rank:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def count_outside(edges: Any, listed: Any, result: Any) -> None:
    """How many neighbours outside the shortlist each of its nodes has."""
    low, high = edges
    number, on_it, _ = listed
    for i in range(len(low)):
        u = low[i]
        v = high[i]
        a = number[u]
        b = number[v]
        if a >= 0:
            result[a] += not on_it[v]
        if b >= 0:
            result[b] += not on_it[u]


@compiled
def fill_words(edges: Any, listed: Any, begin: int, words: Any) -> None:
    """One bit for each of 64 nodes of the shortlist: whether it is a neighbour."""
    low, high = edges
    number, on_it, _ = listed
    for i in range(len(low)):
        u = low[i]
        v = high[i]
        a = number[u] - begin
        b = number[v] - begin
        if 0 <= a < 64 and not on_it[v]:
            words[v] |= np.uint64(1) << np.uint64(a)
        if 0 <= b < 64 and not on_it[u]:
            words[u] |= np.uint64(1) << np.uint64(b)


@compiled
def count_triangles(begin: int, end: int, half: Any, listed: Any, work: Any) -> None:
    """Counts the edges of these rows that are on the lists of both ends, for all bits of both."""
    begins, ends, to = half
    words, result = work
    _, _, last = listed
    for u in range(begin, end):
        here = words[u]
        if here:
            for i in range(begins[u], ends[u]):
                v = to[i]
                shared = here & words[v]
                if shared and v <= last[u] and u <= last[v]:
                    while shared:
                        result[trailing_zeros(shared)] += 1
                        shared &= shared - np.uint64(1)
