"""Percentiles: local sensitivity at distance 0, its exact sums; a step of chains of taut paths."""

import numpy as np

try:
    import cython
except ImportError:
    from dampen.kernels import primitives as cython
if not cython.compiled:  # else the .pxd has them
    from dampen.kernels.primitives import *


def at_zero(values, m, reach, gap):
    """max(g, reach - g, gap) with g = |v - m|; reach and gap for v < m, v = m and v > m."""
    delta: OutDoubles = memoryview(np.empty(len(values)))
    side: cython.int
    with cython.nogil:
        for i in range(len(values)):
            v = values[i]
            side = 1 + (v > m) - (v < m)
            g = abs(v - m)
            delta[i] = max(g, reach[side] - g, gap[side])
    return np.asarray(delta)


def exact_sums(above, below, unit):
    """Sums of B over 1..j; and of left - B and right - B, by offsets from -(T-1) to T-1.

    B_t = max(above_t, below_t); left has the previous `below`, right the previous `above`.  All are
    multiples of `unit`, a power of two, and below 2^54 units, so that integers sum them exactly, in
    two halves.
    """
    T: Size = len(above)
    per_unit: cython.double = 1 / unit
    common: OutDoubles = memoryview(np.zeros(T))
    own: OutDoubles = memoryview(np.zeros(2 * T - 1))
    high: Long = 0
    low: Long = 0
    left: Long = 0
    right: Long = 0
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


def taut_step(
    low, high, alpha, first, step, least, largest, owner, place, weight, owners, places, weights
):
    """Fills the states (point, place, weight) of one percentile; returns how many they are.

    States are ordered by point, then place.  A path at the place x is at y = x + step now and goes
    to every point from its own on: it stays at y if the point's interval holds it, and moves to the
    nearer end if not, which costs a factor exp(-alpha · distance).

    Point `first` + i has the interval low[i] to high[i], where the next begins; alpha and step are
    at least 0, and states have places from `least` to `largest`.  The states before are given by
    `owner` (their points), `place`, `weight`; where the new ones go is room for two per point and
    one per state before.
    """
    size: Size = len(place)
    from_above: OutDoubles = memoryview(np.zeros(len(low)))
    older: OutDoubles = memoryview(np.empty(size))
    count: Size = 0
    below: Size = 0
    same: Size = 0
    inner: Size = 0
    from_below: cython.double = 0.0
    at: cython.double = 0.0
    x_before: cython.double = -float("inf")
    staying: cython.double = 0.0
    steps: Long = 0
    with cython.nogil:
        _fill_from_above(high, alpha, first, step, owner, place, weight, older, from_above)
        for i in range(len(low)):
            steps = heed(steps + 8)
            y = low[i]
            while True:
                x = y - step
                if x > x_before:
                    while below < size and place[below] < x:
                        from_below *= exp(-alpha * (place[below] - at))
                        from_below += weight[below]
                        at = place[below]
                        below += 1
                    same = below
                    staying = 0.0
                    x_before = x
                while same < size and place[same] == x and owner[same] <= first + i:
                    staying += weight[same]
                    same += 1
                total = staying
                if y == low[i] and below > 0:
                    total += from_below * exp(-alpha * (x - at))
                if y == high[i]:
                    total += from_above[i]
                if total > 0.0 and least <= y <= largest:
                    owners[count] = first + i
                    places[count] = y
                    weights[count] = total
                    count += 1
                if y == high[i]:
                    break
                while inner < size and place[inner] + step <= y:
                    inner += 1
                y = min(high[i], place[inner] + step) if inner < size else high[i]
    return count


def _fill_from_above(high, alpha, first, step, owner, place, weight, older, found):
    """The weights of all paths that come down to high[i], from its own or an earlier point.

    They are a queue, kept as two sums of which neither ever has anything subtracted: `older`, by
    first state, up to the state `split`, and `newer`, of the states after it.  So no digit is ever
    cancelled.
    """
    size: Size = len(place)
    start: Size = 0
    end: Size = 0
    split: Size = -1
    newer: cython.double = 0.0
    for i in range(len(high)):
        x = high[i] - step
        while end < size and owner[end] <= first + i:
            newer += weight[end] * exp(-alpha * (place[end] - place[split + 1]))
            end += 1
        while start < end and place[start] <= x:
            start += 1
        if start == end:
            split = end - 1
            newer = 0.0
            continue
        if start > split:
            older[end - 1] = weight[end - 1]
            for j in range(end - 2, start - 1, -1):
                older[j] = older[j + 1] * exp(-alpha * (place[j + 1] - place[j])) + weight[j]
            split = end - 1
            newer = 0.0
        total = older[start]
        if split + 1 < end:
            total += newer * exp(-alpha * (place[split + 1] - place[start]))
        found[i] = total * exp(-alpha * (place[start] - x))


if not cython.compiled:
    plain(globals())
