"""Edge lists from files, graphs and tables, in two steps: open (public), then load (private).

`open_edges` looks at the kind of input, at its node set where it carries one, and at the header of
a file; a release does that before it charges the budget.  `OpenedEdges.load` then reads the edges.

The shape of a sparse matrix and the n of an npz file state the nodes, so these are public.  The
nodes of a networkx or igraph graph are often just those that have an edge, which is data: they are
`carried`, and used only where the caller says that they are public (`nodes="graph"`) or with a
`PrivacyLeakWarning`.  A bare edge list has no nodes at all.

No content of an edge list is an error.  A row that does not join two of the nodes is dropped: one
with a missing, an unreadable or an unknown end, whatever that end is (`dampen.data.cells`).  So
it has no say in what becomes of any other row.

**Graphs from files** (`open_edge_file`): separated text, gzip or not, JSON lines, Parquet, and npz
with src, dst and n.

**Text**: two columns, separated by a comma, a semicolon, a tab or blanks; with or without a header;
lines that begin with # or % are comments.  More columns need a header that names the ends.

Opening looks at the beginning of a file for its *form*, which is public: the header, or else how
most of the first lines with two fields separate them.  A file without such a line is refused,
before any charge.  Afterwards every line is read by itself, and one that is not of that form is
dropped: fields that are missing or too many, an end that is empty or cannot be decoded, a line of
more than 2 MiB.  So no line has a say in what becomes of another, and none is an error.

Whether labels are whole numbers or text follows from the public nodes; where there are none, from
the first lines.
"""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.data.cells import INTEGER, Labels, Numbering, as_labels, distinct, is_label, joined
from dampen.data.files import (
    BROKEN,
    COLUMNAR,
    HEAD_BYTES,
    MOST_EXPANDED,
    MOST_EXPANSION,
    Bytes,
    is_json,
    is_pattern,
    open_bytes,
    open_file,
)
from dampen.data.memory import as_chunk, field_of, is_column, offers, open_memory
from dampen.data.open import is_database, is_engine, open_database, open_table
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
from dampen.errors import DataError, ParameterError, a_thing, raise_alone

