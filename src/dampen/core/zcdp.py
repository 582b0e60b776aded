"""(ε, δ) from ρ: zero-concentrated differential privacy, with bounds that never round down.

A ρ-zCDP release is (ε, δ)-DP for every ε, with

    δ = min over α > 1 of exp((α - 1)(α ρ - ε)) / (α - 1) · (1 - 1/α)^α

(Canonne, Kamath and Steinke 2020, Proposition 12, for the Rényi divergences αρ).  Solved for ε and
for ρ, *each* α > 1 gives a bound that holds:

    ε = α ρ + g(α),  ρ = (ε - g(α)) / α,  g(α) = (ln(1/δ) + (α-1) ln(α-1) - α ln α) / (α-1).

So α may be searched for in floats; only the bound at the α found is proved: it is evaluated in ball
arithmetic and the end of the ball on the safe side is rounded outwards.  Sums of ρ's that were
chosen one after the other, each with the earlier answers in sight, are a valid filter (Feldman and
Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023): whoever stops before ρ of all charges exceeds a
bound is (ε, δ)-DP for it.

A budget of (ε, δ) grants a charge while the sum of all ε stays below ε *or* the sum of all ρ stays
below ρ(ε, δ).  Theorem: this is (ε, δ)-DP.  Proof: split the transcripts S of all answers into
those whose ε add up to at most ε, S1, and the rest, S2, whose ρ add up to at most ρ(ε, δ).  On S1
the privacy loss of every single transcript is at most ε, so P(S1) <= e^ε Q(S1).  The transcripts S2
are those of the filter that stops by ρ alone, with the same probabilities, so P(S2) <= e^ε Q(S2) +
δ.  (Of a budget of the ledger it is (ε, δ/2)-DP: `dampen.ledger.state`.)

A tighter report of charges whose prices and noises were fixed beforehand is in `losses`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

__all__ = ["end_of", "epsilon_at", "exactly", "log_delta", "rho_within", "rounded"]

BITS = 256
"""Of the balls: g cancels some 200 of them for the numbers that `dampen.epsilon` lets in."""

DIGITS = 12
"""Significant digits of a bound."""


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε such that ρ-zCDP implies (ε, δ)-DP: the least one, rounded up to 12 digits.

    >>> float(epsilon_at(100 * Fraction("0.1") ** 2 / 8, Fraction("1e-6")))  # 100 EM answers at 0.1
    2.419...
    """
    if rho <= 0:
        return Fraction(0)
    r = float(rho)
    alpha = _best(lambda a: a * r + _g_float(a, delta))
    bound = _ball(lambda a, g: a * exactly(rho) + g, alpha, delta).upper()
    return max(Fraction(0), rounded(end_of(bound), up=True))


@lru_cache(maxsize=4096)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ such that ρ-zCDP implies (ε, δ)-DP: the largest one, rounded down to 12 digits."""
    e = float(epsilon)
    alpha = _best(lambda a: -(e - _g_float(a, delta)) / a)
    bound = _ball(lambda a, g: (exactly(epsilon) - g) / a, alpha, delta).lower()
    return max(Fraction(0), rounded(end_of(bound), up=False))


def log_delta(rho: "arb", epsilon: "arb", alpha: "arb") -> "arb":
    """ln of a δ such that ρ-zCDP implies (ε, δ)-DP, for any α > 1 and any ε."""
    less = alpha - 1
    return less * (alpha * rho - epsilon + less.log()) - alpha * alpha.log()


def _g_float(alpha: float, delta: Fraction) -> float:
    log = math.log(delta.denominator) - math.log(delta.numerator)
    return (log + (alpha - 1) * math.log(alpha - 1) - alpha * math.log(alpha)) / (alpha - 1)


def _best(cost: Callable[[float], float]) -> float:
    """The α of the least cost: over a grid of ln(α - 1), then by thirds around its best point.

    A poor α makes a bound loose, never wrong.
    """
    # α - 1 from 2^-49, below which floats lose it
    lower = -34.0
    upper = 340.0

    def at(x: float) -> float:
        return cost(1 + math.exp(x))

    step = 0.5
    points = [lower + step * i for i in range(int((upper - lower) / step) + 1)]
    x = min(points, key=at)
    lower = max(lower, x - step)
    upper = min(upper, x + step)
    for _ in range(60):
        third = (upper - lower) / 3
        if at(lower + third) < at(upper - third):
            upper -= third
        else:
            lower += third
    return 1 + math.exp((lower + upper) / 2)


def _ball(bound: Callable[["arb", "arb"], "arb"], alpha: float, delta: Fraction) -> "arb":
    from flint import ctx

    with ctx.workprec(BITS):
        a = exactly(Fraction(alpha))
        less = a - 1
        g = (-exactly(delta).log() + less * less.log() - a * a.log()) / less
        return bound(a, g)


def exactly(value: Fraction) -> "arb":
    """A ball around a fraction, at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def end_of(end: "arb") -> Fraction:
    """The exact value of the end of a ball."""
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def rounded(value: Fraction, *, up: bool) -> Fraction:
    """A bound of `DIGITS` digits, on the safe side."""
    if value <= 0:
        return value
    size = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    unit = Fraction(10) ** (size - DIGITS)
    return unit * (math.ceil(value / unit) if up else math.floor(value / unit))
