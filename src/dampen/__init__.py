"""Private answers about people's data: which, and how much, with proof.

The best group, the most frequent category, percentiles, counts and means, influential nodes and
classifiers, with ε-differential privacy for a person, a row or an edge.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dampen import data, errors, paper, problems, testing, workbench
    from dampen.client import connect
    from dampen.core import error_analysis as accuracy
    from dampen.core import mechanisms, noise, sampling, sensitivity
    from dampen.core.mechanisms import Mechanism, probabilities, select
    from dampen.core.noise import Noise
    from dampen.core.sampling import InsecureEntropy
    from dampen.core.selection import Neighbours, Problem, Selection
    from dampen.data.warehouse import warehouse
    from dampen.errors import (
        MISSING,
        OTHER,
        BudgetError,
        DampenError,
        DataError,
        ParameterError,
        PrivacyLeakWarning,
    )
    from dampen.ledger import Ledger
    from dampen.questions.classify import (
        Classifier,
        NaiveBayesClassifier,
        TreeClassifier,
        TreeRegressor,
        bins,
    )
    from dampen.questions.counts import count, histogram
    from dampen.questions.frequency import most_frequent
    from dampen.questions.groups import groups_above, top_groups
    from dampen.questions.keys import keys, universe
    from dampen.questions.means import mean, total
    from dampen.questions.nodes import egocentric_betweenness, top_k
    from dampen.questions.percentile import percentile, percentile_record
    from dampen.questions.watch import watch
    from dampen.releases.answer import release
    from dampen.releases.release import Release
    from dampen.releases.tuning import tune
    from dampen.testing import Universe
    from dampen.versions import show_versions

__version__ = "0.2.0"

# Loaded when first used: the command line starts before numpy has, and trees wait for scikit-learn.
_HOME = {
    "MISSING": "dampen.errors",
    "OTHER": "dampen.errors",
    "BudgetError": "dampen.errors",
    "Classifier": "dampen.questions.classify",
    "DampenError": "dampen.errors",
    "DataError": "dampen.errors",
    "InsecureEntropy": "dampen.core.sampling",
    "Ledger": "dampen.ledger",
    "Mechanism": "dampen.core.mechanisms",
    "NaiveBayesClassifier": "dampen.questions.classify",
    "Neighbours": "dampen.core.selection",
    "Noise": "dampen.core.noise",
    "ParameterError": "dampen.errors",
    "PrivacyLeakWarning": "dampen.errors",
    "Problem": "dampen.core.selection",
    "Release": "dampen.releases.release",
    "Selection": "dampen.core.selection",
    "TreeClassifier": "dampen.questions.classify",
    "TreeRegressor": "dampen.questions.classify",
    "Universe": "dampen.testing",
    "bins": "dampen.questions.classify",
    "categories": "dampen.datasets",
    "connect": "dampen.client",
    "count": "dampen.questions.counts",
    "dataset": "dampen.datasets",
    "egocentric_betweenness": "dampen.questions.nodes",
    "groups_above": "dampen.questions.groups",
    "histogram": "dampen.questions.counts",
    "keys": "dampen.questions.keys",
    "mean": "dampen.questions.means",
    "most_frequent": "dampen.questions.frequency",
    "names": "dampen.datasets",
    "number": "dampen.datasets",
    "percentile": "dampen.questions.percentile",
    "percentile_record": "dampen.questions.percentile",
    "probabilities": "dampen.core.mechanisms",
    "release": "dampen.releases.answer",
    "select": "dampen.core.mechanisms",
    "show_versions": "dampen.versions",
    "top_groups": "dampen.questions.groups",
    "top_k": "dampen.questions.nodes",
    "total": "dampen.questions.means",
    "tune": "dampen.releases.tuning",
    "universe": "dampen.questions.keys",
    "warehouse": "dampen.data.warehouse",
    "watch": "dampen.questions.watch",
}
_MODULES = {
    "accuracy": "dampen.core.error_analysis",
    "data": "dampen.data",
    "errors": "dampen.errors",
    "mechanisms": "dampen.core.mechanisms",
    "noise": "dampen.core.noise",
    "paper": "dampen.paper",
    "problems": "dampen.problems",
    "sampling": "dampen.core.sampling",
    "sensitivity": "dampen.core.sensitivity",
    "testing": "dampen.testing",
    "workbench": "dampen.workbench",
}

__all__ = [
    "MISSING",
    "OTHER",
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
    "TreeRegressor",
    "Universe",
    "accuracy",
    "bins",
    "categories",
    "connect",
    "count",
    "data",
    "dataset",
    "egocentric_betweenness",
    "errors",
    "groups_above",
    "histogram",
    "keys",
    "mean",
    "mechanisms",
    "most_frequent",
    "names",
    "noise",
    "number",
    "paper",
    "percentile",
    "percentile_record",
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
    "total",
    "tune",
    "universe",
    "warehouse",
    "watch",
    "workbench",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dampen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
