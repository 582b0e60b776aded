from decimal import Decimal
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from dampen.epsilon import decimal_text, exact, short_text
from dampen.errors import ParameterError


@pytest.mark.parametrize(
    "given",
    ["0.1", 0.1, Decimal("0.1"), Fraction(1, 10), "1e-1", np.float64(0.1), np.float32(0.1), "1/10"],
)
def test_one_tenth_is_one_tenth_however_it_is_written(given: object) -> None:
    assert exact(given) == Fraction(1, 10)  # type: ignore[arg-type]


def test_three_tenths_are_three_times_one_tenth() -> None:
    assert exact(0.1) + exact(0.1) + exact(0.1) == exact(0.3)


@pytest.mark.parametrize("given", [1, np.int64(1), "1", 1.0])
def test_integers(given: object) -> None:
    assert exact(given) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        "0",
        "-0.5",
        float("nan"),
        float("inf"),
        "abc",
        "",
        None,
        [1],
        True,
        "1/0",
        "1e999999999",
        "1e-999999999",
        "1e",
        Decimal("NaN"),
    ],
)
def test_only_positive_numbers_are_accepted(given: object) -> None:
    with pytest.raises(ParameterError, match=r"Expected epsilon"):
        exact(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        "1/1" + "0" * 2098 + "1",
        "0." + "0" * 5000 + "1",
        "1e-61",
        "1e61",
        10**60,
        Fraction(1, 10**60),
        Fraction(10**60, 10**60 - 1),
        Decimal("1e-61"),
    ],
)
def test_numbers_that_would_make_every_sum_slow_are_refused(given: object) -> None:
    with pytest.raises(ParameterError, match="Expected epsilon") as caught:
        exact(given)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300


def test_sixty_digits_are_enough() -> None:
    longest = Fraction(10**60 - 1, 10**60 - 2)
    assert exact(longest) == exact(decimal_text(longest)) == longest
    assert exact(longest, "rho", digits=60) == longest


@pytest.mark.parametrize("up", [True, False])
def test_short_text_is_on_the_safe_side(up: bool) -> None:
    for value in (Fraction(1, 10**40 + 1), Fraction(10**50 + 1, 10**49 - 1), Fraction(-1, 7**60)):
        text = short_text(value, up=up)
        assert text[0] == ("<" if up else ">")
        shown = Fraction(Decimal(text[1:]))
        assert shown >= value if up else shown <= value
        assert abs(shown - value) <= abs(value) / 10**11
    assert short_text(Fraction(1, 4), up=up) == "0.25"


def test_text_is_exact() -> None:
    for text in ("0.1", "12", "0.0001", "3.75"):
        assert decimal_text(exact(text)) == text
    assert exact(decimal_text(Fraction(1, 3))) == Fraction(1, 3)


@hypothesis.given(st.integers(-(10**45), 10**45), st.integers(0, 60), st.integers(0, 25))
def test_the_text_of_a_number_is_that_number(numerator: int, twos: int, fives: int) -> None:
    """Also beyond the 28 digits to which a `Decimal` rounds by default."""
    value = Fraction(numerator, 2**twos * 5**fives)
    assert Fraction(decimal_text(value)) == value
