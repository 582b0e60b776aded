"""What is said of an answer about groups before it is paid for."""

import re
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.questions.groups.accuracy import accuracy, likely_noise
from dampen.questions.groups.problem import BestGroup

GRID = {"lower": 0, "upper": 9, "step": 1}


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "5"])
@pytest.mark.parametrize("draws", [1, 3, 100])
def test_noise_stays_within_what_is_told(epsilon, draws):
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
    assert one.startswith("With 3 groups and ε = 0.3, the answer is, with probability 0.9")


def test_caution_and_order_cost_rows():
    told = {}
    for name, options, ordered in [
        ("plain", {}, False), ("bold", {"caution": 0}, False), ("ordered", {}, True),
    ]:  # fmt: skip
        problem = BestGroup(groups=list("abcd"), **GRID, **options)
        sentence = accuracy(problem, 2, Fraction(1, 4), ordered=ordered)
        told[name] = int(re.search(r"most (\d+) rows", sentence)[1])
    assert told["bold"] < told["plain"] < told["ordered"]
    assert told["plain"] - told["bold"] == 4  # caution / ε


@pytest.mark.parametrize("neighbours", ["add-remove-row", "replace-one"])
def test_a_sum_that_leads_by_as_much_wins(neighbours):
    """The law of the answer, where all other sums are tied at the lead that is told."""
    problem = BestGroup(
        groups=list("abcd"), statistic="sum", lower=-3, upper=9, step=3, neighbours=neighbours
    )
    sentence = accuracy(problem, 1, Fraction(1, 10), ordered=False)
    leading = int(re.search(r"by ([\d,]+) is", sentence)[1].replace(",", ""))
    rows = -(-leading // 9)
    values, by = [9] * rows, ["a"] * rows
    assert problem.probabilities(values, by, epsilon="0.1")[0] >= 0.9
    fewer = rows // 2
    assert problem.probabilities([9] * fewer, ["a"] * fewer, epsilon="0.1")[0] < 0.9


def test_nothing_is_said_where_every_group_is_the_answer():
    problem = BestGroup(groups=["a", "b"], **GRID)
    assert accuracy(problem, 2, Fraction(1), ordered=False) == ""
