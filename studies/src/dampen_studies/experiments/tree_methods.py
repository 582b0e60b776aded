"""The trees that are compared: the paper's algorithms by name, variants of them, and ours.

The paper's follow one template (Friedman & Schuster 2010): one branch per value, per node a noisy
count that may stop the branch, then one selection of an attribute, or noisy class counts in a leaf;
each query has ε' = ε / (2 (d+1)).  They differ in how the attribute is selected:

| name | selection by information gain |
|---|---|
| `GlobalDiffPID3` | exponential mechanism with the factor 1/2, as printed |
| `GlobalDiffPID3-fair` | the same without it: information gain is one-sided |
| `LocalDiffPID3` | local dampening |
| `ShiftedLocalDiffPID3` | shifted local dampening |
| `SuLQ-ID3` | noisy counts for every attribute (Blum et al. 2005) |

`dampen` and `dampen-depth` are here the default of 0.1 (`model_methods.former`), on which the
published tables were made; the study `models` compares it with the default of today.

Where the paper is not private, this is: Δ uses a public bound on the rows, and the stop rule is
N / (t |C|) < sqrt(2) / ε'.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen_studies.experiments.model_methods import former

if TYPE_CHECKING:
    from dampen.questions.classify import TreeClassifier

ALGORITHMS: dict[str, dict[str, Any]] = {
    "GlobalDiffPID3": {"mechanism": "em", "one_sided": False},
    "GlobalDiffPID3-fair": {"mechanism": "em"},
    "LocalDiffPID3": {"mechanism": "ld"},
    "ShiftedLocalDiffPID3": {"mechanism": "sld"},
    "SuLQ-ID3": {"mechanism": "sulq"},
}
TEMPLATE: dict[str, Any] = {
    "criterion": "information-gain",
    "branching": "multiway",
    "stopping": True,
    "leaves": "noisy-counts",
}
Maker: TypeAlias = Callable[..., Any]
"""From epsilon, depth and public parameters to an estimator that is not fitted."""


def paper_tree(
    algorithm: str, *, epsilon: Epsilon, max_depth: int, **public: Any
) -> "TreeClassifier":
    """One of the paper's algorithms, not yet fitted.

    Args:
        algorithm: `GlobalDiffPID3`, `GlobalDiffPID3-fair`, `LocalDiffPID3`,
            `ShiftedLocalDiffPID3` or `SuLQ-ID3`.
        epsilon: of the whole fit.
        max_depth: d.
        **public: further parameters of `TreeClassifier`: `domains`, `classes`, `max_rows`, ...

    >>> paper_tree("ShiftedLocalDiffPID3", epsilon="1", max_depth=5).mechanism
    'sld'
    """
    from dampen.questions.classify import TreeClassifier

    if algorithm not in ALGORITHMS:
        raise ParameterError(f"Expected one of {', '.join(ALGORITHMS)}, got {algorithm!r}.")
    chosen = {**TEMPLATE, **ALGORITHMS[algorithm], **public}
    return TreeClassifier(epsilon=epsilon, max_depth=max_depth, **chosen)


def makers() -> dict[str, Maker]:
    """Every method by its short name."""
    return {
        "em": _paper("GlobalDiffPID3"),
        "em-fair": _paper("GlobalDiffPID3-fair"),
        "ld": _paper("LocalDiffPID3"),
        "sld": _paper("ShiftedLocalDiffPID3"),
        "sulq": _paper("SuLQ-ID3"),
        "pf": _paper("GlobalDiffPID3-fair", mechanism="pf"),
        "ld-pf": _paper("LocalDiffPID3", mechanism="ld-pf"),
        "sld-pf": _paper("ShiftedLocalDiffPID3", mechanism="sld-pf"),
        "sld-binary": _tree(mechanism="sld"),
        "ld-pf-binary": _tree(mechanism="ld-pf"),
        "sld-pf-binary": _tree(mechanism="sld-pf"),
        "max-multiway": _tree(criterion="max", branching="multiway", stopping=True),
        "max": _max,
        "dampen": former,
        "dampen-depth": _own_depth,
        "plain": _plain,
    }


def _paper(algorithm: str, **changes: Any) -> Maker:
    def make(epsilon: str, depth: int, **public: Any) -> Any:
        return paper_tree(algorithm, epsilon=epsilon, max_depth=depth, **changes, **public)

    return make


def _tree(**options: Any) -> Maker:
    def make(epsilon: str, depth: int | None, **public: Any) -> Any:
        from dampen.questions.classify import TreeClassifier

        return TreeClassifier(epsilon=epsilon, max_depth=depth, **options, **public)

    return make


def _max(epsilon: str, depth: int, **public: Any) -> Any:
    """Criterion max with half of ε for the leaves."""
    half = [f"1/{2 * depth}"] * depth + ["1/2"]
    return _tree(criterion="max", shares=half)(epsilon, depth, **public)


def _own_depth(epsilon: str, depth: int, **public: Any) -> Any:
    """The same with the depth that it chooses itself."""
    del depth
    return former(epsilon, None, **public)


def _plain(epsilon: str, depth: int, **public: Any) -> Any:
    """An ordinary tree, not private: what there is to gain."""
    from sklearn.tree import DecisionTreeClassifier

    del epsilon, public
    return DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
