"""Names with their numbers: the exact loss of the pair, laws, intervals, and twins that fail."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import probabilities
from dampen.core.sampling import InsecureEntropy, discrete_laplace, geometric
from dampen.data.memory import MemoryTable
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.problem import BestGroup
from dampen.releases.numbers import MarginLaw, margin, ranked, winner
from goodness import assert_draws_follow, counts_of

HALF = Fraction(0.6931471805599453)  # ln 2: a factor of 2
MOST = 26
"""The noise beyond has a probability of 2^-26, which the tolerance covers."""
NOISE = np.arange(MOST + 1)
GAPS = range(6)
TOLERANCE = 1e-4


def law(counts, order, *, safe=True):
    """P(i wins with margin g) for a fixed order of ties, by adding up all noise."""
    m = len(counts)
    noise = np.meshgrid(*[NOISE] * m, indexing="ij")
    p = np.prod([0.5 ** (each + 1.0) for each in noise], axis=0)
    noisy = [count + each for count, each in zip(counts, noise, strict=True)]
    found = []
    for i in range(m):
        others = [j for j in range(m) if j != i]
        to_beat = np.max([noisy[j] + (order[j] < order[i]) for j in others], axis=0)
        wins = noisy[i] >= to_beat
        gap = noisy[i] - (to_beat if safe else np.max([noisy[j] for j in others], axis=0))
        found += [p[wins & (gap == g)].sum() for g in GAPS]
    return np.array(found)


def worst_loss(of_counts):
    """In units of ε, over all counts up to 2 of three categories and a row more of each."""
    worst = 0.0
    for counts in product(range(3), repeat=3):
        for i in range(3):
            more = tuple(count + (j == i) for j, count in enumerate(counts))
            one, other = of_counts(counts), of_counts(more)
            assert ((one > 0) == (other > 0)).all()
            possible = one > 0
            ratio = np.log2(one[possible]) - np.log2(other[possible])
            worst = max(worst, np.abs(ratio).max())
    return worst


def test_the_loss_of_a_name_with_its_margin_is_epsilon():
    for order in [(0, 1, 2), (2, 0, 1)]:
        loss = worst_loss(lambda counts, order=order: law(counts, order))
        assert loss == pytest.approx(1, abs=TOLERANCE)
    orders = list(permutations(range(3)))
    mixed = worst_loss(lambda counts: sum(law(counts, order) for order in orders[:6:2]))
    assert mixed <= 1 + TOLERANCE


def test_the_plain_gap_with_a_fixed_order_of_ties_is_not_private():
    """The broken twin: it loses 2ε."""
    loss = worst_loss(lambda counts: law(counts, (0, 1, 2), safe=False))
    assert loss == pytest.approx(2, abs=TOLERANCE)


def test_the_margin_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(500):
        noisy = rng.integers(0, 4, 4)
        order = rng.permutation(4)
        found = margin(noisy, order)
        i = found.place
        assert all((noisy[i], -order[i]) >= (noisy[j], -order[j]) for j in range(4))
        others = [noisy[j] + (order[j] < order[i]) for j in range(4) if j != i]
        assert found.margin == noisy[i] - max(others) >= 0


def test_draws_follow_the_law_of_names_and_margins():
    """False alarms below 1e-7; an ε that is 30 % off is rejected."""
    counts = np.array([2, 1, 0])
    entropy = InsecureEntropy(3)
    drawn = [winner(counts, HALF, entropy) for _ in range(6000)]
    outcomes = [*product(range(3), range(30))]
    found = counts_of([(each.place, min(each.margin, 29)) for each in drawn], outcomes)
    orders = list(permutations(range(3)))

    def joint(epsilon):
        a = np.exp(-float(epsilon))
        noise = np.meshgrid(*[NOISE] * 3, indexing="ij")
        p = np.prod([(1 - a) * a**each for each in noise], axis=0) / len(orders)
        total = dict.fromkeys(outcomes, 0.0)
        for order in orders:
            for i, g in outcomes:
                noisy = [count + each for count, each in zip(counts, noise, strict=True)]
                others = [noisy[j] + (order[j] < order[i]) for j in range(3) if j != i]
                total[i, g] += p[noisy[i] - np.max(others, axis=0) == g].sum()
        return [total[each] for each in outcomes]

    assert_draws_follow(found, joint(HALF), joint(HALF * 13 / 10))


def test_the_name_alone_has_the_law_of_permute_and_flip():
    counts = {"a": 4, "b": 3, "c": 3, "d": 0}
    problem = MostFrequent(list(counts))
    entropy = InsecureEntropy(4, allow_release=True)
    drawn = [
        dampen.most_frequent(counts, categories=list(counts), epsilon="0.5", entropy=entropy).answer
        for _ in range(5000)
    ]
    right, wrong = (
        probabilities(problem.selection(counts), epsilon=e, mechanism="pf") for e in (0.5, 0.65)
    )
    assert_draws_follow(counts_of(drawn, list(counts)), right, wrong)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2])
def test_the_top_k_is_as_likely_as_with_continuous_noise(epsilon):
    """Within .01, or better: 40,000 draws each, three standard deviations of slack."""
    counts = np.array([30, 28, 25, 20, 19, 3])
    rng = np.random.default_rng(5)
    continuous = counts + rng.laplace(0, 1 / epsilon, (40_000, 6))
    before = np.mean(np.sort(np.argsort(-continuous, axis=1)[:, :3], axis=1) == [0, 1, 2])
    discrete = discrete_laplace(1 / Fraction(epsilon), 240_000, InsecureEntropy(6)).reshape(-1, 6)
    noisy = counts + discrete + rng.random((40_000, 6))  # ties at random
    now = np.mean(np.sort(np.argsort(-noisy, axis=1)[:, :3], axis=1) == [0, 1, 2])
    assert now > before - 0.01 - 3 * np.sqrt(0.5 / 40_000)


def test_the_ranking_is_that_of_the_noisy_counts():
    for seed in range(30):
        found = ranked(np.array([5, 5, 4, 0]), 3, Fraction(1, 2), InsecureEntropy(seed))
        told = found.numbers[found.places]
        assert list(told) == sorted(found.numbers, reverse=True)[:3]


def test_several_names_come_with_all_noisy_counts():
    rows = ["a"] * 60 + ["b"] * 30
    made = dampen.most_frequent(rows, categories=["a", "b", "c"], k=2, epsilon="50")
    assert made.answer == ["a", "b"]
    assert made.numbers == {"a": 60, "b": 30, "c": 0}
    assert made.interval(0.9)["b"] == (30, 30)
    by_group = dampen.most_frequent(
        {"v": rows, "g": ["x", "y"] * 45}, "v", categories=["a", "b"], by="g", groups=["x", "y"],
        k=2, epsilon="50",
    )  # fmt: skip
    assert by_group.numbers == {"x": {"a": 30, "b": 15}, "y": {"a": 30, "b": 15}}


def test_one_name_comes_with_its_margin():
    made = dampen.most_frequent(["a"] * 60 + ["b"] * 30, categories=["a", "b"], epsilon="50")
    assert made.answer == "a"
    assert made.numbers in (29, 30)
    low, high = made.interval()
    assert low <= 30 <= high
    assert dampen.most_frequent(["a"], categories=["a", "b"], mechanism="em", epsilon=1).law is None
    listed = dampen.most_frequent(["a"] * 9, categories=["a", "b"], k=1, epsilon="50")
    assert (listed.answer, listed.numbers in (8, 9)) == (["a"], True)


@pytest.mark.parametrize("grouped", [{}, {"by": "g", "groups": ["x"]}])
def test_one_category_alone_has_no_margin(grouped):
    """Its noisy count was shown as one: never below the true count, which one row more exceeds."""
    data = {"v": ["a"] * 5, "g": ["x"] * 5}
    made = dampen.most_frequent(data, "v", categories=["a"], epsilon=1, **grouped)
    assert made.answer == ({"x": "a"} if grouped else "a")
    assert (made.numbers, made.law) == (None, None)


@pytest.mark.parametrize("counts", [(9, 9, 9), (20, 5, 0), (3, 2, 2)])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(19, 20)])
def test_margins_are_held_as_often_as_stated(counts, level):
    """Whoever wins; 20,000 draws, five standard deviations of slack."""
    epsilon = Fraction(3, 10)
    noisy = np.array(counts) + geometric(1 / epsilon, 60_000, InsecureEntropy(7)).reshape(-1, 3)
    orders = np.random.default_rng(8).permuted(np.tile(np.arange(3), (20_000, 1)), axis=1)
    law = MarginLaw(1 / epsilon, 3)
    held = 0
    for each, order in zip(noisy, orders, strict=True):
        found = margin(each, order)
        lead = counts[found.place] - max(np.delete(counts, found.place))
        low, high = law.interval(found.margin, 1 - level)
        held += low <= lead <= high
    assert held / 20_000 > float(level) - 5 * np.sqrt(0.25 / 20_000)


def test_the_statistic_of_a_group_must_not_come_with_reach():
    """The broken twin: the number that a group won by can be impossible with one row more."""
    problem = BestGroup(groups=["a", "b"], lower=0, upper=3, step=1, caution=0)
    a = 0.5
    z = np.arange(-25, 26)
    p = (1 - a) / (1 + a) * a ** np.abs(z)

    def told(rows):
        """The probability of every number with which the first group wins."""
        table = MemoryTable({"v": [float(v) for v, _ in rows], "g": [g for _, g in rows]})
        reach = problem.contest(problem.opened_counts(table, "v", "g")).reach
        found = [reach.at(np.full(len(z), i), z) for i in (0, 1)]
        first, second = (each.whole + each.rest / each.of for each in found)
        both = np.multiply.outer(p, p)
        wins = first[:, None] > second[None, :]
        return {r: both[wins & (first[:, None] == r)].sum() for r in np.unique(first)}

    rows = [(0, "a"), (2, "b"), (2, "b")]
    one, other = told(rows), told([*rows, (0, "a")])
    assert [r for r in other if other[r] > 1e-3 and one.get(r, 0.0) == 0]
