"""Rows that hold every edge of a simple graph once, at the lower of its two ends.

Edges that repeat, turn round or loop are dropped on the way.  They are dealt by their lower end
into buckets of a size that a cache holds; a bucket is sorted into rows by counting; and a bit for
every node tells who is in a row already.  Edges that come in order need none of that.

Kernels work on a range of edges, so that threads can share them: what they fill in belongs to that
range alone, and what they count to the thread.  Arrays that come again and again:

- `src`, `dst`: the two ends of all edges;
- `first` or `length`: per node, where its row begins or how long it is; `to`: the rows; `above`:
  per node, how many edges have their higher end there; `bits`: a bit per node, whether it is in the
  current row, 0 before and after;
- `bucket`: per cell, its bucket; a node is shifted by `shift` bits to find its cell; `place`: per
  bucket, where the next edge of this range goes; `pairs`: the edges, the lower end in the upper 32
  bits.
"""

from __future__ import annotations

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython


@kernel
def rows_in_order(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    src: cython.const[cython.int][::1],
    dst: cython.const[cython.int][::1],
    first: cython.longlong[::1],
    to: cython.int[::1],
    above: cython.int[::1],
) -> bool:
    """Whether these edges rise, by their lower end and then by the other, which comes second.

    Such edges are in rows already, which are filled in, with the beginnings of those that begin
    here.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    u: cython.int
    v: cython.int
    low: cython.int = src[begin - 1] if begin else -1
    high: cython.int = dst[begin - 1] if begin else -1
    rises: cython.bint = True
    with cython.nogil:
        for i in range(begin, end):
            u = src[i]
            v = dst[i]
            if u != low:
                if u < low:
                    rises = False
                    break
                for row in range(low + 1, u + 1):
                    first[row] = i
                low = u
                high = u
            if v <= high:
                rises = False
                break
            high = v
            to[i] = v
            above[v] += 1
    return rises


@kernel
def count_cells(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    src: cython.const[cython.int][::1],
    dst: cython.const[cython.int][::1],
    shift: cython.int,
    counts: cython.longlong[::1],
) -> None:
    """Counts these edges, but loops, by the upper bits of their lower end."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(begin, end):
            counts[min(src[i], dst[i]) >> shift] += src[i] != dst[i]


@kernel
def deal(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    src: cython.const[cython.int][::1],
    dst: cython.const[cython.int][::1],
    shift: cython.int,
    bucket: cython.const[cython.longlong][::1],
    place: cython.longlong[::1],
    pairs: cython.ulonglong[::1],
) -> None:
    """Puts these edges, but loops, into the buckets of their cells."""
    i: cython.Py_ssize_t
    b: cython.longlong
    low: cython.ulonglong
    high: cython.ulonglong
    with cython.nogil:
        for i in range(begin, end):
            if src[i] != dst[i]:
                low = min(src[i], dst[i])
                high = max(src[i], dst[i])
                b = bucket[low >> shift]
                pairs[place[b]] = low << 32 | high
                place[b] += 1


@kernel
def fill_rows(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    node_end: cython.Py_ssize_t,
    pairs: cython.const[cython.ulonglong][::1],
    length: cython.longlong[::1],
    to: cython.int[::1],
    above: cython.int[::1],
    bits: cython.ulonglong[::1],
) -> int:
    """Sorts one bucket, of the lower ends node .. node_end - 1, into rows without repeats.

    The rows follow each other from `begin` on; fills in their lengths, returns where they end.
    """
    rows: cython.Py_ssize_t = node_end - node
    fill: cython.longlong[::1] = memoryview(np.zeros(rows + 1, np.int64))
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    start: cython.Py_ssize_t
    kept: cython.Py_ssize_t = begin
    v: cython.int
    bit: cython.ulonglong
    one: cython.ulonglong = 1
    with cython.nogil:
        for i in range(begin, end):
            fill[(pairs[i] >> 32) - node + 1] += 1
        fill[0] = begin
        for row in range(rows):
            fill[row + 1] += fill[row]
        for i in range(begin, end):
            row = (pairs[i] >> 32) - node
            to[fill[row]] = pairs[i] & 0x7FFFFFFF
            fill[row] += 1
        i = begin
        for row in range(rows):
            start = kept
            while i < fill[row]:
                v = to[i]
                bit = one << (v & 63)
                if not bits[v >> 6] & bit:
                    bits[v >> 6] |= bit
                    to[kept] = v
                    above[v] += 1
                    kept += 1
                i += 1
            for j in range(start, kept):
                bits[to[j] >> 6] = 0
            length[node + row] = kept - start
    return kept
