"""Naive Bayes as a scikit-learn classifier."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dampen.core.sampling import LARGEST_SCALE, Entropy, fresh
from dampen.core.selection import FloatArray, Neighbours
from dampen.data.open import open_table
from dampen.data.source import Opened, require_numbers
from dampen.epsilon import Epsilon, asked_epsilon
from dampen.errors import ParameterError
from dampen.questions.classify import bayes_json, bayes_text
from dampen.questions.classify.bayes_problem import (
    BayesPlan,
    NoisyTables,
    accuracy,
    noise_scale,
    noisy_tables,
)
from dampen.questions.classify.encoding import (
    Bins,
    as_domain,
    checked_classes,
    class_array,
    first_codes,
    given_domains,
)
from dampen.questions.classify.estimator import (
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
from dampen.questions.classify.grow_levels import prepare_counting
from dampen.questions.classify.reading import TARGET, Supervised, read_rows
from dampen.releases.answer import pay
from dampen.releases.cost import Budget, composed_cost

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one histogram per attribute and class and spends ε in all, exactly, if
    `domains` and `classes` are public (`dampen.questions.classify.bayes_problem` has the proof).
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
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal tables.

    Attributes:
        tables_: the released tables.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.NaiveBayesClassifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ... )
    >>> model.fit(X, y).predict_table({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    """

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.domains = domains
        self.classes = classes
        self.budget = budget
        self.entropy = entropy

    def fit(self, X: Any, y: Any, **refused: Any) -> "NaiveBayesClassifier":
        """Releases the tables: checks the parameters, charges the budget, then looks at the data.

        A `sample_weight` is refused: the noise is made for rows that count once.
        """
        refuse(refused)
        self._check_parameters()
        opened = Supervised.open(X, y)
        set_names(self, opened.names if opened.named else None, len(opened.names))
        return self._release(opened, list(opened.names), TARGET)

    def fit_table(
        self, data: Any, *, target: str, header: bool = False, table: str | None = None
    ) -> "NaiveBayesClassifier":
        """Releases the tables from a DataFrame, lazy or not, or a file (see `dampen.data`).

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
        """The likeliest class of every row.

        A number beyond the outer bin edges counts as inside the end bin, a category that is not
        in its domain as the last one of it.
        """
        return self._likeliest(query_codes(self, X))

    def predict_table(
        self, data: Any, *, header: bool = False, table: str | None = None
    ) -> NDArray[Any]:
        """The likeliest class of every row of a table with columns of the same names."""
        codes = table_codes(self, data, header=header, table=table)
        found = [self._likeliest(batch) for batch in codes]
        return np.concatenate([self.classes_[:0], *found])

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row), tempered: (n_c Π_a P(v_a | c)) to the power 1/√m, for m attributes.

        Without the power, naive Bayes counts what attributes say together several times over and
        noise as well, and is far too sure.  The power is public and leaves the order of classes,
        and so `predict`, as it is.  Where attributes are independent given the class it makes
        probabilities too cautious.
        """
        codes = query_codes(self, X)
        scores = self.tables_.log_scores(codes) / np.sqrt(codes.shape[1])
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def plan(self) -> BayesPlan:
        """What a fit would do, before it is paid for; print it.  No data is needed.

        Raises:
            ParameterError: unless `domains` and `classes` are given.
        """
        self._check_parameters()
        if self.domains is None or self.classes is None:
            raise ParameterError("Expected domains= and classes= for a plan.")
        given = self.domains.values() if isinstance(self.domains, Mapping) else self.domains
        sizes = [len(as_domain(d, f"column {i}")) for i, d in enumerate(given)]
        epsilon = asked_epsilon(self.epsilon, self.rho, Fraction(1, 2))
        return BayesPlan(epsilon, len(sizes), sum(sizes), len(self.classes))

    def report(self) -> str:
        """What was released and what it cost, as text.  Nothing in it is private."""
        check_is_fitted(self)
        return bayes_json.report(self)

    def to_json(self) -> str:
        """The fitted model as one JSON object: all that prediction and `report` need."""
        check_is_fitted(self)
        return bayes_json.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "NaiveBayesClassifier":
        """The fitted model that `to_json` wrote; it predicts without any data or budget."""
        model = cls()
        bayes_json.restore(model, text)
        return model

    def _repr_html_inner(self) -> str:
        return bayes_text.html(self) if hasattr(self, "tables_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def __sklearn_tags__(self) -> Any:
        return tag_as_private(super().__sklearn_tags__())

    def __sklearn_clone__(self) -> "NaiveBayesClassifier":
        return clone_sharing(self)

    def _check_parameters(self) -> None:
        asked_epsilon(self.epsilon, self.rho, Fraction(1, 2))
        if self.classes is not None:
            checked_classes(self.classes)

    def _release(self, table: Opened, features: list[str], target: str) -> "NaiveBayesClassifier":
        """Parameters, then the charge, then the rows."""
        given = dict(zip(features, given_domains(self.domains, features), strict=True))
        require_numbers(table, *[n for n, domain in given.items() if isinstance(domain, Bins)])
        leaks = leaks_of(given, self.classes)
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            query="naive-bayes",
            epsilon=self.epsilon,
            rho=self.rho,
            mechanism="discrete-laplace",
            leaks=tuple(dict.fromkeys(leak.parameter for leak in leaks)),
        )
        _check_scale(len(features), cost.epsilon)
        cost = replace(cost, accuracy=accuracy(len(features), cost.epsilon))
        prepare_counting()
        warn_of(leaks)
        entropy = None if self.entropy is None else fresh(self.entropy)
        paid = pay(cost, budget=self.budget, entropy=entropy)
        with paid.looking():
            read = read_rows(table, given, target, self.classes, None)
            self.domains_, self.classes_ = list(read.domains.values()), class_array(read.classes)
            first = first_codes(self.domains_)
            self.tables_: NoisyTables = noisy_tables(
                read.rows.tables([0], first)[0], first, paid.epsilon, entropy=paid.entropy
            )
            self.epsilon_ = paid.epsilon
            self.secure_ = paid.entropy.secure
            content = bayes_json.content(self)
        self.release_ = paid.release(content, {"attributes": len(features)})
        return self

    def _likeliest(self, codes: Any) -> NDArray[Any]:
        classes: NDArray[Any] = self.classes_[self.tables_.log_scores(codes).argmax(axis=1)]
        return classes


def _check_scale(attributes: int, epsilon: Fraction) -> None:
    if noise_scale(attributes, epsilon) > LARGEST_SCALE:
        raise ParameterError(
            f"Expected epsilon >= {attributes} / 2^40 for {attributes} attributes. Raise epsilon."
        )
