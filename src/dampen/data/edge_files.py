"""Graphs from files: separated text, gzip or not, Parquet, and npz with src, dst and n.

Text: two columns, separated by a comma, a semicolon, a tab or blanks; with or without a header;
lines that begin with # or % are comments.  More columns need a header that names the ends.  An
error tells what was expected in a line, never which line or what it holds.

What is wrong with the beginning of a file, where its form shows, is a `ParameterError`; what is
wrong further on is a `DataError`.
"""

import csv
import io
import os
import re
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from dampen.data.edges import Ends, OpenedEdges, end_columns, open_edge_table
from dampen.data.files import COLUMNAR, is_json, is_pattern, open_file
from dampen.data.labels import as_labels
from dampen.data.open import is_database, open_database
from dampen.data.streams import BROKEN, MOST_EXPANDED, MOST_EXPANSION, Bytes, open_bytes
from dampen.errors import DataError, ParameterError, raise_alone

__all__ = ["open_edge_file", "read_nodes"]

INTEGER = re.compile("[+-]?[0-9]{1,19}")
LARGEST_N_BYTES = 1 << 12
PART = 1 << 20
"""Text below this many bytes is not worth another thread."""
LONG = 1 << 23
"""Text that is parsed in some 50 ms."""
SEPARATORS = (",", ";", "\t")
NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "": "blanks"}


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the lines of a text file are to be read.

    Attributes:
        separator: one character, or nothing for runs of blanks.
        skip: how many lines precede the data.
        columns: how many fields a line has; `ends` are those that hold the ends of an edge.
        integers: whether labels are integers.
    """

    separator: str
    skip: int
    columns: int
    ends: tuple[int, int]
    integers: bool

    @property
    def expected(self) -> str:
        kind = "integers" if self.integers else "labels"
        fields = f"two {kind}" if self.columns == 2 else f"{self.columns} fields, the ends {kind},"
        return f"{fields} separated by {NAMES[self.separator]}"


def open_edge_file(path: str | PathLike[str]) -> OpenedEdges:
    """Checks that the file is there and has a form that can be read; reads no edges."""
    name = str(path)
    if os.path.isdir(name) or is_pattern(name):
        return open_edge_table(open_file(name))
    if is_database(name):
        return open_edge_table(open_database(name))
    opened = open_bytes(name)
    if opened.path is not None and opened.head[:2] == b"PK":
        return _open_npz(opened.path)
    if opened.head[:4] in COLUMNAR or is_json(opened):
        return open_edge_table(open_file(name) if opened.path else _refused(opened))
    form = _form(opened)

    def load(as_text: bool) -> Ends:
        return _load_text(opened, replace(form, integers=form.integers and not as_text))

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


def _form(opened: Bytes) -> TextForm:
    """The form of a text file, from its first two lines that are neither empty nor comments."""
    if not opened.head:
        raise ParameterError(f"Expected an edge list, but {opened.title} is empty.")
    if b"\0" in opened.head:
        raise ParameterError(f"Expected an edge list, text or Parquet; {opened.title} is binary.")
    try:
        lines = list(islice(_data_lines(io.BytesIO(opened.head)), 2))
        separator = next((s for s in SEPARATORS if lines and s in lines[0][1]), "")
        fields = [_fields(line, separator) for _, line in lines]
    except DataError as error:
        raise_alone(ParameterError(str(error)))
    if not lines:
        return TextForm(",", 0, 2, (0, 1), True)
    if len(fields[0]) < 2:
        raise ParameterError(
            f"Expected two labels in every line of {opened.title}, separated by a comma, a tab or "
            "blanks."
        )
    header = _is_header(fields)
    ends = end_columns(fields[0] if header else [""] * len(fields[0]))
    first = fields[1] if header and len(fields) > 1 else fields[0]
    integers = len(first) > max(ends) and all(_is_integer(first[i]) for i in ends)
    return TextForm(separator, lines[0][0] if header else 0, len(fields[0]), ends, integers)


def _is_header(lines: Sequence[Sequence[str]]) -> bool:
    """Names of columns that are known, or text above integers."""
    lowered = {field.lower() for field in lines[0]}
    try:
        end_columns([*lines[0], ""])
    except ParameterError:
        known = "weight" in lowered or "weights" in lowered
    else:
        known = True
    text = not any(map(_is_integer, lines[0]))
    return known or (text and len(lines) > 1 and sum(map(_is_integer, lines[1])) >= 2)


def _is_integer(field: str) -> bool:
    return INTEGER.fullmatch(field) is not None


def _data_lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Numbered lines that are neither empty nor comments."""
    for number, raw in enumerate(stream, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n ")
        except UnicodeDecodeError:
            raise_alone(DataError("Expected text in UTF-8."))
        if line and line[0] not in "#%":
            yield number, line


def _fields(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        raise_alone(DataError("Expected labels of at most 128 KiB, and whole lines."))


def _load_text(opened: Bytes, form: TextForm) -> Ends:
    try:
        with opened.open() as stream:
            return (
                _load_integers(stream.read(), form) if form.integers else _load_labels(stream, form)
            )
    except BROKEN:
        problem = f"{opened.title} cannot be read to its end."
    raise DataError(problem)


def _load_integers(content: bytes, form: TextForm) -> Ends:
    from dampen.kernels.edge_lists import parsed

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
    if not all(expected for _, _, expected in parts):
        raise _unexpected(form)
    if len(parts) == 1:
        return parts[0][:2]
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
    for number, line in _data_lines(stream):
        if number <= form.skip:
            continue
        fields = _fields(line, form.separator)
        if len(fields) != form.columns or not all(fields[i] for i in form.ends):
            raise _unexpected(form)
        src.append(fields[form.ends[0]])
        dst.append(fields[form.ends[1]])
    return as_labels(src), as_labels(dst)


def _unexpected(form: TextForm) -> DataError:
    return DataError(f"Expected {form.expected} in every line; one holds something else.")


def _open_npz(file: Path) -> OpenedEdges:
    """Arrays src, dst and the number of nodes n, which the file states and so counts as public."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            small = arrays.zip.getinfo("n.npy").file_size <= LARGEST_N_BYTES
            n = arrays["n"] if small and {"src", "dst"} <= set(arrays.files) else None
    except Exception:  # a broken archive makes zipfile and numpy raise errors of many kinds
        n = None
    if n is None or n.shape != () or n.dtype.kind not in "iu" or n < 0:
        raise_alone(
            ParameterError("Expected an npz file with the arrays src, dst and the whole number n.")
        )

    def load(_: bool) -> Ends:
        try:
            with ThreadPoolExecutor(2) as pool:
                ends = list(pool.map(lambda name: _unpacked(file, name), ("src", "dst")))
        except DataError:
            raise
        except Exception:  # as above
            raise_alone(DataError("Expected whole arrays src and dst in the npz file."))
        return as_labels(ends[0]), as_labels(ends[1])

    return OpenedEdges(range(int(n)), load)


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
