"""What kernels share, as plain Python; `primitives.pxd` has the same in C, with their types.

The source of a kernel is Python with types that Cython compiles.  Without a compiler the same
source runs as it is, with the same results bit for bit, some fifty times more slowly; this module
then stands in for Cython, too.
"""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from math import exp, log, log1p, sqrt
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["exp", "heed", "log", "log1p", "lost", "plain", "popcount", "sqrt", "trailing_zeros"]
compiled = False
nogil = nullcontext()
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


def popcount(word: int) -> int:
    """The number of ones in an unsigned 64-bit word."""
    return word.bit_count()


def trailing_zeros(word: int) -> int:
    """The place of the lowest one of an unsigned 64-bit word that is not zero."""
    return (word & -word).bit_length() - 1


def lost(total: float, term: float, new: float) -> float:
    """What is lost by rounding total + term to new (Neumaier)."""
    if abs(total) >= abs(term):
        return (total - new) + term
    return (term - new) + total


def heed(steps: int) -> int:  # noqa: ARG001
    """Lets an interrupt through after many steps, as Python does everywhere."""
    return 0


def declare(kind: Any, value: Any) -> Any:  # noqa: ARG001
    """Cython's: a constant of C."""
    return value


def cast(kind: Callable[[Any], Any], value: Any) -> Any:
    """Cython's: a conversion."""
    return kind(value)


def plain(functions: dict[str, Any]) -> None:
    """Hands arrays to the public functions of a plain module as memoryviews.

    Their items are Python's numbers: those of numpy wrap around at other places and take longer.
    """
    for name, function in functions.items():
        own = isinstance(function, FunctionType) and function.__module__ == functions["__name__"]
        if own and not name.startswith("_"):
            functions[name] = _with_views(function)


def _with_views(function: Any) -> Any:
    @wraps(function)
    def run(*arguments: Any) -> Any:
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        if sum(a.nbytes for a in arrays) >= LARGE and not _noted:
            _noted.append("said")
            print(NOTE, file=sys.stderr)
        return function(*(a.data if isinstance(a, np.ndarray) else a for a in arguments))

    return run


def are_compiled() -> bool:
    """Whether the kernels are compiled."""
    found = find_spec("dampen.kernels.egos")
    return found is not None and str(found.origin).endswith(tuple(EXTENSION_SUFFIXES))


if __name__ == "__main__" and not are_compiled():  # after an install, which hides what it prints
    print(NOTE)
