"""Totals and means without bounds: the range that is found, its cost, and its rule."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import InsecureEntropy
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.means import RADII, RangeMethod, RangeQuestion, radius_class
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
    [[], [1e12] * 900, [0] * 900, [np.inf, -np.inf, None, "x"] * 300, [5] * 900 + [1e300]],
    ids=["empty", "large", "zeros", "hostile", "outlier"],
)  # fmt: skip
def test_every_column_has_an_answer(column):
    for seed in range(5):
        assert np.isfinite(dampen.mean(column, epsilon=1, entropy=seeded(seed)).answer)
        assert np.isfinite(dampen.total(column, epsilon=1, entropy=seeded(seed)).answer)


def test_few_rows_cause_a_warning_where_their_number_is_public():
    table = dampen.dataset({"pay": PAY[:50]}, rows=50)
    with pytest.warns(AccuracyWarning, match="State lower= and upper=, or use ε ≥ 2"):
        table.mean("pay", epsilon=1)


@pytest.mark.parametrize("wrong", [{"lower": "x"}, {"step": 0}, {"lower": 0, "step": -1}])
def test_wrong_parameters_are_refused_before_the_charge(wrong):
    with pytest.raises(ParameterError):
        dampen.mean(PAY, epsilon=1, **wrong)


def test_the_shares_add_up():
    for question, parts in ((RangeQuestion("v"), 2), (RangeQuestion("v", lower=0), 1)):
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
        return method.counts(numbers, np.ones(len(rows), np.int64), Fraction(0))[[0, 29, 36]]

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
    rows = np.zeros(len(RADII))
    rows[30:33] = 300, 200, 40
    wide = [radius_class(rows + rng.laplace(size=len(rows))) - 32 for _ in range(4_000)]
    assert np.mean(np.array(wide) > 0) < 0.1
    assert max(wide) <= 12
    tied = np.zeros(len(RADII))
    tied[0] = 900
    narrow = [radius_class(tied + rng.laplace(size=len(rows)), 10.0) for _ in range(4_000)]
    assert np.mean(np.array(narrow) > 9) < 0.01
