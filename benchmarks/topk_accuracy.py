"""How accurate the private top-k is: the share of the true top k by EBC that each method finds.

    DAMPEN_DATA=... python benchmarks/topk_accuracy.py [--runs 40] [--graphs enron github dblp]

The table of docs/influence.md.  The last row of each block runs `joint` with a fraction of the ε
of its column: compare it with the first row, the paper's SLD with the whole.
"""

import argparse
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from dampen.influence.graphs import Graph, betweenness, graph_of
from dampen.influence.problem import InfluentialNode
from dampen.mechanisms import Prepared, prepare
from dampen.sampling import InsecureEntropy
from dampen.selection import IntArray, Selection

EPSILONS = ("0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
SIZES = {5: 4, 10: 10, 20: 10}
"""k, and by how much less ε `joint` is to reach what the paper's SLD reaches."""


@dataclass(frozen=True)
class Method:
    """A problem with public parameters, and a mechanism."""

    name: str
    mechanism: str
    metric: str = "betweenness"
    true_maximum: bool = False
    stretch: int = 1

    def selection(self, graph: Graph) -> Selection:
        bound = int(graph.degrees.max()) if self.true_maximum else None
        problem = InfluentialNode(nodes=graph.nodes, max_degree=bound, metric=self.metric)
        return problem.with_cap_degree(self.stretch).selection(graph)


METHODS = (
    Method("SLD, D = largest degree (paper)", "sld", true_maximum=True),
    Method("SLD, D = n-1", "sld"),
    Method("SLD by permute-and-flip, D = n-1", "sld-pf"),
    Method("EM on EBC", "em"),
    Method("degree, one-sided EM", "em", metric="degree"),
    Method("degree, one-sided PF", "pf", metric="degree"),
    Method("degree, joint", "joint", metric="degree"),
    Method("joint, D = largest degree", "joint", true_maximum=True),
    Method("joint, D = n-1, D' = 10 D (default)", "joint", stretch=10),
)


def accuracy(ready: Prepared, best: IntArray, epsilon: Fraction, runs: int) -> float:
    """The mean share of `best` that is found; standard error <= 0.5 / sqrt(runs)."""
    found = 0
    for run in range(runs):
        entropy = InsecureEntropy(1000 * len(best) + run)
        top = ready.draw(epsilon=epsilon, k=len(best), entropy=entropy)
        found += len(np.intersect1d(top, best))
    return found / (runs * len(best))


def report(name: str, graph: Graph, runs: int) -> None:
    order = np.argsort(-betweenness(graph), kind="stable")
    studies = {m.name: prepare(m.selection(graph), m.mechanism) for m in METHODS}
    for k, share in SIZES.items():
        print(f"\n{name}, k = {k}, mean of {runs} runs")
        print(f"{'':38}" + "".join(f"{e:>7}" for e in EPSILONS))
        for label, study in studies.items():
            _row(label, [accuracy(study, order[:k], Fraction(e), runs) for e in EPSILONS])
        default = studies[METHODS[-1].name]
        smaller = [Fraction(e) / share for e in EPSILONS]
        _row(
            f"joint at epsilon / {share}", [accuracy(default, order[:k], e, runs) for e in smaller]
        )


def _row(label: str, values: list[float]) -> None:
    print(f"{label:38}" + "".join(f"{value:7.2f}" for value in values), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--graphs", nargs="+", default=["enron", "github", "dblp"])
    arguments = parser.parse_args()
    folder = Path(os.environ["DAMPEN_DATA"]) / "graphs"
    for name in arguments.graphs:
        report(name, graph_of(folder / f"{name}.npz"), arguments.runs)


if __name__ == "__main__":
    main()
