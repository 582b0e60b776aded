"""The law of several labels in stage 2, computed, not sampled.  It is *not* private.

With m of n labels inside, the k largest of utility plus noise
(`percentile.record_two_stages`) hold on average  m ∫ f(y-1) P[Bin(m-1, F(y-1)) + Bin(n-m,
F(y)) < k] dy  labels from inside, where f is the density of the noise and F(y) = P[S > y].  On a
step both F are linear, and so is the mean of the sum; its probability is 1 or 0 but where that mean
is near k, and there Gauss nodes will do.
"""

from math import ceil, exp, sqrt

import numpy as np

from dampen.core.noise import gauss
from dampen.core.selection import FloatArray, IntArray

__all__ = ["share_inside"]

NODES = 32
NEGLIGIBLE = 36.0
"""Steps whose tails are below e to the minus this are left out."""


def share_inside(m: IntArray, n: int, k: int, epsilon: float) -> FloatArray:
    """The expected share of the k named labels that are inside, for each number m inside."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return np.array([_share(each, n, k, epsilon, logs) for each in m.tolist()])


def _share(m: int, n: int, k: int, epsilon: float, logs: FloatArray) -> float:
    if m in (0, n):
        return float(m > 0)
    above, below, mass = _steps(epsilon)
    # A label inside at height f of a step is met by those outside one step farther up.
    own = slice(None, -1)
    other = slice(1, None)
    mean_at_0 = (m - 1) * above[own] + (n - m) * above[other]
    fall = (m - 1) * mass[own] + (n - m) * mass[other]
    wide = 8 * sqrt(k)
    start, stop = (
        np.clip((mean_at_0 - mean) / fall, 0, 1) for mean in (k + wide + 16, max(k - wide, 0.0))
    )
    x, w = gauss(0.0, 1.0, NODES)
    f = start[:, None] + (stop - start)[:, None] * x
    inside, outside = (
        _binomial(
            trials,
            k,
            above[part][:, None] - f * mass[part][:, None],
            below[part][:, None] + f * mass[part][:, None],
            logs,
        )
        for trials, part in ((m - 1, own), (n - m, other))
    )
    fewer = (inside * outside.cumsum(axis=-1)[..., ::-1]).sum(axis=-1)
    named = mass[own] * ((1 - stop) + (stop - start) * (fewer @ w))
    return min(1.0, m / k * float(named.sum()))


def _steps(epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P[Z >= z], P[Z < z] and P[Z = z] for whole numbers z."""
    last = ceil(NEGLIGIBLE / epsilon) + 1
    z = np.arange(-last, last + 1)
    tail = np.exp(-epsilon * np.where(z > 0, z, 1 - z)) / (1 + exp(-epsilon))
    above = np.where(z > 0, tail, 1 - tail)
    below = np.where(z > 0, 1 - tail, tail)
    return above, below, np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z))


def _binomial(
    trials: int, k: int, chance: FloatArray, rest: FloatArray, logs: FloatArray
) -> FloatArray:
    """P[Bin(trials, chance) = i] for i < k, along a last axis; `rest` is 1 - chance, exactly."""
    i = np.arange(k)
    j = np.minimum(i, trials)
    choose = logs[trials] - logs[j] - logs[trials - j]
    tiny = np.finfo(np.float64).tiny
    up, down = (np.log(np.maximum(part, tiny))[..., None] for part in (chance, rest))
    return np.where(i <= trials, np.exp(choose + j * up + (trials - j) * down), 0.0)
