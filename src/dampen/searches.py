"""What a search of scikit-learn costs an estimator that charges a budget.

A search fits clones, settings times folds and once more, and each fit is a release of its own: a
grid search multiplies ε silently.  Nothing in scikit-learn tells an estimator that it is about to
be searched, but a search clones its estimator once before it begins, and is then to be found among
the callers.
"""

import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from types import FrameType
from typing import Any

from dampen.epsilon import decimal_text, exact

__all__ = ["SearchCostWarning", "search_cost", "warn_of_search"]


class SearchCostWarning(UserWarning):
    """A search is about to charge a budget for every fit."""


def warn_of_search(epsilon: Fraction) -> None:
    """To be called when an estimator with a budget is cloned: warns if a search just begins."""
    search = _beginning_search(sys._getframe(1))
    if search is None:
        return
    cost = search_cost(search, epsilon)
    name = type(search).__name__
    if cost is None:
        told = f"{name} will charge epsilon {decimal_text(epsilon)} or more for every fit."
    else:
        told = f"{name} will fit {cost[0]} times and charge epsilon {decimal_text(cost[1])} in all."
    warnings.warn(
        f"{told} Its scores on private rows are not private either. dampen.tune chooses among "
        "private candidates with a proved total cost.",
        SearchCostWarning,
        stacklevel=3,
    )


def search_cost(search: Any, epsilon: Fraction) -> tuple[int, Fraction] | None:
    """How often a search fits and the ε of all fits; None where that cannot be known.

    Args:
        search: a `GridSearchCV` or `RandomizedSearchCV`.
        epsilon: of the estimator; settings may name others.
    """
    folds = _folds(search.cv)
    settings = _settings(search)
    if folds is None or settings is None:
        return None
    costs = [_epsilon_in(setting, epsilon) for setting in settings]
    again = max(costs) if search.refit else Fraction(0)
    return len(costs) * folds + bool(search.refit), folds * sum(costs, Fraction(0)) + again


def _settings(search: Any) -> list[dict[str, Any]] | None:
    from sklearn.model_selection import ParameterGrid

    if hasattr(search, "param_grid"):
        return list(ParameterGrid(search.param_grid))
    drawn = getattr(search, "param_distributions", None)
    names_epsilon = not isinstance(drawn, dict) or any(_is_epsilon(name) for name in drawn)
    if names_epsilon or not isinstance(getattr(search, "n_iter", None), int):
        return None
    return [{}] * search.n_iter


def _epsilon_in(setting: dict[str, Any], epsilon: Fraction) -> Fraction:
    named = [value for name, value in setting.items() if _is_epsilon(name)]
    return exact(named[0]) if named else epsilon


def _is_epsilon(name: str) -> bool:
    return name.rpartition("__")[2] == "epsilon"


def _folds(cv: Any) -> int | None:
    """How many folds, of what can be said without the data."""
    if cv is None:
        return 5
    if isinstance(cv, int):
        return cv
    if hasattr(cv, "get_n_splits"):
        try:
            return int(cv.get_n_splits())
        except (TypeError, ValueError):
            return None
    return len(cv) if isinstance(cv, Sequence) else None


def _beginning_search(frame: FrameType | None) -> Any:
    """The search that has not begun yet, if one clones its estimator now."""
    module = sys.modules.get("sklearn.model_selection._search")
    if module is None:
        return None
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, module.BaseSearchCV):
            begins = frame.f_code.co_name == "fit" and "base_estimator" not in frame.f_locals
            return caller if begins else None
        frame = frame.f_back
    return None
