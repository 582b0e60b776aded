"""Percentile values where the number of rows is private, and of every group at once."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import dampen
from dampen import testing
from dampen.core.mechanisms import probabilities
from dampen.errors import ParameterError
from dampen.questions.percentile.values import PercentileValueOfRows

UNIVERSE = testing.Universe.add_remove_row(range(4), max_rows=4)
GIVEN = {"p": 50, "epsilon": "50", "upper": 100, "step": 1}
PAY = {
    "salary": [40, 41, 42, 43, 44] * 30 + [70, 71, 72] * 50 + [99, 99],
    "team": ["sales"] * 150 + ["law"] * 150 + ["unlisted"] * 2,
}
TEAMS = ["law", "sales"]


def distance(x, q, g):
    """By definition: how far the target q n is from the ranks of g."""
    less, at_most = sum(v < g for v in x), sum(v <= g for v in x)
    return max(0, less - q * len(x), q * len(x) - at_most)


@pytest.mark.parametrize("p", [0, 10, "33.5", 50, 90, 100])
@pytest.mark.parametrize("step", [1, 0.5])
def test_utility_is_the_distance_of_the_target_from_the_ranks(p, step):
    problem = PercentileValueOfRows(p=p, upper=3, step=step)
    q = Fraction(str(p)) / 100
    for x in UNIVERSE.databases:
        expected = [float(-q.denominator * distance(x, q, g)) for g in problem.grid]
        assert problem.selection(list(x)).utility.tolist() == expected


@pytest.mark.parametrize(("p", "most"), [(50, 0.5), (10, 0.9), (90, 0.9), (100, 1)])
def test_sensitivity_is_the_larger_share(p, most):
    problem = PercentileValueOfRows(p=p, upper=3, step=1)
    q = Fraction(p, 100)
    assert testing.check_unit_sensitivity(problem, UNIVERSE, dampen.core.scores.Global())
    largest = testing.local_sensitivity(problem, UNIVERSE, 0).max() / q.denominator
    assert largest == pytest.approx(most)


@pytest.mark.parametrize("mechanism", ["em", "pf"])
@pytest.mark.parametrize("p", [10, 50, 90])
def test_the_privacy_loss_is_at_most_epsilon(mechanism, p):
    problem = PercentileValueOfRows(p=p, upper=3, step=1)
    verdict = testing.privacy_loss(problem, UNIVERSE, epsilon="1", mechanism=mechanism)
    assert verdict, verdict


def test_dropping_the_half_would_not_be_private():
    """A row raises u on one side of the median and lowers it on the other: not one-sided."""
    problem = PercentileValueOfRows(p=50, upper=3, step=1)
    assert testing.privacy_loss(problem, UNIVERSE, epsilon="2", mechanism="em").value > 1.1


@pytest.mark.parametrize("mechanism", ["em", "pf"])
def test_all_groups_together_cost_one_epsilon(mechanism):
    """The loss of the pair of answers, over two groups of rows: one row changes one of them."""
    problem = PercentileValueOfRows(p=50, upper=2, step=1)
    rows = list(product("ab", range(3)))
    universe = testing.Universe.add_remove_row(rows, max_rows=4)
    law = np.log([pair_law(problem, x, mechanism) for x in universe.databases])
    left, right = universe.neighbours.T
    assert np.abs(law[left] - law[right]).max() <= 1 + 1e-9


def pair_law(problem, x, mechanism):
    one, other = (
        probabilities(
            problem.selection([v for g, v in x if g == name]), epsilon=1, mechanism=mechanism
        )
        for name in "ab"
    )
    return np.outer(one, other).ravel()


def test_the_median_is_surer_than_under_replacement():
    """Half the sensitivity: the same probabilities at half the ε, but for the rank's rounding."""
    values = list(range(1, 100))
    rows = PercentileValueOfRows(p=50, upper=100, step=1).selection(values)
    fixed = dampen.problems.PercentileValue(n=99, p=50, upper=100, step=1)
    p, q = (
        probabilities(s, epsilon="0.2", mechanism="pf") for s in (rows, fixed.selection(values))
    )
    assert p[50] > 1.5 * q[50]


