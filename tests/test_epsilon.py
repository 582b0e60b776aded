from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dampen.epsilon import decimal_text, exact
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
def test_what_is_not_a_positive_number_is_refused(given: object) -> None:
    with pytest.raises(ParameterError, match=r"Expected epsilon"):
        exact(given)  # type: ignore[arg-type]


def test_text_is_exact() -> None:
    for text in ("0.1", "12", "0.0001", "3.75"):
        assert decimal_text(exact(text)) == text
    assert exact(decimal_text(Fraction(1, 3))) == Fraction(1, 3)
