"""The law of the best group, and draws from it."""

import itertools
from fractions import Fraction
from math import ceil, exp, inf

import numpy as np
import pytest

import group_balls as balls
from dampen import InsecureEntropy
from dampen.core.sampling import discrete_laplace, random_order
from dampen.problems import BestGroup
from goodness import FALSE_ALARM, assert_draws_follow, counts_of, draw_many, p_value

FAR = 45
CASES = [
    ([(0, 2, 1, 1), (1, 1, 0, 2), (0, 0, 0, 1)], {"p": 50}),
    ([(0, 2, 1, 1), (1, 1, 0, 2), (0, 0, 0, 0)], {"p": 90, "caution": 0}),
    ([(3, 0, 1, 0), (2, 2, 0, 0), (0, 0, 1, 0)], {"p": 10, "min_rows": 2}),
    ([(3, 0, 1, 0), (2, 2, 0, 0), (0, 0, 1, 0)], {"p": 10, "smallest": True, "caution": "0.4"}),
    ([(2, 0, 1, 0), (2, 0, 1, 0), (2, 0, 1, 0)], {"p": 50}),
]


def problem_of(parameters) -> BestGroup:
    options = {"statistic": "quantile", **parameters}
    return BestGroup(groups=["a", "b", "c"], lower=0, upper=3, step=1, **options)


def rows_of(groups):
    values = [v for x in groups for v in balls.rows_of(x)]
    return values, [name for name, x in zip("abc", groups, strict=True) for _ in range(sum(x))]


def sets_by_enumeration(groups, parameters, epsilon, k):
    """P(the k best are S) by going through all triples of noise, from the definition."""
    p, upside_down = Fraction(parameters["p"], 100), parameters.get("smallest", False)
    floor = parameters.get("min_rows", 1)
    caution = Fraction(parameters.get("caution", 1))
    offset = -ceil(caution / Fraction(epsilon) - Fraction(1, 2))  # no case is at a half
    few, more = floor, 0
    if "caution" not in parameters:
        share = min((1 - p) / p, Fraction(1))
        few = max(int(3 / (Fraction(epsilon) * share)), floor)
        more = ceil(3 / Fraction(epsilon) - Fraction(1, 2))
    reach = downwards if upside_down else upwards
    noise = np.arange(-FAR, FAR + 1)
    mass = np.exp(-float(epsilon) * np.abs(noise))
    mass /= mass.sum()
    keys = []
    for x in groups:
        reached = [
            max(reach(x, min(w, 9), few, p), reach(x, min(w - more, 7), floor, p))
            for w in np.maximum(noise + offset, -7).tolist()
        ]
        keys.append(np.array([float(value) for value in reached]))
    R = np.stack(np.meshgrid(*keys, indexing="ij"))
    weight = mass[:, None, None] * mass[None, :, None] * mass[None, None, :]
    law = dict.fromkeys(itertools.combinations(range(3), k), 0.0)
    for order in itertools.permutations(range(3)):  # ties by a random order
        ranked = np.lexsort((np.broadcast_to(np.array(order)[:, None, None, None], R.shape), R), 0)
        member = (ranked[3 - k :] == np.arange(3)[:, None, None, None, None]).any(axis=1)
        for chosen in law:
            law[chosen] += float(weight[member[list(chosen)].all(axis=0)].sum()) / 6
    return law


def upwards(x, w, floor, p):
    return balls.reach(x, w, floor, quantile(p), balls.row_neighbours)


def downwards(x, w, floor, p):
    """R of the negated statistic: a group without enough rows stays at -infinity."""
    return balls.reach(x, w, floor, negated(p), balls.row_neighbours)


_KEPT = {}


def quantile(p):
    return _KEPT.setdefault(p, balls.quantile(p))


def negated(p):
    return _KEPT.setdefault(-p, lambda x: -quantile(p)(x))


@pytest.mark.parametrize(("groups", "parameters"), CASES)
@pytest.mark.parametrize("epsilon", ["0.7", "2.5"])
def test_the_law_is_that_of_the_definition(groups, parameters, epsilon):
    expected = sets_by_enumeration(groups, parameters, epsilon, 1)
    found = problem_of(parameters).probabilities(*rows_of(groups), epsilon=epsilon)
    assert found == pytest.approx(list(expected.values()), rel=1e-9)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(("k", "groups", "parameters"), [(1, *CASES[1]), (2, *CASES[2])])
def test_draws_follow_the_law_of_sets(k, groups, parameters):
    """False alarms below 1e-7; an ε that is 30 % off is noticed."""
    problem, entropy = problem_of(parameters | {"caution": 0}), InsecureEntropy(5)
    contest = problem.contest(problem.counts(*rows_of(groups)))
    draws = draw_many(lambda: tuple(contest.winners(k, Fraction(2), entropy)), 2_000)
    right, wrong = (
        sets_by_enumeration(groups, parameters | {"caution": 0}, epsilon, k)
        for epsilon in ("2", "2.6")
    )
    assert_draws_follow(counts_of(draws, list(right)), list(right.values()), list(wrong.values()))


