"""A statistic is its class and one line of a list: names, help and errors follow."""

from fractions import Fraction

import pytest

from dampen.errors import ParameterError
from dampen.questions.groups import STATISTICS, BestGroup, GroupsQuestion, problem
from dampen.questions.groups.statistics import NamedStatistic, Percent, Quantile
from dampen.releases.question import parameters

GIVEN = {"groups": ["a", "b"], "lower": 0, "upper": 10, "step": 1}


def test_the_question_offers_the_listed_statistics():
    declared = {each.name: each for each in parameters(GroupsQuestion)}
    assert declared["statistic"].choices == tuple(each.name for each in STATISTICS)
    for each in STATISTICS:
        assert f"{each.name}: {each.help}." in declared["statistic"].help
        assert (each.name in declared["p"].help.strip(".").split()) == bool(each.percent)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.name)
def test_every_statistic_can_be_asked_for(statistic):
    p = None if statistic.percent is None else 30
    found = BestGroup(statistic=statistic.name, p=p, **GIVEN)
    assert found.named is statistic
    assert found.public["statistic"] == statistic.name
    law = found.probabilities([9, 9, 9, 1, 1, 1], ["a"] * 3 + ["b"] * 3, epsilon=20)
    assert law[0] > 0.9


def test_a_line_more_is_a_statistic_more(monkeypatch):
    upper = NamedStatistic("upper-quartile", "a quarter is above", lambda: Quantile(Fraction(3, 4)))
    monkeypatch.setattr(problem, "STATISTICS", (*STATISTICS, upper))
    assert BestGroup(statistic="upper-quartile", **GIVEN).compared == Quantile(Fraction(3, 4))
    with pytest.raises(ParameterError, match=r"upper-quartile.*Did you mean 'upper-quartile'"):
        BestGroup(statistic="uper-quartile", **GIVEN)
    with pytest.raises(ParameterError, match=r"no p= for the upper-quartile"):
        BestGroup(statistic="upper-quartile", p=3, **GIVEN)


@pytest.mark.parametrize("name", ["max", "maximum", "min", "minimum"])
def test_statistics_that_one_row_decides_are_refused_with_advice(name):
    with pytest.raises(ParameterError, match=r"one row decides it.*statistic='quantile', p="):
        BestGroup(statistic=name, **GIVEN)


def test_percentages_are_exact():
    assert Percent(below=100).share("12.5") == Fraction(1, 8)
    assert Percent(below=50, usual=10).share(None) == Fraction(1, 10)
    assert BestGroup(p="90.0", **GIVEN).compared == Quantile(Fraction(9, 10))
    with pytest.raises(ParameterError, match="Expected p="):
        Percent(below=100).share(None)
