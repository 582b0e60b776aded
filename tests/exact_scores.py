"""Brute-force twins of the scores, in exact rational arithmetic on the floats as given."""

from collections.abc import Sequence
from fractions import Fraction


def dampened(u: float, rows: Sequence[float], cap: float, shift: float = 0.0) -> Fraction:
    """D by its definition: walk the pieces (b(i), i), then slope 1/cap."""
    v = Fraction(u) - Fraction(shift)
    size, b, i = abs(v), Fraction(0), 0
    if size == 0:
        return Fraction(0)
    sign = 1 if v > 0 else -1
    for delta in map(Fraction, rows):
        if size < b + delta:
            return sign * (i + (size - b) / delta)
        b, i = b + delta, i + 1
    return sign * (i + (size - b) / Fraction(cap))


def shifted(u: float, rows: Sequence[float], cap: float, towards: int = 1) -> Fraction:
    """The closed form of SLD, less the public constant T."""
    deficit = sum((1 - Fraction(delta) / Fraction(cap) for delta in rows), Fraction(0))
    return Fraction(u) / Fraction(cap) - towards * deficit


def clamp(q: Fraction, reach: float) -> Fraction:
    return max(Fraction(-reach), min(Fraction(reach), q))
