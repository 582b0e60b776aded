"""The ledger under many processes, SIGKILL, and file systems that say no.

A child writes to a pipe or file only after its charge returned, as a release would: what was
written must be covered by charges in the file.
"""

import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from dampen.ledger import Ledger


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return str(answer)


def together(code: str, *arguments: list[str]) -> list[str]:
    """What children that run the same code at the same time print, one per list of arguments."""
    children = [
        subprocess.Popen([sys.executable, "-c", code, *each], stdout=subprocess.PIPE, text=True)
        for each in arguments
    ]
    return [child.communicate()[0].strip() for child in children]


CHARGE_OFTEN = """
import sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger
granted = 0
for _ in range(int(sys.argv[2])):
    try:
        Ledger(sys.argv[1]).charge("b", "0.001", query="stress")
        granted += 1
    except BudgetError as error:
        assert "0 of 2 is left" in str(error), error
print(granted)
"""


def test_eight_processes_never_overspend(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=2, neighbours="replace-one")
    granted = together(CHARGE_OFTEN, *[[str(ledger.path), "500"]] * 8)
    assert sum(map(int, granted)) == 2000
    assert ledger.spent("b") == 2
    assert len(ledger.history("b")) == 2000
    assert integrity(ledger.path) == "ok"


CREATE_ALL = """
import sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger
for i in range(5):
    try:
        Ledger(sys.argv[1] + str(i)).create("b", epsilon=1, neighbours="replace-one")
        print(i)
    except BudgetError as error:
        assert "already has a budget" in str(error), error
"""


def test_processes_that_create_together(tmp_path: Path) -> None:
    made = together(CREATE_ALL, *[[str(tmp_path / "ledger")]] * 4)
    assert sorted(" ".join(made).split()) == ["0", "1", "2", "3", "4"]


CHILD = """
import os, sys
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(1, b"ready")
while True:
    ledger.charge("b", "0.001")
    os.write(log, b"x")  # the release
"""


def kill_at_random_moments(tmp_path: Path, times: int) -> None:
    ledger, log = Ledger(tmp_path / "ledger"), tmp_path / "released"
    ledger.create("b", epsilon=10**6, neighbours="replace-one")
    moments = np.random.default_rng(1).uniform(0, 0.05, times)
    for moment in moments:
        command = [sys.executable, "-c", CHILD, str(ledger.path), str(log)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.read(5) == b"ready"
        time.sleep(moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        charges = len(ledger.history("b"))
        assert log.stat().st_size <= charges
    assert log.stat().st_size > 0
    # Each kill can lose at most the one release between a charge and its answer.
    assert charges - log.stat().st_size <= times
    assert integrity(ledger.path) == "ok"
    ledger.charge("b", 1)


def test_killed_releases_have_paid(tmp_path: Path) -> None:
    kill_at_random_moments(tmp_path, 15)


@pytest.mark.slow
def test_a_hundred_killed_releases_have_paid(tmp_path: Path) -> None:
    kill_at_random_moments(tmp_path, 100)


CREATOR = """
import sys
from dampen.ledger import Ledger
sys.stdout.write("ready"); sys.stdout.flush()
Ledger(sys.argv[1]).create("b", epsilon=1, neighbours="replace-one")
"""


def test_a_killed_creation_leaves_a_usable_place(tmp_path: Path) -> None:
    moments = np.random.default_rng(2).uniform(0, 0.03, 8)
    for i, moment in enumerate(moments):
        path = tmp_path / f"ledger{i}"
        child = subprocess.Popen([sys.executable, "-c", CREATOR, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.read(5)
        time.sleep(moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        Ledger(path).create("c", epsilon=1, neighbours="replace-one")
        Ledger(path).charge("c", 1)


USER = """
import os, sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger, storage
ledger = Ledger(sys.argv[1])
storage.library_version()  # imports modules, which nobody may not read if Python is root's own
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(ledger.spent("b"))
try:
    ledger.charge("b", 1)
except BudgetError as error:
    print(error)
"""


@pytest.mark.parametrize("directory_mode", [0o555, 0o777])
def test_a_read_only_ledger_shows_but_does_not_charge(directory_mode: int) -> None:
    # As root nothing is read-only, so the child becomes nobody, who may not enter pytest's places.
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        ledger = Ledger(place / "ledger")
        ledger.create("b", epsilon=3, neighbours="replace-one")
        ledger.charge("b", 1)
        ledger.path.chmod(0o444)
        place.chmod(directory_mode)
        command = [sys.executable, "-c", USER, str(ledger.path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        place.chmod(0o755)
        assert answer.stderr == ""
        spent, refusal = answer.stdout.splitlines()
        assert spent == "1"
        assert "it is read-only. Nothing was charged." in refusal
        assert len(ledger.history("b")) == 1
