"""Kernels: no cache, a broken cache and an interrupt may stop no release, and none of them lies."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import config

from dampen.kernels.compile import SMALL, compiled

HERE = Path(__file__).parent
TINY = "def tiny(x):\n    return x[0] + 1, x[1:]\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled code is kept, and nothing else."""
    place = tmp_path / "cache"
    monkeypatch.setattr(config, "CACHE_DIR", str(place))
    (tmp_path / "tiny.py").write_text(TINY)
    return place


def tiny(cache: Path) -> Any:
    """A kernel as a new process would make it."""
    path = cache.parent / "tiny.py"
    space: dict[str, Any] = {"__name__": "tiny", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return compiled(space["tiny"])


def works(kernel: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, rest = kernel(np.arange(3))
    return bool(first == 1 and rest.tolist() == [1, 2])


def is_loaded(kernel: Any) -> bool:
    """Whether the code of a kernel that ran came from the cache."""
    return sum(kernel.stats.cache_hits.values()) == 1


def test_a_cache_is_used(cache: Path) -> None:
    one, two = tiny(cache), tiny(cache)
    assert works(one) and not is_loaded(one)
    assert works(two) and is_loaded(two)


def parts(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc")]


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(share * len(content))]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": cut(0),
    "cut short": cut(0.1),
    "cut": cut(0.5),
    "cut at its end": cut(0.999),
    "zeros": lambda content: bytes(len(content)),
    "text": lambda _: b"not a pickle",
    "another object": lambda _: b"\x80\x04K\x07.",
    "half zeros": lambda content: content[: len(content) // 2] + bytes(len(content) // 2),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_made_anew(cache: Path, damage: str) -> None:
    assert works(tiny(cache))
    for path in parts(cache):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        assert works(tiny(cache)), path.suffix
        healed = tiny(cache)
        assert works(healed) and is_loaded(healed), path.suffix


def gone(cache: Path) -> None:
    for path in [*parts(cache)]:
        path.unlink()
    for path in cache.iterdir():
        path.rmdir()
    cache.rmdir()
    cache.write_text("a file where the directory was")


def of_directories(cache: Path) -> None:
    for path in parts(cache):
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("harm", [gone, of_directories])
def test_a_cache_that_breaks_later_is_done_without(
    cache: Path, harm: Callable[[Path], None]
) -> None:
    assert works(tiny(cache))
    before = tiny(cache)
    harm(cache)
    assert works(before)
    assert works(tiny(cache))


ALONE = """
import resource, sys, tempfile
from numba.core import config

sys.path.insert(0, {folder!r})
how = {how!r}
if how == "no place":
    def refuse(*_, **__):
        raise PermissionError
    tempfile.TemporaryFile = refuse  # by which numba finds a directory that it can write
if how == "full":
    config.CACHE_DIR = {folder!r} + "/cache"
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np
from dampen.kernels.compile import compiled
import tiny
kernel = compiled(tiny.tiny)
print(kernel(np.arange(3))[1], kernel._cache.cache_path)
from dampen import top_k

class Budget:
    def charge(self, cost):
        print("charged")

print(top_k(([0] * 9, range(1, 10)), n=10, epsilon=10_000, budget=Budget()).answer)
"""


@pytest.mark.parametrize("how", ["no place", "full"])
def test_no_place_for_a_cache(cache: Path, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", ALONE.format(folder=str(cache.parent), how=how)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    place = "None" if how == "no place" else str(cache)
    assert done.stdout.startswith(f"[1 2] {place}")
    assert done.stdout.endswith("\ncharged\n0\n")


STORM = """
import os, signal, subprocess, sys
import numpy as np
from dampen.questions.nodes import half_adjacency as rows

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
@pytest.mark.parametrize("part", [SMALL // 8, 8 * SMALL])
@pytest.mark.parametrize("size", [10, SMALL // 4, 4 * SMALL])
def test_interrupts_during_a_kernel(size: int, part: int) -> None:
    """They are KeyboardInterrupts, neither crashes nor SystemErrors, whatever is interrupted."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", STORM, str(size), "200", str(part)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


@pytest.mark.slow
def test_nothing_is_compiled_after_a_charge() -> None:
    """A kernel that can not be made must fail before anything was paid."""
    done = subprocess.run(
        [sys.executable, str(HERE / "questions.py")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(HERE.parent)},
    )
    lines = done.stdout.splitlines()
    assert len(lines) > 25
    assert [line for line in lines if not line.endswith(": fine")] == []
