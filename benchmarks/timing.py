"""The one way of timing here: us and the named peer take turns in one process, the ratio counts.

A machine is never quiet, so seconds say little and ratios within one run say much.  Every task runs
once without being counted (it compiles, it fills caches), then all of them in turn, so that a busy
moment hits all alike.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 9


@dataclass(frozen=True)
class Times:
    """Seconds of one task: by the clock, median and best, and of processors, median."""

    median: float
    best: float
    cpu: float


def in_turns(tasks: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, Times]:
    """Times of every task; the tasks alternate."""
    for task in tasks.values():
        task()
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            used = time.process_time()
            task()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - used)
    return {
        name: Times(statistics.median(wall[name]), min(wall[name]), statistics.median(cpu[name]))
        for name in tasks
    }


def compare(
    title: str, tasks: Mapping[str, Callable[[], object]], peer: str, rounds: int = ROUNDS
) -> dict[str, Times]:
    """Times the tasks and prints them as a Markdown table, with ratios to the peer."""
    found = in_turns(tasks, rounds)
    print(f"\n| {title} | median, s | best, s | times {peer} | of the best | of processor time |")
    print("|---|---|---|---|---|---|")
    for name, t in found.items():
        ratio = t.median / found[peer].median
        of_best = t.best / found[peer].best
        used = t.cpu / found[peer].cpu
        times = f"{t.median:.4f} | {t.best:.4f} | {ratio:.2f} | {of_best:.2f} | {used:.2f}"
        print(f"| {name} | {times} |", flush=True)
    return found
