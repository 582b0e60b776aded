"""Local sensitivity of percentile labels at distance 0, and its exact sums: one pass each."""

from __future__ import annotations

from typing import Any

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython


@kernel
def at_zero(
    values: cython.const[cython.double][:],
    m: cython.double,
    reach: cython.const[cython.double][::1],
    gap: cython.const[cython.double][::1],
) -> Any:
    """max(g, reach - g, gap) with g = |v - m|; reach and gap for v < m, v = m and v > m."""
    delta: cython.double[::1] = memoryview(np.empty(len(values)))
    i: cython.Py_ssize_t
    side: cython.int
    v: cython.double
    g: cython.double
    with cython.nogil:
        for i in range(len(values)):
            v = values[i]
            side = 1 + (v > m) - (v < m)
            g = abs(v - m)
            delta[i] = max(g, reach[side] - g, gap[side])
    return np.asarray(delta)


@kernel
def exact_sums(
    above: cython.const[cython.double][:],
    below: cython.const[cython.double][:],
    unit: cython.double,
) -> Any:
    """Sums of B over 1..j; and of left - B and right - B, by offsets from -(T-1) to T-1.

    B_t = max(above_t, below_t); left has the previous `below`, right the previous `above`.  All are
    multiples of `unit`, a power of two, and below 2^54 units, so that integers sum them exactly, in
    two halves.
    """
    T: cython.Py_ssize_t = len(above)
    per_unit: cython.double = 1 / unit
    common: cython.double[::1] = memoryview(np.zeros(T))
    own: cython.double[::1] = memoryview(np.zeros(2 * T - 1))
    t: cython.Py_ssize_t
    B: cython.longlong
    high: cython.longlong = 0
    low: cython.longlong = 0
    left: cython.longlong = 0
    right: cython.longlong = 0
    with cython.nogil:
        for t in range(1, T):
            B = cython.cast(cython.longlong, max(above[t], below[t]) * per_unit)
            high += B >> 27
            low += B & 0x7FFFFFF
            left += cython.cast(cython.longlong, max(above[t], below[t - 1]) * per_unit) - B
            right += cython.cast(cython.longlong, max(above[t - 1], below[t]) * per_unit) - B
            common[t] = (high * 134217728.0 + low) * unit
            own[T - 1 - t] = left * unit
            own[T - 1 + t] = right * unit
    return np.asarray(common), np.asarray(own)
