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
    from dampen import data, problems, testing, trees
    from dampen.frequency import most_frequent
    from dampen.groups import top_groups
    from dampen.influence.graphs import egocentric_betweenness
    from dampen.influence.release import top_k
    from dampen.ledger import Ledger
    from dampen.percentiles import percentile
    from dampen.testing import Universe
    from dampen.trees import TreeClassifier, bins

__version__ = "0.2.0"

# Names whose modules import more than numpy: loaded when first used.
_LAZY = {
    "Ledger": "dampen.ledger",
    "TreeClassifier": "dampen.trees",
    "Universe": "dampen.testing",
    "bins": "dampen.trees",
    "data": "dampen.data",
    "egocentric_betweenness": "dampen.influence",
    "most_frequent": "dampen.frequency",
    "percentile": "dampen.percentiles",
    "problems": "dampen.problems",
    "testing": "dampen.testing",
    "top_groups": "dampen.groups",
    "top_k": "dampen.influence",
    "trees": "dampen.trees",
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
    "Universe",
    "accuracy",
    "bins",
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
    "testing",
    "top_groups",
    "top_k",
    "trees",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dampen' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if module.__name__ == f"dampen.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
