"""How fast a release of k nodes is, once betweenness is known, against numpy's Gumbel top-k.

    DAMPEN_DATA=... python benchmarks/topk.py [--graph dblp] [--k 20]

Medians of 15, in turns.  Numpy's Gumbel noise is not private for real (floats, a fast generator):
it is the yardstick for speed only.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dampen.influence.graphs import graph_of
from dampen.influence.problem import InfluentialNode
from dampen.mechanisms import prepare
from dampen.sampling import SystemEntropy

RUNS = 15


def medians(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(RUNS + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(taken[1:])) for name, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--graph", default="dblp")
    parser.add_argument("--k", type=int, default=20)
    arguments = parser.parse_args()
    graph = graph_of(Path(os.environ["DAMPEN_DATA"]) / "graphs" / f"{arguments.graph}.npz")
    selection = InfluentialNode(nodes=graph.nodes).with_cap_degree(10).selection(graph)
    rng, k, entropy = np.random.default_rng(0), arguments.k, SystemEntropy()

    def gumbel(values: Any) -> Callable[[], Any]:
        return lambda: np.argpartition(-(values * 0.01 + rng.gumbel(size=len(values))), k)[:k]

    def ours(name: str) -> Callable[[], Any]:
        return lambda: prepare(selection, name).draw(epsilon=1, k=k, entropy=entropy)

    jobs = {"numpy Gumbel": gumbel(selection.utility)}
    jobs |= {name: ours(name) for name in ("joint", "sld", "em", "ld")}
    taken = medians(jobs)
    for name, seconds in taken.items():
        ratio = seconds / taken["numpy Gumbel"]
        print(f"{name:14} {1000 * seconds:8.1f} ms  {ratio:6.2f}x")


if __name__ == "__main__":
    main()
