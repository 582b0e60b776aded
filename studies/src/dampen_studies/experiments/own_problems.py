"""Problems of somebody's own, for comparing mechanisms: public parameters in, a selection out.

Each class says why its δ is admissible; `studies/tests/test_own_problems.py` repeats it by brute
force.  `own` is what other mechanisms need: a public bound on the sensitivity of every candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dampen.core import sensitivity
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection

__all__ = [
    "ArmByMean",
    "ArmByMedian",
    "FeatureByAUC",
    "FeatureByAccuracy",
    "FeatureByF1",
    "FeatureByInformation",
    "MostSimilar",
    "RoadMedian",
    "SiteByQuantile",
]


@dataclass(frozen=True)
class SiteByQuantile:
    """The site with the smallest quantile of the distances to n clients in the unit square.

    Replace-one.  Let d_(1) <= ... <= d_(n) be the distances to site r, d_(i) = 0 for i <= 0 and the
    farthest corner for i > n.  δ(x, t, r) = max over j = 0, ..., t+1 of d_(k+j) - d_(k+j-t-1),
    which is LS(x, t, r) (Nissim, Raskhodnikova, Smith 2007): t + 1 replacements move the k-th
    smallest by at most t + 1 places.
    """

    sites: tuple[tuple[float, float], ...]
    n: int
    share: float = 0.5
    neighbours = Neighbours.REPLACE_ONE

    @property
    def candidates(self) -> Sequence[Any]:
        return self.sites

    @property
    def own(self) -> FloatArray:
        corners = np.array([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=np.float64)
        return _distances(corners, np.array(self.sites)).max(axis=0)

    def selection(self, clients: Any, /) -> Selection:
        d = np.sort(_distances(np.asarray(clients, dtype=np.float64), np.array(self.sites)), axis=0)
        k = max(1, int(np.ceil(self.share * self.n)))
        rows = widest_spans(d, k, self.own)
        bound = float(self.own.max())
        return Selection(-d[k - 1], sensitivity.table(rows), bound, ends=(-bound, 0.0))


def widest_spans(ordered: FloatArray, k: int, top: Any) -> FloatArray:
    """δ of the k-th smallest of every column, one row per distance t."""
    n, width = ordered.shape
    above = np.broadcast_to(top, (n + 1, width))
    padded = np.vstack([np.zeros((n + 1, width)), ordered, above])
    at = n + k
    rows = []
    for t in range(n):
        spans = padded[at : at + t + 2] - padded[at - t - 1 : at + 1]
        rows.append(spans.max(axis=0))
    return np.array(rows)


def _distances(points: FloatArray, sites: FloatArray) -> FloatArray:
    return np.linalg.norm(points[:, None, :] - sites[None, :, :], axis=2)


@dataclass(frozen=True)
class ArmByMedian:
    """The arm with the largest median reward in [0, top]; everyone's arm is public.

    Replace-one reward: one arm changes, so the problem is separable.  δ as for sites.
    """

    sizes: tuple[int, ...]
    top: float = 1.0
    neighbours = Neighbours.REPLACE_ONE

    @property
    def candidates(self) -> Sequence[int]:
        return range(len(self.sizes))

    @property
    def own(self) -> FloatArray:
        return np.full(len(self.sizes), self.top)

    def selection(self, rewards: Any, /) -> Selection:
        horizon = max(self.sizes)
        u = np.empty(len(self.sizes))
        delta = np.full((horizon, len(self.sizes)), self.top)
        for arm, values in enumerate(rewards):
            ordered = np.sort(np.clip(np.asarray(values, dtype=np.float64), 0, self.top))
            k = (len(ordered) + 1) // 2
            u[arm] = ordered[k - 1]
            rows = widest_spans(ordered[:, None], k, self.top)[:, 0]
            delta[: len(rows), arm] = rows
        return Selection(
            u, sensitivity.table(delta), self.top, separable=True, ends=(0.0, self.top)
        )


@dataclass(frozen=True)
class ArmByMean:
    """The arm with the largest mean reward in [0, 1]; how many rewards an arm has is private.

    Add/remove one reward: a mean of m moves by at most 1/m, so δ(x, t, r) = 1 / max(1, m - t).
    m falls by at most 1 in a step, hence admissible.  Separable.  An arm without rewards has 0.
    """

    arms: int
    horizon: int
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(self.arms)

    @property
    def own(self) -> FloatArray:
        return np.ones(self.arms)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.float64).reshape(-1, 2)
        arm = table[:, 0].astype(np.int64)
        m = np.bincount(arm, minlength=self.arms)
        total = np.bincount(arm, weights=np.clip(table[:, 1], 0, 1), minlength=self.arms)
        delta = _reciprocal(m, self.horizon)
        return Selection(total / np.maximum(m, 1), delta, 1.0, separable=True, ends=(0.0, 1.0))


def _reciprocal(m: IntArray, horizon: int, per_step: int = 1, over: float = 1.0) -> Any:
    """min(1, over / (m - per_step t)), one row per distance."""
    left = m - per_step * np.arange(horizon)[:, None]
    return sensitivity.table(np.minimum(1.0, over / np.maximum(left, over)))


@dataclass(frozen=True)
class FeatureByF1:
    """The feature (or rule) that predicts a class best by F1 = 2a / (2a + b).

    a counts rows that are predicted and true, b rows that are one of the two.  Add/remove one row
    changes one of a and b by 1, and F1 by at most 2 / N with N = 2a + b, which moves by at most 2:
    δ(x, t, r) = min(1, 2 / (N - 2t)) is admissible.  Rows: the class first, then every prediction.
    """

    features: int
    horizon: int
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(self.features)

    @property
    def own(self) -> FloatArray:
        return np.ones(self.features)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.int64).reshape(-1, self.features + 1)
        true = table[:, :1]
        predicted = table[:, 1:]
        a = (true & predicted).sum(axis=0)
        N = 2 * a + (true ^ predicted).sum(axis=0)
        u = 2 * a / np.maximum(N, 1)
        delta = _reciprocal(N, self.horizon, per_step=2, over=2.0)
        return Selection(u, delta, 1.0, ends=(0.0, 1.0))


@dataclass(frozen=True)
class MostSimilar:
    """The set that is most similar to a target by Jaccard's index a / N, N the size of the union.

    Rows are persons: in the target or not, then in every set or not.  Add/remove one row changes
    the index by at most 1/N, and N by at most 1: δ(x, t, r) = 1 / max(1, N - t) is admissible.
    """

    sets: int
    horizon: int
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(self.sets)

    @property
    def own(self) -> FloatArray:
        return np.ones(self.sets)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.int64).reshape(-1, self.sets + 1)
        a = (table[:, :1] & table[:, 1:]).sum(axis=0)
        N = (table[:, :1] | table[:, 1:]).sum(axis=0)
        return Selection(a / np.maximum(N, 1), _reciprocal(N, self.horizon), 1.0, ends=(0.0, 1.0))


@dataclass(frozen=True)
class FeatureByAUC:
    """The feature with the largest area under the ROC curve; 1/2 where a class has no row.

    Add/remove one row.  With P and Q rows of the two classes, the area is a mean over the rows of
    either class of numbers in [0, 1], so a row moves it by at most 1 / min(P, Q): a positive row
    that comes makes a mean of P + 1 numbers, one that goes leaves a mean of P - 1, and the two
    means differ by at most 1/P.  δ(x, t, r) = 1 / max(1, min(P, Q) - t), the same for all features.
    """

    features: int
    horizon: int
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(self.features)

    @property
    def own(self) -> FloatArray:
        return np.ones(self.features)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.float64).reshape(-1, self.features + 1)
        true = table[:, 0] == 1
        P = int(true.sum())
        Q = len(table) - P
        u = np.full(self.features, 0.5)
        if min(P, Q) > 0:
            for r in range(self.features):
                u[r] = _area(table[true, r + 1], table[~true, r + 1])
        smaller = np.full(self.features, min(P, Q))
        return Selection(u, _reciprocal(smaller, self.horizon), 1.0, ends=(0.0, 1.0))


def _area(positive: FloatArray, negative: FloatArray) -> float:
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left") + np.searchsorted(ordered, positive, "right")
    return float(below.sum()) / (2 * len(positive) * len(negative))


@dataclass(frozen=True)
class FeatureByAccuracy:
    """The feature that is right most often: a count, Δ = 1, one-sided.  Dampening gains nothing."""

    features: int
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(self.features)

    @property
    def own(self) -> FloatArray:
        return np.ones(self.features)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.int64).reshape(-1, self.features + 1)
        right = (table[:, :1] == table[:, 1:]).sum(axis=0)
        return Selection(right, sensitivity.constant(1), one_sided=True, exact=True)


@dataclass(frozen=True)
class FeatureByInformation:
    """The feature with the largest mutual information with the class, times n; n is public.

    Replace-one.  With F(x) = x log2 x, u = F(n) + Σ F(τ_jc) - Σ F(τ_j) - Σ F(τ_c); a row in cell
    (j, c) weighs ψ = φ(τ_j) + φ(τ_c) - φ(τ_jc), with φ(x) = F(x+1) - F(x) and one row fewer in each
    count if it is there itself.  Replacing a row moves u by the difference of two weights.  After t
    steps counts differ by at most t, so with one row more or fewer for the row itself
    ψ <= φ(τ_j + t) + φ(τ_c + t) - φ(τ_jc - t - 1) and
    ψ >= φ(τ_j - t - 1) + φ(τ_c - t - 1) - φ(τ_jc + t), counts never below 0.  δ(x, t, r) is the
    largest of the first less the smallest of the second over all cells: it widens in t by what a
    step can change, hence admissible.
    """

    sizes: tuple[int, ...]
    classes: int
    n: int
    horizon: int
    neighbours = Neighbours.REPLACE_ONE

    @property
    def candidates(self) -> Sequence[int]:
        return range(len(self.sizes))

    @cached_property
    def bound(self) -> float:
        """No weight is below 0 - φ(n) + ... or above 2 φ(n)."""
        return float(3 * _phi(np.array(self.n)))

    @property
    def own(self) -> FloatArray:
        return np.full(len(self.sizes), self.bound)

    def selection(self, rows: Any, /) -> Selection:
        table = np.asarray(rows, dtype=np.int64).reshape(self.n, len(self.sizes) + 1)
        u = np.empty(len(self.sizes))
        delta = np.empty((self.horizon, len(self.sizes)))
        for r, size in enumerate(self.sizes):
            cells = np.zeros((size, self.classes), dtype=np.int64)
            np.add.at(cells, (table[:, r + 1], table[:, 0]), 1)
            u[r] = _information(cells, self.n)
            delta[:, r] = self._spread(cells)
        delta = np.minimum(delta, self.bound)
        return Selection(
            u,
            sensitivity.table(delta),
            self.bound,
            ends=(0.0, self.n * float(np.log2(self.classes))),
        )

    def _spread(self, cells: IntArray) -> FloatArray:
        t = np.arange(self.horizon)[:, None, None]
        a = np.broadcast_to(cells.sum(axis=1)[:, None], cells.shape)
        c = np.broadcast_to(cells.sum(axis=0)[None, :], cells.shape)
        most = _phi(a + t) + _phi(c + t) - _phi(cells - t - 1)
        least = _phi(a - t - 1) + _phi(c - t - 1) - _phi(cells + t)
        spread: FloatArray = most.max(axis=(1, 2)) - least.min(axis=(1, 2))
        return spread


def _phi(x: Any) -> Any:
    at = np.maximum(x, 0)
    return (at + 1) * np.log2(at + 1) - at * np.log2(np.maximum(at, 1))


def _information(cells: IntArray, n: int) -> float:
    from math import fsum, log2

    a = cells.sum(axis=1)
    c = cells.sum(axis=0)
    terms = [
        int(m) * log2(int(m) * n / (int(a[j]) * int(c[i])))
        for (j, i), m in np.ndenumerate(cells)
        if m
    ]
    return max(fsum(terms), 0.0)


@dataclass(frozen=True)
class RoadMedian:
    """The crossing with the smallest sum of road distances to the clients (the 1-median).

    Add/remove one client: candidate r moves by at most the distance to its farthest crossing, a
    public number of its own, always in one direction.
    """

    distances: tuple[tuple[float, ...], ...]
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> Sequence[int]:
        return range(len(self.distances))

    @property
    def own(self) -> FloatArray:
        return np.array(self.distances).max(axis=0)

    def selection(self, clients: Any, /) -> Selection:
        table = np.array(self.distances)
        at = np.asarray(clients, dtype=np.int64)
        u = -table[at].sum(axis=0)
        rows = np.tile(self.own, (len(table), 1))
        bound = float(self.own.max())
        return Selection(u, sensitivity.table(rows), bound, one_sided=True, exact=True)
