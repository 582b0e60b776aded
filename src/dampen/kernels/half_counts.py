"""What round 2 counts, from rows that hold every edge once (`questions.nodes.two_rounds`).

Kernels that take a range of nodes can be shared by threads; the results are integers and are filled
into arrays that the caller made.  Arrays that come again and again:

- `begins`, `ends`, `to`: node u has the higher neighbours to[begins[u]:ends[u]], in any order;
- `low`, `high`: some edges, their lower ends, which rise, and their higher ends;
- `number`: per node, its place on the shortlist or -1; `on_it`: whether it is left out of lists and
  counts; `last`: the last node on its own list, or n.
"""

from __future__ import annotations

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed, trailing_zeros
else:
    from dampen.kernels.primitives import heed, trailing_zeros

PAUSE = cython.declare(cython.longlong, (1 << 21) - 1)


@kernel
def count_oriented(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    level: cython.const[cython.longlong][::1],
    result: cython.int[::1],
) -> None:
    """Counts these edges at the end of higher level each; at equal levels the name decides."""
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    here: cython.longlong
    below: cython.int
    count: cython.int
    with cython.nogil:
        for u in range(begin, end):
            here = level[u]
            count = 0
            for i in range(begins[u], ends[u]):
                below = level[to[i]] < here
                count += below
                result[to[i]] += 1 - below
            result[u] += count


@kernel
def count_touching(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    chosen: cython.const[cython.uchar][::1],
) -> int:
    """How many edges of these rows have an end among the chosen nodes."""
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    count: cython.longlong = 0
    with cython.nogil:
        for u in range(begin, end):
            if chosen[u]:
                count += ends[u] - begins[u]
            else:
                for i in range(begins[u], ends[u]):
                    count += chosen[to[i]]
    return count


@kernel
def fill_touching(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    chosen: cython.const[cython.uchar][::1],
    low: cython.int[::1],
    high: cython.int[::1],
) -> None:
    """Fills in those edges, in the order of their lower ends."""
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    mine: cython.bint
    found: cython.Py_ssize_t = 0
    with cython.nogil:
        for u in range(begin, end):
            mine = chosen[u]
            for i in range(begins[u], ends[u]):
                if mine or chosen[to[i]]:
                    low[found] = u
                    high[found] = to[i]
                    found += 1


@kernel
def fill_lists(
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    on_it: cython.const[cython.uchar][::1],
    last: cython.int[::1],
    long: cython.const[cython.uchar][::1],
    length: cython.longlong,
) -> None:
    """Everyone's list: the first `length` neighbours that are not on the shortlist.

    Fills in the last node of the lists of those that are `long`; all edges there are given, in the
    order of their lower ends.  Who has fewer neighbours keeps what was there.
    """
    n: cython.Py_ssize_t = len(long)
    seen: cython.int[::1] = memoryview(np.zeros(n, np.int32))
    rest: cython.int[::1] = memoryview(np.empty(n, np.int32))
    i: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.int
    count: cython.Py_ssize_t
    steps: cython.longlong = 0
    with cython.nogil:
        for i in range(len(low)):
            v = high[i]
            if long[v] and not on_it[low[i]]:
                seen[v] += 1
                if seen[v] == length:
                    last[v] = low[i]
            if i & PAUSE == PAUSE:
                heed()
        for u in range(n):
            if long[u] and seen[u] < length:
                count = 0
                for i in range(begins[u], ends[u]):
                    if not on_it[to[i]]:
                        rest[count] = to[i]
                        count += 1
                if seen[u] + count >= length:
                    last[u] = _smallest(rest, count, length - seen[u], n)
                    steps += 20 * count
                if steps > PAUSE:
                    steps = 0
                    heed()


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _smallest(
    values: cython.int[::1],
    size: cython.Py_ssize_t,
    rank: cython.longlong,
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """The one of this rank, from 1 on, of different numbers below n, by bisection."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = n - 1
    middle: cython.Py_ssize_t
    i: cython.Py_ssize_t
    count: cython.longlong
    while low < high:
        middle = (low + high) // 2
        count = 0
        for i in range(size):
            count += values[i] <= middle
        if count >= rank:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def count_outside(
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
    on_it: cython.const[cython.uchar][::1],
    result: cython.longlong[::1],
) -> None:
    """How many neighbours outside the shortlist each of its nodes has."""
    i: cython.Py_ssize_t
    a: cython.int
    b: cython.int
    with cython.nogil:
        for i in range(len(low)):
            a = number[low[i]]
            b = number[high[i]]
            if a >= 0:
                result[a] += 1 - on_it[high[i]]
            if b >= 0:
                result[b] += 1 - on_it[low[i]]
            if i & PAUSE == PAUSE:
                heed()


@kernel
def fill_words(
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
    on_it: cython.const[cython.uchar][::1],
    begin: cython.int,
    words: cython.ulonglong[::1],
) -> None:
    """One bit for each of 64 nodes of the shortlist: whether it is a neighbour."""
    i: cython.Py_ssize_t
    a: cython.int
    b: cython.int
    one: cython.ulonglong = 1
    with cython.nogil:
        for i in range(len(low)):
            a = number[low[i]] - begin
            b = number[high[i]] - begin
            if 0 <= a < 64 and not on_it[high[i]]:
                words[high[i]] |= one << a
            if 0 <= b < 64 and not on_it[low[i]]:
                words[low[i]] |= one << b
            if i & PAUSE == PAUSE:
                heed()


@kernel
def count_triangles(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    last: cython.const[cython.int][::1],
    words: cython.const[cython.ulonglong][::1],
    result: cython.longlong[::1],
) -> None:
    """Counts the edges of these rows that are on the lists of both ends, for all bits of both."""
    u: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.int
    shared: cython.ulonglong
    with cython.nogil:
        for u in range(begin, end):
            if not words[u]:
                continue
            for i in range(begins[u], ends[u]):
                v = to[i]
                shared = words[u] & words[v]
                if shared and v <= last[u] and u <= last[v]:
                    while shared:
                        result[trailing_zeros(shared)] += 1
                        shared &= shared - 1
