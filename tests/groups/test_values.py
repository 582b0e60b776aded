"""Groups without a grid: values as they are, compared by their order alone."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.cells import Grouping, ValuesOf
from dampen.data.open import open_table
from dampen.data.units import Shares, UnitTable
from dampen.errors import ParameterError
from dampen.problems import BestGroup
from dampen.questions.groups.above import AboveQuestion
from dampen.questions.groups.statistics import Histograms, ValueHistograms
from dampen.testing import Universe
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow, counts_of

EPSILON = Fraction(1, 2)
QUANTILES = [{}, {"p": 80}, {"p": 25}, {"smallest": True}]
rng = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "days": np.where(rng.random(4000) < 0.02, np.nan, rng.gamma(2, 3, 4000).round(2)),
        "ward": rng.choice(["A", "B", "C", "elsewhere"], 4000),
        "patient": rng.integers(0, 300, 4000),
    }
)


def law_of(problem):
    """The probability of every group, for a database of (value, group)."""

    def law(rows):
        return problem.probabilities([v for v, _ in rows], [g for _, g in rows], epsilon=EPSILON)

    return law


@pytest.mark.parametrize("given", QUANTILES, ids=str)
def test_the_loss_is_at_most_epsilon(given):
    """Numbers at unequal distances, so that other groups' numbers lie between two of one group."""
    problem = BestGroup(groups=["a", "b"], **given)
    universe = Universe.add_remove_row([*product([0.5, 2, 3], "ab")], max_rows=4)
    assert law_loss(law_of(problem), universe, epsilon=EPSILON)


def test_middles_of_cells_are_not_private(monkeypatch):
    """The broken twin: a number of group c moves the medians of a1 and a2 past that of b."""
    monkeypatch.setattr(
        BestGroup, "compared", property(lambda self: replace(self.named.of(self.p), end="middle"))
    )
    twin = BestGroup(groups=["a1", "a2", "b", "c"], caution=0, min_rows=3)
    rows = [(v, g) for g in ("a1", "a2") for v in (0, 0, 0, 10, 10, 10)]
    rows += [(v, "b") for v in (5, 5, 5, 5, 5, 20)]
    universe = Universe.of([rows, [*rows, (7, "c")]], lambda x, y: x != y)
    assert not law_loss(law_of(twin), universe, epsilon=EPSILON)
    monkeypatch.undo()
    right = BestGroup(groups=["a1", "a2", "b", "c"], caution=0, min_rows=3)
    assert law_loss(law_of(right), universe, epsilon=EPSILON)


@pytest.mark.parametrize("p", [20, 50, 75])
def test_thresholds_lose_at_most_epsilon(p):
    question = AboveQuestion(value="v", by="g", groups=["a"], threshold=2, p=p)
    z = np.arange(-40, 41)
    pmf = np.exp(-float(EPSILON) * np.abs(z))
    pmf[[0, -1]] /= 1 - np.exp(-float(EPSILON))  # what is beyond the ends

    def law(rows):
        table = open_table({"v": np.array([v for v, _ in rows], float), "g": [g for _, g in rows]})
        x, numbers = question.problem.value_histograms(table, "v", "g")
        first = 1 + np.searchsorted(numbers, 2)
        reached = question.reach(x).at(np.zeros(len(z), dtype=int), z)
        above = question.passes(reached, Fraction(int(first)))
        assert above[[0, 40, -1]].tolist() == [
            question.above(table, z[[i]])[0] for i in (0, 40, -1)
        ]
        assert (np.diff(above.astype(int)) >= 0).all()
        yes = pmf[above].sum() / pmf.sum()
        return [yes, 1 - yes]

    universe = Universe.add_remove_row([*product([1, 2, 3.5], "a")], max_rows=4)
    assert law_loss(law, universe, epsilon=EPSILON)


def test_the_histograms_are_those_of_a_grid():
    """Whole numbers from 1 to 8 and nothing beyond are the cells of a grid from 0 to 9."""
    values, by = rng.integers(1, 9, 60), rng.integers(0, 3, 60)
    values[:8] = range(1, 9)
    dense = Histograms(BestGroup(groups=[0, 1, 2], lower=0, upper=9, step=1).counts(values, by))
    opened = open_table({"v": values, "g": by})
    found = ValuesOf("v", Grouping([0, 1, 2]).lookup(opened, "g")).of(opened)
    sparse, numbers = ValueHistograms.of(found, missing=False)
    assert numbers.tolist() == [*range(1, 9)]
    for x, y in [(dense, sparse), (dense.mirrored, sparse.mirrored),
                 (dense.among([0, 2]), sparse.among([0, 2]))]:  # fmt: skip
        assert x.sizes.tolist() == y.sizes.tolist()
        for who in range(len(x.sizes)):
            cells = np.arange(x.top + 2)
            ranks = np.arange(x.sizes[who] + 1)
            assert (x.below(who, cells) == y.below(np.full(len(cells), who), cells)).all()
            assert (x.cell_after(who, ranks) == y.cell_after(np.full(len(ranks), who), ranks)).all()


