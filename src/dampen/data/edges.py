"""Edge lists from whatever holds them, in two steps: open (public), then load (private).

`open_edges` looks at the kind of input, at its node set where it carries one, and at the header of
a file; a release does that before it charges the budget.  `OpenedEdges.load` then reads the edges.

The shape of a sparse matrix and the n of an npz file state the nodes, so these are public.  The
nodes of a networkx or igraph graph are often just those that have an edge, which is data: they are
`carried`, and used only where the caller says that they are public (`nodes="graph"`) or with a
`PrivacyLeakWarning`.  A bare edge list has no nodes at all.

No content of an edge list is an error.  A row that does not join two of the nodes is dropped: one
with a missing, an unreadable or an unknown end, whatever that end is (`dampen.data.labels`).  So
it has no say in what becomes of any other row.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.data.labels import Labels, Numbering, as_labels, distinct, is_label, joined
from dampen.data.memory import as_chunk, field_of, is_column, offers, open_memory
from dampen.data.open import is_engine, open_table
from dampen.data.source import (
    Batch,
    CellOf,
    CountsDegrees,
    Field,
    Kind,
    Opened,
    counted,
    reading,
    require,
)
from dampen.errors import DataError, ParameterError

__all__ = [
    "EdgeTable",
    "OpenedEdges",
    "end_columns",
    "memory_of_machine",
    "numbered_edges",
    "open_edge_table",
    "open_edges",
    "readable",
]

Ends: TypeAlias = tuple[Labels, Labels]
Places: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]

BYTES_PER_EDGE = 24
"""At the peak: its ends in a piece, in the whole list, and among the neighbours of both."""

END_COLUMNS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("id_1", "id_2"),
    ("node1", "node2"),
    ("u", "v"),
)
"""Names, in lower case, by which the ends of an edge are found among more than two columns."""

NO_LABELS = ("bool", "date", "time", "interval", "duration", "|s")
"""How the declared types of columns begin that hold neither integers nor text."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenedEdges:
    """A graph that was opened but not read.

    Attributes:
        nodes: the node set that the input states; public.  None where it states none.
        load: reads the ends of all edges; private.  Its argument asks for labels as text, for nodes
            such as "007", or as whole numbers; None, where no nodes are public, for what the form
            of a file suggests.
        carried: the nodes of a graph object, where those may be data.
        nodes_of: the node set of a bare edge list, from its ends: a leak, to be warned of.
        pieces: the same as `load`, in pieces, where the edges come so; they need not be held.
        degrees: the degree of every node, where an engine counts them, else None.
    """

    nodes: Sequence[Hashable] | None
    load: Callable[[bool | None], Ends]
    carried: Callable[[], Sequence[Hashable]] | None = None
    nodes_of: Callable[[Labels, Labels], Sequence[Hashable]] = distinct
    pieces: Callable[[bool | None], Iterator[Ends]] | None = None
    degrees: Callable[[Numbering], IntArray | None] | None = None


def open_edges(
    data: Any, *, source: str | None = None, target: str | None = None, table: str | None = None
) -> OpenedEdges:
    """Opens a path, a graph object, a sparse matrix, (src, dst), pairs or a table of two columns.

    Args:
        data: what holds the edges.  A list is one of edges, each a pair; a tuple is two columns.
        source: in a table, the name of the column with one end of every edge.
        target: the name of the column with the other end.
        table: of a database file, which table.

    Returns:
        Public facts, and edges that are read later.

    Raises:
        ParameterError: if the input is of no known kind, or a file has not the expected form.
    """
    if (source is None) != (target is None):
        raise ParameterError(
            "Expected both source= and target=, the ends of the edges, or neither."
        )
    if isinstance(data, str | PathLike) and table is None:
        from dampen.data.edge_files import open_edge_file

        return open_edge_file(data, source, target)
    for known, opened in _KINDS:
        if source is None and not is_engine(data) and known(data):
            return opened(data)
    return open_edge_table(_table(data, table), source, target)


