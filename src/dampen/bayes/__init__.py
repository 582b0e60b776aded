"""Naive Bayes from noisy histograms, as a scikit-learn estimator."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dampen.bayes.classifier import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier"]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import; the mathematics does without it.
    if name != "NaiveBayesClassifier":
        raise AttributeError(f"module 'dampen.bayes' has no attribute {name!r}")
    from dampen.bayes.classifier import NaiveBayesClassifier

    return NaiveBayesClassifier
