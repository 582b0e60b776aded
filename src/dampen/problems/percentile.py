"""Which element is the p-th percentile?  Selection among labels (Application 1 of the paper).

Replace one record.  The database is n values in [0, Λ], one per public label; with
k = ceil(p (n+1) / 100), clamped to 1..n, and x_(k) the k-th smallest value,

    u(x, r) = -|x_(k) - x_r|,    Δ = Λ.

Candidates are labels, not sorted positions: among positions the answer is k and needs no data.
A range [lower, upper] is shifted to [0, Λ], Λ = upper - lower, after clipping; both act on each
record alone, so neighbours stay neighbours.

**Interval form.**  Let v = x_r and z_1 <= ... <= z_{n-1} the other values, z_i = 0 for i <= 0 and
z_i = Λ for i >= n.  Then u(x, r) = -dist(v, [z_{k-1}, z_k]).  t changes of other values move that
interval to [z_a, z_b], for all k-1-t <= a < b <= k+t with b - a <= t+1, and to nothing that matters
more.  Let I = [lo, hi] be such an interval and g = dist(v, I).  One more change of r itself changes
u by at most g, or max(lo, Λ-hi) - g; one more change of another value moves I to its upper or lower
neighbour.  If r was among the t changes, v was free: then it is lo, Λ-hi or hi-lo, over the
intervals of t-1 changes.  Most of these are below others; what is left is, with s+ = max(s, 0):

    LS(x, 0, r) = max of  g,  min(v, lo - (v-hi)+),  min(Λ-v, Λ-hi - (lo-v)+),
                          hi - max(lo, v) if k > 1,  min(hi, v) - lo if k < n,
                          with I = [z_{k-1}, z_k];
    LS(x, t, r) = max of  z_{k-2+t},  Λ - z_{k+1-t},  z_{k-1+t} - v,  v - z_{k-t},
                          min(v, z_{k-1+t} - (v - z_{k+t})+),
                          min(Λ-v, Λ - z_{k-t} - (z_{k-1-t} - v)+),
                          z_k - z_{k-1},  z_{k+t} - max(z_{k-1}, v),  min(z_k, v) - z_{k-1-t}.

Both are exact, ties and the ends k = 1 and k = n included.  From t = min(k+1, n-k+2) on LS is Λ if
n > 1, so this is the horizon, but for n = 1, where LS = 0 and the horizon 1: a public number.

**Simple form**, admissible and a little above LS for t >= 1: max(z_{k-1+t}, Λ - z_{k-t}), Λ from
t = min(k, n-k+1) on.  Its sums over t need one sort.

**Local dampening needs t = 0 only**, since g = |u| is among the terms: D = u / δ(x, 0, r), in
[-1, 0].

Where this differs from the paper: its algorithm Candidates misses the maximum, and its SLD is then
not private; its LS at distance 0 is too large in the main text, and has a wrong sign in the appendix.
`tests/problems/test_percentile_paper.py` keeps the counterexamples.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from dampen.errors import ParameterError
from dampen.problems.columns import clipped, finite_range
from dampen.selection import FloatArray, IntArray, Neighbours, Selection

Percent: TypeAlias = str | int | float | Fraction | Decimal
Delta: TypeAlias = Literal["exact", "simple"]

CHUNK = 1 << 15
"""Passes over many labels work on pieces that stay in the processor's cache."""


@dataclass(frozen=True, kw_only=True)
class PercentileLabel:
    """Which label has the value nearest to the p-th percentile?

    Attributes:
        n: how many values there are; public.
        p: which percentile, 0 to 100; a decimal is taken exactly.
        upper: public upper end of the values; larger ones are clipped to it.
        lower: public lower end.
        delta: "exact" is LS itself at every distance, O(n) time for each; "simple" is a little larger
            from distance 1 on, and all its sums together cost one sort.  Only SLD sees the difference.
        labels: one public name per value, in the order of the values; None means 0..n-1.
    """

    n: int
    p: Percent
    upper: float
    lower: float = 0.0
    delta: Delta = "exact"
    labels: Sequence[Hashable] | None = None
    neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        rank(self.p, self.n)
        finite_range(self.lower, self.upper)
        if self.delta not in ("exact", "simple"):
            raise ParameterError(f"Expected delta='exact' or delta='simple', got {self.delta!r}.")
        if self.labels is not None:
            _check_labels(self.labels, self.n)

    @property
    def candidates(self) -> Sequence[Hashable]:
        return range(self.n) if self.labels is None else self.labels

    def selection(self, values: Any, /) -> Selection:
        """Utilities and sensitivities of n values, in the order of the labels.

        Utilities are rounded once, δ at most twice, relative to themselves.
        """
        lower, upper = finite_range(self.lower, self.upper)
        v, k = clipped(values, self.n, lower, upper), rank(self.p, self.n)
        if lower:
            v -= lower
        near = _around(v, k, upper - lower)
        form = Exact if self.delta == "exact" else Simple
        u = np.abs(np.subtract(v, near.m, out=np.empty(self.n)))
        np.negative(u, out=u)
        return Selection(u, form(v, near), upper - lower, utility_range=1.0)