__all__ = [
    "EdgeTable",
    "OpenedEdges",
    "end_columns",
    "memory_of_machine",
    "numbered_edges",
    "open_edge_file",
    "open_edge_table",
    "open_edges",
    "read_nodes",
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
        f"DuckDB; got {a_thing(data)}."
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


LARGEST_N_BYTES = 1 << 12
PART = 1 << 20
"""Text below this many bytes is not worth another thread."""
LONG = 1 << 23
"""Text that is parsed in some 50 ms."""
SEPARATORS = (",", ";", "\t")
LOOKED_AT = 1000
"""Lines among which the form of a file is looked for."""

PIECE = 1 << 21
"""Bytes of a line that are read at a time."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the lines of a text file are to be read.

    Attributes:
        separator: one character, or nothing for runs of blanks.
        skip: how many lines precede the data.
        columns: how many fields a line has; `ends` are those that hold the ends of an edge.
        integers: whether labels are integers, as far as the first lines show.
    """

    separator: str
    skip: int
    columns: int
    ends: tuple[int, int]
    integers: bool


def open_edge_file(
    path: str | PathLike[str], source: str | None = None, target: str | None = None
) -> OpenedEdges:
    """Checks that the file is there and has a form that can be read; reads no edges."""
    name = str(path)
    if os.path.isdir(name) or is_pattern(name):
        return open_edge_table(open_file(name), source, target)
    if is_database(name):
        return open_edge_table(open_database(name), source, target)
    opened = open_bytes(name)
    if opened.path is not None and opened.head[:2] == b"PK":
        return _open_npz(opened.path)
    if opened.head[:4] in COLUMNAR:
        table = open_file(name) if opened.path else _refused(opened)
        return open_edge_table(table, source, target)
    if is_json(opened) and _mostly_json(opened):
        return _open_json(opened, source, target)
    form = _named_form(opened, source, target) if source and target else _form(opened)

    def load(as_text: bool | None) -> Ends:
        return _load_text(opened, form, form.integers if as_text is None else not as_text)

    return OpenedEdges(None, load)


def read_nodes(path: str | PathLike[str]) -> list[Hashable]:
    """A public node set from a text file: one label per line, integers if all lines are."""
    opened = open_bytes(str(path))
    try:
        with opened.open() as stream:
            text = stream.read().decode("utf-8-sig")
    except (*BROKEN, UnicodeDecodeError):
        raise_alone(ParameterError(f"Expected one node per line in {path}, text in UTF-8."))
    labels = [line.strip() for line in text.splitlines()]
    labels = [label for label in labels if label and label[0] not in "#%"]
    if all(map(_is_integer, labels)):
        return [int(label) for label in labels]
    return list(labels)


def _refused(opened: Bytes) -> NoReturn:
    raise ParameterError(
        f"Expected a file, or text with two columns; {opened.title} is a pipe of another form."
    )


def _named_form(opened: Bytes, source: str, target: str) -> TextForm:
    """The form of a text file whose header names the ends."""
    lines = _first_lines(opened)
    header = lines[0][1] if lines else ""
    separator = max(SEPARATORS, key="".join(header.split('"')[::2]).count)
    names = _fields(header, separator) or []
    _check_names(opened, names, source, target)
    return _with_header(lines, separator, (names.index(source), names.index(target)))


def _check_names(opened: Bytes, names: Sequence[str], *wanted: str) -> None:
    """Checks that columns exist, once each; the names may be data, so they are not quoted."""
    if len({*wanted}) < len(wanted):
        raise ParameterError(
            f"Expected two columns for the ends of edges, got {wanted[0]!r} twice. Name the source "
            "and the target."
        )
    for name in wanted:
        if names.count(name) != 1:
            how = "one column" if name in names else "a column"
            raise ParameterError(f"Expected {how} {name!r} in the header of {opened.title}.")


def _form(opened: Bytes) -> TextForm:
    """The form of a text file: a header that names the ends, or else that of most first lines."""
    lines = _first_lines(opened)
    if not lines:
        if b"\0" in opened.head:
            raise _without_form(opened)
        return TextForm(",", 0, 2, (0, 1), True)
    number, line = lines[0]
    separator = _separator(line)
    fields = _fields(line, separator) or []
    if _names_ends(fields):
        return _with_header(lines, separator, end_columns(fields))
    pairs = [(_separator(line), _fields(line, _separator(line))) for _, line in lines]
    votes = Counter(separator for separator, fields in pairs if _has_two(fields))
    if not votes:
        raise _without_form(opened)
    separator = votes.most_common(1)[0][0]
    integers = _most_are_integers([fields for by, fields in pairs if by == separator], 2, (0, 1))
    header = integers and _has_two(fields) and not any(map(_is_integer, fields))
    return TextForm(separator, number if header else 0, 2, (0, 1), integers)


def _with_header(
    lines: Sequence[tuple[int, str]], separator: str, ends: tuple[int, int]
) -> TextForm:
    number, header = lines[0]
    columns = len(_fields(header, separator) or [])
    rows = [_fields(line, separator) for _, line in lines[1:]]
    return TextForm(separator, number, columns, ends, _most_are_integers(rows, columns, ends))


def _most_are_integers(
    rows: Sequence[Sequence[str] | None], columns: int, ends: tuple[int, int]
) -> bool:
    whole = [all(_is_integer(row[i]) for i in ends) for row in rows if row and len(row) == columns]
    return 2 * sum(whole) > len(whole)


def _first_lines(opened: Bytes) -> list[tuple[int, str]]:
    return list(islice(_numbered(_first_raw_lines(opened)), LOOKED_AT))


def _first_raw_lines(opened: Bytes) -> Iterator[bytes]:
    """Lines from the beginning; of a file also beyond its head, which one line may fill."""
    if len(opened.head) < HEAD_BYTES or opened.path is None:
        yield from _raw_lines(io.BytesIO(opened.head))
        return
    with suppress(*BROKEN), opened.open() as stream:
        yield from _raw_lines(stream)


def _without_form(opened: Bytes) -> ParameterError:
    return ParameterError(
        f"Expected two labels in every line of {opened.title}, separated by a comma, a tab or "
        "blanks, or a header that names two columns source and target."
    )


def _separator(line: str) -> str:
    return next((separator for separator in SEPARATORS if separator in line), "")


def _has_two(fields: Sequence[str] | None) -> bool:
    return fields is not None and len(fields) == 2 and all(fields)


def _names_ends(fields: Sequence[str]) -> bool:
    """Whether a line is a header that names the ends."""
    lowered = {field.lower() for field in fields}
    return any(lowered >= {*ends} for ends in END_COLUMNS)


def _is_integer(field: str) -> bool:
    return INTEGER.fullmatch(field) is not None


def _data_lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Numbered lines that are neither empty nor comments, nor too long, nor hold a NUL.

    Bytes that cannot be decoded become surrogates, which stand in no label.
    """
    return _numbered(_raw_lines(stream))


def _numbered(lines: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(lines, start=1):
        coding = "utf-8-sig" if number == 1 else "utf-8"
        line = raw.decode(coding, errors="surrogateescape").strip("\r\n ")
        if line and line[0] not in "#%" and "\0" not in line:
            yield number, line


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream; an empty one in place of what is too long."""
    while line := stream.readline(PIECE):
        rest = line
        while len(rest) == PIECE and not rest.endswith(b"\n"):
            line = b""
            rest = stream.readline(PIECE)
        yield line


def _fields(line: str, separator: str) -> list[str] | None:
    """The fields of a line; None where it holds none that can be told apart."""
    if not separator:
        return line.split()
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        return None


def _load_text(opened: Bytes, form: TextForm, integers: bool) -> Ends:
    try:
        with opened.open() as stream:
            return _load_integers(stream.read(), form) if integers else _load_labels(stream, form)
    except BROKEN:
        problem = f"{opened.title} cannot be read to its end."
    raise DataError(problem)


def _load_integers(content: bytes, form: TextForm) -> Ends:
    from dampen.kernels.graphs import parsed

    begin = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    for _ in range(form.skip):
        begin = content.find(b"\n", begin) + 1 or len(content)
    text = np.frombuffer(content, dtype=np.uint8)
    separator = ord(form.separator) if form.separator else 0
    cuts = _cuts(content, begin)

    def part(start: int, stop: int) -> Any:
        return parsed(text[start:stop], separator, form.columns, *form.ends)

    if len(cuts) == 2:
        parts = [part(*cuts)]
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = list(pool.map(part, cuts[:-1], cuts[1:]))
    if len(parts) == 1:
        return as_labels(parts[0][0]), as_labels(parts[0][1])
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _cuts(content: bytes, begin: int) -> list[int]:
    """Where the parts of a long text begin and end: at the beginnings of lines.

    They are enough for all cores, and so short that an interrupt need not wait for their ends.
    """
    size = len(content) - begin
    parts = max(1, min(size // PART, max(os.cpu_count() or 1, size // LONG)))
    wanted = [begin + (len(content) - begin) * i // parts for i in range(1, parts)]
    lines = [content.find(b"\n", place) + 1 or len(content) for place in wanted]
    return [begin, *lines, len(content)]


def _load_labels(stream: IO[bytes], form: TextForm) -> Ends:
    src: list[str] = []
    dst: list[str] = []
    first, second = form.ends
    for number, line in _data_lines(stream):
        if number <= form.skip:
            continue
        fields = _fields(line, form.separator)
        if fields is None or len(fields) != form.columns:
            continue
        if _is_text(fields[first]) and _is_text(fields[second]):
            src.append(fields[first])
            dst.append(fields[second])
    return as_labels(src), as_labels(dst)


def _is_text(field: str) -> bool:
    """Whether a field holds something, and all of it could be decoded."""
    try:
        return bool(field.encode())
    except UnicodeEncodeError:
        return False


def _open_json(opened: Bytes, source: str | None, target: str | None) -> OpenedEdges:
    """One object in every line, the ends by their names; what is none, or has none, is dropped."""
    lines = islice(_first_raw_lines(opened), LOOKED_AT)
    objects = [row for row in map(_json_object, lines) if row]
    if source is None or target is None:
        source, target = _json_ends(opened, [list(row) for row in objects])
    else:
        names = sorted({name for row in objects for name in row}) or [source, target]
        _check_names(opened, names, source, target)
    ends = source, target

    def load(_: bool | None) -> Ends:
        try:
            with opened.open() as stream:
                return _load_json(stream, *ends)
        except BROKEN:
            problem = f"{opened.title} cannot be read to its end."
        raise DataError(problem)

    return OpenedEdges(None, load)


def _mostly_json(opened: Bytes) -> bool:
    """Whether most of the first lines begin like objects: one line does not make the form."""
    lines = [line for line in islice(_first_raw_lines(opened), LOOKED_AT) if line.strip()]
    objects = sum(line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") for line in lines)
    return 2 * objects >= len(lines)


def _json_ends(opened: Bytes, rows: Sequence[Sequence[str]]) -> tuple[str, str]:
    """The names of the ends in the first object that shows them."""
    if not opened.head.strip():
        return END_COLUMNS[0]
    shown = (names for names in rows if len(names) == 2 or _names_ends(names))
    names = next(shown, rows[0] if rows else None)
    if names is None:
        raise ParameterError(f"Expected one JSON object in every line of {opened.title}.")
    first, second = end_columns(names)
    return names[first], names[second]


def _load_json(stream: IO[bytes], source: str, target: str) -> Ends:
    rows = (_json_object(line) for line in _raw_lines(stream))
    found = [(row.get(source), row.get(target)) for row in rows if row]
    return as_labels([src for src, _ in found]), as_labels([dst for _, dst in found])


def _json_object(line: bytes) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _open_npz(file: Path) -> OpenedEdges:
    """Arrays src, dst and the number of nodes n, which the file states and so counts as public.

    Raises:
        ParameterError: if it has no such arrays, as their own headers say.
    """
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            small = arrays.zip.getinfo("n.npy").file_size <= LARGEST_N_BYTES
            n = arrays["n"] if small and _hold_ends(arrays.zip) else None
    except Exception:  # a broken archive makes zipfile and numpy raise errors of many kinds
        n = None
    if n is None or n.shape != () or n.dtype.kind not in "iu" or n < 0:
        raise_alone(
            ParameterError(
                "Expected an npz file with the arrays src and dst of one length, whole numbers, "
                "and the whole number n."
            )
        )

    def load(_: bool | None) -> Ends:
        try:
            with ThreadPoolExecutor(2) as pool:
                ends = list(pool.map(lambda name: _unpacked(file, name), ("src", "dst")))
        except DataError:
            raise
        except Exception:  # as above
            raise_alone(DataError("Expected whole arrays src and dst in the npz file."))
        return as_labels(ends[0]), as_labels(ends[1])

    return OpenedEdges(range(int(n)), load)


def _hold_ends(archive: Any) -> bool:
    """Whether src and dst are columns of numbers of one length, by their headers."""
    shapes = set()
    for name in ("src", "dst"):
        with archive.open(f"{name}.npy") as stream:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0
            shape, _, kind = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(
                stream
            )
        if len(shape) != 1 or kind.kind not in "iuf":
            return False
        shapes.add(shape)
    return len(shapes) == 1


def _unpacked(file: Path, name: str) -> Any:
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return _array_in(arrays, name)


def _array_in(arrays: Any, name: str) -> Any:
    packed = arrays.zip.getinfo(f"{name}.npy")
    if packed.file_size > max(MOST_EXPANDED, MOST_EXPANSION * packed.compress_size):
        raise DataError(
            f"Expected arrays that expand to at most {MOST_EXPANSION} times their size in the npz "
            "file; one expands further. Save it with numpy.savez, without compression."
        )
    return arrays[name]
