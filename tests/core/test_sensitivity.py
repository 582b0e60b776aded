import numpy as np
import pytest

from dampen import DataError, ParameterError, Selection
from dampen.core import sensitivity
from dampen.core.scores import Dampened, Global, Shifted
from dampen.core.selection import MOST_TABULATED
from dampen.core.sensitivity import bounded, classify, constant, flat, function, maximum, table

ROWS = np.array([[1.0, 2.0, 0.0], [2.0, 6.0, 1.0], [5.0, 7.0, 9.0]])


def rows_of(delta: sensitivity.Sensitivity, bound: float, distances: int = 6) -> list[list[float]]:
    s = Selection([1.0, 2.0, 3.0], delta, bound=bound)
    return [s.sensitivity.at(t).tolist() for t in range(distances)]


@pytest.mark.parametrize("horizon", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("given", ["table", "function", "constant"])
def test_bounded_takes_the_minimum_and_jumps_to_the_cap(given: str, horizon: int) -> None:
    delta = {
        "table": table(ROWS),
        "function": function(lambda t: ROWS[t], 3),
        "constant": constant(2),
    }
    inner = delta[given]
    want = [
        np.minimum(ROWS[t] if given != "constant" else 2.0, 6.0) + np.zeros(3)
        if t < horizon and (given == "constant" or t < 3) else np.full(3, 6.0)
        for t in range(6)
    ]  # fmt: skip
    assert rows_of(bounded(inner, 6, horizon), 6) == [w.tolist() for w in want]


@pytest.mark.parametrize("horizon", [1, 3, 4, 100])
def test_sums_of_a_bounded_closed_form(horizon: int) -> None:
    for inner in (table(ROWS), constant(2.0), constant(8.0)):
        closed = Selection([0.0] * 3, bounded(inner, 6, horizon)).sensitivity
        assert closed.closed_form
        for t in range(horizon + 3):
            want = sum((closed.at(j) for j in range(t)), np.zeros(3))
            assert closed.sum_to(np.full(3, t)) == pytest.approx(want)
            assert closed.at_each(np.full(3, t)).tolist() == closed.at(t).tolist()


def test_flat_is_the_largest_over_candidates() -> None:
    assert rows_of(flat(table(ROWS)), 9)[:4] == [[2] * 3, [6] * 3, [9] * 3, [9] * 3]
    assert flat(constant(3)) == constant(3)


def test_maximum_reaches_the_bound_with_the_first_of_its_functions() -> None:
    short = function(lambda t: [3.0, 0.0, 0.0], 2)
    assert rows_of(maximum(table(ROWS), short), 9)[:4] == [[3, 2, 0], [3, 6, 1], [9] * 3, [9] * 3]
    assert maximum(constant(1), constant(2)).horizon is None


def test_prefix_sums_of_many_rows_are_right_to_the_last_digit() -> None:
    rows = np.full((200_000, 1), 0.1)
    total = table(rows).sum_to(np.array([200_000]))[0]
    assert abs(total - 20_000) <= 2 * np.spacing(20_000.0)


@pytest.mark.parametrize(
    ("utility", "rows", "kind"),
    [
        ([1, 2, 3], [[1, 1, 1], [2, 2, 2]], "flat"),
        ([1, 2, 3], [[1, 1, 2], [1, 2, 2]], "non-decreasing"),
        ([1, 2, 3], [[3, 2, 2]], "non-increasing"),
        ([1, 2, 3], [[1, 2, 1]], "none"),
        ([1, 2, 3], [[1, 1, 2], [3, 3, 2]], "none"),
        ([1, 1, 3], [[1, 2, 3]], "none"),
    ],
)
def test_classification(utility: list[float], rows: list[list[float]], kind: str) -> None:
    found = classify(Selection(utility, table(rows), bound=4))
    assert (found.monotonicity, found.bounded) == (kind, True)
    assert found.stable == (kind != "none")


def test_classification_needs_a_horizon_or_distances() -> None:
    s = Selection([1, 2], constant(1), bound=2)
    with pytest.raises(ParameterError, match="distances"):
        classify(s)
    assert not classify(s, distances=3).bounded


def test_flat_delta_under_sld_is_the_exponential_mechanism() -> None:
    s = Selection([4.0, 1.0, 0.0], flat(table([[1, 2, 3], [3, 3, 4]])), bound=5)
    q = Shifted().of(s).values
    assert q - q[0] == pytest.approx((s.utility - 4) / 5, abs=1e-6)


class Plain:
    """All that a sensitivity function must have."""

    def __init__(self, rows: np.ndarray, horizon: int | None) -> None:
        self.rows, self.horizon, self.asked = rows, horizon, 0

    def at(self, t: int, /) -> np.ndarray:
        self.asked += 1
        return self.rows[min(t, len(self.rows) - 1)]


class Closed(Plain):
    """The same with sums, which a selection uses when they are there."""

    def at_each(self, t: np.ndarray, /) -> np.ndarray:
        return self.rows[t, np.arange(len(t))]

    def sum_to(self, t: np.ndarray, /) -> np.ndarray:
        return np.vstack([0 * self.rows[0], np.cumsum(self.rows, axis=0)])[t, np.arange(len(t))]


class Cut(Closed):
    """The same in parts."""

    def part(self, candidates: slice, /) -> Closed:
        return Closed(self.rows[:, candidates], self.horizon)


@pytest.mark.parametrize("kept", [0, MOST_TABULATED])
@pytest.mark.parametrize("kind", [Plain, Closed, Cut])
def test_missing_methods_of_a_function_have_defaults(
    kind: type[Plain], kept: int, monkeypatch
) -> None:
    monkeypatch.setattr("dampen.core.selection.MOST_TABULATED", kept)
    for given, cap in ((kind(ROWS, 3), 9.0), (bounded(kind(ROWS, 3), 6, 5), 6.0)):
        s = Selection([5.0, -7.0, 20.0], given, bound=cap)
        rows = [s.sensitivity.at(t) for t in range(7)]
        assert s.sensitivity.closed_form == (kind is not Plain or kept > 0)
        for t in ([0, 0, 0], [1, 1, 1], [2, 0, 3], [6, 5, 1]):
            picked = [rows[at][r] for r, at in enumerate(t)]
            sums = [sum(rows[j][r] for j in range(at)) for r, at in enumerate(t)]
            assert s.sensitivity.at_each(np.array(t)).tolist() == picked
            assert s.sensitivity.sum_to(np.array(t)) == pytest.approx(sums)
        twin = Selection([5.0, -7.0, 20.0], table(np.array(rows)), bound=cap)
        for score in (Dampened(), Dampened(shift=3.0), Shifted(1), Shifted(-1)):
            assert score.of(s).values == pytest.approx(score.of(twin).values, abs=1e-5)


def test_a_closed_form_is_not_walked() -> None:
    given = Closed(ROWS, 3)
    s = Selection([5.0, -7.0, 20.0], given, bound=9)
    for score in (Dampened(), Shifted()):
        score.of(s)
    assert given.asked == 0


def test_functions_without_a_closed_form_are_computed_once() -> None:
    given = Plain(ROWS, 3)
    s = Selection([5.0, -7.0, 20.0], given, bound=9)
    Global().of(s)
    assert given.asked == 0
    for score in (Dampened(), Dampened(shift=3.0), Dampened(shift=-3.0), Shifted(1), Shifted(-1)):
        score.of(s)
    assert given.asked == 3


def test_tabulated_functions_are_checked() -> None:
    for rows, error in ((-ROWS, "finite and >= 0"), (ROWS[::-1], "never decrease")):
        s = Selection([5.0, -7.0, 20.0], Plain(rows, 3), bound=9)
        with pytest.raises(DataError, match=error):
            Dampened().of(s)


def test_a_function_without_a_horizon_and_without_sums_cannot_be_dampened() -> None:
    s = Selection([5.0, -7.0, 20.0], Plain(ROWS, None), bound=9)
    assert s.sensitivity.at(1).tolist() == ROWS[1].tolist()
    for score in (Dampened(), Shifted()):
        with pytest.raises(ParameterError, match="finite horizon"):
            score.of(s)


def test_bounded_functions_nest() -> None:
    for inner in (Plain(ROWS, 3), Closed(ROWS, 3), Cut(ROWS, 3)):
        twice = Selection([0.0] * 3, bounded(bounded(inner, 6, 5), 5, 4)).sensitivity
        rows = [np.minimum(ROWS[t], 5) if t < 3 else np.full(3, 5.0) for t in range(6)]
        assert [twice.at(t).tolist() for t in range(6)] == [row.tolist() for row in rows]
        assert twice.sum_to(np.full(3, 6)) == pytest.approx(np.sum(rows, axis=0))


def test_the_function_of_one_selection_serves_another() -> None:
    first = Selection([1.0, 2.0, 3.0], Closed(ROWS, 3), bound=9)
    second = Selection([3.0, 2.0, 1.0], first.sensitivity, bound=11)
    assert second.sensitivity.closed_form
    assert [second.sensitivity.at(t).tolist() for t in (1, 3)] == [ROWS[1].tolist(), [11.0] * 3]


def test_a_sum_beyond_floats_is_refused() -> None:
    s = Selection([1.0, 2.0], bounded(constant(1e307), cap=1e307, horizon=100))
    with pytest.raises(ParameterError, match="horizon times cap"):
        Shifted().of(s)
