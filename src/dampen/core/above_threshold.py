"""AboveThreshold: the first of many questions whose answer reaches a threshold, paid once.

Questions are asked one after the other, each a whole number f_i of the data, chosen with the
answers so far in sight.  Z, E_1, E_2, ... are independent whole numbers >= 0 with P(z) proportional
to exp(-z / s).  Question i is answered

    yes  if  f_i + E_i >= T + Z,     else no,

and the first yes ends it.  However many questions were answered with no, ε is paid once.

**Theorem.**  Let a step between neighbours move every f_i by at most Δ.  With s = 3 Δ / ε the list
of answers is ε-DP.  If each step moves all f_i upwards, or all downwards, s = 2 Δ / ε suffices
(*monotone* questions, such as counts of rows).

Proof.  Take the outcome "no" k - 1 times, then "yes"; f are the numbers under x, g under x', which
the same answers lead to.  Map (Z, E_k) to (Z + u, E_k + v) and keep the other noise.  Each such
pair is a pair of values the noise can have, no two pairs become the same, and the probability of
its value is exp(-(u + v) / s) of what it was.  So if the map turns each noise with that outcome
under x into one with that outcome under x', P(x) <= exp((u + v) / s) P(x').

A question i < k stays "no" if g_i - f_i <= u, question k stays "yes" if g_k + v - u >= f_k.  In
general u = Δ, v = 2 Δ serve, together 3 Δ.  If g >= f, u = Δ and v = Δ serve; if g <= f, u = 0 and
v = Δ do: at most 2 Δ.  Where nothing is answered with yes, E_k is not needed.  ∎

The difference Z - E_i is symmetric about 0, so that the answer of one question errs on both sides
alike.

**Exactness.**  All is done in whole numbers, and the noise is drawn exactly
(`dampen.core.sampling.geometric`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dampen.core.sampling import LARGEST_SCALE, Entropy, geometric
from dampen.errors import ParameterError

__all__ = ["AboveThreshold", "first_above_law", "likely_miss", "noise_scale"]


@dataclass(slots=True)
class AboveThreshold:
    """One run: it answers questions until the first yes.

    Attributes:
        level: the threshold with its noise; private, and the only state, so that a run can be kept
            and continued.
        scale: of the noise in every question.
        ended: whether a question was answered with yes.
    """

    level: int = field(repr=False)
    scale: Fraction
    ended: bool = False

    @classmethod
    def start(cls, threshold: int, scale: Fraction, entropy: Entropy) -> "AboveThreshold":
        """A run of its own ε.

        Args:
            threshold: T, public.
            scale: s, see `noise_scale`.
            entropy: of random bits.
        """
        return cls(threshold + int(geometric(scale, 1, entropy)[0]), scale)

    def is_above(self, number: int, entropy: Entropy) -> bool:
        """The answer to the next question, given its exact number.

        Raises:
            ParameterError: if a question was answered with yes before.
        """
        if self.ended:
            raise ParameterError("This run has ended with a yes. Start another one, which costs ε.")
        self.ended = number + int(geometric(self.scale, 1, entropy)[0]) >= self.level
        return self.ended

    def first(self, numbers: Iterable[int], entropy: Entropy) -> int | None:
        """The place of the first number that is answered with yes; None if none is."""
        for place, number in enumerate(numbers):
            if self.is_above(number, entropy):
                return place
        return None


def noise_scale(epsilon: Fraction, *, sensitivity: int = 1, monotone: bool = True) -> Fraction:
    """The scale s at which a run is ε-DP.

    Args:
        epsilon: of the run.
        sensitivity: Δ, what a step between neighbours moves a number by at most.
        monotone: whether each step moves all numbers in one direction.

    Raises:
        ParameterError: if it is above 2^40.
    """
    scale = (2 if monotone else 3) * sensitivity / epsilon
    if scale > LARGEST_SCALE:
        raise ParameterError("Expected a larger epsilon: the noise would have a scale above 2^40.")
    return scale


def likely_miss(scale: Fraction, questions: int, confidence: float) -> int:
    """The smallest B that bounds all noise of a run, with at least the stated probability.

    Then each question that was answered with yes has f >= T - B, and each with no f < T + B.
    P(Z, E_1, ..., E_m <= B) = (1 - a^(B+1))^(m+1), a = exp(-1/s).
    """
    one = -math.expm1(math.log(confidence) / (questions + 1))
    return max(0, math.ceil(-float(scale) * math.log(one)) - 1)


def first_above_law(gaps: Sequence[int], a: Fraction) -> list[Fraction]:
    """The law of a run: P(question i is the first yes), then P(none is).

    Σ over Z = z of (1-a) a^z Π (1 - a^max(t_j + z, 0)) a^max(t_i + z, 0),
    whose tail is a sum of geometric series.

    Args:
        gaps: t_i = T - f_i of all questions.
        a: exp(-1/s).

    >>> first_above_law([0, 0], Fraction(1, 2))
    [Fraction(2, 3), Fraction(2, 21), Fraction(5, 21)]
    """
    start = max(0, -min(gaps, default=0))
    law = [_first_at(gaps[:i], gaps[i], start, a) for i in range(len(gaps))]
    return [*law, 1 - sum(law, Fraction(0))]


def _first_at(before: Sequence[int], last: int, start: int, a: Fraction) -> Fraction:
    """P(no for all questions before, then yes); from Z = `start` on all gaps are at least 0."""
    whole = Fraction(0)
    for z in range(start):
        chance = (1 - a) * a**z * a ** max(last + z, 0)
        for gap in before:
            chance *= 1 - a ** max(gap + z, 0)
        whole += chance
    # With y = a^n the tail is Σ over n of y² times a polynomial in y.
    terms = [(1 - a) * a**start * a ** (last + start)]
    for gap in before:
        shifted = [Fraction(0), *(-(a ** (gap + start)) * each for each in terms)]
        terms = [p + q for p, q in zip([*terms, Fraction(0)], shifted, strict=True)]
    return whole + sum(term / (1 - a ** (m + 2)) for m, term in enumerate(terms))
