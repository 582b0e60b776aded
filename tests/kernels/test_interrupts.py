"""An interrupt during a kernel is a KeyboardInterrupt, soon, and never a crash."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

STORM = """
import os, signal, subprocess, sys
import numpy as np
from dampen.questions.nodes import graphs as rows

(size, wanted, rows.PART), rows.FEW = map(int, sys.argv[1:]), 0
ends, kernel_runs = np.arange(size, dtype=np.int32) % 999, False

def run():
    rows.rows_of(ends, ends[::-1], 999).whole

def hear(*_):
    global kernel_runs
    if kernel_runs:
        kernel_runs = False
        raise KeyboardInterrupt

run()
signal.signal(signal.SIGINT, hear)
shots = "import os, sys, time\\nwhile True: os.kill(int(sys.argv[1]), 2); time.sleep(0.001)"
gun, heard = subprocess.Popen([sys.executable, "-c", shots, str(os.getpid())]), 0
while heard < wanted:
    try:
        while True:
            kernel_runs = True  # again: a KeyboardInterrupt in a finaliser is lost
            run()
    except KeyboardInterrupt:
        heard += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
gun.kill()
gun.wait()
print(heard)
"""


@pytest.fixture
def _hearing() -> Iterator[None]:
    """Children hear interrupts, also where these tests run in a background that ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_hearing")
@pytest.mark.parametrize("part", [1 << 12, 1 << 18])
@pytest.mark.parametrize("size", [10, 1 << 13, 1 << 17])
def test_interrupts_during_a_kernel(size: int, part: int) -> None:
    """They are KeyboardInterrupts, neither crashes nor SystemErrors, whatever is interrupted."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", STORM, str(size), "200", str(part)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


SOON = """
import signal, time
import numpy as np
from dampen.kernels.graphs import both_ways

n = 1 << 12
m = 50_000_000
higher = np.full(m, n - 1, dtype=np.int32)
begins = np.linspace(0, m, n + 1).astype(np.int64)
degrees = np.diff(begins)
degrees[n - 1] += m
signal.setitimer(signal.ITIMER_REAL, 0.1)
def hear(*_):
    global heard
    heard = time.monotonic()
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, hear)
start = time.monotonic()
try:
    while True:
        both_ways(begins[:-1], begins[1:], higher, degrees)
except KeyboardInterrupt:
    print(round(heard - start - 0.1, 3))
"""


@pytest.mark.usefixtures("_hearing")
def test_a_long_kernel_stops_soon_after_an_interrupt() -> None:
    done = subprocess.run([sys.executable, "-c", SOON], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.2
