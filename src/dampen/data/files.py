"""Tables in files: CSV, TSV, JSON lines (gzip or bz2 or not, or a pipe), Parquet, Feather.

`open_file` looks at the header or the schema alone: everything it can find wrong is a
`ParameterError`.  Rows are read afterwards, in a stream of batches, so that a large file is never
held in memory.  No content of a row makes that fail (`dampen.data.text_rows`); what the machine
cannot read is a `DataError`, which quotes nothing.

CSV means: UTF-8 with or without a byte order mark, one header line, cells separated by comma,
semicolon or tab (the most frequent of them in the header), double quotes, any line ends.

Limits: a first line of 1 MiB, and what `dampen.data.streams` says of packed files.
"""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dampen.core.selection import IntArray
from dampen.data.columns import typed
from dampen.data.memory import arrow_field
from dampen.data.source import Batch, CellOf, Field, Kind, counted
from dampen.data.streams import HEAD_BYTES, Bytes, open_bytes
from dampen.data.text_rows import MARK, CsvRows, json_object, json_rows
from dampen.errors import DataError, ParameterError, raise_alone

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

__all__ = ["ColumnarFiles", "TextFile", "open_file"]

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
    if encoding:
        opened = opened.in_encoding(encoding)
    if is_json(opened):
        return _open_json(opened, header=header)
    return replace(_open_csv(opened, header=header), decimal=decimal)


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
        f"Expected CSV, TSV, JSON lines, Parquet or Feather, text in UTF-8; {opened.title} is none "
        "of them."
    )
