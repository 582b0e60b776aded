"""The edges of a simple graph, in rows.

Every edge is held once, at the lower of its two ends: that is enough for degrees and for all that
the default of `dampen.top_k` asks, and takes half the sorting.  Whole rows, with every edge at both
ends, are made when they are asked for, and then stand in for the others.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.questions.nodes.threads import cores, in_threads

Ends: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
Counts: TypeAlias = NDArray[np.int32]
HalfRows: TypeAlias = tuple[IntArray, IntArray, NDArray[np.int32]]
"""Begin, end and to: node v has the higher neighbours to[begin[v]:end[v]], in any order."""
Ranges: TypeAlias = list[tuple[int, int]]
Run: TypeAlias = Callable[[int, int], None]

FEW = 1 << 10
"""Edges that numpy sorts sooner than kernels are called."""
PART = 1 << 20
"""Edges that a thread takes at a time: some milliseconds."""
MOST_PARTS = 64
BUCKET = 1 << 16
"""Edges that fit into a cache, with their rows."""
MOST_BUCKETS = 1 << 10
CELL_BITS = 14
"""Buckets are made of cells: nodes that agree in these upper bits of their number."""


class Rows:
    """The edges of a simple graph on nodes 0, 1, ..., n-1; see `rows_of`."""

    __slots__ = ("_ranges", "_whole", "degrees", "half")

    def __init__(self, half: HalfRows, degrees: IntArray) -> None:
        degrees.flags.writeable = False
        self.half = half
        self.degrees = degrees
        self._whole: tuple[IntArray, NDArray[np.int32]] | None = None
        self._ranges: Ranges | None = None

    @property
    def whole(self) -> tuple[IntArray, NDArray[np.int32]]:
        """Node v has the neighbours to[first[v]:first[v + 1]], sorted: first and to."""
        from dampen.kernels.adjacency import both_ways

        if self._whole is None:
            first, to, later = both_ways(*self.half, self.degrees)
            self._whole = (first, to)
            self.half = (later, first[1:], to)
        return self._whole

    def share(self, worker: Callable[[], Run]) -> None:
        """Runs a kernel over all nodes, on all cores; a worker's memory is linear in n."""
        _shared(worker, self.ranges(), len(self.half[2]), len(self.degrees))

    def ranges(self) -> Ranges:
        """Ranges of nodes with about as many edges as a thread takes at a time."""
        if self._ranges is None:
            edges = np.cumsum(self.half[1] - self.half[0])
            cuts = np.searchsorted(edges, np.arange(PART, edges[-1], PART))
            self._ranges = list(pairwise(np.unique([0, *cuts, len(edges)]).tolist()))
        return self._ranges


def rows_of(src: NDArray[np.int32], dst: NDArray[np.int32], n: int) -> Rows:
    """Rows of an undirected graph from edges that may repeat, turn round or loop.

    Guarantee: neither the degrees nor the whole rows depend on the order of edges or the number of
    threads.
    """
    ends = _read_only(src), _read_only(dst)
    return _in_order(_put_in_order(ends, n) if len(src) < FEW else ends, n) or _sorted(ends, n)


def _put_in_order(ends: Ends, n: int) -> Ends:
    """Each edge once, in order.  For few edges that is faster than one kernel after the other."""
    low = np.minimum(*ends)
    high = np.maximum(*ends)
    codes = np.unique((low.astype(np.int64) * n + high)[low < high])
    first, second = np.divmod(codes, n)
    return _read_only(first), _read_only(second)


def _in_order(ends: Ends, n: int) -> Rows | None:
    """Edges that rise are in rows already; None for others, which mostly shows at once."""
    from dampen.kernels.half_rows import rows_in_order

    m = len(ends[0])
    first = np.full(n + 1, m, dtype=np.int64)
    to = np.empty(m, dtype=np.int32)
    counted = list[Counts]()
    falls = list[int]()

    def worker() -> Run:
        above = _counts(n, counted)

        def run(begin: int, end: int) -> None:
            if not falls and not rows_in_order(begin, end, *ends, first, to, above):
                falls.append(begin)

        return run

    _shared(worker, _parts(m), m, n)
    return None if falls else _rows(first, to, counted)


