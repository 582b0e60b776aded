"""Graphs in compressed rows, and their egocentric betweenness, exact, on all cores.

A `Graph` is undirected and simple, on a public set of nodes; its edges are private, so nothing
here shows or tells how many there are.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.edges import (
    OpenedEdges,
    edge_pair,
    memory_of_machine,
    numbered_edges,
    open_edges,
    readable,
)
from dampen.data.labels import Numbering, as_labels, is_label
from dampen.errors import ParameterError
from dampen.progress import progress
from dampen.questions.nodes.half_adjacency import Rows, rows_of
from dampen.questions.nodes.threads import Worker, cores, in_threads

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
    """What is known of a graph where only its degrees were counted; see `Graph`."""

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


def load_degrees(opened: OpenedEdges, nodes: Sequence[Hashable]) -> "Degrees | Graph":
    """The degrees alone, counted by the engine that holds the edges, or else the graph."""
    degrees = None if opened.degrees is None else opened.degrees(Numbering(nodes))
    return load_graph(opened, nodes) if degrees is None else Degrees(nodes, degrees)


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
        raise ParameterError(
            f"Expected nodes to be a list of labels, got a {type(nodes).__name__}."
        )
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
    from dampen.kernels.adjacency import by_degree
    from dampen.kernels.egos import Workspace, betweenness_of

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
    from dampen.kernels import codegrees as kernels
    from dampen.kernels.adjacency import by_degree

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

    Kernels read the stop flag at every node; see `dampen.questions.nodes.threads.in_threads`.
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
