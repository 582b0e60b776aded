"""Several labels: the law of place, reach and set together, its twins, and what it gains."""

from fractions import Fraction
from functools import cache
from math import comb, exp

import numpy as np
import pytest

import dampen
from dampen.core.noise import laplace_rho
from dampen.core.sampling import InsecureEntropy, noisy_top
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.percentile.methods import (
    Shares,
    Staircase,
    TwoStages,
    likeliest_in_two_stages,
)
from dampen.testing import Universe
from dampen_studies.rivals.record_law import expected_error, stage_one
from dampen_studies.rivals.record_set_law import share_inside
from staircases import exponential_tail, of_sets, staircase_tail

SETTINGS = [(4, 3, 50, 5, "3", 2), (4, 3, 90, 4, "1", 3), (3, 4, 0, 6, "6", 2)]


@cache
def sets(inside, k, epsilon, tail):
    """The law of the set, by which labels are inside."""
    return np.array(list(of_sets(inside, k, epsilon, tail(epsilon)).values()))


def law_of_sets(problem, values, tail=staircase_tail):
    """P[place, reach, set] on one axis."""
    joint, inside = stage_one(problem, values)
    return np.concatenate([
        p * sets(tuple(map(int, which)), problem.count, float(problem.shares.label), tail)
        for p, which in zip(joint.ravel(), inside.reshape(-1, problem.n), strict=True)
    ])  # fmt: skip


def loss(setting, kind=TwoStages, tail=staircase_tail):
    n, values, p, cells, epsilon, k = setting
    shares = Shares.of(Fraction(epsilon))
    problem = kind(n=n, p=p, upper=values - 1, shares=shares, cells=cells, count=k)
    universe = Universe.replace_one(range(values), n)
    log_p = np.log([law_of_sets(problem, np.array(x, float), tail) for x in universe.databases])
    left, right = universe.neighbours.T
    return float(np.abs(log_p[left] - log_p[right]).max()) / float(epsilon)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_loss_of_all_that_is_released_is_at_most_epsilon(setting):
    assert 0.5 < loss(setting) <= 1 + 1e-6


def test_noise_for_one_label_is_not_private_for_a_set():
    """The twin: the k largest of one draw of permute-and-flip's noise, at ε instead of ε/k."""
    assert loss((4, 3, 50, 5, "3", 3), tail=exponential_tail) > 1.05


class AroundThePercentile(TwoStages):
    """A label's utility depends on the others' values: inside are the k nearest in rank."""

    def inside_of(self, values):
        order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        return np.abs(order - self.n // 2) < self.count


def test_utilities_that_depend_on_others_are_not_private():
    """One replaced record then moves several labels in or out, and all of them may show it."""
    n, k, epsilon = 4, 2, Fraction(6)
    problem = AroundThePercentile(n=n, p=50, upper=2, shares=Shares.of(epsilon), count=k)
    share = float(problem.shares.label)
    universe = Universe.replace_one(range(3), n)
    log_p = np.log([
        sets(tuple(map(int, problem.inside_of(np.array(x)))), k, share, staircase_tail)
        for x in universe.databases
    ])  # fmt: skip
    left, right = universe.neighbours.T
    assert np.abs(log_p[left] - log_p[right]).max() > 1.05 * share


@pytest.mark.parametrize(("n", "k", "epsilon"), [(5, 2, 1.5), (5, 4, 0.7), (4, 3, 3.0), (6, 1, 2)])
def test_the_share_inside_is_that_of_the_law_of_sets(n, k, epsilon):
    for m in range(n + 1):
        law = of_sets([1] * m + [0] * (n - m), k, epsilon, staircase_tail(epsilon))
        by_law = sum(p * sum(i < m for i in s) for s, p in law.items()) / k
        assert share_inside(np.array([m]), n, k, epsilon)[0] == pytest.approx(by_law, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "m", "k", "epsilon"), [(4096, 20, 20, 7), (4096, 500, 20, 3), (1000, 300, 500, 1)]
)
def test_draws_have_that_share(n, m, k, epsilon):
    """Within six standard errors of 200 draws; false alarms: below 1e-8."""
    inside, noise, entropy = np.arange(n) < m, Staircase(Fraction(epsilon)), InsecureEntropy(1)
    drawn = [
        inside[noisy_top(inside.astype(float), noise.scale, noise, k, entropy)].mean()
        for _ in range(200)
    ]
    wanted = share_inside(np.array([m]), n, k, float(epsilon))[0]
    assert abs(np.mean(drawn) - wanted) < 6 * np.std(drawn) / 200**0.5 + 1e-9


def peeled_share(m, n, k, epsilon):
    """The same share if one label is drawn after the other, at ε/k each, by permute-and-flip."""
    a, chances = exp(-epsilon / k), np.eye(1)[0]  # chances[i]: i of those drawn so far are inside
    y, weight = np.polynomial.legendre.leggauss(200)
    y, weight = (y + 1) / 2, weight / 2
    for drawn in range(k):
        after = np.zeros(len(chances) + 1)
        for i, chance in enumerate(chances):
            ins, outs = m - i, n - m - (drawn - i)
            power = (ins - 1) * np.log1p(-y) + outs * np.log1p(-a * y)
            hit = 0.0 if ins == 0 else min(1.0, float(ins * weight @ np.exp(power)))
            after[i + 1] += chance * hit
            after[i] += chance * (1 - hit)
        chances = after
    return float(chances @ np.arange(k + 1)) / k


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 6.0, 12.0])
def test_one_release_is_never_worse_than_one_after_the_other(epsilon):
    for n in (1000, 3000):
        for k in (2, 3, 8):
            for m in (1, k, 5 * k, 200):
                once = share_inside(np.array([m]), n, k, epsilon)[0]
                assert once > 0.9999 * peeled_share(m, n, k, epsilon)


