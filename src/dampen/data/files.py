"""Tables in files: CSV, TSV, JSON lines (gzip or bz2 or not, or a pipe), Parquet, Feather.

- `open_file`: a table, by its header or its schema.
- `open_bytes`: the bytes of a file, a pipe or standard input, packed or not; a pipe is read once.
- `CsvRows`, `json_rows`: rows of CSV and JSON lines, block by block, whatever they hold.

`open_file` looks at the header or the schema alone: everything it can find wrong is a
`ParameterError`.  Rows are read afterwards, in a stream of batches, so that a large file is never
held in memory.  No content of a row makes that fail; what the machine cannot read is a `DataError`,
which quotes nothing.

CSV means: UTF-8 with or without a byte order mark, one header line, cells separated by comma,
semicolon or tab (the most frequent of them in the header), double quotes, any line ends.

Limits: a first line of 1 MiB, and those of packed files.

**Rows of CSV and JSON lines**: no content makes reading fail.  Every row has an outcome that
follows from the row alone:

- A row of CSV whose cells are too few or too many, or whose quotes are broken, and a line of JSON
  that is not an object, are rows without cells: all their cells are missing.  They keep their
  place, so that other rows keep theirs.
- Bytes that are not UTF-8 become U+FFFD.
- A cell that does not read as a number is a missing number.  In JSON text is never a number.
- Empty lines are not rows; in CSV of one column they are rows with a missing cell.

Arrow reads a block where it can.  Where it cannot, or is not installed, Python reads the block, by
the same rules: `tests/data/test_text_rows.py` compares the two.  Without Arrow texts come as lists.
"""

import bz2
import codecs
import csv
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.columns import parsed_numbers, typed
from dampen.data.memory import arrow_field
from dampen.data.source import Batch, CellOf, Chunk, Field, Kind, counted, has_arrow, require_arrow
from dampen.errors import DataError, ParameterError, raise_alone

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa


__all__ = [
    "BROKEN",
    "HEAD_BYTES",
    "MARK",
    "Bytes",
    "ColumnarFiles",
    "CsvRows",
    "TextFile",
    "json_object",
    "json_rows",
    "open_bytes",
    "open_file",
]


HEAD_BYTES = 1 << 20
"""How much of a text may be looked at for its form: a header line is not longer."""

BUFFER = 1 << 16
MOST_EXPANDED = 1 << 28
MOST_EXPANSION = 200
"""A packed file may expand to 256 MiB in any case, and to 200 times its size."""

BROKEN = (OSError, EOFError, zlib.error)
"""What reading a broken file raises."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bytes:
    """A file that was opened and not read beyond its beginning.

    The beginning may be looked at before a charge, for the form of a file and its header; `open`
    gives everything from the beginning.

    Attributes:
        title: what errors call it.
        head: its beginning, unpacked.
        path: where it lies, None for a pipe.
        encoding: of its text, if it is not UTF-8; what is read is UTF-8 in any case.
    """

    title: str
    head: bytes
    path: Path | None
    _pipe: Any = None
    encoding: str = ""

    def open(self) -> IO[bytes]:
        """All bytes from the beginning, unpacked and as UTF-8; of a pipe only once."""
        if self.path is None:
            return cast("IO[bytes]", self._pipe)
        return _as_utf8(_unpacked(self.path.open("rb")), self.encoding)

    def in_encoding(self, encoding: str) -> "Bytes":
        """The same text, whose bytes are in this encoding.

        Raises:
            ParameterError: if there is no such encoding of text, or this is a pipe.
        """
        try:
            if not codecs.lookup(encoding)._is_text_encoding:
                raise LookupError
        except (LookupError, ValueError):
            raise ParameterError(
                f"Expected the name of an encoding, such as 'cp1252', got {encoding!r}."
            ) from None
        if self.path is None:
            raise ParameterError("Expected a file where an encoding is stated, not a pipe.")
        start = codecs.getincrementaldecoder(encoding)("replace").decode(self.head)
        return replace(self, head=start.encode(), encoding=encoding)


def open_bytes(path: str | Path) -> Bytes:
    """Opens a file, a pipe or, for `-`, standard input, and looks at its beginning.

    Raises:
        ParameterError: if it cannot be read.
    """
    title = "standard input" if str(path) == "-" else str(path)
    if os.path.isdir(path):
        raise ParameterError(f"Expected a file, but {title} is a directory.")
    try:
        if str(path) == "-":
            return _of_pipe(title, _standard_input())
        file = Path(path)
        if not stat.S_ISREG(file.stat().st_mode):
            return _of_pipe(title, file.open("rb", buffering=0))
        with _unpacked(file.open("rb")) as stream:
            return Bytes(title, stream.read(HEAD_BYTES), file)
    except OSError as error:
        reason = error.strerror or "it is broken"
    except (EOFError, zlib.error, ValueError, DataError):
        reason = "it is broken"
    raise ParameterError(f"Cannot read {title}: {reason}.")


def _standard_input() -> IO[bytes]:
    if not hasattr(sys.stdin, "buffer"):  # closed, or replaced by one of text
        raise OSError(0, "there is none")
    return sys.stdin.buffer


def _of_pipe(title: str, pipe: IO[bytes]) -> Bytes:
    raw = _Unpacked(pipe)
    return Bytes(title, raw.head(HEAD_BYTES), None, io.BufferedReader(raw, BUFFER))


def _as_utf8(stream: IO[bytes], encoding: str) -> IO[bytes]:
    return io.BufferedReader(_Recoded(stream, encoding), BUFFER) if encoding else stream


class _Recoded(io.RawIOBase):
    """Text of another encoding as UTF-8; what cannot be decoded becomes U+FFFD."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ahead = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._ahead and not self._ended:
            piece = self._stream.read(BUFFER)
            self._ended = not piece
            self._ahead = self._decoder.decode(piece, final=self._ended).encode()
        given = self._ahead[: len(buffer)]
        self._ahead = self._ahead[len(given) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_Unpacked(stream), BUFFER)