@pytest.mark.parametrize("given", QUANTILES, ids=str)
def test_draws_follow_the_law(given):
    """False alarms as `goodness` states them."""
    values, by = [1.5, 2, 2, 7, 3, 3, 9.25, 0], ["a", "a", "a", "a", "b", "b", "b", "c"]
    problem = BestGroup(groups=["a", "b", "c"], **given)
    law, wrong = (problem.probabilities(values, by, epsilon=e) for e in (1, "1.5"))
    entropy = InsecureEntropy(5, allow_release=True)
    contest = problem.contest(problem.look(open_table({"v": values, "g": by}), "v", "g"))
    drawn = [contest.winners(1, Fraction(1), entropy)[0] for _ in range(2000)]
    assert_draws_follow(counts_of(drawn, range(3)), law, wrong)


def found(data, **options):
    opened = open_table(data, **options)
    counts = ValuesOf("days", Grouping(["A", "B", "C"]).lookup(opened, "ward")).of(opened)
    return [counts.group.tolist(), counts.number.tolist(), counts.rows.tolist(),
            counts.missing.tolist()]  # fmt: skip


def test_counts_are_the_same_wherever_the_rows_lie(tmp_path):
    kept = FRAME[FRAME.ward != "elsewhere"]
    expected = kept.dropna().groupby(["ward", "days"]).size()
    group, number, rows, missing = found(FRAME)
    assert number == [days for _, days in expected.index]
    assert [("ABC"[g]) for g in group] == [ward for ward, _ in expected.index]
    assert rows == expected.tolist()
    assert missing == kept[kept.days.isna()].groupby("ward").size().tolist()
    FRAME.to_csv(tmp_path / "stays.csv", index=False)
    FRAME.to_parquet(tmp_path / "stays.parquet")
    with duckdb.connect() as connection:
        for data in (
            tmp_path / "stays.csv",
            tmp_path / "stays.parquet",
            connection.from_df(FRAME),
            connection.from_df(FRAME).project("days::float as days, ward"),
        ):
            assert np.allclose(found(data)[1], number)
            assert found(data)[2:] == [rows, missing]
    many = pd.concat([FRAME] * 60)
    assert found(many)[2] == [60 * each for each in rows]


@pytest.mark.parametrize("within", [False, True])
def test_persons_weigh_the_same(within):
    """As on a grid that holds every number: the same weights in the same order."""
    data = FRAME.assign(days=FRAME.days.round())
    grid = BestGroup(groups=["A", "B", "C"], lower=0, upper=100, step=1)
    shares = Shares(840, cap=2, within_lines=within)
    dense = grid.opened_counts(
        UnitTable(open_table(data), "patient", shares, grid.grid.top + 2), "days", "ward"
    )
    opened = UnitTable(open_table(data), "patient", shares)
    sparse = ValuesOf("days", Grouping(["A", "B", "C"]).lookup(opened, "ward")).of(opened)
    total = np.zeros_like(dense)
    np.add.at(total, (sparse.group, sparse.number.astype(int)), sparse.rows)
    assert (total == dense).all()
    assert total.sum() <= 840 * 300 * (3 if within else 1)


@pytest.mark.parametrize("groups_per_unit", [1, 3])
def test_data_sets_of_persons_are_asked_without_a_range(groups_per_unit):
    """P(A is the answer) is above 1 - 1e-9 for both ways."""
    stays = FRAME.assign(days=FRAME.days + 50 * (FRAME.ward == "A"))
    data = dampen.dataset(stays, unit="patient", groups_per_unit=groups_per_unit)
    answer = data.top_groups("days", by="ward", groups=["A", "B", "C"], epsilon=5)
    assert answer.answer == "A"


@pytest.mark.parametrize("statistic", ["mean", "trimmed-mean", "sum"])
def test_means_ask_for_a_range(statistic):
    with pytest.raises(ParameterError, match=r"needs a public range.*statistic='median'"):
        dampen.top_groups(
            FRAME, "days", by="ward", groups=["A", "B"], statistic=statistic, epsilon=1
        )


def test_one_end_moves_values_to_it():
    values, by = [1, 2, 900, 901, 3, 4], ["a", "a", "b", "b", "c", "c"]
    problem = BestGroup(groups=["a", "b", "c"], upper=3)
    same = BestGroup(groups=["a", "b", "c"]).probabilities(np.minimum(values, 3), by, epsilon=1)
    assert problem.probabilities(values, by, epsilon=1) == pytest.approx(same)
    assert "lower" not in problem.public
