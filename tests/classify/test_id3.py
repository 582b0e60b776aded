"""The paper's ID3: its template, its names, what is charged for what."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dampen.core.sampling import InsecureEntropy
from dampen.paper import id3
from dampen.paper.id3 import DiffPID3
from dampen.questions.classify import Classifier, TreeClassifier, bins

PUBLIC = {"domains": [3, bins(0, 10, 5)], "classes": ["a", "b"], "max_rows": 100}
X = np.column_stack([np.arange(60) % 3, np.arange(60) % 10]).astype(float)
Y = np.where(X[:, 0] == 1, "b", "a")
NAMES = {
    "GlobalDiffPID3": ("em", False),
    "LocalDiffPID3": ("ld", True),
    "ShiftedLocalDiffPID3": ("sld", True),
    "SuLQID3": ("sulq", True),
}


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [DiffPID3(100_000, max_depth=3, public="data", entropy=InsecureEntropy(5, True))],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_the_template_of_the_paper(name):
    """One branch per value, a noisy count per node, ε / (2 (d + 1)) for each query."""
    tree = getattr(id3, name)("1000", max_depth=2, **PUBLIC).fit(X, Y)
    mechanism, one_sided = NAMES[name]
    assert (tree.mechanism, tree.one_sided) == (mechanism, one_sided)
    assert tree.release_.mechanism == f"{mechanism} + noisy-counts"
    assert tree.score(X, Y) == 1.0
    charges = tree.model_.facts.charges
    assert {line.epsilon for line in charges} == {Fraction(1000, 6)}
    assert [line.purpose for line in charges] == ["count", "split"] * 2 + ["count", "leaf"]
    assert tree.model_.tree.counts is not None
    chances = tree.predict_proba(X)
    assert (tree.classes_[chances.argmax(axis=1)] == Y).all()


def test_its_json_is_that_of_a_tree():
    tree = DiffPID3("50", max_depth=2, **PUBLIC).fit(X, Y)
    for kind in (DiffPID3, TreeClassifier, Classifier):
        again = kind.from_json(tree.to_json())
        assert again.report() == tree.report()
        np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
        assert again.release_ == tree.release_


def test_a_tree_of_many_leaves_is_shown_as_text():
    given = {"domains": [30, 30], "classes": [0, 1], "max_rows": 10**6, "max_depth": 2}
    rows = np.stack(np.meshgrid(range(30), range(30)), axis=-1).reshape(-1, 2)
    tree = DiffPID3("10000", **given).fit(rows, rows.sum(axis=1) % 2)
    assert len(tree.model_.tree.leaves) > 64
    assert "<svg" not in tree._repr_html_()
    assert "<pre>" in tree._repr_html_()


def test_equal_leaves_with_counts_are_drawn_as_one():
    rows = np.column_stack([np.arange(90) % 3, np.arange(90) % 4])
    tree = DiffPID3(
        "500", max_depth=2, domains=[3, 4], classes=["no", "yes"], max_rows=90
    ).fit(rows, np.where(rows[:, 0] == 1, "yes", "no"))  # fmt: skip
    leaves = len(tree.model_.tree.leaves)
    assert leaves > 3
    assert tree._repr_html_().count("<rect") < leaves
