"""Broken files: exit code 2 or 3, a sentence, no traceback, no private value, an honest ledger."""

from itertools import islice
from pathlib import Path

import pytest

from broken_files import SCHEMA, Broken, broken_files, columns, csv_of, edges
from dampen.ledger import Ledger
from leaks import said_in, secrets_in

RELATIONS = {"top-k": "add-remove-edge", "percentile-record": "replace-one"}
PARTS = 12


def test_there_are_enough() -> None:
    names = [case.name for case in broken_files()]
    assert len(set(names)) == len(names) >= 500


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))]
)
def test_broken_files(dampen, place: Path, part: int) -> None:
    (place / "good.csv").write_bytes(csv_of(columns()))
    (place / "good.toml").write_text(SCHEMA)
    (place / "edges.csv").write_bytes(csv_of(edges()))
    faults = []
    for number, case in enumerate(islice(broken_files(), part, None, PARTS)):
        folder = place / f"books{number}"
        folder.mkdir()
        faults += [f"{case.name}: {fault}" for fault in faults_of(dampen, place, folder, case)]
    assert not faults, "\n".join(faults)


def faults_of(dampen, place: Path, folder: Path, case: Broken) -> list[str]:
    """What is wrong with the way in which a command ended."""
    file = f"broken{case.suffix}"
    (place / file).write_bytes(case.content)
    words = case.command.replace("FILE", file).split()
    ledger = Ledger(folder / "ledger.sqlite3")
    ledger.create("b", epsilon=9, neighbours=RELATIONS.get(words[0], "add-remove-row"))
    done = dampen(*words, "--epsilon", "1", "--budget", "b", "--ledger", str(ledger.path))
    told = done.err.splitlines()[-1] if done.err else ""
    codes = (0,) if case.answered else (2, 3) if case.surely else (0, 2, 3)
    expected = {
        "exit code": done.code in codes,
        "charge": len(ledger.history("b")) == (done.code != 2),
        "sentence": not done.code or (told.startswith("dampen: ") and told.endswith((".", "?"))),
        "output": not done.code or done.out == "",
        "told charge": ("stands." in done.err) == (done.code == 3),
        "secrets": secrets_in(done.out, done.err, said_in(folder)) == [],
        "escapes": "\x1b" not in done.out + done.err,
    }
    return [f"{what} {done.code} {done.err[:300]}" for what, fine in expected.items() if not fine]
