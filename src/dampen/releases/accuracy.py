"""What an answer will be worth: from public facts alone, before anything is paid.

Whether an answer is right depends on the data.  What does not: how far the best candidates must be
ahead to be named with a given probability.  That *lead* is a function of the noise, of ε and of the
number of candidates.

**Theorem.**  Let k of m candidates have scores that are at least g above those of all the others,
and add independent noise with distribution F to all scores.  The probability that these k are the
answer is least when they are tied, and the others are tied, at a distance of exactly g.  (Raising
one of the k or lowering one of the others, under the same noise, only helps.)  There it is

    ∫ F(x)^(m-k) d(1 - (1 - F(x - g))^k)                      for one draw of noise,
    Π over j = 1..k of P(one of j tied candidates beats m-k others)  for an answer at a time,

which are sums or integrals of one variable, here to about 1e-9.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dampen.core.mechanisms import Mechanism, prepare
from dampen.core.noise import Exponential, Gumbel, Laplace
from dampen.core.quadrature import gauss
from dampen.core.selection import FloatArray, Selection
from dampen.epsilon import decimal_text

__all__ = [
    "CONFIDENCE",
    "lead",
    "least_probability",
    "likely_noise",
    "rounded_up",
    "told_lead",
]

CONFIDENCE = 0.9
"""The probability that sentences about accuracy speak of."""


def lead(
    tiny: Selection, mechanism: Mechanism, *, m: int, k: int, epsilon: Fraction
) -> float | None:
    """The lead in scores at which k of m candidates are the answer with probability 0.9.

    Args:
        tiny: any selection of the problem's kind: sensitivity, one-sided, separable, joint bounds.
        mechanism: how it is drawn.
        m: the number of candidates.
        k: how many are released.
        epsilon: of all k answers together.

    Returns:
        In units of the mechanism's scores, of which one step changes each by at most 1; 0 if all
        candidates are released; None for noise that this module does not know.
    """
    if k >= m:
        return 0.0
    law = _law(mechanism, m, k)
    if law is None:
        return None
    return _lead_at_scale_1(law) / float(prepare(tiny, mechanism).noise_scale(epsilon, k))


def least_probability(mechanism: Mechanism, *, m: int, k: int, g: float) -> float | None:
    """The least probability that k candidates that lead by g are the answer; noise of scale 1."""
    law = _law(mechanism, m, k)
    return None if law is None else law.probability(g)


def told_lead(
    needed: float | None,
    unit: str,
    *,
    m: int,
    of: str,
    k: int,
    epsilon: Fraction,
    whose: str = "that",
) -> str:
    """The lead in a sentence; empty where it is not known, or all candidates are released.

    >>> told_lead(4.2, "rows", m=3, of="categories", k=1, epsilon=Fraction(1, 2))
    'With 3 categories and ε = 0.5, one that leads every other by 5 rows is named with ...'
    """
    if needed is None or k >= m:
        return ""
    who, leads, named = ("one", "leads", "is") if k == 1 else (f"{k}", "lead", "are")
    by = f"{rounded_up(needed):,} {unit}".rstrip()
    return (
        f"With {m:,} {of} and ε = {decimal_text(epsilon)}, {who} {whose} {leads} every "
        f"other by {by} {named} named with probability {CONFIDENCE:g} or more."
    )


def likely_noise(epsilon: Fraction, draws: int) -> int:
    """The smallest B such that `draws` integers all have |Z| <= B with probability 0.9.

    They are independent, with P(z) proportional to exp(-ε |z|).

    >>> likely_noise(Fraction(1), 1), likely_noise(Fraction(3, 10), 17)
    (2, 17)
    """
    e = float(epsilon)
    # (1 - tail)^draws >= 0.9, with the tail 2 a^(B+1) / (1+a)
    tail = -math.expm1(math.log(CONFIDENCE) / draws)
    exponent = math.log(2 / (tail * (1 + math.exp(-e)))) / e
    return max(0, math.ceil(exponent - 1))


def rounded_up(number: float) -> int:
    """A whole number of rows or neighbours, to two digits: nobody plans with 1,437 of them."""
    whole = math.ceil(number)
    unit = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // unit) * unit


def _law(mechanism: Mechanism, m: int, k: int) -> "_Gumbel | _Peeled | _Joint | None":
    match mechanism.noise:
        case Gumbel():
            return _Gumbel(m - k, k)
        case Exponential():
            return _Peeled(m - k, k)
        case Laplace():
            return _Joint(m - k, k)
    return None


@lru_cache(maxsize=1024)
def _lead_at_scale_1(law: "_Gumbel | _Peeled | _Joint") -> float:
    """The lead where the noise has scale 1; a service asks for the same one again and again."""
    return _smallest(lambda g: law.probability(g) >= CONFIDENCE)


def _smallest(holds: Callable[[float], bool]) -> float:
    """The smallest g >= 0 for which a monotone property holds, from above, to one part in 10^6."""
    low = 0.0
    high = 1.0
    while not holds(high):
        low = high
        high = 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class _Gumbel:
    """k draws without replacement, with weights e^g and 1."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        j = np.arange(1, self.k + 1)
        return float(np.exp(-np.log1p(self.others * np.exp(-g) / j).sum()))


@dataclass(frozen=True, slots=True)
class _Peeled:
    """Exponential noise, anew for every answer: the largest of j beats g less of the others'."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        return math.prod(self._one(j, math.exp(-g)) for j in range(1, self.k + 1))

    def _one(self, j: int, a: float) -> float:
        """∫ over y in [0, 1] of j (1-y)^(j-1) (1 - a y)^others."""
        end = min(1.0, 45 / max(j - 1 + a * self.others, 1e-9))
        y, weight = gauss(0.0, end, 48)
        logs = (j - 1) * np.log1p(-y) + self.others * np.log1p(-a * y)
        return min(1.0, float(j * (weight * np.exp(logs)).sum()))


@dataclass(frozen=True, slots=True)
class _Joint:
    """Laplace noise, once: the smallest of k beats the largest of the others."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        """∫ of F(x)^others over the law of the smallest of k."""
        edges = np.union1d(np.arange(-45.0, 45 + math.log(self.others) + g), [0.0, g])
        panels = [gauss(low, high, 16) for low, high in pairwise(edges)]
        x, weight = map(np.concatenate, zip(*panels, strict=True))
        density = _density(x - g) * self.k * np.exp((self.k - 1) * _log_above(x - g))
        return min(1.0, float((weight * density * np.exp(self.others * _log_above(-x))).sum()))


def _density(x: FloatArray) -> FloatArray:
    return 0.5 * np.exp(-np.abs(x))


def _log_above(x: FloatArray) -> FloatArray:
    """The logarithm of P(noise > x) of Laplace noise, which is symmetric."""
    tail = np.log(0.5) - np.abs(x)
    return np.where(x > 0, tail, np.log1p(-np.exp(np.minimum(tail, -np.log(2)))))
