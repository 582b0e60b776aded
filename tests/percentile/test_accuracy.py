"""What is said of a percentile before it is paid for."""

import re

import numpy as np
import pytest

import dampen
from dampen.epsilon import exact
from dampen.errors import AccuracyWarning
from dampen.questions.percentile.accuracy import likeliest_in_two_stages
from dampen.questions.percentile.record_two_stages import Shares, TwoStages
from dampen.questions.percentile.record_two_stages_law import law
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

VALUE = {"upper": 100, "step": 1, "epsilon": "0.5"}


def ranks_in(sentence: str) -> int:
    return int(re.search(r"at most ([\d,]+) ranks", sentence)[1].replace(",", ""))


def test_the_sentence_does_not_depend_on_the_data():
    one, other = (dampen.percentile(v, p=50, **VALUE).accuracy for v in ([1, 2], [99, 5, 7]))
    assert one == other
    assert one.startswith("With 101 points and ε = 0.5, the value is")


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove-row"])
@pytest.mark.parametrize("p", [10, 50, 95])
@pytest.mark.parametrize("data", ["uniform", "one end", "two ends"])
def test_values_are_as_near_as_is_told(neighbours, p, data):
    """By the law of the draw, on data of several shapes."""
    values = {
        "uniform": np.arange(1000) / 10,
        "one end": np.r_[np.zeros(990), np.full(10, 100.0)],
        "two ends": np.r_[np.zeros(500), np.full(500, 100.0)],
    }[data]
    told = ranks_in(dampen.percentile(values, p=p, neighbours=neighbours, **VALUE).accuracy)
    public = {"p": p, "upper": 100, "step": 1}
    rows = neighbours == "add-remove-row"
    problem = PercentileValueOfRows(**public) if rows else PercentileValue(n=1000, **public)
    selection = problem.selection(values)
    chance = dampen.probabilities(selection, epsilon="0.5", mechanism="pf")
    unit = {10: 10, 50: 2, 95: 20}[p] if rows else 1
    near = selection.utility >= selection.utility.max() - told * unit
    assert chance[near].sum() >= 0.9


def test_splitting_and_more_points_are_told():
    told = {
        name: ranks_in(dampen.percentile([1, 2, 3], **(VALUE | options)).accuracy)
        for name, options in {
            "one": {"p": 50},
            "two": {"p": [25, 75], "mechanism": "pf"},
            "fine": {"p": 50, "step": 0.01},
        }.items()
    }  # fmt: skip
    assert told["one"] < told["fine"]
    assert told["one"] < told["two"]


@pytest.mark.parametrize("epsilon", [1, 4, 12])
def test_no_label_is_more_likely_than_is_told(epsilon):
    bound = likeliest_in_two_stages(6, exact(epsilon))
    for values in ([0, 1, 2, 3, 4, 8], [5, 5, 5, 5, 5, 5], [0, 0, 0, 8, 8, 8]):
        problem = TwoStages(n=6, p=50, upper=8, shares=Shares.of(exact(epsilon)), cells=16)
        chance = law(problem, np.array(values, dtype=float)).sum(axis=(0, 1))
        assert chance.max() <= bound + 1e-9


def test_a_label_by_chance_is_warned_of_before_the_charge():
    class Refusing:
        def charge(self, cost, /):
            raise dampen.BudgetError("No.")

    warned = pytest.warns(
        AccuracyWarning, match=r"no label is named with a probability above 0\.00"
    )
    with warned, pytest.raises(dampen.BudgetError):
        dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=2, budget=Refusing())


def test_a_label_that_can_be_found_is_not_warned_of():
    made = dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=40)
    assert made.accuracy.startswith("Among 2,000 labels and at ε = 40, no label")
