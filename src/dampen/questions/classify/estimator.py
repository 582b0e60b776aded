"""Private classifiers as scikit-learn estimators.

One shell does what all of them do: `fit` asks a question through `dampen.releases.answer` and takes
over the model that was released; `from_json` takes over one that was released before.  Nothing else
of a fit is kept, so that a model that was read back is the model that was fitted.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import Entropy, fresh
from dampen.core.selection import FloatArray, IntArray
from dampen.data.open import open_table
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.questions.classify import rendering
from dampen.questions.classify.encoding import encode_queries
from dampen.questions.classify.model import BayesModel, Model, TreeModel, model_of, read_release
from dampen.questions.classify.noisy_tables import BayesPlan, NoisyTables
from dampen.questions.classify.plan import TreeFacts, TreePlan
from dampen.questions.classify.prediction import predicted_places
from dampen.questions.classify.question import BayesQuestion, ClassifierQuestion, TreeQuestion
from dampen.questions.classify.released_tree import Tree
from dampen.questions.classify.supervised import TARGET, Supervised, query_columns
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Price
from dampen.releases.question import parameters
from dampen.releases.release import Release

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "Expected scikit-learn, whose estimators these are: pip install 'dampen[models]'. Without "
        "it dampen.dataset(...).tree(...) and `dampen tree` release the same models."
    ) from None

__all__ = ["Classifier", "NaiveBayesClassifier", "PrivateClassifier", "TreeClassifier"]

E = TypeVar("E", bound="PrivateClassifier")
OF_TABLE = ("target", "columns", "where")
"""What of a question is stated with the table."""


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is made by asking a question; its parameters are those of the question.

    Attributes:
        release_: the model as it was released, with the public facts about it.
        model_: what predicts.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.
    """

    asks: ClassVar[Any]
    """The class of the question."""
    holds: ClassVar[tuple[type[Any], ...]] = (TreeModel, BayesModel)
    """The kinds of models that it can hold."""
    called: ClassVar[str] = "a tree or a naive Bayes"

    def fit(self: E, X: Any, y: Any, **refused: Any) -> E:
        """Releases a model: checks the parameters, charges the budget, then looks at the data.

        A `sample_weight` is refused: the noise is made for rows that count once.
        """
        refuse(refused)
        source = Supervised.open(X, y, domains=self.domains)
        return self._ask(self._question(TARGET, source.names), source)

    def fit_table(
        self: E,
        data: Any,
        *,
        target: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        header: bool = False,
        table: str | None = None,
    ) -> E:
        """Releases a model of a table: a DataFrame, lazy or not, or a file (see `dampen.data`).

        Args:
            data: the table.
            target: the name of its column of classes.
            columns: the columns to predict from; those that `domains` names if left out, or all
                others where it names none.
            where: a condition on every row; other rows are left out.
            header: says that the first line of a text file surely holds the names of its columns.
            table: of a database file (DuckDB, SQLite), which table.
        """
        question = self._question(target, columns, where)
        return self._ask(question, data, header=header, table=table)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row; X is whatever `fit` takes.

        A number beyond the outer bin edges counts as inside the end bin, a category that is not
        in its domain as the last one of it.
        """
        model = self._model
        found: NDArray[Any] = model.columns.classes[model.predicted(self._codes(X))]
        return found

    def predict_table(
        self, data: Any, *, header: bool = False, table: str | None = None
    ) -> NDArray[Any]:
        """The class of every row of a table, which has columns of the names in the model."""
        model = self._model
        opened = open_table(data, header=header, table=table)
        found: NDArray[Any] = model.columns.classes[predicted_places(model, opened)]
        return found

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row).

        Of a tree, zeros and a one: its leaves release a class and no more.  Of naive Bayes,
        (n_c Π_a P(v_a | c)) to the power 1/√m, for m attributes: without the power, naive Bayes
        counts what attributes say together several times over and noise as well, and is far too
        sure.  The power is public and leaves the order of classes, and so `predict`, as it is.
        Where attributes are independent given the class it makes probabilities too cautious.
        """
        return self._model.chances(self._codes(X))

    def plan(self) -> TreePlan | BayesPlan:
        """What a fit would do, before it is paid for; print it.  No data is needed.

        Raises:
            ParameterError: unless the public parameters are given.
        """
        planned: TreePlan | BayesPlan = self._question(TARGET, None).plan(
            Price(self.epsilon, self.rho)
        )
        return planned

    def report(self) -> str:
        """What was released and what it cost, as text.  Nothing in it is private."""
        return rendering.report(self._model, self.release_)

    def to_json(self) -> str:
        """The release of the fitted model as one JSON object: all that prediction needs."""
        check_is_fitted(self)
        return self.release_.to_json()

    @classmethod
    def from_json(cls: type[E], text: str) -> E:
        """The fitted model that `to_json` wrote; it predicts without any data or budget."""
        release = read_release(text)
        return cls(epsilon=release.epsilon)._take(release)

    def _question(
        self, target: str, columns: Sequence[str] | None, where: str | None = None
    ) -> Any:
        own = [each.name for each in parameters(self.asks) if each.name not in OF_TABLE]
        given = {name: getattr(self, name) for name in own}
        return self.asks(target=target, columns=columns, where=where, **given)

    def _ask(
        self: E,
        question: Any,
        data: Any,
        *,
        header: bool = False,
        table: str | None = None,
    ) -> E:
        release = answer(
            question,
            data,
            epsilon=self.epsilon,
            rho=self.rho,
            budget=self.budget,
            entropy=None if self.entropy is None else fresh(self.entropy),
            header=header,
            table=table,
        )
        return self._take(release)

    def _take(self: E, release: Release) -> E:
        """Becomes the model that was released.

        Raises:
            ParameterError: if the release is of something else.
        """
        model = model_of(release.answer)
        if not isinstance(model, self.holds):
            raise ParameterError(f"Expected the JSON of {self.called}, as to_json() writes it.")
        self.release_ = release
        self.model_: Model = model
        self.classes_ = model.columns.classes
        self.domains_ = list(model.columns.domains)
        self.n_features_in_ = len(self.domains_)
        if model.columns.features is not None:
            self.feature_names_in_ = np.array(model.columns.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    @property
    def _model(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def _codes(self, X: Any) -> IntArray:
        """The rows to predict, in the codes of the public domains."""
        domains = self._model.columns.by_name
        missing = any(domain.holds_missing for domain in domains.values())
        return encode_queries(query_columns(self, X, list(domains), missing=missing), domains)

    def _repr_html_inner(self) -> str:
        if hasattr(self, "model_"):
            return rendering.html(self.model_, self.release_)
        return str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def __sklearn_tags__(self) -> Any:
        """Those of a classifier whose fits are drawn, and which takes categories."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self: E) -> E:
        """A clone shares budget and entropy: copies could be spent, or their noise repeated."""
        given = {
            name: value if name in ("budget", "entropy") else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**given)


class TreeClassifier(PrivateClassifier):
    """A decision tree that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one tree and spends ε in all, exactly, if `domains`, `classes` and
    `max_rows` are public.  Each that is left out is taken from the data with a
    `PrivacyLeakWarning`; then the guarantee does not cover it.  Every `fit` is a release of its
    own, also that of a clone inside cross-validation or a grid search, and is charged to `budget`.
    Scores on private test data are not private.

    The default is the most accurate configuration we know: two branches per node; some levels by
    one-sided permute-and-flip and the criterion `tsallis`, then several levels and the classes of
    the leaves by one release; 1.3 times as much of ε for a stage as for the one above it.  Splits
    whose leaves agree are taken back.  The paper's trees are in `dampen.paper.id3`.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        max_depth: levels of splits, each selected by itself; None chooses stages from ε and the
            public sizes (see `plan`).
        stages: in place of it, the levels that each stage decides, 1 but for the last: (1, 1, 4)
            selects two levels, then up to four together with the classes, by one release.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.
        classes: the public classes.
        max_rows: a public upper bound on the number of rows.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal trees.

    Attributes:
        tree_: the released tree.
        plan_: the public facts of the fit, its budget among them.
        model_, release_: what predicts, and what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.
    """

    asks = TreeQuestion
    holds = (TreeModel,)
    called = "a tree"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        max_depth: int | None = None,
        stages: Sequence[int] | None = None,
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
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.budget = budget
        self.entropy = entropy

    @property
    def tree_(self) -> Tree:
        """The released tree."""
        return _tree_of(self).tree

    @property
    def plan_(self) -> TreeFacts:
        """The public facts of the fit, its budget among them."""
        return _tree_of(self).facts

    def get_depth(self) -> int:
        """The levels of splits of the released tree, which may be fewer than planned."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The leaves of the released tree."""
        return len(self.tree_.leaves)


class NaiveBayesClassifier(PrivateClassifier):
    """Naive Bayes that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one histogram per attribute and class and spends ε in all, exactly, if
    `domains` and `classes` are public (`dampen.questions.classify.noisy_tables` has the proof).
    Each that is left out is taken from the data with a `PrivacyLeakWarning`; then the guarantee
    does not cover it. Every `fit` is a release of its own, also that of a clone inside
    cross-validation or a grid search, and is charged to `budget`.  Scores on private test data are
    not private.

    One pass over the rows and no choices.  It suits many classes and attributes that each say a
    little; every further attribute makes the noise on all counts larger, so leave out those that
    cannot matter.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.
        classes: the public classes.
        max_rows: a public upper bound on the number of rows, if there is one: a model that would be
            noise is then warned of.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal tables.

    Attributes:
        tables_: the released tables.
        model_, release_: what predicts, and what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.NaiveBayesClassifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ... )
    >>> model.fit(X, y).predict({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    """

    asks = BayesQuestion
    holds = (BayesModel,)
    called = "a naive Bayes"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.budget = budget
        self.entropy = entropy

    @property
    def tables_(self) -> NoisyTables:
        """The released tables."""
        model = self._model
        assert isinstance(model, BayesModel)
        return model.tables


class Classifier(PrivateClassifier):
    """The private classifier to begin with: a tree or naive Bayes, as public facts recommend.

    Guarantee: `fit` is ε-differentially private for adding or removing one row, as the fit of the
    model that it chooses; the choice is a function of the public parameters alone
    (`dampen.questions.classify.question` has the rule).  Each of `domains`, `classes` and
    `max_rows` that is left out is taken from the data with a `PrivacyLeakWarning`, and the model is
    then a tree.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.
        classes: the public classes.
        max_rows: a public upper bound on the number of rows.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal models.

    Attributes:
        model_: what predicts, a `TreeModel` or a `BayesModel`.
        release_: what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.Classifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ...     max_rows=2000,
    ... )
    >>> model.fit(X, y).predict({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    >>> type(model.model_).__name__
    'TreeModel'
    """

    asks = ClassifierQuestion

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.budget = budget
        self.entropy = entropy


def refuse(options: Mapping[str, Any]) -> None:
    """Refuses what `fit` does not take, weights with the reason.

    Weights are no parameter of `fit`, or scikit-learn would take them for supported.
    """
    if "sample_weight" in options:
        raise ParameterError(
            "Expected no sample_weight: privacy is for one row that counts once. One of weight w "
            "would need w times the noise."
        )
    for name in options:
        raise ParameterError(f"Expected only X and y, got {name}=.")


def _tree_of(classifier: PrivateClassifier) -> TreeModel:
    model = classifier._model
    assert isinstance(model, TreeModel)
    return model
