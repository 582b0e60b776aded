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


ADULT = (Download(UCI + "adult/adult.data"), Download(UCI + "adult/adult.test"))


@dataclass(frozen=True, slots=True)
class Dataset:
    """One data set: the paper's nine, and those of the studies beyond it.

    Attributes:
        name: as the paper, or DPBench, spells it, in lower case.
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

    @property
    def source(self) -> str:
        """Where to get it, in words or as addresses.

        >>> dataset("enron").source
        'https://snap.stanford.edu/data/email-Enron.txt.gz'
        """
        if self.originals:
            return " and ".join(each.url for each in self.originals)
        return f"{self.about}; no canonical address, put it at {self.path} of the data home"


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
        raise ParameterError(f"Expected a data set of the catalogue, got {name!r}.{close}")
    return found


def _graph(name: str, about: str, counts: tuple[int, int, int], sha: str, url: str) -> Dataset:
    n, edges, degree = counts
    stated = {"nodes": n, "edges": edges, "max_degree": degree}
    originals = (Download(SNAP + url),)
    return Dataset(name, DataForm.GRAPH, f"graphs/{name}.npz", about, stated, sha, originals)


def _other_graph(
    name: str, file: str, about: str, counts: tuple[int, int, int], sha: str
) -> Dataset:
    """Of the studies beyond the paper; made undirected and simple, hence no single original."""
    n, edges, degree = counts
    stated = {"nodes": n, "edges": edges, "max_degree": degree}
    return Dataset(name, DataForm.GRAPH, f"graphs/bonus/{file}.npz", about, stated, sha)


def _histogram(
    name: str, counts: tuple[int, int], sha: str, raw: str, file: str | None = None
) -> Dataset:
    file = file or f"{name.upper()}.n4096.npy"
    total, largest = counts
    stated = {"bins": 4096, "total": total, "largest": largest}
    originals = (Download(DPBENCH + file, raw),)
    about = f"DPBench {name.upper()}"
    return Dataset(name, DataForm.HISTOGRAM, f"histograms/{file}", about, stated, sha, originals)


def _table(
    name: str,
    file: str,
    about: str,
    shape: tuple[int, int],
    *,
    sha: str,
    originals: tuple[Download, ...] = (),
) -> Dataset:
    rows, columns = shape
    stated = {"rows": rows, "columns": columns}
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
        "nltcs",
        "National Long Term Care Survey, PrivBayes version; rows are grouped: shuffle",
        (21_574, 16),
        sha="76bb7c180a7ab9f655902290c6821c56fc8c03f7760746ce34e9bcd7479837fd",
    ),
    _table(
        "acs",
        "acs",
        "American Community Survey, PrivBayes version",
        (47_461, 23),
        sha="3f539e36923001583360b617553ef22fe383c42f358b22ab0c229a337da932fa",
    ),
    _table(
        "adult",
        "adult_nomissing",
        "UCI Adult, rows without missing values",
        (45_222, 16),
        sha="9c251bbb079be19d0d2399ad0ab1a7f99477c668bd7dd6acbf983a62bfc237cb",
        originals=ADULT,
    ),
    _table(
        "adult-all",
        "adult",
        "UCI Adult, all rows",
        (48_842, 16),
        sha="6138d440a11dddda0958409723b8a5ecf2db186de268827e3ae66915fba568dd",
        originals=ADULT,
    ),
    _histogram(
        "adult-loss",
        (17_665, 16_836),
        "a43d9cc811bf3117b710e3414cc20f0c418b96b5976d1544cc56dc4e909d0079",
        "d85d9b9fe1ff128820cd103f710200affee71859f721ccb9ecc6e020325e4705",
        "ADULTFRANK.n4096.npy",
    ),
    _histogram(
        "nettrace",
        (25_714, 7_383),
        "95195762605c54bb80047e95000263617ec997e392de8c28dca00d6a1ac85401",
        "c402b04fa1f007431ef9f414e092064b44726b9a694c550eb446167fd0e670dd",
    ),
    _histogram(
        "bids-fj",
        (1_901_799, 11_583),
        "e139ea2d75567e81b2d852df8e94395d17b5408b0175be1267fbb3285fe7a7cd",
        "2a68937117e0eb29930b69450516e1a8c3d95261c13faf820201decf51d67160",
        "bids_j.npy",
    ),
    _histogram(
        "bids-fm",
        (2_126_344, 17_805),
        "9f19584aba571050423268b5c99c288937258fcd5e207637ebd90cf6bd3b27cb",
        "85dda7fb08249cee7adec96170db6ac89c3e439a851f42ef3e961c9551ac98bc",
        "bids_m.npy",
    ),
    _histogram(
        "bids-all",
        (7_655_502, 62_188),
        "fb770c377c7432b3072d0dc2171db16cc3e89a43c939a2d0e924a73ed2b255fb",
        "8a2074b437c1bbf5b35bd5d3ae5f26d5b30f94879e4bbd1ada01c4cd9c6fd319",
        "bids.npy",
    ),
    _histogram(
        "md-sal-fa",
        (100_534, 1_968),
        "9483144ce773d069cd4b14262e99c223c6eeb79e1a5728cb05a86783eef7a78a",
        "a8dcfdbbc9e6da4a0d9a113d8747436d382be5333365259700e6c8c6e8673f65",
        "GrossCompenMDSalary2_filtered.npy",
    ),
    _other_graph(
        "ca-astroph",
        "ca_astroph_lcc",
        "co-authorship, SNAP ca-AstroPh, largest component",
        (17_903, 196_972, 504),
        "4c9cd1cd47a0328b092d6bbec9e654d228fe7ad52ecca42270f952ba38d3ad02",
    ),
    _other_graph(
        "ca-hepth",
        "ca_hepth",
        "co-authorship, SNAP ca-HepTh",
        (9_877, 25_973, 65),
        "b1673c3f91228ab583c992fb7b6fa1dcffb5165fed4ea6aa9491275cdca15307",
    ),
    _other_graph(
        "ego-facebook",
        "ego_facebook",
        "friends of ten users, SNAP ego-Facebook",
        (4_039, 88_234, 1_045),
        "9a4ee3a683619c1685a1f35be96a9c6383f34c32baa4e22fb904eb8e80623abb",
    ),
    _other_graph(
        "facebook-artist",
        "gemsec_facebook_artist",
        "mutual likes of artists, SNAP gemsec-Facebook",
        (50_515, 819_090, 1_469),
        "94e4444f0bfbaf3c67a3080f86052254593d3fe0c15409f4ff3b88ba4d8daa1d",
    ),
    _other_graph(
        "dblp-2010",
        "law_dblp_2010",
        "co-authorship, LAW dblp-2010",
        (326_186, 807_700, 238),
        "6fc0a5ea5bf0ac6d5f1706a01ea57d3c9dd35794feaefe4f642e7abacd274548",
    ),
    _other_graph(
        "brightkite",
        "loc_brightkite_lcc",
        "friends, SNAP loc-Brightkite, largest component",
        (56_739, 212_945, 1_134),
        "5c2fa9ff2cafe3368d50a206f79450def60e05340f0451225582f14c54e94d2f",
    ),
    _other_graph(
        "facebook-pages",
        "musae_facebook",
        "mutual likes of pages, SNAP musae-facebook",
        (22_470, 170_823, 709),
        "0567a3f7b844e57c1528fbfc08b788ff38b21a167d3021c0e4eb93d29d97e5c4",
    ),
    _other_graph(
        "slashdot",
        "soc_slashdot0902",
        "friends and foes, SNAP soc-Slashdot0902",
        (82_168, 504_230, 2_552),
        "99eb09d5795da873194eafd229ddbd5eb27c6b2f4cfbd0f3c28c4b40cf621f0b",
    ),
    _other_graph(
        "wiki-vote",
        "wiki_vote",
        "votes for administrators, SNAP wiki-Vote",
        (7_115, 100_762, 1_065),
        "18aa060e9239a90f0076e7cfbb7bf8b32c524b8ecc8986b0507c3a7872a8d0c3",
    ),
)

CATALOGUE: Mapping[str, Dataset] = {each.name: each for each in _ALL}
