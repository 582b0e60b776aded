"""Work on all cores: ranges of a kernel that gives back the interpreter's lock."""

import os
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import Any, TypeAlias

Worker: TypeAlias = Callable[[], Callable[[int, int], Any]]


def cores() -> int:
    """How many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    worker: Worker,
    ranges: Iterable[tuple[int, int]],
    stop: Any,
    *,
    threads: int,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Runs a kernel over all ranges.

    Every thread makes its own worker and takes the next range when it is done with one.  An
    interrupt raises the stop flag, which ends every thread at its next range, or sooner where the
    kernel reads it, and waits for them.  One thread is the caller's.
    """
    left = iter(ranges)
    done = list[int]()
    errors = list[BaseException]()
    if threads <= 1:
        _drain(worker, left, done, stop)
        return

    def helped() -> None:
        try:
            _drain(worker, left, done, stop)
        except BaseException as error:
            stop[0] = True
            errors.append(error)

    helpers = [Thread(target=helped, daemon=True) for _ in range(threads)]
    try:
        for helper in helpers:
            helper.start()
        _watch(helpers, done, advance)
    except BaseException:
        stop[0] = True
        for helper in helpers:
            if helper.is_alive():
                helper.join()
        raise
    if errors:
        raise errors[0]


def _drain(worker: Worker, ranges: Iterator[tuple[int, int]], done: list[int], stop: Any) -> None:
    run = worker()
    for begin, end in ranges:
        if stop[0]:
            return
        run(begin, end)
        done.append(end - begin)


def _watch(helpers: list[Thread], done: list[int], advance: Callable[[int], None]) -> None:
    """Waits for all threads, awake often enough for an interrupt and the progress bar.

    Plain threads, not futures: an interrupt while futures are waited for can leave them locked.
    """
    shown = 0
    for helper in helpers:
        while helper.is_alive():
            helper.join(0.1)
            total = sum(done[:])
            advance(total - shown)
            shown = total
