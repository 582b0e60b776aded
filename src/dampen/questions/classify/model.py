"""`Classifier`: the private model that public facts recommend, a tree or naive Bayes.

The choice looks at nothing private: ε, the bound n on the rows, m attributes with V values in all,
K classes.  Naive Bayes is taken if K >= 8, K >= m and ε n >= V K.

*Why.*  A leaf of a tree has one class, so that K classes take log2 K levels of choices before each
could have a leaf, and every level costs a share of ε.  To naive Bayes every attribute costs a share
and classes cost nothing but rows: it releases V K counts with noise of m/ε rows each, which
ε n >= V K makes worth having.  With many classes and few attributes it therefore pays less.  With
fewer classes the question is whether attributes tell of the class one by one or together; that is
not public, and a tree is safer.  `dampen-studies run models` compares them.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray
from dampen.epsilon import Epsilon, asked_epsilon
from dampen.errors import ParameterError
from dampen.questions.classify import NaiveBayesClassifier, TreeClassifier
from dampen.questions.classify.bayes_problem import BayesPlan
from dampen.questions.classify.encoding import as_domain, checked_classes
from dampen.questions.classify.estimator import clone_sharing, refuse, tag_as_private
from dampen.questions.classify.plan import Plan
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.cost import Budget

__all__ = ["Classifier", "prefers_bayes", "read_model"]

Model = TreeClassifier | NaiveBayesClassifier
MANY = 8


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The private classifier to begin with: a tree or naive Bayes, as public facts recommend.

    Guarantee: `fit` is ε-differentially private for adding or removing one row, as the fit of the
    model that it chooses; the choice is a function of the public parameters alone
    (`dampen.questions.classify.model` has the rule).  Each of `domains`, `classes` and `max_rows`
    that is left out is taken from the data with a `PrivacyLeakWarning`, and the model is then a
    tree.

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
        model_: the fitted `TreeClassifier` or `NaiveBayesClassifier`.
        classes_, n_features_in_, feature_names_in_: as in scikit-learn.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.Classifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ...     max_rows=2000,
    ... )
    >>> model.fit(X, y).predict_table({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    >>> type(model.model_).__name__
    'TreeClassifier'
    """

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

    def fit(self, X: Any, y: Any, **refused: Any) -> "Classifier":
        """Chooses the model, then fits it: parameters, charge, data.  No `sample_weight`."""
        refuse(refused)
        return self._take(self._chosen().fit(X, y))

    def fit_table(
        self, data: Any, *, target: str, header: bool = False, table: str | None = None
    ) -> "Classifier":
        """Fits the model to a DataFrame, lazy or not, or a file (see `dampen.data`).

        Args:
            data: the table.
            target: the name of its column of classes.
            header: says that the first line of a text file surely holds the names of its columns.
            table: of a database file (DuckDB, SQLite), which table.
        """
        chosen = self._chosen()
        return self._take(chosen.fit_table(data, target=target, header=header, table=table))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row, by the model."""
        check_is_fitted(self)
        return self.model_.predict(X)

    def predict_table(
        self, data: Any, *, header: bool = False, table: str | None = None
    ) -> NDArray[Any]:
        """The class of every row of a table, which has columns of the names in the model."""
        check_is_fitted(self)
        return self.model_.predict_table(data, header=header, table=table)

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row); of a tree, zeros and a one: its leaves release a class and no more."""
        check_is_fitted(self)
        return self.model_.predict_proba(X)

    def plan(self) -> Plan | BayesPlan:
        """What a fit would do, before it is paid for; print it.  No data is needed.

        Raises:
            ParameterError: unless `domains`, `classes` and `max_rows` are given.
        """
        return self._chosen().plan()

    def report(self) -> str:
        """What was released and what it cost, as text.  Nothing in it is private."""
        check_is_fitted(self)
        return self.model_.report()

    def to_json(self) -> str:
        """The fitted model as one JSON object: all that prediction and `report` need."""
        check_is_fitted(self)
        return self.model_.to_json()

    @classmethod
    def from_json(cls, text: str) -> "Classifier":
        """The fitted model that `to_json` wrote; it predicts without any data or budget."""
        return cls()._take(read_model(text))

    def _repr_html_inner(self) -> str:
        if hasattr(self, "model_"):
            return self.model_._repr_html_inner()
        return str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def __sklearn_tags__(self) -> Any:
        return tag_as_private(super().__sklearn_tags__())

    def __sklearn_clone__(self) -> "Classifier":
        return clone_sharing(self)

    @property
    def release_(self) -> Any:
        """The public facts of the release."""
        return self.model_.release_

    def _chosen(self) -> Model:
        """The model, not fitted yet."""
        given = {name: getattr(self, name) for name in _COMMON}
        if self._bayes():
            return NaiveBayesClassifier(**given)
        return TreeClassifier(**given, max_rows=self.max_rows)

    def _bayes(self) -> bool:
        epsilon = asked_epsilon(self.epsilon, self.rho, Fraction(1, 2))
        if self.domains is None or self.classes is None or self.max_rows is None:
            return False
        check_max_rows(self.max_rows)
        classes = checked_classes(self.classes)
        sizes = list(_sizes(self.domains))
        return prefers_bayes(epsilon, int(self.max_rows), sizes, len(classes))

    def _take(self, model: Model) -> "Classifier":
        self.model_ = model
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self


_COMMON = ("epsilon", "rho", "domains", "classes", "budget", "entropy")


def _sizes(domains: Mapping[str, Any] | Sequence[Any]) -> Iterator[int]:
    given = domains.values() if isinstance(domains, Mapping) else domains
    if not isinstance(domains, Mapping | Sequence) or isinstance(domains, str):
        raise ParameterError("Expected domains by column name, or a list in column order.")
    for i, domain in enumerate(given):
        yield len(as_domain(domain, f"column {i}"))


def prefers_bayes(epsilon: Fraction, max_rows: int, sizes: Sequence[int], classes: int) -> bool:
    """The public rule: many classes, no more attributes, and a row times ε for every count.

    >>> prefers_bayes(Fraction(1), 14_000, [10] * 16, 26)
    True
    >>> prefers_bayes(Fraction(1, 10), 14_000, [10] * 16, 26)
    False
    """
    return classes >= max(MANY, len(sizes)) and epsilon * max_rows >= sum(sizes) * classes


def read_model(text: str) -> Model:
    """A tree or a naive Bayes, whichever the JSON holds.

    Raises:
        ParameterError: if it is neither.
    """
    for kind in (TreeClassifier, NaiveBayesClassifier):
        with suppress(ParameterError):
            model: Model = kind.from_json(text)
            return model
    raise ParameterError("Expected the JSON of a tree or a naive Bayes, as to_json() writes it.")
