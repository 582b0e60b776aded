"""Fitting private trees against scikit-learn's, on the same integer tables.

    DAMPEN_DATA=... python benchmarks/trees_speed.py

The peer, `DecisionTreeClassifier(criterion="entropy", max_depth=5)`, is not private.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from dampen.questions.classify import TreeClassifier
from dampen_studies.experiments.coded_tables import Coded, load
from dampen_studies.experiments.tree_methods import makers
from timing import compare

DEPTH = 5
PEER = "scikit-learn"
NAMES = {
    PEER: "plain",
    "SLD, as in the paper": "sld",
    "EM one-sided, as in the paper": "em-fair",
    "LD, as in the paper": "ld",
    "SLD, binary": "sld-binary",
    "dampen": "dampen",
}


def measure(title: str, table: Coded, epsilon: str, rounds: int) -> None:
    public = table.public()
    trees = {n: makers()[method](epsilon, DEPTH, **public) for n, method in NAMES.items()}
    fits = {n: lambda t=t: t.fit(table.codes, table.classes) for n, t in trees.items()}
    compare(f"{title}, ε = {epsilon}", fits, PEER, rounds)


def measure_stages(title: str, table: Coded, epsilons: Sequence[str], rounds: int) -> None:
    """Several levels at once, as the default does where ε times the rows is small."""
    public = table.public()
    fits = {PEER: lambda: makers()["plain"]("1", 6, **public).fit(table.codes, table.classes)}
    for epsilon in epsilons:
        tree = TreeClassifier(epsilon, **public)
        fits[f"dampen, stages {tree.plan().stages}"] = partial(tree.fit, table.codes, table.classes)
    compare(f"{title}, ε = {' and '.join(epsilons)}, depth 6", fits, PEER, rounds)


def million(rows: int = 10**6, attributes: int = 20) -> Coded:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, (rows, attributes))
    classes = ((codes[:, 0] + codes[:, 1] * codes[:, 2]) % 10 < 4).astype(np.int64)
    classes ^= rng.random(rows) < 0.1
    return Coded(codes, classes, [10] * attributes, 2 * rows)


if __name__ == "__main__":
    for epsilon in ("1", "10"):
        measure("Adult, 45,222 rows", load("adult"), epsilon, rounds=7)
    measure("10^6 rows, 20 attributes of 10 values", million(), "1", rounds=1)
    measure_stages("Adult, 45,222 rows", load("adult"), ("0.003", "0.03", "0.1"), rounds=7)
    measure_stages("10^6 rows, 20 attributes", million(), ("0.0001", "0.001"), rounds=1)
