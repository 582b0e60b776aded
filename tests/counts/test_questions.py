"""Counts, totals and means of tables of all kinds: which rows are counted, what is refused."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dampen
from dampen.data.memory import MemoryTable
from dampen.data.source import AddsCells
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions import means
from dampen.questions.counts import CountQuestion, nonnegative_counts
from dampen.questions.means import MeanQuestion, TotalQuestion
from dampen.releases.answer import answer, expect
from dampen.schema import Schema

EXACTLY = {"epsilon": "1000000"}
STAYS = {
    "days": [1.0, 2.0, None, 30.0, -5.0, 7.0],
    "ward": ["A", "B", "A", "A", "B", None],
}
WARDS = {"by": "ward", "groups": ["B", "A", "empty"]}
DAYS = {"lower": 0, "upper": 10, "step": 1}


@pytest.mark.parametrize("data", [STAYS, pd.DataFrame(STAYS)], ids=["dict", "pandas"])
def test_rows_of_other_groups_are_left_out(data):
    assert dampen.count(data, **EXACTLY).answer == 6
    assert dampen.count(data, **WARDS, **EXACTLY).answer == {"B": 2, "A": 3, "empty": 0}


def test_a_column_may_be_passed_itself():
    assert dampen.count(STAYS["ward"], **EXACTLY).answer == 6
    made = dampen.count(STAYS["days"], by=STAYS["ward"], groups=["A"], **EXACTLY)
    assert made.answer == {"A": 3}
    made = dampen.count(STAYS, by=np.array(["x"] * 6), groups=["x"], **EXACTLY)
    assert made.answer == {"x": 6}


def test_a_histogram_counts_listed_categories():
    made = dampen.histogram(STAYS, "ward", categories=["A", "B", "Z"], **EXACTLY)
    assert made.answer == {"A": 3, "B": 2, "Z": 0}


def test_numbers_beyond_the_ends_are_in_the_first_and_last_bin():
    made = dampen.histogram(STAYS, "days", lower=0, upper=10, bins=2, **EXACTLY)
    assert made.answer == {"0 to 5": 3, "5 to 10": 2}
    edges = dampen.histogram(STAYS, "days", bins=[0, 2, "2.5", 10], **EXACTLY)
    assert edges.answer == {"0 to 2": 2, "2 to 2.5": 1, "2.5 to 10": 2}
    assert len(dampen.histogram(STAYS, "days", lower=0, upper=1, **EXACTLY).answer) == 10


def test_bins_without_short_decimals_have_readable_names():
    made = dampen.histogram([1, 2], lower=0, upper=10, bins=3, **EXACTLY)
    assert list(made.answer) == ["0 to 3.333333333", "3.333333333 to 6.666666667",
                                 "6.666666667 to 10"]  # fmt: skip


def test_a_histogram_of_every_group():
    made = dampen.histogram(STAYS, "days", bins=[0, 5, 10], **WARDS, **EXACTLY)
    assert made.answer["A"] == {"0 to 5": 1, "5 to 10": 1}
    assert json.loads(made.to_json())["intervals"]["ends"]["B"]["0 to 5"] == [2, 2]


def test_totals_and_means_move_values_to_the_range():
    assert dampen.total(STAYS, "days", **DAYS, **EXACTLY).answer == 1 + 2 + 10 + 0 + 7
    assert dampen.mean(STAYS, "days", **DAYS, **EXACTLY).answer == pytest.approx(4, abs=1e-3)
    by_ward = dampen.mean(STAYS, "days", **DAYS, **WARDS, **EXACTLY).answer
    assert by_ward["A"] == pytest.approx(5.5, abs=1e-3)
    assert by_ward["B"] == pytest.approx(1, abs=1e-3)
    assert 0 <= by_ward["empty"] <= 10


def test_the_unit_of_a_total_divides_lower_and_step():
    made = dampen.total([0.3, 0.55], lower="-0.2", upper="0.7", step="0.15", **EXACTLY)
    assert made.answer == pytest.approx(0.25 + 0.55, abs=1e-4)
    assert made.law.unit == Fraction(1, 20)


@pytest.mark.parametrize("kind", [TotalQuestion, MeanQuestion])
@pytest.mark.parametrize("by", [{}, {"by": "g", "groups": [*range(5)]}])
def test_sums_by_cells_and_by_rows_are_the_same(kind, by, monkeypatch):
    rng = np.random.default_rng(4)
    data = MemoryTable(
        {"v": np.r_[rng.normal(50, 40, 5000), np.nan], "g": rng.integers(0, 7, 5001)}
    )
    column = kind(value="v", lower=0, upper=100, step="0.5", **by).column
    counted = column.sums(data)
    monkeypatch.setattr(means, "MOST_COUNTED", 0)
    assert (column.sums(data) == counted).all()
    places = np.round(np.clip(data.columns["v"], 0, 100)[:-1] * 2)
    if not by:
        assert counted.tolist() == [[5000, int(places.sum())]]


@pytest.mark.parametrize(
    "grid", [(0, 100, "0.5"), (-3, 40, 1), ("-0.3", "0.9", "0.1"), (-(10**6), 10**6, 1)]
)
@pytest.mark.parametrize("column", ["v", "w", "small"])
def test_sums_in_duckdb_are_those_of_memory(grid, column):
    """Cells are added up by the engine, to the last unit, whatever the values are."""
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(6)
    values = np.r_[rng.normal(20, 60, 3000), np.arange(-2, 2, 0.05), 1e300, -1e300, np.inf, -np.inf]
    v = pa.array([*values, None, float("nan")])
    w = pa.array([*rng.integers(-(2**62), 2**62, 40).tolist(), None, *[7] * (len(v) - 41)])
    small = pa.array([*rng.integers(-9, 200, len(v) - 1).tolist(), None], pa.int16())
    g = pa.array([None if i % 17 == 0 else f"ward {i % 5}" for i in range(len(v))])
    data = pa.table({"v": v, "w": w, "small": small, "g": g})
    lower, upper, step = grid
    for by in ({}, {"by": "g", "groups": [f"ward {i}" for i in range(4)]}):
        asked = MeanQuestion(value=column, lower=lower, upper=upper, step=step, **by)
        connection = duckdb.connect()
        relation = asked.open(connection.from_arrow(data))
        assert isinstance(relation, AddsCells)
        added = asked.column.sums(relation)
        assert added.tolist() == asked.column.sums(asked.open(data)).tolist()
        assert added.tolist() == asked.column._added(relation).tolist()


def test_negative_counts_are_shown_as_zero_only_if_asked():
    entropy = dampen.InsecureEntropy(1, allow_release=True)
    groups = [*range(200)]
    data = {"g": [1]}
    given = {"by": "g", "groups": groups, "epsilon": "0.1"}
    drawn = dampen.count(data, entropy=entropy, **given)
    assert min(drawn.answer.values()) < 0
    assert drawn.answer == drawn.numbers
    shown = dampen.count(data, entropy=entropy, nonnegative=True, **given)
    assert min(shown.answer.values()) == 0
    assert min(shown.numbers.values()) < 0
    assert all(type(each) is int for each in shown.answer.values())


def test_a_hundred_thousand_groups():
    groups = [*range(100_000)]
    made = dampen.count({"g": np.arange(100_000)}, by="g", groups=groups, epsilon="1")
    assert len(made.interval(0.95)) == 100_000


def test_the_accuracy_is_a_number_with_a_unit():
    told = expect(CountQuestion(), STAYS, epsilon="0.1").accuracy
    assert (told.error, told.unit, told.chance) == (23.0, "rows", False)
    assert "23 rows" in told.sentence
    few = Schema(rows=20)
    assert expect(CountQuestion(), STAYS, epsilon="0.1", schema=few).accuracy.chance
    mean = expect(MeanQuestion(value="days", **DAYS), STAYS, epsilon="0.1", schema=few).accuracy
    assert mean.chance
    with pytest.warns(AccuracyWarning, match="too small"):
        answer(CountQuestion(), STAYS, epsilon="0.1", schema=Schema(rows=5))


def test_two_sums_err_no_more_than_one():
    """P(|(1-r) L - r M| > t) is at most e^-t, that of r = 0, for t of 2 and more."""
    t = np.linspace(2, 60, 581)[:, None]
    v = np.linspace(0.5, 1, 4002)[None, 1:-1]
    w = 1 - v
    tail = (v**2 * np.exp(-t / v) - w**2 * np.exp(-t / w)) / (v**2 - w**2)
    assert (tail <= np.exp(-t) * (1 + 1e-12)).all()


def test_a_mean_is_as_good_as_stated():
    """At the number of rows that is told, nine of ten means are within 1 % of the range."""
    told = expect(MeanQuestion(value="days", **DAYS), STAYS, epsilon="0.5").accuracy
    rows = int(told.error)
    entropy = dampen.InsecureEntropy(5, allow_release=True)
    for value in (0, 5, 10):
        data = np.full(rows, float(value))
        drawn = [
            dampen.mean(data, **DAYS, epsilon="0.5", entropy=entropy).answer for _ in range(80)
        ]
        assert np.mean([abs(each - value) <= 0.1 for each in drawn]) >= 0.85


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: dampen.count(STAYS, by="ward", epsilon=1), "groups="),
        (lambda: dampen.count(STAYS, by="wrd", groups=["A"], epsilon=1), "Did you mean 'ward'"),
        (lambda: dampen.count(STAYS, epsilon="1e-20"), "larger epsilon"),
        (lambda: dampen.histogram(STAYS, "days", epsilon=1), "categories="),
        (lambda: dampen.histogram(STAYS, "days", bins=[1], epsilon=1), "at least two"),
        (lambda: dampen.histogram(STAYS, "days", bins=[2, 1], epsilon=1), "ascending"),
        (lambda: dampen.histogram(STAYS, "days", bins="ab", epsilon=1), "ascending"),
        (lambda: dampen.histogram(STAYS, "days", bins=0, lower=0, upper=1, epsilon=1), "bins"),
        (lambda: dampen.total(STAYS, "days", lower=3, upper=1, epsilon=1), "lower < upper"),
        (lambda: dampen.mean(STAYS, "days", lower=0, upper=1, step=2, epsilon=1), "step"),
        (lambda: dampen.mean(STAYS, "ward", by="ward", groups=["A"], **DAYS, epsilon=1), "beside"),
    ],
)
def test_mistakes_are_reported_before_the_charge(ask, says):
    with pytest.raises(ParameterError, match=says):
        ask()


def test_nonnegative_counts_are_the_nearest_ones_with_the_noisy_total():
    """By brute force over all whole numbers with that sum; rounding leaves less than a row each."""
    rng = np.random.default_rng(9)
    for _ in range(60):
        noisy = rng.integers(-4, 7, 4)
        total = max(int(noisy.sum()), 0)
        found = nonnegative_counts(noisy)
        assert found.min() >= 0
        assert found.sum() == total
        every = [each for each in product(range(total + 1), repeat=4) if sum(each) == total]
        best = min(sum((np.array(each) - noisy) ** 2) for each in every)
        assert ((found - noisy) ** 2).sum() <= best + 2
    assert nonnegative_counts(np.array([[3, 1], [0, 2]])).tolist() == [[3, 1], [0, 2]]
    assert nonnegative_counts(np.array([-3])).tolist() == [0]


def test_sums_of_nonnegative_counts_are_right_on_average():
    """Of 300 cells of which 3 have rows; seven standard errors of slack."""
    groups = [*range(300)]
    data = {"g": [0] * 500 + [1] * 300 + [2] * 200}
    entropy = dampen.InsecureEntropy(3, allow_release=True)
    given = {"by": "g", "groups": groups, "epsilon": "0.5", "nonnegative": True}
    sums = [sum(dampen.count(data, entropy=entropy, **given).answer.values()) for _ in range(60)]
    assert abs(np.mean(sums) - 1000) < 7 * np.sqrt(2 * 300 / 0.25 / 60)
