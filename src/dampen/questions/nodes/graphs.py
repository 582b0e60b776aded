"""Graphs in compressed rows, and their egocentric betweenness, exact, on all cores.

- `Graph`, `Rows`: a graph, and the edges of a simple graph, in rows.
- `egocentric_betweenness`, `betweenness`, `codegrees`: numbers of all nodes, exact and not private.
- `noisy_copy`: a noisy copy of a graph, which is private.
- `in_threads`: work on all cores: ranges of a kernel that gives back the interpreter's lock.

A `Graph` is undirected and simple, on a public set of nodes; its edges are private, so nothing
here shows or tells how many there are.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil, exp, log
from threading import Thread
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import LARGEST_SCALE, Entropy, geometric
from dampen.core.selection import FloatArray, IntArray
from dampen.data.cells import Numbering, as_labels, is_label
from dampen.data.edges import (
    OpenedEdges,
    edge_pair,
    memory_of_machine,
    numbered_edges,
    open_edges,
    readable,
)
from dampen.errors import ParameterError, a_thing
from dampen.progress import progress

Worker: TypeAlias = Callable[[], Callable[[int, int], Any]]


def cores() -> int:
    """How many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    worker: Worker,
    ranges: Iterable[tuple[int, int]],
    stop: Any,
    *,
    threads: int,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Runs a kernel over all ranges.

    Every thread makes its own worker and takes the next range when it is done with one.  An
    interrupt raises the stop flag, which ends every thread at its next range, or sooner where the
    kernel reads it, and waits for them.  One thread is the caller's.
    """
    left = iter(ranges)
    done = list[int]()
    errors = list[BaseException]()
    if threads <= 1:
        _drain(worker, left, done, stop)
        return

    def helped() -> None:
        try:
            _drain(worker, left, done, stop)
        except BaseException as error:
            stop[0] = True
            errors.append(error)

    helpers = [Thread(target=helped, daemon=True) for _ in range(threads)]
    try:
        for helper in helpers:
            helper.start()
        _watch(helpers, done, advance)
    except BaseException:
        stop[0] = True
        for helper in helpers:
            if helper.is_alive():
                helper.join()
        raise
    if errors:
        raise errors[0]


def _drain(worker: Worker, ranges: Iterator[tuple[int, int]], done: list[int], stop: Any) -> None:
    run = worker()
    for begin, end in ranges:
        if stop[0]:
            return
        run(begin, end)
        done.append(end - begin)


def _watch(helpers: list[Thread], done: list[int], advance: Callable[[int], None]) -> None:
    """Waits for all threads, awake often enough for an interrupt and the progress bar.

    Plain threads, not futures: an interrupt while futures are waited for can leave them locked.
    """
    shown = 0
    for helper in helpers:
        while helper.is_alive():
            helper.join(0.1)
            total = sum(done[:])
            advance(total - shown)
            shown = total


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
    """The edges of a simple graph on nodes 0, 1, ..., n-1; see `rows_of`.

    Every edge is held once, at the lower of its two ends: that is enough for degrees and for all
    that the default of `dampen.top_k` asks, and takes half the sorting.  Whole rows, with every
    edge at both ends, are made when they are asked for, and then stand in for the others.
    """

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
        from dampen.kernels.graphs import both_ways

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
    from dampen.kernels.graphs import rows_in_order

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
    from dampen.kernels.graphs import count_cells, deal

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
    from dampen.kernels.graphs import fill_rows

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
    """The same numbers as a read-only array in the layout that kernels take."""
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


SMALL = 1 << 16
"""Graphs with less work than this, in squared degrees, are not worth a second thread."""
CHUNK = 1 << 18
"""Work, in squared degrees, that a thread takes at a time: some milliseconds."""
MOST_CHUNKS = 512
LARGEST_N = 1 << 30
BYTES_PER_NODE = 64
"""What a node takes in the arrays of a release, at least."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """An undirected simple graph on a public set of nodes.

    Attributes:
        nodes: the labels, in the order of all results; public.
        rows: the edges; private.
    """

    nodes: Sequence[Hashable]
    rows: Rows

    def __repr__(self) -> str:
        return f"<Graph on {len(self.nodes)} nodes>"

    @property
    def degrees(self) -> IntArray:
        """The number of neighbours of every node; not to be written."""
        return self.rows.degrees

    @property
    def first(self) -> IntArray:
        """Node i has the neighbours to[first[i]:first[i + 1]], sorted."""
        return self.rows.whole[0]

    @property
    def to(self) -> NDArray[np.int32]:
        """The neighbours of all nodes; see `first`."""
        return self.rows.whole[1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Degrees:
    """The degrees of a graph, where nothing else was counted; see `Graph`."""

    nodes: Sequence[Hashable]
    degrees: IntArray


def graph_of(data: Any, nodes: Sequence[Hashable] | None = None) -> Graph:
    """Any graph that `dampen.data.edges.open_edges` takes, on the given nodes.

    Direction is forgotten; loops and repeated edges are dropped, and so are rows that do not join
    two of the nodes.  Without `nodes`, the nodes of the input count, or else those that have an
    edge.
    """
    if isinstance(data, Graph):
        return data if nodes is None or same_nodes(data.nodes, nodes) else _renumbered(data, nodes)
    return load_graph(open_edges(data), nodes)


def load_graph(opened: OpenedEdges, nodes: Sequence[Hashable] | None = None) -> Graph:
    """Reads the edges of an opened graph; see `graph_of`."""
    if nodes is None:
        ends = readable(*opened.load(None))
        nodes = _labels(known_nodes(opened) or opened.nodes_of(*ends))
        opened = replace(opened, load=lambda _: ends, pieces=None)
    check_size(len(nodes))
    return Graph(nodes, rows_of(*numbered_edges(opened, nodes), len(nodes)))


def bounded(graph: Graph, max_degree: int) -> Graph:
    """The graph less what exceeds a public bound on degrees: all degrees are at most `max_degree`.

    An edge stays if each of its ends is among the first `max_degree` neighbours of the other, in
    the order of `graph.nodes`.  A graph within the bound stays as it is.

    Guarantee: one edge more or less changes at most three edges of the result, itself and the last
    ones that it pushes from the lists of its two ends.  No rule that keeps graphs within the bound
    does with one: of a star with D + 1 rays, all D + 1 graphs with a ray less would have to differ
    from the result by one edge.
    """
    if graph.degrees.max(initial=0) <= max_degree:
        return graph
    n = len(graph.nodes)
    at = np.repeat(np.arange(n), graph.degrees)
    listed = np.arange(len(graph.to)) - graph.first[at] < max_degree
    one = at[listed]
    other = graph.to[listed]
    codes = np.minimum(one, other) * n + np.maximum(one, other)
    codes, times = np.unique(codes, return_counts=True)
    lower, higher = np.divmod(codes[times == 2], n)
    return Graph(graph.nodes, rows_of(lower.astype(np.int32), higher.astype(np.int32), n))


RARELY = 10
"""How many times n the odds must be for a copy to be nearly the graph."""
MOSTLY_NOISE = Fraction(1, 20)
"""Of n: odds below which the copy is not made, for it would hold ten wrong pairs per node."""
LARGE_MEAN = 500
"""Of a Poisson number, from which on its tail is bounded instead of summed."""


def odds(epsilon: Fraction) -> int:
    """s: an integer that is at most e^ε, nearly always the largest, and at most 2^40."""
    from flint import arb, ctx, fmpq

    at_most = min(epsilon, Fraction(LARGEST_SCALE.bit_length()))
    with ctx.workprec(128):
        lowest = arb(fmpq(at_most.numerator, at_most.denominator)).exp().lower().floor()
        whole = lowest.unique_fmpz()
    assert whole is not None
    return min(int(whole), LARGEST_SCALE)


def copies_well(n: int, epsilon: Fraction) -> bool:
    """Whether a noisy copy of a graph with n nodes is nearly the graph itself."""
    return odds(epsilon) >= RARELY * n


def check_odds(n: int, epsilon: Fraction) -> None:
    """A noisy copy that is mostly noise would not fit into memory either.

    Raises:
        ParameterError: if ε is too small for n nodes.
    """
    least = max(MOSTLY_NOISE * n, Fraction(2))
    if odds(epsilon) < least:
        raise ParameterError(
            f"Expected epsilon >= {ceil(10 * log(least)) / 10 + 0.1:.1f} for a noisy copy of a "
            f"graph with {n} nodes. Raise epsilon, or leave mechanism out."
        )


def wrong_pairs(n: int, epsilon: Fraction, confidence: float) -> int:
    """How many pairs of a noisy copy are wrong at most, with this probability or more.

    Flips are at most a Poisson number of mean μ.  Its tail is summed, or for large μ bounded by
    Bernstein's inequality: it exceeds μ + x with a chance of at most exp(-x² / (2μ + 2x/3)).
    """
    mean = n * (n - 1) / 2 / odds(epsilon)
    rare = -log(1 - confidence)
    if mean > LARGE_MEAN:
        return ceil(mean + rare / 3 + (rare**2 / 9 + 2 * mean * rare) ** 0.5)
    count = 0
    chance = total = exp(-mean)
    while total < confidence:
        count += 1
        chance *= mean / count
        total += chance
    return count


def noisy_copy(graph: Graph, epsilon: Fraction, entropy: Entropy) -> Graph:
    """The graph after random pairs were flipped: ε-DP under adding or removing one edge.

    **A noisy copy of a graph** tells all of it where ε is large.  Every one of the N = n (n-1) / 2
    pairs of nodes is flipped, from an edge to none or the other way, independently, with the chance
    p = 1 - exp(-1/s), where s is an integer with 2 <= s <= e^ε (`odds`).

    **Theorem.**  The copy is ε-DP under adding or removing one edge, and so is all that is computed
    from it.  Proof.  One edge more or less changes one pair.  Whatever the copy says of that pair,
    the chance of it changes by the factor (1 - p) / p = 1 / (exp(1/s) - 1), or by one over that.
    As exp(x) - 1 >= x, it is at most s <= e^ε; and it is at least 1, because
    exp(1/s) <= exp(1/2) < 2.  ∎

    The loss is above ε - 2/s, unless s is cut off at 2^40.

    The pairs that are flipped do not depend on the graph, and the distance from one to the next is
    geometric, so that drawing them takes O(N/s) numbers.  A Poisson number of mean 1/s is 0 with
    the chance exp(-1/s) = 1 - p.  So the number of flips is at most a Poisson number of mean N/s
    (`wrong_pairs`).  At s >= 10 n about one node in ten has a wrong neighbour; with another log n
    of ε the copy is the graph itself.
    """
    n = len(graph.nodes)
    begins, ends, to = graph.rows.half
    lower = np.repeat(np.arange(n), ends - begins)
    after = np.cumsum(ends - begins) - (ends - begins)
    higher = to[np.arange(len(lower)) + (begins - after)[lower]]
    flipped = flipped_pairs(n, odds(epsilon), entropy)
    codes = np.setxor1d(lower * n + higher, flipped, assume_unique=True)
    low, high = np.divmod(codes, n)
    return Graph(graph.nodes, rows_of(low.astype(np.int32), high.astype(np.int32), n))


def flipped_pairs(n: int, scale: int, entropy: Entropy) -> IntArray:
    """Each pair i < j of n nodes, as i n + j, independently with the chance 1 - exp(-1 / scale).

    Pairs are numbered by their distance on a circle of all nodes, which takes no roots.
    """
    pairs = n * (n - 1) // 2
    batch = pairs // scale + 16
    found = list[IntArray]()
    last = -1
    while last < pairs:
        found.append(last + np.cumsum(geometric(Fraction(scale), batch, entropy) + 1))
        last = int(found[-1][-1])
    places = np.concatenate(found)
    distance, one = np.divmod(places[places < pairs], n)
    other = (one + distance + 1) % n
    return np.minimum(one, other) * n + np.maximum(one, other)


def load_degrees(opened: OpenedEdges, nodes: Sequence[Hashable]) -> "Degrees | Graph":
    """The degrees alone, counted by the engine that holds the edges, or else the graph."""
    degrees = None if opened.degrees is None else opened.degrees(Numbering(nodes))
    return load_graph(opened, nodes) if degrees is None else Degrees(nodes, degrees)


def load_in_degrees(opened: OpenedEdges, nodes: Sequence[Hashable]) -> Degrees:
    """How many different sources among the nodes every node has; loops do not count."""
    src, dst = numbered_edges(opened, nodes)
    joins = src != dst
    pairs = np.unique(src[joins].astype(np.int64) * len(nodes) + dst[joins])
    return Degrees(nodes, np.bincount(pairs % len(nodes), minlength=len(nodes)))


@cache
def made_up_graph() -> Graph:
    """Four nodes, for what is the same on every graph."""
    return load_graph(edge_pair([0, 1, 0, 2], [1, 2, 2, 3]), range(4))


def known_nodes(opened: OpenedEdges) -> Sequence[Hashable] | None:
    """The nodes that the input states or carries; None for a bare edge list."""
    return opened.carried() if opened.nodes is None and opened.carried else opened.nodes


def check_size(n: int) -> None:
    """A graph has at least one node, at most 2^30, and fits into memory."""
    if n < 1:
        raise ParameterError("Expected a graph with at least one node, got an empty one.")
    if n > LARGEST_N:
        raise ParameterError(f"Expected at most 2^30 nodes, got {n}.")
    if n > _most_nodes():
        raise ParameterError(
            f"Expected at most {_most_nodes()} nodes on this machine, got {n}: they would not fit "
            "into its memory."
        )


def _most_nodes() -> int:
    """How many nodes a graph may have on this machine."""
    return min(LARGEST_N, memory_of_machine() // BYTES_PER_NODE)


def same_nodes(one: Sequence[Hashable], other: Sequence[Hashable]) -> bool:
    """Whether two node sets are equal, in the same order."""
    if one is other or (isinstance(one, range) and isinstance(other, range)):
        return one == other
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def egocentric_betweenness(
    graph: Any, *, nodes: Sequence[Hashable] | None = None, n: int | None = None
) -> Any:
    """The egocentric betweenness of every node, exact; NOT private.

    EBC(c) is the sum of 1 / (1 + g) over the pairs of neighbours of c that are not adjacent, with g
    the number of other neighbours of c adjacent to both: the betweenness of c in its ego network.

    Guarantee: every value has a relative error below 2^-51 and is exactly 0 where EBC is 0; the
    result does not depend on the number of threads.

    Args:
        graph: any graph; see `dampen.top_k`.
        nodes: the nodes, where the input does not say them; nodes without edges have EBC 0.
        n: short for nodes 0, 1, ..., n-1.

    Returns:
        An array indexed by node where the nodes are 0, 1, ..., n-1, else {label: value}.

    >>> egocentric_betweenness(([0, 0, 0], [1, 2, 3]), n=5)
    array([3., 0., 0., 0., 0.])
    """
    made = graph_of(graph, node_set(nodes, n))
    values = betweenness(made)
    if isinstance(made.nodes, range):
        return values
    return dict(zip(made.nodes, values.tolist(), strict=True))


def node_set(nodes: Sequence[Hashable] | None, n: int | None) -> Sequence[Hashable] | None:
    """The public nodes: a list without repeats, or 0 .. n-1, or None where neither is given."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer)):
        raise ParameterError(f"Expected n to be an integer >= 1, got n={n!r}.")
    if nodes is None and n is None:
        return None
    known = range(int(n or 0)) if nodes is None else _labels(nodes)
    check_size(len(known))
    if n is not None and len(known) != n:
        raise ParameterError("Expected nodes= or n=, got both, and they disagree.")
    return known


