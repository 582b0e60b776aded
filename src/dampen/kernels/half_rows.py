"""Rows that hold every edge of a simple graph once, at the lower of its two ends.

Edges that repeat, turn round or loop are dropped on the way.  They are dealt by their lower end
into buckets of a size that a cache holds; a bucket is sorted into rows by counting; and a bit for
every node tells who is in a row already.  Edges that come in order need none of that.

Kernels work on a range of edges, so that threads can share them: what they fill in belongs to that
range alone, and what they count to the thread.  Arrays that belong together come in tuples, which
are cheaper to hand over than named ones:

- `ends`: the two ends of all edges;
- `rows`: per node, where its row begins or how long it is; the rows; per node, how many edges have
  their higher end there; and a bit per node, whether it is in the current row, 0 before and after;
- `buckets`: by how many bits a node is shifted to find its cell; per cell, its bucket; per bucket,
  where the next edge of this range goes; and the edges, the lower end in the upper 32 bits.
"""

from typing import Any

import numpy as np

from dampen.kernels.compile import compiled

HALF = np.uint64(32)
LOW_HALF = np.uint64((1 << 32) - 1)
WORD = np.uint32(6)
LAST_BIT = np.uint32(63)
ONE = np.uint64(1)


@compiled
def rows_in_order(begin: int, end: int, ends: Any, rows: Any) -> bool:
    """Whether these edges rise, by their lower end and then by the other, which comes second.

    Such edges are in rows already, which are filled in, with the beginnings of those that begin
    here.
    """
    src, dst = ends
    first, to, above, _ = rows
    low, high = (src[begin - 1], dst[begin - 1]) if begin else (-1, -1)
    for i in range(begin, end):
        u = src[i]
        v = dst[i]
        if u != low:
            if u < low:
                return False
            for row in range(low + 1, u + 1):
                first[row] = i
            low = u
            high = u
        if v <= high:
            return False
        high = v
        to[i] = v
        above[v] += 1
    return True


@compiled
def count_cells(begin: int, end: int, ends: Any, shift: int, counts: Any) -> None:
    """Counts these edges, but loops, by the upper bits of their lower end."""
    src, dst = ends
    for i in range(begin, end):
        counts[min(src[i], dst[i]) >> shift] += src[i] != dst[i]


@compiled
def deal(begin: int, end: int, ends: Any, buckets: Any) -> None:
    """Puts these edges, but loops, into the buckets of their cells."""
    src, dst = ends
    shift, bucket, place, pairs = buckets
    for i in range(begin, end):
        u = np.uint64(src[i])
        v = np.uint64(dst[i])
        if u != v:
            low = min(u, v)
            high = max(u, v)
            b = bucket[low >> np.uint64(shift)]
            pairs[place[b]] = low << HALF | high
            place[b] += 1


@compiled
def fill_rows(begin: int, end: int, nodes: tuple[int, int], pairs: Any, rows: Any) -> int:
    """Sorts one bucket, of the lower ends nodes[0] .. nodes[1] - 1, into rows without repeats.

    The rows follow each other from `begin` on; fills in their lengths, returns where they end.
    """
    node = nodes[0]
    length, to, above, bits = rows
    fill = np.zeros(nodes[1] - node + 1, np.int64)
    for i in range(begin, end):
        fill[np.int64(pairs[i] >> HALF) - node + 1] += 1
    fill[0] = begin
    for row in range(len(fill) - 1):
        fill[row + 1] += fill[row]
    for i in range(begin, end):
        place = np.int64(pairs[i] >> HALF) - node
        to[fill[place]] = np.int32(pairs[i] & LOW_HALF)
        fill[place] += 1
    i = kept = begin
    for row in range(len(fill) - 1):
        start = kept
        while i < fill[row]:
            v = np.uint32(to[i])
            bit = ONE << np.uint64(v & LAST_BIT)
            word = bits[v >> WORD]
            if not word & bit:
                bits[v >> WORD] = word | bit
                to[kept] = to[i]
                above[v] += 1
                kept += 1
            i += 1
        for j in range(start, kept):
            bits[np.uint32(to[j]) >> WORD] = 0
        length[node + row] = kept - start
    return kept
