"""How fast egocentric betweenness is, against the codegree matrix of scipy and against igraph.

    DAMPEN_DATA=... python benchmarks/ebc.py [--graphs NAME ...] [--igraph 300] [--naive]

For every graph: medians of 5, warm, of EBC of all nodes on all cores (reading excluded), of `A @ A`
of scipy.sparse (int32), and of a plain count of all triangles; all in the same run, taken in turns,
so that a busy machine is busy for all; times of processors are shown as well.  `--igraph N` adds
igraph's betweenness, ego by ego, on the N largest nodes and on N random others, scaled up;
`--naive` adds one run of plain wedge counting on one core.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import igraph
import numpy as np
import scipy.sparse as sp

from dampen._kernels.adjacency import by_degree
from dampen._kernels.compile import compiled
from dampen.influence.graphs import Graph, betweenness, graph_of
from dampen.selection import FloatArray

GRAPHS = (
    "enron", "dblp", "bonus/ego_twitter", "bonus/ego_facebook", "github", "bonus/law_cnr_2000",
)  # fmt: skip
TOO_LARGE_FOR_SCIPY = ("bonus/law_cnr_2000",)
RUNS = 5


@compiled
def triangles(first: Any, to: Any, later: Any) -> int:
    """All triangles, each once: rows of later neighbours, marked and scanned; one core."""
    mark, count = np.zeros(len(first) - 1, np.bool_), 0
    for v in range(len(first) - 1):
        for i in range(later[v], first[v + 1]):
            mark[to[i]] = True
        for i in range(later[v], first[v + 1]):
            for j in range(later[to[i]], first[to[i] + 1]):
                count += mark[to[j]]
        for i in range(later[v], first[v + 1]):
            mark[to[i]] = False
    return count


@compiled
def naive(first: Any, to: Any) -> Any:
    """EBC by walking every wedge of every ego network, without orientation; one core."""
    n = len(first) - 1
    inside, near, count = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int32)
    touched, result = np.empty(n, np.int32), np.zeros(n)
    for c in range(n):
        d = first[c + 1] - first[c]
        result[c] = d * (d - 1) / 2
        for i in range(first[c], first[c + 1]):
            inside[to[i]] = True
        for i in range(first[c], first[c + 1]):
            a, m = to[i], 0
            for j in range(first[a], first[a + 1]):
                near[to[j]] = True
            for j in range(first[a], first[a + 1]):
                w = to[j]
                if inside[w]:
                    result[c] -= w > a
                    for k in range(first[w], first[w + 1]):
                        b = to[k]
                        if b > a and inside[b] and not near[b]:
                            touched[m] = b
                            m += count[b] == 0
                            count[b] += 1
            for j in range(m):
                result[c] -= 1 - 1 / (1 + count[touched[j]])
                count[touched[j]] = 0
            for j in range(first[a], first[a + 1]):
                near[to[j]] = False
        for i in range(first[c], first[c + 1]):
            inside[to[i]] = False
    return result


class Seconds(NamedTuple):
    """By the clock on the wall, and of processors."""

    wall: float
    cpu: float


def medians(jobs: dict[str, Callable[[], Any]]) -> dict[str, Seconds]:
    """The median times of every job, run in turns, after one round that does not count."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(RUNS + 1):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: Seconds(*np.median(taken[1:], axis=0)) for name, taken in times.items()}


def codegree_matrix(graph: Graph) -> Callable[[], Any]:
    n = len(graph.nodes)
    ones = np.ones(len(graph.to), dtype=np.int32)
    matrix = sp.csr_matrix((ones, graph.to, graph.first.astype(np.int32)), shape=(n, n))
    return lambda: matrix @ matrix


def igraph_time(graph: Graph, sample: int) -> float:
    """Seconds of igraph for all nodes, ego by ego: the largest `sample` nodes are all run, of the
    others as many at random, scaled up.
    """
    ends = np.repeat(np.arange(len(graph.nodes)), graph.degrees)
    once = ends < graph.to
    theirs = igraph.Graph(len(graph.nodes), np.column_stack([ends[once], graph.to[once]]).tolist())
    ours = betweenness(graph)
    by_size = np.argsort(-graph.degrees, kind="stable")
    others = np.random.default_rng(0).choice(by_size[sample:], sample, replace=False)
    largest = _igraph_time(theirs, by_size[:sample].tolist(), ours)
    return largest + _igraph_time(theirs, others.tolist(), ours) / sample * len(by_size[sample:])


def _igraph_time(graph: igraph.Graph, nodes: list[int], expected: FloatArray) -> float:
    start = time.process_time()
    for c in nodes:
        around = graph.neighborhood(c)
        ego = graph.induced_subgraph(around)
        value = ego.betweenness(sorted(around).index(c), directed=False)
        assert abs(value - expected[c]) <= 1e-9 * (1 + value)
    return time.process_time() - start


def measure(name: str, graph: Graph, sample: int, with_naive: bool) -> None:
    ordered = by_degree(graph.first, graph.to)
    jobs: dict[str, Callable[[], Any]] = {
        "ebc": lambda: betweenness(graph),
        "triangles": lambda: triangles(ordered.first, ordered.to, ordered.later),
    }
    if name not in TOO_LARGE_FOR_SCIPY:
        jobs["A @ A"] = codegree_matrix(graph)
    taken = medians(jobs)
    ebc, cores = taken["ebc"], len(os.sched_getaffinity(0))
    text = f"{name:22} EBC {ebc.wall:7.3f} s (CPU {ebc.cpu:.3f} s), "
    text += f"{ebc.cpu / taken['triangles'].cpu:4.1f}x the CPU of a triangle count"
    if "A @ A" in taken:
        theirs = taken["A @ A"]
        text += f"; A @ A {theirs.wall:.3f} s (CPU {theirs.cpu:.3f} s), ratio "
        shared = ebc.cpu / cores / theirs.cpu
        text += f"{ebc.wall / theirs.wall:.2f} (CPU on {cores} cores: {shared:.2f})"
    print(text, flush=True)
    if sample:
        seconds = igraph_time(graph, sample)
        ratio = seconds / (ebc.cpu / cores)
        print(f"{'':22} igraph ego by ego {seconds:.0f} s CPU (from a sample): {ratio:.0f}x")
    if with_naive:
        start = time.process_time()
        expected = naive(graph.first, graph.to)
        slow = time.process_time() - start
        np.testing.assert_allclose(betweenness(graph), expected, rtol=1e-6, atol=1e-4)
        print(f"{'':22} naive kernel {slow:.1f} s CPU: {slow / (ebc.cpu / cores):.0f}x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--igraph", type=int, default=0)
    parser.add_argument("--naive", action="store_true")
    arguments = parser.parse_args()
    folder = Path(os.environ["DAMPEN_DATA"]) / "graphs"
    for name in arguments.graphs:
        graph = graph_of(folder / f"{name}.npz")
        measure(name, graph, arguments.igraph, arguments.naive)


if __name__ == "__main__":
    main()
