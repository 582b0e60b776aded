"""Private decision trees as scikit-learn estimators (application 3, and beyond it)."""

from dampen.trees.classifier import TreeClassifier
from dampen.trees.encoding import Bins, Categories, bins

__all__ = ["Bins", "Categories", "TreeClassifier", "bins"]