def _sorted(ends: Ends, n: int) -> Rows:
    """Edges in any order: dealt into buckets, and those sorted into rows."""
    first = np.zeros(n + 1, dtype=np.int64)
    counted = list[Counts]()
    to, starts, kept = _bucket_rows(_dealt(ends, n), first[1:], counted)
    np.cumsum(first, out=first)
    if first[n] < len(to):
        to = np.concatenate([to[a:b] for a, b in zip(starts, kept, strict=True)])
    return _rows(first, to, counted)


class Buckets(NamedTuple):
    """Edges without loops: pairs[starts[b]:starts[b + 1]] have their lower end in bucket b."""

    pairs: NDArray[np.uint64]
    starts: list[int]
    nodes: list[int]


def _dealt(ends: Ends, n: int) -> Buckets:
    """Buckets with as many nodes each as make them about equal."""
    from dampen.kernels.half_rows import count_cells, deal

    m = len(ends[0])
    shift = max(0, (n - 1).bit_length() - CELL_BITS)
    parts = _parts(m)
    number = {begin: i for i, (begin, _) in enumerate(parts)}
    counts = np.zeros((len(parts), ((n - 1) >> shift) + 2), dtype=np.int64)

    def count(begin: int, end: int) -> None:
        count_cells(begin, end, *ends, shift, counts[number[begin], 1:])

    _shared(lambda: count, parts, m, n)
    below = np.cumsum(counts, axis=1)
    kept = int(below[:, -1].sum())
    buckets = min(max(kept // BUCKET, 1), MOST_BUCKETS)
    bucket = below[:, :-1].sum(axis=0) * buckets // max(kept, 1)
    cells = np.searchsorted(bucket, np.arange(buckets + 1))
    starts = below[:, cells].sum(axis=0)
    sizes = np.diff(below[:, cells], axis=1)
    place = np.ascontiguousarray(starts[:-1] + np.cumsum(sizes, axis=0) - sizes)
    pairs = np.empty(kept, dtype=np.uint64)

    def run(begin: int, end: int) -> None:
        deal(begin, end, *ends, shift, bucket, place[number[begin]], pairs)

    _shared(lambda: run, parts, m, n)
    return Buckets(pairs, starts.tolist(), np.minimum(cells << shift, n).tolist())


def _bucket_rows(
    of: Buckets, lengths: IntArray, counted: list[Counts]
) -> tuple[NDArray[np.int32], list[int], list[int]]:
    """The rows of all buckets, with gaps where edges repeat: where each begins and ends."""
    from dampen.kernels.half_rows import fill_rows

    n = len(lengths)
    m = len(of.pairs)
    kept = of.starts[1:]
    to = np.empty(m, dtype=np.int32)

    def worker() -> Run:
        above = _counts(n, counted)
        bits = np.zeros(n // 64 + 1, dtype=np.uint64)

        def run(b: int, _: int) -> None:
            nodes = of.nodes[b], of.nodes[b + 1]
            within = of.starts[b], of.starts[b + 1]
            kept[b] = fill_rows(*within, *nodes, of.pairs, lengths, to, above, bits)

        return run

    _shared(worker, [(b, b + 1) for b in range(len(kept))], m, n)
    return to, of.starts[:-1], kept


def _counts(n: int, counted: list[Counts]) -> Counts:
    """What one thread counts; noted, to be added up."""
    above = np.zeros(n, dtype=np.int32)
    counted.append(above)
    return above


def _rows(first: IntArray, to: NDArray[np.int32], above: list[Counts]) -> Rows:
    degrees = np.diff(first)
    for counted in above:
        degrees += counted
    return Rows((first[:-1], first[1:], to), degrees)


def _read_only(column: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same numbers as kernels take them: whoever else holds them, they are not written."""
    seen = np.require(column, np.int32, ["C", "A"]).view()
    seen.flags.writeable = False
    return seen


def _parts(m: int) -> Ranges:
    size = max(PART, -(-m // MOST_PARTS))
    return [(begin, min(begin + size, m)) for begin in range(0, m, size)]


def _shared(worker: Callable[[], Run], ranges: Ranges, m: int, n: int) -> None:
    """All ranges, on all cores if the memory of each, which is linear in n, is small beside m."""
    threads = min(cores(), len(ranges), max(2 * m // n, 1))
    in_threads(worker, ranges, np.zeros(1, dtype=np.uint8), threads=threads)
