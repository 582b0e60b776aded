"""The trees that are compared: the paper's algorithms by name, variants of them, and ours.

The paper's are in `dampen.paper.id3`.  `em-fair` is `GlobalDiffPID3` without the factor 1/2, since
information gain is one-sided; `pf`, `ld-pf` and `sld-pf` put permute-and-flip into the same
template.

`dampen` and `dampen-depth` are here the default of 0.1 (`model_methods.former`), on which the
published tables were made; the study `models` compares it with the default of today.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from dampen.core.sampling import SystemEntropy
from dampen_studies.experiments.level_trees import LevelTree, StoppingMax, by_max, level_tree
from dampen_studies.experiments.model_methods import former

Maker: TypeAlias = Callable[..., Any]
"""From epsilon, depth and public parameters to an estimator that is not fitted."""


def makers() -> dict[str, Maker]:
    """Every method by its short name."""
    return {
        "em": _paper("em", one_sided=False),
        "em-fair": _paper("em"),
        "ld": _paper("ld"),
        "sld": _paper("sld"),
        "sulq": _paper("sulq"),
        "pf": _paper("pf"),
        "ld-pf": _paper("ld-pf"),
        "sld-pf": _paper("sld-pf"),
        "sld-binary": _binary("sld"),
        "ld-pf-binary": _binary("ld-pf"),
        "sld-pf-binary": _binary("sld-pf"),
        "max-multiway": _max_multiway,
        "max": _max,
        "dampen": former,
        "dampen-depth": _own_depth,
        "plain": _plain,
    }


def _paper(mechanism: str, *, one_sided: bool = True) -> Maker:
    def make(epsilon: str, depth: int, **public: Any) -> Any:
        from dampen.paper.id3 import DiffPID3

        return DiffPID3(
            epsilon, mechanism=mechanism, one_sided=one_sided, max_depth=depth, **public
        )

    return make


def _binary(mechanism: str) -> Maker:
    def make(epsilon: str, depth: int, **public: Any) -> Any:
        return level_tree(epsilon, depth, mechanism=mechanism, **public)

    return make


def _max_multiway(epsilon: str, depth: int, **public: Any) -> Any:
    """The template of the paper with the criterion max and one branch per value."""
    domains = public["domains"]
    query = Fraction(epsilon) / (2 * (depth + 1))
    rule = StoppingMax(query, public["max_rows"], depth, max(map(len, domains)))
    entropy = public.get("entropy") or SystemEntropy()
    return LevelTree(rule, domains, len(public["classes"]), "multiway", entropy)


def _max(epsilon: str, depth: int, **public: Any) -> Any:
    """Criterion max with half of ε for the leaves."""
    half = [Fraction(1, 2 * depth)] * depth + [Fraction(1, 2)]
    return level_tree(epsilon, depth, criterion=by_max, shares=half, **public)


def _own_depth(epsilon: str, depth: int, **public: Any) -> Any:
    """The same with the depth that it chooses itself."""
    del depth
    return former(epsilon, None, **public)


def _plain(epsilon: str, depth: int, **public: Any) -> Any:
    """An ordinary tree, not private: what there is to gain."""
    from sklearn.tree import DecisionTreeClassifier

    del epsilon, public
    return DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
