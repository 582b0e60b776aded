"""What is said of an answer about groups before it is paid for."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core.selection import Neighbours
from dampen.errors import AccuracyWarning
from dampen.questions.groups import BestGroup, GroupsQuestion
from dampen.releases.accuracy import likely_noise
from dampen.releases.answer import expect
from relations import RELATIONS, facts

GRID = {"lower": 0, "upper": 9, "step": 1}
EMPTY = {"v": [], "g": []}


def told(rows=None, epsilon="0.25", relation="add-remove-row", **options):
    given = {"groups": list("abcd"), **GRID} | options
    question = GroupsQuestion(value="v", by="g", **given)
    schema = facts(relation, g=given["groups"])
    plan = expect(question, EMPTY, epsilon=epsilon, schema=schema)
    return plan.method.accuracy(plan.cost.epsilon, rows)


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "5"])
@pytest.mark.parametrize("draws", [1, 3, 100])
def test_noise_stays_within_the_stated_bound(epsilon, draws):
    """By summing the law of one integer: enough at B, too little at B - 1."""
    e, found = float(epsilon), likely_noise(Fraction(epsilon), draws)
    z = np.arange(-int(60 / e) - 5, int(60 / e) + 6)
    law = np.exp(-e * np.abs(z))
    law /= law.sum()
    within = [law[np.abs(z) <= b].sum() ** draws for b in (found, found - 1)]
    assert within[0] >= 0.9 - 1e-12
    assert within[1] < 0.9


def test_the_sentence_does_not_depend_on_the_data():
    asks = {"by": ["a", "b"], "groups": ["a", "b", "c"], "epsilon": "0.3", **GRID}
    one, other = (dampen.top_groups(values, **asks).accuracy for values in ([1, 2], [9, 0]))
    assert one == other
    assert (one.error, one.unit, one.chance) == (14, "rows per group", False)
    assert one.sentence == (
        "In at least 9 of 10 runs the answer is the true winner, or a group so close that 14 rows "
        "per group decide."
    )


def test_the_sentence_names_the_number_of_groups():
    assert "the true top 2, or groups so close" in told(k=2).sentence
    assert "the true top 2, in order, or groups so close" in told(k=2, ordered=True).sentence


@pytest.mark.parametrize(
    ("epsilon", "ends"),
    [("9", "is the true winner."), ("4", "so close that 1 row per group decides.")],
)
def test_the_sentence_of_few_rows(epsilon, ends):
    assert told(epsilon=epsilon, caution=0).sentence.endswith(ends)


def test_caution_and_order_cost_rows():
    plain, bold, ordered = told(k=2), told(k=2, caution=0), told(k=2, ordered=True)
    assert bold.error < plain.error < ordered.error
    assert plain.error - bold.error == 4  # caution / ε


def test_more_rows_than_there_are_is_chance():
    needed = told().error
    assert told(rows=needed + 1) == told()
    for rows in (int(needed), 3):
        found = told(rows=rows)
        assert found.chance
        assert found.error == rows
        assert "ε = 0.25 is too small" in found.sentence
        assert f"at most {rows} rows" in found.sentence
    [word] = [word for word in told(rows=3).sentence.split() if word.strip(".").isdecimal()][-1:]
    assert not told(rows=3, epsilon=word.strip(".")).chance


@pytest.mark.parametrize("epsilon", ["0.25", "9"])
def test_no_rows_at_all_have_an_accuracy_too(epsilon):
    assert told(rows=0, epsilon=epsilon, caution=0).error == 0


def test_a_guess_causes_a_warning():
    """The bound comes from a schema."""
    question = GroupsQuestion(value="v", by="g", groups=list("abcd"), **GRID)
    with pytest.warns(AccuracyWarning, match="too small"):
        expect(question, EMPTY, epsilon="0.25", schema=facts("add-remove-row", 3)).warn()


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_sum_that_leads_by_as_much_wins(relation):
    """The law of the answer, where all other sums are tied at the lead that is told."""
    given = {"statistic": "sum", "lower": -3, "upper": 9, "step": 3}
    problem = BestGroup(groups=list("abcd"), neighbours=Neighbours(relation), **given)
    found = told(epsilon="0.1", relation=relation, **given)
    assert f"leads every other group by {found.error:,.0f} units in its sum." in found.sentence
    rows = -(-int(found.error) // 9)
    values, by = [9] * rows, ["a"] * rows
    assert problem.probabilities(values, by, epsilon="0.1")[0] >= 0.9
    fewer = rows // 2
    assert problem.probabilities([9] * fewer, ["a"] * fewer, epsilon="0.1")[0] < 0.9


def test_a_sum_that_cannot_lead_by_as_much_is_chance():
    needed = told(statistic="sum").error
    assert told(statistic="sum", rows=2 * needed / 9) == told(statistic="sum")
    few = told(statistic="sum", rows=needed // 18)
    assert few.chance
    assert few.error == 9 * (needed // 18)


@pytest.mark.parametrize("statistic", ["median", "sum"])
def test_all_groups_are_always_right(statistic):
    found = told(k=4, statistic=statistic)
    assert (found.error, found.chance) == (0, False)
    assert found.sentence == "The answer names all groups, so it is always right."
    assert "order" in told(k=4, statistic=statistic, ordered=True).sentence
