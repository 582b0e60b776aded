"""The command line in a directory of its own: small files, a ledger, nothing from outside."""

import gzip
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dampen.cli import group
from dampen.cli.running import run

CENSUS_SCHEMA = """rows = 500

[columns.age]
bins = [17, 90, 8]

[columns.workclass]
values = ["Private", "Government", "?"]

[target]
classes = ["<=50K", ">50K"]
"""

MY_PROBLEM = """
from dampen.problems.frequency import MostFrequent
from dampen.testing import Universe

problem = MostFrequent(["a", "b"])
universe = Universe.add_remove_row(["a", "b"], max_rows=3)
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Dampen = Callable[..., Outcome]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory of a user, with the files of the documentation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAMPEN_LEDGER", str(tmp_path / "ledger.sqlite3"))
    rng = np.random.default_rng(0)
    salaries = rng.lognormal(10.8, 0.5, 300).round()
    rows = "".join(f"E{i},{salary:.0f}\n" for i, salary in enumerate(salaries))
    (tmp_path / "salaries.csv").write_text("employee,salary\n" + rows)
    (tmp_path / "visits.csv").write_text("diagnosis,day\n" + "flu,1\n" * 90 + "cold,2\n" * 20)
    ends = rng.integers(0, 40, (200, 2)).tolist() + [[0, i] for i in range(1, 40)]
    edges = "".join(f"{a},{b}\n" for a, b in ends if a != b)
    (tmp_path / "follows.csv.gz").write_bytes(gzip.compress(f"source,target\n{edges}".encode()))
    people = zip(
        rng.integers(17, 90, 400), rng.choice(["Private", "Government", "?"], 400), strict=True
    )
    rows = "".join(f"{a},{w},{'>50K' if a > 50 else '<=50K'}\n" for a, w in people)
    (tmp_path / "census.csv").write_text("age,workclass,income\n" + rows)
    (tmp_path / "new.csv").write_text("age,workclass\n25,Private\n80,Government\n60,?\n")
    (tmp_path / "census.toml").write_text(CENSUS_SCHEMA)
    (tmp_path / "my_problem.py").write_text(MY_PROBLEM)
    return tmp_path


@pytest.fixture
def dampen(place: Path, capfd: pytest.CaptureFixture[str]) -> Dampen:
    """Runs one command as the shell would; a traceback fails the test."""

    def call(*arguments: str) -> Outcome:
        capfd.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)  # shown on standard error, as for a user
            code = run(group(), list(arguments))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Outcome(code, out, err)

    return call
