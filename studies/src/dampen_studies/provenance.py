"""Where a result comes from: the commit of the code, the versions of what it used, the time."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("dampen", "numpy", "scipy", "scikit-learn", "duckdb", "diffprivlib", "opendp")
"""Whose versions can change a number."""
COMMIT = "DAMPEN_STUDIES_COMMIT"
"""Set by a run for its workers, so that all cells of a run name the code that it started with."""


class Made(NamedTuple):
    """How one cell was computed.

    Attributes:
        commit: of the repository; ends with `+` if tracked files had been changed, and is `unknown`
            outside a repository.
        versions: of Python and the packages that can change a number.
        time: when the cell was finished, UTC.
    """

    commit: str
    versions: str
    time: str


def made() -> Made:
    """What to note beside a cell that is finished now."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Made(os.environ.get(COMMIT) or commit(), versions(), now)


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit that the code of the studies is at."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if head is None:
        return "unknown"
    return f"{head}+" if _git("status", "--porcelain", "--untracked-files=no") else head


@lru_cache(maxsize=1)
def versions() -> str:
    """Python's version and the packages', as one line."""
    found = [f"python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _git(*arguments: str) -> str | None:
    """What git says about the folder of this file; None where it says nothing."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
