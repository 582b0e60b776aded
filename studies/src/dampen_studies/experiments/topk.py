"""Top-k by egocentric betweenness (Figure 10 of the paper): accuracy over ε.

Accuracy is the share of the true top k that is found, the mean over 100 runs; k = 1, 5, 10, 20 (the
paper has 5, 10, 20); ε = 0.001, 0.003, 0.01, ..., 10000.
"""

from collections.abc import Sequence

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.epsilon import exact
from dampen_studies.datasets import small
from dampen_studies.experiments.graph_methods import GRAPHS, prepared, share, true_top
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

EPSILONS = [f"{d * 10**p:.6g}" for p in range(-3, 4) for d in (1, 3)] + ["10000"]
SIZES = (1, 5, 10, 20)


def _cells(quick: bool) -> Sequence[Parameters]:
    sizes, epsilons, runs = ((1, 5), EPSILONS[::2], 20) if quick else (SIZES, EPSILONS, 100)
    return [
        {"dataset": name, "k": k, "epsilon": epsilon, "runs": runs}
        for name in small.chosen(GRAPHS, small.GRAPHS, quick=quick)
        for k in sizes
        for epsilon in epsilons
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    k = int(cell["k"])
    runs = int(cell["runs"])
    epsilon = exact(str(cell["epsilon"]))
    ebc, ready = prepared(name)
    truth = true_top(ebc, k)
    rows: list[Row] = []
    for method, top in ready.items():
        found = np.array([share(top(k, epsilon, entropy), truth) for _ in range(runs)])
        error = float(found.std(ddof=1) / np.sqrt(runs))
        rows.append((name, k, float(epsilon), method, runs, float(found.mean()), error))
    return rows


def _caption(rows: Rows) -> str:
    return f"Mean of {listed(rows, 'runs')} runs; bands are two standard errors."


STUDY = Study(
    name="topk",
    title="Influential nodes: accuracy of the top k",
    figure="Figure 10",
    about="The share of the true top k, by egocentric betweenness, that each method finds.",
    finding="SLD beats EM, PF and LD by orders of magnitude, as the paper says. But EBC is at most "
    "two units of its score and the degree is all the rest: SLD stops short of the true top k "
    "where the degree does, EM on the degree is better than SLD, and a joint release, which "
    "needs no ε/k, better still.",
    caption=_caption,
    columns=("dataset", "k", "epsilon", "method", "runs", "accuracy", "spread"),
    cells=_cells,
    run=_run,
    revision=3,
    minutes=12,
)
