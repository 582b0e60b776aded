"""`top_k` by default, from a file to the answer, against reading the edges and counting degrees.

    DAMPEN_DATA=... python benchmarks/nodes.py [--made 10000000] [--rounds 5] [--only cnr-2000]

Two peers.  Both read what every method has to: polars a text file of edges, or numpy the arrays of
an npz file.  The bare one then counts degrees by `numpy.bincount`, which takes a loop or a repeated
edge for a neighbour; the other counts neighbours, by `numpy.sort` of the pairs of ends.  Ratios are
of processor time, of all threads together; the last column has the degrees' by the clock.
ego-Twitter, cnr-2000, and a made-up graph with heavy-tailed degrees and as many edges as asked for,
sorted as the others are, and once more in any order, edges turned round by chance.  Beside them
stands lazy betweenness: the paper's mechanisms by `top_k`, which computes betweenness for the nodes
in question alone, against betweenness of all nodes.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars

import dampen
from dampen.core.mechanisms import SLD, prepare
from dampen.core.sampling import SystemEntropy
from dampen.questions.nodes.graphs import graph_of
from dampen.questions.nodes.metrics import InfluentialNode
from timing import compare, in_turns

PEER = "read and count degrees"
EXACT_PEER = "read and count neighbours"
LAZY = "lazy"
WHOLE = "SLD, betweenness of all nodes"


def made_up(edges: int, folder: Path) -> Path:
    """Ends drawn with heavy tails, loops and repeats dropped, as an npz file."""
    rng = np.random.default_rng(1)
    n = edges // 8
    ends = (n * rng.random((2, int(1.2 * edges))) ** 3).astype(np.int64)
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    codes = np.unique(low[low < high] * n + high[low < high])
    codes = np.sort(rng.permutation(codes)[:edges])
    path = folder / "made.npz"
    np.savez(path, src=(codes // n).astype(np.int32), dst=(codes % n).astype(np.int32), n=n)
    return path


def in_any_order(path: Path, folder: Path) -> Path:
    """The same edges, shuffled, and turned round by chance."""
    rng = np.random.default_rng(2)
    with np.load(path) as stored:
        ends = np.stack([stored["src"], stored["dst"]])
        n = stored["n"]
    ends = ends[:, rng.permutation(ends.shape[1])]
    turned = rng.random(ends.shape[1]) < 0.5
    ends[:, turned] = ends[::-1, turned]
    shuffled = folder / "shuffled.npz"
    np.savez(shuffled, src=ends[0], dst=ends[1], n=n)
    return shuffled


def ends_counted(src: Any, dst: Any, n: int) -> Any:
    return np.bincount(src, minlength=n) + np.bincount(dst, minlength=n)


def neighbours_counted(src: Any, dst: Any, n: int) -> Any:
    low = np.minimum(src, dst)
    high = np.maximum(src, dst)
    codes = np.sort((low.astype(np.int64) * n + high)[low < high])  # np.unique takes ten times that
    codes = codes[np.diff(codes, prepend=-1) > 0]
    return ends_counted(codes // n, codes % n, n)


def from_arrays(count: Callable[[Any, Any, int], Any], path: Path, n: int) -> Any:
    with np.load(path) as stored:
        return count(stored["src"], stored["dst"], n)


def from_text(count: Callable[[Any, Any, int], Any], path: Path, n: int) -> Any:
    table = polars.read_csv(path, separator="\t", has_header=True)
    return count(table["src"].to_numpy(), table["dst"].to_numpy(), n)


def as_text(path: Path, folder: Path) -> tuple[Path, int]:
    with np.load(path) as stored:
        table = polars.DataFrame({"src": stored["src"], "dst": stored["dst"]})
        text = folder / f"{path.stem}.tsv"
        table.write_csv(text, separator="\t")
        return text, int(stored["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--made", type=int, default=10_000_000, help="edges; 0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--only", help="the name of one graph, or lazy")
    arguments = parser.parse_args()
    home = Path(os.environ["DAMPEN_DATA"]) / "graphs" / "bonus"
    k = arguments.k
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {"ego-Twitter": home / "ego_twitter.npz", "cnr-2000": home / "law_cnr_2000.npz"}
        if arguments.made:
            paths["made up"] = made_up(arguments.made, folder)
            paths["shuffled"] = in_any_order(paths["made up"], folder)
        for title, path in paths.items():
            if arguments.only in (None, title):
                compare_with_peers(title, path, folder, k, arguments.rounds)
        if arguments.only in (None, LAZY):
            compare_lazily(paths["ego-Twitter"], k, arguments.rounds)


def compare_with_peers(title: str, path: Path, folder: Path, k: int, rounds: int) -> None:
    text, n = as_text(path, folder)
    for kind, file, read in (("text", text, from_text), ("arrays", path, from_arrays)):
        tasks: dict[str, Callable[[], object]] = {
            PEER: partial(read, ends_counted, file, n),
            EXACT_PEER: partial(read, neighbours_counted, file, n),
        }
        for e in ("0.1", "1"):
            tasks[f"top_k, ε = {e}"] = partial(dampen.top_k, str(file), n=n, k=k, epsilon=e)
        found = in_turns(tasks, rounds)
        print(
            f"\n| {title}, {kind}, k = {k} | CPU, s | times degrees | neighbours | by the clock |"
        )
        print("|---|---|---|---|---|")
        for name, t in found.items():
            bare, exact = (t.cpu / found[peer].cpu for peer in (PEER, EXACT_PEER))
            clock = t.median / found[PEER].median
            print(f"| {name} | {t.cpu:.4f} | {bare:.2f} | {exact:.2f} | {clock:.2f} |", flush=True)


def compare_lazily(path: Path, k: int, rounds: int) -> None:
    graph = graph_of(str(path))
    problem = InfluentialNode(nodes=graph.nodes)
    tasks = {
        WHOLE: lambda: prepare(problem.selection(graph), SLD).draw(
            epsilon=1, k=k, entropy=SystemEntropy()
        ),
        "SLD by top_k": lambda: dampen.top_k(graph, k=k, epsilon="1", mechanism="sld"),
        "LD by top_k": lambda: dampen.top_k(graph, k=k, epsilon="1", mechanism="ld"),
        "joint by top_k": lambda: dampen.top_k(graph, k=k, epsilon="1", mechanism="joint"),
    }
    compare(f"ego-Twitter in memory, k = {k}", tasks, WHOLE, rounds)


if __name__ == "__main__":
    main()
