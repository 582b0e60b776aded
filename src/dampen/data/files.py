"""Tables in files: CSV, TSV, JSON lines (gzip or bz2 or not, or a pipe), Parquet, Feather.

`open_file` looks at the header or the schema alone: everything it can find wrong is a
`ParameterError`.  Rows are read afterwards, in a stream of batches, so that a large file is never
held in memory; whatever is wrong then is a `DataError`, which quotes nothing.

CSV means: UTF-8 with or without a byte order mark, one header line, cells separated by comma,
semicolon or tab (the most frequent of them in the header), double quotes, any line ends.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dampen.data.columns import typed
from dampen.data.memory import arrow_field
from dampen.data.opened import Batch, CellOf, Field, Kind, counted
from dampen.data.streams import BROKEN, HEAD_BYTES, Bytes, open_bytes
from dampen.errors import DataError, ParameterError, raise_alone
from dampen.selection import IntArray

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

__all__ = ["ColumnarFiles", "TextFile", "open_file"]

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

        with self.bytes.open() as stream, pa.PythonFile(stream, mode="r") as file:
            if _is_blank(self.bytes.head):
                return
            yield from self._csv(file, wanted) if self.separator else self._json(file, wanted)

    def _csv(self, file: Any, wanted: Mapping[str, Kind]) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            file,
            parse_options=arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(wanted),
                column_types={
                    name: "float64" if kind == "numbers" else "string"
                    for name, kind in wanted.items()
                },
            ),
        )

    @staticmethod
    def _json(file: Any, wanted: Mapping[str, Kind]) -> Any:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        numbers = [(name, pa.float64()) for name, kind in wanted.items() if kind == "numbers"]
        return arrow_json.open_json(
            file, parse_options=arrow_json.ParseOptions(explicit_schema=pa.schema(numbers))
        )


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
        return scanned


def open_file(path: "str | PathLike[str]", *, header: bool = False) -> TextFile | ColumnarFiles:
    """Checks that a path is a table and reads the names of its columns, nothing else.

    Args:
        path: a file, a directory or a pattern of Parquet files, a pipe, or `-`.
        header: says that the first line of a text file surely holds names, which may be quoted.

    Raises:
        ParameterError: if there is no such file, or it is not a table with a header.
    """
    name = str(path)
    if Path(name).is_dir():
        return _open_columnar(name, sorted(map(str, Path(name).rglob("*.parquet"))), "parquet")
    if has_magic(name) and not Path(name).exists():
        return _open_columnar(name, sorted(glob(name, recursive=True)), "parquet")
    opened = open_bytes(name)
    kind = COLUMNAR.get(opened.head[:4])
    if kind is not None:
        if opened.path is None:
            raise ParameterError(f"Expected a file for {kind.capitalize()}, not a pipe.")
        return _open_columnar(name, [name], kind)
    return _open_json(opened) if _is_json(opened) else _open_csv(opened, header=header)


def _open_csv(opened: Bytes, *, header: bool) -> TextFile:
    line = _first_line(opened)
    separator = max(",;\t", key="".join(line.split('"')[::2]).count)
    try:
        names = next(csv.reader([line], delimiter=separator))
    except csv.Error:
        raise_alone(_not_a_table(opened))
    return TextFile(opened, [Field(name) for name in names], separator, header)


def _is_json(opened: Bytes) -> bool:
    named = opened.title.removesuffix(".gz").removesuffix(".bz2")
    return opened.head.lstrip()[:1] == b"{" or named.endswith((".jsonl", ".ndjson"))


def _open_json(opened: Bytes) -> TextFile:
    """The names are those of the first object; they may be data, so that none is ever quoted."""
    try:
        first = json.loads(_first_line(opened))
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict):
        raise_alone(ParameterError(f"Expected one JSON object in every line of {opened.title}."))
    return TextFile(opened, [Field(str(name)) for name in first], "", False)


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
    return not start or start == b"\xef\xbb\xbf"


def _open_columnar(title: str, paths: list[str], kind: Any) -> ColumnarFiles:
    import pyarrow as pa

    if not paths:
        raise ParameterError(f"Expected Parquet files in {title}; there are none.")
    try:
        fields = [arrow_field(field) for field in _dataset(paths, kind).schema]
    except (pa.ArrowException, OSError):
        raise_alone(ParameterError(f"{title} is not a whole {kind.capitalize()} file."))
    return ColumnarFiles(title, paths, kind, fields)


def _dataset(paths: Sequence[str], kind: str) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(list(paths), format=kind)


def _guarded(
    batches: "Iterator[pa.RecordBatch]", wanted: Mapping[str, Kind], title: str
) -> Iterator[Batch]:
    """The wanted columns of every batch; errors of Arrow quote cells, so they are replaced."""
    import pyarrow as pa

    expected = ", ".join(f"{kind} in {name!r}" for name, kind in wanted.items())
    try:
        for batch in batches:
            yield {name: typed(batch.column(name), kind) for name, kind in wanted.items()}
    except (pa.ArrowException, KeyError):
        problem = (
            f"Expected {expected} and the same columns in every row of {title}; somewhere it is "
            "not so."
        )
    except BROKEN:
        problem = f"{title} cannot be read to its end."
    else:
        return
    raise_alone(DataError(problem))


def _not_a_table(opened: Bytes) -> ParameterError:
    return ParameterError(
        f"Expected CSV, TSV, JSON lines, Parquet or Feather, text in UTF-8; {opened.title} is none "
        "of them."
    )
