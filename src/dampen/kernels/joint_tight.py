"""One step of a chain of taut paths: all weights of one percentile from those of the one before."""

import math
from typing import Any

import numpy as np

from dampen.kernels.compile import compiled


@compiled
def taut_step(  # noqa: PLR0915
    points: Any, alpha: float, facts: Any, before: Any, after: Any
) -> int:
    """Fills the states (point, place, weight) of one percentile; returns how many they are.

    States are ordered by point, then place.  A path at the place x is at y = x + step now and goes
    to every point from its own on: it stays at y if the point's interval holds it, and moves to the
    nearer end if not, which costs a factor exp(-alpha · distance).

    Args:
        points: two rows, low and high, the ends of the points' intervals; low[i+1] is high[i].
        alpha: at least 0.
        facts: the number of the first of these points; step, at least 0; the least and the largest
            place that a state may have.
        before: three rows, the states of the percentile before: point, place, weight.
        after: three rows, with room for two states per point and one per state before.
    """
    low = points[0]
    high = points[1]
    first = facts[0]
    step = facts[1]
    least = facts[2]
    largest = facts[3]
    owner = before[0]
    place = before[1]
    weight = before[2]
    from_above = np.zeros(len(low))
    size = len(place)
    count = 0
    _fill_from_above(high, alpha, facts, before, from_above)
    below = 0
    from_below = 0.0
    at = 0.0
    x_before = -math.inf
    same = 0
    staying = 0.0
    inner = 0
    for i in range(len(low)):
        y = low[i]
        while True:
            x = y - step
            if x > x_before:
                while below < size and place[below] < x:
                    from_below *= math.exp(-alpha * (place[below] - at))
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
                total += from_below * math.exp(-alpha * (x - at))
            if y == high[i]:
                total += from_above[i]
            if total > 0.0 and least <= y <= largest:
                after[0, count] = first + i
                after[1, count] = y
                after[2, count] = total
                count += 1
            if y == high[i]:
                break
            while inner < size and place[inner] + step <= y:
                inner += 1
            y = min(high[i], place[inner] + step) if inner < size else high[i]
    return count


@compiled
def _fill_from_above(high: Any, alpha: float, facts: Any, before: Any, found: Any) -> None:
    """The weights of all paths that come down to high[i], from its own or an earlier point.

    They are a queue, kept as two sums of which neither ever has anything subtracted: `older`, by
    first state, up to the state `split`, and `newer`, of the states after it.  So no digit is ever
    cancelled.
    """
    first = facts[0]
    step = facts[1]
    owner = before[0]
    place = before[1]
    weight = before[2]
    older = np.empty(len(place))
    size = len(place)
    start = 0
    end = 0
    split = -1
    newer = 0.0
    for i in range(len(high)):
        x = high[i] - step
        while end < size and owner[end] <= first + i:
            newer += weight[end] * math.exp(-alpha * (place[end] - place[split + 1]))
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
                older[j] = older[j + 1] * math.exp(-alpha * (place[j + 1] - place[j])) + weight[j]
            split = end - 1
            newer = 0.0
        total = older[start]
        if split + 1 < end:
            total += newer * math.exp(-alpha * (place[split + 1] - place[start]))
        found[i] = total * math.exp(-alpha * (place[start] - x))
