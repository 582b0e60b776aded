"""Every question once, in an environment that holds dampen: `python packaging/questions.py`.

Fails if a question fails, if one is not asked, or if the kernels are not compiled although they
should be (`--plain` expects that they are not).
"""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import dampen
from dampen.datasets import Dataset
from dampen.kernels.primitives import are_compiled
from dampen.questions import QUESTIONS

VOTES = ["tea"] * 90 + ["coffee"] * 30
NUMBERS = {"lower": 0, "upper": 9, "step": 1}
BY = {"by": ["a", "b"] * 60, "groups": ["a", "b"]}
TEN = list(range(10)) * 12
MODEL = {"target": "y", "classes": ["no", "yes"], "max_rows": 200, "epsilon": 1}
TABLE = {"x": [i % 2 for i in range(120)], "y": ["no", "yes"] * 60}
EDGES = [0] * 9, list(range(1, 10))


def models() -> Dataset:
    return dampen.dataset(TABLE, columns={"x": dampen.categories([0, 1])})


def numbers() -> Dataset:
    return dampen.dataset(
        {"x": TABLE["x"], "z": TEN},
        columns={"x": dampen.categories([0, 1]), "z": dampen.number(0, 9)},
    )


ASKED = {
    "most-frequent": lambda: dampen.most_frequent(VOTES, categories=["tea", "coffee"], epsilon=1),
    "keys": lambda: dampen.keys(VOTES, epsilon=1, delta="1e-6"),
    "top-groups": lambda: dampen.top_groups(TEN, **BY, **NUMBERS, epsilon=1),
    "groups-above": lambda: dampen.groups_above(TEN, **BY, **NUMBERS, threshold=4, epsilon=1),
    "percentile": lambda: dampen.percentile(TEN, p=50, **NUMBERS, epsilon=1),
    "percentile-record": lambda: dampen.percentile_record(TEN, p=50, lower=0, upper=9, epsilon=20),
    "count": lambda: dampen.count(TEN, epsilon=1),
    "histogram": lambda: dampen.histogram(TEN, lower=0, upper=10, bins=5, epsilon=1),
    "total": lambda: dampen.total(TEN, **NUMBERS, epsilon=1),
    "mean": lambda: dampen.mean(TEN, **NUMBERS, epsilon=1),
    "top-k": lambda: dampen.top_k(EDGES, n=10, k=1, epsilon=9),
    "tree": lambda: models().tree(**MODEL),
    "regression-tree": lambda: numbers().regression_tree(
        target="z", lower=0, upper=9, max_rows=200, epsilon=1
    ),
    "naive-bayes": lambda: models().naive_bayes(**MODEL),
    "classifier": lambda: models().classifier(**MODEL),
}


def from_a_file() -> dampen.Release:
    with TemporaryDirectory() as place:
        path = Path(place, "votes.csv")
        path.write_text("drink,n\n" + "".join(f"{vote},1\n" for vote in VOTES))
        return dampen.most_frequent(path, "drink", categories=["tea", "coffee"], epsilon=1)


def main() -> None:
    assert set(ASKED) == set(QUESTIONS), set(ASKED) ^ set(QUESTIONS)
    assert are_compiled() != ("--plain" in sys.argv), "kernels: expected the other kind"
    warnings.simplefilter("ignore")
    for ask in (*ASKED.values(), from_a_file):
        ask()
    there = [name for name in ("pyarrow", "sklearn", "duckdb", "rich") if find_spec(name)]
    print(f"{len(ASKED)} questions answered; of other libraries there are: {there or 'none'}")


if __name__ == "__main__":
    main()
