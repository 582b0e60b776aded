"""Egocentric betweenness of all nodes against scipy's codegree matrix and against igraph.

    DAMPEN_DATA=... python benchmarks/ebc.py [--graphs NAME ...] [--igraph 300]

The peer is `A @ A` of scipy.sparse (int32), the matrix of common neighbours; beside it our
count of all triangles.  Reading is excluded; we use all cores, so processor seconds are
shown as well.  `--igraph N` adds igraph's betweenness, ego by ego, on the N largest nodes and on N
random others, scaled up.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import scipy.sparse as sp

from dampen.core.selection import FloatArray
from dampen.questions.nodes.centralities import triangles
from dampen.questions.nodes.graphs import Graph, betweenness, graph_of
from timing import compare

GRAPHS = (
    "enron", "dblp", "bonus/ego_twitter", "bonus/ego_facebook", "github", "bonus/law_cnr_2000",
)  # fmt: skip
TOO_LARGE_FOR_SCIPY = ("bonus/law_cnr_2000",)
ROUNDS = 5


def codegree_matrix(graph: Graph) -> Callable[[], Any]:
    n = len(graph.nodes)
    ones = np.ones(len(graph.to), dtype=np.int32)
    matrix = sp.csr_matrix((ones, graph.to, graph.first.astype(np.int32)), shape=(n, n))
    return lambda: matrix @ matrix


def igraph_seconds(graph: Graph, sample: int) -> float:
    """Processor seconds of igraph for all nodes: the largest `sample` nodes are all run, of the
    others as many at random, scaled up.
    """
    ends = np.repeat(np.arange(len(graph.nodes)), graph.degrees)
    once = ends < graph.to
    theirs = igraph.Graph(len(graph.nodes), np.column_stack([ends[once], graph.to[once]]).tolist())
    ours = betweenness(graph)
    by_size = np.argsort(-graph.degrees, kind="stable")
    others = np.random.default_rng(0).choice(by_size[sample:], sample, replace=False)
    largest = ego_by_ego(theirs, by_size[:sample].tolist(), ours)
    return largest + ego_by_ego(theirs, others.tolist(), ours) / sample * len(by_size[sample:])


def ego_by_ego(graph: igraph.Graph, nodes: list[int], expected: FloatArray) -> float:
    start = time.process_time()
    for c in nodes:
        around = graph.neighborhood(c)
        ego = graph.induced_subgraph(around)
        value = ego.betweenness(sorted(around).index(c), directed=False)
        assert abs(value - expected[c]) <= 1e-9 * (1 + value)
    return time.process_time() - start


def measure(name: str, graph: Graph, sample: int) -> None:
    tasks: dict[str, Callable[[], Any]] = {
        "triangle count": lambda: triangles(graph),
        "EBC": lambda: betweenness(graph),
    }
    peer = "triangle count"
    if name not in TOO_LARGE_FOR_SCIPY:
        peer = "A @ A"
        tasks[peer] = codegree_matrix(graph)
    found = compare(name, tasks, peer, ROUNDS)
    cpu = {task: times.cpu for task, times in found.items()}
    print("processor seconds: " + ", ".join(f"{task} {used:.3f}" for task, used in cpu.items()))
    if sample:
        seconds = igraph_seconds(graph, sample)
        cores = len(os.sched_getaffinity(0))
        ratio = seconds / (cpu["EBC"] / cores)
        print(f"igraph ego by ego: {seconds:.0f} processor seconds (from a sample), {ratio:.0f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--igraph", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(os.environ["DAMPEN_DATA"]) / "graphs"
    for name in arguments.graphs:
        measure(name, graph_of(folder / f"{name}.npz"), arguments.igraph)


if __name__ == "__main__":
    main()
