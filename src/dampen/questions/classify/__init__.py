"""Private models as scikit-learn estimators.

Trees (application 3 of the paper, and beyond it) for classes and for numbers, naive Bayes, and the
classifier that public facts recommend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dampen.questions.classify.encoding import Bins, Categories, bins

if TYPE_CHECKING:
    from dampen.questions.classify.estimator import (
        Classifier,
        NaiveBayesClassifier,
        TreeClassifier,
        TreeRegressor,
    )

__all__ = [
    "Bins",
    "Categories",
    "Classifier",
    "NaiveBayesClassifier",
    "TreeClassifier",
    "TreeRegressor",
    "bins",
]

# scikit-learn takes a second to import; domains, questions and problems do without it.
_ESTIMATORS = ("Classifier", "NaiveBayesClassifier", "TreeClassifier", "TreeRegressor")


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.estimator"), name)
