"""What a selection accepts, and what every piece of bad input is told."""

import numpy as np
import pytest

import dampen
from dampen import DataError, ParameterError, Selection
from dampen.core import sensitivity
from dampen.core.scores import Shifted

ONE = sensitivity.constant(1)


@pytest.mark.parametrize(
    ("kind", "expected", "make"),
    [
        (ParameterError, "at least one candidate", lambda: Selection([], ONE)),
        (ParameterError, "at least one candidate", lambda: Selection([[1.0]], ONE)),
        (DataError, "finite utilities", lambda: Selection([1.0, np.nan], ONE)),
        (DataError, "finite utilities", lambda: Selection([1.0, np.inf], ONE)),
        (DataError, "to be numbers", lambda: Selection(["a"], ONE)),
        (ParameterError, "bound > 0", lambda: Selection([1.0], ONE, bound=0)),
        (ParameterError, "bound > 0", lambda: Selection([1.0], ONE, bound=-2)),
        (ParameterError, "bound > 0", lambda: Selection([1.0], ONE, bound=float("nan"))),
        (ParameterError, "bound > 0", lambda: Selection([1.0], ONE, bound="x")),
        (ParameterError, "bound >= 1", lambda: Selection([1.0], ONE, bound=0.5)),
        (ParameterError, "bound=", lambda: Selection([1.0], sensitivity.table([[1]]))),
        (ParameterError, "joint= to name the score", lambda: Selection([1.0], ONE, joint=2.0)),
        (ParameterError, "joint > 0", lambda: Selection([1.0], ONE, joint={Shifted(): 0.0})),
        (ParameterError, "joint > 0", lambda: Selection([1.0], ONE, joint={Shifted(): np.inf})),
        (DataError, ">= 0", lambda: sensitivity.table([[1.0, -1.0]])),
        (DataError, "never decrease", lambda: sensitivity.table([[2.0], [1.0]])),
        (DataError, "finite", lambda: sensitivity.table([[np.inf]])),
        (ParameterError, "two dimensions", lambda: sensitivity.table([1, 2])),
        (ParameterError, "equal length", lambda: sensitivity.table([[1], [1, 2]])),
        (DataError, "at most the bound 3", lambda: Selection([1.0], sensitivity.table([[4]]), 3)),
        (ParameterError, r"one sensitivity per candidate \(2\)",
         lambda: Selection([1, 2], sensitivity.table([[1, 1, 1]]), 3)),
        (ParameterError, r"one sensitivity per candidate \(2\)",
         lambda: Selection([1, 2], sensitivity.function(lambda t: [1, 1, 1], horizon=1), 3)),
        (DataError, ">= 0", lambda: Selection([1], sensitivity.function(lambda t: [-1], 2), 3)),
        (DataError, "at most the bound 3",
         lambda: Selection([1], sensitivity.function(lambda t: [t], 9), 3)),
        (ParameterError, "horizon", lambda: sensitivity.function(lambda t: [1], horizon=-1)),
        (ParameterError, "horizon", lambda: sensitivity.function(lambda t: [1], horizon=1.5)),
        (ParameterError, "function of t", lambda: sensitivity.function(3, horizon=1)),
        (ParameterError, "value > 0", lambda: sensitivity.constant(0)),
        (ParameterError, "cap > 0", lambda: sensitivity.bounded(ONE, -1, 3)),
        (ParameterError, "at least one sensitivity", lambda: sensitivity.maximum()),
    ],
)  # fmt: skip
def test_errors_about_bad_input_state_the_expectation(kind, expected, make) -> None:
    with pytest.raises(kind, match=f"Expected.*{expected}"):
        make()


SOUND = Selection([3.0, 1.0], sensitivity.table([[1, 1]]), bound=2)


@pytest.mark.parametrize(
    ("expected", "call"),
    [
        ("epsilon", lambda: dampen.select(SOUND, epsilon=0, mechanism="em")),
        ("epsilon", lambda: dampen.select(SOUND, epsilon="abc", mechanism="em")),
        ("epsilon", lambda: dampen.select(SOUND, epsilon=float("nan"), mechanism="em")),
        ("epsilon", lambda: dampen.select(SOUND, epsilon=float("inf"), mechanism="em")),
        ("mechanism.*Did you mean 'sld'", lambda: dampen.select(SOUND, epsilon=1, mechanism="sdl")),
        (
            "mechanism.*Did you mean 'em'",
            lambda: dampen.probabilities(SOUND, epsilon=1, mechanism="EM "),
        ),
        ("k to be an integer >= 1", lambda: dampen.select(SOUND, epsilon=1, mechanism="em", k=0)),
        ("k to be an integer >= 1", lambda: dampen.select(SOUND, epsilon=1, mechanism="em", k=1.5)),
        ("k <= 2", lambda: dampen.select(SOUND, epsilon=1, mechanism="em", k=3)),
        ("joint=", lambda: dampen.select(SOUND, epsilon=1, mechanism="joint")),
        ("t >= 0", lambda: SOUND.sensitivity.at(-1)),
    ],
)
def test_errors_about_bad_parameters_state_the_expectation(expected, call) -> None:
    with pytest.raises(ParameterError, match=f"Expected.*{expected}"):
        call()


def test_after_its_last_row_a_table_is_the_bound() -> None:
    s = Selection([1, 2], sensitivity.table([[1, 2], [2, 3]]), bound=5)
    assert [s.sensitivity.at(t).tolist() for t in (0, 1, 2, 99)] == [[1, 2], [2, 3], [5, 5], [5, 5]]


def test_from_its_horizon_on_a_function_is_the_bound() -> None:
    s = Selection([1, 2], sensitivity.function(lambda t: [t, 2 * t], horizon=2), bound=5)
    assert [s.sensitivity.at(t).tolist() for t in (0, 1, 2)] == [[0, 0], [1, 2], [5, 5]]


def test_an_empty_table_is_the_bound() -> None:
    s = Selection([1, 2], sensitivity.table(np.zeros((0, 2))), bound=5)
    assert s.sensitivity.at(0).tolist() == [5, 5]
    assert dampen.probabilities(s, epsilon=1, mechanism="sld") == pytest.approx(
        dampen.probabilities(s, epsilon=1, mechanism="em")
    )


def test_a_repr_shows_no_utility() -> None:
    s = Selection([123.456, 0], sensitivity.table([[9.875, 1]]), bound=10)
    assert "123" not in repr(s)
    assert "9.875" not in repr(s.sensitivity)
