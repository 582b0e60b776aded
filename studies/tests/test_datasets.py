"""The paper's data: fetched from a local server, normalised, checked; broken things are refused."""

import gzip
import hashlib
import http.server
import io
import os
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dampen.errors import ParameterError
from dampen_studies import datasets
from dampen_studies.datasets import catalogue, fetching, loading
from dampen_studies.datasets.catalogue import DataForm, Dataset, Download

EDGES = "# a comment\n3 5\n5 3\n5 9\n9 9\n"
GRAPH = loading.Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), 3)
COUNTS = np.array([3, 0, 4], dtype=np.int64)
TRAIN = "".join(f"{age}, Private{', 1' * 12}, <=50K\n" for age in (30, 40)) + "50, ?, >50K\n"
TEST = "|1x3 Cross validator\n" + f"60, Private{', 1' * 12}, >50K.\n"


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped(name, text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"folder/{name}", text)
    return buffer.getvalue()


class Site:
    """A local web server that serves what `files` says and counts the requests."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.cut_short = False
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.requests.append(self.path)
                content = site.files.get(self.path.lstrip("/"))
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if site.cut_short else content)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"


@pytest.fixture
def site():
    server = Site()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def small(site, home, monkeypatch):
    """A catalogue of small data sets on the local server, one of each kind."""
    graph = Dataset(
        "tiny", DataForm.GRAPH, "graphs/tiny.npz", "", loading.graph_counts(GRAPH),
        loading.graph_hash(GRAPH), (Download(site.url("tiny.txt.gz")),),
    )  # fmt: skip
    raw = npy(COUNTS)
    histogram = Dataset(
        "bars", DataForm.HISTOGRAM, "histograms/bars.npy", "", loading.histogram_counts(COUNTS),
        loading.histogram_hash(COUNTS),
        (Download(site.url("bars.npy"), hashlib.sha256(raw).hexdigest()),),
    )  # fmt: skip
    people = Dataset(
        "people", DataForm.TABLE, "tables/people.csv.gz", "", {"rows": 3, "columns": 16},
        "3c3ab2f3d08a0a0a8b3a", (Download(site.url("a.data")), Download(site.url("a.test"))),
    )  # fmt: skip
    nowhere = replace(graph, name="nowhere", path="graphs/nowhere.npz", originals=())
    entries = {each.name: each for each in (graph, histogram, people, nowhere)}
    monkeypatch.setattr(catalogue, "CATALOGUE", entries)
    site.files |= {
        "tiny.txt.gz": gzip.compress(EDGES.encode()), "bars.npy": raw,
        "a.data": TRAIN.encode(), "a.test": TEST.encode(),
    }  # fmt: skip
    return entries


def files_under(folder: Path):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_fetch_normalises_a_graph(small, home):
    assert datasets.fetch("tiny") == home / "graphs/tiny.npz"
    edges = datasets.load_graph("tiny")
    assert edges.n == 3
    assert edges.src.tolist() == [0, 1]
    assert edges.dst.tolist() == [1, 2]
    assert edges.src.dtype == np.int32


def test_a_graph_may_come_in_a_zip_archive_or_as_plain_text(small, site):
    for content in (zipped("musae_git_edges.csv", "id_1,id_2\n3,5\n5,9\n"), EDGES.encode()):
        site.files["tiny.txt.gz"] = content
        path = datasets.fetch("tiny")
        path.unlink()
        for download in (datasets.home() / "downloads").iterdir():
            download.unlink()


def test_fetch_keeps_a_histogram_byte_for_byte(small, site):
    assert datasets.fetch("bars").read_bytes() == site.files["bars.npy"]
    assert datasets.load_histogram("bars").tolist() == [3, 0, 4]


def test_fetch_joins_the_two_adult_files(small, monkeypatch, home):
    lines = fetching.adult_lines(TRAIN, TEST)
    expected = home / "expected.csv.gz"
    expected.write_bytes(gzip.compress("".join(f"{x}\n" for x in lines).encode()))
    columns = loading.read_table(expected)
    right = replace(small["people"], checksum=loading.table_hash(columns))
    monkeypatch.setitem(small, "people", right)
    datasets.fetch("people")
    table = datasets.load_table("people")
    assert table["age"].tolist() == [30, 40, 60]
    assert table["income"].tolist() == ["<=50K", "<=50K", ">50K"]
    assert table["split"].tolist() == ["train", "train", "test"]


def test_present_files_are_checked_and_not_fetched_again(small, site):
    datasets.fetch("tiny")
    datasets.fetch("tiny")
    assert site.requests == ["/tiny.txt.gz"]


def test_a_file_in_place_that_is_wrong_is_refused(small, home):
    path = datasets.fetch("tiny")
    np.savez_compressed(path, src=GRAPH.src, dst=np.array([2, 2], np.int32), n=3)
    with pytest.raises(datasets.DatasetError, match="content differs"):
        datasets.fetch("tiny")
    np.savez_compressed(path, src=GRAPH.src[:1], dst=GRAPH.dst[:1], n=3)
    with pytest.raises(datasets.DatasetError, match="edges=2, got edges=1"):
        datasets.load_graph("tiny")


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b broken", b"PK broken", b"<html>no</html>"])
def test_a_broken_graph_leaves_nothing_behind(small, site, home, content):
    site.files["tiny.txt.gz"] = content
    with pytest.raises(datasets.DatasetError):
        datasets.fetch("tiny")
    assert files_under(home) == set()
    site.files["tiny.txt.gz"] = EDGES.encode()
    datasets.fetch("tiny")


def test_a_download_that_stops_half_way_leaves_nothing_behind(small, site, home):
    site.cut_short = True
    for name in ("tiny", "bars"):
        with pytest.raises(datasets.DatasetError):
            datasets.fetch(name)
    assert files_under(home) == set()


def test_a_wrong_table_never_reaches_its_place(small, home):
    with pytest.raises(datasets.DatasetError, match="content differs"):
        datasets.fetch("people")
    assert files_under(home) == set()


def test_a_wrong_sha256_is_refused(small, site, home):
    site.files["bars.npy"] = npy(COUNTS + 1)
    with pytest.raises(datasets.DatasetError, match="sha256 differs"):
        datasets.fetch("bars")
    assert files_under(home) == set()


def test_a_missing_address_says_which_file_to_put_where(small, home):
    with pytest.raises(datasets.DatasetError, match=r"graphs/nowhere\.npz.*2 edges"):
        datasets.fetch("nowhere")
    with pytest.raises(datasets.DatasetError, match=r"no canonical address.*graphs/nowhere\.npz"):
        datasets.load_graph("nowhere")


def test_offline_says_what_to_do(small, site):
    del site.files["tiny.txt.gz"]
    with pytest.raises(datasets.DatasetError, match="could not be downloaded"):
        datasets.fetch("tiny")


def test_addresses_may_be_replaced_by_a_mirror(small, site):
    site.files["mirror"] = site.files.pop("tiny.txt.gz")
    datasets.fetch("tiny", addresses={site.url("tiny.txt.gz"): site.url("mirror")})
    assert site.requests == ["/mirror"]


def test_a_missing_file_names_the_command(home):
    with pytest.raises(datasets.DatasetError, match="dampen-studies datasets fetch enron"):
        datasets.load_graph("enron")


def test_unknown_names_and_wrong_kinds():
    with pytest.raises(ParameterError, match="Did you mean 'enron'"):
        datasets.dataset("enorn")
    with pytest.raises(ParameterError, match="is a graph"):
        datasets.load_table("enron")


def test_the_home_is_the_cache_directory_unless_told(monkeypatch):
    monkeypatch.delenv("DAMPEN_DATA", raising=False)
    assert datasets.home().name == "data"
    monkeypatch.setenv("DAMPEN_DATA", "~/somewhere")
    assert datasets.home() == Path.home() / "somewhere"


def test_the_paper_states_these_counts():
    counts = {name: dict(each.counts) for name, each in datasets.CATALOGUE.items()}
    assert counts["enron"] == {"nodes": 36_692, "edges": 183_831, "max_degree": 1_383}
    assert counts["dblp"] == {"nodes": 317_080, "edges": 1_049_866, "max_degree": 343}
    assert counts["github"] == {"nodes": 37_700, "edges": 289_003, "max_degree": 9_458}
    assert counts["nltcs"]["rows"] == 21_574
    assert counts["acs"]["rows"] == 47_461
    assert counts["adult"]["rows"] == 45_222
    assert counts["adult-all"]["rows"] == 48_842


@pytest.mark.parametrize("name", list(datasets.CATALOGUE))
def test_the_real_data_is_the_paper_s(name):
    if "DAMPEN_DATA" not in os.environ:
        pytest.skip("needs the real data: set DAMPEN_DATA")
    datasets.verify(name)


def test_snap_s_text_normalises_to_the_stored_graph(site, tmp_path, monkeypatch):
    if "DAMPEN_DATA" not in os.environ:
        pytest.skip("needs the real data: set DAMPEN_DATA")
    edges = datasets.load_graph("enron")
    both = np.concatenate([np.c_[edges.src, edges.dst], np.c_[edges.dst, edges.src]])
    text = "# FromNodeId\tToNodeId\n" + "".join(f"{a}\t{b}\r\n" for a, b in both.tolist())
    site.files["enron"] = gzip.compress(text.encode(), compresslevel=1)
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path))
    (original,) = datasets.dataset("enron").originals
    datasets.fetch("enron", addresses={original.url: site.url("enron")})
    assert (datasets.load_graph("enron").dst == edges.dst).all()