def rank(p: Percent, n: int) -> int:
    """k = ceil(p (n+1) / 100) in exact arithmetic, clamped to 1..n.

    >>> rank(50, 4), rank("99.9", 1000), rank(0, 7), rank(100, 7)
    (3, 1000, 1, 7)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError(f"Expected at least one value, got n={n!r}.")
    return min(max(ceil(_percent(p) * (int(n) + 1) / 100), 1), int(n))


@dataclass(frozen=True, slots=True)
class _Around:
    """The order statistics next to the percentile: x_(k-1), x_(k), x_(k+1); 0 and Λ past the ends."""

    k: int
    below: float
    m: float
    above: float
    bound: float


@dataclass(frozen=True, eq=False, repr=False)
class Exact:
    """LS(x, t, r) for t >= 0.  O(n) time for each t, one sort before the first t >= 1."""

    values: FloatArray
    near: _Around
    covers_at_zero = True

    @property
    def horizon(self) -> int:
        n, k = len(self.values), self.near.k
        return min(n, k + 1, n - k + 2)

    def at(self, t: int, /) -> FloatArray:
        if t == 0:
            return at_zero(self.values, self.near)
        return _in_chunks(lambda v: self._beyond_zero(v, t), self.values)

    def _beyond_zero(self, v: FloatArray, t: int) -> FloatArray:
        k, bound = self.near.k, self.near.bound

        def z(i: int) -> FloatArray:
            return _others(self._ordered, v, i)

        up, down = z(k - 1 + t), z(k - t)
        delta = np.maximum(z(k - 2 + t), bound - z(k + 1 - t))
        for term in (
            up - v,
            v - down,
            np.minimum(v, up - np.maximum(v - z(k + t), 0)),
            np.minimum(bound - v, (bound - down) - np.maximum(z(k - 1 - t) - v, 0)),
            z(k) - z(k - 1),
            z(k + t) - np.maximum(z(k - 1), v),
            np.minimum(z(k), v) - z(k - 1 - t),
        ):
            np.maximum(delta, term, out=delta)
        return delta

    @cached_property
    def _ordered(self) -> FloatArray:
        return _padded(np.sort(self.values), self.near.bound)


@dataclass(frozen=True, eq=False, repr=False)
class Simple:
    """LS(x, 0, r), then max(z_{k-1+t}, Λ - z_{k-t}): a closed form.

    With x_(ρ) = v, taking r out of the order leaves z_i = x_(i) for i < ρ and x_(i+1) otherwise, so
    δ(x, t, r) is B_t = max(x_(k+t), Λ - x_(k-t)) for t > |ρ-k|, and before that
    max(x_(k+t), Λ - x_(k-t+1)) if ρ < k, max(x_(k-1+t), Λ - x_(k-t)) if ρ > k.  Sums over t are the
    prefix sums of B, the same for all labels, plus those of the differences, which stay below Λ.
    All these numbers are between Λ/2 and Λ, so they are multiples of one unit and are summed exactly,
    as integers; a sum is then within 2^-50 of itself.
    """

    values: FloatArray
    near: _Around
    covers_at_zero = True

    @property
    def horizon(self) -> int:
        return min(self.near.k, len(self.values) - self.near.k + 1)

    def at(self, t: int, /) -> FloatArray:
        if t == 0:
            return at_zero(self.values, self.near)
        return _in_chunks(lambda v: self._beyond_zero(v, t), self.values)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return np.where(t == 0, self._at_zero, self._beyond_zero(self.values, np.maximum(t, 1)))

    def sum_to(self, t: IntArray, /) -> FloatArray:
        common, own = self._sums
        last = np.maximum(t - 1, 0)
        step = np.clip(self._offset, -last, last)
        total = common[last] + (own[step + self.horizon - 1] + self._at_zero)
        return np.where(t > 0, total, 0.0)

    def _beyond_zero(self, v: FloatArray, t: int | IntArray) -> FloatArray:
        k, bound = self.near.k, self.near.bound
        up, down = _others(self._ordered, v, k - 1 + t), _others(self._ordered, v, k - t)
        return np.maximum(up, bound - down)

    @cached_property
    def _at_zero(self) -> FloatArray:
        return self.at(0)

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.values)

    @cached_property
    def _ordered(self) -> FloatArray:
        return _padded(self.values[self._order], self.near.bound)

    @cached_property
    def _offset(self) -> IntArray:
        """ρ - k for every label: how many places it is above the percentile."""
        offset = np.empty(len(self.values), dtype=np.int64)
        offset[self._order] = np.arange(1 - self.near.k, len(self.values) + 1 - self.near.k)
        return offset

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of B over 1..j for j < T; and of the differences, by ρ - k from -(T-1) to T-1."""
        x, k, bound = self._ordered, self.near.k, self.near.bound
        t = np.arange(1, self.horizon)
        common = _integers(np.maximum(x[k + t], bound - x[k - t]), bound)
        left = _integers(np.maximum(x[k + t], bound - x[k - t + 1]), bound)
        right = _integers(np.maximum(x[k - 1 + t], bound - x[k - t]), bound)
        own = np.concatenate([np.cumsum(left - common)[::-1], [0], np.cumsum(right - common)])
        high, low = np.cumsum(common >> 27) * 2.0**27, np.cumsum(common & (2**27 - 1))
        unit = _unit_exponent(bound)
        return np.ldexp(np.concatenate([[0.0], high + low]), unit), np.ldexp(own * 1.0, unit)


