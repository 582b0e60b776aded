"""Many percentiles at once: together, by equal shares, and loops over OpenDP and diffprivlib.

The records are the counts of a histogram, each at the number of its bin, so that many tie; or a
generated column on a grid so fine that few do.  One ε for the whole list; whoever has no lists gets
ε / m for each of m percentiles, and its answers are sorted.  The rank error is the mean over the
list, in records; it is measured over some runs, with the standard error.  `together` and `split`
are those of `dampen.percentile` for replacing one record, `together, rows` for adding or removing
one.  `alone` is what each percentile has for the *whole* ε, computed: nobody can ask for less.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

import dampen
from dampen.mechanisms import probabilities
from dampen.percentiles.values import PercentileValue
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

METHODS = ("together", "together, rows", "split", "alone", "opendp", "diffprivlib")
RUNS = {"opendp": 3, "diffprivlib": 3, "alone": 1}
HISTOGRAMS = ("md-sal-fa", "hepth", "nettrace", "adult-loss", "bids-fj", "bids-fm")
LARGE = ("bids-fj", "bids-fm")
"""Two million records each: loops over other libraries would take hours."""
FINE = "lognormal, 20000"
"""A column with few ties."""
EPSILON = Fraction(1, 2)


def records(name: str) -> tuple[FloatArray, int]:
    """One record per count, at the number of its bin; and the number of bins."""
    if name == FINE:
        x = np.random.default_rng(0).lognormal(9, 0.5, 20_000)
        return np.floor(np.minimum(x, 99_999)), 100_000
    counts = load(name)
    return np.repeat(np.arange(len(counts)), counts).astype(np.float64), len(counts)


def error_alone(x: FloatArray, points: Sequence[int], bins: int) -> float:
    """The expected rank error of one percentile for the whole ε, mean over the list."""
    found = []
    for p in points:
        one = PercentileValue(n=len(x), p=p, upper=bins - 1, step=1).selection(x)
        found.append(-float(probabilities(one, epsilon=EPSILON, mechanism="pf") @ one.utility))
    return max(float(np.mean(found)), 0.0)


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
        neighbours="add-remove-row" if method == "together, rows" else "replace-one",
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
    names = small.HISTOGRAMS[:1] if quick else (*HISTOGRAMS, FINE)
    return [
        {"dataset": name, "percentiles": m, "method": method, "runs": RUNS.get(method, 10)}
        for name in names
        for m in ((9,) if quick else (9, 99))
        for method in (METHODS[:4] if quick or name in LARGE else METHODS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name, m, method = str(cell["dataset"]), int(cell["percentiles"]), str(cell["method"])
    (x, bins), runs = records(name), int(cell["runs"])
    points = [100 * i // (m + 1) for i in range(1, m + 1)]
    if method == "alone":
        return [(name, m, method, runs, error_alone(x, points, bins), 0.0)]
    errors = []
    for _ in range(runs):
        drawn = answers(x, points, bins, method, entropy)
        asked = [Question(x, p, float(bins - 1), 1.0) for p in points]
        errors.append(np.mean([rank_error(q, a) for q, a in zip(asked, drawn, strict=True)]))
    spread = float(np.std(errors, ddof=1) / math.sqrt(runs))
    return [(name, m, method, runs, float(np.mean(errors)), spread)]


def _caption(rows: Rows) -> str:
    return f"ε = {float(EPSILON):g} for the list; mean of {listed(rows, 'runs')} runs."


STUDY = Study(
    name="many",
    title="Many percentiles for one ε",
    figure="beyond the paper",
    about="The rank error of 9 and 99 percentiles: together, by equal shares, by other "
    "libraries, one quantile at a time.",
    finding="Drawn together, 99 percentiles have 15 to 200 times less error than by equal shares; "
    "how much nine gain depends on how far they are from the ends of ties.",
    caption=_caption,
    columns=("dataset", "percentiles", "method", "runs", "error", "spread"),
    cells=_cells,
    run=_run,
    minutes=10,
)
