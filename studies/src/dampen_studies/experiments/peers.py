"""Percentile values beside OpenDP and diffprivlib: rank error at the same ε, range and grid.

The rank error of an answer g is the distance from k to [#{x<g}+1, #{x<=g}], in records; its mean is
exact for dampen, and with a standard error over the runs for the peers, of which OpenDP has the
same mechanism (permute-and-flip) on the same scores where the size is known.  All three are ε-DP
for replacing one record: OpenDP with d_in = 2 and the size known, diffprivlib by its own statement.
OpenDP draws from the operating system, so its rows differ from run to run, within their errors.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dampen.core.mechanisms import probabilities
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.values import PercentileValue
from dampen_studies import datasets
from dampen_studies.experiments.diffprivlib_names import diffprivlib
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study, seed_of

LIBRARIES = ("dampen", "opendp", "diffprivlib")
RUNS = {"lognormal-256": 20, "lognormal-4096": 100, "lognormal-65536": 100, "adult-all": 60}


class Question(NamedTuple):
    """Values, and the public grid from 0 to `upper`."""

    values: FloatArray
    p: int
    upper: float
    step: float

    def problem(self) -> PercentileValue:
        return PercentileValue(n=len(self.values), p=self.p, upper=self.upper, step=self.step)


def question(name: str, p: int) -> Question:
    """Hours per week of Adult, which have heavy ties, or values without any.

    The step is near the distance of neighbouring values at the median, or the grid is the error.
    """
    if name == "adult-all":
        hours = datasets.load_table(name)["hours-per-week"].astype(np.float64)
        return Question(hours, p, 100.0, 1.0)
    n = int(name.partition("-")[2])
    return Question(lognormal(n), p, 20.0, {256: 0.005, 4096: 0.0002, 65536: 0.0001}[n])


def lognormal(n: int) -> FloatArray:
    """The same n values on every machine."""
    from scipy.special import ndtri

    entropy = InsecureEntropy(seed_of(f"lognormal values, {n}"))
    words = np.frombuffer(entropy.read(8 * n), dtype="<u8")
    return np.asarray(np.exp(ndtri((words >> 12) * 2.0**-52 + 2.0**-53)))


def expected_rank_error(asked: Question, epsilon: str) -> float:
    """Of `dampen.percentile(...)`, computed, not sampled."""
    selection = asked.problem().selection(asked.values)
    chance = probabilities(selection, epsilon=epsilon, mechanism="pf")
    return float(-selection.utility @ chance)


def rank_error(asked: Question, answer: float) -> float:
    """The distance, in records, of an answer from the percentile; nan for no answer."""
    if math.isnan(answer):
        return math.nan
    k = rank(asked.p, len(asked.values))
    below = (asked.values < answer).sum()
    upto = (asked.values <= answer).sum()
    return float(max(0, int(below) + 1 - k, k - int(upto)))


def opendp_answer(asked: Question, epsilon: str) -> Callable[[], float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(asked.values))
    grid = asked.problem().grid.astype(float).tolist()

    def make(scale: float) -> Any:
        return dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), dp.max_divergence(), grid, asked.p / 100, scale
        )

    scale = dp.binary_search_param(make, d_in=2, d_out=float(epsilon), T=float)
    measurement = make(scale)
    values = [float(v) for v in np.minimum(asked.values, asked.upper)]
    return lambda: float(measurement(values))


def diffprivlib_answer(
    asked: Question, epsilon: str, entropy: InsecureEntropy
) -> Callable[[], float]:
    quantile = diffprivlib().tools.quantile
    same = {"epsilon": float(epsilon), "bounds": (0.0, asked.upper)}

    def answer() -> float:
        seed = int.from_bytes(entropy.read(4), "big")
        return float(quantile(asked.values, asked.p / 100, random_state=seed, **same))

    return answer


def _cells(quick: bool) -> Sequence[Parameters]:
    names = ["lognormal-256"] if quick else [name for name in RUNS if name != "lognormal-256"]
    return [
        {"dataset": name, "epsilon": epsilon, "p": p, "library": library, "runs": RUNS[name]}
        for name in names
        for epsilon in ("0.1", "1")
        for p in (50, 90, 99)
        for library in LIBRARIES
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    p = int(cell["p"])
    epsilon = str(cell["epsilon"])
    library = str(cell["library"])
    runs = int(cell["runs"])
    asked = question(name, p)
    known = (name, float(epsilon), p, library)
    if library == "dampen":
        return [(*known, 0, expected_rank_error(asked, epsilon), 0.0)]
    errors = _measured(asked, epsilon, library, runs, entropy)
    if not np.isfinite(errors).all():
        return [(*known, runs, "fails", 0.0)]
    return [(*known, runs, float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(runs)))]


def _measured(
    asked: Question, epsilon: str, library: str, runs: int, entropy: InsecureEntropy
) -> FloatArray:
    """Rank errors of a peer's answers; nan where it gives none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = (
            opendp_answer(asked, epsilon)
            if library == "opendp"
            else diffprivlib_answer(asked, epsilon, entropy)
        )
        try:
            return np.array([rank_error(asked, answer()) for _ in range(runs)])
        except RuntimeError:  # diffprivlib's weights overflow on heavy ties
            return np.array([math.nan])


def _caption(rows: Rows) -> str:
    peers = [row for row in rows if row["runs"]]
    measured = f"Peers: mean of {listed(peers, 'runs')} runs and its standard error. " * bool(peers)
    return measured + "dampen: computed, not sampled."


STUDY = Study(
    name="peers",
    title="Percentile values: beside other libraries",
    figure="beyond the paper",
    about="The rank error, in records, of the percentile's value: dampen, OpenDP, diffprivlib.",
    finding="On smooth data all three agree within a few per cent. With ties they differ: ranks "
    "put the whole of a tied value at distance 0, OpenDP's score does not, and diffprivlib's "
    "weights break down.",
    caption=_caption,
    columns=("dataset", "epsilon", "p", "method", "runs", "error", "spread"),
    cells=_cells,
    run=_run,
    minutes=10,
)
