"""The private decision tree as a scikit-learn classifier."""

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError, warn_leak
from dampen.mechanisms import Mechanism
from dampen.releases import Budget, Cost, Paid, composed_cost, pay
from dampen.sampling import Entropy
from dampen.selection import FloatArray, IntArray, Neighbours
from dampen.trees import rendering
from dampen.trees.candidates import candidates_of
from dampen.trees.encoding import (
    Categories,
    Domain,
    encode_queries,
    encode_rows,
    given_domains,
    leaked_domain,
)
from dampen.trees.growing import Rows, Tree, grow
from dampen.trees.plan import (
    SULQ,
    Branching,
    Leaves,
    Plan,
    check_size,
    checked_choice,
    checked_criterion,
    checked_depth,
    checked_epsilon,
    checked_mechanism,
    checked_shares,
    default_depth,
)
from dampen.trees.splits import check_max_rows


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one tree and spends ε in all, exactly, if `domains`, `classes` and
    `max_rows` are public.  Each that is left out is taken from the data with a
    `PrivacyLeakWarning`; then the guarantee does not cover it.  Every `fit` is a release of its
    own, also that of a clone inside cross-validation or a grid search, and is charged to `budget`.
    Scores on private test data are not private.

    The defaults are the most accurate configuration we know: two branches per node, split criterion
    `gini` (on the last level `max`), one-sided permute-and-flip for splits and leaves, no noisy
    counts, 1 / (depth + 2) of ε for the leaves.  For the paper's algorithms see
    `dampen.trees.paper_tree`.

    Args:
        epsilon: the privacy parameter of one fit; required.
        max_depth: levels of splits; None chooses from ε and the public sizes.
        mechanism: `pf`, `em`, `ld`, `sld`, `ld-pf`, `sld-pf` or `sulq` (noisy counts).
        criterion: `information-gain`, `max`, `gini` or `gini-max`; None is `gini-max` for `pf` and
            `em`, information gain for the others, whose sensitivity it shapes.
        branching: `binary`, or `multiway` with one branch per value (ID3).
        stopping: whether a noisy count, for half of a level's share, may end a branch early.
        leaves: a leaf's class by `pf` on the counts, or from `noisy-counts`, which also give
            `predict_proba` more than zeros and ones.
        one_sided: False makes `pf` and `em` pay the factor 2 of the paper.
        shares: the share of ε of every level of splits, then of the leaves; exact, adding up to 1.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.
        classes: the public classes.
        max_rows: a public upper bound on the number of rows.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal trees.

    Attributes:
        tree_: the released tree.
        plan_: the public decisions of the fit, its budget among them.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.
    """

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        max_depth: int | None = None,
        mechanism: str | Mechanism = "pf",
        criterion: str | None = None,
        branching: Branching = "binary",
        stopping: bool = False,
        leaves: Leaves = "pf",
        one_sided: bool = True,
        shares: Sequence[Epsilon] | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.mechanism = mechanism
        self.criterion = criterion
        self.branching = branching
        self.stopping = stopping
        self.leaves = leaves
        self.one_sided = one_sided
        self.shares = shares
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.budget = budget
        self.entropy = entropy

    def fit(self, X: Any, y: Any) -> "TreeClassifier":
        """Releases a tree: checks the parameters, charges the budget, then looks at the data."""
        self._check_parameters()
        names = _column_names(X)
        domains = given_domains(self.domains, names)
        plan = self._plan(domains, self.max_rows) if self._is_public(domains) else None
        paid = pay(self._cost(), budget=self.budget, entropy=copy.deepcopy(self.entropy))
        with paid.looking():
            self._look(X, y, names, domains, plan, paid)
        return self

    def _look(  # noqa: PLR0917
        self,
        X: Any,
        y: Any,
        names: list[str],
        domains: Sequence[Domain | None],
        plan: Plan | None,
        paid: Paid,
    ) -> None:
        X, y = self._validated(X, y)
        self.domains_, self.classes_ = _all_domains(domains, X, names), self._all_classes(y)
        max_rows = self._all_rows(len(X))
        self.plan_ = plan or self._plan(self.domains_, max_rows)
        codes = encode_rows(list(X.T), self.domains_, names)
        rows = Rows(codes, self._class_codes(y), len(self.classes_))
        self.tree_: Tree = grow(
            self.plan_, self.domains_, len(self.classes_), rows, entropy=paid.entropy
        )
        self.secure_ = paid.entropy.secure

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row.

        A number beyond the outer bin edges counts as inside the end bin, a category that is not
        in its domain as the last one of it.
        """
        leaf = self._leaf_of(X)
        classes: NDArray[Any] = self.classes_[self.tree_.label[leaf]]
        return classes

    def predict_proba(self, X: Any) -> FloatArray:
        """Shares of the leaf's noisy counts; zeros and a one where only its class was released."""
        leaf = self._leaf_of(X)
        certain = np.eye(len(self.classes_))[self.tree_.label[leaf]]
        if self.tree_.counts is None:
            return certain
        counts = np.maximum(self.tree_.counts[leaf], 0)
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1), certain)

    def report(self) -> str:
        """The tree and the budget by level, as text.  Nothing in it is private."""
        check_is_fitted(self)
        return rendering.report(self)

    def plot(self, ax: Any = None) -> Any:
        """Draws the tree on matplotlib axes (`pip install dampen[plot]`) and returns them."""
        check_is_fitted(self)
        return rendering.plot(self, ax)

    def to_json(self) -> str:
        """The fitted tree as one JSON object: all that prediction and `report` need."""
        check_is_fitted(self)
        return rendering.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "TreeClassifier":
        """The fitted tree that `to_json` wrote; it predicts without any data or budget."""
        tree = cls()
        rendering.restore(tree, text)
        return tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self) -> "TreeClassifier":
        """A clone shares the budget: a copied one could be spent twice."""
        parameters = {
            name: value if name == "budget" else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**parameters)

    def _check_parameters(self) -> None:
        checked_epsilon(self.epsilon)
        checked_depth(self.max_depth)
        checked_criterion(self.criterion, checked_mechanism(self.mechanism))
        checked_choice("branching", self.branching, Branching)
        checked_choice("leaves", self.leaves, Leaves)
        if self.shares is not None:
            depth = len(self.shares) - 1 if self.max_depth is None else self.max_depth
            checked_shares(self.shares, depth, stopping=self.stopping)
        if self.classes is not None and len(Categories(tuple(self.classes))) < 2:
            raise ParameterError("Expected at least two classes, got one.")
        if self.max_rows is not None:
            check_max_rows(self.max_rows)

    def _is_public(self, domains: Sequence[Domain | None]) -> bool:
        return self.max_rows is not None and all(d is not None for d in domains)

    def _plan(self, domains: Sequence[Any], max_rows: int | None) -> Plan:
        """Every public decision, from public sizes (or from those read off the data)."""
        assert max_rows is not None
        sizes = [len(d) for d in domains]
        depth = self._depth(domains, max_rows)
        check_size(sizes, depth, self.branching, stopping=self.stopping)
        mechanism = checked_mechanism(self.mechanism)
        return Plan(
            epsilon=checked_epsilon(self.epsilon),
            max_rows=int(max_rows),
            depth=depth,
            shares=checked_shares(self.shares, depth, stopping=self.stopping),
            mechanism=mechanism,
            criterion=checked_criterion(self.criterion, mechanism),
            branching=self.branching,
            stopping=bool(self.stopping),
            leaves=self.leaves,
            one_sided=bool(self.one_sided),
        )

    def _depth(self, domains: Sequence[Domain], max_rows: int) -> int:
        if self.max_depth is not None:
            return int(self.max_depth)
        if self.shares is not None:
            return len(self.shares) - 1
        branches = 2.0
        if self.branching == "multiway":
            branches = float(np.exp(np.mean(np.log([len(d) for d in domains]))))
        size = len(candidates_of(domains, self.branching))
        return default_depth(checked_epsilon(self.epsilon), max_rows, size, branches)

    def _cost(self) -> Cost:
        mechanism = checked_mechanism(self.mechanism)
        return composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            query="tree",
            epsilon=checked_epsilon(self.epsilon),
            mechanism=SULQ if isinstance(mechanism, str) else mechanism.name,
        )

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if _rows(X) is not None and _rows(y) is not None and _rows(X) != _rows(y):
            # scikit-learn's own message would tell how many rows there are.
            raise DataError("Expected as many classes in y as rows in X.")
        X, y = validate_data(self, X, y, dtype=None)
        if self.classes is None:
            check_classification_targets(y)
        return X, y

    def _all_classes(self, y: Any) -> NDArray[Any]:
        if self.classes is not None:
            return np.asarray(self.classes)
        warn_leak("The list of classes", "Pass classes=[...].", stacklevel=4)
        classes = np.unique(y)
        if len(classes) < 2:
            raise DataError("Expected rows of at least two classes; all are of one class.")
        return classes

    def _all_rows(self, rows: int) -> int:
        if self.max_rows is None:
            warn_leak("The number of rows", "Pass max_rows=, a public bound.", stacklevel=4)
            return rows
        if rows > self.max_rows:
            raise DataError("Expected at most max_rows rows, the public bound; there are more.")
        return int(self.max_rows)

    def _class_codes(self, y: Any) -> IntArray:
        codes = Categories(tuple(self.classes_.tolist())).encode(y)
        if len(codes) and codes.min() < 0:
            raise DataError("Expected only the public classes in y; there are others.")
        return codes

    def _leaf_of(self, X: Any) -> IntArray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, reset=False)
        names = _column_names(X)
        return self.tree_.apply(encode_queries(list(X.T), self.domains_, names))


def _column_names(X: Any) -> list[str]:
    """The public names of the columns: those of a DataFrame, or x0, x1, ..."""
    # The columns of a pyarrow table are data; its names are elsewhere.
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is not None:
        return [str(name) for name in columns]
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return [f"x{i}" for i in range(shape[1] if len(shape) == 2 else 0)]


def _rows(data: Any) -> int | None:
    """How many rows an array or a DataFrame has; unknown for anything else."""
    shape = getattr(data, "shape", None)
    return int(shape[0]) if shape else None


def _all_domains(given: Sequence[Domain | None], X: Any, names: Sequence[str]) -> list[Domain]:
    """The public domains, completed from the data, with a warning for each that is missing."""
    return [
        leaked_domain(X[:, a], names[a]) if domain is None else domain
        for a, domain in enumerate(given)
    ]
