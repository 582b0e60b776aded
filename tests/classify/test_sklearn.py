"""scikit-learn for real: its own checks, pipelines, searches, DataFrames, pickles."""

import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dampen.core.sampling import InsecureEntropy
from dampen.questions.classify import NaiveBayesClassifier, TreeClassifier, bins

SEEDED = InsecureEntropy(5, allow_release=True)


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [
        TreeClassifier(epsilon=10_000, public="data", entropy=SEEDED),
        TreeClassifier(epsilon=10_000, max_depth=5, public="data", entropy=SEEDED),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Account:
    """A budget that remembers its charges."""

    def __init__(self):
        self.charges = []

    def charge(self, cost, /):
        epsilon, query, mechanism = cost.epsilon, cost.query, cost.mechanism
        neighbours = cost.neighbours
        self.charges.append((epsilon, query, mechanism, str(neighbours)))


def people(rows=600):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(15, 95, rows),
            "job": rng.choice(["none", "farm", "office"], rows),
            "hours": rng.uniform(0, 60, rows),
        }
    )
    rich = (frame["age"] > 40) & (frame["job"] == "office")
    return frame, np.where(rich, "rich", "poor")


PUBLIC = {
    "domains": {
        "age": bins(15, 95, 8),
        "job": ["none", "farm", "office"],
        "hours": bins(0, 60, 3),
    },
    "classes": ["poor", "rich"],
    "max_rows": 1000,
}


def test_frames_arrays_and_polars_give_the_same_tree():
    frame, y = people()
    tree = TreeClassifier("20", entropy=SEEDED, **PUBLIC)
    expected = tree.fit(frame, y).predict(frame)
    assert (expected == y).mean() > 0.95
    assert tree.feature_names_in_.tolist() == ["age", "job", "hours"]
    other = clone(tree).fit(pl.from_pandas(frame), y)
    assert (other.predict(pl.from_pandas(frame)) == expected).all()
    positions = clone(tree).set_params(domains=list(PUBLIC["domains"].values()))
    array = frame.to_numpy(dtype=object)
    assert (positions.fit(array, y).predict(array) == expected).all()
    assert not hasattr(positions, "feature_names_in_")
    numbered = frame.set_axis(range(3), axis=1)
    assert (positions.fit(numbered, y).predict(numbered) == expected).all()


def test_scores_probabilities_and_pickles():
    frame, y = people()
    tree = TreeClassifier("20", **PUBLIC).fit(frame, y)
    probability = tree.predict_proba(frame)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (tree.classes_[probability.argmax(axis=1)] == tree.predict(frame)).all()
    assert set(probability.ravel().tolist()) == {0, 1}
    assert tree.score(frame, y) > 0.9
    again = pickle.loads(pickle.dumps(tree))
    assert (again.predict(frame) == tree.predict(frame)).all()
    assert again.report() == tree.report()


def test_pipelines_and_searches_charge_every_fit():
    frame, y = people(200)
    account = Account()
    tree = TreeClassifier("5", max_depth=2, budget=account, **PUBLIC)
    steps = make_pipeline(FunctionTransformer(lambda X: X), tree)
    assert len(cross_val_score(steps, frame, y, cv=3)) == 3
    assert len(account.charges) == 3
    search = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2).fit(frame, y)
    assert search.best_params_["max_depth"] in {1, 2}
    assert len(account.charges) == 3 + 2 * 2 + 1
    assert {float(epsilon) for epsilon, *_ in account.charges} == {5.0}


def test_clones_share_the_budget_and_nothing_fitted():
    frame, y = people(100)
    account = Account()
    tree = TreeClassifier("1", budget=account, **PUBLIC).fit(frame, y)
    other = clone(tree)
    assert other.budget is account
    assert not hasattr(other, "tree_")
    assert other.get_params()["domains"] == PUBLIC["domains"]


class Dice:
    """A secure source with a state: bits that nobody may see twice."""

    secure = True

    def __init__(self):
        self.generator = np.random.default_rng(9)

    def read(self, size, /):
        return self.generator.bytes(size)


def test_no_two_fits_see_the_same_secure_bits():
    """Else two trees, on data that differ by a row, would differ by that row alone."""
    frame, y = people(50)
    public = {name: PUBLIC[name] for name in ("domains", "classes")}
    model = NaiveBayesClassifier("0.1", entropy=Dice(), **public)
    counts = {clone(model).fit(frame, y).tables_.counts.tobytes() for _ in range(5)}
    counts |= {model.fit(frame, y).tables_.counts.tobytes() for _ in range(5)}
    assert len(counts) == 10
    assert clone(model).entropy is model.entropy


def test_a_seeded_source_gives_equal_trees_and_says_that_it_is_insecure():
    frame, y = people(300)
    trees = [TreeClassifier("0.5", max_depth=3, entropy=SEEDED, **PUBLIC) for _ in range(2)]
    reports = [tree.fit(frame, y).report() for tree in trees]
    assert reports[0] == reports[1]
    assert "NOT SECURE" in reports[0]
    other = InsecureEntropy(6, allow_release=True)
    assert TreeClassifier("0.5", max_depth=3, entropy=other, **PUBLIC).fit(
        frame, y
    ).report() not in (reports)


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_a_frame_keep_their_types(library) -> None:
    """At ε = 2000 a wrong split or leaf has a probability below 1e-9."""
    days, big = [date(2020, 1, 1), date(2020, 1, 2)], [2**53, 2**53 + 1]
    classes = ["no", "yes"] * 20
    for values in (days, big, [True, False], ["a", "b"]):
        frame = library.DataFrame({"age": [1.5] * 40, "value": values * 20})
        tree = TreeClassifier(
            epsilon=2000, max_depth=1, domains=[bins(0, 9, 3), values], classes=["no", "yes"],
            max_rows=40,
        )  # fmt: skip
        assert tree.fit(frame, classes).predict(frame).tolist() == classes
