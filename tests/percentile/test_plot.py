"""The picture of released percentiles."""

import pytest

import dampen
from dampen.errors import ParameterError
from dampen.releases.numbers import plot

GIVEN = {"epsilon": 500, "upper": 100, "step": 1}


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.subplots()


def test_the_curve_is_that_of_the_answers_in_order(ax):
    made = dampen.percentile(range(101), p=[90, "12.5", 50], **GIVEN)
    [line] = plot(made, ax).lines
    assert line.get_xdata().tolist() == [12.5, 50, 90]
    assert line.get_ydata().tolist() == [made.answer[i] for i in (1, 2, 0)]
    assert "ε = 500" in ax.get_title()


def test_groups_have_a_line_each(ax):
    data = {"v": range(100), "g": ["a", "b"] * 50}
    made = dampen.percentile(data, "v", by="g", groups=["a", "b"], p="deciles", **GIVEN)
    assert [line.get_label() for line in plot(made, ax).lines] == ["a", "b"]
    assert len(ax.lines[0].get_xdata()) == 9


def test_one_answer_has_no_curve(ax):
    for options in ({"p": 50}, {"p": "50"}):
        with pytest.raises(ParameterError, match="no picture"):
            plot(dampen.percentile(range(101), **(GIVEN | options)), ax)
