"""The command line in a directory of its own: small files, a ledger, nothing from outside."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dampen.cli.demo import write_files
from dampen.cli.main import run


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
    write_files(tmp_path)
    return tmp_path


@pytest.fixture
def dampen(place: Path, capfd: pytest.CaptureFixture[str]) -> Dampen:
    """Runs one command as the shell would; a traceback fails the test."""

    def call(*arguments: str) -> Outcome:
        capfd.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)  # shown on standard error, as for a user
            code = run(list(arguments))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def shell(place: Path) -> Dampen:
    """Runs one line of bash, in which `dampen` is the real program, in a process of its own."""

    def call(line: str, **variables: str) -> Outcome:
        program = f'dampen() {{ "{sys.executable}" -m dampen "$@"; }}'
        done = subprocess.run(
            ["bash", "-c", f"{program}\n{line}"],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call
