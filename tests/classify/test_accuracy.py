"""What is said of a tree before it is paid for."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.errors import AccuracyWarning
from dampen.paper.id3 import DiffPID3
from dampen.questions import question_type
from dampen.questions.classify.question import leaf_lead
from dampen.releases.answer import expect
from dampen.schema import Schema

PUBLIC = {"domains": [2, 2, 2], "max_depth": 2, "max_rows": 5000}


def model(epsilon: str, classes: int = 3, **changed) -> dampen.TreeClassifier:
    return dampen.TreeClassifier(epsilon, classes=list(range(classes)), **(PUBLIC | changed))


def test_the_accuracy_is_that_of_the_plan_whatever_the_rows_are() -> None:
    tree = model("0.5")
    for y in ([0] * 6, [0, 1, 2, 2, 2, 2]):
        told = tree.fit([[0, 0, 1]] * 6, y).release_.accuracy
        assert told.error == np.ceil(leaf_lead(tree.plan()))
        assert told.unit == "rows"
        assert not told.chance
        assert re.search(r"every other class by \d+ rows in that leaf", told.sentence)


@pytest.mark.parametrize("name", ["tree", "naive-bayes", "classifier"])
def test_price_and_accuracy_are_free(name: str) -> None:
    asked = question_type(name)(target="c", domains={"x": 2, "c": 2}, classes=[0, 1], max_rows=500)
    plan = expect(asked, {"x": [], "c": []}, epsilon="0.3")
    assert plan.cost.epsilon == Fraction(3, 10)
    assert plan.accuracy.unit == "rows"
    assert not plan.accuracy.chance
    assert expect(asked, {"x": [], "c": []}, epsilon="0.3", schema=Schema(rows=1)).accuracy.chance


@pytest.mark.parametrize("classes", [2, 5, 26])
def test_the_stated_lead_suffices(classes: int) -> None:
    """The law of permute-and-flip names the leader with probability 0.9; at half, it does not."""
    plan = model("0.2", classes).plan()
    rows = leaf_lead(plan)
    for lead, enough in [(np.ceil(rows), True), (rows / 2, False)]:
        counts = np.zeros(classes, dtype=np.int64)
        counts[0] = lead
        leaf = dampen.Selection(counts, dampen.sensitivity.constant(1), one_sided=True, exact=True)
        law = dampen.probabilities(leaf, epsilon=plan.label_epsilon, mechanism="pf")
        assert (law[0] >= 0.9) == enough


def test_noisy_counts_keep_the_stated_lead() -> None:
    """Over all values of the noise of two counts: the right one is the larger one."""
    tree = DiffPID3("2", classes=[0, 1], **PUBLIC).fit([[0, 0, 0]], [0])
    lead = tree.release_.accuracy.error
    e = float(tree.model_.facts.charges[-1].epsilon)
    z = np.arange(-400, 401)
    p = np.exp(-e * np.abs(z))
    p /= p.sum()
    wins = (z[:, None] + lead > z[None, :]).astype(float)
    assert p @ wins @ p >= 0.9


def test_a_guess_causes_a_warning_before_the_charge() -> None:
    class Refusing:
        def charge(self, cost: object, /) -> str:
            raise dampen.BudgetError("No.")

    public = {"domains": [2, 2], "classes": [0, 1], "max_rows": 50}
    for make in (dampen.TreeClassifier, dampen.NaiveBayesClassifier, dampen.Classifier, DiffPID3):
        with (
            pytest.warns(AccuracyWarning, match=r"ε = 0\.01 is too small"),
            pytest.raises(dampen.BudgetError),
        ):
            make("0.01", budget=Refusing(), **public).fit([[0, 0]], [0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make("10", **public).fit([[0, 0]], [0])
