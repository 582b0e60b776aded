"""Percentile labels: every formula against brute force over every small database."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dampen import testing
from dampen.core.mechanisms import Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.scores import Dampened, Shifted
from dampen.errors import DataError, ParameterError
from dampen.paper import percentile_selection as record
from dampen.paper.percentile_selection import NEAR, PercentileLabel, rank
from dampen.questions.percentile.record import label_mechanism

SLD_DOWN = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)
SIZES = [(1, 3), (2, 3), (3, 3), (4, 3), (5, 2)]
CASES = [(n, bound, k) for n, bound in SIZES for k in range(1, n + 1)]


def p_of(k, n):
    return Fraction(100 * k, n + 1)


def universe(n, bound):
    return testing.Universe.replace_one(range(bound + 1), n)


def problem(n, bound, k, delta="exact", **other):
    return PercentileLabel(n=n, p=p_of(k, n), upper=bound, delta=delta, **other)


@pytest.mark.parametrize(("n", "bound", "k"), CASES)
def test_utility_is_minus_the_distance_to_the_kth_smallest(n, bound, k):
    for x in product(range(bound + 1), repeat=n):
        expected = [-abs(sorted(x)[k - 1] - v) for v in x]
        assert problem(n, bound, k).selection(x).utility.tolist() == expected


@pytest.mark.parametrize(("n", "bound", "k"), [c for c in CASES if c[0] > 1])
def test_the_exact_form_is_the_local_sensitivity_at_every_distance(n, bound, k):
    verdict = testing.check_exact_sensitivity(problem(n, bound, k), universe(n, bound), n + 1)
    assert verdict, verdict


def test_one_value_has_no_sensitivity_before_the_horizon():
    s = problem(1, 3, 1).selection([2])
    assert s.sensitivity.at(0) == 0
    assert s.sensitivity.at(1) == 3


@pytest.mark.parametrize("delta", ["exact", "simple"])
@pytest.mark.parametrize(("n", "bound", "k"), CASES)
def test_both_forms_are_admissible(n, bound, k, delta):
    verdict = testing.check_admissible(problem(n, bound, k, delta), universe(n, bound), n + 1)
    assert verdict, verdict


@pytest.mark.parametrize(("n", "bound", "k"), CASES)
def test_the_simple_form_is_never_below_the_exact_one(n, bound, k):
    for x in product(range(bound + 1), repeat=n):
        exact = problem(n, bound, k).selection(x).sensitivity
        simple = problem(n, bound, k, "simple").selection(x).sensitivity
        for t in range(n + 1):
            assert (simple.at(t) >= exact.at(t)).all()


@pytest.mark.parametrize("delta", ["exact", "simple"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "mechanism", ["em", "pf", "ld", "ld-pf", "sld", "sld-pf", SLD_DOWN, label_mechanism(0, 3)]
)
def test_the_privacy_loss_is_at_most_epsilon(mechanism, k, delta):
    verdict = testing.privacy_loss(
        problem(4, 3, k, delta), universe(4, 3), epsilon="1", mechanism=mechanism
    )
    assert verdict, verdict


@pytest.mark.parametrize("score", [Dampened(), Dampened(shift=3.0), Shifted(1), Shifted(-1)])
@pytest.mark.parametrize("delta", ["exact", "simple"])
def test_scores_have_unit_sensitivity(score, delta):
    verdict = testing.check_unit_sensitivity(problem(4, 3, 3, delta), universe(4, 3), score)
    assert verdict, verdict


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_near_horizon_changes_nothing_for_the_default_mechanism(k):
    score = label_mechanism(0, 4).score
    for x in product(range(5), repeat=4):
        near = score.of(problem(4, 4, k, horizon=NEAR).selection(x)).values
        assert near.tolist() == score.of(problem(4, 4, k).selection(x)).values.tolist()


def test_the_near_horizon_changes_nothing_on_larger_data():
    x = np.random.default_rng(3).lognormal(size=400)
    for p in (0.5, 20, 50, 97):
        score = label_mechanism(0, 30).score
        near = PercentileLabel(n=400, p=p, upper=30, horizon=NEAR).selection(x)
        far = PercentileLabel(n=400, p=p, upper=30).selection(x)
        assert score.of(near).values.tolist() == score.of(far).values.tolist()


def lognormal_and_ties(n):
    generator = np.random.default_rng(n)
    return np.where(generator.random(n) < 0.3, 1.0, generator.lognormal(size=n))


@pytest.mark.parametrize("p", [0, 3, 50, 90, 100])
@pytest.mark.parametrize("bound", [0.3, 7.1, 1e-200, 1e200])
def test_closed_sums_are_sums_to_the_promised_precision(p, bound):
    n = 60
    x = lognormal_and_ties(n) / 3 * bound
    delta = PercentileLabel(n=n, p=p, upper=bound, delta="simple").selection(x).sensitivity
    total = [Fraction(0)] * n
    for t in range(n + 1):
        for r, value in enumerate(delta.sum_to(np.full(n, t))):
            assert abs(Fraction(value) - total[r]) <= total[r] / 2**50
        total = [s + Fraction(v) for s, v in zip(total, delta.at(t), strict=True)]


def test_closed_form_answers_for_every_candidate_and_block_alike():
    n = 50
    delta = PercentileLabel(n=n, p=70, upper=5, delta="simple").selection(lognormal_and_ties(n))
    form = delta.sensitivity.given
    t = np.random.default_rng(1).integers(0, form.horizon, n)
    assert form.at_each(t).tolist() == [form.at(int(t[r]))[r] for r in range(n)]
    part = slice(13, 31)
    assert form.part(part).at_each(t[part]).tolist() == form.at_each(t)[part].tolist()
    assert form.part(part).sum_to(t[part]).tolist() == form.sum_to(t)[part].tolist()


def test_sums_agree_with_the_walk_over_all_distances():
    n, x = 101, lognormal_and_ties(101)
    for p in (10, 50, 95):
        s = PercentileLabel(n=n, p=p, upper=6, delta="simple").selection(x)
        walked = sum(s.sensitivity.at(t) for t in range(s.sensitivity.horizon))
        whole = s.sensitivity.sum_to(np.full(n, s.sensitivity.horizon))
        np.testing.assert_allclose(whole, walked, rtol=1e-13)


@pytest.mark.parametrize("delta", ["exact", "simple"])
def test_sensitivities_of_floats_never_decrease(delta):
    n = 80
    for p in (1, 37, 50, 99):
        form = PercentileLabel(n=n, p=p, upper=3.3, delta=delta).selection(lognormal_and_ties(n))
        rows = np.array([form.sensitivity.at(t) for t in range(n + 1)])
        assert (np.diff(rows, axis=0) >= 0).all()
        assert (rows[-1] == 3.3).all()


@pytest.mark.parametrize("p", [0, 50, 99, 100])
def test_the_kernel_equals_the_array_formula(monkeypatch, p):
    x = lognormal_and_ties(500)
    ask = PercentileLabel(n=500, p=p, upper=4)
    arrays = ask.selection(x).sensitivity.at(0)
    monkeypatch.setattr(record, "KERNEL_FROM", 1)
    assert ask.selection(x).sensitivity.at(0).tolist() == arrays.tolist()


def test_local_dampening_is_the_utility_over_the_sensitivity_at_zero():
    x = lognormal_and_ties(300)
    s = PercentileLabel(n=300, p=80, upper=9).selection(x)
    expected = s.utility / s.sensitivity.at(0)
    np.testing.assert_allclose(Dampened().of(s).values, expected, rtol=0, atol=2.0**-20)
    assert (expected >= -1).all()


def test_a_range_is_shifted_to_zero_after_clipping():
    x = np.array([-7.0, -3.0, 0.5, 2.0, 9.0])
    shifted = PercentileLabel(n=5, p=50, lower=-4, upper=6).selection(x)
    plain = PercentileLabel(n=5, p=50, upper=10).selection(np.clip(x, -4, 6) + 4)
    assert shifted.utility.tolist() == plain.utility.tolist()
    for t in range(5):
        assert shifted.sensitivity.at(t).tolist() == plain.sensitivity.at(t).tolist()
    assert x.tolist() == [-7.0, -3.0, 0.5, 2.0, 9.0]


@pytest.mark.parametrize("delta", ["exact", "simple"])
def test_the_order_of_the_labels_does_not_matter(delta):
    x, order = lognormal_and_ties(40), np.random.default_rng(2).permutation(40)
    s = PercentileLabel(n=40, p=60, upper=4, delta=delta).selection(x)
    permuted = PercentileLabel(n=40, p=60, upper=4, delta=delta).selection(x[order])
    score = Shifted()
    assert score.of(permuted).values.tolist() == score.of(s).values[order].tolist()


def test_rank_is_exact():
    assert [rank(p, 99) for p in (0, 1, 50, "99.9", 100)] == [1, 1, 50, 99, 99]
    assert rank(0.1, 999) == 1  # in floats 0.1 * 1000 / 100 is above 1
    assert rank(Fraction(1, 3), 899) == 3
    assert rank(7, 99) == 7  # in floats 7 / 100 * 100 is above 7


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"p": -1}, "0 to 100"),
        ({"p": 100.5}, "0 to 100"),
        ({"p": float("nan")}, "0 to 100"),
        ({"p": True}, "0 to 100"),
        ({"p": "half"}, "0 to 100"),
        ({"p": "1e9999999"}, "0 to 100"),
        ({"p": "1e-9999999"}, "0 to 100"),
        ({"n": 0}, "at least one value"),
        ({"upper": 0}, "lower < upper"),
        ({"upper": float("inf")}, "finite"),
        ({"upper": "much"}, "numbers"),
        ({"lower": 5}, "lower < upper"),
        ({"delta": "smooth"}, "delta='exact'"),
        ({"horizon": -1}, "horizon >= 0"),
        ({"labels": ["a", "b"]}, "one label per value"),
        ({"labels": ["a", "b", "a"]}, "occur twice"),
        ({"labels": ["a", None, "c"]}, "missing"),
        ({"labels": ["a", float("nan"), "c"]}, "missing"),
        ({"labels": [["a"], "b", "c"]}, "such as text"),
    ],
)
def test_public_parameters_are_checked(wrong, says):
    with pytest.raises(ParameterError, match=says):
        PercentileLabel(**({"n": 3, "p": 50, "upper": 5} | wrong))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, float("nan")],
        [1, 2, None],
        [1, 2, "three"],
        [1, 2, True],
        [1, 2, [3, 4]],
        [1, 2, 1j],
        np.ma.masked_array([1.0, 2.0, 7777.0], mask=[0, 0, 1]),
    ],
)
def test_a_missing_value_counts_as_the_lower_end(values):
    problem = PercentileLabel(n=3, p=50, upper=5)
    assert (
        problem.selection(values).utility.tolist() == problem.selection([1, 2, 0]).utility.tolist()
    )


def test_another_number_of_values_is_an_error():
    with pytest.raises(DataError, match="as many values as n"):
        PercentileLabel(n=3, p=50, upper=5).selection([1, 2])


def test_infinite_values_are_clipped():
    s = PercentileLabel(n=3, p=50, upper=5).selection([float("-inf"), 1, float("inf")])
    assert s.utility.tolist() == [-1, 0, -4]
