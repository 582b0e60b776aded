"""The tables of the tree studies as integer codes, with public domains.

The class is column 13 of NLTCS, column 10 of ACS (both counted from 0) and the income of Adult,
which is predicted from all columns but fnlwgt and education.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen_studies import datasets
from dampen_studies.datasets import small

TABLES = ("nltcs", "acs", "adult")
CLASS_COLUMN = {"nltcs": 13, "acs": 10}
ADULT_RANGES = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
"""Public: the ranges of the questionnaire; even bins each."""
NOT_PREDICTORS = ("fnlwgt", "education", "income", "split")
MAX_ROWS = 50_000
"""The public bound on the rows of the paper's tables."""


class Coded(NamedTuple):
    """A table as integer codes, with its public domains and bound on the rows."""

    codes: IntArray
    classes: IntArray
    domains: list[Any]
    max_rows: int

    def public(self) -> dict[str, Any]:
        """What `TreeClassifier` is told."""
        return {"domains": self.domains, "classes": [0, 1], "max_rows": self.max_rows}


@lru_cache(maxsize=1)
def load(name: str) -> Coded:
    """A table of the paper, or the bundled one."""
    if name in small.TABLES:
        return _cancer()
    columns = datasets.load_table(name)
    return adult(columns, bin_count=10) if name == "adult" else _binary(columns, CLASS_COLUMN[name])


@lru_cache(maxsize=1)
def official_split(name: str) -> tuple[Coded, NDArray[np.bool_]]:
    """All of Adult in twenty bins, and which rows are for training; every third of a bundled one
    is for testing.
    """
    if name in small.TABLES:
        coded = _cancer()
        return coded, np.arange(len(coded.classes)) % 3 != 0
    columns = datasets.load_table(name)
    return adult(columns, bin_count=20), columns["split"] == "train"


def adult(columns: datasets.Columns, bin_count: int) -> Coded:
    """Bins for numbers; the categories are those of the code book, all of which occur."""
    from dampen.questions.classify import Categories, bins

    codes = []
    domains = []
    for name, column in columns.items():
        if name in NOT_PREDICTORS:
            continue
        if name in ADULT_RANGES:
            codes.append(bins(*ADULT_RANGES[name], bin_count).encode(column))
            domains.append(Categories(range(bin_count), ordered=True))
        else:
            values, code = np.unique(column, return_inverse=True)
            codes.append(code)
            domains.append(Categories(range(len(values))))
    classes = (columns["income"] == ">50K").astype(np.int64)
    return Coded(np.column_stack(codes), classes, domains, MAX_ROWS)


def _binary(columns: datasets.Columns, class_column: int) -> Coded:
    from dampen.questions.classify import Categories

    rows = np.column_stack(list(columns.values()))
    others = [c for c in range(rows.shape[1]) if c != class_column]
    domains = [Categories((0, 1))] * len(others)
    return Coded(rows[:, others], rows[:, class_column], domains, MAX_ROWS)


def _cancer() -> Coded:
    from dampen.questions.classify import Categories, bins

    values, classes = small.table()
    ranges = small.CANCER_RANGES.values()
    codes = [bins(*ends, 5).encode(values[:, i]) for i, ends in enumerate(ranges)]
    domains = [Categories(range(5), ordered=True)] * len(codes)
    return Coded(np.column_stack(codes), classes, domains, 1_000)
