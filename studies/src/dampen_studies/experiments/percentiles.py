"""Percentile selection (Figure 9 of the paper): expected errors, computed exactly.

The database is the 4096 counts of a DPBench histogram, Λ is the largest count, the labels are the
bins, ε lies on a logarithmic grid of 30 points from 0.1 to 100.  (Λ is taken from the data, as in
the paper, which leaks; a release would state it.)  Beyond the paper: permute-and-flip on dampened
scores, SLD, and `rank`, which releases the percentile's *value* by the rank utility on the public
grid of integers: another question, with a far better answer.
"""

from collections.abc import Sequence

import numpy as np

from dampen import accuracy
from dampen.mechanisms import probabilities
from dampen.percentiles.labels import PercentileLabel, rank
from dampen.percentiles.values import PercentileValue
from dampen.sampling import InsecureEntropy
from dampen.selection import IntArray
from dampen_studies import datasets
from dampen_studies.datasets import small
from dampen_studies.study import Parameters, Row, Study

METHODS = ("em", "pf", "ld", "ld-pf", "sld")
GRID_POINTS = 4096
"""The value release works on whole numbers from 0 to Λ, at most about this many."""


def epsilons(points: int) -> list[str]:
    """The ε of the study, as decimal text."""
    return [f"{epsilon:.6g}" for epsilon in np.logspace(-1, 2, points)]


def load(name: str) -> IntArray:
    """A histogram of the paper, or a bundled one."""
    return small.histogram(name) if name in small.HISTOGRAMS else datasets.load_histogram(name)


def _cells(quick: bool) -> Sequence[Parameters]:
    names = small.HISTOGRAMS if quick else ("patent", "hepth", "income")
    points = 7 if quick else 30
    return [
        {"dataset": name, "p": p, "epsilon": epsilon}
        for name in names
        for p in (50, 90, 99)
        for epsilon in epsilons(points)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    name, p, epsilon = str(cell["dataset"]), int(cell["p"]), str(cell["epsilon"])
    values = load(name)
    problem = PercentileLabel(n=len(values), p=p, upper=float(values.max()), delta="simple")
    selection = problem.selection(values)
    errors = {m: accuracy.expected_error(selection, epsilon=epsilon, mechanism=m) for m in METHODS}
    errors["rank"] = value_error(values, p, epsilon)
    return [(name, p, float(epsilon), method, error) for method, error in errors.items()]


def value_error(values: IntArray, p: int, epsilon: str) -> float:
    """The expected distance between the released value and the percentile's."""
    top = int(values.max())
    problem = PercentileValue(n=len(values), p=p, upper=top, step=-(-top // GRID_POINTS))
    chance = probabilities(problem.selection(values), epsilon=epsilon, mechanism="pf")
    truth = np.sort(values)[rank(p, len(values)) - 1]
    return float(np.abs(problem.grid - truth) @ chance)


STUDY = Study(
    name="percentiles",
    title="Percentile selection: expected error",
    figure="Figure 9",
    about="The label whose value is nearest to the p-th percentile of the 4096 counts of a "
    "DPBench histogram; expected errors are computed, not sampled. LD gains where most "
    "counts are far below Λ. All label mechanisms fail at small ε, and must: a label "
    "hides behind its equals. The last curve answers the other question, the percentile's "
    "value, by the rank utility.",
    columns=("dataset", "p", "epsilon", "method", "error"),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=1,
)
