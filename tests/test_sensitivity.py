import numpy as np
import pytest

from dampen import ParameterError, Selection, sensitivity
from dampen.scores import Shifted
from dampen.selection import ClosedForm
from dampen.sensitivity import bounded, classify, constant, flat, function, maximum, table

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
        assert isinstance(closed, ClosedForm)
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
