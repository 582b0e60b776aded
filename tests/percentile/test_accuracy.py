"""What is said of a percentile before it is paid for."""

from itertools import product

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import named
from dampen.data.memory import StreamTable
from dampen.data.source import Field
from dampen.epsilon import exact
from dampen.errors import AccuracyWarning
from dampen.paper.percentile_selection import NEAR, PercentileLabel
from dampen.questions.percentile.methods import (
    Shares,
    TwoStages,
    likeliest_in_one_draw,
    likeliest_in_two_stages,
)
from dampen.questions.percentile.question import PercentileQuestion
from dampen.questions.percentile.record import label_mechanism
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows
from dampen.releases.answer import expect
from dampen_studies.rivals.record_law import law
from relations import RELATIONS, facts, percentile

VALUE = {"upper": 100, "step": 1, "epsilon": "0.5"}


class Refusing:
    def charge(self, cost, /):
        raise dampen.BudgetError("No.")


def test_the_accuracy_does_not_depend_on_the_data():
    one, other = (dampen.percentile(v, p=50, **VALUE).accuracy for v in ([1] * 200, [99, 5] * 100))
    assert one == other
    assert one.unit == "ranks"
    assert f"the value is at most {one.error:.0f} ranks farther from the percentile" in str(one)


@pytest.mark.parametrize("rows", [1, 2, 30, 300, 10_000])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [0, 50, 99, "deciles"])
def test_no_error_is_larger_than_is_possible(rows, relation, p):
    question = PercentileQuestion(value="v", p=p, upper=100, step=1)
    stream = StreamTable([Field("v")], lambda _: iter(()))
    told = expect(question, stream, epsilon="0.1", schema=facts(relation, rows)).accuracy
    values = np.zeros(rows) if p == 100 else np.full(rows, 100.0)
    possible = max(rank_error(values, q, rows) for q in question.points)
    assert told.error <= possible + 1
    assert told.chance == (rows <= (300 if p == "deciles" else 30))


def rank_error(values, p, rows):
    """The largest of all points, on two columns that are as bad as can be."""
    errors = [
        -PercentileValue(n=rows, p=p, upper=100, step=1).selection(x).utility.min()
        for x in (values, 100 - values)
    ]
    return max(errors)


def test_nine_percentiles_of_few_rows_cause_a_warning_before_the_charge():
    """It once said more ranks than there are rows, and charged."""
    warned = pytest.warns(AccuracyWarning, match="can be up to 108 ranks from its percentile")
    with warned, pytest.raises(dampen.BudgetError):
        percentile(np.arange(119.0), "replace-one", p="deciles", **VALUE, budget=Refusing())


def test_a_private_number_of_rows_bounds_nothing():
    """Under add/remove the accuracy of one row is that of a thousand."""
    one, many = (dampen.percentile([5] * n, p=50, **VALUE).accuracy for n in (1, 1000))
    assert one == many


def test_the_rows_of_a_file_bound_the_accuracy_once_they_are_read(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("v\n1\n2\n3\n")
    made = dampen.dataset(path, units_public=True).percentile("v", p=50, **VALUE)
    assert made.accuracy.error == 2
    assert made.accuracy.chance


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [10, 50, 95])
@pytest.mark.parametrize("data", ["uniform", "one end", "two ends"])
def test_values_are_as_near_as_stated(relation, p, data):
    """By the law of the draw, on data of several shapes."""
    values = {
        "uniform": np.arange(1000) / 10,
        "one end": np.r_[np.zeros(990), np.full(10, 100.0)],
        "two ends": np.r_[np.zeros(500), np.full(500, 100.0)],
    }[data]
    told = percentile(values, relation, p=p, **VALUE).accuracy.error
    public = {"p": p, "upper": 100, "step": 1}
    rows = relation == "add-remove-row"
    problem = PercentileValueOfRows(**public) if rows else PercentileValue(n=1000, **public)
    selection = problem.selection(values)
    chance = dampen.probabilities(selection, epsilon="0.5", mechanism="pf")
    unit = {10: 10, 50: 2, 95: 20}[p] if rows else 1
    near = selection.utility >= selection.utility.max() - told * unit
    assert chance[near].sum() >= 0.9


def test_the_accuracy_reflects_splitting_and_the_number_of_points():
    told = {
        name: dampen.percentile([1, 2, 3] * 100, **(VALUE | options)).accuracy.error
        for name, options in {
            "one": {"p": 50},
            "two": {"p": [25, 75], "mechanism": "pf"},
            "fine": {"p": 50, "step": 0.01},
        }.items()
    }  # fmt: skip
    assert told["one"] < told["fine"]
    assert told["one"] < told["two"]


@pytest.mark.parametrize("epsilon", [1, 4, 12])
def test_no_label_is_more_likely_than_stated(epsilon):
    bound = likeliest_in_two_stages(6, exact(epsilon))
    for values in ([0, 1, 2, 3, 4, 8], [5, 5, 5, 5, 5, 5], [0, 0, 0, 8, 8, 8]):
        problem = TwoStages(n=6, p=50, upper=8, shares=Shares.of(exact(epsilon)), cells=16)
        chance = law(problem, np.array(values, dtype=float)).sum(axis=(0, 1))
        assert chance.max() <= bound + 1e-9


@pytest.mark.parametrize("mechanism", ["em", "pf", "ld", "ld-pf", None])
@pytest.mark.parametrize("delta", ["exact", "simple"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_record_is_more_likely_than_stated_in_one_draw(mechanism, delta, n):
    """By the law of the draw, of all columns of n values in {0, 1, 2, 3, 9}."""
    chosen = label_mechanism(0, 9) if mechanism is None else named(mechanism)
    horizon = NEAR if mechanism is None else None
    largest = 0.0
    bound = likeliest_in_one_draw(chosen, n, exact(6), width=9)
    for p, x in product((0, 30, 50, 100), product((0, 1, 2, 3, 9), repeat=n)):
        problem = PercentileLabel(n=n, p=p, upper=9, delta=delta, horizon=horizon)
        selection = problem.selection(np.array(x, dtype=float))
        chance = dampen.probabilities(selection, epsilon=6, mechanism=chosen)
        largest = max(largest, chance.max())
    assert largest <= bound + 1e-9
    assert n == 1 or largest > 0.5 * bound


def test_a_random_record_causes_a_warning_before_the_charge():
    warned = pytest.warns(
        AccuracyWarning, match=r"no record is named with a probability above 0\.00"
    )
    with warned, pytest.raises(dampen.BudgetError):
        dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=2, budget=Refusing())


def test_random_records_among_few_cause_a_warning_too():
    with pytest.warns(AccuracyWarning, match="Ask for the value with dampen.percentile"):
        dampen.percentile_record(np.arange(500.0), p=50, upper=500, epsilon=2)


def test_a_record_that_can_be_found_causes_no_warning():
    told = dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=40).accuracy
    assert told.sentence.startswith("Among 2,000 records at ε = 40 no record is named with")
    assert told.unit == "probability of missing the right record"
    assert told.error == 0


def test_several_records_are_found_less_often_one_after_the_other():
    one, three = (
        dampen.percentile_record(np.arange(200.0), p=50, upper=200, epsilon=9, k=k).accuracy.error
        for k in (1, 3)
    )
    assert one < three
