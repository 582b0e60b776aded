"""ε as an exact number.

In floats 0.1 three times is more than 0.3; a budget cannot live with that.  Every ε becomes a
`Fraction`: a string, an `int`, a `Fraction` or a `Decimal` is exact, and a `float` means its
shortest decimal, so that `0.1` is one tenth.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isqrt
from numbers import Rational, Real
from typing import TypeAlias

from dampen.errors import ParameterError, a_thing

LARGEST_EXPONENT = 300
PLACES = 40
"""Behind the point of a decimal; with more, a fraction is the shorter text."""

LONGEST = 1000
"""Characters of a number."""

DIGITS = 60
"""Of the numerator and of the denominator: sums of longer numbers would be slow for everyone."""

__all__ = [
    "DIGITS",
    "Epsilon",
    "asked_epsilon",
    "check_length",
    "decimal_text",
    "exact",
    "price_text",
    "root_below",
    "short_text",
    "shortened",
]

Epsilon: TypeAlias = str | int | float | Fraction | Decimal


def exact(epsilon: Epsilon, name: str = "epsilon", *, digits: int = DIGITS) -> Fraction:
    """The exact value of a privacy parameter, a fraction of numbers of at most 60 digits.

    >>> exact("0.1") == exact(0.1) == Fraction(1, 10)
    True
    >>> exact(0.1) * 3 == exact("0.3")
    True

    Raises:
        ParameterError: if it is not a finite number above zero, or has too many digits.
    """
    value = _fraction(epsilon, name)
    if value <= 0:
        raise ParameterError(f"Expected {name} > 0, got {name}={str(epsilon)[:100]}.")
    if max(value.numerator, value.denominator) >= 10**digits:
        raise ParameterError(
            f"Expected {name} with at most {digits} digits above and below the fraction bar, "
            "such as '0.5' or '1/3'."
        )
    return value


def root_below(value: Fraction) -> Fraction:
    """A number whose square is at most `value`, short of its root by less than a 10^-15th of it.

    >>> root_below(Fraction(4)), float(root_below(Fraction(2)))
    (Fraction(2, 1), 1.4142135623730951)
    """
    places = 16 + len(str(value.denominator // value.numerator))
    return Fraction(isqrt(value.numerator * 100**places // value.denominator), 10**places)


def asked_epsilon(
    epsilon: Epsilon | None, rho: Epsilon | None, cost: Callable[[Fraction], Fraction]
) -> Fraction:
    """The ε of a release that was asked for by ε, or by ρ, which is `cost` of ε.

    A release asked for by ρ is ρ-zCDP, and ε-DP as well; a pure budget pays that ε for it.

    >>> asked_epsilon(None, "0.02", lambda e: e**2 / 8)
    Fraction(2, 5)
    """
    if (epsilon is None) == (rho is None):
        raise ParameterError("Expected epsilon= or rho=, one of them, such as epsilon='1'.")
    if epsilon is not None:
        return exact(epsilon)
    assert rho is not None
    return epsilon_within(exact(rho, "rho"), cost)


def epsilon_within(rho: Fraction, cost: Callable[[Fraction], Fraction]) -> Fraction:
    """An ε with cost(ε) <= ρ: the root where the cost is a multiple of ε², else the largest one
    to 15 digits, by halving intervals.

    The search only looks for a large ε; that its cost is at most ρ is checked exactly.

    >>> epsilon_within(Fraction(2), lambda e: e**2 / 2 if e < 1 else e / 2)
    Fraction(4, 1)
    """
    low = root_below(rho / cost(Fraction(1)))
    if cost(low) <= rho < cost(low * (1 + Fraction(1, 10**14))):
        return low
    while cost(low) > rho:
        low /= 2
    high = 2 * low
    while cost(high) <= rho:
        low = high
        high *= 2
    grid = 10 ** (16 + len(str(low.denominator // low.numerator)))
    middle = (low + high) / 2
    while (high - low) * grid > 2:
        if cost(middle) <= rho:
            low = middle
        else:
            high = middle
        middle = Fraction(floor((low + high) / 2 * grid) + 1, grid)
    return low


def decimal_text(value: Fraction) -> str:
    """The shortest exact text: `0.1` where the decimal ends, else `1/3`.

    >>> decimal_text(Fraction(1, 8)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(2))
    ('0.125', '1/3', '2')
    """
    denominator = value.denominator
    places = 0
    while (10**places) % denominator:
        places += 1
        if places > PLACES:
            return f"{value.numerator}/{value.denominator}"
    # By hand: a `Decimal` would round to the 28 digits of its context.
    digits = str(abs(value.numerator) * 10**places // denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    cut = len(digits) - places
    return sign + digits[:cut] + (f".{digits[cut:]}" if places else "")


def short_text(value: Fraction, *, up: bool) -> str:
    """The exact text where it is short, else 12 significant digits, rounded up or down and marked.

    >>> short_text(Fraction(1, 3), up=True), short_text(Fraction(1, 10**40 + 1), up=False)
    ('1/3', '>9.99999999999E-41')
    """
    text = decimal_text(value)
    if len(text) <= 30:
        return text
    size = len(str(int(abs(value)))) if abs(value) >= 1 else 1 - len(str(int(1 / abs(value))))
    places = 12 - size
    scaled = value * Fraction(10) ** places
    digits = Decimal(ceil(scaled) if up else floor(scaled)).scaleb(-places)
    return f"{'<' if up else '>'}{digits.normalize()}"


def price_text(epsilon: Fraction | None, rho: Fraction | None) -> str:
    """What something costs in words: ε, or ρ where it has no pure ε.

    >>> price_text(Fraction(1, 2), Fraction(1, 8)), price_text(None, Fraction(1, 8))
    ('epsilon 0.5', 'rho 0.125')
    """
    if epsilon is not None:
        return f"epsilon {short_text(epsilon, up=True)}"
    return f"rho {'' if rho is None else short_text(rho, up=True)}"


def _fraction(epsilon: object, name: str) -> Fraction:
    if type(epsilon) is Fraction:
        return epsilon
    wanted = f"Expected {name} to be a positive number such as '0.5'"
    if isinstance(epsilon, bool):
        raise ParameterError(f"{wanted}, got {name}={epsilon}.")
    try:
        # numpy's numbers register with these abstract types; str(float) is its shortest decimal.
        if isinstance(epsilon, str | Decimal):
            check_length(str(epsilon))
            return Fraction(epsilon)
        if isinstance(epsilon, Rational):
            return Fraction(int(epsilon.numerator), int(epsilon.denominator))
        if isinstance(epsilon, Real):
            return Fraction(str(epsilon))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        raise ParameterError(f"{wanted}, got {name}={shortened(epsilon)}.") from None
    raise ParameterError(f"{wanted}, got {a_thing(epsilon)}.")


def check_length(text: str) -> None:
    """Refuses what would take all memory and time: 1e999999999, or a million digits.

    Raises:
        ValueError: if the text of a number is too long, or its exponent too large.
    """
    _, e, exponent = text.lower().partition("e")
    if len(text) > LONGEST or (e and abs(int(exponent)) > LARGEST_EXPONENT):
        raise ValueError


def shortened(value: object) -> str:
    """The repr of a parameter, cut after 100 characters."""
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "..."
