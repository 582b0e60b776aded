"""Ctrl-C: noticed at any moment, handled only where no work is half done.

While a charge is recorded or an answer is written (`held`) an interrupt waits, so that what is said
about the charge afterwards is true.  A second one does not wait.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deafen", "heard", "held", "listen"]


class _Ear:
    """The interrupts so far.  Signals belong to the process, and so does this state."""

    depth = 0
    waiting = False
    heard = False


def listen() -> None:
    """Handles Ctrl-C, unless the parent process has turned it off."""
    main_thread = threading.current_thread() is threading.main_thread()
    if main_thread and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _hear)


def deafen() -> None:
    """Ignores further interrupts, because the command has ended."""
    main_thread = threading.current_thread() is threading.main_thread()
    if main_thread and signal.getsignal(signal.SIGINT) is _hear:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def heard() -> bool:
    """Whether a command was interrupted; compiled modules may report that as another error."""
    return _Ear.heard


@contextmanager
def held() -> Iterator[None]:
    """Delays an interrupt until the block has ended."""
    _Ear.depth += 1
    try:
        yield
    finally:
        _Ear.depth -= 1
        if _Ear.waiting and not _Ear.depth:
            _Ear.waiting = False
            _hear()


def _hear(_signal: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    if _Ear.depth and not _Ear.waiting:
        _Ear.waiting = True
        return
    _Ear.heard = True
    raise KeyboardInterrupt
