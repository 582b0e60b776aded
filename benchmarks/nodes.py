"""`top_k` by default, from a file to the answer, against reading the edges and counting degrees.

    DAMPEN_DATA=... python benchmarks/nodes.py [--made 10000000] [--rounds 5]

The peers do what every method has to: polars reads a text file of edges, or numpy the arrays of an
npz file, and `numpy.bincount` counts degrees; neither drops loops or repeats.  ego-Twitter,
cnr-2000, and a made-up graph with heavy-tailed degrees and as many edges as asked for.  Beside them
stands lazy betweenness: the paper's mechanisms by `top_k`, which computes betweenness for the nodes
in question alone, against betweenness of all nodes.
"""

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars

import dampen
from dampen.influence.graphs import graph_of
from dampen.influence.problem import InfluentialNode
from dampen.mechanisms import SLD, prepare
from dampen.sampling import SystemEntropy
from timing import compare

PEER = "read and count degrees"
WHOLE = "SLD, betweenness of all nodes"


def made_up(edges: int, folder: Path) -> Path:
    """Ends drawn with heavy tails, loops and repeats dropped, as an npz file."""
    rng, n = np.random.default_rng(1), edges // 8
    ends = (n * rng.random((2, int(1.2 * edges))) ** 3).astype(np.int64)
    low, high = ends.min(axis=0), ends.max(axis=0)
    codes = np.unique(low[low < high] * n + high[low < high])
    codes = np.sort(rng.permutation(codes)[:edges])
    path = folder / "made.npz"
    np.savez(path, src=(codes // n).astype(np.int32), dst=(codes % n).astype(np.int32), n=n)
    return path


def counted(src: Any, dst: Any, n: int) -> Any:
    return np.bincount(src, minlength=n) + np.bincount(dst, minlength=n)


def from_arrays(path: Path) -> Any:
    with np.load(path) as stored:
        return counted(stored["src"], stored["dst"], int(stored["n"]))


def from_text(path: Path, n: int) -> Any:
    table = polars.read_csv(path, separator="\t", has_header=True)
    return counted(table["src"].to_numpy(), table["dst"].to_numpy(), n)


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
    arguments = parser.parse_args()
    home, k = Path(os.environ["DAMPEN_DATA"]) / "graphs" / "bonus", arguments.k
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {"ego-Twitter": home / "ego_twitter.npz", "cnr-2000": home / "law_cnr_2000.npz"}
        if arguments.made:
            paths["made up"] = made_up(arguments.made, folder)
        for title, path in paths.items():
            text, n = as_text(path, folder)
            for kind, file, peer in (
                ("text", text, partial(from_text, text, n)),
                ("arrays", path, partial(from_arrays, path)),
            ):
                tasks: dict[str, Any] = {PEER: peer}
                for e in ("0.1", "1"):
                    ask = partial(dampen.top_k, str(file), n=n, k=k, epsilon=e)
                    tasks[f"top_k, ε = {e}"] = ask
                compare(f"{title}, {kind}, k = {k}", tasks, PEER, arguments.rounds)
        compare_lazily(paths["ego-Twitter"], k, arguments.rounds)


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
