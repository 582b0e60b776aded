"""Totals and means where the number of rows is public: one row is replaced, at the full ε."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.data.memory import MemoryTable
from dampen.questions.means import MeanQuestion, PublicSizeMethod, TotalMethod, TotalQuestion
from dampen.releases.cost import Price
from dampen.schema.schema import Schema
from goodness import assert_draws_follow

PUBLIC = Schema(units_public=True)
GRID = {"value": "v", "lower": 4, "upper": 7, "step": 1}
VALUES = (4.0, 5.0, 7.0, 99.0, None)
QUESTIONS = [TotalQuestion(**GRID), MeanQuestion(**GRID)]


def method_of(question, facts=PUBLIC):
    return question.method(MemoryTable({"v": [4.0]}), facts, Price(Fraction(1)))


def cells(question, rows):
    return question.column.sums(MemoryTable({"v": list(rows)}))[0, 1]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_the_loss_is_at_most_epsilon(question):
    """All tables of three rows, all replacements; the law of the noise makes the loss exact."""
    method = method_of(question)
    assert isinstance(method, PublicSizeMethod)
    assert method.cost(Price(1)).neighbours is Neighbours.REPLACE_ONE
    moved = max(
        abs(cells(question, rows) - cells(question, (*rows[:i], other, *rows[i + 1 :])))
        for rows in product(VALUES, repeat=3)
        for i in range(3)
        for other in VALUES
    )
    assert moved / method.scale(Fraction(1)) == 1


def test_the_same_noise_would_not_hide_a_row_more():
    """The broken twin: noise of the range where rows come and go, and a range far from 0."""
    question = QUESTIONS[0]
    sums = TotalMethod(question)
    more, fewer = (sums.totals(MemoryTable({"v": rows}))[0] for rows in ([7.0, 7.0], [7.0]))
    assert abs(more - fewer) / method_of(question).scale(Fraction(1)) > 1.1


@pytest.mark.parametrize(
    ("change", "facts"),
    [({"where": "v > 5"}, PUBLIC), ({"by": "g", "groups": ["a"]}, PUBLIC), ({}, Schema())],
    ids=["a filter", "groups", "a private number of rows"],
)
def test_only_all_rows_of_a_public_number(change, facts):
    """How many rows hold a condition, or are in a group, is private."""
    for question in (TotalQuestion(**GRID, **change), MeanQuestion(**GRID, **change)):
        assert not isinstance(method_of(question, facts), PublicSizeMethod)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_noise_is_drawn_as_enumerated(question):
    """4,000 draws, and the law of an ε that is 30 % off; false alarms below 1e-7."""
    source = MemoryTable({"v": [4.0, 5.0, 7.0, None] * 10})
    method = method_of(question)
    true = cells(question, [4.0, 5.0, 7.0, None] * 10)
    entropy = InsecureEntropy(8)
    unit = Fraction(1) if question.name == "total" else Fraction(1, 40)
    drawn = [method.draw(source, Fraction(1), entropy) for _ in range(4000)]
    lower = 160 if question.name == "total" else 4
    noise = [round((Fraction(each.numbers) - lower) / unit) - true for each in drawn]
    edges = np.arange(-9, 10)

    def law(scale):
        a = np.exp(-1 / scale)
        below = np.where(edges < 0, a ** -edges.astype(float), 1 + a - a ** (edges + 1.0)) / (1 + a)
        return np.diff(np.r_[0, below, 1])

    counts = np.bincount(np.searchsorted(edges, noise), minlength=len(edges) + 1)
    assert_draws_follow(counts, law(3.0), law(3.9))
    assert drawn[0].law.unit == unit


def test_answers_of_a_data_set_with_a_public_number_of_rows():
    """Hardly any noise; a row without a value counts as the lower end."""
    data = {"v": [4.0, 5.0, 7.0, None] * 100}
    asked = dampen.dataset(data, units_public=True, columns={"v": dampen.number(4, 7, step=1)})
    made = asked.total("v", epsilon=1000)
    assert (made.answer, made.parameters["rows"]) == (2000, 400)
    assert str(made.neighbours) == "replace-one"
    mean = asked.mean("v", epsilon=1000)
    assert mean.answer == pytest.approx(5, abs=0.01)
    low, high = mean.interval(0.999)
    assert low <= 5 <= high
    assert dampen.Release.from_json(mean.to_json()).interval() == mean.interval()
    empty = dampen.dataset({"v": []}, units_public=True, columns={"v": dampen.number(4, 7, step=1)})
    assert empty.mean("v", epsilon=1).answer == 5.5
    assert asked.mean("v", rho="0.5").epsilon is None