def at_zero(values: FloatArray, near: _Around) -> FloatArray:
    """LS(x, 0, r) for every label, from three order statistics: no sort."""
    m, bound = near.m, near.bound
    # At k = 1 nothing lifts the interval off 0, at k = n nothing pulls it off Λ.
    gap_above = near.above - m if near.k > 1 else 0.0
    gap_below = m - near.below if near.k < len(values) else 0.0
    at_percentile = max(near.below, bound - near.above, gap_above, gap_below)

    def chunk(v: FloatArray) -> FloatArray:
        lower = v < m
        g = np.abs(v - m)
        delta = np.maximum(g, np.where(lower, v, bound - v))
        np.maximum(delta, np.where(lower, bound - near.above, near.below) - g, out=delta)
        np.maximum(delta, np.where(lower, gap_above, gap_below), out=delta)
        delta[g == 0] = at_percentile
        return delta

    return _in_chunks(chunk, values)


def _around(v: FloatArray, k: int, bound: float) -> _Around:
    parts = np.partition(v, k - 1)
    below = parts[: k - 1].max() if k > 1 else 0.0
    above = parts[k:].min() if k < len(v) else bound
    return _Around(k, float(below), float(parts[k - 1]), float(above), bound)


def _others(ordered: FloatArray, v: FloatArray, i: int | IntArray) -> FloatArray:
    """z_i: the i-th smallest of the other values, for labels of value v, from the padded order."""
    last = len(ordered) - 1
    here, next_one = ordered[np.clip(i, 0, last)], ordered[np.clip(np.add(i, 1), 0, last)]
    return np.where(here < v, here, next_one)


def _padded(ordered: FloatArray, bound: float) -> FloatArray:
    return np.concatenate([[0.0], ordered, [bound]])


def _integers(delta: FloatArray, bound: float) -> IntArray:
    """Numbers from Λ/2 to Λ, as exact multiples of 2^-54 times the power of two above Λ."""
    return np.ldexp(delta, -_unit_exponent(bound)).astype(np.int64)


def _unit_exponent(bound: float) -> int:
    return int(np.frexp(bound)[1]) - 54


def _in_chunks(f: Any, values: FloatArray) -> FloatArray:
    out = np.empty(len(values))
    for start in range(0, len(values), CHUNK):
        out[start : start + CHUNK] = f(values[start : start + CHUNK])
    return out


def _percent(p: Percent) -> Fraction:
    wanted = "Expected p to be a percentile from 0 to 100"
    try:
        exact = isinstance(p, str | int | np.integer | Fraction | Decimal)
        if isinstance(p, bool) or not (exact or isinstance(p, Real)):
            raise TypeError
        value = Fraction(str(p))
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(f"{wanted}, got p={p!r}.") from None
    if not 0 <= value <= 100:
        raise ParameterError(f"{wanted}, got p={p}.")
    return value


def _check_labels(labels: Sequence[Hashable], n: int) -> None:
    if len(labels) != n:
        raise ParameterError(f"Expected one label per value ({n}), got {len(labels)} labels.")
    try:
        different = len(set(labels))
    except TypeError:
        raise ParameterError("Expected labels that can be compared, such as text.") from None
    if any(label is None or label != label for label in labels):  # noqa: PLR0124 (NaN)
        raise ParameterError("Expected a label for every value; some are missing.")
    if different < n:
        raise ParameterError("Expected different labels; some occur twice. Pass labels=None for 0..n-1.")
