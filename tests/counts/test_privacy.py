"""Counts, totals and means: their exact loss, and that what is drawn follows the law."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.memory import MemoryTable
from dampen.questions.counts import CountQuestion, CountsMethod, HistogramQuestion
from dampen.questions.means import MeanMethod, MeanQuestion, TotalMethod, TotalQuestion
from dampen.testing import Universe
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow, counts_of

EPSILON = Fraction(1, 2)
WINDOW = range(-6, 13)
"""Outcomes that are looked at; beyond the true numbers the ratio stays what it is at the ends."""


def pmf(z, scale):
    """The law of discrete Laplace noise."""
    a = np.exp(-1 / float(scale))
    return (1 - a) / (1 + a) * a ** np.abs(z)


def shifted_law(exact, scale, window=WINDOW):
    """The probabilities of all vectors in the window, each number with noise of its own."""
    each = [pmf(np.array(window) - number, scale) for number in np.ravel(exact)]
    law = np.ones(1)
    for probabilities in each:
        law = np.multiply.outer(law, probabilities).ravel()
    return law


def universe(values, groups="ab", max_rows=3):
    return Universe.add_remove_row([*product(values, groups)], max_rows=max_rows)


def table(rows):
    rows = [*rows]
    values = [value for value, _ in rows]
    return MemoryTable({"v": np.array(values, dtype=float), "g": [group for _, group in rows]})


def numbers(kind, **changed):
    given = {"value": "v", "lower": 1, "upper": 3, "step": 1, "by": "g", "groups": ["a", "b"]}
    return kind(**(given | changed))


def test_the_loss_of_counts_is_epsilon():
    method = CountsMethod(CountQuestion(by="g", groups=["a", "b"]))

    def law(rows):
        return shifted_law(method.question.counts(table(rows)), method.scale(EPSILON))

    verdict = law_loss(law, universe([1.0], "abc"), epsilon=EPSILON)
    assert verdict
    assert verdict.value == pytest.approx(EPSILON)


@pytest.mark.parametrize(
    "cells", [{"bins": 2, "lower": 0, "upper": 2}, {"categories": [0.0, 1.0]}], ids=["bins", "list"]
)
def test_the_loss_of_a_histogram_by_group_is_epsilon(cells):
    question = HistogramQuestion(value="v", by="g", groups=["a", "b"], **cells)
    method = CountsMethod(question)

    def law(rows):
        return shifted_law(question.counts(table(rows)), method.scale(EPSILON), range(-1, 5))

    verdict = law_loss(law, universe([0.0, 1.0, float("nan")], max_rows=2), epsilon=EPSILON)
    assert verdict
    assert verdict.value == pytest.approx(EPSILON)


@pytest.mark.parametrize("ends", [(1, 3), (-2, 1), (-3, -1)])
def test_the_loss_of_totals_is_epsilon(ends):
    lower, upper = ends
    method = TotalMethod(numbers(TotalQuestion, lower=lower, upper=upper))

    def law(rows):
        return shifted_law(method.totals(table(rows)), method.scale(EPSILON), range(-12, 13))

    values = [float(each) for each in range(lower, upper + 1)]
    verdict = law_loss(law, universe(values, max_rows=2), epsilon=EPSILON)
    assert verdict
    assert verdict.value == pytest.approx(EPSILON)


def test_noise_for_the_width_of_the_range_is_not_private():
    """The broken twin: a row more adds its value, not its distance from the other end."""
    method = TotalMethod(numbers(TotalQuestion))
    width = Fraction(2)

    def law(rows):
        return shifted_law(method.totals(table(rows)), width / EPSILON)

    verdict = law_loss(law, universe([1.0, 2.0, 3.0], max_rows=2), epsilon=EPSILON)
    assert not verdict
    assert verdict.value == pytest.approx(1.5 * EPSILON)


def test_the_loss_of_means_is_epsilon_for_sum_and_count_together():
    method = MeanMethod(numbers(MeanQuestion))

    def law(rows):
        return shifted_law(method.two_sums(table(rows)), method.scale(EPSILON), range(-3, 8))

    verdict = law_loss(law, universe([1.0, 2.0, 3.0], max_rows=2), epsilon=EPSILON)
    assert verdict
    assert verdict.value == pytest.approx(EPSILON)


def test_a_sum_and_a_count_at_epsilon_each_are_not_private():
    """The broken twin: a row changes both."""

    def law(rows):
        values = [value for value, _ in rows]
        exact = [sum(value - 2 for value in values), len(values)]
        return shifted_law(exact, 1 / EPSILON)

    verdict = law_loss(law, universe([1.0, 2.0, 3.0], max_rows=2), epsilon=EPSILON)
    assert not verdict
    assert verdict.value == pytest.approx(2 * EPSILON)


DATA = {"v": [1.0, 2.0, 2.0, float("nan"), 9.0], "g": ["a", "b", "b", "a", "c"]}
ASKED = {
    "count": lambda **given: dampen.count(DATA, **given),
    "histogram": lambda **given: dampen.histogram(DATA, "g", categories=["b"], **given),
    "total": lambda **given: dampen.total(DATA, "v", lower=0, upper=4, step=1, **given),
    "mean": lambda **given: dampen.mean(DATA, "v", lower=0, upper=4, step=1, **given),
}


@pytest.mark.parametrize(
    ("asked", "true", "sensitivity"), [("count", 5, 1), ("histogram", 2, 1), ("total", 9, 4)]
)
def test_draws_follow_the_stated_law(asked, true, sensitivity):
    """False alarms below 1e-7; an ε that is 30 % off is rejected."""
    entropy = InsecureEntropy(7, allow_release=True)
    drawn = [ASKED[asked](epsilon=EPSILON, entropy=entropy).numbers for _ in range(4000)]
    drawn = [each["b"] if isinstance(each, dict) else each for each in drawn]
    window = range(true - 200, true + 201)
    laws = [pmf(np.array(window) - true, sensitivity / e) for e in (EPSILON, EPSILON * 13 / 10)]
    assert_draws_follow(counts_of(drawn, window), *laws)


def test_both_sums_of_a_mean_follow_the_law():
    """A = 1 + 2 + 2 + 4, B = 3 + 2 + 2 + 0, each with noise of scale 4 / ε."""
    entropy = InsecureEntropy(8, allow_release=True)
    above, below = [], []
    for _ in range(4000):
        number = ASKED["mean"](epsilon=EPSILON, entropy=entropy).numbers
        above.append(round(number["sum"]))
        below.append(round(4 * number["count"] - number["sum"]))
    for drawn, true in [(above, 9), (below, 7)]:
        window = range(true - 400, true + 401)
        laws = [pmf(np.array(window) - true, 4 / e) for e in (EPSILON, EPSILON * 13 / 10)]
        assert_draws_follow(counts_of(drawn, window), *laws)
    assert abs(np.corrcoef(above, below)[0, 1]) < 0.1
