"""`dampen budget`, and what every command does with a budget."""

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dampen.ledger import Ledger, storage

COUNT = ("most-frequent", "visits.csv", "--column", "diagnosis", "--categories", "flu,cold")


def test_a_budget_from_creation_to_refusal(dampen, place: Path) -> None:
    made = dampen("budget", "create", "visits", "--epsilon", "1", "--neighbours", "add-remove-row")
    assert (made.code, made.err) == (0, "")
    paid = dampen(*COUNT, "--epsilon", "0.75", "--budget", "visits", "--analyst", "audit")
    assert paid.code == 0
    assert "visits, 0.25 of 1 left" in paid.out
    refused = dampen(*COUNT, "--epsilon", "0.26", "--budget", "visits")
    assert (refused.code, refused.out) == (2, "")
    assert "0.25 of 1 is left. Nothing was charged." in refused.err
    assert refused.err.count("\n") == 1
    shown = dampen("budget", "show", "visits", "--json")
    (charge,) = json.loads(shown.out)["charges"]
    assert (charge["epsilon"], charge["analyst"]) == ("0.75", "audit")
    assert (charge["dataset"], charge["query"]) == ("visits.csv", "most-frequent k=1 of diagnosis")
    assert "audit" in dampen("budget", "show", "visits").out
    assert "visits" in dampen("budget", "show").out
    assert json.loads(dampen("budget", "show", "--json").out)[0]["left"] == "0.25"


def test_json_says_what_is_left(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    paid = dampen(*COUNT, "--epsilon", "0.5", "--budget", "b", "--json")
    assert json.loads(paid.out)["budget"] == {"name": "b", "left": "0.5", "total": "1"}


def test_bad_data_costs_the_charge_and_says_so(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    with (place / "visits.csv").open("a") as file:
        file.write("SECRET,3\n")
    bad = dampen(*COUNT, "--epsilon", "0.25", "--budget", "b")
    assert bad.code == 3
    assert "The charge of epsilon 0.25 (1) stands." in bad.err
    assert "SECRET" not in bad.err
    assert Ledger(place / "ledger.sqlite3").remaining("b") == 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["budget", "create", "b"], "Missing option '--epsilon'"),
        (
            ["budget", "create", "b", "--epsilon", "x", "--neighbours", "replace-one"],
            "got --epsilon",
        ),
        (["budget", "create", "b", "--epsilon", "1", "--neighbours", "rows"], "one of replace-one"),
        (["budget", "create", "", "--epsilon", "1", "--neighbours", "replace-one"], "a name"),
        (["budget", "create", "a", "--epsilon", "1", "--neighbours", "replace-one"], "already"),
        (["budget", "show", "ab"], "no budget 'ab'"),
        (["budget", "show", "--ledger", "none"], "There is no ledger none"),
        (["budget", "show", "--ledger", "visits.csv"], "not a ledger"),
        (["budget", "shwo"], "No such command"),
        ([*COUNT, "--epsilon", "1", "--budget", "zzz"], "no budget 'zzz'"),
        ([*COUNT, "--epsilon", "1", "--analyst", "me"], "Expected --budget"),
        ([*COUNT, "--epsilon", "0.1", "--budget", "a"], "for replace-one neighbours"),
    ],
)
def test_mistakes_are_one_line_and_cost_nothing(dampen, place: Path, arguments, message) -> None:
    dampen("budget", "create", "a", "--epsilon", "1", "--neighbours", "replace-one")
    wrong = dampen(*arguments)
    assert (wrong.code, wrong.out) == (2, "")
    assert message in wrong.err
    assert wrong.err.count("\n") == 1
    assert Ledger(place / "ledger.sqlite3").spent("a") == 0


def test_a_full_disk_is_one_line(dampen, monkeypatch: pytest.MonkeyPatch) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    whole = sqlite3.connect

    def full(*args: object, **options: object) -> sqlite3.Connection:
        connection = whole(*args, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(storage.sqlite3, "connect", full)
    refused = dampen(*COUNT, "--epsilon", "0.5", "--budget", "b", "--dataset", "d" * 100_000)
    assert refused.code == 2
    assert "the disk is full. Nothing was charged." in refused.err
    assert refused.out == ""


AS_NOBODY = """
import contextlib, io, os, sys
from dampen.cli.main import main, run
if os.geteuid() == 0:  # as root nothing is read-only; so ask once as root, which loads all modules
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(sys.argv[1:]) == 0
    os.setuid(65534)
main()
"""


def test_a_read_only_ledger_is_one_line(dampen, place: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Path(directory, "ledger")
        dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row",
               "--ledger", str(ledger))  # fmt: skip
        table = shutil.copy(place / "visits.csv", directory)
        ledger.chmod(0o444)
        Path(directory).chmod(0o555)
        asked = ["most-frequent", table, *COUNT[2:], "--epsilon", "0.5", "--budget", "b"]
        refused = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *asked, "--ledger", str(ledger)],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
        )
        Path(directory).chmod(0o755)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "it is read-only. Nothing was charged." in refused.stderr
    assert refused.stderr.count("\n") == 1
