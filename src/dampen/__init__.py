"""Differentially private selection by local dampening.

Which node, which attribute, which percentile, which category: released with ε-differential
privacy, with noise that follows the local sensitivity of the data at hand.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dampen import accuracy, errors, mechanisms, noise, sampling, sensitivity
from dampen.errors import (
    BudgetError,
    DampenError,
    DataError,
    ParameterError,
    PrivacyLeakWarning,
)
from dampen.mechanisms import Mechanism, probabilities, select
from dampen.noise import Noise
from dampen.releases import Release, release
from dampen.sampling import InsecureEntropy
from dampen.selection import Neighbours, Problem, Selection

if TYPE_CHECKING:
    from dampen import testing
    from dampen.frequency import most_frequent
    from dampen.influence.graphs import egocentric_betweenness
    from dampen.influence.release import top_k
    from dampen.ledger import Ledger
    from dampen.percentiles import percentile
    from dampen.trees import TreeClassifier, bins

__version__ = "0.1.0"

# Names whose modules import more than numpy: loaded when first used.
_LAZY = {
    "Ledger": "dampen.ledger",
    "TreeClassifier": "dampen.trees",
    "bins": "dampen.trees",
    "egocentric_betweenness": "dampen.influence",
    "most_frequent": "dampen.frequency",
    "percentile": "dampen.percentiles",
    "testing": "dampen.testing",
    "top_k": "dampen.influence",
}

__all__ = [
    "BudgetError",
    "DampenError",
    "DataError",
    "InsecureEntropy",
    "Ledger",
    "Mechanism",
    "Neighbours",
    "Noise",
    "ParameterError",
    "PrivacyLeakWarning",
    "Problem",
    "Release",
    "Selection",
    "TreeClassifier",
    "accuracy",
    "bins",
    "egocentric_betweenness",
    "errors",
    "mechanisms",
    "most_frequent",
    "noise",
    "percentile",
    "probabilities",
    "release",
    "sampling",
    "select",
    "sensitivity",
    "testing",
    "top_k",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dampen' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if module.__name__ == f"dampen.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
