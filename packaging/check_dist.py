"""Installs what was built into empty environments, measures them and follows the README there.

    python packaging/check_dist.py dist

Every Python from 3.11 to 3.14 that is on the PATH is tried with the wheel; those that are not are
named.  The first of them also installs the sdist, with and without a C compiler, and the extras.
An install beyond its bound and anything that fails make the exit code 1.  Times are printed with
the ratio of processor times, for machines are busy.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
IN_THE_SDIST = (
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
)
MEGABYTES = {"": 150, "all": 450}
"""The most that an install may take, in the base and with all extras."""
MEASURED = ("duckdb", "files", "graphs", "mcp", "models", "postgres", "serve", "sql")
COMMANDS = (["--version"], ["--help"], ["example"], ["demo"], ["demo", "--files", "."])
FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"
FIRST = {
    "import": "import dampen",
    "top_groups": "dampen.top_groups([1, 9] * 50, by=['a', 'b'] * 50, groups=['a', 'b'], lower=0, "
    "upper=9, step=1, epsilon=1)",
    "percentile": "dampen.percentile(range(100), p=50, upper=99, step=1, epsilon=1)",
    "most_frequent": "dampen.most_frequent(['a'] * 9, categories=['a', 'b'], epsilon=1)",
    "top_k": "dampen.top_k((np.arange(10**4) % 97, np.arange(10**4) % 1009), n=1009, k=5, "
    "epsilon=1)",
    "tree": "dampen.dataset({'x': np.arange(1000) % 5, 'y': np.arange(1000) % 2}, columns="
    "{'x': dampen.categories(range(5))}).tree(target='y', classes=[0, 1], max_rows=1000, "
    "epsilon=1)",
}
"""The first of each in a process."""
TIMED = """
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
start = time.perf_counter()
used = time.process_time()
{prepared}
{call}
print(time.perf_counter() - start, time.process_time() - used)
"""


class Failed(Exception):
    """A call in an environment that should have worked."""


def main() -> int:
    """The exit code: 1 if anything fails."""
    built = Path(sys.argv[1])
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {Path(name).name for name in archive.getnames()}
    found = [python for python in PYTHONS if runs(python)]
    print(f"Not on this machine: {', '.join(sorted(set(PYTHONS) - set(found))) or 'none'}")
    try:
        if missing := [name for name in IN_THE_SDIST if name not in names]:
            raise Failed(f"Missing in {sdist.name}: {', '.join(missing)}")
        for python in found:
            follow(python, wheel.resolve(), "")
        follow(found[0], sdist.resolve(), "")
        follow(found[0], sdist.resolve(), "", compiler=False)
        follow(found[0], wheel.resolve(), "all")
        for extra in MEASURED:
            print(f"  {extra}: {installed(found[0], wheel.resolve(), extra)} MB")
    except Failed as failure:
        print(failure)
        return 1
    return 0


def runs(python: str) -> bool:
    """Whether it is there; a shim may be there and run nothing."""
    place = shutil.which(python)
    if place is None:
        return False
    return subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0


def follow(python: str, built: Path, extras: str, *, compiler: bool = True) -> None:
    """Installs into an empty environment, asks every question, follows the README."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        programs = home / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        own = environment(home, compiler=compiler)
        wanted = f"{built}[{extras}]" if extras else str(built)
        called([python, "-m", "venv", str(home / "env")], home, own)
        inside = str(programs / "python")
        called([inside, "-m", "pip", "install", "--quiet", wanted], home, own)
        size = megabytes(home / "env")
        before = files(home)
        asked = [inside, str(FOLDER / "questions.py"), *([] if compiler else ["--plain"])]
        told = called(asked, home, own)
        if written := files(home) - before:
            raise Failed(f"Written outside the ledger: {sorted(written)[:5]}")
        print(f"{python}, {built.name} {extras}: {size} MB without pip. {told.strip()}")
        if size > MEGABYTES[extras]:
            raise Failed("It is larger than promised.")
        if compiler and not extras and built.suffix == ".whl":
            print_times(inside, home, own)
        for command in (*COMMANDS, *printed_commands()):
            called([str(programs / "dampen"), *command], home, own)
        called([inside, "-m", "doctest", str(README)], home, own)


def installed(python: str, wheel: Path, extra: str) -> int:
    """The megabytes of an empty environment with one extra."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        own = environment(home, compiler=True)
        called([python, "-m", "venv", str(home / "env")], home, own)
        inside = home / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        called([str(inside), "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]"], home, own)
        return megabytes(home / "env")


def environment(home: Path, *, compiler: bool) -> dict[str, str]:
    """A home of its own; without a compiler its names lead nowhere."""
    own = os.environ | {"DAMPEN_LEDGER": str(home / "ledger.sqlite3"), "HOME": str(home)}
    own.pop("PYTHONPATH", None)
    return own if compiler else own | {"CC": "no-compiler", "CXX": "no-compiler"}


def called(call: list[str], home: Path, own: dict[str, str]) -> str:
    """What a call prints."""
    done = subprocess.run(call, cwd=home, env=own, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(call)[:200]} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def files(home: Path) -> set[Path]:
    return {
        path
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("ledger.") and path.suffix != ".pyc"
    }


def megabytes(env: Path) -> int:
    """Of an environment, less what every environment holds."""
    every = ("pip", "setuptools")
    held = [path for path in env.rglob("*") if path.is_file() and not path.is_symlink()]
    own = [
        path
        for path in held
        if not any(f"site-packages/{name}" in path.as_posix() for name in every)
    ]
    return round(sum(path.stat().st_size for path in own) / 1e6)


def print_times(inside: str, home: Path, own: dict[str, str]) -> None:
    """The first call in a process, and the same in a second process."""
    for name, call in FIRST.items():
        code = TIMED.format(prepared="" if name == "import" else "import dampen", call=call)
        first, second = (called([inside, "-c", code], home, own).split() for _ in range(2))
        ratio = float(first[1]) / float(second[1])
        print(f"  {name}: {float(first[0]):.2f} s, {ratio:.2f} times the second process")


def printed_commands() -> list[list[str]]:
    """The commands of the README's examples."""
    lines = re.findall(r"^\$ dampen (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


if __name__ == "__main__":
    sys.exit(main())
