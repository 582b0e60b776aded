"""Two installed versions of dampen against each other: questions, warm, in processor time.

    python benchmarks/versions.py OLD_PYTHON NEW_PYTHON

Each is the Python of an environment with scikit-learn and one version.  Both run the same tasks in
turn, several times; the ratio is that of the least times.
"""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

ROUNDS = 3
NODES = 20_000
EDGES = 200_000
ROWS = 1_000_000


def tasks() -> dict[str, Callable[[], Any]]:
    import dampen
    from dampen.core.noise import GUMBEL, LAPLACE
    from dampen.core.sampling import SystemEntropy, noisy_top

    rng = np.random.default_rng(0)
    edges = tuple((NODES * rng.random((2, EDGES)) ** 2).astype(np.int64))
    nodes = {"n": NODES, "k": 5, "epsilon": 1}
    numbers = rng.normal(50, 20, ROWS)
    grid = {"lower": 0, "upper": 100, "step": 0.1, "epsilon": 1}
    groups = {"by": np.arange(ROWS) % 50, "groups": list(range(50))}
    X = rng.integers(0, 8, (30_000, 10))
    y = ((X[:, 0] > 3) ^ (X[:, 1] > 5)).astype(int)
    model = {"domains": [8] * 10, "classes": [0, 1], "max_rows": 30_000}
    draw = (numbers, Fraction(1), GUMBEL, 1, SystemEntropy())
    joint = (numbers, Fraction(1), LAPLACE, 20, SystemEntropy())
    return {
        "betweenness": lambda: dampen.top_k(edges, **nodes, metric="betweenness"),
        "degree": lambda: dampen.top_k(edges, **nodes, metric="degree"),
        "percentile": lambda: dampen.percentile(numbers, p=50, **grid),
        "nine percentiles": lambda: dampen.percentile(numbers, p=list(range(10, 100, 10)), **grid),
        "tree": lambda: dampen.TreeClassifier(1, **model).fit(X, y),
        "tree of depth 4": lambda: dampen.TreeClassifier(1, **model, max_depth=4).fit(X, y),
        "naive Bayes": lambda: dampen.NaiveBayesClassifier(1, **model).fit(X, y),
        "top groups": lambda: dampen.top_groups(numbers, **groups, **grid),
        "draw of 10^6, Gumbel": lambda: noisy_top(*draw),
        "draw of 10^6, Laplace, k = 20": lambda: noisy_top(*joint),
    }


def least_times() -> dict[str, float]:
    found = {}
    for name, task in tasks().items():
        task()
        taken = []
        for _ in range(5):
            start = time.process_time()
            task()
            taken.append(time.process_time() - start)
        found[name] = min(taken)
    return found


def main() -> None:
    if len(sys.argv) == 1:
        warnings.simplefilter("ignore")
        print(json.dumps(least_times()))
        return
    runs: list[list[dict[str, float]]] = [[], []]
    for _ in range(ROUNDS):
        for python, kept in zip(sys.argv[1:3], runs, strict=True):
            done = subprocess.run([python, __file__], capture_output=True, text=True, check=True)
            kept.append(json.loads(done.stdout))
    print("| task | old, s | new, s | new / old |\n|---|---|---|---|")
    for name in runs[0][0]:
        old, new = (min(run[name] for run in kept) for kept in runs)
        print(f"| {name} | {old:.4f} | {new:.4f} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
