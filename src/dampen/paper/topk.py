"""Top-k by egocentric betweenness (Figure 10 of the paper): accuracy over ε.

Accuracy is the share of the true top k that is found, the mean over 100 runs; k = 5, 10, 20; ε from
10^-3 to 10^4.
"""

from collections.abc import Sequence

import numpy as np

from dampen.epsilon import exact
from dampen.paper import small
from dampen.paper.influence import GRAPHS, prepared, share, true_top
from dampen.paper.study import Parameters, Row, Study
from dampen.sampling import InsecureEntropy


def epsilons(points: int) -> list[str]:
    """The ε of the study, as decimal text."""
    return [f"{epsilon:.4g}" for epsilon in np.logspace(-3, 4, points)]


def _cells(quick: bool) -> Sequence[Parameters]:
    names, ks, points, runs = (
        (small.GRAPHS, (2, 5), 8, 30) if quick else (GRAPHS, (5, 10, 20), 15, 100)
    )
    return [
        {"dataset": name, "k": k, "epsilon": epsilon, "runs": runs}
        for name in names
        for k in ks
        for epsilon in epsilons(points)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name, k, runs = str(cell["dataset"]), int(cell["k"]), int(cell["runs"])
    epsilon = exact(str(cell["epsilon"]))
    ebc, ready = prepared(name)
    truth = true_top(ebc, k)
    rows: list[Row] = []
    for method, drawer in ready.items():
        found = np.array(
            [share(drawer.draw(epsilon=epsilon, k=k, entropy=entropy), truth) for _ in range(runs)]
        )
        error = float(found.std(ddof=1) / np.sqrt(runs))
        rows.append((name, k, float(epsilon), method, runs, float(found.mean()), error))
    return rows


STUDY = Study(
    name="topk",
    title="Influential nodes: accuracy of the top k",
    figure="Figure 10",
    about="The share of the true top k, by egocentric betweenness, that each method finds; "
    "bands are two standard errors. SLD beats EM, PF and LD by orders of magnitude, as "
    "the paper says. But EBC is at most two units of its score and the degree is all the "
    "rest: SLD stops short of the true top k where the degree does, EM on the degree is "
    "better than SLD, and the joint release, which needs no ε/k, better still.",
    columns=("dataset", "k", "epsilon", "method", "runs", "accuracy", "spread"),
    cells=_cells,
    run=_run,
    minutes=20,
)
