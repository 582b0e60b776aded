"""Differentially private selection by local dampening.

Which node, which attribute, which percentile, which category: released with ε-differential
privacy, with noise that follows the local sensitivity of the data at hand.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dampen import (
        accuracy,
        data,
        errors,
        mechanisms,
        noise,
        problems,
        sampling,
        sensitivity,
        testing,
        trees,
    )
    from dampen.bayes import NaiveBayesClassifier
    from dampen.client import connect
    from dampen.errors import (
        BudgetError,
        DampenError,
        DataError,
        ParameterError,
        PrivacyLeakWarning,
    )
    from dampen.frequency import most_frequent
    from dampen.groups import top_groups
    from dampen.influence import egocentric_betweenness, top_k
    from dampen.ledger import Ledger
    from dampen.mechanisms import Mechanism, probabilities, select
    from dampen.models import Classifier
    from dampen.noise import Noise
    from dampen.percentiles import percentile
    from dampen.releases import Release, release
    from dampen.sampling import InsecureEntropy
    from dampen.selection import Neighbours, Problem, Selection
    from dampen.testing import Universe
    from dampen.trees import TreeClassifier, bins
    from dampen.tuning import tune
    from dampen.versions import show_versions

__version__ = "0.2.0"

# Loaded when first used: the command line starts before numpy has, and trees wait for scikit-learn.
_HOME = {
    "BudgetError": "dampen.errors",
    "Classifier": "dampen.models",
    "DampenError": "dampen.errors",
    "DataError": "dampen.errors",
    "InsecureEntropy": "dampen.sampling",
    "Ledger": "dampen.ledger",
    "Mechanism": "dampen.mechanisms",
    "NaiveBayesClassifier": "dampen.bayes",
    "Neighbours": "dampen.selection",
    "Noise": "dampen.noise",
    "ParameterError": "dampen.errors",
    "PrivacyLeakWarning": "dampen.errors",
    "Problem": "dampen.selection",
    "Release": "dampen.releases",
    "Selection": "dampen.selection",
    "TreeClassifier": "dampen.trees",
    "Universe": "dampen.testing",
    "accuracy": "dampen.accuracy",
    "bins": "dampen.trees",
    "connect": "dampen.client",
    "data": "dampen.data",
    "egocentric_betweenness": "dampen.influence",
    "errors": "dampen.errors",
    "mechanisms": "dampen.mechanisms",
    "most_frequent": "dampen.frequency",
    "noise": "dampen.noise",
    "percentile": "dampen.percentiles",
    "probabilities": "dampen.mechanisms",
    "problems": "dampen.problems",
    "release": "dampen.releases",
    "sampling": "dampen.sampling",
    "select": "dampen.mechanisms",
    "sensitivity": "dampen.sensitivity",
    "show_versions": "dampen.versions",
    "testing": "dampen.testing",
    "top_groups": "dampen.groups",
    "top_k": "dampen.influence",
    "trees": "dampen.trees",
    "tune": "dampen.tuning",
}

__all__ = [
    "BudgetError",
    "Classifier",
    "DampenError",
    "DataError",
    "InsecureEntropy",
    "Ledger",
    "Mechanism",
    "NaiveBayesClassifier",
    "Neighbours",
    "Noise",
    "ParameterError",
    "PrivacyLeakWarning",
    "Problem",
    "Release",
    "Selection",
    "TreeClassifier",
    "Universe",
    "accuracy",
    "bins",
    "connect",
    "data",
    "egocentric_betweenness",
    "errors",
    "mechanisms",
    "most_frequent",
    "noise",
    "percentile",
    "probabilities",
    "problems",
    "release",
    "sampling",
    "select",
    "sensitivity",
    "show_versions",
    "testing",
    "top_groups",
    "top_k",
    "trees",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dampen' has no attribute {name!r}")
    module = import_module(_HOME[name])
    return module if module.__name__ == f"dampen.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