def open_edge_table(
    table: Opened, source: str | None = None, target: str | None = None
) -> OpenedEdges:
    """The edges in two columns of an opened table."""
    names = [field.name for field in table.fields]
    if source is None or target is None:
        a, b = end_columns(names)
        source = names[a]
        target = names[b]
    require(table, source, target)
    for field in table.fields:
        if field.name in (source, target):
            _check_type(field)

    held_as_labels = {field.name for field in table.fields if field.holds == "labels"}

    def pieces(as_text: bool | None) -> Iterator[Ends]:
        wanted: dict[str, Kind] = {
            name: "text" if as_text and name in held_as_labels else "any"
            for name in (source, target)
        }
        with reading(table.batches(wanted)) as stream:
            for batch in stream:
                yield as_labels(batch[source]), as_labels(batch[target])

    def load(as_text: bool | None) -> Ends:
        ends = list(pieces(as_text))
        return joined([src for src, _ in ends]), joined([dst for _, dst in ends])

    def degrees(numbering: Numbering) -> IntArray | None:
        assert isinstance(table, CountsDegrees)
        return table.degrees(source, target, numbering)

    by_engine = degrees if isinstance(table, CountsDegrees) else None
    return OpenedEdges(None, load, pieces=pieces, degrees=by_engine)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeTable:
    """Directed edges as an opened table with the columns `source` and `target`.

    Attributes:
        edges: the opened edges.
        as_text: whether labels are read as text, see `OpenedEdges.load`.
    """

    edges: OpenedEdges
    as_text: bool | None
    title = "the edges"
    fields = (Field("source"), Field("target"))
    declared = True
    rows = None
    ordered = False
    streams = True

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        whole = self.edges.pieces is None
        pieces = iter([self.edges.load(self.as_text)]) if whole else self._pieces()
        with reading(pieces) as stream:
            for src, dst in stream:
                ends = {"source": src, "target": dst}
                yield {name: ends[name] for name in wanted}

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _pieces(self) -> Iterator[Ends]:
        assert self.edges.pieces is not None
        return self.edges.pieces(self.as_text)


def edge_pair(src: Any, dst: Any) -> OpenedEdges:
    """A bare edge list in two columns.  Integers without a node set mean 0, 1, ..., the largest.

    Raises:
        ParameterError: if the columns are not of one length, or hold no labels by their types.
    """
    _check_type(field_of("src", src))
    _check_type(field_of("dst", dst))
    if len(src) != len(dst):
        raise ParameterError("Expected as many sources as targets, one of each per edge.")
    return OpenedEdges(
        None,
        lambda _: (as_labels(as_chunk(src)), as_labels(as_chunk(dst))),
        nodes_of=_up_to_largest,
    )


def _edge_list(edges: list[Any]) -> OpenedEdges:
    """A list of pairs; whatever else stands in it is dropped."""

    def load(_: bool | None) -> Ends:
        pairs = [edge for edge in edges if _is_edge(edge)]
        return as_labels([src for src, _ in pairs]), as_labels([dst for _, dst in pairs])

    return OpenedEdges(None, load, nodes_of=_up_to_largest)


def _is_edge(edge: Any) -> bool:
    if isinstance(edge, np.ndarray):
        return edge.shape == (2,)
    return isinstance(edge, tuple | list) and len(edge) == 2


def _check_type(field: Field) -> None:
    """Checks that the declared type of a column, if there is one, may hold integers or text.

    Numbers may: one missing cell is enough to make floats of a column of integers.

    Raises:
        ParameterError: if it does not.
    """
    if field.holds == "other" or (field.type or "").lower().startswith(NO_LABELS):
        raise ParameterError(
            f"Expected integers or text in column {field.name!r}, the labels of nodes; it holds "
            f"{field.type}."
        )


def numbered_edges(opened: OpenedEdges, nodes: Sequence[Hashable]) -> Places:
    """The ends, as positions in `nodes`, of all edges that join two of them: 8 bytes an edge.

    Raises:
        DataError: if there are more edges than this machine can hold.
    """
    numbering = Numbering(nodes)
    none = np.empty(0, dtype=np.int32)
    as_text = numbering.as_text
    pieces = iter([opened.load(as_text)]) if opened.pieces is None else opened.pieces(as_text)
    ends = list[Places]()
    left = memory_of_machine() // BYTES_PER_EDGE
    with reading(pieces) as stream:
        for src, dst in stream:
            left -= len(src)
            if left < 0:
                raise DataError(
                    f"Expected edges that fit into memory, at {BYTES_PER_EDGE} bytes each. Ask for "
                    "metric='degree': an engine counts degrees where the edges are."
                )
            ends.append(_joining(numbering.positions(src), numbering.positions(dst)))
    if len(ends) == 1:
        return ends[0]
    return np.concatenate([none, *(e[0] for e in ends)]), np.concatenate(
        [none, *(e[1] for e in ends)]
    )


def _joining(src: NDArray[np.int32], dst: NDArray[np.int32]) -> Places:
    """The edges both ends of which are nodes."""
    if not len(src) or min(src.min(), dst.min()) >= 0:
        return src, dst
    kept = (src >= 0) & (dst >= 0)
    return src[kept], dst[kept]


