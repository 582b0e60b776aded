"""Graphs from files: separated text, gzip or not, Parquet, and npz with src, dst and n.

Text: two columns, separated by a comma, a semicolon, a tab or blanks; with or without a header;
lines that begin with # or % are comments.  More columns need a header that names the ends.  An
error tells the line and what was expected there, never what it holds.
"""

import csv
import gzip
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from dampen.data.edges import EdgeSource, Ends, as_labels, distinct, end_columns
from dampen.errors import DataError, ParameterError

INTEGER = re.compile(r"[+-]?\d+")
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


def open_file(path: str | PathLike[str]) -> EdgeSource:
    """Checks that the file is there and has a form that can be read; reads no edges."""
    file = Path(path)
    try:
        with file.open("rb") as stream:
            magic = stream.read(4)
        if magic == b"PAR1":
            return _open_parquet(file)
        if magic[:2] == b"PK":
            return _open_npz(file)
        form = _form(file)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is broken"
        raise ParameterError(f"Expected a readable file {str(path)!r}: {reason}.") from None
    as_text = replace(form, integers=False)
    return EdgeSource(
        None, lambda: _load_text(file, form), distinct, lambda: _load_text(file, as_text)
    )


def read_nodes(path: str | PathLike[str]) -> list[Hashable]:
    """A public node set from a text file: one label per line, integers if all lines are."""
    try:
        with _stream(Path(path)) as stream:
            text = stream.read().decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is broken"
        raise ParameterError(f"Expected a readable file {str(path)!r}: {reason}.") from None
    labels = [line.strip() for line in text.splitlines()]
    labels = [label for label in labels if label and label[0] not in "#%"]
    if all(INTEGER.fullmatch(label) for label in labels):
        return [int(label) for label in labels]
    return list(labels)


def _stream(file: Path) -> IO[bytes]:
    with file.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(file) if packed else file.open("rb")  # type: ignore[return-value]


def _form(file: Path) -> TextForm:
    """The form of a text file, from its first two lines that are neither empty nor comments."""
    with _stream(file) as stream:
        lines = list(islice(_data_lines(stream), 2))
    if not lines:
        return TextForm(",", 0, 2, (0, 1), True)
    number, line = lines[0]
    separator = next((s for s in SEPARATORS if s in line), "")
    fields = [_fields(line, separator) for _, line in lines]
    if len(fields[0]) < 2:
        raise ParameterError(
            f"Expected two labels separated by a comma, a tab or blanks on line {number}, got one."
        )
    header = _is_header(fields)
    ends = end_columns(fields[0] if header else [""] * len(fields[0]))
    first = fields[1] if header and len(fields) > 1 else fields[0]
    integers = len(first) > max(ends) and all(_is_integer(first[i]) for i in ends)
    return TextForm(separator, number if header else 0, len(fields[0]), ends, integers)


def _is_header(lines: Sequence[Sequence[str]]) -> bool:
    """Names of columns that are known, or text above integers."""
    lowered = {field.lower() for field in lines[0]}
    try:
        end_columns([*lines[0], ""])
    except ParameterError:
        known = "weight" in lowered or "weights" in lowered
    else:
        known = True
    text = not any(INTEGER.fullmatch(field) for field in lines[0])
    return known or (text and len(lines) > 1 and sum(map(_is_integer, lines[1])) >= 2)


def _is_integer(field: str) -> bool:
    return INTEGER.fullmatch(field) is not None


def _data_lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Numbered lines that are neither empty nor comments."""
    for number, raw in enumerate(stream, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n ")
        except UnicodeDecodeError:
            raise DataError(f"Expected text in UTF-8 on line {number}.") from None
        if line and line[0] not in "#%":
            yield number, line


def _fields(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _load_text(file: Path, form: TextForm) -> Ends:
    try:
        with _stream(file) as stream:
            return (
                _load_integers(stream.read(), form) if form.integers else _load_labels(stream, form)
            )
    except (OSError, EOFError):
        raise DataError("Expected a file that can be read to its end; it is broken.") from None


def _load_integers(content: bytes, form: TextForm) -> Ends:
    from dampen._kernels.edge_lists import parsed

    begin = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    for _ in range(form.skip):
        begin = content.find(b"\n", begin) + 1 or len(content)
    text = np.frombuffer(content, dtype=np.uint8)
    separator = ord(form.separator) if form.separator else 0
    src, dst, bad = parsed(text, begin, separator, form.columns, form.ends)
    if bad >= 0:
        raise _unexpected(content.count(b"\n", 0, bad) + 1, form)
    return src, dst


def _load_labels(stream: IO[bytes], form: TextForm) -> Ends:
    src: list[str] = []
    dst: list[str] = []
    for number, line in _data_lines(stream):
        if number <= form.skip:
            continue
        fields = _fields(line, form.separator)
        if len(fields) != form.columns or not all(fields[i] for i in form.ends):
            raise _unexpected(number, form)
        src.append(fields[form.ends[0]])
        dst.append(fields[form.ends[1]])
    return as_labels(src), as_labels(dst)


def _unexpected(line: int, form: TextForm) -> DataError:
    return DataError(f"Expected {form.expected} on line {line}; it holds something else.")


def _open_parquet(file: Path) -> EdgeSource:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(file).names
    except pa.ArrowException:
        raise ParameterError("Expected a Parquet file with a readable schema.") from None
    a, b = end_columns(names)

    def load() -> Ends:
        table = pq.read_table(file, columns=[names[a], names[b]])
        return as_labels(table.column(0)), as_labels(table.column(1))

    return EdgeSource(None, load, distinct)


def _open_npz(file: Path) -> EdgeSource:
    """Arrays src, dst and the number of nodes n, which the file states and so counts as public."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            known = {"src", "dst", "n"} <= set(arrays.files)
            n = int(arrays["n"]) if known else 0
    except (ValueError, TypeError, OSError):
        known = False
    if not known:
        raise ParameterError("Expected an npz file with the arrays src, dst and the number n.")

    def load() -> Ends:
        with np.load(file, allow_pickle=False) as arrays:
            ends: list[Any] = [as_labels(arrays["src"]), as_labels(arrays["dst"])]
        return ends[0], ends[1]

    return EdgeSource(range(n), load, distinct)
