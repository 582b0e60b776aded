"""Graphs from files: separated text, gzip or not, JSON lines, Parquet, and npz with src, dst and n.

Text: two columns, separated by a comma, a semicolon, a tab or blanks; with or without a header;
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
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from dampen.data.edges import END_COLUMNS, Ends, OpenedEdges, end_columns, open_edge_table
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
from dampen.data.labels import INTEGER, as_labels
from dampen.data.open import is_database, open_database
from dampen.errors import DataError, ParameterError, raise_alone

__all__ = ["open_edge_file", "read_nodes"]

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
    votes = Counter(separator for separator, fields in pairs if _is_pair(fields))
    if not votes:
        raise _without_form(opened)
    separator = votes.most_common(1)[0][0]
    integers = _most_are_integers([fields for by, fields in pairs if by == separator], 2, (0, 1))
    header = integers and _is_pair(fields) and not any(map(_is_integer, fields))
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


def _is_pair(fields: Sequence[str] | None) -> bool:
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
