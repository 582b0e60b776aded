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
δ.

**Numerical composition** (`composed_epsilon`) is tighter, and holds for prices that were fixed
beforehand: whoever asks may choose *what* to ask by earlier answers, but not for how much, nor when
to stop because of what is left.  So it is a report and never pays.  **Theorem.**  Releases that are
ε_i-DP are together (ε, δ)-DP for

    δ = Σ over losses l > ε of P(L = l) (1 - e^(ε - l)),

where L is the sum of independent ±ε_i, plus with probability 1 / (1 + e^-ε_i): randomised response
is the worst ε_i-DP release (Kairouz, Oh and Viswanath 2015; for different ε_i Murtagh and Vadhan
2016).  Discrete Laplace noise on a count attains it.  The n releases of one ε_i are a binomial law
on a lattice.  Lattices are added up on a common grid, losses rounded *up*, and probabilities are
integers in units of 2^-B, rounded up: both can only raise δ.  Which ε has the δ is solved for in
balls.  (ε_i, δ_i)-DP releases add Σ δ_i.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

__all__ = ["composed_epsilon", "epsilon_at", "rho_within"]

BITS = 256
"""Of the balls: g cancels some 200 of them for the numbers that `dampen.epsilon` lets in."""

DIGITS = 12
"""Significant digits of a bound."""

STEPS = 1 << 15
"""Points of the grid on which lattices of losses are added up."""

MOST_PRICES = 24
"""Different ε that are composed as they are; of more, some are rounded up."""


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
    bound = _ball(lambda a, g: a * _exactly(rho) + g, alpha, delta).upper()
    return max(Fraction(0), _rounded(_fraction(bound), up=True))


@lru_cache(maxsize=4096)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ such that ρ-zCDP implies (ε, δ)-DP: the largest one, rounded down to 12 digits."""
    e = float(epsilon)
    alpha = _best(lambda a: -(e - _g_float(a, delta)) / a)
    bound = _ball(lambda a, g: (_exactly(epsilon) - g) / a, alpha, delta).lower()
    return max(Fraction(0), _rounded(_fraction(bound), up=False))


def composed_epsilon(prices: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """An ε at which so many releases of each pure price are (ε, δ)-DP together; see above.

    >>> float(composed_epsilon({Fraction("0.2"): 50}, Fraction("1e-6")))
    6.88...

    Args:
        prices: how many releases there are of each ε.
        delta: the δ, above 0.
    """
    few = _few_prices(prices)
    total = sum((n * epsilon for epsilon, n in few.items()), Fraction(0))
    if not total:
        return Fraction(0)
    bits = BITS + len(str(delta.denominator)) * 4
    lattices = [(epsilon, _binomial(epsilon, n, bits)) for epsilon, n in few.items()]
    if len(lattices) == 1:
        [(step, weights)] = lattices
        losses = [(2 * j - len(weights) + 1) * step for j in range(len(weights))]
    else:
        step = 2 * total / STEPS
        weights, first = _added_up(lattices, step, bits)
        losses = [(first + j) * step for j in range(len(weights))]
    return min(total, _solved(losses, weights, delta, bits))


def _few_prices(prices: Mapping[Fraction, int]) -> dict[Fraction, int]:
    """At most `MOST_PRICES` different ones: those of a larger release are larger."""
    ordered = sorted(prices)
    size = -(-len(ordered) // MOST_PRICES) if ordered else 1
    found: dict[Fraction, int] = {}
    for start in range(0, len(ordered), size):
        alike = ordered[start : start + size]
        found[alike[-1]] = sum(prices[epsilon] for epsilon in alike)
    return found


def _binomial(epsilon: Fraction, n: int, bits: int) -> list[int]:
    """P(j of n losses are +ε) in units of 2^-bits, rounded up."""
    from flint import arb, ctx

    with ctx.workprec(2 * bits + 64):
        odds = _exactly(epsilon).exp()
        chance = (1 / (1 + odds)) ** n * arb(2) ** bits
        found = []
        for j in range(n + 1):
            found.append(math.ceil(_fraction(chance.upper())))
            chance = chance * odds * (n - j) / (j + 1)
    return found


def _added_up(
    lattices: list[tuple[Fraction, list[int]]], step: Fraction, bits: int
) -> tuple[list[int], int]:
    """The law of the sum on a grid, and where its first point is; losses are rounded up.

    Products of probabilities are rounded up to the same units.
    """
    from flint import fmpz_poly

    law = fmpz_poly([1 << bits])
    first = 0
    for epsilon, weights in lattices:
        n = len(weights) - 1
        places = [math.ceil((2 * j - n) * epsilon / step) for j in range(n + 1)]
        spread = [0] * (places[-1] - places[0] + 1)
        for place, weight in zip(places, weights, strict=True):
            spread[place - places[0]] += weight
        product = law * fmpz_poly(spread)
        law = fmpz_poly([-(-int(each) >> bits) for each in product])
        first += places[0]
    return [int(each) for each in law], first


def _solved(losses: list[Fraction], weights: list[int], delta: Fraction, bits: int) -> Fraction:
    """The ε with the given δ, rounded up: from the largest loss down, until δ is exceeded.

    Between two losses δ is A - e^ε B, with A the probability of all above and B = Σ P(l) e^-l.
    """
    from flint import arb, ctx

    with ctx.workprec(2 * bits + 64):
        allowed = _exactly(delta) * arb(2) ** bits
        above = arb(0)
        shrunk = arb(0)
        for loss, weight in zip(reversed(losses), reversed(weights), strict=True):
            at_loss = (above - _exactly(loss).exp() * shrunk).upper()
            if not at_loss <= allowed:
                break
            above += weight
            shrunk += weight * (-_exactly(loss)).exp()
            lowest = loss
        found = ((above - allowed) / shrunk).log() if above > allowed else arb(0)
        bound = min(_fraction(found.upper()), lowest) if found.is_finite() else lowest
    return max(Fraction(0), _rounded(bound, up=True))


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
        a = _exactly(Fraction(alpha))
        less = a - 1
        g = (-_exactly(delta).log() + less * less.log() - a * a.log()) / less
        return bound(a, g)


def _exactly(value: Fraction) -> "arb":
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _fraction(end: "arb") -> Fraction:
    """The exact value of the end of a ball."""
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    if value <= 0:
        return value
    size = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    unit = Fraction(10) ** (size - DIGITS)
    return unit * (math.ceil(value / unit) if up else math.floor(value / unit))
