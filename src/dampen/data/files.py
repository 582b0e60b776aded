"""Tables in files: CSV, TSV, JSON lines (gzip or bz2 or not, or a pipe), Parquet, Feather.

`open_file` looks at the header or the schema alone: everything it can find wrong is a
`ParameterError`.  Rows are read afterwards, in a stream of batches, so that a large file is never
held in memory; whatever is wrong then is a `DataError`, which quotes nothing.

CSV means: UTF-8 with or without a byte order mark, one header line, cells separated by comma,
semicolon or tab (the most frequent of them in the header), double quotes, any line ends.

Limits: a first line of 1 MiB, a row of 2 MiB, and what `dampen.data.streams` says of packed files.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dampen.core.selection import IntArray
from dampen.data.columns import typed
from dampen.data.memory import arrow_field
from dampen.data.source import Batch, CellOf, Field, Kind, counted
from dampen.data.streams import BROKEN, HEAD_BYTES, Bytes, open_bytes
from dampen.errors import DataError, ParameterError, raise_alone

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

__all__ = ["ColumnarFiles", "TextFile", "open_file"]

BLOCK_BYTES = 2 * HEAD_BYTES
"""What Arrow parses at a time; a row may not be longer."""

MARK = b"\xef\xbb\xbf"
INTEGER = re.compile("-?[0-9]{1,19}")
NUMBER = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
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
    rows = None
    ordered = True
    streams = False

    @property
    def title(self) -> str:
        return self.bytes.title

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        yield from _guarded(self._read(wanted), wanted, self.title)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _read(self, wanted: Mapping[str, Kind]) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        types = {name: self._type(name, kind) for name, kind in wanted.items()}
        with self.bytes.open() as stream, pa.PythonFile(stream, mode="r") as file:
            if not self.separator or _has_rows(self.bytes.head):
                yield from self._csv(file, types) if self.separator else self._json(file, types)

    def _csv(self, file: Any, types: "Mapping[str, pa.DataType]") -> Any:
        from pyarrow import csv as arrow

        return arrow.open_csv(
            file,
            read_options=arrow.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=arrow.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            convert_options=arrow.ConvertOptions(include_columns=list(types), column_types=types),
        )

    @staticmethod
    def _json(file: Any, types: "Mapping[str, pa.DataType]") -> Any:
        """Only the wanted columns: others may change their types from row to row."""
        import pyarrow as pa
        from pyarrow import json as arrow

        return arrow.open_json(
            file,
            read_options=arrow.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=arrow.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )

    def _type(self, name: str, kind: Kind) -> "pa.DataType":
        """The type to read a column by; where nobody says it, that of its first values."""
        import pyarrow as pa

        if kind == "numbers":
            return pa.float64()
        if self.separator and kind == "text":
            return pa.string()
        shown = _types_of(self._first_values(name))
        if shown <= {int} and shown:
            return pa.int64()
        if shown <= {int, float} and shown:
            return pa.float64()
        return pa.bool_() if shown == {bool} else pa.string()

    def _first_values(self, name: str) -> Iterator[Any]:
        text = self.bytes.head.decode("utf-8-sig", errors="replace")
        lines = text.splitlines()
        if len(self.bytes.head) >= HEAD_BYTES:
            lines.pop()  # it may go on
        if not self.separator:
            rows = (_json_object(line) for line in lines)
            yield from (row[name] for row in rows if row is not None and row.get(name) is not None)
            return
        place = [field.name for field in self.fields].index(name)
        with suppress(csv.Error):  # Arrow will say what is wrong
            for row in csv.reader(io.StringIO("\n".join(lines[1:])), delimiter=self.separator):
                if place < len(row) and row[place]:
                    yield _number_or_text(row[place])


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
        yield from _guarded(self._read(wanted), wanted, self.title)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _read(self, wanted: Mapping[str, Kind]) -> "Iterator[pa.RecordBatch]":
        scanned: Iterator[pa.RecordBatch] = _dataset(self.paths, self.format).to_batches(
            columns=list(wanted), batch_readahead=4, fragment_readahead=1
        )
        return map(_validated, scanned)


def open_file(path: "str | PathLike[str]", *, header: bool = False) -> TextFile | ColumnarFiles:
    """Checks that a path is a table and reads the names of its columns, nothing else.

    Args:
        path: a file, a directory or a pattern of Parquet files, a pipe, or `-`.
        header: says that the first line of a text file surely holds names, which may be quoted.

    Raises:
        ParameterError: if there is no such file, or it is not a table with a header.
    """
    name = str(path)
    if os.path.isdir(name):
        return _open_columnar(name, map(str, Path(name).rglob("*.parquet")), "parquet")
    if is_pattern(name):
        return _open_columnar(name, glob(name, recursive=True), "parquet")
    opened = open_bytes(name)
    kind = COLUMNAR.get(opened.head[:4])
    if kind is not None:
        if opened.path is None:
            raise ParameterError(f"Expected a file for {kind.capitalize()}, not a pipe.")
        return _open_columnar(name, [name], kind)
    opener = _open_json if is_json(opened) else _open_csv
    return opener(opened, header=header)


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
    """The names are those of the first object; they may be data, as a header may."""
    first = _json_object(_first_line(opened))
    if not first:
        raise_alone(ParameterError(f"Expected one JSON object in every line of {opened.title}."))
    return TextFile(opened, [Field(name) for name in first], "", header)


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _types_of(values: Iterator[Any]) -> set[type]:
    return {type(value) for value in values}


def _number_or_text(cell: str) -> Any:
    """A cell as what it looks like, to Arrow as well."""
    if INTEGER.fullmatch(cell):
        return int(cell) if abs(int(cell)) < 2**63 else cell
    try:
        return float(cell) if NUMBER.fullmatch(cell) else cell
    except ValueError:
        return cell


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


def _has_rows(start: bytes) -> bool:
    """Whether anything can follow a header; Arrow takes none without a line end."""
    return b"\n" in start or b"\r" in start


def _open_columnar(title: str, paths: Iterable[str], kind: Any) -> ColumnarFiles:
    files = sorted(path for path in paths if os.path.isfile(path))
    if not files:
        raise ParameterError(f"Expected Parquet files in {title}; there are none.")
    try:
        fields = [arrow_field(field) for field in _dataset(files, kind).schema]
    except Exception:  # a broken file makes Arrow raise errors of many kinds
        raise_alone(ParameterError(f"{title} is not a whole {kind.capitalize()} file."))
    return ColumnarFiles(title, files, kind, fields)


def _dataset(paths: Sequence[str], kind: str) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(list(paths), format=kind)


def _validated(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """The same rows, without the text that cannot be decoded.

    Feather is memory as it was written; a broken one would lead Arrow outside of it.
    """
    import pyarrow as pa

    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        columns = [_decoded(column) for column in batch.columns]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    return batch


def _decoded(column: Any) -> Any:
    """A column with nulls in place of text that cannot be decoded."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column.indices.validate(full=True)
        words = _decoded(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, words).dictionary_decode()
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    if column.type not in kinds:
        column.validate(full=True)
        return column
    stored = column.view(kinds[column.type])
    stored.validate(full=True)
    return pa.array(
        [None if raw is None else _text(raw) for raw in stored.to_pylist()], column.type
    )


def _text(stored: bytes) -> str | None:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return None


def _guarded(
    batches: "Iterator[pa.RecordBatch]", wanted: Mapping[str, Kind], title: str
) -> Iterator[Batch]:
    """The wanted columns of every batch; errors of Arrow quote cells, so they are replaced."""
    expected = ", ".join(f"{kind} in {name!r}" for name, kind in wanted.items())
    try:
        for batch in batches:
            yield {name: typed(batch.column(name), kind) for name, kind in wanted.items()}
    except DataError as error:
        problem = str(error)
    except BROKEN:
        problem = f"{title} cannot be read to its end."
    except Exception:  # a broken file makes Arrow raise errors of many kinds
        problem = (
            f"Expected {expected} and the same columns in every row of {title}; somewhere it is "
            "not so."
        )
    else:
        return
    raise_alone(DataError(problem))


def _not_a_table(opened: Bytes) -> ParameterError:
    return ParameterError(
        f"Expected CSV, TSV, JSON lines, Parquet or Feather, text in UTF-8; {opened.title} is none "
        "of them."
    )
