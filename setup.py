"""Builds the kernels, where there is a compiler; what they are is in pyproject.toml."""

import platform
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

PLAIN = {"__init__", "primitives", "uncompiled"}
UNIX = ["-O3", "-g0", "-ffp-contract=off"]
if platform.machine() in ("x86_64", "AMD64"):
    UNIX.append("-mpopcnt")
FLAGS = ["/O2", "/fp:precise"] if sys.platform == "win32" else UNIX
UNCHECKED = {
    "boundscheck": False,
    "cdivision": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}

kernels = [
    Extension(
        f"dampen.kernels.{path.stem}", [path.as_posix()], extra_compile_args=FLAGS, optional=True
    )
    for path in sorted(Path("src/dampen/kernels").glob("*.py"))
    if path.stem not in PLAIN
]
setup(ext_modules=cythonize(kernels, compiler_directives=UNCHECKED, include_path=["src"]))
