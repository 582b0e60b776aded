"""What is made of noisy tables: probabilities by hand, predictions, JSON."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest

from dampen.core.sampling import InsecureEntropy
from dampen.errors import ParameterError
from dampen.questions.classify import NaiveBayesClassifier, TreeClassifier, bins
from dampen.questions.classify.model import NoisyTables

FIRST = np.array([0, 2, 5])
COUNTS = np.array([[8, -3], [2, 4], [5, 0], [5, 1], [0, 0]])


def by_hand(tables, row):
    """P(c | row) in loops, from the definitions."""
    alpha = (1 + float(tables.scale)) / 2
    scores = []
    for c in range(2):
        sums = [sum(COUNTS[:2, c]), sum(COUNTS[2:, c])]
        rows = max((sums[0] / 2 + sums[1] / 3) / (1 / 2 + 1 / 3), alpha)
        score = rows
        for begin, end, code in ((0, 2, row[0]), (2, 5, row[1])):
            raised = [max(int(COUNTS[v, c]), 0) + alpha for v in range(begin, end)]
            score *= raised[code] / sum(raised)
        scores.append(score)
    return np.array(scores) / sum(scores)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(20)])
def test_probabilities_by_hand(scale):
    tables = NoisyTables(FIRST, COUNTS, scale)
    rows = np.array([[a, b] for a in range(2) for b in range(3)])
    scores = np.exp(tables.log_scores(rows))
    scores /= scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, [by_hand(tables, row) for row in rows], rtol=1e-12)


def people(rows=2000, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    age = np.clip(20 * y + rng.integers(0, 30, rows), 0, 79)
    job = np.where(rng.random(rows) < 0.7, y, rng.integers(0, 3, rows))
    return {"age": age, "job": np.array(["farm", "none", "office"])[job]}, y


PUBLIC = {
    "domains": {"age": bins(0, 80, 8), "job": ["farm", "none", "office"]},
    "classes": [0, 1, 2],
}


def test_predictions_are_good_and_probabilities_agree_with_them():
    X, y = people()
    model = NaiveBayesClassifier("5", **PUBLIC).fit(X, y)
    new, truth = people(seed=2)
    assert (model.predict_table(new) == truth).mean() > 0.75
    array = np.column_stack([new["age"].astype(object), new["job"].astype(object)])
    plain = NaiveBayesClassifier("5", **{**PUBLIC, "domains": list(PUBLIC["domains"].values())})
    plain.fit(np.column_stack([X["age"].astype(object), X["job"].astype(object)]), y)
    probability = plain.predict_proba(array)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (plain.classes_[probability.argmax(axis=1)] == plain.predict(array)).all()
    assert plain.score(array, truth) > 0.75


def test_nothing_but_noise_predicts_by_little():
    """Pseudo-counts of the size of the noise keep probabilities away from 0 and 1."""
    X, y = people(20)
    model = NaiveBayesClassifier("0.001", **PUBLIC).fit(X, y)
    assert model.tables_.log_likelihoods.min() > np.log(1e-3)


def test_json_keeps_all():
    X, y = people(300)
    model = NaiveBayesClassifier("1", entropy=InsecureEntropy(3, allow_release=True), **PUBLIC).fit(
        X, y
    )
    again = NaiveBayesClassifier.from_json(model.to_json())
    assert again.to_json() == model.to_json()
    assert again.report() == model.report()
    assert "NOT SECURE" in again.report()
    assert (again.predict_table(X) == model.predict_table(X)).all()
    kept = NaiveBayesClassifier.from_json(model.release_.to_json())
    assert (kept.tables_.counts == model.tables_.counts).all()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "naive-bayes 1"}, {"counts": [[1, 2, 3]]}, {"counts": [[0.5] * 3] * 11},
        {"counts": []}, {"classes": [0]}, {"domains": []}, {"epsilon": "0"}, {"epsilon": 1},
        {"features": ["age"]}, {"counts": None},
    ],
)  # fmt: skip
def test_json_of_other_objects_is_refused(change):
    X, y = people(30)
    release = json.loads(NaiveBayesClassifier("1", **PUBLIC).fit(X, y).to_json())
    changed = release | {"answer": release["answer"] | change}
    with pytest.raises(ParameterError):
        NaiveBayesClassifier.from_json(json.dumps(changed))


def test_a_tree_is_not_read_as_naive_bayes():
    X, y = people(30)
    tree = TreeClassifier("1", max_depth=1, max_rows=99, **PUBLIC).fit(X, y)
    with pytest.raises(ParameterError):
        NaiveBayesClassifier.from_json(tree.to_json())


@pytest.mark.parametrize("make", [NaiveBayesClassifier, TreeClassifier])
def test_weights_are_refused_with_the_reason(make):
    X, y = people(30)
    with pytest.raises(ParameterError, match="weight 1"):
        make("1", **PUBLIC).fit(X, y, sample_weight=np.ones(30))
    with pytest.raises(ParameterError, match="got w="):
        make("1", **PUBLIC).fit(X, y, w=1)


def test_too_small_an_epsilon_costs_nothing():
    X, y = people(30)
    with pytest.raises(ParameterError, match="Raise epsilon"):
        NaiveBayesClassifier("1e-13", **PUBLIC).fit(X, y)


@pytest.mark.parametrize("make", [NaiveBayesClassifier, TreeClassifier])
@pytest.mark.parametrize(
    "row", [(3, "spy", 0), (3, "farm", 7), (None, "farm", 0), (3, None, 1)], ids=str
)
def test_rows_outside_the_domains_do_not_count(make, row):
    X, y = people(30)
    age, job, target = row
    seen = {"age": [*X["age"], age], "job": [*X["job"], job]}
    plain, more = (
        make("1", max_rows=99, entropy=InsecureEntropy(4, allow_release=True), **PUBLIC).fit(*rows)
        for rows in ((X, y), (seen, [*y, target]))
    )
    assert more.release_ == plain.release_


def test_a_notebook_shows_the_likeliest_values_of_each_class() -> None:
    model = NaiveBayesClassifier(50, domains=[["a", "<b>"]], classes=["x", "y"])
    assert "likeliest" not in model._repr_mimebundle_()["text/html"]
    model.fit([["a"], ["<b>"]] * 100, ["x", "y"] * 100)
    shown = model._repr_mimebundle_()["text/html"]
    assert "<th>in x</th><th>in y</th>" in shown
    assert re.search(r"<td>x0</td><td>a \(\d+%\)</td><td>&lt;b&gt; \(\d+%\)</td>", shown)
