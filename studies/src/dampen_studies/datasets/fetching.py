"""From canonical addresses to normalised files in the data home."""

import gzip
import io
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dampen.core.selection import IntArray
from dampen_studies.datasets import loading
from dampen_studies.datasets.catalogue import (
    DataForm,
    Dataset,
    DatasetError,
    Download,
    dataset,
    home,
)
from dampen_studies.datasets.loading import Edges

ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income,split"
)


def fetch(name: str, *, addresses: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Puts a data set in its place under the data home and checks it.

    What is already there is checked, not fetched.  Downloads that turn out to be wrong are deleted,
    so that the next call starts afresh; the normalised file appears only once it is right.

    Args:
        name: of the data set.
        addresses: other addresses for originals (canonical -> other), as for a mirror.

    Raises:
        ParameterError: if there is no such data set.
        DatasetError: if it has no canonical address, cannot be downloaded, or is not the paper's.
    """
    wanted = dataset(name)
    if wanted.present:
        loading.verify(name)
        return wanted.file()
    if not wanted.originals:
        raise DatasetError(
            f"{wanted.name} has no canonical address. Put its normalised file at {wanted.file()}; "
            f"it needs {_counts_text(wanted)}, and is checked on loading."
        )
    downloads = [_download(each, addresses.get(each.url, each.url)) for each in wanted.originals]
    try:
        _normalise(wanted, [path.read_bytes() for path in downloads])
    except DatasetError:
        for path in downloads:
            path.unlink(missing_ok=True)
        raise
    return wanted.file()


def _download(original: Download, address: str) -> Path:
    """The original's bytes, in the cache of downloads; checked where its sha256 is known."""
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    known = None if original.sha256 is None else f"sha256:{original.sha256}"
    try:
        stored = pooch.retrieve(
            address,
            known_hash=known,
            fname=original.url.rsplit("/", 1)[-1],
            path=home() / "downloads",
        )
    except requests.exceptions.RequestException as error:
        raise DatasetError(
            f"{address} could not be downloaded ({type(error).__name__}). Try again, or put the "
            f"normalised file in its place by hand: see `dampen-studies datasets list`."
        ) from error
    except ValueError as error:
        raise DatasetError(
            f"{address} is not the expected file: its sha256 differs. Nothing was kept."
        ) from error
    return Path(stored)


def _normalise(wanted: Dataset, originals: list[bytes]) -> None:
    try:
        _STEPS[wanted.form](wanted, originals)
    except (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"The download of {wanted.name} is broken or of another format. Nothing was kept."
        ) from error


def _normalise_graph(wanted: Dataset, originals: list[bytes]) -> None:
    edges = edges_from_text(_text(originals[0], inside="musae_git_edges.csv"))
    loading.check(wanted, loading.graph_counts(edges), loading.graph_hash(edges))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, src=edges.src, dst=edges.dst, n=np.int64(edges.n))
    _write(wanted.file(), buffer.getvalue())


def _normalise_histogram(wanted: Dataset, originals: list[bytes]) -> None:
    counts: IntArray = np.asarray(
        np.load(io.BytesIO(originals[0]), allow_pickle=False), dtype=np.int64
    )
    loading.check(wanted, loading.histogram_counts(counts), loading.histogram_hash(counts))
    _write(wanted.file(), originals[0])


def _normalise_table(wanted: Dataset, originals: list[bytes]) -> None:
    train, test = (original.decode() for original in originals)
    lines = adult_lines(train, test, complete=wanted.name != "adult-all")
    content = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    _write(wanted.file(), content, check=lambda path: _check_table(wanted, path))


def _check_table(wanted: Dataset, path: Path) -> None:
    columns = loading.read_table(path)
    loading.check(wanted, loading.table_counts(columns), loading.table_hash(columns))


_STEPS: Mapping[DataForm, Callable[[Dataset, list[bytes]], None]] = {
    DataForm.GRAPH: _normalise_graph,
    DataForm.HISTOGRAM: _normalise_histogram,
    DataForm.TABLE: _normalise_table,
}


def edges_from_text(text: str) -> Edges:
    r"""An edge list of two integers a line, separated by blanks or a comma, as a simple graph.

    Directions, repeated edges and self-loops are dropped; ids with gaps are compacted, in order.
    Lines that do not start with a digit (comments, a header) are skipped.

    >>> edges_from_text("# a comment\n7 9\n9 7\n7 7\n12 9\n")
    Edges(src=array([0, 1], dtype=int32), dst=array([1, 2], dtype=int32), n=3)
    """
    lines = [line for line in text.splitlines() if line[:1].isdigit()]
    pairs = np.array(" ".join(lines).replace(",", " ").split(), dtype=np.int64)
    ids, compact = np.unique(pairs, return_inverse=True)
    ends = np.sort(compact.reshape(-1, 2), axis=1)
    simple = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0).astype(np.int32)
    return Edges(simple[:, 0].copy(), simple[:, 1].copy(), len(ids))


def adult_lines(train: str, test: str, *, complete: bool = True) -> list[str]:
    r"""UCI's two files as one table: header, training rows, test rows; complete rows, or all.

    >>> adult_lines("39, Private, <=50K\n40, ?, >50K\n", "|1x3\n41, Private, >50K.\n")[1:]
    ['39,Private,<=50K,train', '41,Private,>50K,test']
    """
    rows = [ADULT_COLUMNS]
    for split, text in (("train", train), ("test", test)):
        for line in text.splitlines():
            values = [value.strip() for value in line.split(",")]
            if len(values) > 1 and not (complete and "?" in values):
                rows.append(",".join([*values[:-1], values[-1].rstrip("."), split]))
    return rows


def _text(content: bytes, inside: str) -> str:
    """The text of a gzip file, of one member of a zip archive, or of a plain file."""
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress(content).decode()
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = next((m for m in archive.namelist() if m.endswith(inside)), None)
            if member is None:
                raise KeyError(inside)
            return archive.read(member).decode()
    return content.decode()


def _write(path: Path, content: bytes, check: Callable[[Path], None] | None = None) -> None:
    """Writes next to the target, checks, then renames: a half-written file is never seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = "".join(path.suffixes)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if check is not None:
            check(Path(temporary))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _counts_text(wanted: Dataset) -> str:
    return ", ".join(f"{value} {what.replace('_', ' ')}" for what, value in wanted.counts.items())
