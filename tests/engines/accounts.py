"""A budget that remembers, and every application as a question about the same two columns."""

from collections.abc import Callable, Iterator
from typing import Any

import dampen
from dampen.errors import BudgetError

VALUE = {"p": 50, "lower": 0, "upper": 9, "step": 1, "epsilon": "1"}
TREE = {"domains": {"pay": dampen.bins(0, 9, 3)}, "classes": [0, 1], "max_rows": 9}


class Account:
    """Counts charges; refuses if it is told to."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse, self.charges = refuse, 0

    def charge(self, _: Any, /) -> str:
        if self.refuse:
            raise BudgetError("not enough left")
        self.charges += 1
        return "c-1"


def ask_all(data: Any, budget: Account) -> Iterator[Callable[[], Any]]:
    """Every application on the columns `pay` and `x`."""
    yield lambda: dampen.percentile(data, "pay", **VALUE, budget=budget)
    yield lambda: dampen.percentile_record(
        data, "pay", p=50, labels="x", upper=9, epsilon="1", budget=budget
    )
    yield lambda: dampen.most_frequent(data, "pay", categories=[1], epsilon="1", budget=budget)
    yield lambda: dampen.top_groups(
        data, "pay", by="x", groups=[0, 1], lower=0, upper=9, step=1, epsilon="1", budget=budget
    )
    ends = {"source": "pay", "target": "x", "n": 3}
    yield lambda: dampen.top_k(data, **ends, epsilon="1", budget=budget)
    yield lambda: dampen.top_k(data, **ends, k=3, epsilon="1", budget=budget)
    yield lambda: dampen.TreeClassifier("1", **TREE, budget=budget).fit_table(data, target="x")
