"""The classifiers that are compared: ours, their predecessor, and diffprivlib's.

diffprivlib's models see the codes as numbers, with the same public ranges and classes.  Its trees
and forests choose their splits without the data and have no rule for the depth: depth 5 and ten
trees, its defaults elsewhere.  Its logistic regression cannot be made beside scikit-learn 1.8 or
later, so that its own fit of one class against the others is called instead.  DP-EBM is that of
`pip install --no-deps interpret-core`, at (ε, 10^-6) and the learning rate .1.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.questions import classify
from dampen.questions.classify.encoding import candidates_of
from dampen_studies.datasets.catalogue import DatasetError
from dampen_studies.datasets.packaged import Packaged
from dampen_studies.experiments.diffprivlib_names import diffprivlib
from dampen_studies.experiments.level_trees import by_gini, by_max, by_tsallis, level_tree

Maker = Callable[[Packaged, str, int, int], Any]
"""From a table, ε, the rows to fit and a seed to an estimator that is not fitted."""


def former(epsilon: str, depth: int | None, **public: Any) -> Any:
    """The default of 0.1: `gini`, at last `max`; 1 / (depth + 2) of ε for the leaves; its own depth
    rule.
    """
    if depth is None:
        size = len(candidates_of(public["domains"]))
        signal = float(epsilon) * public["max_rows"] / math.log(1 + max(size, 2))
        depth = min(max(0, round(0.6 * (math.log2(max(signal, 1.0)) - 4.6))), 16)
    leaf = Fraction(1, depth + 2) if depth else Fraction(1)
    shares = [*[(1 - leaf) / max(depth, 1)] * depth, leaf]
    return level_tree(epsilon, depth, criterion=by_gini, shares=shares, **public)


def _public(table: Packaged, rows: int, seed: int) -> dict[str, Any]:
    return {
        "domains": table.domains(),
        "classes": list(range(table.n_classes)),
        "max_rows": rows,
        "entropy": InsecureEntropy(seed, allow_release=True),
    }


def _tree(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    return classify.TreeClassifier(epsilon=epsilon, **_public(table, rows, seed))


def _levels(**options: Any) -> Maker:
    def make(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
        return level_tree(epsilon, **options, **_public(table, rows, seed))

    return make


def _default(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    return classify.Classifier(epsilon, **_public(table, rows, seed))


def _former(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    return former(epsilon, None, **_public(table, rows, seed))


def _bayes(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    return classify.NaiveBayesClassifier(epsilon=epsilon, **_public(table, rows, seed))


def _peer(name: str, **options: Any) -> Maker:
    def make(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
        del rows
        bounds = (np.zeros(len(table.sizes)), np.array(table.sizes, dtype=float) - 1)
        # Its Gaussian takes the classes from the data.
        known = {"classes": list(range(table.n_classes))} if options else {}
        kind = getattr(diffprivlib().models, name)
        return kind(epsilon=float(epsilon), bounds=bounds, random_state=seed, **known, **options)

    return make


OURS: dict[str, Maker] = {
    "dampen": _default,
    "tree": _tree,
    "former": _former,
    "bayes": _bayes,
}
PEERS: dict[str, Maker] = {
    "gaussian": _peer("GaussianNB"),
    "dpl-tree": _peer("DecisionTreeClassifier", max_depth=5),
    "dpl-forest": _peer("RandomForestClassifier", max_depth=5, n_estimators=10),
}
CRITERIA: dict[str, Maker] = {
    "em": _levels(mechanism="em", one_sided=False),
    "em-fair": _levels(mechanism="em"),
    "pf": _levels(),
    "ld": _levels(mechanism="ld"),
    "sld": _levels(mechanism="sld"),
    "ld-pf": _levels(mechanism="ld-pf"),
    "max": _levels(criterion=by_max),
    "tsallis": _levels(criterion=by_tsallis),
    "dampen": _tree,
}
"""Trees of the same depth, shares and leaves, which differ in the selection of a split alone; and
the default, which selects several levels at once at small ε."""


class _Logistic:
    """diffprivlib's logistic regression: one class against the others, ε shared by them.

    Unordered columns have one number for each value, ordered ones their code, all from 0 to 1.
    """

    def __init__(self, table: Packaged, epsilon: str, seed: int) -> None:
        self.table = table
        self.epsilon = float(epsilon)
        self.seed = seed
        self.weights = np.empty((0, 0))

    def _numbers(self, codes: Any) -> Any:
        parts = [
            codes[:, [i]] / (size - 1) if ordered else codes[:, [i]] == np.arange(size)
            for i, (size, ordered) in enumerate(
                zip(self.table.sizes, self.table.ordered, strict=True)
            )
        ]
        return np.ascontiguousarray(np.hstack(parts), dtype=np.float64)

    def fit(self, codes: Any, classes: Any) -> "_Logistic":
        fit = diffprivlib().models.logistic_regression._logistic_regression_path
        numbers = self._numbers(codes)
        norm = math.sqrt(len(self.table.sizes))
        wanted = [1] if self.table.n_classes == 2 else range(self.table.n_classes)
        self.weights = np.array(
            [
                fit(
                    numbers, classes, epsilon=self.epsilon / len(wanted), data_norm=norm,
                    pos_class=c, Cs=[1.0], random_state=self.seed + c, check_input=False,
                )[0][0]
                for c in wanted
            ]
        )  # fmt: skip
        return self

    def predict_proba(self, codes: Any) -> Any:
        odds = self._numbers(codes) @ self.weights[:, :-1].T + self.weights[:, -1]
        each = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
        if each.shape[1] == 1:
            return np.hstack([1 - each, each])
        raised = each + 1e-12
        return raised / raised.sum(axis=1, keepdims=True)

    def predict(self, codes: Any) -> Any:
        return self.predict_proba(codes).argmax(axis=1)


def _logistic(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    del rows
    return _Logistic(table, epsilon, seed)


def _ebm(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
    try:
        privacy = import_module("interpret.privacy")
    except ImportError:
        raise DatasetError(
            "interpret is not here. Install it: pip install --no-deps interpret-core"
        ) from None

    del rows
    kinds = ["continuous" if ordered else "nominal" for ordered in table.ordered]
    bounds = {str(i): (0.0, size - 1.0) for i, size in enumerate(table.sizes)}
    return privacy.DPExplainableBoostingClassifier(
        feature_names=list(bounds),
        feature_types=kinds,
        privacy_bounds=bounds,
        epsilon=float(epsilon),
        delta=1e-6,
        learning_rate=0.1,
        random_state=seed,
    )


def _free(name: str, **options: Any) -> Maker:
    """A model of ours that chooses the number of bins itself."""

    def make(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
        public = _public(table, rows, seed) | {"domains": table.free_domains()}
        return getattr(classify, name)(epsilon=epsilon, **options, **public)

    return make


def tree_of_bins(count: int) -> Maker:
    """The default tree where numbers have so many bins."""

    def make(table: Packaged, epsilon: str, rows: int, seed: int) -> Any:
        public = _public(table, rows, seed) | {"domains": table.free_domains(count)}
        return classify.TreeClassifier(epsilon=epsilon, **public)

    return make


FREE: dict[str, Maker] = {
    "dampen": _free("Classifier"),
    "probabilities": _free("Classifier", probabilities=True),
    "bayes": _free("NaiveBayesClassifier"),
}
RIVALS: dict[str, Maker] = {
    "dp-ebm": _ebm,
    "logistic": _logistic,
    "gaussian": PEERS["gaussian"],
    "dpl-forest": PEERS["dpl-forest"],
}
COMPARED = FREE | RIVALS
"""Whose accuracy and probabilities are compared."""
