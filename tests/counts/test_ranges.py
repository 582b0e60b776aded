"""Totals and means without bounds: the range that is found, its cost, and its rule."""

from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dampen
from dampen import InsecureEntropy
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.means import (
    ODDS,
    RADII,
    RangeMethod,
    RangeQuestion,
    radius_classes,
    size_candidates,
    size_place,
    window_rows,
)
from dampen.releases.cost import Price
from dampen.testing import Universe, law_loss

PAY = np.random.default_rng(1).lognormal(8, 1, 10_000).round(2)


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


@pytest.mark.parametrize("known", [{}, {"lower": 0}, {"upper": 10**6}, {"lower": 0, "step": 5}])
def test_means_and_totals_need_no_bounds(known):
    made = [dampen.mean(PAY, epsilon=1, entropy=seeded(i), **known).answer for i in range(20)]
    right = [
        dampen.mean(
            PAY, epsilon=1, lower=PAY.min(), upper=PAY.max(), entropy=seeded(i),
        ).answer
        for i in range(20)
    ]  # fmt: skip
    error, usual = (np.abs(np.subtract(each, PAY.mean())).mean() for each in (made, right))
    assert error < 8 * usual  # false alarms: below 1e-6
    total = dampen.total(PAY, epsilon=1, entropy=seeded(), **known)
    assert total.answer == pytest.approx(PAY.sum(), rel=0.05)
    assert (total.epsilon, total.delta) == (1, 0)
    assert total.parameters["epsilon_for_range"] == "0.25"


def test_the_range_is_shown_and_holds_nearly_all_values():
    made = dampen.mean(PAY, epsilon=1, entropy=seeded())
    low, high = (float(made.parameters[name]) for name in ("lower", "upper"))
    assert np.mean((PAY < low) | (PAY > high)) < 0.01
    assert high - low < 100 * np.ptp(PAY)
    assert made.mechanism == "centre-radius, discrete-laplace"


