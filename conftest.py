"""For tests, examples and pages: the same bits in every run, and the files of the documentation.

Where a release would ask the operating system for bits, a test gets those of a generator with a
seed of its own, so that what passed once passes again.  Slow tests, and all tests with
`--system-entropy`, draw as a release does, and so do processes that a test starts.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

# Before numpy is imported, for workers and the processes that tests start as well: each worker has
# a core of its own, and threads of linear algebra that wait for the core of another one turn idly.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
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
def beside_the_files(request: pytest.FixtureRequest) -> None:
    """For pages only: each in a directory of its own, which other tests need not be given."""
    if request.node.path.suffix == ".md":
        from dampen.cli.demo import write_files

        place = request.getfixturevalue("tmp_path")
        write_files(place)
        request.getfixturevalue("monkeypatch").chdir(place)


class SeededSystem:
    """In place of `os` in the module that draws: bytes that follow from a name."""

    def __init__(self, name: str) -> None:
        self._generator = np.random.default_rng([*sha256(name.encode()).digest()])  # noqa: TID251
        self._process = os.getpid()

    def urandom(self, size: int) -> bytes:
        # A child that was forked would repeat the bits of its parent.
        if os.getpid() != self._process:
            return os.urandom(size)  # noqa: TID251
        return self._generator.bytes(size)


@contextmanager
def drawing(system: Any) -> Iterator[None]:
    from dampen.core import sampling

    before = sampling.os
    sampling.os = system
    try:
        yield
    finally:
        sampling.os = before


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--system-entropy", action="store_true", help="Other bits and examples in every run."
    )


def pytest_collection_finish() -> None:
    """What collecting made lives as long as the run: the collector need not walk it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries report at exit what was not collected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    system = item.config.getoption("--system-entropy") or item.get_closest_marker("slow")
    path, _, name = item.location
    with drawing(os if system else SeededSystem(f"{path} {name}")):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """What tests share has bits of its own: whichever of them comes first."""
    if fixturedef.scope == "function" or request.config.getoption("--system-entropy"):
        return (yield)
    name = f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param_index', 0)}"
    with drawing(SeededSystem(name)):
        return (yield)
