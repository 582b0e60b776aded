"""How many bins a model has where their number is left to it: by public sizes alone."""

import json
from fractions import Fraction

import numpy as np
import pytest

from dampen import (
    Classifier,
    InsecureEntropy,
    NaiveBayesClassifier,
    ParameterError,
    TreeClassifier,
    TreeRegressor,
    bins,
    dataset,
    number,
)
from dampen.paper.id3 import DiffPID3
from dampen.questions.classify.encoding import Bins, Categories, fixed, merged_values
from dampen.questions.classify.plan import BIN_COUNTS, bin_count

FREE = bins(0, 40)
PUBLIC = {"classes": [0, 1], "max_rows": 4000}


def skewed(n=4000, columns=3):
    X = np.random.default_rng(0).exponential(3, (n, columns))
    return X, (X[:, 0] > 1).astype(int)


def sizes(model):
    return [len(domain) for domain in model.domains_]


@pytest.mark.parametrize(
    ("columns", "classes", "count"),
    [(1, 2, 160), (160, 2, 160), (161, 2, 40), (16, 26, 40), (128, 10, 40), (129, 10, 20),
     (257, 10, 10), (10_000, 9, 10)],
)  # fmt: skip
def test_bins_follow_columns_and_classes_alone(columns, classes, count):
    assert bin_count(columns, classes) == count


@pytest.mark.parametrize("columns", [2, 30])
def test_the_plan_of_a_tree_of_numbers_has_the_bins_of_its_fit(columns):
    given = {"lower": 0, "upper": 1, "domains": [FREE] * columns, "max_rows": 100}
    model = TreeRegressor("50", **given)
    model.fit(np.zeros((100, columns)), np.zeros(100))
    assert sizes(model) == [160] * columns
    assert model.plan().candidates == 159 * columns
    assert model.plan().facts == model.plan_


@pytest.mark.parametrize(("columns", "count"), [(60, 160), (160, 160), (161, 40)])
def test_a_tree_of_numbers_has_fewer_bins_where_columns_are_many(columns, count):
    """Two sums for every bin, rows and total; the recorded tables have up to 60 columns."""
    given = {"lower": 0, "upper": 1, "domains": [FREE] * columns, "max_rows": 20}
    model = TreeRegressor("50", max_depth=1, **given)
    model.fit(np.zeros((20, columns)), np.zeros(20))
    assert sizes(model) == [count] * columns
    assert model.plan().facts == model.plan_


def test_stated_bins_and_categories_stay_as_they_are():
    for stated in (bins(0, 1, 7), Categories("ab")):
        assert fixed(stated, 20) == stated
    assert fixed(FREE, 20) == bins(0, 40, 20)


def test_joined_bins_have_edges_of_the_finest():
    missing = bins(0, 40, missing="own")
    for count in BIN_COUNTS:
        assert missing.joined(count) == bins(0, 40, count, missing="own")


def test_trees_have_many_bins_and_naive_bayes_ten_whatever_the_rows_are():
    X, y = skewed()
    for rows, classes in ((X, y), (X[:0], y[:0]), (np.zeros((9, 3)), np.ones(9, dtype=int))):
        tree = TreeClassifier("1", domains=[FREE] * 3, **PUBLIC).fit(rows, classes)
        assert sizes(tree) == [160] * 3
        chosen = Classifier("1", domains=[FREE] * 3, **PUBLIC).fit(rows, classes)
        assert sizes(chosen) == [160] * 3
        bayes = NaiveBayesClassifier("1", domains=[FREE] * 3, **PUBLIC).fit(rows, classes)
        assert sizes(bayes) == [10] * 3
        paper = DiffPID3("1", max_depth=1, domains=[FREE] * 3, **PUBLIC).fit(rows, classes)
        assert sizes(paper) == [10] * 3
        counted = TreeClassifier("1", domains=[FREE] * 3, classes=[0, 1]).fit(rows, classes)
        assert sizes(counted) == [160] * 3


def test_a_tree_sees_what_ten_bins_hide():
    X, y = skewed()
    entropy = {"entropy": InsecureEntropy(1, allow_release=True)}
    fine = TreeClassifier("1", domains=[FREE] * 3, **PUBLIC, **entropy).fit(X, y)
    ten = TreeClassifier("1", domains=[bins(0, 40, 10)] * 3, **PUBLIC, **entropy).fit(X, y)
    assert np.mean(fine.predict(X) == y) > 0.95
    assert np.mean(ten.predict(X) == y) < 0.8
    assert fine.plan().candidates == 3 * 159
    assert TreeClassifier.from_json(fine.to_json()).domains_ == fine.domains_


def test_naive_bayes_beside_a_tree_has_ten_bins():
    """At this ε a count has noise with probability 2 e^-33333."""
    X, y = skewed(500)
    domains = [bins(0, 40, missing="own"), FREE, bins(0, 40, 7)]
    tree = TreeClassifier("1e6", probabilities=True, domains=domains, **PUBLIC, stages=(2,))
    tables = tree.fit(X, y).model_.tables
    first, joined = merged_values(tree.domains_)
    assert first.tolist() == [0, 11, 21, 28]
    assert len(joined) == sum(sizes(tree))
    for c in (0, 1):
        expected, _ = np.histogram(np.minimum(X[y == c, 0], 40), np.linspace(0, 40, 11))
        assert tables.counts[:10, c].tolist() == expected.tolist()


def test_naive_bayes_beside_a_tree_has_five_bins_where_rows_are_few():
    """Three columns of ten bins and two classes are 60 counts: 60 to 179 rows times ε are few."""
    X, y = skewed(1000)
    asked = {"probabilities": True, "domains": [FREE] * 3, **PUBLIC}
    values = {}
    for rows in (59, 60, 179, 180):
        tree = TreeClassifier(Fraction(rows, PUBLIC["max_rows"]), **asked).fit(X, y)
        values[rows] = len(tree.model_.tables.counts)
        read = TreeClassifier.from_json(tree.to_json())
        assert np.array_equal(read.predict_proba(X), tree.predict_proba(X))
    assert values == {59: 30, 60: 15, 179: 15, 180: 30}


def test_tables_of_other_numbers_of_bins_are_refused():
    X, y = skewed(1000)
    tree = TreeClassifier("1", probabilities=True, domains=[FREE] * 3, **PUBLIC).fit(X, y)
    content = json.loads(tree.to_json())
    content["answer"]["tables"].pop()
    with pytest.raises(ParameterError, match="damaged"):
        TreeClassifier.from_json(json.dumps(content))


def test_a_schema_leaves_the_number_to_the_model_or_states_it():
    X, y = skewed(1000)
    held = {"a": X[:, 0], "b": X[:, 1], "c": y}
    columns = {"a": number(0, 40), "b": number(0, 40, bins=5), "c": [0, 1]}
    made = dataset(held, columns=columns, rows=1000).tree(target="c", epsilon=1)
    edges = [domain["edges"] for domain in made.answer["domains"]]
    assert [len(each) - 1 for each in edges] == [160, 5]
    assert isinstance(FREE, Bins)