class _Unpacked(io.RawIOBase):
    """The bytes of a stream, unpacked if they begin like gzip or bz2."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._packed = _Counted(stream)
        self._ahead = b""
        self._given = 0
        start = self._packed.peek(3)
        self._stream: Any = self._packed
        if start[:2] == b"\x1f\x8b":
            self._stream = gzip.GzipFile(fileobj=cast("IO[bytes]", self._packed))
        elif start[:3] == b"BZh":
            self._stream = bz2.BZ2File(cast("IO[bytes]", self._packed))

    def head(self, limit: int) -> bytes:
        """The first bytes, which stay to be read."""
        while len(self._ahead) < limit and (piece := self._take(limit - len(self._ahead))):
            self._ahead += piece
        return self._ahead

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        piece = self._ahead[: len(buffer)] or self._take(len(buffer))
        self._ahead = self._ahead[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
        super().close()

    def _take(self, size: int) -> bytes:
        piece: bytes = self._stream.read(size)
        self._given += len(piece)
        is_packed = self._stream is not self._packed
        if is_packed and self._given > max(MOST_EXPANDED, MOST_EXPANSION * self._packed.taken):
            raise DataError(
                f"Expected a packed file that expands to at most {MOST_EXPANSION} times its size; "
                "this one expands further. Unpack it first."
            )
        return piece


class _Counted:
    """A stream that can be peeked at and knows how many bytes were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ahead = b""
        self.taken = 0

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._stream.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int = -1) -> bytes:
        if self._ahead:
            piece = self._ahead
            self._ahead = b""
            if size >= 0:
                self._ahead = piece[size:]
                piece = piece[:size]
        else:
            piece = self._stream.read(size)
        self.taken += len(piece)
        return piece

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._stream.close()


BLOCK_BYTES = 1 << 22
"""What is parsed at a time; a longer row makes a longer block."""
MOST_QUOTED = 1 << 20
MARK = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"\r\n|\r|\n")
INTEGER = re.compile("-?[0-9]{1,19}")
NUMBER = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
MOST_DIGITS = 300
"""Of a whole number in JSON that floats can hold."""


