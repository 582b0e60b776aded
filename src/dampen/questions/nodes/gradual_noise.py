"""Noise that can be taken back in part: a noisy number first, and a less noisy one if need be.

Nothing is drawn here but by `dampen.core.sampling.geometric`.
"""

from fractions import Fraction

import numpy as np

from dampen.core.sampling import LARGEST_SCALE, Entropy, geometric
from dampen.core.selection import IntArray
from dampen.errors import ParameterError


def nested_laplace(
    scale: Fraction, ratio: Fraction, size: int, entropy: Entropy
) -> tuple[IntArray, IntArray]:
    """Two discrete Laplace numbers in each place, the second a blurred copy of the first.

    Guarantee: X has P(x) proportional to exp(-|x| / scale), Z the same law with scale / ratio, and
    Z - X is independent of X, all exactly.  Who has x + Z can later be given x + X: both together
    cost what x + X does alone (gradual release; Koufogiannis, Han and Pappas 2015).

    For a ratio M/N < 1, with r = exp(-1 / (N scale)): G geometric with ratio r makes G // N
    geometric with p = r^N, and G % N independent of it, below M with probability (1-r^M) / (1-r^N).
    A geometric number with ratio w = r^M is one with ratio p plus an independent number, which is 0
    with probability (1-w) p / ((1-p) w) and else has ratio w: compare generating functions.  As
    p / w = r^(N-M), that is the chance of G % N < M and of another such G >= N - M.

    Raises:
        ParameterError: if N scale is above 2^40.
    """
    if not 0 < scale * ratio.denominator <= LARGEST_SCALE:
        raise ParameterError("Expected noise of a scale above 0 and at most 2^40. Raise epsilon.")
    fine, coarse = np.zeros((2, size), dtype=np.int64)
    M = ratio.numerator
    N = ratio.denominator
    for sign in (1, -1):
        whole, rest = np.divmod(geometric(N * scale, size, entropy), N)
        differs = rest >= M
        low = np.flatnonzero(~differs)
        differs[low] = geometric(N * scale, len(low), entropy) < N - M
        apart = np.flatnonzero(differs)
        fine += sign * whole
        coarse += sign * whole
        coarse[apart] += sign * geometric(scale / ratio, len(apart), entropy)
    return fine, coarse
