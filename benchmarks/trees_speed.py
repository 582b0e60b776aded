"""Fitting time of private trees against scikit-learn's, in one run on the same integer tables.

    DAMPEN_DATA=... python benchmarks/trees_speed.py

The peer, `DecisionTreeClassifier(criterion="entropy", max_depth=5)`, is not private.  Every ratio
is the median over rounds that alternate between the two.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dampen.trees import TreeClassifier
from dampen_studies.experiments.paper_trees import paper_tree
from trees_data import adult_table

DEPTH = 5
ROUNDS = 7


def seconds(fit: Callable[[], Any]) -> float:
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def medians(fits: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, in alternation, after one round that compiles."""
    for fit in fits.values():
        fit()
    times: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            times[name].append(seconds(fit))
    return {name: statistics.median(t) for name, t in times.items()}


def estimators(epsilon: str, public: dict[str, Any]) -> dict[str, Any]:
    return {
        "sklearn": DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH),
        "sld (paper)": paper_tree(
            "ShiftedLocalDiffPID3", epsilon=epsilon, max_depth=DEPTH, **public
        ),
        "em (paper)": paper_tree("GlobalDiffPID3-fair", epsilon=epsilon, max_depth=DEPTH, **public),
        "ld (paper)": paper_tree("LocalDiffPID3", epsilon=epsilon, max_depth=DEPTH, **public),
        "sld, binary": TreeClassifier(epsilon=epsilon, max_depth=DEPTH, mechanism="sld", **public),
        "em, binary": TreeClassifier(
            epsilon=epsilon, max_depth=DEPTH, mechanism="em", criterion="information-gain", **public
        ),
        "default": TreeClassifier(epsilon=epsilon, max_depth=DEPTH, **public),
    }


def print_ratios(name: str, found: dict[str, float]) -> None:
    print(
        f"\n### {name}\n\n| tree of depth {DEPTH} | seconds | times scikit-learn |\n|---|---|---|"
    )
    for method, time_taken in found.items():
        print(f"| {method} | {time_taken:.3f} | {time_taken / found['sklearn']:.2f} |")
    for branching in ("(paper)", "binary"):
        separator = " " if branching == "(paper)" else ", "
        ratio = found[f"sld{separator}{branching}"] / found[f"em{separator}{branching}"]
        print(f"\nSLD against EM, {branching.strip('()')}: {ratio:.2f}")


def adult(rounds: int) -> None:
    table = adult_table()
    for epsilon in ("1", "10"):
        trees = estimators(epsilon, table.public())
        fits = {n: lambda t=t: t.fit(table.codes, table.classes) for n, t in trees.items()}
        print_ratios(f"Adult, {len(table.codes)} rows, ε = {epsilon}", medians(fits, rounds))


def million(rounds: int, rows: int = 10**6, attributes: int = 20) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, (rows, attributes))
    classes = ((codes[:, 0] + codes[:, 1] * codes[:, 2]) % 10 < 4).astype(np.int64)
    classes ^= rng.random(rows) < 0.1
    public = {"domains": [10] * attributes, "classes": [0, 1], "max_rows": 2 * rows}
    trees = estimators("1", public)
    wanted = ("sklearn", "sld (paper)", "em (paper)", "sld, binary", "em, binary", "default")
    fits = {n: lambda t=trees[n]: t.fit(codes, classes) for n in wanted}
    print_ratios(f"{rows} rows, {attributes} attributes of 10 values, ε = 1", medians(fits, rounds))


if __name__ == "__main__":
    adult(ROUNDS)
    million(1)
