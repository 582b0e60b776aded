"""Percentile labels in one draw: every mechanism on nine histograms.

The one-dimensional histograms of DPBench that are at hand, p = 50, 90, 99.  Each mechanism of the
paper, permute-and-flip on the scores of each, SLD the other way round (towards -infinity), and the
default of `dampen.percentile` for few labels.  The report shows ratios to LD.
"""

from collections.abc import Sequence

from dampen.core import error_analysis
from dampen.core.mechanisms import SLD, Mechanism
from dampen.core.sampling import InsecureEntropy
from dampen.core.scores import Shifted
from dampen_studies.datasets import small
from dampen_studies.experiments.percentiles import PERCENTILES, label_selections, load
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study

HISTOGRAMS = (
    "patent", "hepth", "income", "adult-loss", "nettrace", "bids-fj", "bids-fm", "bids-all",
    "md-sal-fa",
)  # fmt: skip
EPSILONS = ("0.1", "1", "5", "10", "20", "50", "100")
METHODS = ("em", "pf", "ld", "ld-pf", "sld", "sld-pf")


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name, "p": p, "epsilon": epsilon}
        for name in small.chosen(HISTOGRAMS, small.HISTOGRAMS, quick=quick)
        for p in PERCENTILES
        for epsilon in (EPSILONS[1::2] if quick else EPSILONS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    epsilon = str(cell["epsilon"])
    compared = list(label_selections(load(name), p, METHODS))
    down = Mechanism("sld-down", Shifted(towards=-1), SLD.noise)
    compared.append(("sld-down", compared[0][1], down))
    return [
        (name, p, float(epsilon), method,
         error_analysis.expected_error(selection, epsilon=epsilon, mechanism=mechanism))
        for method, selection, mechanism in compared
    ]  # fmt: skip


def _caption(rows: Rows) -> str:
    count = len(values(rows, "dataset"))
    return f"{count} histogram{'s' * (count > 1)}; expected errors, computed, not sampled."


STUDY = Study(
    name="labels",
    title="Percentile labels: which mechanism is the default",
    figure="beyond the paper",
    about="The expected error of every mechanism for labels, as a ratio to that of LD.",
    finding="Permute-and-flip on the utility lowered by the public range has the smallest error on "
    "average; SLD in the other direction shows what a wrong shift costs.",
    caption=_caption,
    columns=("dataset", "p", "epsilon", "method", "error"),
    cells=_cells,
    run=_run,
    minutes=3,
)
