"""An ordinary hospital table, as it comes: nothing is lost, and no row makes a question fail."""

import csv
import random
from pathlib import Path

import pytest

import dampen
from dampen.cli.main import run

WARDS = ["Ash", "Birch, new wing", "Oak"]
MESSY = ["", " ", "n/a", "NULL", "?", "-", "12 days", "1e999", "nan"]
FACTS = """ledger = "ledger.sqlite3"

[[data]]
name = "stays"
files = ["stays.csv"]
budgets = ["stays"]
unit = "Patient ID"

[data.columns]
"Ward Name " = ["Ash", "Birch, new wing", "Oak"]
"days (total)" = { lower = 0, upper = 90 }
age = { lower = 0, upper = 120, step = 1 }
Diagnosis = { values = ["flu", "hip", "stroke"], unlisted = "own", missing = "own" }
"""


def stays(rng: random.Random) -> list[list[str]]:
    """4,000 stays of 1,500 patients: headers with blanks, and bad cells in one of fifty."""
    rows = [["Patient ID", "Ward Name ", "days (total)", "age", "Diagnosis"]]
    for _ in range(4000):
        ward = rng.choice(WARDS)
        days = int(rng.expovariate(1 / (9 if ward == "Oak" else 4)))
        row = [
            f"P{rng.randrange(1500):05}", ward, str(days), str(rng.randrange(100)),
            rng.choice(["flu", "flu", "flu", "flu", "hip", "stroke", "Flu ", "unknown"]),
        ]  # fmt: skip
        rows.append([rng.choice(MESSY) if rng.random() < 0.02 else cell for cell in row])
    return rows


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "stays.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(stays(random.Random(4)))
        file.write('"broken, quotes\n')
        file.write("too,few\n")
    (tmp_path / "dampen.toml").write_text(FACTS)
    return tmp_path


def test_six_questions_have_six_answers(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", "create", "stays", "--epsilon", "3"]) == 0
    asked = {
        ("top-groups", "--value", "days (total)", "--by", "Ward Name "): "Oak",
        ("percentile", "--value", "age", "-p", "50"): None,
        ("most-frequent", "--value", "Diagnosis"): "flu",
        ("count", "--by", "Ward Name "): None,
        ("mean", "--value", "days (total)"): None,
        (
            "groups-above",
            "--value",
            "days (total)",
            "--by",
            "Ward Name ",
            "--threshold",
            "5",
        ): "Oak",
    }
    for (question, *options), answer in asked.items():
        capfd.readouterr()
        code = run([question, "stays", *options, "--epsilon", "0.5"])
        told = capfd.readouterr()
        assert (code, told.err) == (0, ""), (question, told)
        assert answer is None or answer in told.out.splitlines()[0]
    ledger = dampen.Ledger("ledger.sqlite3")
    assert len(ledger.history("stays")) == 6
    assert ledger["stays"].remaining == 0


def test_the_facts_are_stated_once_in_python_too(place: Path) -> None:
    dampen.Ledger("ledger.sqlite3").create("stays", epsilon=3, neighbours="add-remove-unit")
    asked = dampen.dataset("stays", config="dampen.toml")
    longest = asked.top_groups("days (total)", by="Ward Name ", epsilon=0.5)
    assert (longest.answer, str(longest.neighbours)) == ("Oak", "add-remove-unit")
    known = asked.most_frequent("Diagnosis", k=5, epsilon=0.5).answer
    assert set(known) == {"flu", "hip", "stroke", dampen.MISSING, dampen.OTHER}
