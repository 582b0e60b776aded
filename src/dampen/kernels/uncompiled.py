"""Kernels as plain Python: what stands in for Cython, where they are not compiled.

The source of a kernel is Python with types that Cython compiles.  Without a compiler the same
source runs as it is, with the same results bit for bit, some fifty times more slowly.
"""

import sys
from collections.abc import Callable
from functools import wraps
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np

compiled = False
double = float
longlong = int
ulonglong = int
LARGE = 1 << 22
"""Bytes of arrays from which on plain kernels take seconds."""
NOTE = (
    "dampen: its kernels are not compiled, so large inputs take about fifty times as long. "
    "Install a C compiler, then dampen again."
)
_noted = list[str]()


class _Nothing:
    """A context and a decorator without effect."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


nogil = _Nothing()
cclass = nogil
cfunc = nogil
inline = nogil


def exceptval(*, check: bool) -> _Nothing:  # noqa: ARG001
    """Cython's: no effect here."""
    return nogil


def declare(kind: Any, value: Any) -> Any:  # noqa: ARG001
    """Cython's: a constant of C."""
    return value


def cast(kind: Callable[[Any], Any], value: Any) -> Any:
    """Cython's: a conversion."""
    return kind(value)


def kernel(function: Any) -> Any:
    """A function that other modules call; one that is compiled stays as it is.

    Plain ones get their arrays as memoryviews, whose items are Python's numbers: those of numpy
    wrap around at other places and take longer.
    """
    if not isinstance(function, FunctionType):
        return function

    @wraps(function)
    def run(*arguments: Any) -> Any:
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        _note(sum(a.nbytes for a in arrays))
        return function(*(memoryview(a) if isinstance(a, np.ndarray) else a for a in arguments))

    return run


def are_compiled() -> bool:
    """Whether the kernels are compiled."""
    found = find_spec("dampen.kernels.egos")
    return found is not None and str(found.origin).endswith(tuple(EXTENSION_SUFFIXES))


def _note(size: int) -> None:
    """Says once that large inputs take long."""
    if size < LARGE or _noted:
        return
    _noted.append("said")
    print(NOTE, file=sys.stderr)


if __name__ == "__main__" and not are_compiled():  # after an install, which hides what it prints
    print(NOTE)
