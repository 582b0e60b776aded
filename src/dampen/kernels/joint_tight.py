"""One step of a chain of taut paths: all weights of one percentile from those of the one before."""

from __future__ import annotations

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed
    from cython.cimports.libc.math import exp
else:
    from math import exp

    from dampen.kernels.primitives import heed

PAUSE = cython.declare(cython.longlong, (1 << 18) - 1)


@kernel
def taut_step(
    low: cython.const[cython.double][::1],
    high: cython.const[cython.double][::1],
    alpha: cython.double,
    first: cython.double,
    step: cython.double,
    least: cython.double,
    largest: cython.double,
    owner: cython.const[cython.double][::1],
    place: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    after_owner: cython.double[::1],
    after_place: cython.double[::1],
    after_weight: cython.double[::1],
) -> int:
    """Fills the states (point, place, weight) of one percentile; returns how many they are.

    States are ordered by point, then place.  A path at the place x is at y = x + step now and goes
    to every point from its own on: it stays at y if the point's interval holds it, and moves to the
    nearer end if not, which costs a factor exp(-alpha · distance).

    Args:
        low: where the points' intervals begin; low[i+1] is high[i].
        high: where they end.
        alpha: at least 0.
        first: the number of the first of these points.
        step: at least 0.
        least: the least place that a state may have.
        largest: the largest.
        owner: the points of the states of the percentile before.
        place: their places.
        weight: their weights.
        after_owner: with room for two states per point and one per state before, as the next two.
        after_place: places.
        after_weight: weights.
    """
    size: cython.Py_ssize_t = len(place)
    from_above: cython.double[::1] = memoryview(np.zeros(len(low)))
    older: cython.double[::1] = memoryview(np.empty(size))
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 0
    same: cython.Py_ssize_t = 0
    inner: cython.Py_ssize_t = 0
    from_below: cython.double = 0.0
    at: cython.double = 0.0
    x_before: cython.double = -float("inf")
    staying: cython.double = 0.0
    x: cython.double
    y: cython.double
    total: cython.double
    with cython.nogil:
        _fill_from_above(high, alpha, first, step, owner, place, weight, older, from_above)
        for i in range(len(low)):
            if i & PAUSE == PAUSE:
                heed()
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
                    after_owner[count] = first + i
                    after_place[count] = y
                    after_weight[count] = total
                    count += 1
                if y == high[i]:
                    break
                while inner < size and place[inner] + step <= y:
                    inner += 1
                y = min(high[i], place[inner] + step) if inner < size else high[i]
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_from_above(
    high: cython.const[cython.double][::1],
    alpha: cython.double,
    first: cython.double,
    step: cython.double,
    owner: cython.const[cython.double][::1],
    place: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    older: cython.double[::1],
    found: cython.double[::1],
) -> cython.void:
    """The weights of all paths that come down to high[i], from its own or an earlier point.

    They are a queue, kept as two sums of which neither ever has anything subtracted: `older`, by
    first state, up to the state `split`, and `newer`, of the states after it.  So no digit is ever
    cancelled.
    """
    size: cython.Py_ssize_t = len(place)
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 0
    split: cython.Py_ssize_t = -1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    newer: cython.double = 0.0
    x: cython.double
    total: cython.double
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
