"""A killed run leaves no worker behind."""

import os
import signal
import subprocess
import sys
import time

CODE = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from dampen_studies import runner

if __name__ == "__main__":
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=runner._start_worker
    ) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_leave_with_their_parent(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(CODE)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    with parent:
        worker = int(parent.stdout.readline())
        assert alive(worker)
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(worker)
