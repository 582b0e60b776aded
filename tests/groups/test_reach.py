"""Reach in closed form against balls of databases."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import group_balls as brute
from dampen.questions.groups.reach import Reach, Replacements, Rows
from dampen.questions.groups.statistics import (
    Fractions,
    Histograms,
    Mean,
    Quantile,
    Statistic,
    TrimmedMean,
)

CELLS = 4
GROUPS = list(brute.histograms(CELLS, 4))
PERCENT = [10, 25, 40, 50, 60, 90, 99]

STATISTICS = [
    *((Quantile(Fraction(p, 100)), brute.quantile(Fraction(p, 100))) for p in PERCENT),
    *(
        (Quantile(Fraction(p, 100), end), brute.quantile(Fraction(p, 100), end))
        for p in (25, 50, 60)
        for end in ("lower", "upper")
    ),
    (Mean(), brute.mean),
    *((TrimmedMean(Fraction(p, 100)), brute.trimmed_mean(Fraction(p, 100))) for p in (10, 25, 40)),
]
RELATIONS = [(Rows(), brute.row_neighbours), (Replacements(), brute.value_neighbours)]


def unit_of(statistic: Statistic) -> int:
    return statistic.unit if isinstance(statistic, Quantile) else 1


def as_values(numbers: Fractions, unit: int) -> list[brute.Value]:
    return [
        -inf if whole < 0 else (whole + Fraction(rest, of)) / unit
        for whole, rest, of in zip(
            numbers.whole.tolist(), numbers.rest.tolist(), numbers.of.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize(("steps", "near"), RELATIONS, ids=["rows", "replacements"])
def test_a_guard_takes_rows_off_small_groups(steps, near):
    """By the definition: the larger of two reaches; and no ends are beyond those that are told."""
    statistic, plain = Quantile(Fraction(3, 4)), brute.quantile(Fraction(3, 4))
    who = np.arange(len(GROUPS))
    for floor, enough, more in [(1, 3, 2), (2, 3, 1), (3, 2, 1), (1, 1, 3)]:
        found = Reach(Histograms(np.array(GROUPS)), statistic, steps, floor, (enough, more))
        for w in range(-7, 9):
            values = as_values(found.at(who, np.full(len(GROUPS), w)), unit_of(statistic))
            pairs = (
                (brute.reach(x, w, max(enough, floor), plain, near),
                 brute.reach(x, w - more, floor, plain, near))
                for x in GROUPS
            )  # fmt: skip
            assert values == [max(pair) for pair in pairs]


@pytest.mark.parametrize(("p", "rows"), [(10, 9), (50, 9), (60, 6), (75, 3), (90, 1)])
def test_so_many_rows_push_a_quantile_anywhere(p, rows):
    """Nine rows at the bottom: `pushed_share` of them reach the top, and one row less does not."""
    x = Histograms(np.array([[9, 0, 0, 0, 0, 0, 0, 0, 0, 9 - 9]]))
    share = Fraction(p, 100)
    reach = Reach(x, Quantile(share), Rows(), 1)
    assert -(-9 * Rows().pushed_share(share) // 1) == rows
    top = [reach.at(np.zeros(1, np.int64), np.array([w])).whole[0] for w in (rows + 1, rows - 1)]
    assert top[0] >= 9 * Quantile(share).unit > top[1]


@pytest.mark.parametrize(("steps", "near"), RELATIONS, ids=["rows", "replacements"])
@pytest.mark.parametrize(("statistic", "plain"), STATISTICS, ids=[str(s) for s, _ in STATISTICS])
def test_reach_is_the_extreme_of_the_ball(statistic, plain, steps, near):
    for floor in (1, 2, 3):
        found = Reach(Histograms(np.array(GROUPS)), statistic, steps, floor)
        for w in range(-6, 8):
            who = np.arange(len(GROUPS))
            values = as_values(found.at(who, np.full(len(GROUPS), w)), unit_of(statistic))
            expected = [brute.reach(x, w, floor, plain, near) for x in GROUPS]
            assert values == expected
