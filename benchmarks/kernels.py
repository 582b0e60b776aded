"""What a compiler is worth: kernels compiled against the same source as plain Python.

    python benchmarks/kernels.py

Prints the ratio of processor times.  Where the kernels are not compiled it is about 1.
"""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dampen.kernels
from dampen.kernels import graphs
from dampen.questions.nodes.graphs import graph_of

NODES = 20_000
EDGES = 100_000


def plain(name: str) -> ModuleType:
    """The source of a kernel module, loaded past its compiled form."""
    source = Path(dampen.kernels.__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"plain_{name}", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(run: Callable[[], Any], times: int = 3) -> float:
    """The least processor time of several runs."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    rng = np.random.default_rng(0)
    graph = graph_of(tuple(rng.integers(0, NODES, (2, EDGES))), list(range(NODES)))
    slow = plain("graphs")
    nodes = np.arange(NODES)
    weights = np.ones(NODES, dtype=np.int64)
    result = np.zeros(NODES, dtype=np.int64)
    rows: dict[str, Callable[[Any], Any]] = {
        "core numbers": lambda of: of.peel(graph.first, graph.to, graph.degrees.copy()),
        "weighted degrees": lambda of: of.weighted_degrees(
            graph.first, graph.to, nodes, weights, result
        ),
    }
    for name, run in rows.items():
        compiled = seconds(lambda run=run: run(graphs))
        interpreted = seconds(lambda run=run: run(slow))
        print(f"{name}: plain Python takes {interpreted / compiled:.0f} times as long")


if __name__ == "__main__":
    main()
