"""The noise that a mechanism adds to every scaled score.

A noise value is a function of a uniform real number U in [0, 1].  Of U some leading bits are known:
a word m of b bits means m / 2^b <= U <= (m+1) / 2^b, which encloses the value.
`dampen.core.sampling` asks for that enclosure, first in floats for all candidates, then certified
for the near-ties; `dampen.core.mechanisms` asks how several answers come about; the proof kit asks
for the law.

| noise | value | several answers | zCDP of an ε-DP release of k answers |
|---|---|---|---|
| `GUMBEL` | -log(-log U) | the k largest of one draw at ε/k | ε² / (8k) |
| `EXPONENTIAL` | -log U | k draws at ε/k, without replacement | k h(ε/k), h(ε) = ε + e^-ε - 1 |
| `LAPLACE` | ±(-log U), the sign by U's first bit | any k of one draw at ε | ε + e^-ε - 1 |

**Several answers.**  The k largest of scores plus Gumbel noise are distributed as k draws without
replacement from the exponential mechanism.  Exponential noise has no such property and is drawn
anew for each answer.  Laplace noise protects the whole vector of scores, so that everything may be
read off it; its scale follows the vector's 1-norm sensitivity, which a selection states for one
score (`Selection.joint`).

**zCDP.**  A release is ρ-zCDP if D_α <= α ρ for all Rényi divergences of neighbours, α > 1.  An
ε-DP exponential mechanism has ε-bounded range: ρ = ε²/8.  k answers at ε/k each add up.

Theorem 1, about any ε-DP release, is proved at `pure_rho`; theorems 2 and 3, about Laplace noise,
at `laplace_rho`; theorem 4, about permute-and-flip, at `Exponential`.

**The law of an answer** (`permute_and_flip`, `laplace_argmax`).  Argmax probabilities of noisy
scores by quadrature: O(n) time per node, O(n) memory.  `a` are the scaled scores, the largest of
them 0; the noise has scale 1.

A noise of your own is one more object with the attributes of `Noise`.  Its bounds and its law are
promises; `tests/core/test_noise.py` shows how to check them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "EXPONENTIAL",
    "GUMBEL",
    "LAPLACE",
    "Bounded",
    "Exponential",
    "Gumbel",
    "Laplace",
    "LargestOf",
    "Noise",
    "Words",
    "gauss",
    "laplace_argmax",
    "laplace_rho",
    "permute_and_flip",
    "pure_rho",
]

MOST_TOGETHER = 2**16
"""Numbers of one pass of quadrature: what stays in the cache."""

NEGLIGIBLE = 45.0
"""exp(-45) is below 1e-19."""
RHO_BITS = 256
RHO_DIGITS = 15
"""Significant digits of a ρ that is not a rational number; it is rounded up."""


@lru_cache(maxsize=4096)
def pure_rho(epsilon: Fraction) -> Fraction:
    """ε tanh(ε/2), or a little above it: the zCDP cost of any ε-DP release (theorem 1).

    **Theorem 1**.  Any ε-DP release is ρ-zCDP with ρ = ε tanh(ε/2) <= ε²/2.  The price is tight:
    discrete Laplace noise of scale 1/ε on a count that moves by 1 has this ρ.
    *Proof.*  Let R = P/Q, in [e^-ε, e^ε] with mean 1 under Q.  E_Q[R^α] is largest where R lies at
    the two ends, as R^α is convex; R = e^ε then has the chance 1 / (1 + e^ε) under Q, and

        (α-1) D_α <= ln cosh((2α-1) ε/2) - ln cosh(ε/2).

    Let x = ε/2, s = (2α-1)² and F(s) = ln cosh(x √s).  F'(s) = (x²/2) tanh(x √s) / (x √s) falls in
    s, as tanh(y)/y falls in y: F is concave, and F(s) - F(1) <= (s-1) F'(1) = 4α(α-1) (x/2) tanh x.
    So D_α <= α ε tanh(ε/2).  Discrete Laplace noise has no ratios but e^ε and e^-ε, and the bound
    is reached for α -> 1. ∎

    >>> float(pure_rho(Fraction(1))), pure_rho(Fraction("1e-9")) == Fraction("5e-19")
    (0.46211715726001, True)
    """
    return min(_rounded_up(lambda e: e * (e / 2).tanh(), epsilon), epsilon**2 / 2)


@lru_cache(maxsize=4096)
def laplace_rho(epsilon: Fraction, steps: int | None = None) -> Fraction:
    """The zCDP cost of Laplace noise, or a little above it (theorems 2 and 3).

    **Theorem 2**.  Continuous Laplace noise of scale 1/ε on a number that moves by at most 1 is
    ρ-zCDP with ρ = h(ε) = ε + e^-ε - 1, which is tight.  On a vector that moves by at most S in the
    1-norm and by at most M in every entry, noise of scale S/ε costs (S/M) h(ε M/S).
    *Proof.*  With x = ε/2 and s = (2α-1)², the integral of P^α Q^(1-α) is e^-x f(s),
    f(s) = cosh(x √s) + sinh(x √s) / √s, an entire function of s of order 1/2.  For fixed s,
    u(t) = cosh(t √s) + sinh(t √s) / √s solves u'' = s u with u(0) = u'(0) = 1; so f(s) = u(x) = 0
    says that -s is an eigenvalue of -u'' on [0, x] with u'(0) = u(0) and u(x) = 0.  That problem is
    symmetric and its form, the integral of u'² plus u(0)², is positive: all zeros of f are real and
    below 0.  By Hadamard's theorem f(s) = f(0) Π (1 + s/λ_n) with λ_n > 0, so ln f is concave for
    s > 0, and (α-1) D_α = ln f(s) - ln f(1) <= (s-1) (ln f)'(1) = α (α-1) h(ε): the last factor is
    the limit of D_α for α -> 1, the Kullback-Leibler divergence.  A smaller move is a smaller ε,
    and h grows.  Entries of a vector that move by d_i cost Σ h(ε d_i / S); h is convex with
    h(0) = 0, so h(ε d / S) <= (d/M) h(ε M/S) for d <= M, and Σ d_i <= S. ∎

    **Theorem 3** (with `steps`).  Integer noise with P(z) proportional to e^(-b |z|) on integers
    that move by at most m = ε/b in the 1-norm is ρ-zCDP with ρ = h_m(ε) = ε - (1 - e^-ε)
    b / sinh(b), which is tight.  h_1 is theorem 1, and h_m falls to h.
    *Proof.*  One integer that moves by m first.  Let a = e^-b and t = 2α-1.  The sum of P^α Q^(1-α)
    is F(t) e^(-ε/2) (1-a) / (1+a), where F(t) = 2 cosh(ε t/2) / (1-a) +
    sinh((m-1) b t/2) / sinh(b t/2) has the outcomes beyond both centres in its first term and those
    between them in its second.  With t = 2iφ/b, F sin(φ) (1-a) = sin((m+1) φ) - a sin((m-1) φ).  At
    φ = (2j-1) π / (2 (m+1)), j = 1..m+1, the first sine is 1 and -1 by turns and a sin((m-1) φ) is
    smaller, so that F, which is a polynomial of degree m in cos φ, has a zero between any two of
    them: all its m zeros.  So all zeros of F, a function of s = t² of order 1/2, are real and below
    0 in s, ln F is concave for s > 0 as in theorem 2, and D_α <= α D_1.  D_1, the Kullback-Leibler
    divergence, is b (E|Z - m| - E|Z|) = b (m - 2a (1 - a^m) / (1 - a²)) = h_m(ε).  Several integers
    that move by d_i cost Σ of b d_i - (1 - e^(-b d_i)) b / sinh(b), which is convex in d_i and 0 at
    0, so that one that moves by m costs most. ∎

    Args:
        epsilon: of the noise: 1 / its scale, in moves.
        steps: of discrete noise, by how many whole numbers a move is; None for continuous noise.

    >>> [float(laplace_rho(Fraction(1), steps)) for steps in (1, 10, None)]
    [0.46211715726001, 0.368931..., 0.367879441171443]
    """

    def cost(e: "arb") -> "arb":
        less = -(-e).expm1()
        return e - less if steps is None else e - less * (e / steps) / (e / steps).sinh()

    return min(_rounded_up(cost, epsilon), epsilon**2 / 2)


def _rounded_up(function: "Callable[[arb], arb]", epsilon: Fraction) -> Fraction:
    """The upper end of a ball, rounded up to `RHO_DIGITS` digits; ε²/2 without python-flint."""
    try:
        from flint import arb, ctx, fmpq
    except ModuleNotFoundError:  # in the browser
        return epsilon**2 / 2

    with ctx.workprec(RHO_BITS):
        end = function(arb(fmpq(epsilon.numerator, epsilon.denominator))).upper()
    mantissa, exponent = end.man_exp()
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    if value <= 0:
        return Fraction(0)
    size = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    unit = Fraction(10) ** (size - RHO_DIGITS)
    return unit * ceil(value / unit)


def permute_and_flip(a: FloatArray, copies: FloatArray | None = None) -> FloatArray:
    """P[r wins] for exponential noise: w_r times the integral over [0, 1] of Π_{s≠r} (1 - w_s y).

    With w = exp(a), y = exp(-v) at the winning value v.  The integrand is a polynomial in y, is
    below exp(-W y) with W = Σ w, and so is integrated to rounding error by Gauss nodes up to
    y = 45 / W.  If there are several copies of each, P[one of r's copies wins].
    """
    w = np.exp(a)
    many = np.ones(len(w)) if copies is None else copies
    nodes, weights = gauss(0.0, min(1.0, NEGLIGIBLE / float(many @ w)), 96)
    total = np.zeros(len(w))
    together = max(1, MOST_TOGETHER // len(w))
    for start in range(0, len(nodes), together):
        part = slice(start, start + together)
        lost = nodes[part, None] * w
        rest = weights[part] * np.exp(np.log1p(-lost) @ many)
        total += rest @ (1 / (1 - lost))
    p = many * w * total
    return p / p.sum()


def laplace_argmax(a: FloatArray) -> FloatArray:
    """P[r wins] for Laplace noise: the integral of f(v - a_r) Π_{s≠r} F(v - a_s) over v.

    The integrand has a kink at every score; panels end at the largest scores, where it matters.
    """
    kinks = np.unique(a[a > -NEGLIGIBLE])[-64:]
    top = NEGLIGIBLE + np.log(len(a))
    edges = np.union1d(np.r_[kinks, -NEGLIGIBLE, top], np.arange(-8.0, 16.0))
    total = np.zeros(len(a))
    for low, high in pairwise(edges):
        for v, weight in zip(*gauss(low, high, 16), strict=True):
            tail = 0.5 * np.exp(-np.abs(v - a))
            below = np.where(v >= a, 1 - tail, tail)
            product = np.exp(np.log(np.maximum(below, 1e-300)).sum())
            total += weight * product * tail / np.maximum(below, 1e-300)
    return total / total.sum()


def gauss(low: float, high: float, count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on [low, high]."""
    x, w = _legendre(count)
    half = (high - low) / 2
    return low + half * (x + 1), half * w


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1]: an eigenvalue problem, solved once."""
    x, w = np.polynomial.legendre.leggauss(count)
    return x, w


Words = NDArray[np.uint32]
"""The known bits of one U per candidate, as integers."""


class Bounded(Protocol):
    """What `dampen.core.sampling` asks of noise: an enclosure by the known bits of U."""

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        """At least the value, up to 2^-41 for the rounding of floats; may be infinite."""
        ...

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        """At most the value, up to 2^-41 for the rounding of floats; may be -infinite."""
        ...

    def ball(self, word: int, bits: int, /) -> "arb":
        """A certified enclosure at the working precision; not finite while U may be 0 or 1."""
        ...


@dataclass(frozen=True, slots=True)
class LargestOf:
    """The largest of so many exponential numbers: -log(1 - U^(1/count)); see `best_of_copies`."""

    count: IntArray | int

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        """At least the value, up to 2^-36; may be infinite."""
        return self._bound(words, bits, 1.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        """At most the value, up to 2^-36."""
        return self._bound(words, bits, 0.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        return -(-(_uniform(word, bits).log() / int(self.count)).expm1()).log()

    def _bound(self, words: Words, bits: int, end: float) -> FloatArray:
        """Each step is off by at most 2^-44 of itself, and the value is below 2^7."""
        return np.asarray(-np.log(-np.expm1(np.log((words + end) * 2.0**-bits) / self.count)))


class Noise(Bounded, Protocol):
    """Independent noise of scale 1, the same law for every candidate.

    Attributes:
        name: for people.
        joint: it protects the whole vector of scores: its scale follows a 1-norm bound, and any
            number of answers costs ε once.  Otherwise its scale follows the scores' sensitivity 1,
            and each of k answers costs ε/k.
        one_draw: the k largest of one draw are k answers; otherwise each answer is drawn anew.
    """

    @property
    def name(self) -> str: ...

    @property
    def joint(self) -> bool: ...

    @property
    def one_draw(self) -> bool: ...

    def law(self, a: FloatArray, /) -> FloatArray:
        """P[r has the largest a_r + noise], for scaled scores a, the largest of them 0."""
        ...

    def rho(self, epsilon: Fraction, k: int = 1, /) -> Fraction:
        """The zCDP cost of k answers that are ε-DP together."""
        ...


@dataclass(frozen=True, slots=True)
class Gumbel:
    """The exponential mechanism: probabilities proportional to exp(score)."""

    name = "gumbel"
    joint = False
    one_draw = True

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        return _double_log(words, bits, 1.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        return _double_log(words, bits, 0.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        return -(-_uniform(word, bits).log()).log()

    def law(self, a: FloatArray, /) -> FloatArray:
        weight = np.exp(a)
        return weight / weight.sum()

    def rho(self, epsilon: Fraction, k: int = 1, /) -> Fraction:
        return epsilon**2 / (8 * k)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Permute-and-flip.

    **Theorem 4** (`EXPONENTIAL`).  One name by permute-and-flip that is ε-DP is ρ-zCDP with
    ρ = h(ε).
    *Proof.*  Let q and q' be the scores of neighbours, and P_i the law of the name for the scores
    q + (i/m) (q' - q), i = 0..m, which need not be the scores of any data.  What makes the draw
    ε-DP for scores that move by at most 1 (in one direction, or one score alone, where it has no
    factor 1/2) makes P_i and P_i+1 ε/m-DP to each other, for every m: scores are real numbers.  So
    the draw loses ε in any number of steps, and is dominated by integer noise on a number that
    moves by m (`dampen.core.losses`): ρ <= h_m(ε), which falls to h(ε). ∎  A margin that is
    released with the name is in whole numbers, and is charged by theorem 1.
    """

    name = "exponential"
    joint = False
    one_draw = False

    # The value falls with U: its upper bound is at the lower end.
    def upper(self, words: Words, bits: int, /) -> FloatArray:
        return _log(words, bits, 0.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        return _log(words, bits, 1.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        return -_uniform(word, bits).log()

    def law(self, a: FloatArray, /) -> FloatArray:
        return permute_and_flip(a)

    def rho(self, epsilon: Fraction, k: int = 1, /) -> Fraction:
        return k * laplace_rho(epsilon / k)


@dataclass(frozen=True, slots=True)
class Laplace:
    """The joint release of all scores.  U's first bit is the sign, the others are a uniform V."""

    name = "laplace"
    joint = True
    one_draw = True

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        return self._bound(words, bits, 0.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        return self._bound(words, bits, 1.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        negative, rest = divmod(word, 1 << (bits - 1))
        e = -_uniform(rest, bits - 1).log()
        return -e if negative else e

    def law(self, a: FloatArray, /) -> FloatArray:
        return laplace_argmax(a)

    def rho(self, epsilon: Fraction, _k: int = 1, /) -> Fraction:
        return laplace_rho(epsilon)

    def _bound(self, words: Words, bits: int, end: float) -> FloatArray:
        """At the given end of V where the value is positive, at the other where it is negative."""
        first = np.uint32(1 << (bits - 1))
        negative = words >= first
        e = np.log(((words & (first - np.uint32(1))) + np.abs(end - negative)) * 2.0 ** (1 - bits))
        return np.copysign(e, 0.5 - negative, out=e)


GUMBEL = Gumbel()
EXPONENTIAL = Exponential()
LAPLACE = Laplace()


def _log(words: Words, bits: int, end: float) -> FloatArray:
    """-log U at one end of its interval."""
    e = np.log((words + end) * 2.0**-bits)
    return np.negative(e, out=e)


def _double_log(words: Words, bits: int, end: float) -> FloatArray:
    """-log(-log U) at one end of its interval."""
    e = _log(words, bits, end)
    np.log(e, out=e)
    return np.negative(e, out=e)


def _uniform(word: int, bits: int) -> "arb":
    """U, enclosed."""
    from flint import arb

    return arb(2 * word + 1, 1) / arb(2) ** (bits + 1)
