"""The ledger under many processes, SIGKILL, SIGINT, and disks that say no.

A child writes to a pipe or file only after its charge returned, as a release would: what was
written must be covered by charges in the file.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from dampen.errors import BudgetError
from dampen.ledger import Ledger, books, verify

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


CHARGE_OFTEN = """
import sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger
granted = 0
for _ in range(int(sys.argv[2])):
    try:
        Ledger(sys.argv[1]).charge("b", epsilon="0.001", neighbours="replace-one", query="stress")
        granted += 1
    except BudgetError as error:
        assert " 0 of " in str(error), error
print(granted)
"""


def granted_in_a_child(ledger: Ledger, times: int) -> int:
    """A fork costs less than an import, and charges through what it inherits."""
    granted = 0
    for _ in range(times):
        with suppress(BudgetError):
            ledger.charge("b", epsilon="0.001", neighbours=ONE)
            granted += 1
    return granted


def test_sixteen_processes_never_overspend(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=1, neighbours=ONE)
    with get_context("fork").Pool(16) as pool:
        granted = pool.starmap(granted_in_a_child, [(ledger, 80)] * 16, chunksize=1)
    assert sum(granted) == 1000
    assert ledger.spent("b") == 1
    assert len(ledger.history("b")) == 1000
    assert verify(ledger).seq == 1 + 16 * 80


@pytest.mark.slow
def test_sixteen_processes_make_a_hundred_thousand_charges(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=99, neighbours=ONE)
    granted = together(CHARGE_OFTEN, *[[ledger.place, "6250"]] * 16)
    assert sum(map(int, granted)) == 99_000
    assert ledger.spent("b") == 99
    assert verify(ledger).seq == 1 + 100_000


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
import os, sys, threading
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
ledger.spent("b")
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def ask():
    while True:
        charge = ledger.charge("b", epsilon="0.001", neighbours="replace-one")
        os.write(log, (charge + "\\n").encode())  # the release

for _ in range(int(sys.argv[3]) - 1):
    threading.Thread(target=ask, daemon=True).start()
os.write(1, b"ready")
ask()
"""


def kill_at_random_moments(
    tmp_path: Path, times: int, *, children: int = 1, threads: int = 1
) -> int:
    ledger, log = Ledger(tmp_path / "ledger"), tmp_path / "released"
    ledger.create("b", epsilon=10**6, neighbours=ONE)
    moments = np.random.default_rng(1).uniform(0, 0.05, times)
    for start in range(0, times, children):
        command = [sys.executable, "-c", CHILD, ledger.place, str(log), str(threads)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(children)]
        for child in running:
            assert child.stdout is not None
            assert child.stdout.read(5) == b"ready"
        for child, moment in zip(running, moments[start:], strict=False):
            time.sleep(moment / children)
            child.send_signal(signal.SIGKILL)
        for child in running:
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
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
    kill_at_random_moments(tmp_path, 4, children=2, threads=4)


@pytest.mark.slow
def test_a_thousand_killed_releases_have_paid(tmp_path: Path) -> None:
    charges = kill_at_random_moments(tmp_path, 1008, children=16, threads=2)
    assert charges > 1000


INTERRUPTED = """
import os, signal, sys
from dampen.ledger import Ledger
# A shell that starts the tests in the background has told them to ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
ledger = Ledger(sys.argv[1])
ledger.spent("b")
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
try:
    os.write(1, b"ready")
    while True:
        charge = ledger.charge("b", epsilon="0.001", neighbours="replace-one")
        os.write(log, (charge + "\\n").encode())
except KeyboardInterrupt as interrupt:
    for note in getattr(interrupt, "__notes__", []):
        assert note.startswith("The charge ") and note.endswith(" stands."), note
        os.write(log, (note.split()[2] + "\\n").encode())
"""


def interrupt_at_random_moments(tmp_path: Path, times: int) -> None:
    """After Ctrl-C every charge was released, or the interrupt says that it stands, but the last
    one, whose release the interrupt may have hit."""
    ledger, log = Ledger(tmp_path / "ledger"), tmp_path / "released"
    ledger.create("b", epsilon=10**6, neighbours=ONE)
    command = [sys.executable, "-c", INTERRUPTED, ledger.place, str(log)]
    for moment in np.random.default_rng(3).uniform(0, 0.05, times):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.read(5) == b"ready"
            time.sleep(moment)
            child.send_signal(signal.SIGINT)
            child.wait()
    charges = {row.id for row in ledger.history("b")}
    released = set(log.read_text().splitlines())
    assert released <= charges
    assert len(charges) - len(released) <= times
    verify(ledger)


def test_an_interrupt_says_what_stands(tmp_path: Path) -> None:
    interrupt_at_random_moments(tmp_path, 3)


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
    moments = np.random.default_rng(2).uniform(0, 0.03, 4)
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
    books.close_all()
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
    books.close_all()
    (said,) = together(LIMITED, [ledger.place])
    granted, _, refusal = said.partition(" ")
    assert int(granted) > 5
    assert "cannot be used: the disk" in refusal
    assert 0 <= ledger.spent("b") * 1000 - int(granted) <= 1
    verify(ledger)


USER = """
import os, sys
from dampen.errors import BudgetError
from dampen.ledger import Ledger, books, orders
ledger = Ledger(sys.argv[1])
# Loads modules, which nobody may not read if Python is root's own.
orders.stamp(), ledger.spent("b")
books.close_all()
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
        books.close_all()
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
