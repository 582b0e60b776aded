"""The law of several percentiles that are drawn together, by its definition."""

from itertools import combinations_with_replacement

import numpy as np

from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import FLOOR


def ranks_of(x, grid):
    x = np.array(x, dtype=float)
    less, at_most = ([count(x, g).sum() for g in grid] for count in (np.less, np.less_equal))
    return Ranks(np.array(less, dtype=np.int64), np.array(at_most, dtype=np.int64))


def lazy_variation(points, targets, tuples):
    """TV of many tuples by their lazy paths."""
    e, cost = np.zeros(len(tuples)), np.zeros(len(tuples))
    for i, r in zip(tuples.T, targets.ranks, strict=True):
        nearest = np.clip(e, points[0, i] - r, points[1, i] - r)
        e, cost = nearest, cost + np.abs(nearest - e)
    return cost + np.abs(points[1, -1] - targets.end - e)


def law_of(points, targets):
    """Every tuple with its probability, by the definition."""
    tuples = list(combinations_with_replacement(range(points.shape[1]), len(targets.ranks)))
    cost = lazy_variation(points, targets, np.array(tuples))
    weights = np.exp(-targets.alpha * cost) + np.exp(-float(FLOOR)) / len(tuples)
    return dict(zip(tuples, weights / weights.sum(), strict=True))
