"""The best group without a grid: raw values beside 500 points of the right range, or a wide one.

Which group has the largest median, or 90th percentile?  `raw` states no range (`top_groups` without
`lower`, `upper` and `step`), `points` has 500 linear points from the smallest to the largest number
of the table, which nobody could know, and `wide` 500 points over a range 100 times as wide.  The
probability of naming the best group, or one of the best if several are equal, is computed from the
law, not sampled.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.questions.groups.problem import BestGroup
from dampen_studies.datasets.grouped import GROUPED
from dampen_studies.study import Parameters, Row, Rows, Study

POINTS = 500
WIDE = 100
PERCENTILES = (50, 90)
EPSILONS = ("0.03", "0.1", "0.3", "1")


def best_of(values: FloatArray, by: Sequence[str], p: int) -> set[str]:
    """The groups with the largest percentile: the smallest value that p % of a group reach."""
    groups = np.array(by)
    at = {
        name: float(np.quantile(values[groups == name], p / 100, method="inverted_cdf"))
        for name in sorted(set(by))
    }
    return {name for name, value in at.items() if value == max(at.values())}


def problems(values: FloatArray, by: Sequence[str], p: int) -> dict[str, BestGroup]:
    """The question without a range, and on both grids."""
    groups = sorted(set(by))
    low, high = Fraction(float(values.min())), Fraction(float(values.max()))
    found = {"raw": BestGroup(groups=groups, statistic="quantile", p=p)}
    for name, times in (("points", 1), ("wide", WIDE)):
        step = (high - low) * times / (POINTS - 1)
        lower = (low + high) / 2 - step * Fraction(POINTS - 1, 2)
        upper = lower + (POINTS - 1) * step
        found[name] = BestGroup(
            groups=groups, statistic="quantile", p=p, lower=lower, upper=upper, step=step
        )
    return found


def _cells(quick: bool) -> Sequence[Parameters]:
    names = list(GROUPED)[13:14] if quick else list(GROUPED)
    return [{"dataset": name, "p": p} for name, p in product(names, PERCENTILES)]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    values, by = GROUPED[str(cell["dataset"])].load()
    p = int(cell["p"])
    best = best_of(values, by, p)
    rows = list[Row]()
    for way, problem in problems(values, by, p).items():
        right = np.array([group in best for group in problem.groups])
        for epsilon in EPSILONS:
            law = problem.probabilities(values, by, epsilon=epsilon)
            known = (str(cell["dataset"]), len(values), len(problem.groups), p, float(epsilon))
            rows.append((*known, way, round(float(law[right].sum()), 4)))
    return rows


def _caption(rows: Rows) -> str:
    tables = len({row["dataset"] for row in rows})
    return f"{tables} tables; probabilities are computed, not sampled."


STUDY = Study(
    name="raw-groups",
    title="The best group without a grid",
    figure="beyond the paper",
    about="The probability of naming the group with the largest median or 90th percentile, without "
    "any range, with 500 points over the true range, and over a range 100 times as wide.",
    finding="Without a range the best group is named as often as with 500 points over the true "
    "range; a range that is 100 times too wide loses most of it.",
    caption=_caption,
    columns=("dataset", "rows", "groups", "p", "epsilon", "way", "best"),
    cells=_cells,
    run=_run,
    minutes=3,
)
