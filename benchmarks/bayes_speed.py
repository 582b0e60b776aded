"""Fitting a private naive Bayes against a bare histogram of the same integer table.

    python benchmarks/bayes_speed.py

The peer counts (value, class) of every attribute with `numpy.bincount` and does nothing else: no
check of any value, no noise.
"""

import numpy as np

from dampen import NaiveBayesClassifier
from timing import compare

PEER = "bare histogram"


def measure(rows: int, attributes: int, values: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, values, (rows, attributes))
    y = rng.integers(0, classes, rows)
    model = NaiveBayesClassifier("1", domains=[values] * attributes, classes=range(classes))

    def bare() -> None:
        for a in range(attributes):
            np.bincount(codes[:, a] * classes + y, minlength=values * classes)

    title = f"{rows:,} rows, {attributes} attributes of {values} values, {classes} classes"
    compare(title, {PEER: bare, "dampen": lambda: model.fit(codes, y)}, PEER, rounds=5)


if __name__ == "__main__":
    measure(10**5, 20, 10, 2)
    measure(10**6, 20, 10, 2)
    measure(10**6, 20, 10, 26)