def test_an_ordered_answer_spends_its_epsilon_in_equal_shares():
    groups, parameters = CASES[0][0], {"p": 50, "caution": 0}
    problem, entropy = problem_of(parameters), InsecureEntropy(6)
    contest = problem.contest(problem.counts(*rows_of(groups)))
    draws = draw_many(lambda: tuple(contest.ranking(2, Fraction(4), entropy)), 1_200)
    sequences, laws = list(itertools.permutations(range(3), 2)), []
    for epsilon in ("2", "2.6"):
        first = problem.probabilities(*rows_of(groups), epsilon=epsilon)
        laws.append([first[i] * pair_law(groups, i, j, epsilon) for i, j in sequences])
    assert_draws_follow(counts_of(draws, sequences), *laws)


def pair_law(groups, gone, chosen, epsilon):
    """P(chosen wins among the two groups that are left)."""
    left = [g for g in range(3) if g != gone]
    problem = BestGroup(groups=left, p=50, lower=0, upper=3, step=1, caution=0)
    values = [v for g in left for v in balls.rows_of(groups[g])]
    by = [g for g in left for _ in range(sum(groups[g]))]
    return problem.probabilities(values, by, epsilon=epsilon)[left.index(chosen)]


def test_sums_draw_one_by_permute_and_flip_and_several_at_once():
    problem = BestGroup(groups=["a", "b", "c"], statistic="sum", lower=0, upper=4, step=2)
    values, by = [4, 4, 2, 4, 0], ["a", "a", "a", "b", "c"]
    contest = problem.contest(problem.counts(values, by))
    draws = draw_many(
        lambda: contest.winners(1, Fraction(1), InsecureEntropy(next(SEEDS)))[0], 1_500
    )
    right, wrong = (problem.probabilities(values, by, epsilon=e) for e in ("1", "1.6"))
    assert_draws_follow(counts_of(draws, range(3)), right, wrong)
    assert contest.winners(2, Fraction(30), InsecureEntropy(1)) == [0, 1]
    assert contest.ranking(3, Fraction(60), InsecureEntropy(1)) == [0, 1, 2]


SEEDS = itertools.count()


def test_equal_groups_are_equally_likely():
    problem = BestGroup(groups=range(40), lower=0, upper=9, step=1)
    by = [g for g in range(40) for _ in range(5)]
    law = problem.probabilities([3, 4, 4, 7, 9] * 40, by, epsilon="0.5")
    assert law == pytest.approx([1 / 40] * 40, rel=1e-10)


def test_more_privacy_loss_means_a_surer_answer():
    generator = np.random.default_rng(0)
    problem = BestGroup(groups=range(12), lower=0, upper=200, step=1)
    by = generator.integers(12, size=3000)
    values = generator.exponential(20 + 2 * by)
    winner = np.argmax([np.median(values[by == g]) for g in range(12)])
    best = [problem.probabilities(values, by, epsilon=e)[winner] for e in ("0.01", "0.1", "1", "9")]
    assert best == sorted(best)
    assert best[0] < 0.5 < 0.999 < best[-1]


def test_small_groups_need_caution():
    """An empty group is one row away from the largest value."""
    options = {"groups": range(30), "lower": 0, "upper": 100, "step": 1}
    by, values = [0] * 500 + [1] * 500, [60] * 500 + [40] * 500
    bold, careful, strict, usual = (
        BestGroup(**options, **more)
        for more in ({"caution": 0}, {"caution": 5}, {"min_rows": 20}, {})
    )
    assert bold.probabilities(values, by, epsilon="0.5")[0] < 0.01
    assert usual.probabilities(values, by, epsilon="0.5")[0] > 0.7
    assert careful.probabilities(values, by, epsilon="0.5")[0] > 0.9
    assert strict.probabilities(values, by, epsilon="0.5")[0] > 0.99


@pytest.mark.parametrize("size", [3, 4])
def test_random_orders_are_uniform(size):
    orders = list(itertools.permutations(range(size)))
    draws = draw_many(lambda: tuple(random_order(size, ENTROPY).tolist()), 12_000)
    assert p_value(counts_of(draws, orders), [1 / len(orders)] * len(orders)) > FALSE_ALARM


ENTROPY = InsecureEntropy(3)


class Repeating:
    """Equal words first, then different ones."""

    secure = False

    def __init__(self) -> None:
        self.reads = 0

    def read(self, size: int, /) -> bytes:
        self.reads += 1
        return bytes(size) if self.reads == 1 else bytes(range(size))


def test_equal_words_are_drawn_again():
    entropy = Repeating()
    assert sorted(random_order(3, entropy).tolist()) == [0, 1, 2]
    assert entropy.reads == 2


def test_the_noise_is_discrete_laplace():
    noise = discrete_laplace(Fraction(1), 20_000, InsecureEntropy(8))
    expected = [exp(-abs(z)) for z in range(-6, 7)]
    observed = [(noise == z).sum() for z in range(-6, 7)]
    assert p_value(observed, expected) > FALSE_ALARM
    assert -inf < noise.min() < -6
