"""A release of k nodes, once betweenness is known, against numpy's Gumbel top-k.

    DAMPEN_DATA=... python benchmarks/topk.py [--graph dblp] [--k 20]

Numpy's Gumbel noise is not private for real (floats, a fast generator): it is the yardstick for
speed only.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dampen.core.mechanisms import prepare
from dampen.core.sampling import SystemEntropy
from dampen.questions.nodes.graphs import graph_of
from dampen.questions.nodes.metrics import InfluentialNode
from timing import compare

PEER = "numpy Gumbel"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--graph", default="dblp")
    parser.add_argument("--k", type=int, default=20)
    arguments = parser.parse_args()
    graph = graph_of(Path(os.environ["DAMPEN_DATA"]) / "graphs" / f"{arguments.graph}.npz")
    problem = InfluentialNode(nodes=graph.nodes, cap_degree=10 * (len(graph.nodes) - 1))
    selection = problem.selection(graph)
    rng = np.random.default_rng(0)
    k = arguments.k
    entropy = SystemEntropy()
    utility = selection.utility

    def ours(name: str) -> Callable[[], object]:
        return lambda: prepare(selection, name).draw(epsilon=1, k=k, entropy=entropy)

    tasks = {
        PEER: lambda: np.argpartition(-(utility * 0.01 + rng.gumbel(size=len(utility))), k)[:k]
    }
    tasks |= {name: ours(name) for name in ("joint", "sld", "em", "ld")}
    compare(f"{arguments.graph}, k = {k}", tasks, PEER)


if __name__ == "__main__":
    main()