def test_the_expected_error_is_the_mean_of_the_drawn():
    """Within six standard errors of 300 draws; false alarms: below 1e-8."""
    x = np.random.default_rng(3).lognormal(2, 1, 1200)
    top, truth = float(x.max()), np.sort(x)[900 - 1]
    problem = TwoStages(n=1200, p=74.9, upper=top, shares=Shares.of(Fraction(9)), count=12)
    entropy = InsecureEntropy(4)
    drawn = [np.abs(x[problem.draw(x, entropy).labels] - truth).mean() for _ in range(300)]
    assert abs(np.mean(drawn) - expected_error(problem, x)) < 6 * np.std(drawn) / 300**0.5


def test_no_label_is_more_likely_than_stated():
    for k, epsilon in ((2, 1.5), (3, 4.0)):
        share, told = float(Shares.of(Fraction(epsilon)).label), 0.0
        for m in range(6):
            inside = [1] * m + [0] * (6 - m)
            law = of_sets(inside, k, share, staircase_tail(share))
            told = max(told, *(sum(p for s, p in law.items() if i in s) for i in range(6)))
        bound = likeliest_in_two_stages(6, Fraction(epsilon), k)
        assert 0.8 * bound < told <= bound + 1e-6


def test_labels_come_in_the_order_of_the_records():
    x = np.random.default_rng(5).permutation(3000).astype(float)
    names = [f"r{i:04}" for i in range(3000)]
    made = dampen.percentile_record(x, p=50, epsilon=60, upper=3000, labels=names, k=5)
    assert made.mechanism == "two-stages"
    assert made.answer == sorted(made.answer)
    assert len(set(made.answer)) == 5
    assert made.parameters["k"] == 5
    assert str(made.accuracy).startswith("Among 3,000 records at ε = 60 no record is among the 5")
    low, high = made.parameters["interval"]
    values = [x[int(name[1:])] for name in made.answer]
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in values)


def test_all_labels_may_be_asked_for():
    for n in (7, 1200):
        made = dampen.percentile_record(np.arange(float(n)), p=50, epsilon=1, upper=n, k=n)
        assert made.answer == list(range(n))


@pytest.mark.parametrize("mechanism", [None, "em", "ld", "pf"])
def test_few_labels_are_drawn_one_after_the_other(mechanism):
    x = np.r_[np.zeros(20), np.full(3, 50.0), np.full(20, 100.0)]
    made = dampen.percentile_record(x, p=50, epsilon=10_000, upper=100, k=3, mechanism=mechanism)
    assert made.answer == [20, 21, 22]
    assert made.mechanism == (mechanism or "ld-pf-range")
    if mechanism in ("em", "ld"):
        assert made.rho == Fraction(10_000**2, 3 * 8)
    else:
        assert made.rho == 3 * laplace_rho(Fraction(10_000, 3))


def test_one_in_a_list_is_the_one():
    x = np.arange(2000.0)
    one, listed = (
        dampen.percentile_record(
            x, p=50, epsilon=30, upper=2000, k=k, entropy=InsecureEntropy(2, allow_release=True)
        ).answer
        for k in (None, 1)
    )
    assert listed == [one]


@pytest.mark.parametrize("k", [0, -1, 2001, 1.5, "2", True])
def test_a_wrong_number_of_labels_costs_nothing(k):
    class Refusing:
        def charge(self, cost, /):
            raise AssertionError("charged")

    with pytest.raises(ParameterError, match="Expected k"):
        dampen.percentile_record(
            np.arange(2000.0), p=50, epsilon=9, upper=9, k=k, budget=Refusing()
        )


def test_a_tiny_epsilon_for_several_costs_nothing():
    with pytest.raises(ParameterError, match="Raise epsilon"):
        dampen.percentile_record(np.arange(2000.0), p=50, epsilon="1e-20", upper=9, k=2)


@pytest.mark.parametrize("mechanism", [None, "em", "ld", "sld-pf"])
def test_of_a_file_with_fewer_rows_all_are_named(tmp_path, mechanism):
    path = tmp_path / "few.csv"
    path.write_text("who,v\na,1\nb,2\n")
    made = dampen.percentile_record(
        path, "v", labels="who", p=50, epsilon=5, upper=9, k=3, mechanism=mechanism
    )
    assert made.answer == ["a", "b"]
    assert made.parameters["n"] == 2


def test_random_labels_cause_a_warning():
    x = np.arange(2000.0)
    with pytest.warns(AccuracyWarning, match=r"no record is among the 3 with a probability above"):
        dampen.percentile_record(x, p=50, epsilon=2, upper=2000, k=3)
    with pytest.warns(AccuracyWarning, match="hardly better than a guess"):
        dampen.percentile_record(x, p=50, epsilon="0.05", upper=2000, k=1000)


def test_sets_are_counted_once():
    assert len(of_sets([0] * 5, 2, 1.0, staircase_tail(1.0))) == comb(5, 2)
