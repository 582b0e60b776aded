"""Many percentiles at once: halving, equal shares, and loops over OpenDP and diffprivlib.

The records are the counts of a histogram, each at the number of its bin, so that many tie.  One ε
for the whole list; whoever has no lists gets ε / m for each of m percentiles, and its answers are
sorted.  The rank error is the mean over the list, in records; all are measured over some runs, with
the standard error, and seconds are those of one whole list.  `halving` and `split` are those of
`dampen.percentile` for replacing one record, `halving, rows` for adding or removing one.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

import dampen
from dampen.sampling import InsecureEntropy
from dampen.selection import FloatArray
from dampen_studies.datasets import small
from dampen_studies.experiments.peers import (
    Question,
    diffprivlib_answer,
    opendp_answer,
    rank_error,
)
from dampen_studies.experiments.percentiles import load
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

METHODS = ("halving", "halving, rows", "split", "opendp", "diffprivlib")
RUNS = {"opendp": 3, "diffprivlib": 3}
EPSILON = Fraction(1, 2)


def records(name: str) -> FloatArray:
    """One record per count."""
    counts = load(name)
    return np.repeat(np.arange(len(counts)), counts).astype(np.float64)


def answers(
    x: FloatArray, points: Sequence[int], bins: int, method: str, entropy: InsecureEntropy
) -> list[float]:
    """One answer per percentile, never decreasing."""
    if method in ("opendp", "diffprivlib"):
        return sorted(_of_peer(x, points, bins, method, entropy))
    released = dampen.percentile(
        x,
        p=points,
        epsilon=EPSILON,
        upper=bins - 1,
        release="value",
        step=1,
        mechanism="pf" if method == "split" else None,
        neighbours="add-remove-row" if method == "halving, rows" else "replace-one",
        entropy=InsecureEntropy(int.from_bytes(entropy.read(4), "big"), allow_release=True),
    )
    return list(released.answer)


def _of_peer(
    x: FloatArray, points: Sequence[int], bins: int, method: str, entropy: InsecureEntropy
) -> list[float]:
    share = str(float(EPSILON / len(points)))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for p in points:
            asked = Question(x, p, float(bins - 1), 1.0)
            ask: Callable[[], float] = (
                opendp_answer(asked, share)
                if method == "opendp"
                else diffprivlib_answer(asked, share, entropy)
            )
            found.append(ask())
    return found


def _cells(quick: bool) -> Sequence[Parameters]:
    names = small.HISTOGRAMS[:1] if quick else ("md-sal-fa", "nettrace")
    return [
        {"dataset": name, "percentiles": m, "method": method, "runs": RUNS.get(method, 10)}
        for name in names
        for m in ((9,) if quick else (9, 99))
        for method in (METHODS[:3] if quick else METHODS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name, m, method = str(cell["dataset"]), int(cell["percentiles"]), str(cell["method"])
    x, runs, bins = records(name), int(cell["runs"]), len(load(name))
    points = [100 * i // (m + 1) for i in range(1, m + 1)]
    errors, start = [], time.perf_counter()
    for _ in range(runs):
        drawn = answers(x, points, bins, method, entropy)
        asked = [Question(x, p, float(bins - 1), 1.0) for p in points]
        errors.append(np.mean([rank_error(q, a) for q, a in zip(asked, drawn, strict=True)]))
    seconds = (time.perf_counter() - start) / runs
    spread = float(np.std(errors, ddof=1) / math.sqrt(runs))
    return [(name, m, method, runs, float(np.mean(errors)), spread, seconds)]


def _caption(rows: Rows) -> str:
    return f"ε = {float(EPSILON):g} for the list; mean of {listed(rows, 'runs')} runs."


STUDY = Study(
    name="many",
    title="Many percentiles for one ε",
    figure="beyond the paper",
    about="The rank error of 9 and 99 percentiles: by halving, by equal shares, by other "
    "libraries, one quantile at a time.",
    finding="With 99 percentiles halving has some 30 to 90 times less error than equal shares.",
    caption=_caption,
    columns=("dataset", "percentiles", "method", "runs", "error", "spread", "seconds"),
    cells=_cells,
    run=_run,
    minutes=10,
)
