"""What the second of two rounds counts, from rows that hold every edge once.

See `dampen.questions.nodes.two_rounds` for what it is good for.  All results are integers, which
depend neither on the order of edges nor on the number of threads.
"""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.questions.nodes.graphs import Graph
from dampen.questions.nodes.half_adjacency import Rows, Run

WORD = 64
"""Bits of a word, one for each node of a part of the shortlist."""


def oriented_degrees(graph: Graph, level: IntArray) -> IntArray:
    """How many neighbours of every node have a lower level; at equal levels the name decides."""
    from dampen.kernels.half_counts import count_oriented

    rows = graph.rows
    results = list[NDArray[np.int32]]()

    def worker() -> Run:
        own = np.zeros(len(level), dtype=np.int32)
        results.append(own)
        return lambda *nodes: count_oriented(*nodes, *rows.half, level, own)

    rows.share(worker)
    return np.sum(results, axis=0, dtype=np.int64)


def counts_around(
    nodes: IntArray, length: int, graph: Graph, *, whole: bool = False
) -> tuple[IntArray, IntArray]:
    """How many neighbours outside a shortlist, and how many edges among them, on both lists.

    The list of a node has its first `length` neighbours outside the shortlist, by their places in
    `graph.nodes`.  With `whole`, nobody is left out.
    """
    from dampen.kernels.half_counts import count_outside, fill_lists, fill_words

    rows = graph.rows
    n = len(graph.nodes)
    on_it = np.zeros(n, dtype=np.bool_)
    number = np.full(n, -1, dtype=np.int32)
    on_it[nodes] = not whole
    number[nodes] = np.arange(len(nodes))
    last = np.full(n, n, dtype=np.int32)
    long = (rows.degrees > length) & ~on_it
    edges = _edges_at(long | (number >= 0), rows)
    left_out = on_it.view(np.uint8)
    fill_lists(*edges, *rows.half, left_out, last, long.view(np.uint8), length)
    outside, found = np.zeros((2, len(nodes)), dtype=np.int64)
    count_outside(*edges, number, left_out, outside)
    for begin in range(0, len(nodes), WORD):
        words = np.zeros(n, dtype=np.uint64)
        part = found[begin : begin + WORD]
        fill_words(*edges, number, left_out, begin, words)
        part += _triangles(words, last, rows)[: len(part)]
    return outside, found


def _edges_at(chosen: NDArray[np.bool_], rows: Rows) -> tuple[NDArray[np.int32], ...]:
    """All edges with an end among the chosen nodes: lower ends, which rise, and higher ends."""
    from dampen.kernels.half_counts import count_touching, fill_touching

    marked = chosen.view(np.uint8)
    counts = dict.fromkeys((begin for begin, _ in rows.ranges()), 0)

    def count(begin: int, end: int) -> None:
        counts[begin] = count_touching(begin, end, *rows.half, marked)

    rows.share(lambda: count)
    stops = dict(zip(counts, accumulate(counts.values()), strict=True))
    low, high = np.empty((2, sum(counts.values())), dtype=np.int32)

    def fill(begin: int, end: int) -> None:
        mine = slice(stops[begin] - counts[begin], stops[begin])
        fill_touching(begin, end, *rows.half, marked, low[mine], high[mine])

    rows.share(lambda: fill)
    return low, high


def _triangles(words: NDArray[np.uint64], last: NDArray[np.int32], rows: Rows) -> IntArray:
    """Per bit of a word, the edges between nodes that have it, as far as their lists go."""
    from dampen.kernels.half_counts import count_triangles

    results = list[IntArray]()

    def worker() -> Run:
        own = np.zeros(WORD, dtype=np.int64)
        results.append(own)
        return lambda *nodes: count_triangles(*nodes, *rows.half, last, words, own)

    rows.share(worker)
    return np.sum(results, axis=0, dtype=np.int64)
