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
@pytest.mark.parametrize(("statistic", "plain"), STATISTICS, ids=[str(s) for s, _ in STATISTICS])
def test_reach_is_the_extreme_of_the_ball(statistic, plain, steps, near):
    for floor in (1, 2, 3):
        found = Reach(Histograms(np.array(GROUPS)), statistic, steps, floor)
        for w in range(-6, 8):
            who = np.arange(len(GROUPS))
            values = as_values(found.at(who, np.full(len(GROUPS), w)), unit_of(statistic))
            expected = [brute.reach(x, w, floor, plain, near) for x in GROUPS]
            assert values == expected
