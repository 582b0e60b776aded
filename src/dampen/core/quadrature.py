"""Argmax probabilities of noisy scores by quadrature: O(n) time per node, O(n) memory.

`a` are the scaled scores, the largest of them 0; the noise has scale 1.
"""

from functools import cache
from itertools import pairwise

import numpy as np

from dampen.core.selection import FloatArray

__all__ = ["gauss", "laplace_argmax", "permute_and_flip"]

NEGLIGIBLE = 45.0
"""exp(-45) is below 1e-19."""


def permute_and_flip(a: FloatArray) -> FloatArray:
    """P[r wins] for exponential noise: w_r times the integral over [0, 1] of Π_{s≠r} (1 - w_s y).

    With w = exp(a), y = exp(-v) at the winning value v.  The integrand is a polynomial in y, is
    below exp(-W y) with W = Σ w, and so is integrated to rounding error by Gauss nodes up to
    y = 45 / W.
    """
    w = np.exp(a)
    nodes, weights = gauss(0.0, min(1.0, NEGLIGIBLE / w.sum()), 96)
    total = np.zeros(len(w))
    for y, weight in zip(nodes, weights, strict=True):
        rest = np.exp(np.log1p(-w * y).sum())
        total += weight * rest / (1 - w * y)
    p = w * total
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
