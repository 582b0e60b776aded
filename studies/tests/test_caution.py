"""The study of caution computes the law of the default, and of rules that are none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dampen.questions.groups.problem import FEW, MORE, ByReach
from dampen_studies.experiments import caution
from dampen_studies.experiments.groups import _asked

EPSILONS = ("0.03", "0.1", "0.4", "1", "3")


@pytest.mark.parametrize("p", caution.PERCENTS)
@pytest.mark.parametrize("rule", ["caution 1", "caution 0", "caution 3", f"few {FEW}"])
def test_the_law_is_that_of_the_default_and_of_every_stated_caution(rule, p):
    """To 1e-5: a median by N' rows may be half a rank from that by one row, which is left out."""
    assert MORE == 3, "the study has 4 for small groups"
    problem, values, by = _asked(caution.QUICK, "quantile", p)
    contest = problem.contest(problem.counts(values, by))
    assert isinstance(contest, ByReach)
    stated = None if rule.startswith("few") else Fraction(rule.split()[1])
    contest = replace(contest, caution=stated)
    rows, table = caution._table(caution.QUICK, p)
    assert rows == len(values)
    for epsilon in EPSILONS:
        expected = contest.probabilities(Fraction(epsilon))[table.best].sum()
        assert caution.RULES[rule](table, float(epsilon)) == pytest.approx(expected, abs=1e-5)


def test_the_sum_over_small_groups_moves_by_at_most_its_noise_allows():
    """One row more or less of any group, by all sizes."""
    share, epsilon = 0.4, 0.3
    sizes = np.arange(200)
    moved = np.abs(np.diff(np.exp(-sizes * epsilon * share)))
    assert moved.max() == pytest.approx(-np.expm1(-epsilon * share))


def test_needed_epsilon_is_where_right_answers_end():
    _, table = caution._table(caution.QUICK, 50)
    rule = caution.RULES["caution 1"]
    needed = caution.needed_epsilon(table, rule)
    assert rule(table, needed) >= caution.PROBABILITY > rule(table, needed / 1.01)


def test_a_choice_of_c_lets_no_question_lose():
    rows = [
        {"dataset": "t", "rule": f"few {few}", "ratio": ratio}
        for few, ratio in zip(caution.TRIED, (0.9, 0.7, 0.5, 0.4), strict=True)
    ]
    assert caution.chosen_few(rows) == 5
    rows.append({"dataset": "u", "rule": "few 5", "ratio": 1.2})
    assert caution.chosen_few(rows) == 4
