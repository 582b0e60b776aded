"""Percentile labels in two stages against one, by local dampening, on nine histograms.

The one-dimensional histograms of DPBench that are at hand, p = 1, ..., 99.  All errors are computed
from the laws, not sampled.  Two numbers say what is left to gain:

- `form`: the least error of two weights 1 and e^ε if the percentile were known for nothing;
- `symmetric`: no mechanism that treats labels alike can be below it.  A label that one replacement
  makes equal to b others has at most the probability e^ε / (b+1); b is the largest tie here.

And the hardest case, generated: two humps of equal size, p = 50, so that the percentile is the
first record beyond a wide gap.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp
from statistics import NormalDist

import numpy as np

from dampen.core import error_analysis
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.paper.percentile_selection import NEAR, PercentileLabel, rank
from dampen.questions.percentile.methods import Shares, TwoStages
from dampen.questions.percentile.record import label_mechanism
from dampen_studies.datasets import small
from dampen_studies.experiments.labels import HISTOGRAMS
from dampen_studies.experiments.percentiles import load
from dampen_studies.rivals.record_law import best_error, expected_error
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study

EPSILONS = ("2", "5", "10", "20")
HUMPS = "two-humps-"
"""The name of a generated column, and its seed."""


def symmetric_bound(column: FloatArray, errors: FloatArray, epsilon: float) -> float:
    """The least mean error where no label has more than e^ε / (b+1), nor more than its equals."""
    _, which, ties = np.unique(column, return_inverse=True, return_counts=True)
    order = np.argsort(errors, kind="stable")
    most = np.minimum(1 / ties[which[order]], exp(epsilon) / (ties.max() + 1))
    before = np.cumsum(most) - most
    chance = np.clip(1 - before, 0, most)
    return float(chance @ errors[order])


def errors_of(column: FloatArray, p: int, epsilon: str) -> dict[str, float]:
    """The expected errors of both methods, and the two bounds."""
    n = len(column)
    top = float(column.max())
    e = Fraction(epsilon)
    near = PercentileLabel(n=n, p=p, upper=top, horizon=NEAR).selection(column)
    staged = TwoStages(n=n, p=p, upper=top, shares=Shares.of(e))
    distance = np.abs(column - np.sort(column)[rank(p, n) - 1])
    return {
        "dampened": error_analysis.expected_error(
            near, epsilon=e, mechanism=label_mechanism(0, top)
        ),
        "two stages": expected_error(staged, column),
        "form": best_error(distance, exp(float(e))),
        "symmetric": symmetric_bound(column, distance, float(e)),
    }


def two_humps(seed: int, half: int = 2000) -> FloatArray:
    """Normal values around 200 and as many around 800, from 0 to 1000."""
    words = np.frombuffer(InsecureEntropy(seed).read(16 * half), dtype="<u8") >> np.uint64(11)
    quantile = NormalDist(0, 30).inv_cdf
    spread = np.array([quantile((word + 0.5) / 2**53) for word in words.tolist()])
    return np.clip(spread + np.repeat([200, 800], half), 0, 1000)


def _column(name: str) -> FloatArray:
    if name.startswith(HUMPS):
        return two_humps(int(name.removeprefix(HUMPS)))
    return load(name).astype(np.float64)


def _cells(quick: bool) -> Sequence[Parameters]:
    epsilons = EPSILONS[1::2] if quick else EPSILONS
    histograms: list[Parameters] = [
        {"dataset": name, "p": p, "epsilon": epsilon}
        for name in small.chosen(HISTOGRAMS, small.HISTOGRAMS, quick=quick)
        for p in ((10, 50, 90) if quick else range(1, 100))
        for epsilon in epsilons
    ]
    return histograms + [
        {"dataset": f"{HUMPS}{seed}", "p": 50, "epsilon": epsilon}
        for seed in range(1, 2 if quick else 21)
        for epsilon in epsilons
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    epsilon = str(cell["epsilon"])
    found = errors_of(_column(name), p, epsilon)
    return [(name, p, float(epsilon), method, error) for method, error in found.items()]


def _caption(rows: Rows) -> str:
    names = [str(name) for name in values(rows, "dataset")]
    count = sum(not name.startswith(HUMPS) for name in names)
    return (
        f"{count} histogram{'s' * (count != 1)}, {len(names) - count} of two humps; expected "
        "errors, computed, not sampled."
    )


STUDY = Study(
    name="two-stages",
    title="Percentile labels: two stages against dampening",
    figure="beyond the paper",
    about="The expected error of labels drawn in two stages, beside local dampening and bounds.",
    finding="Two stages win almost everywhere from ε = 2 on, the more the larger ε is; next to a "
    "wide gap either may.",
    caption=_caption,
    columns=("dataset", "p", "epsilon", "method", "error"),
    cells=_cells,
    run=_run,
    minutes=10,
)
