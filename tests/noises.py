"""The noise objects, and their values by definition in ball arithmetic."""

from fractions import Fraction

from flint import arb, ctx

from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise

NOISES: tuple[Noise, ...] = (GUMBEL, EXPONENTIAL, LAPLACE)


def noise_at(noise: Noise, word: int, bits: int, inside: Fraction = Fraction(1, 2)) -> arb:
    """The noise for U at a point inside the interval that the word stands for."""
    with ctx.workprec(200 + bits):
        u = (arb(word) + arb(inside.numerator) / inside.denominator) / arb(2) ** bits
        if noise is GUMBEL:
            return -(-u.log()).log()
        if noise is EXPONENTIAL:
            return -u.log()
        negative = 2 * word >= 1 << bits  # the first bit; the others are a uniform number
        e = -(2 * u - 1 if negative else 2 * u).log()
        return -e if negative else e
