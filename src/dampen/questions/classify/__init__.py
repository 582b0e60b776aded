"""Private classifiers as scikit-learn estimators: trees (application 3 of the paper, and beyond
it), naive Bayes, and the one of both that public facts recommend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dampen.questions.classify.encoding import Bins, Categories, bins

if TYPE_CHECKING:
    from dampen.questions.classify.bayes import NaiveBayesClassifier
    from dampen.questions.classify.model import Classifier
    from dampen.questions.classify.tree import TreeClassifier

__all__ = ["Bins", "Categories", "Classifier", "NaiveBayesClassifier", "TreeClassifier", "bins"]

# scikit-learn takes a second to import; domains, schemas and problems do without it.
_HOME = {"Classifier": "model", "NaiveBayesClassifier": "bayes", "TreeClassifier": "tree"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
