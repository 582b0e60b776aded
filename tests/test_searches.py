"""What a search of scikit-learn says before it charges a budget, and what it then charges."""

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import Pipeline

from dampen.ledger import Account, Ledger
from dampen.questions.classify import TreeClassifier
from dampen.searches import SearchCostWarning, search_cost

X, Y = np.array([[0], [1]] * 20), np.array([0, 1] * 20)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Ledger(tmp_path / "ledger").create("b", epsilon=100, neighbours="add-remove-row")


def tree(account: Account | None, **changes: Any) -> TreeClassifier:
    public = {"domains": [[0, 1]], "classes": [0, 1], "max_rows": 100, "budget": account}
    return TreeClassifier(epsilon="0.1", **public | changes)


def said(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message) for each in caught if each.category is SearchCostWarning]


@pytest.mark.parametrize(
    ("grid", "options", "fits", "epsilon"),
    [
        ({"max_depth": [1, 2, 3]}, {"cv": 4}, 13, "1.3"),
        ({"max_depth": [1, 2]}, {}, 11, "1.1"),
        ({"max_depth": [1, 2]}, {"cv": KFold(3), "refit": False}, 6, "0.6"),
        ({"epsilon": ["0.1", "0.5"]}, {"cv": 2}, 5, "1.7"),
    ],
)
def test_a_grid_search_says_what_it_will_charge(
    account: Account, grid: dict, options: dict, fits: int, epsilon: str
) -> None:
    search = GridSearchCV(tree(account), grid, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, Y)
    (told,) = said(caught)
    assert f"GridSearchCV will fit {fits} times and charge epsilon {epsilon} in all." in told
    charged = sum((row.epsilon or 0 for row in account.history), Fraction(0))
    assert len(account.history) == fits
    assert charged <= Fraction(epsilon)  # exactly, but for a refit at a smaller ε of the grid
    assert charged == Fraction(epsilon) or "epsilon" in grid


def test_it_is_said_before_anything_is_charged(account: Account) -> None:
    search = GridSearchCV(tree(account), {"max_depth": [1, 2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchCostWarning)
        with pytest.raises(SearchCostWarning):
            search.fit(X, Y)
    assert account.spent == 0


def test_a_pipeline_and_a_random_search(account: Account) -> None:
    steps = Pipeline([("tree", tree(account))])
    search = RandomizedSearchCV(steps, {"tree__max_depth": [1, 2, 3]}, n_iter=2, cv=2)
    with pytest.warns(SearchCostWarning, match=r"fit 5 times and charge epsilon 0\.5 in all"):
        search.fit(X, Y)
    assert account.spent == Fraction("0.5")


def test_what_cannot_be_known_is_said_so(account: Account) -> None:
    for search in (
        GridSearchCV(tree(account), {"max_depth": [1]}, cv=LeaveOneOut()),
        RandomizedSearchCV(tree(account), {"epsilon": ["0.1", "0.2"]}, n_iter=2),
    ):
        assert search_cost(search, Fraction(1)) is None
    unknown = GridSearchCV(tree(account), {"max_depth": [1]}, cv=LeaveOneOut())
    with pytest.warns(SearchCostWarning, match=r"epsilon 0\.1 or more for every fit"):
        unknown.fit(X[:4], Y[:4])


def test_nothing_is_said_without_a_budget_or_a_search(account: Account) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GridSearchCV(tree(None), {"max_depth": [1, 2]}, cv=2).fit(X, Y)
        clone(tree(account))
        cross_val_score(tree(account), X, Y, cv=2)
