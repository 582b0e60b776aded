"""Progress bars, shown only on a terminal or in a notebook.

A bar appears after two seconds and vanishes at the end.  `total` must be a public number (nodes,
runs, queries), never a count of the private data: a bar is seen by whoever looks.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

__all__ = ["progress"]

PATIENCE = 2.0
"""Seconds of work before a bar appears."""

PAUSE = 0.2
"""Seconds between two pictures of a bar."""
WIDTH = 40
"""Characters of a bar on a terminal."""


class Bar(Protocol):
    """Something that shows how many steps are done, until it is closed."""

    def show(self, done: int) -> None: ...

    def close(self) -> None: ...


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Gives `advance(n)`, to be called after n of `total` steps are done.

    The bar vanishes when the block ends, however it ends.

    >>> with progress(3, "Counting") as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    started = time.monotonic()
    done = 0
    bar: Bar | None = None

    def advance(n: int = 1) -> None:
        nonlocal bar, done
        done += n
        if bar is None and time.monotonic() - started >= PATIENCE:
            bar = _open(total, label)
        if bar is not None:
            bar.show(done)

    try:
        yield advance
    finally:
        if bar is not None:
            with suppress(OSError):
                bar.close()


def _open(total: int, label: str) -> Bar | None:
    if _in_notebook():
        return _notebook_bar(total, label)
    return _terminal_bar(total, label) if sys.stderr.isatty() else None


class _Picture:
    """A bar that is drawn anew at most every `PAUSE`."""

    def __init__(self, draw: Callable[[int], None], clear: Callable[[], None]) -> None:
        self._draw = draw
        self._shown = 0.0
        self.close = clear

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now - self._shown >= PAUSE:
            self._shown = now
            self._draw(done)


def _terminal_bar(total: int, label: str) -> Bar:
    """One line that is written over and at last removed."""

    def draw(done: int) -> None:
        full = min(done, total) * WIDTH // max(total, 1)
        bar = "━" * full + " " * (WIDTH - full)
        _to_terminal(f"\r{label} {bar} {done:,} of {total:,}")

    return _Picture(draw, lambda: _to_terminal("\r\x1b[2K"))


def _to_terminal(text: str) -> None:
    with suppress(OSError, ValueError):  # such as an encoding without the bar
        sys.stderr.write(text)
        sys.stderr.flush()


def _notebook_bar(total: int, label: str) -> Bar:
    """HTML's own progress bar, which needs no widgets."""
    handle = _Handle()

    def draw(done: int) -> None:
        bar = f'<progress value="{done}" max="{total}"></progress>'
        handle.show(f"{label} {bar} {done:,} of {total:,}")

    return _Picture(draw, handle.clear)


class _Handle:
    """One place in the output of a notebook's cell."""

    def __init__(self) -> None:
        import IPython.display as shown

        self._shown: Any = shown
        self._place: Any = None

    def show(self, html: str) -> None:
        made = self._shown.HTML(html)
        if self._place is None:
            self._place = self._shown.display(made, display_id=True)
        else:
            self._place.update(made)

    def clear(self) -> None:
        if self._place is not None:
            self._place.update(self._shown.HTML(""))


def _in_notebook() -> bool:
    """Whether there is a kernel behind the shell, as Jupyter has one and a terminal has not."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
