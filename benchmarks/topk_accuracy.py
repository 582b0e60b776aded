"""How accurate the private top-k is: the share of the true top k by EBC that each method finds.

    DAMPEN_DATA=... python benchmarks/topk_accuracy.py [--runs 40] [--graphs enron github dblp]

Rows as in the table of docs/influence.md; the last column is the smallest ε, on the same grid, at
which `joint` is as accurate as the paper's SLD at this ε, and the ratio of the two.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from dampen.graphs import Graph, graph_of
from dampen.mechanisms import draw, named
from dampen.problems.influence import InfluentialNode
from dampen.sampling import InsecureSource
from dampen.selection import Selection

EPSILONS = ("0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
SIZES = (5, 10, 20)


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


def accuracies(graph: Graph, method: Method, runs: int) -> Iterator[tuple[int, str, float]]:
    """Mean share of the true top k found, for every k and ε."""
    utility = InfluentialNode(nodes=graph.nodes).selection(graph).utility
    best = np.argsort(-utility, kind="stable")
    selection, mechanism = method.selection(graph), named(method.mechanism)
    scores = mechanism.score.of(selection)
    for k in SIZES:
        wanted = set(best[:k].tolist())
        for epsilon in EPSILONS:
            found = [
                len(wanted.intersection(
                    draw(selection, scores, Fraction(epsilon), mechanism, k=k,
                         source=InsecureSource(1000 * k + run))
                )) / k
                for run in range(runs)
            ]  # fmt: skip
            yield k, epsilon, float(np.mean(found))


def report(name: str, graph: Graph, runs: int) -> None:
    tables = {m.name: {(k, e): a for k, e, a in accuracies(graph, m, runs)} for m in METHODS}
    paper, ours = tables[METHODS[0].name], tables[METHODS[-1].name]
    for k in SIZES:
        print(f"\n{name}, k = {k}, mean of {runs} runs")
        print(f"{'':38}" + "".join(f"{e:>7}" for e in EPSILONS))
        for method, table in tables.items():
            print(f"{method:38}" + "".join(f"{table[k, e]:7.2f}" for e in EPSILONS))
        print(f"{'epsilon(SLD) / epsilon(joint)':38}" + "".join(_ratios(k, paper, ours)))


def _ratios(
    k: int, paper: dict[tuple[int, str], float], ours: dict[tuple[int, str], float]
) -> Iterator[str]:
    """How much less ε `joint` needs for the accuracy of the paper's SLD, within 0.02."""
    for epsilon in EPSILONS:
        goal = paper[k, epsilon]
        enough = [float(e) for e in EPSILONS if ours[k, e] >= goal - 0.02]
        shown = f"{float(epsilon) / enough[0]:.0f}x" if enough and goal > 0.02 else "-"
        yield f"{shown:>7}"


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
