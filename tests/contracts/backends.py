"""Everything that may hold a table; each takes a pyarrow table and gives what a user would pass.

A new engine is one more entry of `HOLDERS`, in `tests/engines/holders.py`.
"""

import bz2
import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from engines.holders import HOLDERS, Hold, fresh

Backend = Callable[[Path], AbstractContextManager[Hold]]


def in_memory(turned: Callable[[pa.Table], Any]) -> Backend:
    @contextmanager
    def backend(_: Path) -> Iterator[Hold]:
        yield lambda table: (turned(table), {})

    return backend


def as_file(suffix: str, content: Callable[[pa.Table], bytes]) -> Backend:
    @contextmanager
    def backend(folder: Path) -> Iterator[Hold]:
        def hold(table: pa.Table) -> tuple[Any, dict[str, Any]]:
            path = fresh(folder, suffix)
            path.write_bytes(content(table))
            return path, {}

        yield hold

    return backend


def numpy_columns(table: pa.Table) -> dict[str, Any]:
    return {
        name: column.combine_chunks().to_numpy(zero_copy_only=False)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def records(table: pa.Table) -> Any:
    return table.to_pandas().to_records(index=False)


def csv(table: pa.Table, separator: str = ",") -> bytes:
    sink = io.BytesIO()
    plain = pa.table({n: _plain(c) for n, c in zip(table.column_names, table.columns, strict=True)})
    pyarrow.csv.write_csv(plain, sink, pyarrow.csv.WriteOptions(delimiter=separator))
    return sink.getvalue()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if coded else column


def json_lines(table: pa.Table) -> bytes:
    return "".join(json.dumps(row, default=float) + "\n" for row in table.to_pylist()).encode()


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=1000)
    return sink.getvalue()


def feather(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, chunksize=1000)
    return sink.getvalue()


BACKENDS: dict[str, Backend] = {
    "pyarrow": in_memory(lambda table: table),
    "pyarrow batch": in_memory(lambda table: table.combine_chunks().to_batches()[0]),
    "pyarrow reader": in_memory(lambda table: table.to_reader(max_chunksize=7)),
    "pandas": in_memory(lambda table: table.to_pandas()),
    "pandas arrow": in_memory(lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)),
    "pandas nullable": in_memory(lambda table: table.to_pandas().convert_dtypes()),
    "polars": in_memory(pl.from_arrow),
    "polars lazy": in_memory(lambda table: pl.from_arrow(table).lazy()),
    "lists": in_memory(lambda table: table.to_pydict()),
    "numpy": in_memory(numpy_columns),
    "numpy objects": in_memory(
        lambda table: {n: np.array(v, dtype=object) for n, v in table.to_pydict().items()}
    ),
    "records": in_memory(records),
    "csv": as_file("csv", csv),
    "csv.gz": as_file("csv.gz", lambda table: gzip.compress(csv(table))),
    "tsv.bz2": as_file("tsv.bz2", lambda table: bz2.compress(csv(table, "\t"))),
    "jsonl": as_file("jsonl", json_lines),
    "parquet file": as_file("parquet", parquet),
    "feather": as_file("feather", feather),
    **HOLDERS,
}
