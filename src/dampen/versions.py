"""Versions of dampen and its libraries, for bug reports."""

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["library_version", "show_versions"]

OPTIONAL = (
    "duckdb",
    "ipython",
    "matplotlib",
    "networkx",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "pyspark",
    "scikit-learn",
    "sqlglot",
)


@cache
def library_version() -> str:
    """The version of dampen that makes a release; looked up once, for it takes a millisecond."""
    return _installed("dampen") or "unknown"  # run from its source, not installed


def show_versions() -> None:
    """Prints the versions of dampen, Python and the libraries that it uses; nothing else."""
    from dampen.kernels.primitives import are_compiled

    needed = [name for name in map(_name, requires("dampen") or []) if name is not None]
    lines = {"dampen": library_version(), "python": sys.version.split()[0]}
    lines["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines["kernels"] = "compiled" if are_compiled() else "plain Python"
    lines |= {name: _installed(name) or "missing" for name in sorted(needed)}
    lines |= {name: found for name in OPTIONAL if (found := _installed(name))}
    print("\n".join(f"{name:<14} {text}" for name, text in lines.items()))


def _name(requirement: str) -> str | None:
    """The name of a requirement of the library itself; None for those of its extras."""
    if "extra ==" in requirement:
        return None
    return (
        requirement.split(">", maxsplit=1)[0]
        .split("=", maxsplit=1)[0]
        .split("<", maxsplit=1)[0]
        .strip()
    )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
