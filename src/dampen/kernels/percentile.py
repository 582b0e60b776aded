"""Local sensitivity of percentile labels at distance 0, and its exact sums: one pass each."""

from typing import Any

import numpy as np

from dampen.kernels.compile import compiled


@compiled
def at_zero(values: Any, m: float, reach: Any, gap: Any) -> Any:
    """max(g, reach - g, gap) with g = |v - m|; reach and gap for v < m, v = m and v > m."""
    delta = np.empty(len(values))
    for i in range(len(values)):
        v = values[i]
        side = 1 + (v > m) - (v < m)
        g = abs(v - m)
        delta[i] = max(g, reach[side] - g, gap[side])
    return delta


@compiled
def exact_sums(above: Any, below: Any, unit: float) -> tuple[Any, Any]:
    """Sums of B over 1..j; and of left - B and right - B, by offsets from -(T-1) to T-1.

    B_t = max(above_t, below_t); left has the previous `below`, right the previous `above`.  All are
    multiples of `unit`, a power of two, and below 2^54 units, so that integers sum them exactly, in
    two halves.
    """
    T = len(above)
    per_unit = 1 / unit
    common = np.zeros(T)
    own = np.zeros(2 * T - 1)
    high = 0
    low = 0
    left = 0
    right = 0
    for t in range(1, T):
        B = int(max(above[t], below[t]) * per_unit)
        high += B >> 27
        low += B & (2**27 - 1)
        left += int(max(above[t], below[t - 1]) * per_unit) - B
        right += int(max(above[t - 1], below[t]) * per_unit) - B
        common[t] = (high * 2.0**27 + low) * unit
        own[T - 1 - t] = left * unit
        own[T - 1 + t] = right * unit
    return common, own
