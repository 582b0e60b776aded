"""Percentile selection (Figure 9 of the paper): expected errors, computed exactly.

The database is the 4096 counts of a DPBench histogram, Λ is the largest count, the labels are the
bins, ε lies on a logarithmic grid of 30 points from 0.1 to 100.  (Λ is taken from the data, as in
the paper, which leaks; a release would state it.)  The paper's mechanisms have the simple δ.
Beyond the paper: permute-and-flip on dampened scores, SLD, `dampen`, the best of one draw and the
default for few labels, and `value`, which releases the percentile's *value* by the rank
utility on the public grid of integers: another question, mostly with a far better answer.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from dampen.core import error_analysis
from dampen.core.mechanisms import Mechanism, named, probabilities
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import IntArray, Selection
from dampen.paper.percentile_selection import NEAR, PercentileLabel, rank
from dampen.questions.percentile.record import label_mechanism
from dampen.questions.percentile.values import PercentileValue
from dampen_studies import datasets
from dampen_studies.datasets import small
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study

HISTOGRAMS = ("patent", "hepth", "income")
PERCENTILES = (50, 90, 99)
METHODS = ("em", "pf", "ld", "ld-pf", "sld")
GRID_POINTS = 4096
"""The value release works on whole numbers from 0 to Λ, at most about this many."""


def epsilons(points: int) -> list[str]:
    """The ε of the study, as decimal text."""
    return [f"{epsilon:.6g}" for epsilon in np.logspace(-1, 2, points)]


def load(name: str) -> IntArray:
    """A DPBench histogram, or a bundled one."""
    return small.histogram(name) if name in small.HISTOGRAMS else datasets.load_histogram(name)


def label_selections(
    counts: IntArray, p: int, names: Sequence[str]
) -> Iterator[tuple[str, Selection, Mechanism]]:
    """The named mechanisms as in the paper, and the default of the library for few labels."""
    top = float(counts.max())
    simple = PercentileLabel(n=len(counts), p=p, upper=top, delta="simple").selection(counts)
    for name in names:
        yield name, simple, named(name)
    near = PercentileLabel(n=len(counts), p=p, upper=top, horizon=NEAR).selection(counts)
    yield "dampen", near, label_mechanism(0, top)


def value_error(counts: IntArray, p: int, epsilon: str) -> float:
    """The expected distance between the released value and the percentile's."""
    top = int(counts.max())
    problem = PercentileValue(n=len(counts), p=p, upper=top, step=-(-top // GRID_POINTS))
    chance = probabilities(problem.selection(counts), epsilon=epsilon, mechanism="pf")
    truth = np.sort(counts)[rank(p, len(counts)) - 1]
    return float(np.abs(problem.grid - truth) @ chance)


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name, "p": p, "epsilon": epsilon}
        for name in small.chosen(HISTOGRAMS, small.HISTOGRAMS, quick=quick, cheap=True)
        for p in PERCENTILES
        for epsilon in epsilons(7 if name in small.HISTOGRAMS else 30)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    epsilon = str(cell["epsilon"])
    counts = load(name)
    errors = {
        method: error_analysis.expected_error(selection, epsilon=epsilon, mechanism=mechanism)
        for method, selection, mechanism in label_selections(counts, p, METHODS)
    }
    errors["value"] = value_error(counts, p, epsilon)
    return [(name, p, float(epsilon), method, error) for method, error in errors.items()]


def _caption(rows: Rows) -> str:
    return f"{len(values(rows, 'epsilon'))} values of ε; expected errors, computed, not sampled."


STUDY = Study(
    name="percentiles",
    title="Percentile selection: expected error",
    figure="Figure 9",
    about="The label whose value is nearest to the p-th percentile of the counts of a histogram. "
    "The last curve answers another question, the percentile's value, by the rank utility.",
    finding="LD gains where most counts are far below Λ. All label mechanisms fail at small ε, and "
    "must: a label hides behind its equals. The value is far easier, but not everywhere: INCOME "
    "has few and huge counts at p = 99, and a small ε may land between them.",
    caption=_caption,
    columns=("dataset", "p", "epsilon", "method", "error"),
    cells=_cells,
    run=_run,
    revision=3,
    minutes=0.1,
)
