"""Every release function with an account of a ledger: paid first, read afterwards."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dampen.errors import BudgetError
from dampen.frequency.release import most_frequent
from dampen.influence.release import top_k
from dampen.ledger import Account, Ledger
from dampen.percentiles.release import percentile
from dampen.trees import TreeClassifier


class Unread:
    """A column of three values that must not be looked at."""

    columns = ("a",)

    def __len__(self) -> int:
        return 3

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("the data was read before the charge")

    def __iter__(self) -> Any:
        raise AssertionError("the data was read before the charge")


def ask_percentile(budget: Account, data: Any) -> Any:
    return percentile(data, p=50, epsilon="0.6", upper=10, budget=budget)


def ask_value(budget: Account, data: Any) -> Any:
    return percentile(data, p=50, epsilon="0.6", upper=10, release="value", step=1, budget=budget)


def ask_frequent(budget: Account, data: Any) -> Any:
    return most_frequent(data, categories=[1, 2, 3], epsilon="0.6", budget=budget)


def ask_top_k(budget: Account, data: Any) -> Any:
    return top_k((data, data), n=5, k=1, epsilon="0.6", budget=budget)


def ask_tree(budget: Account, data: Any) -> Any:
    table = data if isinstance(data, Unread) else np.reshape(data, (-1, 1))
    public = {"domains": [[1, 2, 3]], "classes": [1, 2, 3], "max_rows": 9}
    return TreeClassifier("0.6", budget=budget, **public).fit(table, data)


RELATIONS: dict[Callable[[Account, Any], Any], str] = {
    ask_percentile: "replace-one",
    ask_value: "replace-one",
    ask_frequent: "add-remove-row",
    ask_top_k: "add-remove-edge",
    ask_tree: "add-remove-row",
}


@pytest.mark.parametrize("ask", RELATIONS)
def test_a_release_is_paid_exactly_once(tmp_path: Path, ask: Any) -> None:
    ledger = Ledger(tmp_path / "ledger")
    account = ledger.create("b", epsilon=1, neighbours=RELATIONS[ask]).by("ana", "d")
    ask(account, np.array([1, 2, 3]))
    (charge,) = ledger.history("b")
    assert charge.epsilon == Fraction(3, 5)
    assert (charge.analyst, charge.dataset, charge.neighbours) == ("ana", "d", RELATIONS[ask])
    assert charge.query
    assert charge.mechanism


@pytest.mark.parametrize("ask", RELATIONS)
def test_a_refused_release_does_not_look(tmp_path: Path, ask: Any) -> None:
    ledger = Ledger(tmp_path / "ledger")
    account = ledger.create("b", epsilon="0.5", neighbours=RELATIONS[ask])
    with pytest.raises(BudgetError, match="is left"):
        ask(account, Unread())
    assert ledger.history("b") == []


@pytest.mark.parametrize("ask", RELATIONS)
def test_another_relation_is_refused(tmp_path: Path, ask: Any) -> None:
    other = "replace-one" if RELATIONS[ask] == "add-remove-edge" else "add-remove-edge"
    account = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours=other)
    with pytest.raises(BudgetError, match="cannot share a budget"):
        ask(account, Unread())
    assert account.spent == 0
