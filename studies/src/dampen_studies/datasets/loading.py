"""From files in the data home to checked arrays."""

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.errors import ParameterError
from dampen_studies.datasets.catalogue import DataForm, Dataset, DatasetError, dataset

Columns: TypeAlias = dict[str, NDArray[Any]]
"""Columns by name, in the order of the file: int64, or text where a value is not an integer."""


class Edges(NamedTuple):
    """An undirected simple graph: every edge once, src < dst, nodes 0 to n - 1."""

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    n: int


def load_graph(name: str) -> Edges:
    """A graph of the paper, checked.

    Raises:
        DatasetError: if the file is missing, broken, or not the paper's graph.
    """
    wanted = _of_form(name, DataForm.GRAPH)
    edges = read_graph(_present(wanted))
    check(wanted, graph_counts(edges), graph_hash(edges))
    return edges


def load_histogram(name: str) -> IntArray:
    """A DPBench count vector, checked.  Raises as `load_graph` does."""
    wanted = _of_form(name, DataForm.HISTOGRAM)
    counts = read_histogram(_present(wanted))
    check(wanted, histogram_counts(counts), histogram_hash(counts))
    return counts


def load_table(name: str) -> Columns:
    """A table of the paper, checked.  Raises as `load_graph` does."""
    wanted = _of_form(name, DataForm.TABLE)
    columns = read_table(_present(wanted))
    check(wanted, table_counts(columns), table_hash(columns))
    return columns


def verify(name: str) -> None:
    """Loads a data set only to check it.

    Raises:
        DatasetError: if the file is missing, broken, or not the paper's.
    """
    load = {
        DataForm.GRAPH: load_graph,
        DataForm.HISTOGRAM: load_histogram,
        DataForm.TABLE: load_table,
    }
    load[dataset(name).form](name)


def read_graph(path: Path) -> Edges:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return Edges(stored["src"], stored["dst"], int(stored["n"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise _broken(path) from error


def read_histogram(path: Path) -> IntArray:
    try:
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)
    except (OSError, ValueError, EOFError) as error:
        raise _broken(path) from error


def read_table(path: Path) -> Columns:
    import pyarrow
    from pyarrow import csv

    try:
        stored = csv.read_csv(path)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise _broken(path) from error
    return {
        name: column.to_numpy().astype(np.int64 if pyarrow.types.is_integer(column.type) else str)
        for name, column in zip(stored.column_names, stored.columns, strict=True)
    }


def graph_counts(edges: Edges) -> dict[str, int]:
    degrees = np.bincount(edges.src, minlength=edges.n) + np.bincount(edges.dst, minlength=edges.n)
    return {"nodes": edges.n, "edges": len(edges.src), "max_degree": int(degrees.max(initial=0))}


def histogram_counts(counts: IntArray) -> dict[str, int]:
    return {"bins": len(counts), "total": int(counts.sum()), "largest": int(counts.max(initial=0))}


def table_counts(columns: Columns) -> dict[str, int]:
    lengths = {len(column) for column in columns.values()}
    return {"rows": max(lengths, default=0), "columns": len(columns)}


def graph_hash(edges: Edges) -> str:
    return content_hash({"src": edges.src, "dst": edges.dst, "n": np.asarray([edges.n])}.items())


def histogram_hash(counts: IntArray) -> str:
    return content_hash([("counts", counts)])


def table_hash(columns: Columns) -> str:
    return content_hash(columns.items())


def content_hash(arrays: Iterable[tuple[str, NDArray[Any]]]) -> str:
    """sha256 of named arrays, independent of how a file stores or compresses them.

    Integers count as little-endian int64; text as UTF-8, one value a line.
    """
    digest = hashlib.sha256()
    for name, values in arrays:
        digest.update(f"{name} {len(values)}\n".encode())
        if values.dtype.kind == "U":
            digest.update("\n".join(values.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
    return digest.hexdigest()


def check(wanted: Dataset, counts: Mapping[str, int], checksum: str) -> None:
    """Compares counts, then the checksum, with what the catalogue states.

    Raises:
        DatasetError: names the first count that differs; these data are public.
    """
    for what, stated in wanted.counts.items():
        if counts[what] != stated:
            raise DatasetError(
                f"Expected {wanted.name} to have {what}={stated}, got {what}={counts[what]}."
            )
    if checksum != wanted.checksum:
        raise DatasetError(
            f"Expected {wanted.name} with checksum {wanted.checksum[:12]}, got {checksum[:12]}: "
            "the counts agree but the content differs from the data of the paper."
        )


def _of_form(name: str, form: DataForm) -> Dataset:
    found = dataset(name)
    if found.form is not form:
        raise ParameterError(f"Expected a {form}, but {name!r} is a {found.form}.")
    return found


def _present(wanted: Dataset) -> Path:
    if not wanted.present:
        how = (
            f"Run `dampen-studies datasets fetch {wanted.name}`"
            if wanted.originals
            else "There is no canonical address"
        )
        raise DatasetError(
            f"{wanted.name} is not here. {how}, or put the file at {wanted.file()} "
            "(DAMPEN_DATA names the folder)."
        )
    return wanted.file()


def _broken(path: Path) -> DatasetError:
    return DatasetError(f"{path} cannot be read: it is broken or of another format.")
