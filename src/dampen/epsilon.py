"""ε as an exact number.

In floats 0.1 three times is more than 0.3; a budget cannot live with that.  Every ε becomes a
`Fraction`: a string, an `int`, a `Fraction` or a `Decimal` is exact, and a `float` means its
shortest decimal, so that `0.1` is one tenth.
"""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

from dampen.errors import ParameterError

LARGEST_EXPONENT = 300

Epsilon: TypeAlias = str | int | float | Fraction | Decimal


def exact(epsilon: Epsilon, name: str = "epsilon") -> Fraction:
    """The exact value of a privacy parameter.

    >>> exact("0.1") == exact(0.1) == Fraction(1, 10)
    True
    >>> exact(0.1) * 3 == exact("0.3")
    True

    Raises:
        ParameterError: if it is not a finite number above zero.
    """
    value = _fraction(epsilon, name)
    if value <= 0:
        raise ParameterError(f"Expected {name} > 0, got {name}={epsilon}.")
    return value


def decimal_text(value: Fraction) -> str:
    """The shortest exact text: `0.1` where the decimal ends, else `1/3`.

    >>> decimal_text(Fraction(1, 8)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(2))
    ('0.125', '1/3', '2')
    """
    denominator, places = value.denominator, 0
    while (10**places) % denominator:
        places += 1
        if places > 40:
            return f"{value.numerator}/{value.denominator}"
    digits = Decimal(value.numerator * 10**places // denominator).scaleb(-places)
    return f"{digits:f}"


def _fraction(epsilon: object, name: str) -> Fraction:
    wanted = f"Expected {name} to be a positive number such as '0.5'"
    if isinstance(epsilon, bool):
        raise ParameterError(f"{wanted}, got {name}={epsilon}.")
    try:
        # numpy's numbers register with these abstract types; str(float) is its shortest decimal.
        if isinstance(epsilon, str | Decimal):
            _check_exponent(str(epsilon))
            return Fraction(epsilon)
        if isinstance(epsilon, Rational):
            return Fraction(int(epsilon.numerator), int(epsilon.denominator))
        if isinstance(epsilon, Real):
            return Fraction(str(epsilon))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        raise ParameterError(f"{wanted}, got {name}={epsilon!r}.") from None
    raise ParameterError(f"{wanted}, got a {type(epsilon).__name__}.")


def _check_exponent(text: str) -> None:
    """A number such as 1e999999999 would take all memory to write out."""
    _, e, exponent = text.lower().partition("e")
    if e and abs(int(exponent)) > LARGEST_EXPONENT:
        raise ValueError
