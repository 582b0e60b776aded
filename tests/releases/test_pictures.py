"""Pictures of releases: bars with intervals, tables of notebooks."""

import pytest

import dampen
from dampen.errors import ParameterError

DATA = {"v": ["x"] * 50 + ["y"] * 20, "g": ["a", "b"] * 35, "n": [1, 5] * 35}


@pytest.fixture
def ax():
    return pytest.importorskip("matplotlib.figure").Figure().subplots()


def test_a_histogram_has_a_bar_for_every_category_with_its_interval(ax):
    made = dampen.histogram(DATA, "v", categories=["x", "y", "z"], epsilon="1")
    assert made.plot(ax) is ax
    [bars] = [each for each in ax.containers if hasattr(each, "patches")]
    assert [bar.get_height() for bar in bars] == list(made.answer.values())
    [lines] = bars.errorbar.lines[2]
    drawn = zip(lines.get_segments(), made.answer.values(), made.interval().values(), strict=True)
    for segment, number, ends in drawn:
        low, high = segment[:, 1]
        # A count that the noise made negative is below its interval, which begins at 0.
        assert low == pytest.approx(min(ends[0], number))
        assert high == pytest.approx(max(ends[1], number))
    assert "ε = 1" in ax.get_title()


def test_groups_are_colours(ax):
    made = dampen.histogram(
        DATA, "v", categories=["x", "y"], by="g", groups=["a", "b"], epsilon="1"
    )
    made.plot(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dampen.count(DATA, epsilon="1"),
        lambda: dampen.mean(DATA, "n", lower=0, upper=9, by="g", groups=["a", "b"], epsilon="1"),
        lambda: dampen.most_frequent(DATA, "v", categories=["x", "y"], k=2, rho="0.5"),
        lambda: dampen.most_frequent(DATA, "v", categories=["x", "y"], epsilon="1"),
        lambda: dampen.keys(DATA, "v", epsilon="5", delta="0.01"),
        lambda: dampen.top_groups(
            DATA, "n", by="g", groups=["a", "b"], lower=0, upper=9, k=2, measure="statistic",
            epsilon="1",
        ),
    ],
)  # fmt: skip
def test_every_release_with_numbers_has_a_picture(ask, ax):
    assert ask().plot(ax).containers


def test_a_name_alone_has_no_picture(ax):
    made = dampen.most_frequent(["a"], categories=["a", "b"], mechanism="em", epsilon="1")
    with pytest.raises(ParameterError, match="no picture"):
        made.plot(ax)


def test_a_notebook_shows_bars_and_escapes_names():
    hostile = "<img src=x onerror=alert(1)>"
    made = dampen.histogram(DATA, "v", categories=["x", hostile], epsilon="1")
    html = made._repr_html_()
    assert hostile not in html
    assert "&lt;img" in html
    assert "95 % interval" in html
    assert "http" not in html
    assert "<script" not in html
    many = dampen.count(DATA, by="g", groups=[*map(str, range(100))], epsilon="1")
    assert "and 40 more" in many._repr_html_()
