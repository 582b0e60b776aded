"""Probabilities of classes from noisy counts: post-processing, from the public law of the noise.

A leaf's noisy count is z = t + Z with P(Z = j) proportional to q^|j|, q = exp(-ε).  If every t >= 0
was as likely before, the mean of t given z is

    z + q^(z+1) (z + 1 - z q) / ((1 - q) (1 + q - q^(z+1)))  for z >= 0,   q / (1 - q)  for z <= 0,

sums of geometric series.  It is above 0 where z is not, and z itself where there is no noise.  Half
a row more for each class (Jeffreys) keeps a leaf of few rows from being sure.
"""

import numpy as np

from dampen.core.selection import FloatArray, IntArray

__all__ = ["chances", "expected_counts"]

PSEUDO_COUNT = 0.5


def expected_counts(noisy: IntArray, epsilon: float) -> FloatArray:
    """The mean of a count given its noisy value, for noise at ε.

    >>> expected_counts(np.array([-5, 0, 3, 50]), 1.0).round(2).tolist()
    [0.58, 0.58, 3.06, 50.0]
    """
    z = np.maximum(noisy, 0).astype(np.float64)
    q = np.exp(-epsilon)
    tail = np.exp(-epsilon * (z + 1))
    gap = -np.expm1(-epsilon)
    raised: FloatArray = z + tail * (1 + z * gap) / (gap * (1 + q - tail))
    return raised


def chances(noisy: IntArray, epsilon: float) -> FloatArray:
    """Of every class (last axis), its share of the expected counts."""
    counts = expected_counts(noisy, epsilon) + PSEUDO_COUNT
    shares: FloatArray = counts / counts.sum(axis=-1, keepdims=True)
    return shares
