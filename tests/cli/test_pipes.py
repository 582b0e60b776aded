"""Data from standard input, pipes and process substitution is read once, and read whole."""

import bz2
import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from dampen.ledger import Ledger

TOP_K = "top-k --n 40 --epsilon 100 --json"
COUNT = "most-frequent --value diagnosis --categories flu,cold --epsilon 100 --json"
VALUE = "percentile --value salary --step 1000 -p 50 --upper 500000 --epsilon 100 --json"
TREE = "tree --target income --schema census.toml --max-depth 1 --epsilon 100 --json"
FILES = {"follows.csv.gz": TOP_K, "visits.csv": COUNT, "salaries.csv": VALUE, "census.csv": TREE}


def essence(out: str) -> object:
    """What a release says about the data; trees say it in their first split."""
    answer = json.loads(out)["answer"]
    return answer["tree"]["attribute"][0] if isinstance(answer, dict) else answer


def same(one: object, other: object) -> bool:
    """At epsilon 100 answers are the true ones; a percentile may be one step beside."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= (3000 if one > 1000 else 0)
    return one == other


@pytest.mark.parametrize(
    "line",
    [
        "zcat follows.csv.gz | dampen {} -",
        "dampen {} <(cat follows.csv.gz)",
        "dampen {} /dev/stdin < follows.csv.gz",
    ],
)
def test_a_shell(shell, line: str) -> None:
    """The centre of the star is found; a second look at the stream would find nothing."""
    done = shell(line.format(TOP_K))
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["answer"] == 0


@pytest.mark.parametrize("file", FILES)
def test_a_named_pipe_and_standard_input(
    dampen, place: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    content, command = (place / file).read_bytes(), FILES[file].split()
    stored = dampen(*command, file)
    os.mkfifo(place / "fifo")
    writer = threading.Thread(target=(place / "fifo").write_bytes, args=(content,))
    writer.start()
    named = dampen(*command, "fifo")
    writer.join()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    dash = dampen(*command, "-")
    for piped in (named, dash):
        assert (piped.code, piped.err) == (0, "")
        assert same(essence(piped.out), essence(stored.out))


def test_a_pipe_longer_than_any_buffer(dampen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last rows decide, so that an answer from its beginning alone would be wrong."""
    table = b"diagnosis,day\n" + b"flu,1\n" * 300_000 + b"cold,2\n" * 400_000
    for content in (table, bz2.compress(table)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert json.loads(dampen(*COUNT.split(), "-").out)["answer"] == "cold"


def test_formats_that_need_a_file_are_refused_in_a_pipe(
    dampen, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"diagnosis": ["flu"]}), place / "v.parquet")
    account = Ledger(place / "ledger.sqlite3").create(
        "b", epsilon=1000, neighbours="add-remove-row"
    )
    for content in ((place / "v.parquet").read_bytes(), b"", bytes(100)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        refused = dampen(*COUNT.split(), "-", "--budget", "b")
        assert (refused.code, refused.out) == (2, "")
        assert "standard input" in refused.err or "not a pipe" in refused.err
    assert account.spent == 0


def test_a_charge_for_a_pipe_names_it(dampen, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Ledger(place / "ledger.sqlite3").create(
        "b", epsilon=1000, neighbours="add-remove-row"
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"diagnosis\nflu\n")))
    assert dampen(*COUNT.split(), "-", "--budget", "b").code == 0
    assert account.history[0].dataset == "standard input"


def test_a_standard_input_that_is_closed(dampen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    refused = dampen(*COUNT.split(), "-")
    assert (refused.code, refused.out) == (2, "")
    assert "standard input" in refused.err


def test_predictions_from_a_pipe(dampen, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = ("--schema", "census.toml", "--epsilon", "100", "-o", "tree.json")
    dampen("tree", "census.csv", "--target", "income", *schema)
    stored = dampen("predict", "tree.json", "new.csv")
    with open("new.csv") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert dampen("predict", "tree.json", "-").out == stored.out
    assert stored.out.startswith("prediction\n")
