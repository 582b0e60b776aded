"""Rank error of the value release against OpenDP and diffprivlib, at the same ε, range and grid.

Needs an environment of its own, because diffprivlib 0.6.6 needs scikit-learn <= 1.8:

    python -m venv peers
    peers/bin/pip install diffprivlib==0.6.6 "opendp>=0.16,<0.17" "scikit-learn<=1.8"
    peers/bin/pip install numpy pandas python-flint
    PYTHONPATH=src peers/bin/python benchmarks/percentile_peers.py [--runs 400] [--data directory]

The rank error of an answer g is the distance from k to [#{x<g}+1, #{x<=g}], in records; its mean is
exact for dampen, and with a standard error over the runs for the peers, of which OpenDP has the
same mechanism (permute-and-flip) on the same scores where the size is known.  All three
are ε-DP for replacing one record: OpenDP with d_in = 2 and the size known, diffprivlib by its own
statement.  With --data the hours per week of Adult, which have heavy ties, are added.
"""

import argparse
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pandas as pd
from diffprivlib.tools import quantile

from dampen import probabilities
from dampen.percentiles.labels import rank
from dampen.percentiles.values import PercentileValue

dp.enable_features("contrib")
Answer = Callable[[], float]


def dampen_error(x: np.ndarray, p: float, epsilon: float, upper: float, step: float) -> str:
    """The expected rank error of `percentile(..., release="value")`, computed, not sampled."""
    selection = PercentileValue(n=len(x), p=p, upper=upper, step=step).selection(x)
    return f"{-selection.utility @ probabilities(selection, epsilon=epsilon, mechanism='pf'):8.2f}"


def opendp_answer(x: np.ndarray, p: float, epsilon: float, upper: float, step: float) -> Answer:
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(x))
    grid = PercentileValue(n=len(x), p=p, upper=upper, step=step).grid.astype(float).tolist()

    def make(scale: float) -> dp.Measurement:
        return dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), dp.max_divergence(), grid, p / 100, scale
        )

    scale = dp.binary_search_param(make, d_in=2, d_out=epsilon, T=float)
    measurement, values = make(scale), [float(v) for v in np.minimum(x, upper)]
    return lambda: measurement(values)


def diffprivlib_answer(x: np.ndarray, p: float, epsilon: float, upper: float) -> Answer:
    return lambda: quantile(x, p / 100, epsilon=epsilon, bounds=(0, upper))


def rank_error(x: np.ndarray, p: float, answer: float) -> float:
    if math.isnan(answer):
        return float("nan")
    k = rank(p, len(x))
    return max(0, int((x < answer).sum()) + 1 - k, k - int((x <= answer).sum()))


def mean_error(x: np.ndarray, p: float, answer: Answer, runs: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            errors = np.array([rank_error(x, p, float(answer())) for _ in range(runs)])
        except RuntimeError:
            return "fails"
    return f"{errors.mean():8.2f} ± {errors.std() / math.sqrt(runs):5.2f}"


def compare(name: str, x: np.ndarray, upper: float, step: float, runs: int) -> None:
    for epsilon in (0.1, 1.0):
        for p in (50, 90, 99):
            ours = dampen_error(x, p, epsilon, upper, step)
            peer = mean_error(x, p, opendp_answer(x, p, epsilon, upper, step), runs)
            other = mean_error(x, p, diffprivlib_answer(x, p, epsilon, upper), runs)
            print(f"| {name} | {epsilon:g} | {p} | {ours} | {peer} | {other} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    print("| data | ε | p | dampen | OpenDP | diffprivlib |\n|---|---|---|---|---|---|")
    # Steps near the distance of neighbouring values at the median, or the grid is the error.
    for n, step in ((4096, 0.0002), (65536, 0.0001)):
        x = np.random.default_rng(n).lognormal(size=n)
        compare(f"lognormal, {n}", x, 20.0, step, arguments.runs)
    if arguments.data:
        table = pd.read_csv(arguments.data / "tables" / "adult.csv.gz")
        hours = table["hours-per-week"].to_numpy(dtype=float)
        compare(f"Adult hours, {len(hours)}", hours, 100.0, 1.0, arguments.runs)


if __name__ == "__main__":
    main()
