"""Hockey sticks: the δ of two laws at every ε, and that of stated losses, by adding up."""

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dampen.core import losses as module
from dampen.core.losses import Loss

Numbers = NDArray[np.float64]


def sticks(p: Numbers, q: Numbers, points: Numbers) -> Numbers:
    """The largest P(S) - e^ε Q(S) over all sets S, for every ε."""
    return np.array([np.maximum(p - math.exp(each) * q, 0).sum() for each in points])


def law(loss: Loss) -> dict[Fraction, float]:
    """How likely every loss of one part is, by theorem 1."""
    unit = loss.epsilon / loss.steps
    weights = module._one(unit, loss.steps, 200)
    return {(2 * j - loss.steps) * unit: w / 2**200 for j, w in enumerate(weights)}


def summed(losses: list[Loss]) -> tuple[Numbers, Numbers]:
    """The losses of the sum, and how likely they are: one part after the other."""
    found = {Fraction(0): 1.0}
    for each in losses:
        for _ in range(each.times):
            before, found = found, {}
            for (one, p), (other, q) in itertools.product(before.items(), law(each).items()):
                found[one + other] = found.get(one + other, 0.0) + p * q
    return np.array([float(each) for each in found]), np.array(list(found.values()))
