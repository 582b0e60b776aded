"""How fast egocentric betweenness is, against the codegree matrix of scipy and against igraph.

    DAMPEN_DATA=... python benchmarks/ebc.py [--graphs NAME ...] [--igraph 300] [--naive]

For every graph: medians of 5, warm, of EBC of all nodes on all cores (reading excluded), of `A @ A`
of scipy.sparse (int32), and of a plain count of all triangles; all in the same run, taken in turns,
so that a busy machine is busy for all.  `--igraph N` adds igraph's betweenness, ego by ego, on the
N largest nodes and on N random others, scaled up; `--naive` adds one run of plain wedge counting on
one core.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import scipy.sparse as sp

from dampen._kernels.adjacency import by_degree
from dampen._kernels.compile import compiled
from dampen.graphs import Graph, betweenness, graph_of
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


def medians(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median time of every job, run in turns, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(RUNS + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(taken[1:])) for name, taken in times.items()}


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
    start = time.perf_counter()
    for c in nodes:
        around = graph.neighborhood(c)
        ego = graph.induced_subgraph(around)
        value = ego.betweenness(sorted(around).index(c), directed=False)
        assert abs(value - expected[c]) <= 1e-9 * (1 + value)
    return time.perf_counter() - start


def measure(name: str, graph: Graph, sample: int, with_naive: bool) -> None:
    ordered = by_degree(graph.first, graph.to)
    jobs: dict[str, Callable[[], Any]] = {
        "ebc": lambda: betweenness(graph),
        "triangles": lambda: triangles(ordered.first, ordered.to, ordered.later),
    }
    if name not in TOO_LARGE_FOR_SCIPY:
        jobs["A @ A"] = codegree_matrix(graph)
    taken = medians(jobs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = (
        f"{name:22} EBC {taken['ebc']:7.3f} s, {taken['ebc'] / taken['triangles']:5.1f}x triangles"
    )
    if "A @ A" in taken:
        text += f", A @ A {taken['A @ A']:7.3f} s, ratio {taken['ebc'] / taken['A @ A']:.2f}"
    print(f"{text}, peak so far {peak:.0f} MB", flush=True)
    if sample:
        theirs = igraph_time(graph, sample)
        ratio = theirs / taken["ebc"]
        print(f"{'':22} igraph ego by ego {theirs:.0f} s (from a sample): {ratio:.0f}x")
    if with_naive:
        start = time.perf_counter()
        expected = naive(graph.first, graph.to)
        slow = time.perf_counter() - start
        np.testing.assert_allclose(betweenness(graph), expected, rtol=1e-6, atol=1e-4)
        print(f"{'':22} naive kernel {slow:.1f} s: {slow / taken['ebc']:.0f}x", flush=True)


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
