"""Which groups exceed a threshold: the rule, its exact loss and error, and what is drawn."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.errors import ParameterError
from dampen.questions.groups.above import AboveQuestion
from dampen.testing import Universe
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow, counts_of
from group_balls import histograms, rows_of

EPSILON = Fraction(1, 2)
Z = np.arange(-40, 41)
STATISTICS = [{}, {"p": 80}, {"p": 20}, {"statistic": "mean"}, {"statistic": "trimmed-mean"}]


def asked(**changed):
    given = {
        "value": "v", "by": "g", "groups": ["a", "b"], "threshold": 2, "lower": 0, "upper": 3,
        "step": 1,
    }  # fmt: skip
    return AboveQuestion(**(given | changed))


def pmf(epsilon):
    """The law of the noise; what is beyond the ends is counted at them."""
    a = np.exp(-float(epsilon))
    p = (1 - a) / (1 + a) * a ** np.abs(Z)
    p[[0, -1]] = a ** Z[-1] / (1 + a)
    return p


def probability(question, counts, epsilon=EPSILON, group=0):
    """That a group is called above, by adding up all noise."""
    reach = question.reach(np.asarray(counts))
    passes = question.passes(reach.at(np.full(len(Z), group), Z), question.cells)
    assert (np.diff(passes.astype(int)) >= 0).all()  # a half-line
    return float(pmf(epsilon)[passes].sum())


@pytest.mark.parametrize("given", STATISTICS, ids=str)
@pytest.mark.parametrize("min_rows", [1, 3])
def test_the_loss_is_epsilon(given, min_rows):
    question = asked(min_rows=min_rows, **given)
    universe = Universe.add_remove_row([*product(range(4), "ab")], max_rows=3)

    def law(rows):
        counts = np.zeros((2, 4), dtype=np.int64)
        for value, group in rows:
            counts["ab".index(group), value] += 1
        each = [probability(question, counts, group=i) for i in (0, 1)]
        return [(p if a else 1 - p) * (q if b else 1 - q)
                for p, q in [each] for a, b in product((0, 1), repeat=2)]  # fmt: skip

    verdict = law_loss(law, universe, epsilon=EPSILON)
    assert verdict
    assert verdict.value == pytest.approx(EPSILON, rel=1e-6)


def test_noise_for_twice_the_epsilon_is_not_private():
    """The broken twin."""
    question = asked()
    universe = Universe.add_remove_row([0, 3], max_rows=4)

    def law(rows):
        counts = [[sum(v == i for v in rows) for i in range(4)]] * 2
        p = probability(question, counts, epsilon=2 * EPSILON)
        return [p, 1 - p]

    assert not law_loss(law, universe, epsilon=EPSILON)


@pytest.mark.parametrize("threshold", [0, 1, 2, "2.5", 3, 4])
@pytest.mark.parametrize("given", STATISTICS, ids=str)
def test_without_noise_the_answer_is_that_of_the_statistic(threshold, given):
    """Against numpy: the median of two values is their mean; quantiles by the rank ⌈p n⌉."""
    question = asked(threshold=threshold, **given)
    for x in histograms(4, 4):
        if not sum(x):
            continue
        reach = question.reach(np.array([x, x]))
        [found] = question.passes(reach.at(np.array([0]), np.array([0])), question.cells)
        rows = sorted(rows_of(x))
        if given.get("statistic") == "mean":
            expected = np.mean(rows) >= float(threshold)
        elif "statistic" in given:
            cut = len(rows) // 10
            expected = np.mean(rows[cut : len(rows) - cut]) >= float(threshold)
        else:
            place = given.get("p", 50) * len(rows) / 100
            low = rows[int(np.ceil(place)) - 1]
            high = rows[int(place)] if place == int(place) else low
            expected = (low + high) / 2 >= np.ceil(float(threshold))
        assert found == expected, (rows, threshold, given)


@pytest.mark.parametrize("given", STATISTICS[:4], ids=str)
def test_the_probability_of_an_error_is_the_closed_form(given):
    """q^(d+1) / (1+q), where d rows may come or go, whichever they are."""
    question = asked(**given)
    q = np.exp(-float(EPSILON))
    for x in histograms(4, 5):
        reach = question.reach(np.array([x, x]))
        passes = question.passes(reach.at(np.zeros(len(Z), dtype=int), Z), question.cells)
        first = int(Z[np.argmax(passes)])
        right = bool(passes[Z == 0][0])
        d = -first if right else first - 1
        wrong = 1 - probability(question, [x, x]) if right else probability(question, [x, x])
        assert wrong == pytest.approx(q ** (d + 1) / (1 + q), abs=1e-8)


def test_the_median_is_decided_by_the_rows_below():
    """With n rows, b of them below the threshold and odd n: above if n - 2b + Z >= 1."""
    question = asked()
    for x in histograms(4, 5):
        n, b = sum(x), x[0] + x[1]
        if n % 2:
            reach = question.reach(np.array([x, x]))
            passes = question.passes(
                reach.at(np.zeros(3, dtype=int), np.array([-1, 0, 1])), question.cells
            )
            assert passes[1] == (n - 2 * b >= 1)


def test_draws_follow_the_stated_law():
    """False alarms below 1e-7; an ε that is 30 % off is rejected."""
    table = {"v": [0, 1, 1, 3, 3, 3, 3, 0], "g": [*"aaaabbbb"]}
    counts = [[1, 2, 0, 1], [1, 0, 0, 3]]
    entropy = InsecureEntropy(5, allow_release=True)
    given = {"by": "g", "groups": ["a", "b"], "threshold": 2, "lower": 0, "upper": 3, "step": 1}
    drawn = [
        tuple(dampen.groups_above(table, "v", **given, epsilon=EPSILON, entropy=entropy).answer)
        for _ in range(4000)
    ]
    outcomes = [(), ("a",), ("b",), ("a", "b")]

    def law(epsilon):
        p, q = (probability(asked(), counts, epsilon, i) for i in (0, 1))
        return [(1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q]

    assert_draws_follow(counts_of(drawn, outcomes), law(EPSILON), law(EPSILON * 13 / 10))


def test_groups_come_in_public_order_and_small_ones_never():
    table = {"v": [9] * 50 + [1] * 50 + [9] * 40 + [9], "g": ["z"] * 50 + ["m"] * 50 + ["a"] * 41}
    given = {"by": "g", "threshold": 5, "lower": 0, "upper": 10, "step": 1, "epsilon": "5"}
    made = dampen.groups_above(table, "v", groups=["z", "none", "m", "a"], min_rows=5, **given)
    assert made.answer == ["z", "a"]
    assert made.numbers is None
    assert made.accuracy.unit == "rows per group"
    assert dampen.groups_above(table, "v", groups=["z"], where="v < 9", **given).answer == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"statistic": "sum"}, "dampen.total"),
        ({"threshold": "x"}, "threshold"),
        ({"by": None}, "by="),
    ],
)
def test_wrong_parameters_are_refused(wrong, says):
    given = {"by": "g", "groups": ["a"], "threshold": 2, "lower": 0, "upper": 3, "step": 1}
    with pytest.raises(ParameterError, match=says):
        dampen.groups_above({"v": [1], "g": ["a"]}, "v", epsilon=1, **(given | wrong))


@pytest.mark.parametrize("bounds", [{"lower": 0, "upper": 9, "step": 1}, {}])
def test_above_a_whole_number_is_at_least_the_next(bounds):
    rows = {"days": [2, 5, 5, 6, 7, 5, 5, 9] * 3, "ward": ["A", "B", "A", "C"] * 6}
    asked = {"by": "ward", "groups": ["A", "B", "C"], "epsilon": "0.7", **bounds}
    for threshold in range(1, 9):
        for seed in range(8):
            drawn = [InsecureEntropy(seed, allow_release=True) for _ in range(2)]
            above = {"threshold": threshold, "strict": True, "entropy": drawn[0]}
            next_one = {"threshold": threshold + 1, "entropy": drawn[1]}
            assert (
                dampen.groups_above(rows, "days", **asked, **above).answer
                == dampen.groups_above(rows, "days", **asked, **next_one).answer
            )


def test_a_mean_equal_to_the_threshold_is_not_above_it():
    rows = {"days": [4, 6] * 500, "ward": ["A"] * 1000}
    asked = {"by": "ward", "groups": ["A"], "lower": 0, "upper": 10, "statistic": "mean"}
    for threshold, strict, answer in [(5, False, ["A"]), ("4.9", True, ["A"]), ("5.1", True, [])]:
        found = dampen.groups_above(
            rows, "days", **asked, threshold=threshold, strict=strict, epsilon=50
        )
        assert found.answer == answer
