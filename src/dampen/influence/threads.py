"""Work on all cores: ranges of a kernel that gives back the interpreter's lock."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
    left, done = iter(ranges), list[int]()
    if threads <= 1:
        _drain(worker, left, done, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        running = {pool.submit(_drain, worker, left, done, stop) for _ in range(threads)}
        try:
            _watch(running, done, advance)
        except BaseException:
            stop[0] = True
            raise


def _drain(worker: Worker, ranges: Iterator[tuple[int, int]], done: list[int], stop: Any) -> None:
    run = worker()
    for begin, end in ranges:
        if stop[0]:
            return
        run(begin, end)
        done.append(end - begin)


def _watch(running: set[Future[None]], done: list[int], advance: Callable[[int], None]) -> None:
    """Waits for all threads, awake often enough for an interrupt and the progress bar."""
    shown = 0
    while running:
        finished, running = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
        for future in finished:
            future.result()
        total = sum(done[:])
        advance(total - shown)
        shown = total
