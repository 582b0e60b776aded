"""What data there is: names, places, counts, checksums and canonical addresses."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from dampen.errors import DampenError, ParameterError, did_you_mean

SNAP = "https://snap.stanford.edu/data/"
DPBENCH = (
    "https://raw.githubusercontent.com/dpcomp-org/dpcomp_core/master/dpcomp_core/datafiles/1D/"
)
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


class DatasetError(DampenError):
    """A public data set is missing, broken or not the one it should be."""


class DataForm(StrEnum):
    """How a data set is stored and loaded."""

    GRAPH = "graph"
    HISTOGRAM = "histogram"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Download:
    """One original file; `sha256` where the original is known byte for byte."""

    url: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """One data set of the paper.

    Attributes:
        name: as the paper spells it, in lower case.
        form: graph, histogram or table.
        path: where it lies under the data home.
        about: one line for people.
        counts: what the paper, or the data itself, states of its size; checked on every load.
        checksum: sha256 of the normalised content (see `loading.content_hash`).
        originals: canonical addresses; none where there is no public one.
    """

    name: str
    form: DataForm
    path: str
    about: str
    counts: Mapping[str, int]
    checksum: str
    originals: tuple[Download, ...] = field(default=())

    def file(self) -> Path:
        """Its place under the data home, whether or not it is there."""
        return home() / self.path

    @property
    def present(self) -> bool:
        return self.file().is_file()


def home() -> Path:
    """The data home: `$DAMPEN_DATA`, else the user's cache directory."""
    given = os.environ.get("DAMPEN_DATA")
    if given:
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("dampen", appauthor=False)) / "data"


def dataset(name: str) -> Dataset:
    """The data set of that name.

    >>> dataset("hepth").counts["bins"]
    4096

    Raises:
        ParameterError: if there is none; says which name is close.
    """
    found = CATALOGUE.get(name.lower())
    if found is None:
        close = did_you_mean(name, CATALOGUE)
        raise ParameterError(f"Expected a data set of the paper, got {name!r}.{close}")
    return found


def _graph(name: str, about: str, counts: tuple[int, int, int], sha: str, url: str) -> Dataset:
    n, edges, degree = counts
    stated = {"nodes": n, "edges": edges, "max_degree": degree}
    originals = (Download(SNAP + url),)
    return Dataset(name, DataForm.GRAPH, f"graphs/{name}.npz", about, stated, sha, originals)


def _histogram(name: str, counts: tuple[int, int], sha: str, raw: str) -> Dataset:
    file = f"{name.upper()}.n4096.npy"
    total, largest = counts
    stated = {"bins": 4096, "total": total, "largest": largest}
    originals = (Download(DPBENCH + file, raw),)
    about = f"DPBench {name.upper()}"
    return Dataset(name, DataForm.HISTOGRAM, f"histograms/{file}", about, stated, sha, originals)


def _table(
    file: str,
    about: str,
    shape: tuple[int, int],
    sha: str,
    originals: tuple[Download, ...] = (),
) -> Dataset:
    rows, columns = shape
    stated = {"rows": rows, "columns": columns}
    name = file.partition("_")[0]
    return Dataset(name, DataForm.TABLE, f"tables/{file}.csv.gz", about, stated, sha, originals)


_ALL = (
    _graph(
        "enron",
        "e-mail communication, SNAP email-Enron",
        (36_692, 183_831, 1_383),
        "dd33c51a74613bd3b7938ad8b76ffcdf6021efe60c3282f79ae1e9da2c7c3563",
        "email-Enron.txt.gz",
    ),
    _graph(
        "dblp",
        "co-authorship, SNAP com-DBLP",
        (317_080, 1_049_866, 343),
        "2863d7b85824dd47e1c5ccf6ea694549fade96d9e1050d5ae31aa44fe6dc9760",
        "bigdata/communities/com-dblp.ungraph.txt.gz",
    ),
    _graph(
        "github",
        "mutual followers among developers, SNAP musae-github",
        (37_700, 289_003, 9_458),
        "25e79979f1c9be3ede3535327d84dff3d88e9950cf00c9d985929ca4f94bdf56",
        "git_web_ml.zip",
    ),
    _histogram(
        "patent",
        (27_948_226, 19_480),
        "191b737630bf64db4e04227454c703e0fde78cebd2cb3caa4b972cfafa0c876e",
        "0dac5363cfc1e15189cf00ef3a817dcfeb39678d986b1951ba4f451b1cc6f864",
    ),
    _histogram(
        "hepth",
        (347_414, 755),
        "3fa05e23e7c47d22bb1a6026c62f50d0193b854909eded1278824fe12296d60f",
        "a39f1283608ac1eae6d1d5bc289e6eb7a42687b765f5f80af1b40566ff853884",
    ),
    _histogram(
        "income",
        (20_787_122, 2_587_110),
        "54416350e3c8c47c6c27a528b06e3c2ce5f398d50627e6efb0eb1195d31d0202",
        "2bdb4bb9625d836ad923b280d303860dd12034ef3ae0cf9658e834cb95d8a0c5",
    ),
    _table(
        "nltcs",
        "National Long Term Care Survey, PrivBayes version; rows are grouped: shuffle",
        (21_574, 16),
        "76bb7c180a7ab9f655902290c6821c56fc8c03f7760746ce34e9bcd7479837fd",
    ),
    _table(
        "acs",
        "American Community Survey, PrivBayes version",
        (47_461, 23),
        "3f539e36923001583360b617553ef22fe383c42f358b22ab0c229a337da932fa",
    ),
    _table(
        "adult_nomissing",
        "UCI Adult, rows without missing values",
        (45_222, 16),
        "9c251bbb079be19d0d2399ad0ab1a7f99477c668bd7dd6acbf983a62bfc237cb",
        (Download(UCI + "adult/adult.data"), Download(UCI + "adult/adult.test")),
    ),
)

CATALOGUE: Mapping[str, Dataset] = {each.name: each for each in _ALL}
