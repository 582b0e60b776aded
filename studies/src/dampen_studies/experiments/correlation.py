"""EBC and δ of every node (Figure 8 of the paper): a scatter of nodes.

Nodes with the same δ(G, 0, v) and, to two significant digits, the same EBC are one point, with
their number; correlations are over nodes, so a point counts as often as it has nodes.
"""

from collections.abc import Sequence

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen_studies.datasets import small
from dampen_studies.experiments.graph_methods import GRAPHS, betweenness, load
from dampen_studies.rows import where
from dampen_studies.study import Parameters, Row, Rows, Study, Value, number


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name} for name in small.chosen(GRAPHS, small.GRAPHS, quick=quick, cheap=True)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # nothing is random
    name = str(cell["dataset"])
    selection = betweenness(load(name))
    ebc = [float(f"{value:.2g}") for value in selection.utility]
    points = np.column_stack([selection.sensitivity.at(0), ebc])
    found, nodes = np.unique(points, axis=0, return_counts=True)
    return [
        (name, float(delta), float(score), int(count))
        for (delta, score), count in zip(found, nodes, strict=True)
    ]


def correlations(rows: Rows, dataset: Value) -> tuple[float, float]:
    """Pearson's and Spearman's correlation of EBC and δ over the nodes of a graph."""
    from scipy.stats import pearsonr, spearmanr

    here = where(rows, dataset=dataset)
    nodes = [int(number(row, "nodes")) for row in here]
    ebc, delta = (np.repeat([number(row, c) for row in here], nodes) for c in ("ebc", "delta"))
    return float(pearsonr(ebc, delta)[0]), float(spearmanr(ebc, delta)[0])


def _caption(rows: Rows) -> str:
    return (
        f"{sum(number(row, 'nodes') for row in rows):,.0f} nodes at {len(rows):,} points; nothing "
        "is sampled."
    )


STUDY = Study(
    name="correlation",
    title="EBC and its sensitivity",
    figure="Figure 8",
    about="Every node with its EBC and its δ at distance 0. The axis shows 1 + EBC, so that nodes "
    "with an EBC of 0 are seen.",
    finding="The correlation is what SLD lives on, and it is the correlation of EBC with the "
    "degree: δ is a function of the degree alone. The mean EBC of each degree would be correlated "
    "far more closely than nodes are.",
    caption=_caption,
    columns=("dataset", "delta", "ebc", "nodes"),
    cells=_cells,
    run=_run,
    revision=2,
)
