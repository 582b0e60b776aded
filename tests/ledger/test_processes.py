"""The ledger under many processes, SIGKILL, SIGINT, and disks that say no.

A child writes to a pipe or file only after its charge returned, as a release would: what was
written must be covered by charges in the file.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from dampen.errors import BudgetError
from dampen.ledger import Ledger, verify, worker

sys.path.insert(0, str(Path(__file__).parent))
import faults

ONE = "replace-one"


def together(code: str, *arguments: list[str]) -> list[str]:
    """What children that run the same code at the same time print, one per list of arguments."""
    children = [
        subprocess.Popen([sys.executable, "-c", code, *each], stdout=subprocess.PIPE, text=True)
        for each in arguments
    ]
    return [child.communicate()[0].strip() for child in children]


def asked_in_a_child(ledger: Ledger, times: int) -> tuple[int, int]:
    """How many charges were granted and how many refused for want of ε; the rest waited in vain.

    A fork costs less than an import, and charges through what it inherits.
    """
    granted = refused = 0
    for _ in range(times):
        try:
            ledger.charge("b", epsilon="0.001", neighbours=ONE)
            granted += 1
        except BudgetError as error:
            refused += " 0 of " in str(error)
    return granted, refused


def asked_by_sixteen(ledger: Ledger, times: int) -> tuple[int, int]:
    with get_context("fork").Pool(16) as pool:
        outcomes = pool.starmap(asked_in_a_child, [(ledger, times)] * 16, chunksize=1)
    return sum(granted for granted, _ in outcomes), sum(refused for _, refused in outcomes)


def test_sixteen_processes_never_overspend(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon="0.5", neighbours=ONE)
    assert asked_by_sixteen(ledger, 40) == (500, 140)
    assert ledger.remaining("b") == 0
    assert len(ledger.history("b")) == 500
    assert 1 + 500 < verify(ledger).seq < 1 + 500 + 30  # repeated refusals are counted


@pytest.mark.slow
def test_sixteen_processes_make_a_hundred_thousand_charges(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=99, neighbours=ONE)
    granted, refused = asked_by_sixteen(ledger, 6250)
    # On a machine with too much to do a request may wait a minute in vain, and is not charged.
    assert granted == 99_000
    assert 990 <= refused <= 1000
    assert ledger.spent("b") == 99
    assert len(ledger.history("b")) == granted
    assert verify(ledger).seq < 1 + granted + 100  # checkpoints, and a few of the refusals


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
    made = together(CREATE_ALL, *[[str(tmp_path / "ledger")]] * 3)
    assert sorted(" ".join(made).split()) == ["0", "1", "2", "3", "4"]


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """A child that does `work` with the end of a pipe; its number, and our end of the pipe."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    return child, ours


def release_for_ever(ledger: Ledger, log: Path, threads: int) -> Callable[[int], None]:
    def ask(file: int) -> None:
        while True:
            charge = ledger.charge("b", epsilon="0.001", neighbours=ONE)
            os.write(file, f"{charge}\n".encode())  # the release

    def work(ready: int) -> None:
        ledger.spent("b")
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for _ in range(threads - 1):
            threading.Thread(target=ask, args=(file,), daemon=True).start()
        os.write(ready, b"!")
        ask(file)

    return work


def strike(
    children: list[tuple[int, int]], moments: Sequence[float], number: signal.Signals
) -> None:
    """Sends a signal to each child at a moment after all are ready, and waits for their end."""
    for _, ready in children:
        assert os.read(ready, 1) == b"!"
    for (child, _), moment in zip(children, moments, strict=False):
        time.sleep(moment)
        os.kill(child, number)
    for child, ready in children:
        os.waitpid(child, 0)
        os.close(ready)


def kill_at_random_moments(
    tmp_path: Path, times: int, *, children: int = 1, threads: int = 1
) -> int:
    ledger, log = Ledger(tmp_path / "ledger"), tmp_path / "released"
    ledger.create("b", epsilon=10**6, neighbours=ONE)
    moments = np.random.default_rng(1).uniform(0, 0.05 / children, times)
    for start in range(0, times, children):
        work = release_for_ever(ledger, log, threads)
        strike([forked(work) for _ in range(children)], moments[start:], signal.SIGKILL)
    charges = {row.id for row in ledger.history("b")}
    released = log.read_text().splitlines()
    assert released
    assert len(set(released)) == len(released)
    assert set(released) <= charges
    # Each kill can lose at most the releases between a charge and its answer.
    assert len(charges) - len(released) <= times * threads
    assert ledger.spent("b") == Fraction(len(charges), 1000)
    verify(ledger, released[-1])
    ledger.charge("b", epsilon=1, neighbours=ONE)
    return len(charges)


def test_killed_releases_have_paid(tmp_path: Path) -> None:
    kill_at_random_moments(tmp_path, 12, children=4, threads=4)


@pytest.mark.slow
def test_a_thousand_killed_releases_have_paid(tmp_path: Path) -> None:
    charges = kill_at_random_moments(tmp_path, 1008, children=16, threads=2)
    assert charges > 1000


