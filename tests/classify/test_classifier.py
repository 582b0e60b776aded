"""The classifier that public facts choose: a tree or naive Bayes."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import dampen
from dampen import Classifier, InsecureEntropy, NaiveBayesClassifier, ParameterError, TreeClassifier
from dampen.data.source import Field
from dampen.questions.classify.model import BayesModel, TreeModel
from dampen.questions.classify.question import prefers_bayes


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [Classifier(10_000, public="data", entropy=InsecureEntropy(5, allow_release=True))]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def many_classes(n=3000, classes=9):
    X = np.random.default_rng(1).integers(0, 3, (n, 2))
    return X, 3 * X[:, 0] + X[:, 1] if classes == 9 else (X[:, 0] == X[:, 1]).astype(int)


def model(epsilon="1", classes=9, **options):
    public = {"domains": [3, 3], "classes": range(classes), "max_rows": 5000}
    return Classifier(epsilon, **(public | options))


@pytest.mark.parametrize(("classes", "kind"), [(9, NaiveBayesClassifier), (2, TreeClassifier)])
def test_the_model_is_that_of_the_public_rule_and_the_same_as_alone(classes, kind):
    X, y = many_classes(classes=classes)
    entropy = InsecureEntropy(3, allow_release=True)
    chosen = model(classes=classes, entropy=entropy).fit(X, y)
    assert type(chosen.model_) is (TreeModel if kind is TreeClassifier else BayesModel)
    public = {"domains": [3, 3], "classes": range(classes), "max_rows": 5000}
    alone = kind("1", entropy=entropy, **public).fit(X, y)
    assert chosen.release_ == alone.release_
    np.testing.assert_array_equal(chosen.predict(X), alone.predict(X))
    np.testing.assert_array_equal(chosen.predict_proba(X), alone.predict_proba(X))
    assert np.mean(chosen.predict(X) == y) > 0.95
    assert str(chosen.plan()) == str(alone.plan())
    assert chosen.report() == alone.report()
    again = Classifier.from_json(chosen.to_json())
    np.testing.assert_array_equal(again.predict(X), chosen.predict(X))
    assert kind.from_json(chosen.to_json()).report() == chosen.report()


def test_the_rule_is_a_function_of_public_sizes():
    assert prefers_bayes(Fraction(1), 16 * 54, [3, 3], 9)
    assert not prefers_bayes(Fraction(1), 16 * 54 - 1, [3, 3], 9)  # few rows for every count
    assert prefers_bayes(Fraction(1), 10**6, [6, 2], 9)
    assert not prefers_bayes(Fraction(1), 10**6, [7, 2], 9)  # many values
    assert not prefers_bayes(Fraction(1), 10**6, [3] * 10, 9)  # more attributes than classes
    assert not prefers_bayes(Fraction(1), 10**6, [3, 3], 7)  # few classes


class Unreadable:
    """An opened table whose rows cannot be read."""

    title, declared, rows, ordered, streams = "the table", True, None, True, True
    fields = (Field("x0"), Field("x1"), Field("y"))

    def batches(self, wanted, /):
        raise OSError("gone: row 17")

    def counts(self, wanted, cell_of, size, /):
        raise OSError("gone: row 17")


def test_one_charge_before_the_data_and_the_same_budget_for_clones():
    class Account:
        def __init__(self):
            self.charges = []

        def charge(self, cost, /):
            self.charges.append((cost.query, float(cost.epsilon)))

    account = Account()
    X, y = many_classes()
    cross_val_score(model(budget=account), X, y, cv=3)
    assert account.charges == [("classifier", 1.0)] * 3
    assert clone(model(budget=account)).budget is account
    fitted = model(budget=account, classes=2).fit(X, y)  # rows of other classes do not count
    assert set(fitted.predict(X)) <= {0, 1}
    with pytest.raises(dampen.DataError, match="charge of epsilon 1 stands"):
        model(budget=account, domains={"x0": 3, "x1": 3}).fit_table(Unreadable(), target="y")
    assert account.charges[3:] == [("classifier", 1.0)] * 2


def test_parameters_first():
    X, y = many_classes()
    with pytest.raises(ParameterError, match="sample_weight"):
        model().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ParameterError, match="epsilon"):
        Classifier(classes=range(9)).fit(X, y)
    with pytest.raises(ParameterError, match=r"classes=\[\.\.\.\].*\['no', 'yes'\]"):
        Classifier(1).fit(X, y)
    with pytest.raises(ParameterError, match="A plan without a table needs domains="):
        Classifier(1).plan()
    with pytest.raises(ParameterError, match="JSON of a release"):
        Classifier.from_json("{}")


def test_tables_and_what_is_left_out():
    X, y = many_classes()
    table = {"a": X[:, 0], "b": X[:, 1], "y": y}
    domains = {"a": 3, "b": 3}
    chosen = model(domains=domains).fit_table(table, target="y")
    assert type(chosen.model_) is BayesModel
    assert chosen.release_.epsilon == 1
    assert np.mean(chosen.predict_table({"a": X[:, 0], "b": X[:, 1]}) == y) > 0.95
    with pytest.warns(dampen.PrivacyLeakWarning, match="number of rows"):
        leaky = model(max_rows=None, public="data").fit(X, y)
    assert type(leaky.model_) is TreeModel
    assert leaky.release_.mechanism == "pf or joint-subtrees"
    assert leaky.release_.leaks == ("max_rows",)
    counted = model(max_rows=None).fit(X, y)
    assert type(counted.model_) is BayesModel
    assert counted.release_.leaks == ()


def test_the_plan_of_naive_bayes_says_what_its_noise_amounts_to():
    assert str(model("2").plan()).splitlines() == [
        "Naive Bayes for epsilon 2: 2 attributes, 6 values, 9 classes",
        "  54 counts, each with noise of standard deviation 1.36 rows",
    ]
    with pytest.raises(ParameterError, match="A plan without a table needs domains="):
        NaiveBayesClassifier(1).plan()
