"""The k labels nearest to a percentile: as one release, one after the other, and beside one label.

The one-dimensional histograms of DPBench that are at hand.  The error is the mean distance of the k
named values from the percentile, computed, not sampled.  `together` is the default, two stages that
pay ε once for any k; `one by one` is a label by local dampening at ε/k, the first of k: those after
it do not find the labels that are named already.  `nearest` is what the k nearest labels have,
which no mechanism can be below.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dampen.core import error_analysis
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.paper.percentile_selection import NEAR, PercentileLabel, rank
from dampen.questions.percentile.methods import Shares, TwoStages
from dampen.questions.percentile.record import label_mechanism
from dampen_studies.datasets import small
from dampen_studies.experiments.labels import HISTOGRAMS
from dampen_studies.experiments.percentiles import PERCENTILES, load
from dampen_studies.rivals.record_law import expected_error
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study

EPSILONS = ("2", "5", "10", "20")
COUNTS = (1, 5, 20)


def errors_of(column: FloatArray, p: int, epsilon: str, k: int) -> dict[str, float]:
    """The mean distances of k labels from the percentile."""
    n = len(column)
    top = float(column.max())
    e = Fraction(epsilon)
    distance = np.abs(column - np.sort(column)[rank(p, n) - 1])
    near = PercentileLabel(n=n, p=p, upper=top, horizon=NEAR).selection(column)
    staged = TwoStages(n=n, p=p, upper=top, shares=Shares.of(e), count=k)
    return {
        "together": expected_error(staged, column),
        "one by one": error_analysis.expected_error(
            near, epsilon=e / k, mechanism=label_mechanism(0, top)
        ),
        "nearest": float(np.sort(distance)[:k].mean()),
    }


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name, "p": p, "epsilon": epsilon, "k": k}
        for name in small.chosen(HISTOGRAMS, small.HISTOGRAMS, quick=quick)
        for p in (PERCENTILES[:1] if quick else PERCENTILES)
        for epsilon in (EPSILONS[1:2] if quick else EPSILONS)
        for k in (COUNTS[:2] if quick else COUNTS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    epsilon = str(cell["epsilon"])
    k = int(cell["k"])
    found = errors_of(load(name).astype(np.float64), p, epsilon, k)
    return [(name, p, float(epsilon), k, method, error) for method, error in found.items()]


def _caption(rows: Rows) -> str:
    count = len(values(rows, "dataset"))
    return f"{count} histogram{'s' * (count > 1)}; expected errors, computed, not sampled."


STUDY = Study(
    name="several-labels",
    title="Several percentile labels: as one release, and one by one",
    figure="beyond the paper",
    about="The mean distance from the percentile of k labels that are named for one ε.",
    finding="Named together, k labels cost little more than one; one by one each has ε/k.",
    caption=_caption,
    columns=("dataset", "p", "epsilon", "k", "method", "error"),
    cells=_cells,
    run=_run,
    minutes=3,
)
