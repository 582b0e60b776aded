"""Writes the lock files of this directory: exact versions with the hashes of their files.

    python packaging/lock.py

- locks/build.txt: what builds the wheel.
- locks/image.txt: what the image of the service installs, and nothing else.
- locks/test.txt: what tests, documentation and studies need, on every system and Python; `make`
  takes versions from it where uv is present.
- locks/tools.txt: what installs, builds wheels for all systems, audits and describes a release.

Needs uv.  The files name no index, so they hold for each one that has the same files.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "packaging" / "locks"
IMAGE = ("serve", "postgres", "duckdb", "files")
TOOLS = ["cibuildwheel>=3.1,<4", "cyclonedx-bom>=6", "pip-audit>=2.8", "uv>=0.8"]
COMPILE = [
    "uv", "pip", "compile", "-", "--quiet", "--generate-hashes", "--no-header", "--no-annotate",
]  # fmt: skip


def declared(extras: Iterable[str] = ()) -> list[str]:
    """What dampen needs with some of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = list(project["dependencies"])
    for extra in extras:
        for each in project["optional-dependencies"][extra]:
            own = re.fullmatch(r"dampen\[(.+)\]", each)
            found += declared(own[1].split(",")) if own else [each]
    return sorted(set(found))


def declared_by_build() -> list[str]:
    """What builds the wheel."""
    system = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    return ["build", *system["requires"]]


def declared_by_studies() -> list[str]:
    """What the studies need besides dampen."""
    project = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text("utf-8"))["project"]
    return [each for each in project["dependencies"] if not each.startswith("dampen")]


def inputs() -> dict[str, tuple[list[str], list[str]]]:
    """For every lock file what it is made from, and for which systems."""
    everywhere = ["--universal", "--python-version", "3.11"]
    image = ["--python-platform", "linux", "--python-version", "3.12"]
    tests = declared(["test"]) + declared_by_studies()
    return {
        "build": (declared_by_build(), everywhere),
        "image": (declared(IMAGE), image),
        "test": (tests, everywhere),
        "tools": (TOOLS, everywhere),
    }


if __name__ == "__main__":
    LOCKS.mkdir(exist_ok=True)
    for name, (wanted, systems) in inputs().items():
        target = LOCKS / f"{name}.txt"
        command = [*COMPILE, *systems, "--output-file", str(target)]
        subprocess.run(command, input="\n".join(wanted), text=True, check=True, cwd=LOCKS)
