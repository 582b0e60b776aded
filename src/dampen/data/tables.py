"""Tables in files: CSV, TSV (gzip or not) and Parquet, one column at a time.

`open_table` looks at the header alone, before a budget is charged: everything it can find wrong is
a `ParameterError`.  Columns are read afterwards, in a stream of batches, so that the text of a
large file is never held in memory; whatever is wrong then is a `DataError`, which quotes nothing.

CSV means: UTF-8 with or without a byte order mark, one header line, cells separated by comma,
semicolon or tab (the most frequent of them in the header), double quotes, any line ends.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dampen.errors import DataError, ParameterError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

HEADER_BYTES = 1 << 16
"""A header line is longer than this only in a file that is no table."""

Format = Literal["csv", "parquet"]
Kind = Literal["numbers", "text"]


@dataclass(frozen=True, slots=True)
class Table:
    """A file whose header was checked and whose rows were not read."""

    path: Path
    columns: tuple[str, ...]
    format: Format
    separator: str = ","
    compressed: bool = False

    def require(self, *names: str) -> None:
        """Checks that the columns exist, once each.

        Raises:
            ParameterError: if one does not.
        """
        for name in names:
            if name not in self.columns:
                raise ParameterError(
                    f"Expected a column {name!r} in {self.path}.{self._hint(name)}"
                )
            if self.columns.count(name) > 1:
                raise ParameterError(f"Expected one column {name!r} in {self.path}, got several.")

    def _hint(self, name: str) -> str:
        # The first line of a file without a header is private and must not be quoted.
        if any(_is_number(column) for column in self.columns):
            return " Its first line looks like data, not like the names of columns."
        return did_you_mean(name, self.columns)

    def require_numbers(self, *names: str) -> None:
        """`require`, and for Parquet that the columns have a numeric type."""
        self.require(*names)
        if self.format == "parquet":
            import pyarrow.types as kinds

            for name in names:
                kind = self._parquet().schema_arrow.field(name).type
                if not (
                    kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
                ):
                    raise ParameterError(f"Expected numbers in column {name!r}, it holds {kind}.")

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, NDArray[Any]]:
        """The named columns in one pass over the file, as numbers or as text.

        Numbers become floats, missing ones NaN, for a problem to refuse.  Text becomes an array of
        `str` objects, each different one stored once per batch; an empty cell is the empty text.
        """
        self.require(*kinds)
        self.require_numbers(*[name for name, kind in kinds.items() if kind == "numbers"])
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in kinds}
        for batch in self._batches(kinds):
            for name, kind in kinds.items():
                parts[name].append(_as_array(batch.column(name), kind))
        empty = {"numbers": np.empty(0), "text": np.empty(0, dtype=object)}
        return {name: np.concatenate([empty[kinds[name]], *parts[name]]) for name in kinds}

    def _batches(self, kinds: Mapping[str, Kind]) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        try:
            if self.format == "csv":
                yield from self._csv_batches(kinds)
            else:
                yield from self._parquet().iter_batches(columns=list(kinds))
        except pa.ArrowException:
            # Arrow quotes the cell that it could not read; dampen does not.
            wanted = ", ".join(f"{kind} in {name!r}" for name, kind in kinds.items())
            raise DataError(
                f"Expected {wanted} and as many cells in every row of {self.path} as in its "
                "header; somewhere it is not so."
            ) from None
        except (OSError, zlib.error):
            raise DataError(f"{self.path} cannot be read to its end.") from None

    def _csv_batches(self, kinds: Mapping[str, Kind]) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {name: _ARROW_TYPES[kind] for name, kind in kinds.items()}
        compression = "gzip" if self.compressed else None
        with pa.input_stream(str(self.path), compression=compression) as stream:
            yield from arrow_csv.open_csv(
                stream,
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(kinds), column_types=types
                ),
            )

    def _parquet(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self.path)


_ARROW_TYPES = {"numbers": "float64", "text": "string"}


def open_table(path: str | Path) -> Table:
    """Checks that a file is a table and reads the names of its columns, nothing else.

    Raises:
        ParameterError: if there is no such file, or it is not a table with a header.
    """
    path = Path(path)
    start = _first_bytes(path)
    if start[:4] == b"PAR1":
        return _open_parquet(path)
    compressed = start[:2] == b"\x1f\x8b"
    line = _header_line(path, compressed)
    separator = max(",;\t", key=_outside_quotes(line).count)
    columns = tuple(next(csv.reader([line], delimiter=separator)))
    return Table(path, columns, "csv", separator, compressed)


def _as_array(column: "pa.Array", kind: Kind) -> NDArray[Any]:
    if kind == "numbers":
        numbers: NDArray[Any] = column.cast("float64").to_numpy(zero_copy_only=False)
        return numbers
    coded = column.cast("string").fill_null("").dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    text: NDArray[Any] = words[coded.indices.to_numpy(zero_copy_only=False)]
    return text


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror}.") from None
    if not start:
        raise ParameterError(f"Expected a table with a header, but {path} is empty.")
    return start


def _header_line(path: Path, compressed: bool) -> str:
    opener: Any = gzip.open if compressed else open
    try:
        with opener(path, "rb") as stream:
            start: bytes = stream.read(HEADER_BYTES)
    except (OSError, EOFError, zlib.error):
        raise ParameterError(f"{path} is not a whole gzip file.") from None
    line, newline, _ = start.replace(b"\r\n", b"\n").replace(b"\r", b"\n").partition(b"\n")
    if not newline and len(start) == HEADER_BYTES:
        raise _not_a_table(path)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_a_table(path) from None
    if not text.strip():
        raise ParameterError(f"Expected a header with column names in the first line of {path}.")
    if not text.replace("\t", " ").isprintable():
        raise _not_a_table(path)
    return text


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "infinity")


def _open_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = tuple(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        raise ParameterError(f"{path} is not a whole Parquet file.") from None
    return Table(path, names, "parquet")


def _not_a_table(path: Path) -> ParameterError:
    return ParameterError(f"Expected CSV, TSV or Parquet, UTF-8 text; {path} is none of them.")
