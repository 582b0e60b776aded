"""Percentile scoring against `numpy.sort` of the same values.

    python benchmarks/percentile_speed.py

LD: utility, sensitivity and scores of 10^7 labels.  SLD: the same with totals over all distances of
the simple δ, 10^6 labels.  Two stages, the default for labels: the whole draw at ε = 2.  Value: the
rank utility of 10^6 grid points over 10^6 values.  Memory is the peak of what is allocated on the
way, in units of the input.

    python benchmarks/percentile_speed.py lists

Nine percentiles of 10^5 values on 1000 points by one draw, against OpenDP's and diffprivlib's
quantiles one after the other, at a ninth of ε each, and one draw of nine on 10^6 points and of 99
on 4000.  Needs the studies (`pip install -e studies`).
"""

import sys
import tracemalloc
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np

import dampen
from dampen.core.sampling import SystemEntropy
from dampen.core.scores import Dampened, Global, Shifted
from dampen.paper.percentile_selection import NEAR, PercentileLabel
from dampen.questions.percentile.methods import Shares, TwoStages
from dampen.questions.percentile.record import label_mechanism
from dampen.questions.percentile.values import PercentileValue
from timing import compare

UPPER = 50.0
PEER = "numpy.sort"


def memory(task: Callable[[], object], x: np.ndarray) -> float:
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / x.nbytes


def measure(title: str, x: np.ndarray, tasks: dict[str, Callable[[], object]]) -> None:
    compare(title, {PEER: lambda: np.sort(x)} | tasks, PEER)
    for name, task in tasks.items():
        print(f"memory of {name}: {memory(task, x):.1f} times the input", flush=True)


def lists() -> None:
    """Whole lists of percentiles, as a user asks for them."""
    from dampen_studies.experiments.many import answers

    x = np.floor(1000 * np.random.default_rng(0).beta(2, 5, 10**5))
    nine = range(10, 100, 10)
    hundred = range(1, 100)

    def ask(method: str) -> Callable[[], object]:
        return lambda: answers(x, list(nine), 1000, method, epsilon=Fraction(1, 2), seed=1)

    tasks = {name: ask(name) for name in ("together", "split", "opendp", "diffprivlib")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare("nine percentiles of 10^5 values, 1000 points", tasks, "together", rounds=5)
    given = {
        "epsilon": "0.5",
        "upper": 1000,
    }
    compare(
        "one draw, 10^5 values",
        {
            "nine, 1000 points": lambda: dampen.percentile(x, p=nine, step=1, **given),
            "99, 4000 points": lambda: dampen.percentile(x, p=hundred, step=0.25, **given),
            "nine, 10^6 points": lambda: dampen.percentile(x, p=nine, step=0.001, **given),
        },
        "nine, 1000 points",
        rounds=5,
    )


def main() -> None:
    x = np.random.default_rng(0).lognormal(size=10**7)
    exact = {p: PercentileLabel(n=len(x), p=p, upper=UPPER) for p in (50, 99)}
    measure(
        "10^7 labels",
        x,
        {f"LD, p = {p}": lambda e=e: Dampened().of(e.selection(x)) for p, e in exact.items()},
    )
    y = np.minimum(x[: 10**6], UPPER)
    public = {"n": len(y), "upper": UPPER}
    simple = {p: PercentileLabel(p=p, delta="simple", **public) for p in (50, 99)}
    near = PercentileLabel(p=50, horizon=NEAR, **public)
    default = label_mechanism(0, UPPER).score
    staged = TwoStages(p=50, shares=Shares.of(Fraction(2)), **public)
    grid = PercentileValue(p=50, step=5e-5, **public)
    measure(
        "10^6 labels or grid points",
        y,
        {f"SLD, p = {p}": lambda s=s: Shifted().of(s.selection(y)) for p, s in simple.items()}
        | {
            "dampened labels, p = 50": lambda: default.of(near.selection(y)),
            "two stages, p = 50, drawn": lambda: staged.draw(y, SystemEntropy()),
            "value, p = 50": lambda: Global().of(grid.selection(y)),
        },
    )


if __name__ == "__main__":
    lists() if sys.argv[1:] == ["lists"] else main()
