"""The private decision tree as a scikit-learn classifier."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dampen.core.mechanisms import PF, Mechanism
from dampen.core.sampling import Entropy, fresh
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.open import open_table
from dampen.data.source import Opened, require_numbers
from dampen.epsilon import Epsilon, asked_epsilon
from dampen.errors import ParameterError
from dampen.questions.classify import accuracy, tree_html, tree_json, tree_text
from dampen.questions.classify.defaults import (
    default_depth,
    default_stages,
    default_widths,
    sizes_of,
)
from dampen.questions.classify.encoding import (
    Bins,
    Domain,
    as_domain,
    checked_classes,
    class_array,
    given_domains,
)
from dampen.questions.classify.estimator import (
    Leak,
    clone_sharing,
    features_of,
    leaks_of,
    query_codes,
    refuse,
    set_names,
    table_codes,
    tag_as_private,
    warn_of,
)
from dampen.questions.classify.grow_levels import Tree, grow
from dampen.questions.classify.grow_staged import grow_in_stages, prepare_all
from dampen.questions.classify.plan import (
    SULQ,
    Branching,
    Leaves,
    Plan,
    check_size,
    checked_choice,
    checked_criterion,
    checked_depth,
    checked_mechanism,
    checked_shares,
    checked_stages,
    is_staged,
)
from dampen.questions.classify.probabilities import chances
from dampen.questions.classify.prune import collapsed
from dampen.questions.classify.reading import TARGET, Supervised, read_rows
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.answer import pay
from dampen.releases.cost import Budget, Cost, composed_cost

__all__ = ["TreeClassifier"]


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one tree and spends ε in all, exactly, if `domains`, `classes` and
    `max_rows` are public.  Each that is left out is taken from the data with a
    `PrivacyLeakWarning`; then the guarantee does not cover it.  Every `fit` is a release of its
    own, also that of a clone inside cross-validation or a grid search, and is charged to `budget`.
    Scores on private test data are not private.

    The defaults are the most accurate configuration we know: two branches per node, split criterion
    `tsallis` (on the last level `max`), one-sided permute-and-flip for splits and leaves, no noisy
    counts, 1.3 times as much of ε for a level as for the one above it.  Splits whose leaves agree
    are taken back.  `docs/trees.md` has the paper's algorithms as configurations.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        max_depth: levels of splits, each selected by itself; None chooses from ε and the public
            sizes (see `plan`).
        stages: in place of it, the levels that each stage decides, 1 but for the last: (1, 1, 4)
            selects two levels, then up to four together with the classes, by one release.
        mechanism: `pf`, `em`, `ld`, `sld`, `ld-pf`, `sld-pf` or `sulq` (noisy counts).
        criterion: `information-gain`, `max`, `gini`, `tsallis`, or `gini-max`, `tsallis-max` with
            `max` on the last level; None is `tsallis-max` for `pf` and `em`, information gain for
            the others, whose sensitivity it shapes.
        branching: `binary`, or `multiway` with one branch per value (ID3).
        stopping: whether a noisy count, for half of a level's share, may end a branch early.
        leaves: a leaf's class by `pf` on the counts, or from `noisy-counts`, which also give
            `predict_proba` more than zeros and ones.
        one_sided: False makes `pf` and `em` pay the factor 2 of the paper.
        shares: the share of ε of every level or stage of splits, then of the leaves; exact, adding
            up to 1.
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
        rho: Epsilon | None = None,
        max_depth: int | None = None,
        stages: Sequence[int] | None = None,
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
        self.rho = rho
        self.max_depth = max_depth
        self.stages = stages
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

    def fit(self, X: Any, y: Any, **refused: Any) -> "TreeClassifier":
        """Releases a tree: checks the parameters, charges the budget, then looks at the data.

        A `sample_weight` is refused: the noise is made for rows that count once.
        """
        refuse(refused)
        self._check_parameters()
        opened = Supervised.open(X, y)
        set_names(self, opened.names if opened.named else None, len(opened.names))
        return self._release(opened, list(opened.names), TARGET)

    def fit_table(
        self, data: Any, *, target: str, header: bool = False, table: str | None = None
    ) -> "TreeClassifier":
        """Releases a tree from a table: a DataFrame, lazy or not, or a file (see `dampen.data`).

        The attributes are the columns that `domains` names, or all others where it names none.

        Args:
            data: the table.
            target: the name of its column of classes.
            header: says that the first line of a text file surely holds the names of its columns.
            table: of a database file (DuckDB, SQLite), which table.
        """
        self._check_parameters()
        opened = open_table(data, header=header, table=table)
        features = features_of(opened, self.domains, target)
        set_names(self, features, len(features))
        return self._release(opened, features, target)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row.

        A number beyond the outer bin edges counts as inside the end bin, a category that is not
        in its domain as the last one of it.
        """
        return self._classes_of(self._leaf_of(X))

    def predict_table(
        self, data: Any, *, header: bool = False, table: str | None = None
    ) -> NDArray[Any]:
        """The class of every row of a table, which has columns of the names in the tree."""
        codes = table_codes(self, data, header=header, table=table)
        leaves = [self.tree_.apply(batch) for batch in codes]
        return self._classes_of(np.concatenate([np.empty(0, dtype=np.int64), *leaves]))

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | leaf) from noisy counts where they are bought; by default a 1, and no chance.

        With `leaves="pf"`, the default, a leaf releases its class and nothing else: zeros and a
        one only say which.  `leaves="noisy-counts"` buys counts (see
        `dampen.questions.classify.probabilities`).
        """
        leaf = self._leaf_of(X)
        tree = self.tree_
        if tree.counts is None:
            return np.eye(len(self.classes_))[tree.label[leaf]]
        return chances(tree.counts[leaf], float(self.plan_.label_epsilon))

    def plan(self) -> Plan:
        """What a fit would do, before it is paid for; print it.  No data is needed.

        Raises:
            ParameterError: unless `domains`, `classes` and `max_rows` are given.
        """
        self._check_parameters()
        if self.domains is None or self.classes is None or self.max_rows is None:
            raise ParameterError("Expected domains=, classes= and max_rows= for a plan.")
        given = self.domains.values() if isinstance(self.domains, Mapping) else self.domains
        return self._public_plan([as_domain(d, f"column {i}") for i, d in enumerate(given)])

    def get_depth(self) -> int:
        """The levels of splits of the released tree, which may be fewer than planned."""
        check_is_fitted(self)
        return int(self.tree_.level.max())

    def get_n_leaves(self) -> int:
        """The leaves of the released tree."""
        check_is_fitted(self)
        return int((self.tree_.attribute < 0).sum())

    def report(self) -> str:
        """The tree and the budget by level, as text.  Nothing in it is private."""
        check_is_fitted(self)
        return tree_text.report(self)

    def plot(self, ax: Any = None) -> Any:
        """Draws the tree on matplotlib axes (`pip install dampen[plot]`) and returns them."""
        check_is_fitted(self)
        return tree_text.plot(self, ax)

    def to_json(self) -> str:
        """The fitted tree as one JSON object: all that prediction and `report` need."""
        check_is_fitted(self)
        return tree_json.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "TreeClassifier":
        """The fitted tree that `to_json` wrote; it predicts without any data or budget."""
        tree = cls()
        tree_json.restore(tree, text)
        return tree

    def _repr_html_inner(self) -> str:
        return tree_html.html(self) if hasattr(self, "tree_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def __sklearn_tags__(self) -> Any:
        return tag_as_private(super().__sklearn_tags__())

    def __sklearn_clone__(self) -> "TreeClassifier":
        return clone_sharing(self)

    def _check_parameters(self) -> None:
        asked_epsilon(self.epsilon, self.rho, Fraction(1, 2))
        checked_depth(self.max_depth)
        mechanism = checked_mechanism(self.mechanism)
        checked_choice("branching", self.branching, Branching)
        checked_choice("leaves", self.leaves, Leaves)
        self._check_stages(mechanism)
        checked_criterion(self.criterion, mechanism)
        if self.shares is not None:
            if isinstance(self.shares, str) or not isinstance(self.shares, Sequence):
                raise ParameterError(
                    "Expected shares to be a list, one share of epsilon per level."
                )
            checked_shares(self.shares, self._given_stages() or (), stopping=self.stopping)
        if self.classes is not None:
            checked_classes(self.classes)
        if self.max_rows is not None:
            check_max_rows(self.max_rows)

    def _check_stages(self, mechanism: Mechanism | Literal["sulq"]) -> None:
        if self.stages is not None and self.max_depth is not None:
            raise ParameterError("Expected max_depth= or stages=, got both.")
        checked_stages(self.stages, mechanism, self.branching)
        if is_staged(self.stages or ()) and not self._joins_leaves:
            raise ParameterError("Expected no stopping, leaves or one_sided with several levels.")

    def _release(self, table: Opened, features: list[str], target: str) -> "TreeClassifier":
        """Parameters, then the charge, then the rows."""
        given = dict(zip(features, given_domains(self.domains, features), strict=True))
        require_numbers(table, *[n for n, domain in given.items() if isinstance(domain, Bins)])
        leaks = self._leaks(given)
        public = None if leaks else self._public_plan(list(given.values()))
        cost = self._cost(tuple(dict.fromkeys(leak.parameter for leak in leaks)))
        prepare_all(self.criterion, checked_mechanism(self.mechanism), int(self.max_rows or 9))
        warn_of(leaks)
        if public is not None:
            cost = replace(cost, accuracy=accuracy.accuracy(public))
            accuracy.warn_of_chance(public, stacklevel=3)
        paid = pay(cost, budget=self.budget, entropy=self._entropy())
        with paid.looking():
            read = read_rows(table, given, target, self.classes, self.max_rows)
            self.domains_, self.classes_ = list(read.domains.values()), class_array(read.classes)
            size = self.max_rows or read.size
            classes = len(self.classes_)
            self.plan_ = public or self._plan(self.domains_, size, classes)
            grown = grow_in_stages if self.plan_.staged else grow
            self.tree_: Tree = collapsed(
                grown(self.plan_, self.domains_, classes, read.rows, entropy=paid.entropy)
            )
            self.secure_ = paid.entropy.secure
            content = tree_json.content(self)
        self.release_ = paid.release(content, {"depth": self.plan_.depth})
        return self

    def _leaks(self, domains: Mapping[str, Domain | None]) -> list[Leak]:
        leaks = leaks_of(domains, self.classes)
        if self.max_rows is None:
            leaks.append(Leak("max_rows", "The number of rows", "Pass max_rows=, a public bound."))
        return leaks

    def _entropy(self) -> Entropy | None:
        return None if self.entropy is None else fresh(self.entropy)

    def _plan(self, domains: Sequence[Any], max_rows: int | None, classes: int) -> Plan:
        """Every public decision, from public sizes (or from those read off the data)."""
        assert max_rows is not None
        stages = self._stages(domains, max_rows, classes)
        check_size([len(d) for d in domains], sum(stages), self.branching, stopping=self.stopping)
        mechanism = checked_mechanism(self.mechanism)
        sizes = sizes_of(domains, self.branching, classes)
        return Plan(
            epsilon=asked_epsilon(self.epsilon, self.rho, Fraction(1, 2)),
            max_rows=int(max_rows),
            stages=stages,
            shares=checked_shares(self.shares, stages, stopping=self.stopping),
            mechanism=mechanism,
            criterion=checked_criterion(self.criterion, mechanism, staged=is_staged(stages)),
            branching=self.branching,
            stopping=bool(self.stopping),
            leaves=self.leaves,
            one_sided=bool(self.one_sided),
            candidates=sizes.candidates,
            classes=classes,
            widths=default_widths(stages, int(max_rows), sizes),
        )

    def _public_plan(self, domains: Sequence[Any]) -> Plan:
        assert self.classes is not None
        return self._plan(domains, self.max_rows, len(self.classes))

    def _given_stages(self) -> tuple[int, ...] | None:
        """What the parameters say of the stages."""
        if self.stages is not None:
            return tuple(self.stages)
        if self.max_depth is not None:
            return (1,) * int(self.max_depth)
        return None if self.shares is None else (1,) * (len(self.shares) - 1)

    def _stages(self, domains: Sequence[Domain], max_rows: int, classes: int) -> tuple[int, ...]:
        given = self._given_stages()
        if given is not None:
            return given
        epsilon = asked_epsilon(self.epsilon, self.rho, Fraction(1, 2))
        sizes = sizes_of(domains, self.branching, classes)
        if self._is_default:
            return default_stages(epsilon, max_rows, sizes)
        multiway = self.branching == "multiway"
        logs = np.log([len(d) for d in domains])
        branches = float(np.exp(np.mean(logs))) if multiway else 2.0
        return (1,) * default_depth(epsilon, max_rows, sizes.candidates, branches, classes)

    @property
    def _is_default(self) -> bool:
        """Whether nothing asks for splits that are selected level by level."""
        plain = self.criterion is None and self.branching == "binary" and self._joins_leaves
        return plain and checked_mechanism(self.mechanism) == PF

    @property
    def _joins_leaves(self) -> bool:
        return not self.stopping and self.one_sided and self.leaves == "pf"

    def _cost(self, leaks: tuple[str, ...]) -> Cost:
        mechanism = checked_mechanism(self.mechanism)
        return composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            query="tree",
            epsilon=self.epsilon,
            rho=self.rho,
            mechanism=SULQ if isinstance(mechanism, str) else mechanism.name,
            leaks=leaks,
        )

    def _classes_of(self, leaf: IntArray) -> NDArray[Any]:
        return np.asarray(self.classes_[self.tree_.label[leaf]])

    def _leaf_of(self, X: Any) -> IntArray:
        codes = query_codes(self, X)
        return self.tree_.apply(codes)
