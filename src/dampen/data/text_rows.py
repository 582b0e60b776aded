"""Rows of CSV and JSON lines, block by block, whatever they hold: no content makes reading fail.

Every row has an outcome that follows from the row alone:

- A row of CSV whose cells are too few or too many, or whose quotes are broken, and a line of JSON
  that is not an object, are rows without cells: all their cells are missing.  They keep their
  place, so that other rows keep theirs.
- Bytes that are not UTF-8 become U+FFFD.
- A cell that does not read as a number is a missing number.  In JSON text is never a number.
- Empty lines are not rows; in CSV of one column they are rows with a missing cell.

Arrow reads a block where it can.  Where it cannot, Python reads the block again, by the same rules:
`tests/data/test_text_rows.py` compares the two.

A cell of CSV is quoted from its first character to a quote that a separator, blanks or the end of
the line follow.  If a quoted cell does not end like that, or goes on for 2^20
characters without a quote, its *line* is a
row without cells and reading goes on with the next line.  Quotes inside other cells mean nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dampen.data.columns import parsed_numbers
from dampen.data.source import Batch, Chunk, Kind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MARK", "CsvRows", "json_object", "json_rows"]

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

    Attributes:
        separator: of cells, one character.
        names: of all columns, in the order of the file; the first line of the file is skipped.
        decimal: the point of numbers, "." or ",".
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
        import pyarrow as pa

        float64 = pa.float64()
        types = {
            name: float64 if kind == "numbers" else pa.string() for name, kind in wanted.items()
        }
        if not _is_utf8(block):
            block = block.decode("utf-8", "replace").encode()
        table = self._arrow_table(block, types)
        if table is None:
            table = self._arrow_table(block, dict.fromkeys(wanted, pa.string()))
        if table is None:
            table = self._python_table(block, list(wanted))
        return {name: self._typed(table[name], kind) for name, kind in wanted.items()}

    def _typed(self, column: "pa.Array", kind: Kind) -> Chunk:
        import pyarrow as pa
        import pyarrow.compute as pc

        if kind == "numbers" and self.decimal != "." and column.type == pa.string():
            column = pc.replace_substring(column, self.decimal, ".")
        return _as_kind(column, kind)

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

    def _python_table(self, block: bytes, wanted: Sequence[str]) -> "dict[str, pa.Array]":
        """Row by row; one with another number of cells has none."""
        import pyarrow as pa

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
        return {
            name: pa.array(column, pa.string())
            for name, column in zip(wanted, columns, strict=True)
        }


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
    import pyarrow as pa

    block = block.replace(b"\r\n", b"\n")
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
    import pyarrow as pa

    if kind == "any":
        return cells
    if kind == "text":
        return pa.array(map(_json_text, cells), pa.string())
    numbers = (float(x) if type(x) in (int, float) else np.nan for x in cells)
    return np.fromiter(numbers, dtype=np.float64, count=len(cells))


def _json_text(cell: Any) -> str | None:
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    return json.dumps(cell) if isinstance(cell, bool | int | float) else None


def _as_kind(column: "pa.Array", kind: Kind) -> Chunk:
    if kind == "numbers":
        return parsed_numbers(column)
    if kind == "text":
        return column
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