def test_groups_and_persons_and_replacement():
    table = {"pay": PAY, "team": np.repeat(["a", "b"], 5_000), "who": np.arange(10_000) // 2}
    made = dampen.mean(table, "pay", by="team", delta="1e-6", epsilon=2, entropy=seeded())
    assert set(made.answer) == {"a", "b"}
    assert made.mechanism == "threshold, centre-radius, discrete-laplace"
    assert (made.epsilon, made.delta) == (2, Fraction(1, 10**6))
    of_people = dampen.dataset(table, unit="who").mean("pay", epsilon=2, entropy=seeded())
    assert of_people.answer == pytest.approx(PAY.mean(), rel=0.3)
    replaced = dampen.dataset(table, units_public=True).mean("pay", epsilon=2, entropy=seeded())
    assert replaced.neighbours == "replace-one"


@pytest.mark.parametrize(
    "column",
    [[1e12] * 900, [0] * 900, [5] * 900 + [1e300], [np.inf, -np.inf, None, "x"] * 300],
    ids=["large", "zeros", "outlier", "hostile"],
)  # fmt: skip
def test_every_column_has_an_answer(column):
    for seed in range(5):
        assert np.isfinite(dampen.mean(column, epsilon=1, entropy=seeded(seed)).answer)
        assert np.isfinite(dampen.total(column, epsilon=1, entropy=seeded(seed)).answer)


class Charges(list):
    def charge(self, cost):
        self.append(cost.epsilon)


@pytest.mark.parametrize("column", [[], [None, "x"] * 300, [7.0] * 20])
@pytest.mark.parametrize("ask", [dampen.mean, dampen.total])
def test_too_few_rows_are_not_answered_and_the_rest_is_not_charged(column, ask):
    """20 rows at ε = 1 are 2 of the 14 that the odds ask for: false alarms below 1e-5 a draw."""
    paid = Charges()
    made = ask(column, epsilon=1, entropy=seeded(), budget=paid)
    assert made.answer is None
    assert paid == [Fraction(1, 10)]
    assert made.epsilon == Fraction(1, 10)
    assert made.parameters["epsilon_for_range"] == "0.1"
    assert "too few rows" in made.accuracy.sentence
    groups = {"v": column, "g": ["a"] * len(column)}
    assert ask(groups, "v", by="g", groups=["a"], epsilon=1, entropy=seeded()).answer == {"a": None}


def test_both_charges_are_made_where_there_are_enough_rows():
    for ask, share in ((dampen.mean, "0.3"), (dampen.total, "0.25")):
        paid = Charges()
        made = ask(PAY, epsilon=1, entropy=seeded(), budget=paid)
        assert paid == [Fraction(1, 10), Fraction(9, 10)]
        assert (made.epsilon, made.parameters["epsilon_for_range"]) == (1, share)
    given = {"epsilon": 1, "entropy": seeded()}
    replaced = dampen.dataset({"pay": PAY[:20]}, units_public=True).mean("pay", **given)
    people = dampen.dataset({"pay": PAY[:20], "who": np.arange(20)}, unit="who")
    assert (replaced.answer, replaced.epsilon) == (None, Fraction(1, 10))
    assert people.mean("pay", **given).epsilon == Fraction(1, 10)


def size_law(rows, epsilon):
    """Of every window, and of too few rows; not private."""
    counts = RangeMethod(RangeQuestion("v")).counts(
        np.array(rows, dtype=np.float64), np.ones(len(rows), np.int64), Fraction(0)
    )
    _, weight = size_candidates()
    u = np.append(window_rows(counts.sum(axis=0)), np.ceil(ODDS / epsilon))
    law = weight * np.exp(epsilon * (u - u.max()))
    return law / law.sum()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_size_loses_at_most_epsilon(epsilon):
    """By enumeration; a twin whose exponent is a tenth larger is rejected."""
    for rows in ([], [3.0] * round(ODDS / epsilon), [-40.0] * 5):
        places = [0, 1e-9, 3, -40, 700, 1e14, 1e300]
        loss = size_loss(Universe.add_remove_row(places, max_rows=3), rows, epsilon, epsilon)
        assert loss.holds
    universe = Universe.add_remove_row([3, 700], max_rows=2)
    assert not size_loss(universe, [3.0] * round(30 / epsilon), 1.1 * epsilon, epsilon).holds


def size_loss(universe, others, exponent, epsilon):
    """The loss where some rows are there anyway."""
    return law_loss(
        lambda rows: size_law([*others, *rows], exponent), universe, epsilon=epsilon, name="size"
    )


def test_windows_without_rows_are_hardly_ever_drawn():
    for epsilon, rows in ((0.1, []), (1.0, [3.0] * 10), (1.0, [1e9] * 14), (0.5, [0.0] * 40)):
        law = size_law(rows, epsilon)
        counts = RangeMethod(RangeQuestion("v")).counts(
            np.array(rows), np.ones(len(rows), np.int64), Fraction(0)
        )
        empty = window_rows(counts.sum(axis=0)) == 0
        assert law[:-1][empty].sum() <= np.exp(-ODDS)
    assert size_law([1e4] * 200, 0.1)[-1] < 0.06


def test_sizes_are_drawn_by_their_law():
    """Chi-square of 4,000 draws with injected bits."""
    rows = [30.0] * 14 + [-500.0] * 3
    counts = RangeMethod(RangeQuestion("v")).counts(
        np.array(rows), np.ones(len(rows), np.int64), Fraction(0)
    )
    entropy = seeded(4)
    drawn = [size_place(counts.sum(axis=0), Fraction(1), entropy) for _ in range(4_000)]
    law = size_law(rows, 1.0)
    places = [*size_candidates()[0].tolist(), None]
    seen = np.array([drawn.count(place) for place in places])
    large = law > 1e-3
    expected = 4_000 * np.append(law[large], law[~large].sum())
    observed = np.append(seen[large], 4_000 - seen[large].sum())
    assert ((observed - expected) ** 2 / expected).sum() < 40


def test_few_rows_cause_a_warning_where_their_number_is_public():
    table = dampen.dataset({"pay": PAY[:50]}, rows=50)
    with pytest.warns(AccuracyWarning, match="State lower= and upper=, or use ε ≥ 4"):
        table.mean("pay", epsilon=1)


@pytest.mark.parametrize("wrong", [{"lower": "x"}, {"step": 0}, {"lower": 0, "step": -1}])
def test_wrong_parameters_are_refused_before_the_charge(wrong):
    with pytest.raises(ParameterError):
        dampen.mean(PAY, epsilon=1, **wrong)


def test_the_shares_add_up():
    for question, parts in ((RangeQuestion("v"), 3), (RangeQuestion("v", lower=0), 2)):
        shares = [share for share in RangeMethod(question)._shares if share]
        assert len(shares) == parts
        assert sum(shares) == 1
        assert RangeMethod(question).cost(Price(1)).epsilon == 1


def test_classes_are_counts_of_disjoint_rows():
    """One row more is one more in one class: the theorem on noisy counts holds; a twin fails."""
    method = RangeMethod(RangeQuestion("v", lower=0))
    universe = Universe.add_remove_row([0, 3, 700], max_rows=3)

    def classes(rows):
        numbers = np.array(rows, dtype=np.float64)
        return method.counts(numbers, np.ones(len(rows), np.int64), Fraction(0))[1, [0, 29, 36]]

    def law(rows, scale):
        """Of the noisy classes with noise from -6 to 6 and its tails, each class by itself."""
        a = np.exp(-scale)
        cells = np.arange(-6, 10)
        laws = []
        for count in classes(rows):
            p = a ** np.abs(cells - count) * (1 - a) / (1 + a)
            p[0] = a ** (count + 6) / (1 + a)
            p[-1] = a ** (9 - count) / (1 + a)
            laws.append(p)
        return np.einsum("i,j,k->ijk", *laws).ravel()

    assert law_loss(lambda rows: law(rows, 1.0), universe, epsilon=1, name="classes").holds
    assert not law_loss(lambda rows: law(rows, 1.1), universe, epsilon=1, name="twin").holds


def test_noise_alone_rarely_widens_the_range():
    rng = np.random.default_rng(3)
    rows = np.zeros((2, len(RADII)))
    rows[:, 30:33] = 150, 100, 20
    wide = [max(radius_classes(rows + rng.laplace(size=rows.shape), 33)) for _ in range(4_000)]
    assert np.mean(np.array(wide) > 32) < 0.2
    assert max(wide) <= 44
    tied = np.zeros((2, len(RADII)))
    tied[1, 0] = 900
    narrow = [max(radius_classes(tied + rng.laplace(size=rows.shape), 33)) for _ in range(4_000)]
    assert np.mean(np.array(narrow) > 9) < 0.05


def test_a_side_with_nearer_rows_has_a_nearer_end():
    rows = np.zeros((2, len(RADII)))
    rows[0, 28:31] = 100
    rows[1, 28:35] = 100
    assert radius_classes(rows, 36) == (30, 34)


def test_the_range_of_declared_dates_is_found_like_any_other(tmp_path):
    days = [date(2024, 1, 1) + timedelta(days=i % 730) for i in range(6000)]
    path = tmp_path / "stays.csv"
    path.write_text("\n".join(["admitted", *map(str, days)]))
    declared = {"admitted": dampen.number(dates=True)}
    for data in (path, pa.table({"admitted": pa.array(days)})):
        stays = dampen.dataset(data, columns=declared)
        found = stays.mean("admitted", epsilon=1, entropy=seeded())
        assert abs(found.answer - date(2024, 12, 30)) < timedelta(days=40)
        assert float(found.parameters["lower"]) > 10_000  # days: a range that begins after 1997


@pytest.mark.parametrize("column", [pd.Series([True, False] * 500), np.array([True, False] * 500)])
def test_truth_values_have_a_range_by_their_type(column):
    mean = dampen.mean(column, epsilon=1)
    assert abs(mean.answer - 0.5) < 0.1
    assert mean.parameters["upper"] == "1"
    assert "finds the range" not in mean.accuracy.sentence
    total = dampen.total(column, epsilon=1)
    assert float(total.answer).is_integer()
    stays = dampen.dataset({"old": column, "patient": list(range(500)) * 2}, unit="patient")
    grouped = stays.mean("old", epsilon=1)
    assert "people" in grouped.accuracy.sentence
    assert abs(grouped.answer - 0.5) < 0.1
    values = [str(bool(each)).lower() for each in column]
    assert dampen.mean(values, kind="bool", epsilon=1).parameters["lower"] == "0"


def test_the_accuracy_names_the_people_that_a_range_needs():
    stays = dampen.dataset(
        {"days": list(range(60)) * 50, "patient": list(range(50)) * 60}, unit="patient"
    )
    made = stays.mean("days", epsilon="0.3")
    assert made.answer is None
    assert str(made.accuracy).startswith("There are too few people to find the range")
    assert "percentile" not in str(made.accuracy)


def test_the_accuracy_counts_missing_percentiles_of_people():
    stays = dampen.dataset(
        {"days": list(range(60)) * 50, "patient": list(range(1_000)) * 3}, unit="patient"
    )
    made = stays.percentile("days", p=[1, 50], epsilon=1)
    assert made.answer[0] is None
    assert made.answer[1] is not None
    assert "too few people for an answer to every percentile" in str(made.accuracy)
    made = dampen.percentile([1, 2, "x"] * 1_000, p=[1, 50], epsilon=1)
    assert made.answer[1] is not None
    assert "Only numbers count here" not in str(made.accuracy)


@pytest.mark.parametrize("ask", [dampen.mean, dampen.total])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_an_end_is_any_exact_number(ask, end):
    """A fraction failed after the charge, and what is no number was an error of Python."""
    made = ask([1.0] * 900, epsilon=9, **{end: "1/3"})
    assert made.answer is not None
    for wrong in ("abc", float("inf"), float("nan")):
        with pytest.raises(dampen.ParameterError, match=f"{end} to be a number"):
            ask([1.0] * 900, epsilon=9, **{end: wrong})


def test_an_end_of_percentiles_is_any_exact_number():
    assert dampen.percentile([1.0] * 900, p=50, lower="1/3", epsilon=9).answer == 1
