"""Decision trees (Figure 11 of the paper): cross-validated accuracy over ε.

Ten repetitions of ten-fold cross-validation, depth 2 and 5, ε from 0.01 to 2.  The class is
column 13 of NLTCS, column 10 of ACS and the income of Adult, which has 12 predictors.  The
domains are public, and so is the bound on the rows, 50,000 (1,000 for the quick run).  Beside the
paper's three algorithms: EM without its needless factor 1/2, a tree on the criterion `max`, the
default of `dampen.TreeClassifier`, and an ordinary tree that is not private.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dampen.sampling import InsecureEntropy
from dampen.selection import IntArray
from dampen_studies import datasets
from dampen_studies.datasets import small
from dampen_studies.study import Parameters, Row, Study, seed_of

CLASS_COLUMN = {"nltcs": 13, "acs": 10}
ADULT_RANGES = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
"""Public: the ranges of the questionnaire; ten even bins each."""
NOT_PREDICTORS = ("fnlwgt", "education", "income", "split")
BINS = 10
EPSILONS = ("0.01", "0.05", "0.1", "0.5", "1", "2")
NAMES = {
    "em": "GlobalDiffPID3",
    "em-fair": "GlobalDiffPID3-fair",
    "ld": "LocalDiffPID3",
    "sld": "ShiftedLocalDiffPID3",
}


class Coded(NamedTuple):
    """A table as integer codes, with its public domains."""

    codes: IntArray
    classes: IntArray
    domains: list[Any]
    max_rows: int


@lru_cache(maxsize=1)
def load(name: str) -> Coded:
    """A table of the paper, or the bundled one."""
    if name in small.TABLES:
        return _cancer()
    columns = datasets.load_table(name)
    return _adult(columns) if name == "adult" else _binary(columns, CLASS_COLUMN[name])


def _binary(columns: datasets.Columns, class_column: int) -> Coded:
    from dampen.trees import Categories

    rows = np.column_stack(list(columns.values()))
    others = [c for c in range(rows.shape[1]) if c != class_column]
    domains = [Categories((0, 1))] * len(others)
    return Coded(rows[:, others], rows[:, class_column], domains, 50_000)


def _adult(columns: datasets.Columns) -> Coded:
    """Bins for numbers; the categories are those of the code book, all of which occur."""
    from dampen.trees import Categories, bins

    codes, domains = [], []
    for name, column in columns.items():
        if name in NOT_PREDICTORS:
            continue
        if name in ADULT_RANGES:
            codes.append(bins(*ADULT_RANGES[name], BINS).encode(column))
            domains.append(Categories(range(BINS), ordered=True))
        else:
            values, code = np.unique(column, return_inverse=True)
            codes.append(code)
            domains.append(Categories(range(len(values))))
    classes = (columns["income"] == ">50K").astype(np.int64)
    return Coded(np.column_stack(codes), classes, domains, 50_000)


def _cancer() -> Coded:
    from dampen.trees import Categories, bins

    values, classes = small.table()
    ranges = small.CANCER_RANGES.values()
    codes = [bins(*ends, 5).encode(values[:, i]) for i, ends in enumerate(ranges)]
    domains = [Categories(range(5), ordered=True)] * len(codes)
    return Coded(np.column_stack(codes), classes, domains, 1_000)


def makers() -> dict[str, Callable[..., Any]]:
    """From a method to its unfitted tree: ε, depth, public parameters, entropy."""
    from dampen.trees import TreeClassifier
    from dampen_studies.experiments.paper_trees import paper_tree

    def of_paper(algorithm: str) -> Callable[..., Any]:
        return lambda epsilon, depth, **rest: paper_tree(
            algorithm, epsilon=epsilon, max_depth=depth, **rest
        )

    def simple(epsilon: str, depth: int, **rest: Any) -> Any:
        half = [f"1/{2 * depth}"] * depth + ["1/2"]
        return TreeClassifier(
            epsilon=epsilon, max_depth=depth, criterion="max", shares=half, **rest
        )

    def default(epsilon: str, depth: int, **rest: Any) -> Any:
        return TreeClassifier(epsilon=epsilon, max_depth=depth, **rest)

    return {m: of_paper(name) for m, name in NAMES.items()} | {"max": simple, "default": default}


def folds(rows: int, parts: int, repetition: int, name: str) -> Iterator[tuple[IntArray, IntArray]]:
    """Training and test rows of a shuffled cross-validation, the same for all methods and ε."""
    entropy = InsecureEntropy(seed_of(f"folds of {name}, repetition {repetition}"))
    order = np.argsort(np.frombuffer(entropy.read(8 * rows), dtype="<u8"), kind="stable")
    for part in range(parts):
        test = np.sort(order[part::parts])
        yield np.setdiff1d(order, test), test


def _cells(quick: bool) -> Sequence[Parameters]:
    names: Sequence[str] = small.TABLES if quick else ("nltcs", "acs", "adult")
    repetitions, parts = (1, 4) if quick else (10, 10)
    return [
        {"dataset": name, "depth": depth, "epsilon": epsilon, "run": run, "folds": parts}
        for run in range(repetitions)
        for name in names
        for depth in (2, 5)
        for epsilon in (EPSILONS[1::2] if quick else EPSILONS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name, depth, epsilon = str(cell["dataset"]), int(cell["depth"]), str(cell["epsilon"])
    run, table = int(cell["run"]), load(str(cell["dataset"]))
    public = {"domains": table.domains, "classes": [0, 1], "max_rows": table.max_rows}
    found: dict[str, list[float]] = {}
    for train, test in folds(len(table.codes), int(cell["folds"]), run, name):
        for method, make in makers().items():
            seed = int.from_bytes(entropy.read(8), "big")
            own = InsecureEntropy(seed, allow_release=True)
            tree = make(epsilon, depth, entropy=own, **public)
            tree.fit(table.codes[train], table.classes[train])
            score = tree.score(table.codes[test], table.classes[test])
            found.setdefault(method, []).append(score)
        found.setdefault("plain", []).append(_plain(table, depth, train, test))
    return [
        (name, depth, float(epsilon), method, run, float(np.mean(scores)))
        for method, scores in found.items()
    ]


def _plain(table: Coded, depth: int, train: IntArray, test: IntArray) -> float:
    """An ordinary tree, not private: what there is to gain."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
    tree.fit(table.codes[train], table.classes[train])
    return float(tree.score(table.codes[test], table.classes[test]))


STUDY = Study(
    name="trees",
    title="Decision trees: accuracy",
    figure="Figure 11",
    about="Mean accuracy of ten-fold cross-validation. The paper's EM pays a factor 1/2 that it "
    "does not owe, since information gain is one-sided; without it, it comes close to LD. "
    "Criteria matter more than mechanisms: the default of the library, which splits in "
    "two by gini and on the last level by max, is ahead of the paper's algorithms or "
    "level with them throughout, while max alone loses on ACS and Adult.",
    columns=("dataset", "depth", "epsilon", "method", "run", "accuracy"),
    cells=_cells,
    run=_run,
    minutes=25,
)
