"""The most frequent category of every group, for one ε."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import dampen
from dampen import testing
from dampen.core.mechanisms import probabilities
from dampen.errors import ParameterError
from dampen.questions.frequency import MostFrequent

CASES = {
    "diagnosis": ["flu"] * 80 + ["cold"] * 40 + ["flu"] * 10 + ["cold"] * 90 + ["rash"] * 9,
    "clinic": ["north"] * 120 + ["south"] * 100 + ["closed"] * 9,
}
GIVEN = {"categories": ["cold", "flu"], "by": "clinic", "groups": ["south", "north"]}


class Account:
    def __init__(self):
        self.costs = []

    def charge(self, cost, /):
        self.costs.append(cost)


def ask(data=CASES, **options):
    return dampen.most_frequent(data, "diagnosis", **({"epsilon": 5} | GIVEN | options))


@pytest.mark.parametrize("table", [CASES, pd.DataFrame(CASES)], ids=["dict", "pandas"])
def test_every_group_has_its_answer(table):
    """A wrong answer has a probability below 1e-80."""
    account = Account()
    made = ask(table, budget=account)
    assert made.answer == {"south": "cold", "north": "flu"}
    assert str(made.neighbours) == "add-remove-row"
    [cost] = account.costs
    assert cost.epsilon == 5


def test_several_categories_of_every_group():
    assert ask(k=2).answer == {"south": ["cold", "flu"], "north": ["flu", "cold"]}


def test_a_group_without_rows_has_an_answer_too():
    made = ask(groups=["north", "empty"])
    assert made.answer["north"] == "flu"
    assert made.answer["empty"] in ("cold", "flu")


def test_columns_may_be_passed_themselves():
    made = dampen.most_frequent(
        CASES["diagnosis"], epsilon=5, **(GIVEN | {"by": np.array(CASES["clinic"])})
    )
    assert made.answer == {"south": "cold", "north": "flu"}


def test_an_unlisted_value_is_a_row_less():
    assert set(ask(groups=["closed"]).answer) == {"closed"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"groups": None}, "groups=, the public list"),
        ({"by": None}, "by=, the column of groups, with groups="),
        ({"categories": None}, r"dampen.keys\(data, \['clinic', 'diagnosis'\]"),
    ],
)
def test_groups_need_all_three(wrong, says):
    with pytest.raises(ParameterError, match=says):
        ask(**wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"groups": []}, "groups"),
        ({"groups": ["a", "a"]}, "different groups"),
        ({"by": "clinc"}, "Did you mean 'clinic'"),
        ({"by": "diagnosis"}, "beside"),
        ({"k": 3}, "k <= 2"),
    ],
)
def test_wrong_parameters_cost_nothing(wrong, says):
    account = Account()
    with pytest.raises(ParameterError, match=says):
        ask(**wrong, budget=account)
    assert account.costs == []


@pytest.mark.parametrize("mechanism", ["em", "pf"])
def test_all_groups_together_cost_one_epsilon(mechanism):
    """One row changes one group, and adding it never lowers a count: no factor 1/2 either."""
    problem = MostFrequent(["x", "y"])
    universe = testing.Universe.add_remove_row(list(product("ab", "xy")), max_rows=5)
    law = np.log([pair_law(problem, rows, mechanism) for rows in universe.databases])
    left, right = universe.neighbours.T
    assert 0.95 < np.abs(law[left] - law[right]).max() <= 1 + 1e-9


def pair_law(problem, rows, mechanism):
    one, other = (
        probabilities(
            problem.selection([c for g, c in rows if g == name]), epsilon=1, mechanism=mechanism
        )
        for name in "ab"
    )
    return np.outer(one, other).ravel()
