"""The law of `TwoStages`, computed, not sampled.  It looks at the data and is *not* private.

With P1 the law of the place, P2 that of the reach and m the number of labels inside,

    E[error] = Σ_c P1(c) Σ_j P2(j | c) f(c, j),    f = π(m) mean(inside) + (1 - π(m)) mean(outside),

where π(m) is the probability that permute-and-flip draws one of m labels of utility 1 among n.  Of
several labels, π(m) is the expected share of those inside
(`dampen_studies.rivals.record_set_law`), for they are a random choice of the labels inside,
and the error is the mean of theirs.
"""

from functools import cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from dampen.core.mechanisms import probabilities
from dampen.core.selection import FloatArray, IntArray
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.methods import UNIT, TwoStages
from dampen_studies.rivals.record_set_law import share_inside

__all__ = ["best_error", "expected_error", "law", "stage_one"]

NODES = 96
NEGLIGIBLE = 1e-13
"""Places less likely than this over their number are left out."""


def law(problem: TwoStages, values: FloatArray) -> FloatArray:
    """P[place, reach, label], for columns of a few values and one label: one axis each."""
    assert problem.count == 1, "a set of labels has no axis of its own"
    joint, inside = stage_one(problem, values)
    labels = inside.sum(axis=-1)
    m = labels[..., None]
    chance = _chance_inside(problem, labels)[..., None]
    others = np.maximum(problem.n - m, 1)
    return joint[..., None] * np.where(inside, chance / np.maximum(m, 1), (1 - chance) / others)


def stage_one(problem: TwoStages, values: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """P[place, reach], and which labels are inside, on a third axis."""
    cells = problem.cells_of(values)
    J = len(problem.points)
    shells = np.array([problem.shells(c)[cells] for c in range(J)])
    inside = shells[:, None, :] <= np.arange(len(problem.distances))[None, :, None]
    reach = _reaches(problem, np.diff(inside.sum(axis=-1), axis=1, prepend=0))
    return _places(problem, cells)[:, None] * reach, inside


def expected_error(problem: TwoStages, values: FloatArray) -> float:
    """The expected |x_(k) - x_r| of a draw r, or its mean over several; values within the range."""
    cells = problem.cells_of(values)
    place = _places(problem, cells)
    likely = np.flatnonzero(place > NEGLIGIBLE / len(place))
    labels, errors = _cumulated(problem, values, cells, likely)
    reach = _reaches(problem, np.diff(labels, axis=1, prepend=0))
    inside = np.divide(errors, labels, out=np.zeros_like(errors), where=labels > 0)
    others = problem.n - labels
    total = float(errors[0, -1])
    outside = np.divide(total - errors, others, out=np.zeros_like(errors), where=others > 0)
    chance = _chance_inside(problem, labels)
    mean = chance * inside + (1 - chance) * outside
    return float(place[likely] @ (reach * mean).sum(axis=1) / place[likely].sum())


def best_error(errors: FloatArray, weight: float) -> float:
    """The least mean of the errors under weights between 1 and `weight`: λ.

    >>> round(best_error(np.arange(100.0), 1.0), 6), round(best_error(np.arange(100.0), 81.0), 1)
    (49.5, 9.5)
    """
    sums = np.cumsum(np.sort(errors))
    n = len(errors)
    m = np.arange(1, n + 1)
    return float(((weight * sums + sums[-1] - sums) / (weight * m + n - m)).min())


def _places(problem: TwoStages, cells: IntArray) -> FloatArray:
    """P1 of every cell: of the windows around it."""
    counts = np.bincount(cells, minlength=len(problem.points))
    window = probabilities(problem.place(counts), epsilon=problem.shares.place, mechanism="pf")
    place = np.zeros(len(counts))
    np.add.at(place, problem.windows.centres, window)
    return place


def _cumulated(
    problem: TwoStages, values: FloatArray, cells: IntArray, places: IntArray
) -> tuple[IntArray, FloatArray]:
    """Labels, and the sum of their errors, within every reach of every place."""
    truth = np.partition(values, rank(problem.p, problem.n) - 1)[rank(problem.p, problem.n) - 1]
    J = len(problem.points)
    H = len(problem.distances)
    labels = np.empty((len(places), H), np.int64)
    errors = np.empty((len(places), H))
    count = np.bincount(cells, minlength=J)
    error = np.bincount(cells, weights=np.abs(values - truth), minlength=J)
    for row, place in enumerate(places.tolist()):
        shells = problem.shells(place)
        labels[row] = np.bincount(shells, weights=count, minlength=H).cumsum()
        errors[row] = np.bincount(shells, weights=error, minlength=H).cumsum()
    return labels, errors


def _reaches(problem: TwoStages, within: IntArray) -> FloatArray:
    """P2, one row per place."""
    u = np.array([problem.reach_of(row).utility for row in within])
    a = float(problem.shares.reach) / (2 * UNIT) * (u - u.max(axis=1, keepdims=True))
    w = np.exp(a)
    top = np.minimum(1.0, 45 / w.sum(axis=1, keepdims=True))
    total = np.zeros_like(w)
    for x, weight in zip(*_nodes(), strict=True):
        y = top * (x + 1) / 2
        rest = np.exp(np.log1p(-w * y).sum(axis=1, keepdims=True))
        total += weight * top / 2 * rest / (1 - w * y)
    p = w * total
    return p / p.sum(axis=1, keepdims=True)


def _chance_inside(problem: TwoStages, labels: IntArray) -> FloatArray:
    """π(m) = m times the integral over [0, 1] of (1-y)^(m-1) (1-qy)^(n-m), q = exp(-ε3)."""
    m, where = np.unique(labels, return_inverse=True)
    if problem.count > 1:
        share = share_inside(m, problem.n, problem.count, float(problem.shares.label))
        return share[where].reshape(labels.shape)
    q = exp(-float(problem.shares.label))
    top = np.minimum(1.0, 45 / (m + q * (problem.n - m)))
    chance = np.zeros(len(m))
    for x, weight in zip(*_nodes(), strict=True):
        y = top * (x + 1) / 2
        power = (m - 1) * np.log1p(-y) + (problem.n - m) * np.log1p(-q * y)
        chance += weight * top / 2 * m * np.exp(power)
    return np.where(m == problem.n, 1.0, chance)[where].reshape(labels.shape)


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Gauss nodes and weights on [-1, 1]."""
    x, weights = np.polynomial.legendre.leggauss(NODES)
    return x, weights
