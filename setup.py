"""Compiles the kernels, where there is a compiler; all else is in pyproject.toml."""

import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PLAIN = {"__init__", "primitives"}
UNIX = ["-O3", "-g0", "-ffp-contract=off"]
if sysconfig.get_platform().endswith("x86_64"):
    UNIX.append("-mpopcnt")
FLAGS = ["/O2", "/fp:precise"] if sys.platform == "win32" else UNIX
# One wheel for all Pythons; those without a global lock have no stable ABI.
STABLE = "bdist_wheel" in sys.argv and not sysconfig.get_config_var("Py_GIL_DISABLED")
UNCHECKED = {
    "boundscheck": False,
    "cdivision": True,
    "freethreading_compatible": True,
    "infer_types": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}


class Build(build_ext):
    """Goes on where a kernel cannot be compiled, and says what that costs."""

    def run(self) -> None:
        super().run()
        made = [self.get_ext_fullpath(kernel.name) for kernel in self.extensions]
        if not all(Path(path).exists() for path in made):
            print(
                "dampen: its kernels could not be compiled and stay plain Python: the same "
                "results, about fifty times as slow on large inputs. A C compiler helps."
            )


sources = [
    Extension(
        f"dampen.kernels.{path.stem}",
        [path.as_posix()],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
        extra_compile_args=FLAGS,
        py_limited_api=STABLE,
    )
    for path in sorted(Path("src/dampen/kernels").glob("*.py"))
    if path.stem not in PLAIN
]
kernels = cythonize(sources, build_dir="build", compiler_directives=UNCHECKED, include_path=["src"])
for made in kernels:
    made.optional = True
tag = {"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {}
setup(cmdclass={"build_ext": Build}, ext_modules=kernels, options=tag)
