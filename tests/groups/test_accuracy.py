"""What is said of an answer about groups before it is paid for."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core.selection import Neighbours
from dampen.errors import AccuracyWarning
from dampen.questions.groups import BestGroup, GroupsQuestion
from dampen.questions.groups.reach import _levels
from dampen.releases.accuracy import likely_noise, likely_push
from dampen.releases.answer import expect
from dampen.releases.numbers import GAUSSIAN, LAPLACE, at_most
from relations import RELATIONS, facts

GRID = {"lower": 0, "upper": 9, "step": 1}
EMPTY = {"v": [], "g": []}


def told(rows=None, epsilon="0.25", relation="add-remove-row", **options):
    given = {"groups": list("abcd"), **GRID} | options
    question = GroupsQuestion(value="v", by="g", **given)
    schema = facts(relation, g=given["groups"])
    plan = expect(question, EMPTY, epsilon=epsilon, schema=schema)
    return plan.method.accuracy(plan.cost.epsilon, rows)


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "5"])
@pytest.mark.parametrize("draws", [1, 3, 100])
def test_noise_stays_within_the_stated_bound(epsilon, draws):
    """By summing the law of one integer: enough at B, too little at B - 1."""
    e, found = float(epsilon), likely_noise(Fraction(epsilon), draws)
    z = np.arange(-int(60 / e) - 5, int(60 / e) + 6)
    law = np.exp(-e * np.abs(z))
    law /= law.sum()
    within = [law[np.abs(z) <= b].sum() ** draws for b in (found, found - 1)]
    assert within[0] >= 0.9 - 1e-12
    assert within[1] < 0.9


def law_of(noise, scale, most):
    z = np.arange(-most, most + 1)
    p = np.exp(-np.abs(z) / scale) if noise == LAPLACE else np.exp(-((z / scale) ** 2) / 2)
    return z, p / p.sum()


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "1", "5"])
@pytest.mark.parametrize(
    ("best", "others", "draws"), [(1, 1, 1), (3, 10, 1), (1, 30, 1), (1, 4, 3)]
)
def test_the_push_is_the_quantile_of_two_largest(noise, epsilon, best, others, draws):
    """By adding up the whole law: enough at t, too little one block below."""
    scale = 1 / Fraction(epsilon)
    z, p = law_of(noise, float(scale), int(60 * scale) + 20)
    sums = np.cumsum(p)
    block = max(1, int(scale / 64))
    for offset in (0, -7):
        found = likely_push(1 / scale, best, others, offset=offset, noise=noise, draws=draws)

        def within(t, offset=offset):
            a = np.arange(0, t + 1)
            at = np.searchsorted(z, a + offset)
            of_a = np.diff(np.concatenate([[0.0], sums[at] ** best]))
            of_b = sums[np.searchsorted(z, t - a - offset)]
            return np.prod([(of_a * of_b ** (others - j)).sum() for j in range(draws)])

        assert within(found) >= 0.9 - 1e-12
        assert found == 0 or within(found - block) < 0.9


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("scale", ["0.1", "1", "17.5", "5000"])
def test_probabilities_up_to_a_number(noise, scale):
    z, p = law_of(noise, float(scale), int(60 * float(scale)) + 20)
    middle = np.abs(z) <= 5 * float(scale) + 3
    found = at_most(z[middle].astype(float), Fraction(scale), noise)
    assert found == pytest.approx(np.cumsum(p)[middle], abs=1e-7 if float(scale) > 2000 else 1e-11)


@pytest.mark.parametrize("epsilon", ["0.7", "1.5"])
@pytest.mark.parametrize("options", [{}, {"p": 0.9}, {"caution": 0}, {"statistic": "mean"}])
def test_groups_named_in_place_of_the_best_are_as_close_as_told(epsilon, options):
    """The exact law on small and lopsided tables, with the rows between every two groups."""
    problem = BestGroup(groups=list("abc"), **GRID | options)
    rng = np.random.default_rng(3)
    close = told(epsilon=epsilon, groups=list("abc"), **options).error
    few, more = problem.guard(Fraction(epsilon)) or (-close, 0)
    most = 40
    for _ in range(12):
        counts = rng.integers(0, 3, (3, 10)) * (rng.random((3, 10)) < rng.random((3, 1)))
        contest = problem.contest(counts)
        who = np.repeat(np.arange(3), 2 * most + 1)
        reached = _levels(contest.reach.at(who, np.tile(np.arange(-most, most + 1), 3)))
        levels = reached.reshape(3, -1)
        law = contest.probabilities(Fraction(epsilon))
        best = int(np.argmax(levels[:, most]))
        apart = [rows_apart(levels[best], levels[g], most) for g in range(3)]
        bound = close + more * (counts[best].sum() < few + close)
        assert law[np.array(apart) > bound].sum() <= 0.1


def rows_apart(best, other, most):
    """The least a + b with R(best, -a) <= R(other, b)."""
    down = best[most::-1]
    up = other[most:]
    found = [a + int(np.argmax(up >= x)) for a, x in enumerate(down) if up[-1] >= x]
    return min(found, default=most)


def test_the_sentence_does_not_depend_on_the_data():
    asks = {"by": ["a", "b"], "groups": ["a", "b", "c"], "epsilon": "0.3", **GRID}
    one, other = (dampen.top_groups(values, **asks).accuracy for values in ([1, 2], [9, 0]))
    assert one == other
    assert (one.error, one.unit, one.chance) == (11, "rows", False)
    assert one.sentence == (
        "In at least 9 of 10 runs the answer is the true winner, or a group so close that 11 rows "
        "decide (21 if the true winner has fewer than 21)."
    )


def test_the_sentence_names_the_number_of_groups():
    assert "the true top 2, or groups so close" in told(k=2).sentence
    assert "the true top 2, in order, or groups so close" in told(k=2, ordered=True).sentence


@pytest.mark.parametrize(
    ("epsilon", "ends"),
    [("9", "is the true winner."), ("3", "so close that 1 row decides.")],
)
def test_the_sentence_of_few_rows(epsilon, ends):
    assert told(epsilon=epsilon, caution=0).sentence.endswith(ends)


def test_caution_and_order_cost_rows():
    plain, bold, ordered = told(k=2), told(k=2, caution=0), told(k=2, ordered=True)
    assert bold.error <= plain.error < ordered.error


def test_more_rows_than_there_are_is_chance():
    needed = told().error
    assert told(rows=needed + 1) == told()
    for rows in (int(needed), 3):
        found = told(rows=rows)
        assert found.chance
        assert found.error == rows
        assert "ε = 0.25 is too small" in found.sentence
        assert f"at most {rows} rows" in found.sentence
    [word] = [word for word in told(rows=3).sentence.split() if word.strip(".").isdecimal()][-1:]
    assert not told(rows=3, epsilon=word.strip(".")).chance


@pytest.mark.parametrize("epsilon", ["0.25", "9"])
def test_no_rows_at_all_have_an_accuracy_too(epsilon):
    assert told(rows=0, epsilon=epsilon, caution=0).error == 0


def test_a_guess_causes_a_warning():
    """The bound comes from a schema."""
    question = GroupsQuestion(value="v", by="g", groups=list("abcd"), **GRID)
    with pytest.warns(AccuracyWarning, match="too small"):
        expect(question, EMPTY, epsilon="0.25", schema=facts("add-remove-row", 3)).warn()


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_sum_that_leads_by_as_much_wins(relation):
    """The law of the answer, where all other sums are tied at the lead that is told."""
    given = {"statistic": "sum", "lower": -3, "upper": 9, "step": 3}
    problem = BestGroup(groups=list("abcd"), neighbours=Neighbours(relation), **given)
    found = told(epsilon="0.1", relation=relation, **given)
    assert f"leads every other group by {found.error:,.0f} units in its sum." in found.sentence
    rows = -(-int(found.error) // 9)
    values, by = [9] * rows, ["a"] * rows
    assert problem.probabilities(values, by, epsilon="0.1")[0] >= 0.9
    fewer = rows // 2
    assert problem.probabilities([9] * fewer, ["a"] * fewer, epsilon="0.1")[0] < 0.9


def test_a_sum_that_cannot_lead_by_as_much_is_chance():
    needed = told(statistic="sum").error
    assert told(statistic="sum", rows=2 * needed / 9) == told(statistic="sum")
    few = told(statistic="sum", rows=needed // 18)
    assert few.chance
    assert few.error == 9 * (needed // 18)


@pytest.mark.parametrize("statistic", ["median", "sum"])
def test_all_groups_are_always_right(statistic):
    found = told(k=4, statistic=statistic)
    assert (found.error, found.chance) == (0, False)
    assert found.sentence == "The answer names all groups, so it is always right."
    assert "order" in told(k=4, statistic=statistic, ordered=True).sentence