@dataclass(frozen=True)
class CsvRows:
    """How the rows of a CSV file are read.

    A cell of CSV is quoted from its first character to a quote that a separator, blanks or the end
    of the line follow.  If a quoted cell does not end like that, or goes on for 2^20 characters
    without a quote, its *line* is a row without cells and reading goes on with the next line.
    Quotes inside other cells mean nothing.

    Attributes:
        separator: of cells, one character.
        names: of all columns, in the order of the file; the first line of the file is skipped.
        decimal: the point of numbers, "." or ","; beside a comma, points may stand between
            thousands.
    """

    separator: str
    names: Sequence[str]
    decimal: str = "."

    def batches(self, stream: IO[bytes], wanted: Mapping[str, Kind]) -> Iterator[Batch]:
        """The wanted columns of all rows, in their order."""
        for block, is_rows in self._blocks(stream):
            yield self._columns(block, wanted) if is_rows else {name: [None] for name in wanted}

    def _blocks(self, stream: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Blocks of whole rows with sound quotes; and, with False, single lines without."""
        pieces = _pieces(stream, LINE_END)
        rest = b""
        for piece, is_last in pieces:
            buffer = rest + piece
            start = 0
            while start < len(buffer):
                end = self._sound_until(buffer, start)
                if end > start:
                    yield buffer[start:end], True
                    start = end
                    continue
                line = LINE_END.search(buffer, start)
                if line is None or (not is_last and self._may_go_on(buffer, start)):
                    break
                yield buffer[start : line.end()], False
                start = line.end()
            rest = buffer[start:]

    def _sound_until(self, buffer: bytes, start: int) -> int:
        """Where the first row begins that is not whole or has broken quotes."""
        if buffer.find(b'"', start) < 0:
            return max(buffer.rfind(b"\n"), buffer.rfind(b"\r"), start - 1) + 1
        found = self._patterns[0].match(buffer, start)
        assert found is not None
        return found.end()

    def _may_go_on(self, buffer: bytes, start: int) -> bool:
        """Whether what follows in the file might make a sound row of the rest."""
        return self._patterns[1].fullmatch(buffer, start) is not None

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
        """All sound rows from a place on; and the beginning of one that is not whole."""
        s, blank, quoted, bare = self._cells
        cell = rf'(?:{quoted}"{blank}*+|{bare})?+'
        rows = rf"(?:{cell}(?:{s}{cell})*+(?:\r\n|\r|\n))*+"
        begun = rf'(?:{quoted}(?:"{blank}*+|[^"]{{0,{MOST_QUOTED}}}+)|{bare})?+'
        return re.compile(rows.encode()), re.compile(rf"(?:{cell}{s})*+{begun}\r?".encode())

    @property
    def _cells(self) -> tuple[str, str, str, str]:
        """Patterns: the separator, a blank, a quoted cell up to its last quote, another cell."""
        s = re.escape(self.separator)
        blank = " " if self.separator == "\t" else r"[ \t]"
        quoted = rf'"(?:[^"]{{1,{MOST_QUOTED}}}+(?=")|"")*+'
        return s, blank, quoted, rf'[^"{s}\r\n][^{s}\r\n]*+'

    def _columns(self, block: bytes, wanted: Mapping[str, Kind]) -> Batch:
        if not _is_utf8(block):
            block = block.decode("utf-8", "replace").encode()
        table = self._arrow_columns(block, wanted) if has_arrow() else None
        if table is None:
            table = self._python_table(block, list(wanted))
        return {name: self._typed(table[name], kind) for name, kind in wanted.items()}

    def _typed(self, column: Any, kind: Kind) -> Chunk:
        if kind != "numbers" or self.decimal == ".":
            return _as_kind(column, kind)
        if isinstance(column, list):
            return _as_kind([cell and with_point(cell, self.decimal) for cell in column], kind)
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.type == pa.string():
            grouped = pc.match_substring_regex(column, rf"^\s*(?:{GROUPED.pattern})\s*$")
            column = pc.if_else(grouped, pc.replace_substring(column, ".", ""), column)
            column = pc.replace_substring(column, self.decimal, ".")
        return _as_kind(column, kind)

    def _arrow_columns(
        self, block: bytes, wanted: Mapping[str, Kind]
    ) -> "dict[str, pa.Array] | None":
        """Numbers as such, or else as text; None if a row has another number of cells."""
        import pyarrow as pa

        texts = dict.fromkeys(wanted, pa.string())
        numbers = {name: pa.float64() for name, kind in wanted.items() if kind == "numbers"}
        table = self._arrow_table(block, texts | numbers)
        return self._arrow_table(block, texts) if table is None and numbers else table

    def _arrow_table(
        self, block: bytes, types: "Mapping[str, pa.DataType]"
    ) -> "dict[str, pa.Array] | None":
        """None if a row has another number of cells, or a cell is not of its type."""
        import pyarrow as pa
        from pyarrow import csv

        if block.startswith(MARK):  # which Arrow would not take for a cell
            return None
        wrong = list[None]()

        def skip(_: object) -> str:
            wrong.append(None)
            return "skip"

        places = {name: str(self.names.index(name)) for name in types}
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(
                    block_size=len(block) + 1, column_names=list(map(str, range(len(self.names))))
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self.separator,
                    newlines_in_values=True,
                    ignore_empty_lines=len(self.names) > 1,
                    invalid_row_handler=skip,
                ),
                convert_options=csv.ConvertOptions(
                    decimal_point=self.decimal,
                    include_columns=list(places.values()),
                    column_types={places[name]: kind for name, kind in types.items()},
                ),
            )
        except pa.ArrowException:
            return None
        if wrong:
            return None
        return {name: _whole(table.column(place)) for name, place in places.items()}

    def _python_table(self, block: bytes, wanted: Sequence[str]) -> dict[str, Any]:
        columns = self._split(block, wanted)
        if columns is None:
            columns = self._row_by_row(block, wanted)
        return {name: _texts(column) for name, column in columns.items()}

    def _split(self, block: bytes, wanted: Sequence[str]) -> dict[str, list[str | None]] | None:
        """All cells at once; None if there are quotes or another number of cells in a row."""
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        separator = self.separator.encode()
        width = len(self.names)
        if b'"' in block or block.count(separator) != block.count(b"\n") * (width - 1):
            return None
        read = np.frombuffer(block, dtype=np.uint8)
        marks = read[(read == ord("\n")) | (read == ord(separator))]
        if not (marks.reshape(-1, width)[:, -1] == ord("\n")).all():
            return None
        cells: list[Any] = block[:-1].replace(b"\n", separator).decode().split(self.separator)
        return {name: cells[self.names.index(name) :: width] for name in wanted}

    def _row_by_row(self, block: bytes, wanted: Sequence[str]) -> dict[str, list[str | None]]:
        """A row with another number of cells has none."""
        s, blank, quoted, bare = self._cells
        cell = rf'(?:{quoted}"{blank}*+|{bare})?+'
        row_of = re.compile(rf"({cell}(?:{s}{cell})*+)(?:\r\n|\r|\n)")
        cell_of = re.compile(rf"{s}({cell})")
        places = [self.names.index(name) for name in wanted]
        width = len(self.names)
        rows: list[list[str | None]] = []
        for found in row_of.finditer(block.decode()):
            row = found[1]
            if not row and width > 1:
                continue
            parts = (
                row.split(self.separator)
                if '"' not in row
                else cell_of.findall(self.separator + row)
            )
            whole = len(parts) == width
            rows.append([_unquoted(parts[i]) if whole else None for i in places])
        columns = zip(*rows, strict=True) if rows else ([] for _ in wanted)
        return {name: list(column) for name, column in zip(wanted, columns, strict=True)}


def json_rows(stream: IO[bytes], wanted: Mapping[str, Kind]) -> Iterator[Batch]:
    """The wanted columns of all lines, in their order."""
    rest = b""
    for piece, is_last in _pieces(stream, None):
        buffer = rest + piece
        end = len(buffer) if is_last else buffer.rfind(b"\n") + 1
        if end:
            yield _json_columns(buffer[:end], wanted)
        rest = buffer[end:]


def _json_columns(block: bytes, wanted: Mapping[str, Kind]) -> Batch:
    block = block.replace(b"\r\n", b"\n")
    if not has_arrow():
        return _python_objects(block, wanted)
    import pyarrow as pa

    for text in (pa.string(), pa.int64()):
        table = _arrow_objects(block, wanted, text)
        if table is not None:
            return table
        if all(kind != "text" for kind in wanted.values()):
            break
    return _python_objects(block, wanted)


def _arrow_objects(block: bytes, wanted: Mapping[str, Kind], text: Any) -> Batch | None:
    """None where a line is not one object that Arrow and Python read alike, or of other types."""
    import pyarrow as pa
    from pyarrow import json as arrow

    lines = block.count(b"\n")
    one_each = block.count(b"}\n{") == lines - 1 and block[:1] == b"{" and block[-2:] == b"}\n"
    if not one_each or b"Inf" in block or not _is_utf8(block):
        return None
    types = {
        name: pa.float64() if kind == "numbers" else text if kind == "text" else pa.string()
        for name, kind in wanted.items()
    }
    try:
        table = arrow.read_json(
            pa.BufferReader(block),
            read_options=arrow.ReadOptions(block_size=len(block) + 1),
            parse_options=arrow.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowException:
        return None
    if len(table) != lines:
        return None
    columns = {name: _whole(table.column(name)) for name in wanted}
    return {
        name: columns[name].cast(pa.string()) if kind == "text" else columns[name]
        for name, kind in wanted.items()
    }


def _python_objects(block: bytes, wanted: Mapping[str, Kind]) -> Batch:
    lines = block.decode("utf-8", "replace").split("\n")
    rows = [json_object(line) for line in lines if line.strip(" \t\r")]
    return {
        name: _json_column([row.get(name) for row in rows], kind) for name, kind in wanted.items()
    }


def json_object(line: str) -> dict[str, Any]:
    """The object in a line; an empty one where there is none."""
    try:
        read = json.loads(line, parse_int=_whole_number)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


def _json_column(cells: list[Any], kind: Kind) -> Chunk:
    if kind == "any":
        return cells
    if kind == "text":
        return _texts(list(map(_json_text, cells)))
    numbers = (float(x) if type(x) in (int, float) else np.nan for x in cells)
    return np.fromiter(numbers, dtype=np.float64, count=len(cells))


def _json_text(cell: Any) -> str | None:
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    return json.dumps(cell) if isinstance(cell, bool | int | float) else None


def _texts(cells: list[str | None]) -> Chunk:
    if not has_arrow():
        return cells
    import pyarrow as pa

    return pa.array(cells, pa.string())


def _as_kind(column: Any, kind: Kind) -> Chunk:
    if kind == "numbers":
        return parsed_numbers(column)
    if kind == "text":
        return column
    if isinstance(column, list):
        return [None if cell is None else _number_or_text(cell) for cell in column]
    seen = column.dictionary_encode()
    objects = np.empty(len(seen.dictionary) + 1, dtype=object)
    objects[:-1] = [_number_or_text(cell) for cell in seen.dictionary.to_pylist()]
    chunk: Chunk = objects[seen.indices.fill_null(len(objects) - 1).to_numpy(zero_copy_only=False)]
    return chunk


def _number_or_text(cell: str) -> Any:
    """A cell as what it looks like."""
    if INTEGER.fullmatch(cell):
        return int(cell)
    try:
        return float(cell) if NUMBER.fullmatch(cell) else cell or None
    except ValueError:
        return cell


def _unquoted(cell: str) -> str:
    if not cell.startswith('"'):
        return cell
    inner, _, blanks = cell[1:].rpartition('"')
    return inner.replace('""', '"') + blanks


def _pieces(stream: IO[bytes], header: re.Pattern[bytes] | None) -> Iterator[tuple[bytes, bool]]:
    """The bytes of a file and whether they are the last, which then end a line.

    A line end of two characters is in one piece.  The first line is left out if it is a header.
    """
    ahead = stream.read(BLOCK_BYTES).removeprefix(MARK)
    if header is not None:
        ahead = ahead[found.end() :] if (found := header.search(ahead)) else b""
    while True:
        following = stream.read(BLOCK_BYTES)
        if ahead.endswith(b"\r") and following.startswith(b"\n"):
            ahead += b"\n"
            following = following[1:]
        if not following:
            is_line = not ahead or ahead.endswith((b"\n", b"\r"))
            yield ahead if is_line else ahead + b"\n", True
            return
        yield ahead, False
        ahead = following


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _whole(column: Any) -> Any:
    """An Arrow array in one piece."""
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


FIRST_OBJECTS = 1000
"""Lines of JSON whose keys are the names of the columns."""
COLUMNAR = {b"PAR1": "parquet", b"ARRO": "feather"}
"""How Parquet and Feather files begin."""

MOST_HELD = 1 << 28
"""Bytes of columnar files, packed, above which rows had better be read again than held."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextFile:
    """CSV, TSV or JSON lines; `separator` is empty for JSON lines."""

    bytes: Bytes
    fields: Sequence[Field]
    separator: str
    declared: bool
    decimal: str = "."
    rows = None
    ordered = True
    streams = False

    @property
    def title(self) -> str:
        return self.bytes.title

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        yield from _guarded(self._read(wanted), self.title)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _read(self, wanted: Mapping[str, Kind]) -> Iterator[Batch]:
        with self.bytes.open() as stream:
            if self.separator:
                names = [field.name for field in self.fields]
                rows = CsvRows(self.separator, names, self.decimal)
                yield from rows.batches(stream, wanted)
            else:
                yield from json_rows(stream, wanted)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ColumnarFiles:
    """One or more Parquet or Feather files with one schema, which declares names and types."""

    title: str
    paths: Sequence[str]
    format: Literal["parquet", "feather"]
    fields: Sequence[Field]
    declared = True
    rows = None
    ordered = True

    @property
    def streams(self) -> bool:
        return sum(Path(path).stat().st_size for path in self.paths) > MOST_HELD

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        yield from _guarded(self._read(wanted), self.title)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _read(self, wanted: Mapping[str, Kind]) -> Iterator[Batch]:
        scanned: Iterator[pa.RecordBatch] = _dataset(self.paths, self.format).to_batches(
            columns=list(wanted), batch_readahead=4, fragment_readahead=1
        )
        for batch in scanned if self.format == "parquet" else map(_validated, scanned):
            yield {name: typed(batch.column(name), kind) for name, kind in wanted.items()}


def open_file(
    path: "str | PathLike[str]", *, header: bool = False, encoding: str = "", decimal: str = "."
) -> TextFile | ColumnarFiles:
    """Checks that a path is a table and reads the names of its columns, nothing else.

    Args:
        path: a file, a directory or a pattern of Parquet files, a pipe, or `-`.
        header: says that the first line of a text file surely holds names, which may be quoted.
        encoding: of a text file that is not UTF-8, such as "cp1252".
        decimal: the point of numbers in CSV, "." or ",".

    Raises:
        ParameterError: if there is no such file, or it is not a table with a header.
    """
    name = str(path)
    if os.path.isdir(name) or is_pattern(name):
        return _open_columnar(name, files_of(name), "parquet")
    opened = open_bytes(name)
    kind = COLUMNAR.get(opened.head[:4])
    if kind is not None:
        if opened.path is None:
            raise ParameterError(f"Expected a file for {kind.capitalize()}, not a pipe.")
        return _open_columnar(name, [name], kind)
    if encoding:
        opened = opened.in_encoding(encoding)
    if is_json(opened):
        return _open_json(opened, header=header)
    return replace(_open_csv(opened, header=header), decimal=decimal)


LIKELY = "cp1252"
"""The encoding of most text files that are not UTF-8."""
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")
"""A number with points between its thousands, where decimals follow a comma."""
COMMA = re.compile(r"[+-]?[0-9]+(?:\.[0-9]{3})*,[0-9]+")
"""A number with a decimal comma."""


def with_point(cell: str, decimal: str) -> str:
    """A cell of a file with this decimal point, as numbers are read: 1.234,5 as 1234.5.

    >>> with_point("1.234,5", ","), with_point("0,5", ","), with_point("1.234,5", ".")
    ('1234.5', '0.5', '1.234,5')
    """
    if decimal == "." or not GROUPED.fullmatch(cell.strip()):
        return cell.replace(decimal, ".")
    return cell.replace(".", "").replace(decimal, ".")


def likely_form(opened: TextFile) -> tuple[str, str]:
    """The encoding and the point of numbers that a text file seems to have; reads all of it.

    Returns:
        What `open_file` takes: "" for UTF-8, and "." or ",".
    """
    with opened.bytes.open() as stream:
        content = stream.read()
    try:
        encoding, text = "", content.decode("utf-8")
    except UnicodeDecodeError:
        encoding, text = LIKELY, content.decode(LIKELY, errors="replace")
    if opened.separator in ("", ","):
        return encoding, opened.decimal
    size = len(opened.fields)
    commas = [0] * size
    present = [0] * size
    for record in islice(csv.reader(io.StringIO(text), delimiter=opened.separator), 1, None):
        for place, cell in enumerate(record[:size]):
            present[place] += bool(cell.strip())
            commas[place] += COMMA.fullmatch(cell.strip()) is not None
    mostly = any(2 * some > every > 0 for some, every in zip(commas, present, strict=True))
    return encoding, "," if mostly else opened.decimal


def files_of(name: str) -> list[str]:
    """The files that a directory or a pattern stands for; of all other names the name itself."""
    if os.path.isdir(name):
        return list(map(str, Path(name).rglob("*.parquet")))
    return glob(name, recursive=True) if is_pattern(name) else [name]


def is_pattern(name: str) -> bool:
    """Whether a path is a pattern for several files rather than the name of one."""
    return has_magic(name) and not os.path.exists(name)


def _open_csv(opened: Bytes, *, header: bool) -> TextFile:
    line = _first_line(opened)
    separator = max(",;\t", key="".join(line.split('"')[::2]).count)
    try:
        names = next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error:
        raise_alone(_not_a_table(opened))
    return TextFile(opened, [Field(name) for name in names], separator, header)


def is_json(opened: Bytes) -> bool:
    """Whether a text file holds JSON lines rather than separated cells."""
    named = opened.title.removesuffix(".gz").removesuffix(".bz2")
    start = opened.head.removeprefix(MARK).lstrip()
    return start[:1] == b"{" or named.endswith((".jsonl", ".ndjson"))


def _open_json(opened: Bytes, *, header: bool) -> TextFile:
    """The names are those of the first objects; they may be data, as a header may.

    Of several, so that no line that is not an object makes a file unreadable.
    """
    if _is_blank(opened.head):
        raise ParameterError(f"Expected JSON objects, but {opened.title} is empty.")
    lines = opened.head.decode("utf-8-sig", errors="replace").split("\n", FIRST_OBJECTS)
    names = dict.fromkeys(name for line in lines[:FIRST_OBJECTS] for name in json_object(line))
    if not names:
        raise ParameterError(f"Expected one JSON object in every line of {opened.title}.")
    return TextFile(opened, [Field(name) for name in names], "", header)


def _first_line(opened: Bytes) -> str:
    start = opened.head
    if _is_blank(start):
        raise ParameterError(f"Expected a table with a header, but {opened.title} is empty.")
    line, newline, _ = start.replace(b"\r\n", b"\n").replace(b"\r", b"\n").partition(b"\n")
    if not newline and len(start) >= HEAD_BYTES:
        raise ParameterError(
            f"Expected a first line of at most {HEAD_BYTES} bytes in {opened.title}."
        )
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise_alone(_not_a_table(opened))
    if not text.strip():
        raise ParameterError(
            f"Expected a header with column names in the first line of {opened.title}."
        )
    if not text.replace("\t", " ").isprintable():
        raise _not_a_table(opened)
    return text


def _is_blank(start: bytes) -> bool:
    return not start.removeprefix(MARK)


def _open_columnar(title: str, paths: Iterable[str], kind: Any) -> ColumnarFiles:
    files = sorted(path for path in paths if os.path.isfile(path))
    if not files:
        raise ParameterError(f"Expected Parquet files in {title}; there are none.")
    require_arrow("which reads Parquet and Feather files", "files")
    try:
        fields = [arrow_field(field) for field in _dataset(files, kind).schema]
    except Exception:  # a broken file makes Arrow raise errors of many kinds
        raise_alone(ParameterError(f"{title} is not a whole {kind.capitalize()} file."))
    return ColumnarFiles(title, files, kind, fields)


def _dataset(paths: Sequence[str], kind: str) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(list(paths), format=kind)


def _validated(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Feather is memory as it was written; a broken one would lead Arrow outside of it.

    Text is checked as bytes: whether it is UTF-8 is a matter of each cell.
    """
    for column in batch.columns:
        _as_bytes(column).validate(full=True)
    return batch


def _as_bytes(column: Any) -> Any:
    import pyarrow as pa

    views = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    if pa.types.is_dictionary(column.type):
        coded = _as_bytes(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, coded, safe=False)
    return column.view(views[column.type]) if column.type in views else column


def _guarded(batches: Iterator[Batch], title: str) -> Iterator[Batch]:
    """The batches; errors of Arrow quote cells, so they are replaced."""
    try:
        yield from batches
    except Exception:  # a broken file makes Arrow raise errors of many kinds
        failure = DataError(f"{title} cannot be read to its end.")
    else:
        return
    raise_alone(failure)


def _not_a_table(opened: Bytes) -> ParameterError:
    return ParameterError(
        f"Cannot read {opened.title}. Expected CSV, TSV or JSON lines in UTF-8, Parquet or Feather."
    )
