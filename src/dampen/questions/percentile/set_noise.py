"""Noise that names a set of k labels as well as ε allows: a whole number, and a random order.

S = Z + U - 1/2, with Z a whole number, P(Z = z) proportional to exp(-ε |z|), and U uniform on
[0, 1]: whole numbers whose ties are broken by chance.

**Theorem.**  Let replacing one record change the utility of one label only, by at most 1.  The k
labels with the largest u + S, in any order, are ε-differentially private, whatever k is.
Proof.  The density of S is constant on steps of length 1, and falls by e^ε from one step to the
next on both sides of the middle one, so that two points at a distance of at most 1 are on the same
step or on neighbouring ones: the density of u + S for the one label that changed is multiplied by
at most e^ε at every point.  The others' is the same, and the noise independent; so the density of
the whole noisy vector, of which the k labels are a function, is multiplied by at most e^ε. ∎

Not so with exponential noise, where a set of k may lose k ε: permute-and-flip peels at ε/k.

**No noise names a set better**, where utilities are 0 and 1 and there are many labels, so that the
noisy value x of the last label named is nearly certain.  Let P0 and P1 be the probabilities that a
label outside and one inside is named, i.e. exceeds x.  Differential privacy demands
P1 <= min(e^ε P0, 1 - e^-ε (1 - P0)).  Here it is an equation, for every x: above x = 1/2, x and x-1
are on neighbouring steps of the falling side, where tails fall by e^ε from step to step, so that
P1 = e^ε P0; below, 1 - P1 = e^-ε (1 - P0) in the same way.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dampen.core.noise import Words
from dampen.core.selection import FloatArray
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Staircase"]

LEAST = Fraction(1, 1 << 40)
"""Of ε: below it nothing is told by a label, and floats would not do for the first pass."""


@dataclass(frozen=True, slots=True)
class Staircase:
    """S in units of 1 / `scale`, by a uniform number: its first bit is the sign, the rest a W.

    S is symmetric.  With a = e^-ε and c = 2 / (1+a), P[|S| > j - 1/2] = c a^j for j = 1, 2, ...,
    and the tail is linear in between.  So |S| = (1-W) (1+a) / (2 (1-a)) if W > c a; else, with
    q = log(c / W) / ε and j its floor, |S| = j - 1/2 + (1 - e^(-ε (q-j))) / (1-a).

    Attributes:
        epsilon: the ε of the theorem, at least 2^-40.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon < LEAST:
            raise ParameterError(
                "Expected noise of a scale of at most 2^40 for several labels. Raise epsilon."
            )

    @property
    def scale(self) -> Fraction:
        """What utilities are multiplied by: so the noise is of order 1 for every ε."""
        return min(self.epsilon, Fraction(1))

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        """At least the value, up to 2^-41 for the rounding of floats; may be infinite."""
        return self._bound(words, bits, 0.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        """At most the value, up to 2^-41 for the rounding of floats; may be -infinite."""
        return self._bound(words, bits, 1.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        """A certified enclosure at the working precision; not finite while W may be 0."""
        negative, rest = divmod(word, 1 << (bits - 1))
        far, near = (self._distance(rest + end, bits - 1) for end in (0, 1))
        size = far.union(near) * _exact(self.scale)
        return -size if negative else size

    def _bound(self, words: Words, bits: int, end: float) -> FloatArray:
        """At the given end of W where the value is positive, at the other where it is negative."""
        first = np.uint32(1 << (bits - 1))
        negative = words >= first
        w = ((words & (first - np.uint32(1))) + np.abs(end - negative)) * 2.0 ** (1 - bits)
        e = min(float(self.epsilon), 1e300)
        rest = -np.expm1(-e)
        c = 2 / (1 + np.exp(-e))
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.log(c / w) / e
            j = np.floor(q)
            stair = j - 0.5 + np.expm1((j - q) * e) / -rest
            size = np.where(q < 1, (1 - w) / (c * rest), stair)
        size[w == 0] = np.inf
        size *= float(self.scale)
        return np.copysign(size, 0.5 - negative, out=size)

    def _distance(self, word: int, bits: int) -> "arb":
        """|S| at W = word / 2^bits; not finite at 0, nor where j is not certain yet."""
        from flint import arb

        w = arb(word) / arb(2) ** bits
        e = _exact(self.epsilon)
        rest = 1 - (-e).exp()
        c = 2 / (1 + (-e).exp())
        q = (c / w).log() / e
        if not q.is_finite():
            return arb("nan")
        j = q.floor().unique_fmpz()
        if j is None:
            return arb("nan")
        if j < 1:
            return (1 - w) / (c * rest)
        return j - arb(0.5) + (1 - (e * (j - q)).exp()) / rest


def _exact(number: Fraction) -> "arb":
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))
