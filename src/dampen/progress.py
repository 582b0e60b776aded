"""A progress bar that keeps quiet: on standard error, on a terminal, after two seconds.

`total` must be a public number (nodes, runs, queries), never a count of the private data: a bar is
seen by whoever looks at the terminal.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

PATIENCE = 2.0
"""Seconds of work before a bar appears."""


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Gives `advance(n)`, to be called after n of `total` steps are done.

    The bar vanishes when the block ends, however it ends.

    >>> with progress(3, "Counting") as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    started, done = time.monotonic(), 0
    bar: Any = None

    def advance(n: int = 1) -> None:
        nonlocal bar, done
        done += n
        if bar is None and time.monotonic() - started >= PATIENCE and sys.stderr.isatty():
            bar = _open(total, label)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance
    finally:
        if bar is not None:
            with suppress(OSError):
                bar.stop()


def _open(total: int, label: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(label, total=total)
    bar.start()
    return bar
