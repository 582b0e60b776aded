"""Correlation of EBC and δ (Figure 8 of the paper).

δ(G, 0, v) is a function of the degree alone, so nodes are grouped by degree: one row per degree.
Correlations are over all nodes.
"""

from collections.abc import Sequence

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen_studies.datasets import small
from dampen_studies.experiments.graph_methods import GRAPHS, betweenness, load
from dampen_studies.study import Parameters, Row, Rows, Study, number


def _cells(quick: bool) -> Sequence[Parameters]:
    return [{"dataset": name} for name in small.chosen(GRAPHS, small.GRAPHS, quick=quick)]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    from scipy.stats import pearsonr, spearmanr

    del entropy  # nothing is random
    name = str(cell["dataset"])
    edges = load(str(cell["dataset"]))
    selection = betweenness(edges)
    ebc = selection.utility
    delta = selection.sensitivity.at(0)
    degree = np.bincount(np.concatenate([edges.src, edges.dst]), minlength=edges.n)
    pearson = float(pearsonr(ebc, delta)[0])
    spearman = float(spearmanr(ebc, delta)[0])
    rows: list[Row] = []
    for d in np.unique(degree):
        of_degree = degree == d
        here = ebc[of_degree]
        low = float(here.min())
        mean = float(here.mean())
        high = float(here.max())
        at_zero = float(delta[of_degree][0])
        rows.append((name, int(d), at_zero, len(here), low, mean, high, pearson, spearman))
    return rows


def _caption(rows: Rows) -> str:
    return f"{sum(number(row, 'nodes') for row in rows):,.0f} nodes in all; nothing is sampled."


STUDY = Study(
    name="correlation",
    title="EBC and its sensitivity",
    figure="Figure 8",
    about="Nodes of one degree have one δ; each point is the mean EBC of a degree.",
    finding="The correlation is what SLD lives on, and it is the correlation of EBC with the "
    "degree.",
    caption=_caption,
    columns=(
        "dataset", "degree", "delta", "nodes", "ebc_low", "ebc_mean", "ebc_high",
        "pearson", "spearman",
    ),
    cells=_cells,
    run=_run,
)  # fmt: skip