def _labels(nodes: Any) -> Sequence[Hashable]:
    if isinstance(nodes, range):
        return nodes
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        raise ParameterError(f"Expected nodes to be a list of labels, got {a_thing(nodes)}.")
    labels: list[Hashable] = as_labels(list(nodes)).tolist()
    if not all(map(is_label, labels)):
        raise ParameterError("Expected nodes to be integers or text, none of them missing.")
    if len(set(labels)) < len(labels):
        raise ParameterError("Expected nodes without repeats; some occur twice.")
    return labels


def betweenness(graph: Graph, chosen: IntArray | None = None) -> FloatArray:
    """The egocentric betweenness of every node, in the order of `graph.nodes`, or of some of them.

    Guarantee: the value of a node does not depend on who else is chosen.
    """
    from dampen.kernels.egos import Workspace, betweenness_of
    from dampen.kernels.graphs import by_degree

    n = len(graph.nodes)
    ordered = by_degree(graph.first, graph.to)
    place = np.empty(n, dtype=np.int64)
    result = np.zeros(n)
    place[ordered.order] = np.arange(n)
    egos = np.arange(n) if chosen is None else np.sort(place[chosen])
    degrees = np.diff(ordered.first)[egos]
    stop = np.zeros(1, dtype=np.uint8)
    largest = int(degrees.max(initial=0))

    def worker() -> Callable[[int, int], None]:
        work = Workspace(n, len(graph.to) // 2, largest, stop)
        return lambda begin, end: betweenness_of(egos[begin:end], *ordered[1:], work, result)

    for_all(worker, degrees, stop, "Egocentric betweenness")
    return result[place if chosen is None else place[chosen]]


def codegrees(graph: Graph) -> IntArray:
    """For every node, the largest number of neighbours that it shares with any other node."""
    from dampen.kernels import egos as kernels
    from dampen.kernels.graphs import by_degree

    n = len(graph.nodes)
    ordered = by_degree(graph.first, graph.to)
    hub = kernels.first_hub(ordered.first)
    words = np.zeros(n, dtype=np.uint64)
    kernels.fill_words(ordered.first, ordered.to, hub, words)
    stop = np.zeros(1, dtype=np.uint8)
    hubs = np.zeros(n, dtype=np.int64)
    results = [hubs]

    def worker() -> Callable[[int, int], None]:
        common = np.zeros(n, dtype=np.int32)
        touched = np.empty(n + 1, dtype=np.uint32)
        own = np.zeros(n, dtype=np.int64)
        results.append(own)
        return lambda *nodes: kernels.codegrees_of_range(
            *nodes, ordered.first, ordered.to, hub, words, common, touched, stop, own
        )

    for_all(worker, np.diff(ordered.first), stop, "Codegrees")
    kernels.shared_hubs(words, hubs)
    largest = np.empty(n, dtype=np.int64)
    largest[ordered.order] = np.maximum.reduce(results)
    return largest


def for_all(worker: Worker, degrees: IntArray, stop: Any, label: str) -> None:
    """Runs a kernel over nodes of these degrees on all cores, those at the end first.

    Kernels read the stop flag at every node; see `dampen.questions.nodes.graphs.in_threads`.
    """
    n = len(degrees)
    if n == 0:
        return
    cost = np.cumsum(np.square(degrees.astype(np.float64)) + 1)
    if cost[-1] <= SMALL:
        worker()(0, n)
        return
    with progress(n, label) as advance:
        in_threads(worker, _ranges(cost), stop, threads=cores(), advance=advance)


def _ranges(cost: FloatArray) -> list[tuple[int, int]]:
    """Ranges of nodes of about equal cost, from the costliest end."""
    chunks = min(int(cost[-1] / CHUNK) + 16, MOST_CHUNKS)
    ends = np.searchsorted(cost, np.linspace(0, cost[-1], chunks + 1)[1:-1], side="right")
    cuts = np.unique(np.concatenate([[0], ends, [len(cost)]])).tolist()
    return list(pairwise(cuts))[::-1]


def _renumbered(graph: Graph, nodes: Sequence[Hashable]) -> Graph:
    """The same edges on another node set."""
    src = np.repeat(np.arange(len(graph.nodes)), graph.degrees)
    labels = as_labels(list(graph.nodes))
    once = src < graph.to
    return load_graph(edge_pair(labels[src[once]], labels[graph.to[once]]), nodes)