def readable(src: Labels, dst: Labels) -> Ends:
    """The edges both ends of which may name nodes, where the nodes are taken from them."""
    src_numbers = _tidy(src)
    dst_numbers = _tidy(dst)
    kept = _may_be_nodes(src_numbers) & _may_be_nodes(dst_numbers)
    return as_labels(src_numbers[kept]), as_labels(dst_numbers[kept])


def _tidy(labels: Labels) -> Labels:
    """Floats as whole numbers, where they are."""
    if labels.dtype.kind != "f":
        return labels
    return as_labels([int(x) if x.is_integer() else None for x in labels.tolist()])


def _may_be_nodes(labels: Labels) -> NDArray[np.bool_]:
    if labels.dtype.kind != "O":
        return np.ones(len(labels), dtype=np.bool_)
    return np.fromiter(map(is_label, labels), np.bool_, len(labels))


def memory_of_machine() -> int:
    """The bytes of memory of this machine, where it tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def end_columns(names: Sequence[str]) -> tuple[int, int]:
    """Which two of the named columns hold the ends of the edges.

    Raises:
        ParameterError: if that cannot be told, or if one holds weights.
    """
    lowered = [name.strip().lower() for name in names]
    if any(name in ("weight", "weights") for name in lowered):
        raise ParameterError(
            "Expected an unweighted graph, got a column of weights. Drop that column if every row "
            "is an edge, whatever its weight."
        )
    if len(names) == 2:
        return 0, 1
    for source, target in END_COLUMNS:
        if source in lowered and target in lowered:
            return lowered.index(source), lowered.index(target)
    raise ParameterError(
        "Expected two columns, the ends of the edges, or a header that names them source and "
        f"target; got {len(names)} columns."
    )


def _networkx(graph: Any) -> OpenedEdges:
    def load(_: bool | None) -> Ends:
        edges = list(graph.edges())
        return as_labels([edge[0] for edge in edges]), as_labels([edge[1] for edge in edges])

    return OpenedEdges(None, load, carried=lambda: list(graph.nodes))


def _igraph(graph: Any) -> OpenedEdges:
    def nodes() -> Sequence[Hashable]:
        named = "name" in graph.vs.attributes()
        return list(graph.vs["name"]) if named else range(graph.vcount())

    def load(_: bool | None) -> Ends:
        ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        labels = as_labels(list(nodes()))
        return labels[ends[:, 0]], labels[ends[:, 1]]

    return OpenedEdges(None, load, carried=nodes)


def _sparse(matrix: Any) -> OpenedEdges:
    """Every entry is an edge, whatever its weight, but 0 and NaN."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("Expected a square adjacency matrix, got another shape.")

    def load(_: bool | None) -> Ends:
        entries = matrix.tocoo()
        edge = (entries.data != 0) & (entries.data == entries.data)
        return entries.row[edge].astype(np.int64), entries.col[edge].astype(np.int64)

    return OpenedEdges(range(matrix.shape[0]), load)


def _rows_of_two(data: Any) -> OpenedEdges:
    return edge_pair(data[:, 0], data[:, 1])


def _table(data: Any, table: str | None) -> Opened:
    if isinstance(data, str | PathLike | Opened) or is_engine(data) or open_memory(data):
        return open_table(data, table=table)
    raise ParameterError(
        "Expected a graph: a path, a networkx or igraph graph, a sparse matrix, a list of pairs, a "
        "tuple (src, dst) of two columns, an array with two columns, a DataFrame, or a table of "
        f"DuckDB; got a {type(data).__name__}."
    )


def _up_to_largest(src: Labels, dst: Labels) -> Sequence[Hashable]:
    if src.dtype.kind not in "iu" or dst.dtype.kind not in "iu":
        return distinct(src, dst)
    return range(int(max(src.max(initial=-1), dst.max(initial=-1))) + 1)


def _is_pair(data: Any) -> bool:
    """(src, dst): a tuple is two columns, whatever they are; a list is one of edges."""
    return isinstance(data, tuple) and len(data) == 2 and all(map(is_column, data))


def _is_rows_of_two(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 2


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], OpenedEdges]], ...] = (
    (offers("igraph", "vs", "get_edgelist"), _igraph),
    (offers("networkx", "nodes", "edges"), _networkx),
    (offers("scipy", "tocoo", "shape"), _sparse),
    (_is_rows_of_two, _rows_of_two),
    (_is_pair, lambda pair: edge_pair(*pair)),
    (lambda data: isinstance(data, list), _edge_list),
)