@pytest.mark.parametrize("table", [PAY, pd.DataFrame(PAY)], ids=["dict", "pandas"])
def test_every_group_has_its_value(table):
    made = dampen.percentile(table, "salary", by="team", groups=TEAMS, **GIVEN)
    assert made.answer == {"law": 71, "sales": 42}
    assert list(made.answer) == TEAMS
    assert str(made.neighbours) == "add-remove-row"
    assert "n" not in made.parameters
    assert json.loads(made.to_json())["answer"] == {"law": 71, "sales": 42}


def test_groups_that_are_not_text_can_be_shown_as_json():
    years = {"salary": [1, 2, 3] * 50, "team": [(2020, 1)] * 150}
    made = dampen.percentile(years, "salary", by="team", groups=[(2020, 1)], **GIVEN)
    assert json.loads(made.to_json())["answer"] == {"[2020, 1]": 2}


def test_several_percentiles_of_every_group():
    options = GIVEN | {"p": [90, 10], "epsilon": 200}
    made = dampen.percentile(PAY, "salary", by="team", groups=TEAMS, **options)
    assert made.answer == {"law": [72, 70], "sales": [44, 40]}


def test_groups_that_are_public_and_fixed():
    teams = dampen.categories([*TEAMS, "empty"], public=True)
    staff = dampen.dataset(PAY, units_public=True, columns={"team": teams})
    made = staff.percentile("salary", by="team", **GIVEN)
    assert {name: made.answer[name] for name in TEAMS} == {"law": 71, "sales": 42}
    assert 0 <= made.answer["empty"] <= 100
    assert str(made.neighbours) == "replace-one"


def test_a_group_without_rows_gets_a_random_answer():
    groups = [f"no {i}" for i in range(40)]
    made = dampen.percentile(PAY, "salary", by="team", groups=groups, **GIVEN)
    assert len(set(made.answer.values())) > 5  # false alarms: below 1e-40


def test_the_number_of_rows_is_private():
    made = dampen.percentile(PAY["salary"], **GIVEN)
    assert 44 <= made.answer <= 70
    assert "n" not in made.parameters
    assert str(made.neighbours) == "add-remove-row"
    assert dampen.percentile([], **GIVEN).answer >= 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": "team"}, "groups=, the public list"),
        ({"groups": TEAMS}, "by=, the column of groups"),
        ({"by": "team", "groups": []}, "groups"),
        ({"by": "team", "groups": ["a", "a"]}, "different groups"),
        ({"by": "tem", "groups": TEAMS}, "Did you mean 'team'"),
        ({"by": "salary", "groups": TEAMS}, "beside"),
        ({"p": "33.33333"}, "four decimals"),
    ],
)
def test_wrong_parameters_cost_nothing(options, says):
    with pytest.raises(ParameterError, match=says):
        dampen.percentile(pd.DataFrame(PAY), "salary", budget=Refusing(), **(GIVEN | options))


class Refusing:
    def charge(self, cost, /):
        raise AssertionError("charged")


def test_a_missing_value_is_a_row_less():
    table = {"salary": [1.0, float("nan")], "team": ["law", "other"]}
    found = dampen.percentile(table, "salary", by="team", groups=["law", "other"], **GIVEN)
    assert set(found.answer) == {"law", "other"}


def test_values_between_points_count_as_what_they_are():
    """As `PercentileValueOfRows` does it, without rounding a value to a point."""
    generator = np.random.default_rng(1)
    table = {"v": generator.uniform(-1, 11, size=300), "g": generator.integers(0, 3, size=300)}
    entropies = (dampen.InsecureEntropy(7, allow_release=True) for _ in range(2))
    options = {"p": 30, "epsilon": "0.2", "upper": 10, "step": 0.5}
    grouped = dampen.percentile(
        table, "v", by="g", groups=[1], entropy=next(entropies), **options
    ).answer[1]
    alone = dampen.percentile(
        table["v"][table["g"] == 1],
        entropy=next(entropies),
        **options,
    ).answer
    assert grouped == alone
