"""Ctrl-C: noticed at any moment, handled only where no work is half done.

While a charge is recorded or an answer is written (`held`) an interrupt waits, so that what is said
about the charge afterwards is true.  A second one does not wait.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handle", "happened", "held", "ignore"]


class _Interrupts:
    """The interrupts so far.  Signals belong to the process, and so does this state."""

    depth = 0
    waiting = False
    seen = False


def handle() -> None:
    """Handles Ctrl-C, unless the parent process has turned it off."""
    main_thread = threading.current_thread() is threading.main_thread()
    if main_thread and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def ignore() -> None:
    """Ignores further interrupts, because the command has ended."""
    main_thread = threading.current_thread() is threading.main_thread()
    if main_thread and signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def happened() -> bool:
    """Whether a command was interrupted; compiled modules may report that as another error."""
    return _Interrupts.seen


@contextmanager
def held() -> Iterator[None]:
    """Delays an interrupt until the block has ended."""
    _Interrupts.depth += 1
    try:
        yield
    finally:
        _Interrupts.depth -= 1
        if _Interrupts.waiting and not _Interrupts.depth:
            _Interrupts.waiting = False
            _interrupt()


def _interrupt(_signal: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    if _Interrupts.depth and not _Interrupts.waiting:
        _Interrupts.waiting = True
        return
    _Interrupts.seen = True
    raise KeyboardInterrupt
