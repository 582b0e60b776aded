"""A step for ranges of which none is stated: it always makes a grid that can be used."""

from fractions import Fraction

import pytest

import dampen
from dampen.questions.groups.statistics import Grid, usual_step

RANGES = [(0, 90), ("-1.5", 2), (17.3, 90), (0, 1e9), (0, "713.37"), (0, "0.123456789"), (-1e-7, 3)]


@pytest.mark.parametrize(("least", "firsts"), [(1000, (5, 2, 1)), (100_000, (1,))])
@pytest.mark.parametrize(("lower", "upper"), RANGES)
def test_the_range_is_cut_into_enough_steps_and_not_too_many(lower, upper, least, firsts):
    step = usual_step(lower, upper, least, firsts)
    assert least <= Grid.between(lower, upper, step).top <= 100 * least


def test_a_round_step_is_taken_where_one_divides_the_range():
    assert usual_step(0, "713.37") == Fraction(1, 100)
    assert usual_step(0, 100, 100_000, firsts=(1,)) == Fraction(1, 1000)


def test_a_range_with_many_digits_can_be_asked_without_a_step():
    table = {"x": [0.1] * 90 + [0.01] * 60, "g": ["a"] * 90 + ["b"] * 60}
    asked = {"by": "g", "groups": ["a", "b"], "lower": 0, "upper": 0.123456789, "epsilon": 1}
    assert dampen.top_groups(table, "x", **asked).answer == "a"
    assert dampen.groups_above(table, "x", threshold=0.05, **asked).answer == ["a"]
