"""Graphs from whatever holds them, in two steps: open (public), then load (private).

`open_edges` looks at the kind of input, at its node set where it carries one, and at the header of
a file; a release does that before it charges the budget.  `EdgeSource.load` then reads the edges.
The nodes of networkx, igraph and sparse inputs count as public; a bare edge list has none.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.errors import DataError, ParameterError

Labels: TypeAlias = NDArray[Any]
Ends: TypeAlias = tuple[Labels, Labels]

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeSource:
    """A graph that was opened but not read.

    Attributes:
        nodes: the node set that the input carries; public.  None for a bare edge list.
        load: reads the ends of all edges; private.
        nodes_of: the node set of a bare edge list, from its ends: a leak, to be warned of.
        load_text: for files, the same with all labels as text, for nodes such as "007".
    """

    nodes: Sequence[Hashable] | None
    load: Callable[[], Ends]
    nodes_of: Callable[[Labels, Labels], Sequence[Hashable]]
    load_text: Callable[[], Ends] | None = None


def open_edges(data: Any) -> EdgeSource:
    """Opens a path, a networkx or igraph graph, a sparse matrix, (src, dst) or a DataFrame.

    Raises:
        ParameterError: if the input is of no known kind, or a file has not the expected form.
    """
    if isinstance(data, str | PathLike):
        from dampen.data.edge_files import open_file

        return open_file(data)
    for known, opened in _KINDS:
        if known(data):
            return opened(data)
    raise ParameterError(
        "Expected a graph: a path, a networkx or igraph graph, a sparse matrix, a pair (src, dst) "
        f"of arrays, or a DataFrame with two columns; got a {type(data).__name__}."
    )


def edge_source(src: Any, dst: Any) -> EdgeSource:
    """A bare edge list in two columns.  Integers without a node set mean 0, 1, ..., the largest."""
    return EdgeSource(None, lambda: (as_labels(src), as_labels(dst)), _up_to_largest)


def as_labels(values: Any) -> Labels:
    """One column of labels: integers where all are, else objects, unchanged.

    Raises:
        DataError: if it is not a column, or labels are missing or fractions.
    """
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = values if isinstance(values, np.ndarray) else _array_of_objects(values)
    if array.ndim != 1:
        raise DataError("Expected the ends of edges in one dimension.")
    if array.dtype.kind == "u" or (array.dtype.kind == "O" and all(map(_is_integer, array))):
        array = _integers(array)
    if len(array) == 0:
        array = array.astype(np.int64)
    if array.dtype.kind == "f" or any(_is_missing(label) for label in _objects_in(array)):
        raise DataError(
            "Expected labels of nodes, integers or text, none of them missing or a fraction."
        )
    return array


def numbered(labels: Labels, nodes: Sequence[Hashable]) -> NDArray[np.int32]:
    """The position of every label in `nodes`.

    Raises:
        DataError: if a label is not among the nodes; it does not say which.
    """
    integers = labels.dtype.kind in "iu"
    if integers and len(labels) and labels.min() < 0:
        raise DataError("Expected node ids >= 0; some are negative.")
    if isinstance(nodes, range) and nodes == range(len(nodes)) and (integers or not len(labels)):
        if len(labels) and labels.max() >= len(nodes):
            raise _outside()
        return labels.astype(np.int32)
    ids = as_labels(nodes)
    if integers and ids.dtype.kind in "iu":
        return _positions(labels, ids)
    number = {label: i for i, label in enumerate(ids.tolist())}
    try:
        return np.fromiter((number[label] for label in labels.tolist()), np.int32, len(labels))
    except (KeyError, TypeError):
        raise _outside() from None


def distinct(src: Labels, dst: Labels) -> Sequence[Hashable]:
    """The labels that occur: integers sorted, others in the order in which they occur."""
    if src.dtype.kind in "iu" and dst.dtype.kind in "iu":
        labels: list[Hashable] = np.unique(np.concatenate([src, dst])).tolist()
        return labels
    return list(dict.fromkeys(src.tolist()) | dict.fromkeys(dst.tolist()))


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


def _networkx(graph: Any) -> EdgeSource:
    nodes = list(graph.nodes)

    def load() -> Ends:
        edges = list(graph.edges())
        return as_labels([edge[0] for edge in edges]), as_labels([edge[1] for edge in edges])

    return EdgeSource(nodes, load, distinct)


def _igraph(graph: Any) -> EdgeSource:
    named = "name" in graph.vs.attributes()
    nodes: Sequence[Hashable] = list(graph.vs["name"]) if named else range(graph.vcount())

    def load() -> Ends:
        ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        labels = as_labels(nodes)
        return labels[ends[:, 0]], labels[ends[:, 1]]

    return EdgeSource(nodes, load, distinct)


def _sparse(matrix: Any) -> EdgeSource:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError(f"Expected a square adjacency matrix, got shape {matrix.shape}.")

    def load() -> Ends:
        entries = matrix.tocoo()
        if not np.isin(entries.data, (0, 1)).all():
            raise DataError(
                "Expected an unweighted graph, a matrix of zeros and ones; it has other entries. "
                "Pass (matrix != 0) if every entry is an edge, whatever its weight."
            )
        edge = entries.data != 0
        return entries.row[edge].astype(np.int64), entries.col[edge].astype(np.int64)

    return EdgeSource(range(matrix.shape[0]), load, distinct)


def _data_frame(frame: Any) -> EdgeSource:
    names = [str(name) for name in getattr(frame, "column_names", None) or frame.columns]
    a, b = end_columns(names)

    def load() -> Ends:
        return as_labels(_column(frame, a)), as_labels(_column(frame, b))

    return EdgeSource(None, load, distinct)


def _column(frame: Any, i: int) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, i]
    if hasattr(frame, "column_names"):
        return frame.column(i)
    return frame[frame.columns[i]]


def _up_to_largest(src: Labels, dst: Labels) -> Sequence[Hashable]:
    if src.dtype.kind not in "iu" or dst.dtype.kind not in "iu":
        return distinct(src, dst)
    return range(int(max(src.max(initial=-1), dst.max(initial=-1))) + 1)


def _positions(labels: Labels, ids: Labels) -> NDArray[np.int32]:
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids, labels, sorter=order), len(ids) - 1)
    found = order[place]
    if not np.array_equal(ids[found], labels):
        raise _outside()
    return found.astype(np.int32)


def _outside() -> DataError:
    return DataError(
        "Expected every edge to join two of the given nodes; at least one does not. Add what is "
        "missing to nodes= if it is public, or drop such edges before the release."
    )


def _array_of_objects(values: Iterable[Any]) -> Labels:
    try:
        return np.fromiter(values, dtype=object)
    except TypeError:
        raise DataError("Expected two columns of labels, the ends of the edges.") from None


def _integers(array: Labels) -> Labels:
    """Signed integers of 64 bits where they fit: numpy compares others with them as floats."""
    if len(array) and array.max() > np.iinfo(np.int64).max:
        return array.astype(object)
    return array.astype(np.int64)


def _is_integer(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def _objects_in(array: Labels) -> Iterable[Any]:
    return array if array.dtype.kind == "O" else ()


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and isnan(label))


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda data: all(hasattr(data, name) for name in names)


# By what they offer, not by class, so that no library is imported to find out.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], EdgeSource]], ...] = (
    (_has("vs", "get_edgelist"), _igraph),
    (_has("nodes", "edges"), _networkx),
    (_has("tocoo", "shape"), _sparse),
    (_has("column_names"), _data_frame),
    (_has("columns"), _data_frame),
    (
        lambda data: isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 2,
        lambda data: edge_source(data[:, 0], data[:, 1]),
    ),
    (
        lambda data: isinstance(data, tuple | list) and len(data) == 2,
        lambda data: edge_source(*data),
    ),
)
