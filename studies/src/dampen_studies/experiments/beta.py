"""The β example (Example 9 of the paper): how the size of δ moves the error of SLD.

δ_β(x, t, r) = min(u(x, r) t / β, Δ) with u = 10, 20, 30, Δ = 100, ε = 1.  It is non-decreasing in
u, so SLD shifts to +infinity, and bounded: for t >= 10 β it is Δ for every candidate.
"""

from collections.abc import Sequence

import numpy as np

from dampen.core import error_analysis, sensitivity
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Selection
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Study, number

UTILITY = np.array([10.0, 20.0, 30.0])
DELTA = 100.0
EPSILON = "1"
METHODS = ("em", "ld", "sld", "sld-pf")


def instance(beta: float) -> Selection:
    """The three candidates with δ_β."""
    horizon = int(np.ceil(DELTA / UTILITY.min() * beta))
    t = np.arange(max(horizon, 1))[:, None]
    return Selection(UTILITY, sensitivity.table(np.minimum(UTILITY * t / beta, DELTA)), DELTA)


def _cells(quick: bool) -> Sequence[Parameters]:
    del quick  # there is nothing to shorten
    return [{"beta": float(f"{beta:.6g}")} for beta in np.logspace(-1, 2, 31)]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # expected errors are computed, not sampled
    beta = number(cell, "beta")
    s = instance(beta)
    return [
        (beta, m, error_analysis.expected_error(s, epsilon=EPSILON, mechanism=m)) for m in METHODS
    ]


STUDY = Study(
    name="beta",
    title="Expected error while δ shrinks (β grows)",
    figure="Figure 7, Example 9",
    about="Three candidates with utilities 10, 20, 30 and δ = min(u t / β, Δ). As β grows, δ "
    "stays small for longer, and longer for the lesser candidates.",
    finding="SLD tells the candidates apart better and better. LD gains nothing: it divides each "
    "utility by its own δ, which makes them equal.",
    caption=lambda rows: f"{len(values(rows, 'beta'))} values of β; computed, not sampled.",
    columns=("beta", "method", "error"),
    cells=_cells,
    run=_run,
)