def release_until_interrupted(ledger: Ledger, log: Path) -> Callable[[int], None]:
    def work(ready: int) -> None:
        # Who runs the tests in the background has told them to ignore interrupts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ledger.spent("b")
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(ready, b"!")
            while True:
                charge = ledger.charge("b", epsilon="0.001", neighbours=ONE)
                os.write(file, f"{charge}\n".encode())
        except KeyboardInterrupt as interrupt:
            for note in getattr(interrupt, "__notes__", []):
                charge = note.removeprefix("The charge ").removesuffix(" stands.")
                os.write(file, f"{charge}\n".encode())

    return work


def interrupt_at_random_moments(tmp_path: Path, times: int) -> None:
    """After Ctrl-C every charge was released, or the interrupt says that it stands; but for one
    whose release the interrupt may have hit."""
    ledger, log = Ledger(tmp_path / "ledger"), tmp_path / "released"
    ledger.create("b", epsilon=10**6, neighbours=ONE)
    work = release_until_interrupted(ledger, log)
    for moment in np.random.default_rng(3).uniform(0, 0.05, times):
        strike([forked(work)], [moment], signal.SIGINT)
    charges = {row.id for row in ledger.history("b")}
    released = log.read_text().splitlines()
    assert set(released) <= charges
    assert len(set(released)) == len(released)
    assert len(charges) - len(released) <= times
    verify(ledger)


def test_an_interrupt_says_what_stands(tmp_path: Path) -> None:
    interrupt_at_random_moments(tmp_path, 10)


@pytest.mark.slow
def test_two_hundred_interrupts(tmp_path: Path) -> None:
    interrupt_at_random_moments(tmp_path, 200)


CREATOR = """
import sys
from dampen.ledger import Ledger
sys.stdout.write("ready"); sys.stdout.flush()
Ledger(sys.argv[1]).create("b", epsilon=1, neighbours="replace-one")
"""


def test_a_killed_creation_leaves_a_usable_place(tmp_path: Path) -> None:
    moments = np.random.default_rng(2).uniform(0, 0.03, 3)
    for i, moment in enumerate(moments):
        path = tmp_path / f"ledger{i}"
        child = subprocess.Popen([sys.executable, "-c", CREATOR, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.read(5)
        time.sleep(moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        Ledger(path).create("c", epsilon=1, neighbours=ONE)
        Ledger(path).charge("c", epsilon=1, neighbours=ONE)


FAULTY = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import faults
from dampen.errors import BudgetError
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
ledger.charge("b", epsilon=1, neighbours="replace-one")
faults.inject(sys.argv[2])
for _ in range(2):
    try:
        print(ledger.charge("b", epsilon=1, neighbours="replace-one"))
    except BudgetError as error:
        print(error)
"""


@pytest.mark.skipif(not faults.supported(), reason="needs seccomp on x86-64 or arm64 Linux")
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("full disk", "the disk is full. Nothing was charged."),
        ("failed sync", "the disk reports an error. It is not certain whether this was charged"),
    ],
)
def test_a_disk_that_says_no(tmp_path: Path, fault: str, message: str) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=9, neighbours=ONE)
    worker.close_all()
    (said,) = together(FAULTY, [ledger.place, fault])
    refusals = said.splitlines()
    assert len(refusals) == 2
    assert message in refusals[0]
    assert "cannot be used: the disk" in refusals[1]
    # What was acknowledged is there; what was refused is not, unless that was said to be uncertain.
    assert ledger.spent("b") in ((1,) if fault == "full disk" else (1, 2, 3))
    verify(ledger)
    ledger.charge("b", epsilon=1, neighbours=ONE)


LIMITED = """
import resource, sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
granted = 0
try:
    while True:
        ledger.charge("b", epsilon="0.001", neighbours="replace-one", query="q" * 1000)
        granted += 1
except BudgetError as error:
    print(granted, error)
"""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=9, neighbours=ONE)
    worker.close_all()
    (said,) = together(LIMITED, [ledger.place])
    granted, _, refusal = said.partition(" ")
    assert int(granted) > 5
    assert "cannot be used: the disk" in refusal
    assert 0 <= ledger.spent("b") * 1000 - int(granted) <= 1
    verify(ledger)


USER = """
import os, sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger, log, worker
ledger = Ledger(sys.argv[1])
# Loads modules, which nobody may not read if Python is root's own.
log.stamp(), ledger.spent("b")
worker.close_all()
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(ledger.spent("b"))
try:
    ledger.charge("b", epsilon=1, neighbours="replace-one")
except BudgetError as error:
    print(error)
"""


@pytest.mark.parametrize("directory_mode", [0o555, 0o1777])
def test_a_read_only_ledger_shows_but_does_not_charge(directory_mode: int) -> None:
    # As root nothing is read-only, so the child becomes nobody, who may not enter pytest's places.
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        ledger = Ledger(place / "ledger")
        ledger.create("b", epsilon=3, neighbours=ONE)
        ledger.charge("b", epsilon=1, neighbours=ONE)
        worker.close_all()
        for file in place.iterdir():
            file.chmod(0o444)
        place.chmod(directory_mode)
        command = [sys.executable, "-c", USER, ledger.place]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        place.chmod(0o700)
        assert answer.stderr == ""
        spent, refusal = answer.stdout.splitlines()
        assert spent == "1"
        assert "it is read-only. Nothing was charged." in refusal
        if os.geteuid() == 0:
            assert len(ledger.history("b")) == 1
