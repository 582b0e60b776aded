"""Draws that compute betweenness only where the order is still open.

A score of a node is known from its degree up to little: EBC lies between 0 and d(d-1)/2, so that
the shifted score is known to 2 units, and the dampened one to about as much.  Noise decides the
order of nearly all nodes long before that matters.  So scores are refined as noise is: every node
has an interval, from its degree and from the known bits of its noise; EBC is computed for the nodes
that may still be among the k best, and for no others.

**The same answer.**  Let the interval of node v for its noisy score be [l(v), h(v)] when EBC is
known and [L(v), H(v)], which contains it, when only the degree is.  The k nodes of largest H have
some least L, called t; so k nodes have l >= t, and whoever has h < t is not among the k best.
All others have H >= h >= t: they are asked for.  `dampen.core.sampling.settle` then sees the same
bits, scores and largest score (the nodes that may have it are asked for as well) as after a
computation of all scores: the law is the same, and for the same bits the answer is.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import Noise
from dampen.core.sampling import Contenders, Entropy, contenders, settle
from dampen.core.selection import FloatArray, IntArray

ROUNDING = 2.0**-36
"""Relative: far above what floats lose here, far below what matters."""


def lazy_top(
    between: tuple[FloatArray, FloatArray],
    exactly: Callable[[IntArray], FloatArray],
    scale: Fraction,
    noise: Noise,
    *,
    k: int,
    entropy: Entropy,
) -> list[int]:
    """`dampen.core.sampling.noisy_top` for scores that are known to lie between two numbers each.

    `exactly` is asked once, for the scores of those whose order the noise leaves open.
    """
    high = between[1]
    drawn = contenders(high, scale, noise, len(high), entropy)  # everyone, with the bits so far
    chosen = np.flatnonzero(_may_matter(between, drawn, scale, noise, k))
    values = exactly(chosen)
    block = Contenders(chosen, values, drawn.words[chosen], drawn.bits, float(values.max()))
    return settle([block], scale, noise, k, entropy)


def _may_matter(
    between: tuple[FloatArray, FloatArray], drawn: Contenders, scale: Fraction, noise: Noise, k: int
) -> NDArray[np.bool_]:
    """Who may be among the k best, or have the largest score; in units of scores."""
    low, high = between
    unit = float(min(max(1 / scale, Fraction(1, 10**300)), Fraction(10**300)))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        upper = high + unit * noise.upper(drawn.words, drawn.bits)
        leaders = np.argpartition(upper, -k)[-k:] if k < len(high) else np.arange(len(high))
        lower = low[leaders] + unit * noise.lower(drawn.words[leaders], drawn.bits)
        size = np.abs(high).max() + np.abs(low).max() + unit + np.abs(upper)
        within = upper + ROUNDING * size >= lower.min()
    return within | ~np.isfinite(upper) | (high >= low.max())
