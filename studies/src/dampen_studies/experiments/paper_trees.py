"""The tree algorithms of the paper, by name, as configurations of `TreeClassifier`.

All of them follow one template (Friedman & Schuster 2010): one branch per value, per node a noisy
count that may stop the branch, then one selection of an attribute, or noisy class counts in a leaf;
each query has ε' = ε / (2 (d+1)).  They differ in how the attribute is selected:

| name | selection by information gain |
|---|---|
| `GlobalDiffPID3` | exponential mechanism with the factor 1/2, as printed |
| `GlobalDiffPID3-fair` | the same without it: information gain is one-sided |
| `LocalDiffPID3` | local dampening |
| `ShiftedLocalDiffPID3` | shifted local dampening |
| `SuLQ-ID3` | noisy counts for every attribute (Blum et al. 2005) |

Where the paper is not private, this is: Δ uses a public bound on the rows, and the stop rule is
N / (t |C|) < sqrt(2) / ε'.
"""

from typing import Any

from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.trees.classifier import TreeClassifier

ALGORITHMS: dict[str, dict[str, Any]] = {
    "GlobalDiffPID3": {"mechanism": "em", "one_sided": False},
    "GlobalDiffPID3-fair": {"mechanism": "em"},
    "LocalDiffPID3": {"mechanism": "ld"},
    "ShiftedLocalDiffPID3": {"mechanism": "sld"},
    "SuLQ-ID3": {"mechanism": "sulq"},
}


def paper_tree(
    algorithm: str, *, epsilon: Epsilon, max_depth: int, **public: Any
) -> TreeClassifier:
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
    if algorithm not in ALGORITHMS:
        raise ParameterError(f"Expected one of {', '.join(ALGORITHMS)}, got {algorithm!r}.")
    template: dict[str, Any] = {
        "criterion": "information-gain",
        "branching": "multiway",
        "stopping": True,
        "leaves": "noisy-counts",
    }
    return TreeClassifier(
        epsilon=epsilon, max_depth=max_depth, **{**template, **ALGORITHMS[algorithm], **public}
    )
