"""Ctrl-C at any moment: one line that says what was charged, exit code 130, no core dump."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dampen.ledger import Ledger

COUNT = ["most-frequent", "visits.csv", "--value", "diagnosis", "--categories", "flu,cold"]
PAID = [*COUNT, "--epsilon", "0.5", "--budget", "b", "--verbose"]
HOOKED = """
import importlib, os, signal, sys

where, when, times, *arguments = sys.argv[1:]
module, _, path = where.partition(":")
owner = importlib.import_module(module)
*outer, name = path.split(".")
for each in outer:
    owner = getattr(owner, each)
original = getattr(owner, name)

def interrupt():
    for _ in range(int(times)):
        os.kill(os.getpid(), signal.SIGINT)

def hooked(*given, **options):
    if when == "before":
        interrupt()
    result = original(*given, **options)
    if when == "after":
        interrupt()
    return result

setattr(owner, name, hooked)
from dampen.cli.main import main
main(arguments)
"""


@pytest.fixture(autouse=True)
def _hearing() -> Iterator[None]:
    """Children hear interrupts, also where these tests run in a background that ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ledger(place: Path) -> Ledger:
    ledger = Ledger(place / "ledger.sqlite3")
    ledger.create("b", epsilon=10_000, neighbours="add-remove-row")
    ledger.create("g", epsilon=10_000, neighbours="add-remove-edge")
    return ledger


def interrupted(where: str, when: str, times: int = 1) -> subprocess.CompletedProcess[str]:
    """Runs a command that is interrupted at one place."""
    done = subprocess.run(
        [sys.executable, "-c", HOOKED, where, when, str(times), *PAID],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.startswith("dampen: Interrupted.")
    assert done.stderr.count("\n") == 1
    return done


@pytest.mark.parametrize(
    "where",
    [
        "dampen.cli.main:group",
        "dampen.cli.output:open_ledger",
        "dampen.questions.frequency:open_table",
        "dampen.ledger.accounts:Account.charge",
    ],
)
def test_before_the_charge(ledger: Ledger, where: str) -> None:
    # The interrupt waits while a charge is recorded, so that one is charged.
    charging = where.endswith("charge")
    done = interrupted(where, "before")
    assert len(ledger.history("b")) == charging
    assert done.stdout == ""
    assert ("stands" in done.stderr) == charging
    if where.endswith("open_table"):  # earlier no budget was known
        assert done.stderr == "dampen: Interrupted. Nothing was charged.\n"


@pytest.mark.parametrize(
    ("where", "when", "kept"),
    [
        ("dampen.ledger.accounts:Account.charge", "after", False),
        ("dampen.questions.frequency:MostFrequent.opened_counts", "before", False),
        ("dampen.questions.frequency:MostFrequent.opened_counts", "after", False),
        ("dampen.ledger.accounts:Account.keep", "after", True),
        ("dampen.releases.answer:Paid.release", "after", True),
    ],
)
def test_after_the_charge(ledger: Ledger, where: str, when: str, kept: bool) -> None:
    done = interrupted(where, when)
    (charge,) = ledger.history("b")
    assert done.stdout == ""
    assert f"The charge of epsilon 0.5 ({charge.id}) stands." in done.stderr
    assert (f"dampen budget answer {charge.id}" in done.stderr) == kept
    if kept:
        assert json.loads(ledger.answer(charge.id))["charge"] == charge.id


def test_while_the_answer_is_printed(ledger: Ledger) -> None:
    done = interrupted("dampen.cli.question_command:write", "before")
    (charge,) = ledger.history("b")
    assert charge.id in done.stdout  # the interrupt has waited
    done = interrupted("dampen.cli.question_command:write", "before", times=2)
    assert done.stdout == ""  # the second one has not
    assert f"dampen budget answer {ledger.history('b')[1].id}" in done.stderr


def test_before_anything(ledger: Ledger) -> None:
    done = interrupted("dampen.cli.main:_secure_streams", "before")
    assert done.stderr == "dampen: Interrupted.\n"


def test_errors_that_an_interrupt_causes_are_interrupts(ledger: Ledger) -> None:
    """Compiled modules turn an interrupt of their import into an ImportError."""
    code = (
        "import os, signal, sys, dampen.questions.frequency as release\n"
        "def broken(*_, **__):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        raise ImportError('numpy.core.multiarray failed to import')\n"
        "release.open_table = broken\n"
        "from dampen.cli.main import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *PAID], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "dampen: Interrupted. Nothing was charged.\n")


def test_an_ignored_interrupt_stays_ignored(ledger: Ledger) -> None:
    """As under nohup, and for commands that a script has put into the background."""
    deaf = ["bash", "-c", 'trap "" INT; exec "$@"', "-", sys.executable, "-c", HOOKED]
    done = subprocess.run(
        [*deaf, "dampen.ledger.accounts:Account.keep", "after", "1", *PAID],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def edges(place: Path, count: int) -> list[str]:
    """A random graph, large enough to be interrupted at work."""
    ends = np.random.default_rng(5).integers(0, 100_000, (2, count))
    np.savez(place / "graph.npz", src=ends[0], dst=ends[1], n=100_000)
    return ["top-k", "graph.npz", "-k", "5", "--epsilon", "1", "--budget", "g", "--verbose"]


def interrupt_often(ledger: Ledger, asked: list[str], tries: int, longest: float) -> set[int]:
    """Interrupts a command at random moments; every end of it must be an honest one."""
    codes, charged = set(), 0
    for moment in np.random.default_rng(7).uniform(0.05, longest, tries):
        child = subprocess.Popen(
            [sys.executable, "-m", "dampen", *asked],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
        )
        with suppress(subprocess.TimeoutExpired):
            child.wait(moment)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
        new = ledger.history("g")[charged:]
        charged += len(new)
        codes.add(child.returncode)
        assert len(new) <= 1
        if child.returncode in (-signal.SIGINT, 1):  # Python itself had hardly started
            assert new == []
            assert re.search(r'main\.py", line \d+, in (main|run)', err) is None
            assert err.rstrip("\n").endswith("KeyboardInterrupt") or err == ""
        elif child.returncode == 0:
            assert new[0].id in out
        else:
            assert child.returncode == 130
            # Before it C may speak: of an import of `decimal` that was interrupted and begun again.
            assert re.search(r"^dampen: Interrupted\.", err, re.MULTILINE)
            assert "Traceback" not in err
            assert err.count("\n") == 1
            assert f"({new[0].id}) stands." in err if new else "stands" not in err
    return codes


def test_random_moments(ledger: Ledger, place: Path) -> None:
    assert interrupt_often(ledger, edges(place, 200_000), tries=8, longest=4) <= {0, 1, 130, -2}


@pytest.mark.slow
def test_many_random_moments(ledger: Ledger, place: Path) -> None:
    codes = interrupt_often(ledger, edges(place, 5_000_000), tries=200, longest=12)
    assert 130 in codes


@pytest.mark.slow
def test_killed_commands_have_paid(ledger: Ledger) -> None:
    answers, moments = 0, np.random.default_rng(3).uniform(0.3, 1.5, 40)
    for moment in moments:
        child = subprocess.Popen(
            [sys.executable, "-m", "dampen", *PAID, "--json"], stdout=subprocess.PIPE
        )
        time.sleep(moment)
        child.kill()
        answers += b"answer" in child.communicate()[0]
        assert answers <= len(ledger.history("b"))
    child = subprocess.run([sys.executable, "-m", "dampen", *PAID], check=False)
    assert child.returncode == 0
