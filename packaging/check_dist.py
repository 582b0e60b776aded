"""Installs what was built into an empty environment per Python, and follows the README there.

    python packaging/check_dist.py dist

Every Python from 3.11 to 3.14 that is on the PATH is tried; those that are not are named.  A wheel
is for one of them, because its kernels are compiled; the others install the sdist and compile it.
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
QUESTIONS = """
import dampen
votes = ["tea"] * 90 + ["coffee"] * 30
print(dampen.__version__, dampen.most_frequent(votes, categories=["tea", "coffee"], epsilon=1))
print(dampen.percentile(range(100), p=50, upper=99, step=1, epsilon=1))
print(dampen.percentile_record(range(100), p=50, upper=99, epsilon=20))
print(dampen.top_k(([0] * 9, list(range(1, 10))), n=10, k=1, epsilon=9))
print(dampen.top_groups([1, 9] * 50, by=["a", "b"] * 50, groups=["a", "b"], lower=0, upper=9,
                        step=1, epsilon=1))
tree = dampen.TreeClassifier(epsilon=1, domains=[2], classes=[0, 1], max_rows=50)
print(tree.fit([[0], [1]] * 20, [0, 1] * 20).predict([[1]]))
"""
COMMANDS = (["--version"], ["--help"], ["example"], ["demo"], ["demo", "--files", "."])
README = Path(__file__).parents[1] / "README.md"


def main() -> int:
    """The exit code: 1 if anything fails."""
    built = Path(sys.argv[1])
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {Path(name).name for name in archive.getnames()}
    if missing := [name for name in IN_THE_SDIST if name not in names]:
        print(f"Missing in {sdist.name}: {', '.join(missing)}")
        return 1
    found = [python for python in PYTHONS if runs(python)]
    print(f"Not on this machine: {', '.join(sorted(set(PYTHONS) - set(found))) or 'none'}")
    return max(tried(python, fitting(python, wheel, sdist)) for python in found)


def fitting(python: str, wheel: Path, sdist: Path) -> Path:
    """The wheel for the Python that it was built for, the sdist for any other."""
    tag = python.removeprefix("python").replace(".", "")
    return (wheel if f"-cp{tag}-" in wheel.name else sdist).resolve()


def runs(python: str) -> bool:
    """Whether it is there; a shim may be there and run nothing."""
    place = shutil.which(python)
    if place is None:
        return False
    return subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0


def printed_commands() -> list[list[str]]:
    """The commands of the README's examples."""
    lines = re.findall(r"^\$ dampen (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def tried(python: str, built: Path) -> int:
    """The exit code of one Python."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        programs = home / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        calls = [
            [python, "-m", "venv", str(home / "env")],
            [str(programs / "python"), "-m", "pip", "install", "--quiet", str(built)],
            [str(programs / "python"), "-c", QUESTIONS],
            *([str(programs / "dampen"), *command] for command in COMMANDS),
            [str(programs / "python"), "-m", "doctest", str(README)],
            *([str(programs / "dampen"), *command] for command in printed_commands()),
        ]
        own = os.environ | {"DAMPEN_LEDGER": str(home / "ledger.sqlite3")}
        for call in calls:
            done = subprocess.run(
                call, cwd=home, env=own, capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{python}: {' '.join(call[1:3])} failed\n{done.stdout}{done.stderr}")
                return 1
    print(f"{python}: {built.name} installs and answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
