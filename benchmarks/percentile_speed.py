"""Speed of percentile scoring, as ratios to `numpy.sort` of the same values, in one run.

    python benchmarks/percentile_speed.py

LD: utility, sensitivity and scores of 10^7 labels.  SLD: the same with totals over all distances of
the simple δ, 10^6 labels.  Value: the rank utility of 10^6 grid points over 10^6 values.  Memory
is the peak of what is allocated on the way, in units of the input.  Seconds are
medians of nine, taken in turns; the ratio of the best of nine stands beside.
"""

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from dampen.percentiles.labels import NEAR, PercentileLabel
from dampen.percentiles.release import label_mechanism
from dampen.percentiles.values import PercentileValue
from dampen.scores import Dampened, Global, Shifted

UPPER = 50.0
REPEATS = 9


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def measure(name: str, x: np.ndarray, task: Callable[[], object]) -> None:
    task()
    pairs = [(seconds(lambda: np.sort(x)), seconds(task)) for _ in range(REPEATS)]
    sort, ours = np.median(pairs, axis=0)
    best_sort, best_ours = np.min(pairs, axis=0)
    tracemalloc.start()
    task()
    memory = tracemalloc.get_traced_memory()[1] / x.nbytes
    tracemalloc.stop()
    ratios = f"{ours / sort:.2f} | {best_ours / best_sort:.2f}"
    print(f"| {name} | {sort:.3f} | {ours:.3f} | {ratios} | {memory:.1f} |", flush=True)


def main() -> None:
    print("| task | numpy.sort, s | dampen, s | ratio | of the best | memory |")
    print("|---|---|---|---|---|---|")
    x = np.random.default_rng(0).lognormal(size=10**7)
    for p in (50, 99):
        exact = PercentileLabel(n=len(x), p=p, upper=UPPER)
        measure(f"ld, 10^7, p = {p}", x, lambda e=exact: Dampened().of(e.selection(x)))
    x = x[: 10**6].copy()
    for p in (50, 99):
        simple = PercentileLabel(n=len(x), p=p, upper=UPPER, delta="simple")
        measure(f"sld, 10^6, p = {p}", x, lambda s=simple: Shifted().of(s.selection(x)))
    near = PercentileLabel(n=len(x), p=50, upper=UPPER, horizon=NEAR)
    default = label_mechanism(0, UPPER).score
    measure("default, 10^6, p = 50", x, lambda: default.of(near.selection(x)))
    grid = PercentileValue(n=len(x), p=50, upper=UPPER, step=5e-5)
    measure("value, 10^6 points", x, lambda: Global().of(grid.selection(x)))


if __name__ == "__main__":
    main()
