"""Private decision trees as scikit-learn estimators (application 3 of the paper, and beyond it)."""

from typing import TYPE_CHECKING, Any

from dampen.trees.encoding import Bins, Categories, bins

if TYPE_CHECKING:
    from dampen.trees.classifier import TreeClassifier

__all__ = ["Bins", "Categories", "TreeClassifier", "bins"]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import; domains, schemas and problems do without it.
    if name != "TreeClassifier":
        raise AttributeError(f"module 'dampen.trees' has no attribute {name!r}")
    from dampen.trees.classifier import TreeClassifier

    return TreeClassifier
