"""How kernels are compiled: without the interpreter's lock, cached on disk where that can be.

A cache that cannot be written is done without, one that cannot be read is made anew: neither may
stop a release.  Kernels are called before a charge once (`prepare` functions), so that whatever
goes wrong with a compiler goes wrong for free.
"""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

from dampen.progress import NOTE

SMALL = 1 << 15
"""Elements of arrays that a kernel is through with before anyone can press a key."""


def compiled(function: Callable[..., Any]) -> Any:
    """A compiled function that keeps its machine code on disk, if there is a place for it."""
    made: Any = njit(nogil=True)(function)
    if hasattr(made, "_cache"):
        with suppress(RuntimeError, OSError):  # no directory can be written
            made._cache = _SturdyCache(function)
    return made


class _SturdyCache(FunctionCache):
    """A cache whose damaged files count as absent; what is absent is compiled, and that is said."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._loaded(sig, target_context)
        if found is None:
            NOTE.begin()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        NOTE.end()
        with suppress(Exception):
            super().save_overload(sig, data)

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with suppress(Exception):
                self.flush()
            return None


def interruptible(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, run beside the main thread, which waits and can be interrupted.

    On the main thread an interrupt that arrives while a compiled function hands over its result is
    a SystemError or, where that is a tuple, a segmentation fault.  What takes less than a
    millisecond is run at once, and an interrupt waits for its end.
    """

    def run(*arguments: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return kernel(*arguments)
        if _size(arguments) < SMALL:
            return _undisturbed(kernel, arguments)
        outcome: list[Any] = []
        worker = threading.Thread(target=_settle, args=(kernel, arguments, outcome), daemon=True)
        worker.start()
        while worker.is_alive():
            worker.join(0.1)
        result, error = outcome
        if error is not None:
            raise error
        return result

    return run


def _size(argument: Any) -> int:
    """The elements of an array, or of all arrays in a tuple."""
    if isinstance(argument, tuple):
        return sum(map(_size, argument))
    return getattr(argument, "size", 0)


def _undisturbed(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The kernel on the main thread, whose handler of interrupts is called afterwards."""
    handler = signal.getsignal(signal.SIGINT)
    heard = list[tuple[Any, ...]]()
    if not callable(handler):
        return kernel(*arguments)
    signal.signal(signal.SIGINT, lambda *given: heard.append(given))
    try:
        return kernel(*arguments)
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            handler(*heard[0])


def _settle(kernel: Callable[..., Any], arguments: tuple[Any, ...], outcome: list[Any]) -> None:
    try:
        outcome += [kernel(*arguments), None]
    except BaseException as error:
        outcome += [None, error]


@intrinsic
def popcount(_context: Any, word: Any) -> Any:
    """The number of ones in an unsigned 64-bit word."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate if word == types.uint64 else None


@intrinsic
def trailing_zeros(_context: Any, word: Any) -> Any:
    """The place of the lowest one of an unsigned 64-bit word that is not zero."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate if word == types.uint64 else None
