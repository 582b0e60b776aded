"""Examples of the documentation run beside the files that `dampen demo --files .` writes."""

import sys
from pathlib import Path

import pytest

# What these test is not there on Windows: fork, SIGKILL, FIFOs, limits of a process.
POSIX = [
    "tests/cli/test_interrupts.py",
    "tests/cli/test_pipes.py",
    "tests/engines/test_cluster.py",
    "tests/kernels/test_interrupts.py",
    "tests/ledger/test_postgres.py",
    "tests/ledger/test_processes.py",
    "tests/service/test_load.py",
    "tests/service/test_running.py",
    "studies/tests/test_orphans.py",
    "studies/tests/test_runner.py",
]
# And what this one tests only on Linux: a device that is always full.
LINUX = ["tests/cli/test_delivery.py"]
collect_ignore = POSIX * (sys.platform == "win32") + LINUX * (sys.platform != "linux")


@pytest.fixture(autouse=True)
def beside_the_files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For pages only: each in a directory of its own."""
    if request.node.path.suffix == ".md":
        from dampen.cli.demo import write_files

        write_files(tmp_path)
        monkeypatch.chdir(tmp_path)
