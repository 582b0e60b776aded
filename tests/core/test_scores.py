"""Scores against exact rational arithmetic: the rounding bound η must hold on every input."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exact_scores
from dampen import Selection
from dampen.core import sensitivity
from dampen.core.scores import Dampened, Global, Scores, Shifted
from dampen.core.selection import LARGEST_SCORE, FloatArray, IntArray
from dampen.errors import DataError, ParameterError

magnitudes = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e300, 1.0, 3.0, 1 / 3, 1e-16, 1e16]),
    st.floats(1e-300, 1e300),
    st.floats(1e-3, 1e3),
)


@st.composite
def instances(draw: st.DrawFn) -> tuple[float, list[float], float]:
    """One candidate: a utility, its deltas, a bound; often right at a corner of D."""
    rows = sorted(draw(st.lists(magnitudes, max_size=12)))
    bound = max([draw(st.floats(1e-3, 1e300)), *rows])
    corner = float(sum(map(Fraction, rows[: draw(st.integers(0, 12))]), Fraction(0)))
    size = draw(st.one_of(magnitudes, st.just(corner), st.just(np.nextafter(corner, 0))))
    return draw(st.sampled_from([-1.0, 1.0])) * size, rows, bound


def selections(u: float, rows: list[float], bound: float) -> list[Selection]:
    """The same instance as a table (closed form) and as a function (a walk over t)."""
    table = np.array(rows).reshape(-1, 1)
    return [
        Selection([u], sensitivity.table(table), bound=bound),
        Selection([u], sensitivity.function(lambda t: table[t], len(rows)), bound=bound),
    ]


def error(scores: Scores, exact: Fraction) -> Fraction:
    return abs(Fraction(float(scores.values[0])) / scores.unit - exact)


@settings(max_examples=400, deadline=None)
@given(instances())
def test_dampened_scores_are_within_eta_of_exact_ones(
    instance: tuple[float, list[float], float],
) -> None:
    u, rows, bound = instance
    exact = exact_scores.clamp(exact_scores.dampened(u, rows, bound), LARGEST_SCORE)
    for selection in selections(u, rows, bound):
        scores = Dampened().of(selection)
        assert error(scores, exact) <= scores.eta


@settings(max_examples=300, deadline=None)
@given(instances(), st.floats(-1e6, 1e6))
def test_a_public_shift_keeps_the_bound(
    instance: tuple[float, list[float], float], shift: float
) -> None:
    u, rows, bound = instance
    exact = exact_scores.clamp(exact_scores.dampened(u, rows, bound, shift), LARGEST_SCORE)
    for selection in selections(u, rows, bound):
        scores = Dampened(shift=shift).of(selection)
        assert error(scores, exact) <= scores.eta


@settings(max_examples=400, deadline=None)
@given(instances(), st.sampled_from([-1, 1]))
def test_shifted_scores_are_within_eta_of_exact_ones(
    instance: tuple[float, list[float], float], towards: int
) -> None:
    u, rows, bound = instance
    clamped = float(np.clip(u / bound, -LARGEST_SCORE, LARGEST_SCORE)) * bound
    exact = exact_scores.shifted(clamped, rows, bound, towards)
    for selection in selections(u, rows, bound):
        scores = Shifted(towards).of(selection)
        assert error(scores, exact) <= scores.eta


def test_global_scores_are_the_numbers_as_given() -> None:
    u, bound = [1e9 + 3, 1e300, -1e-300, 0.1], 0.3
    scores = Global().of(Selection(u, sensitivity.constant(bound)))
    assert [Fraction(float(v)) / scores.unit for v in scores.values] == [
        Fraction(x) / Fraction(bound) for x in u
    ]


@dataclass(frozen=True)
class Growing:
    """δ(x, t, r) = start + t, with sums that need no loop."""

    start: FloatArray
    horizon: int | None

    def at(self, t: int, /) -> FloatArray:
        return self.start + t

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self.start + t

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return t * (self.start + (t - 1) / 2)


def test_closed_form_and_walk_agree_with_exact_arithmetic() -> None:
    rng = np.random.default_rng(0)
    u, start, T = rng.integers(-4000, 4000, 300) / 2, rng.integers(0, 30, 300).astype(float), 60
    closed = Selection(u, Growing(start, T), bound=100)
    walk = Selection(u, sensitivity.function(lambda t: start + t, T), bound=100)
    rows = [[s + t for t in range(T)] for s in start]
    for score, twin in ((Dampened(), exact_scores.dampened), (Shifted(), exact_scores.shifted)):
        want = np.array([float(twin(v, r, 100)) for v, r in zip(u, rows, strict=True)])
        for selection in (closed, walk):
            scores = score.of(selection)
            assert np.abs(scores.values - want).max() <= float(scores.eta)


def test_blocks_of_candidates_change_nothing() -> None:
    """With `part` scores are made in blocks of 2^14 candidates, closed form or not."""

    @dataclass(frozen=True)
    class InParts(Growing):
        def part(self, candidates: slice, /) -> "InParts":
            return InParts(self.start[candidates], self.horizon)

    @dataclass(frozen=True)
    class Walked:
        """No sums; whether it has parts is for the test to say."""

        start: FloatArray
        horizon: int
        part: object

        def at(self, t: int, /) -> FloatArray:
            return self.start + t

    rng = np.random.default_rng(5)
    u, start, T = rng.integers(-900, 900, 40_000), rng.integers(0, 30, 40_000) * 1.0, 20
    whole, parts = Growing(start, T), InParts(start, T)
    walks = Walked(start, T, None), Walked(start, T, lambda c: Walked(start[c], T, None))
    for score in (Dampened(), Dampened(shift=40.0), Shifted()):
        values = [score.of(Selection(u, d, bound=60)).values for d in (whole, parts, *walks)]
        assert values[0].tolist() == values[1].tolist()
        assert values[2].tolist() == values[3].tolist()
        assert np.abs(values[0] - values[2]).max() <= 2.0**-19


def test_a_huge_horizon_is_charged_for() -> None:
    T = 10**12
    delta = sensitivity.bounded(sensitivity.constant(1.0), cap=4.0, horizon=T)
    scores = Shifted().of(Selection([3.0, -3.0], delta))
    exact = [Fraction(u) / 4 - T * Fraction(3, 4) for u in (3, -3)]
    assert all(
        abs(Fraction(float(v)) - q) <= scores.eta for v, q in zip(scores.values, exact, strict=True)
    )
    assert Shifted().of(Selection([3.0], sensitivity.constant(4.0))).eta < scores.eta < 1


def test_dampened_scores_without_a_horizon() -> None:
    selection = Selection([7.0, -10.5], sensitivity.constant(3.0), bound=5.0)
    assert np.allclose(Dampened().of(selection).values, [7 / 3, -3.5], atol=1e-6)
    with pytest.raises(ParameterError, match="finite horizon"):
        Shifted().of(selection)
    with pytest.raises(ParameterError, match="2\\^40"):
        Shifted().of(Selection([1.0], sensitivity.bounded(sensitivity.constant(1), 2, 2**41)))


def test_zero_deltas_are_stepped_over() -> None:
    rows = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
    for delta in (sensitivity.table(rows), sensitivity.function(lambda t: rows[t], 2)):
        D = Dampened().of(Selection([0.0, 1e-200, 1.0], delta, bound=4)).values
        assert D.tolist() == [0.0, 2.0, 1.5]


def test_constant_delta_makes_all_three_scores_equal() -> None:
    u = np.linspace(-7, 9, 41)
    selection = Selection(u, sensitivity.constant(2.5))
    for score in (Dampened(), Shifted(1), Shifted(-1)):
        scores = score.of(selection)
        assert np.abs(scores.values - u / 2.5).max() <= float(scores.eta)


def test_the_cap_may_be_raised_but_not_lowered() -> None:
    selection = Selection([5.0, 1.0], sensitivity.table([[1, 2]]), bound=4)
    high = Shifted(cap=8.0).of(selection).values
    assert np.allclose(high, [5 / 8 - 7 / 8, 1 / 8 - 6 / 8], atol=1e-6)
    assert np.allclose(Dampened(cap=8.0).of(selection).values, [1 + 4 / 8, 0.5], atol=1e-6)
    with pytest.raises(ParameterError, match="cap >= 4"):
        Shifted(cap=3.0).of(selection)
    with pytest.raises(ParameterError, match="towards"):
        Shifted(towards=0)


def test_a_decreasing_function_is_found_on_the_walk() -> None:
    rows = [[1.0], [3.0], [2.0], [4.0]]
    selection = Selection([0.5], sensitivity.function(lambda t: rows[t], 4), bound=4)
    for score in (Dampened(), Shifted()):
        with pytest.raises(DataError, match="never decrease"):
            score.of(selection)
