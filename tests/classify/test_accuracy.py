"""What is said of a tree before it is paid for."""

import re
import warnings

import numpy as np
import pytest

import dampen
from dampen.errors import AccuracyWarning
from dampen.questions.classify import accuracy
from dampen.questions.classify.accuracy import leaf_lead

PUBLIC = {"domains": [2, 2, 2], "max_depth": 2, "max_rows": 5000}


def model(epsilon: str, classes: int = 3, **changed) -> dampen.TreeClassifier:
    return dampen.TreeClassifier(epsilon, classes=list(range(classes)), **(PUBLIC | changed))


def test_the_sentence_is_that_of_the_plan_whatever_the_rows_are() -> None:
    tree = model("0.5")
    told = accuracy.accuracy(tree.plan())
    for y in ([0] * 6, [0, 1, 2, 2, 2, 2]):
        assert tree.fit([[0, 0, 1]] * 6, y).release_.accuracy == told
    assert re.search(r"leads every other by \d+ of its rows", told)


@pytest.mark.parametrize("classes", [2, 5, 26])
def test_the_lead_that_is_told_suffices(classes: int) -> None:
    """The law of permute-and-flip names the leader with probability 0.9; at half, it does not."""
    plan = model("0.2", classes).plan()
    rows = leaf_lead(plan)
    for lead, enough in [(np.ceil(rows), True), (rows / 2, False)]:
        counts = np.zeros(classes, dtype=np.int64)
        counts[0] = lead
        leaf = dampen.Selection(counts, dampen.sensitivity.constant(1), one_sided=True, exact=True)
        law = dampen.probabilities(leaf, epsilon=plan.leaf_epsilon(2), mechanism="pf")
        assert (law[0] >= 0.9) == enough


def test_noisy_counts_keep_the_lead_that_is_told() -> None:
    """Over all values of the noise of two counts: the right one is the larger one."""
    plan = model("0.4", 2, leaves="noisy-counts").plan()
    lead, e = leaf_lead(plan), float(plan.leaf_epsilon(2))
    z = np.arange(-400, 401)
    p = np.exp(-e * np.abs(z))
    p /= p.sum()
    wins = (z[:, None] + lead > z[None, :]).astype(float)
    assert p @ wins @ p >= 0.9


def test_chance_is_warned_of_before_the_charge() -> None:
    class Refusing:
        def charge(self, cost: object, /) -> str:
            raise dampen.BudgetError("No.")

    with (
        pytest.warns(AccuracyWarning, match="at most 50 rows in all"),
        pytest.raises(dampen.BudgetError),
    ):
        model("0.01", max_rows=50, budget=Refusing()).fit([[0, 0, 0]], [0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model("1", max_rows=50).fit([[0, 0, 0]], [0])
