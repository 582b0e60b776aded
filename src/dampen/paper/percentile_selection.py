"""Percentile selection (Application 1 of the paper): which element is the p-th percentile?

`percentile_selection` answers with any mechanism of the paper and either δ; `PercentileLabel` is
its problem, for `dampen.release`, `dampen.select` and the proof kit.

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

    LS(x, 0, r) = max of  g,  max(lo, Λ-hi) - g,  hi - max(lo, v) if k > 1,
                          min(hi, v) - lo if k < n,             with I = [z_{k-1}, z_k];
    LS(x, t, r) = max of  z_{k-2+t},  Λ - z_{k+1-t},  z_{k-1+t} - v,  v - z_{k-t},
                          min(v, z_{k-1+t} - (v - z_{k+t})+),
                          min(Λ-v, Λ - z_{k-t} - (z_{k-1-t} - v)+),
             and, for t = 1, of  z_k - z_{k-1},  z_{k+1} - max(z_{k-1}, v),  min(z_k, v) - z_{k-2}.

Both are exact, ties and the ends k = 1 and k = n included.  From t = min(k+1, n-k+2) on LS is Λ if
n > 1, so this is the horizon, but for n = 1, where LS = 0 and the horizon 1: a public number.

**Simple form**, admissible and a little above LS for t >= 1: max(z_{k-1+t}, Λ - z_{k-t}), Λ from
t = min(k, n-k+1) on.  Its sums over t need one sort.

**Local dampening needs t = 0 only**, since g = |u| is among the terms: D = u / δ(x, 0, r), in
[-1, 0].  With the utility lowered by the public constant Λ, D spans more than that and tells labels
apart better; `dampen.percentile_record` does so by default for few records.

Where this differs from the paper: its algorithm Candidates misses the maximum, so that SLD with it
is not private; its LS at distance 0 is too large in the main text, in the appendix a sign is wrong.
`tests/percentile/test_paper.py` keeps the counterexamples.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from math import ceil
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import EM, LD, PF, SLD, Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.sampling import Entropy
from dampen.core.scores import Shifted
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection, Sensitivity
from dampen.data.columns import clipped, finite_range
from dampen.data.memory import numbers_in
from dampen.epsilon import Epsilon, check_length, shortened
from dampen.errors import DataError, ParameterError
from dampen.releases.answer import release
from dampen.releases.cost import Budget
from dampen.releases.release import Release

__all__ = [
    "MECHANISMS",
    "SLD_DOWN",
    "Delta",
    "Percent",
    "PercentileLabel",
    "as_fraction",
    "percentile_selection",
    "rank",
]

Percent: TypeAlias = str | int | float | Fraction | Decimal
Delta: TypeAlias = Literal["exact", "simple"]

SLD_DOWN = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)
"""Shifted local dampening towards minus infinity."""
MECHANISMS = (EM, PF, LD, SLD, SLD_DOWN)
"""Those that the paper compares."""
NEAR = 6
"""LD with a shift of at most Λ looks at distances below this: |u - shift| <= 2Λ, and LS is at least
Λ/3 at distance 1 and Λ/2 from distance 2 on, so that b(6) >= 2Λ."""
BLOCK = 1 << 13
"""Passes over many labels work on pieces that stay in the processor's cache."""
KERNEL_FROM = 1 << 19
"""From so many labels on a compiled kernel is worth the half second of loading the compiler."""


@dataclass(frozen=True, kw_only=True)
class PercentileLabel:
    """Which label has the value nearest to the p-th percentile?

    Attributes:
        n: how many values there are; public.
        p: which percentile, 0 to 100; a decimal is taken exactly.
        upper: public upper end of the values; larger ones are clipped to it.
        lower: public lower end.
        delta: "exact" is LS itself, at O(n) time for every distance; "simple" is a little larger
            from distance 1 on, and its sums over all distances cost one sort.  Only SLD sees it.
        horizon: a public distance from which on δ is Λ in any case; None means where LS is certain
            to be.  6 is enough for LD with a shift of at most Λ, and makes it fast (`NEAR`).
        labels: one public name per value, in the order of the values; None means 0..n-1.
    """

    n: int
    p: Percent
    upper: float
    lower: float = 0.0
    delta: Delta = "exact"
    horizon: int | None = None
    labels: Sequence[Hashable] | None = None
    neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        rank(self.p, self.n)
        finite_range(self.lower, self.upper)
        if self.delta not in ("exact", "simple"):
            raise ParameterError(f"Expected delta='exact' or delta='simple', got {self.delta!r}.")
        if self.horizon is not None and self.horizon < 0:
            raise ParameterError(f"Expected horizon >= 0, got horizon={self.horizon}.")
        if self.labels is not None:
            check_labels(self.labels, self.n)

    @property
    def candidates(self) -> Sequence[Hashable]:
        return range(self.n) if self.labels is None else self.labels

    def selection(self, values: Any, /) -> Selection:
        """Utilities and sensitivities of n values, in the order of the labels.

        Utilities are rounded once, δ at most twice, relative to themselves.
        """
        lower, upper = finite_range(self.lower, self.upper)
        v = clipped(numbers_in(values), lower, upper)
        if v.shape != (self.n,):
            raise DataError("Expected as many values as n, the public size.")
        if lower:
            v -= lower
        column = Column(v, rank(self.p, self.n), upper - lower)
        form = Exact if self.delta == "exact" else Simple
        delta: Sensitivity = form(column, slice(0, self.n))
        if self.horizon is not None:
            delta = sensitivity.bounded(delta, column.bound, self.horizon)
        return Selection(column.utility(), delta, column.bound, ends=(-column.bound, 0.0))


def percentile_selection(
    values: Any,
    *,
    p: Percent,
    upper: float,
    lower: float = 0.0,
    labels: Sequence[Hashable] | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism = "ld",
    delta: Delta = "simple",
    k: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The label whose value is nearest to the p-th percentile, as the paper selects it.

    Guarantee: ε-DP under replacing one value; the number of values, the labels, the range and p are
    public.  `dampen.percentile_record` has less error among many records.

    Args:
        values: a column in memory, with a length.
        p: which percentile, 0 to 100; a decimal is taken exactly.
        upper: public upper end of the values; larger ones are clipped to it.
        lower: public lower end.
        labels: one public name per value; None means 0..n-1.
        epsilon: the privacy parameter, exact.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        mechanism: one of `MECHANISMS`, or any other by name.
        delta: the sensitivity function; see `PercentileLabel`.
        k: how many labels; None for one that is not in a list.
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> shops = {"north": 12, "east": 30, "south": 31, "west": 95}
    >>> percentile_selection(
    ...     list(shops.values()), p=100, upper=100, labels=list(shops), epsilon=100
    ... ).answer
    'west'
    """
    problem = PercentileLabel(
        n=len(values), p=p, upper=upper, lower=lower, delta=delta, labels=labels
    )
    return release(
        problem,
        lambda: values,
        query="percentile-selection",
        epsilon=epsilon,
        rho=rho,
        mechanism=mechanism,
        k=k,
        budget=budget,
        entropy=entropy,
        parameters={"n": problem.n, "p": p, "lower": lower, "upper": upper, "delta": delta},
    )


def rank(p: Percent, n: int) -> int:
    """k = ceil(p (n+1) / 100) in exact arithmetic, clamped to 1..n.

    >>> rank(50, 4), rank("99.9", 1000), rank(0, 7), rank(100, 7)
    (3, 1000, 1, 7)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError(f"Expected at least one value, got n={n!r}.")
    return min(max(ceil(as_fraction(p) * (int(n) + 1) / 100), 1), int(n))


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """The private values, shifted to [0, Λ], and what is computed from all of them, each once."""

    values: FloatArray
    k: int
    bound: float

    @property
    def n(self) -> int:
        return len(self.values)

    @cached_property
    def around(self) -> tuple[float, float, float]:
        """x_(k-1), x_(k) and x_(k+1); 0 and Λ past the ends.  No sort."""
        parts = np.partition(self.values, self.k - 1)
        below = parts[: self.k - 1].max() if self.k > 1 else 0.0
        above = parts[self.k :].min() if self.k < self.n else self.bound
        return float(below), float(parts[self.k - 1]), float(above)

    @cached_property
    def ordered(self) -> FloatArray:
        """x_(0) = 0, the n values in order, x_(n+1) = Λ."""
        return np.concatenate([[0.0], np.sort(self.values), [self.bound]])

    @cached_property
    def order(self) -> IntArray:
        return np.argsort(self.values)

    @cached_property
    def offset(self) -> IntArray:
        """ρ - k for every label: how many places it is above the percentile."""
        offset = np.empty(self.n, dtype=np.int64)
        offset[self.order] = np.arange(1 - self.k, self.n + 1 - self.k)
        return offset

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray]:
        """For `Simple`: sums of B over 1..j for j < T; of the differences, for -T < ρ-k < T."""
        from dampen.kernels import percentiles as kernel

        k = self.k
        T = min(self.k, self.n - self.k + 1)
        x = self.values[self.order[k - T : k + T - 1]]
        # Every float from Λ/2 to Λ is a multiple of this.
        unit = float(np.ldexp(1.0, int(np.frexp(self.bound)[1]) - 54))
        above = x[T - 1 :]
        below = self.bound - x[T - 1 :: -1]
        common, own = kernel.exact_sums(above, below, unit)
        return common, own

    @cached_property
    def own(self) -> FloatArray:
        """The whole sum of the differences for every label."""
        k = self.k
        sums = self.sums[1]
        T = len(self.sums[0])
        in_order = np.empty(self.n)
        own = np.empty(self.n)
        in_order[: k - T] = sums[0]
        in_order[k + T - 1 :] = sums[-1]
        in_order[k - T : k + T - 1] = sums
        own[self.order] = in_order
        return own

    def utility(self) -> FloatArray:
        u = self.values - self.around[1]
        np.abs(u, out=u)
        return np.negative(u, out=u)

    def at_zero(self, v: FloatArray) -> FloatArray:
        """LS(x, 0, r) for labels of value v: max(g, reach - g, gap), with g = |v - m|.

        reach and gap depend on the side of m = x_(k) on which v lies: below, at, above.
        """
        (below, m, above) = self.around
        bound = self.bound
        # At k = 1 nothing lifts the interval off 0, at k = n nothing pulls it off Λ.
        up = above - m if self.k > 1 else 0.0
        down = m - below if self.k < self.n else 0.0
        reach = np.array([max(m, bound - above), max(below, bound - above), max(below, bound - m)])
        gap = np.array([up, max(up, down), down])
        if self.n >= KERNEL_FROM:
            from dampen.kernels import percentiles as kernel

            delta: FloatArray = kernel.at_zero(v, m, reach, gap)
            return delta
        side = np.add(v >= m, v > m, dtype=np.intp)
        g = np.abs(v - m)
        return np.maximum(np.maximum(g, reach[side] - g), gap[side])


@dataclass(frozen=True, eq=False, repr=False)
class Exact:
    """LS(x, t, r) for t >= 0.  O(n) time for each t, one sort before the first t >= 1."""

    column: Column
    candidates: slice
    covers_at_zero = True

    @property
    def horizon(self) -> int:
        n = self.column.n
        k = self.column.k
        return min(n, k + 1, n - k + 2)

    def part(self, candidates: slice, /) -> "Exact":
        return Exact(self.column, candidates)

    def at(self, t: int, /) -> FloatArray:
        at_t = self.column.at_zero if t == 0 else partial(self._beyond_zero, t=t)
        return _in_blocks(at_t, self.column.values[self.candidates])

    def _beyond_zero(self, v: FloatArray, t: int) -> FloatArray:
        k = self.column.k
        bound = self.column.bound
        z = partial(_others, self.column.ordered, v)
        up = z(k - 1 + t)
        down = z(k - t)
        terms = [
            bound - z(k + 1 - t),
            up - v,
            v - down,
            np.minimum(v, up - np.maximum(v - z(k + t), 0)),
            np.minimum(bound - v, (bound - down) - np.maximum(z(k - 1 - t) - v, 0)),
        ]
        if t == 1:
            terms += [up - down, z(k + 1) - np.maximum(down, v), np.minimum(up, v) - z(k - 2)]
        delta: FloatArray = z(k - 2 + t)
        for term in terms:
            np.maximum(delta, term, out=delta)
        return delta


@dataclass(frozen=True, eq=False, repr=False)
class Simple:
    """LS(x, 0, r), then max(z_{k-1+t}, Λ - z_{k-t}): a closed form.

    With x_(ρ) = v, taking r out of the order leaves z_i = x_(i) for i < ρ and x_(i+1) otherwise, so
    δ(x, t, r) is B_t = max(x_(k+t), Λ - x_(k-t)) for t > |ρ-k|, and before that
    max(x_(k+t), Λ - x_(k-t+1)) if ρ < k, max(x_(k-1+t), Λ - x_(k-t)) if ρ > k.  Sums over t are the
    prefix sums of B, the same for all labels, plus those of the differences, which stay below Λ.
    All these numbers are between Λ/2 and Λ, which makes a sum right to 2^-50 of itself.
    """

    column: Column
    candidates: slice
    covers_at_zero = True

    @property
    def horizon(self) -> int:
        return min(self.column.k, self.column.n - self.column.k + 1)

    @property
    def values(self) -> FloatArray:
        return self.column.values[self.candidates]

    def part(self, candidates: slice, /) -> "Simple":
        return Simple(self.column, candidates)

    def at(self, t: int, /) -> FloatArray:
        at_t = self.column.at_zero if t == 0 else partial(self._beyond_zero, t=t)
        return _in_blocks(at_t, self.values)

    def at_each(self, t: IntArray, /) -> FloatArray:
        beyond = self._beyond_zero(self.values, np.maximum(t, 1))
        return np.where(t == 0, self.at(0), beyond)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        last = np.maximum(t - 1, 0)
        total: FloatArray = self.column.sums[0][last]
        total += self._own_to(last)
        total += self.at(0)
        total *= t > 0
        return total

    def _own_to(self, last: IntArray) -> FloatArray:
        """The sum of the differences over 1..last."""
        T = self.horizon
        if (last >= T - 1).all():
            return self.column.own[self.candidates]
        offset = np.clip(self.column.offset[self.candidates], -last, last)
        return self.column.sums[1][offset + (T - 1)]

    def _beyond_zero(self, v: FloatArray, t: int | IntArray) -> FloatArray:
        z = partial(_others, self.column.ordered, v)
        return np.maximum(z(self.column.k - 1 + t), self.column.bound - z(self.column.k - t))


def _others(ordered: FloatArray, v: FloatArray, i: int | IntArray) -> FloatArray:
    """z_i: the i-th smallest of the other values, for labels of value v, from the padded order."""
    last = len(ordered) - 1
    here = ordered[np.clip(i, 0, last)]
    next_one = ordered[np.clip(np.add(i, 1), 0, last)]
    # Products with 0 and 1 are exact; numpy.where would branch, which random order makes slow.
    passed = np.asarray(here < v, dtype=np.float64)
    return passed * here + (1 - passed) * next_one


def _in_blocks(f: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    out = np.empty(len(values))
    for start in range(0, len(values), BLOCK):
        out[start : start + BLOCK] = f(values[start : start + BLOCK])
    return out


def as_fraction(p: Percent) -> Fraction:
    """p exactly; a float means its shortest decimal."""
    wanted = "Expected p to be a percentile from 0 to 100"
    try:
        exact = isinstance(p, str | int | np.integer | Fraction | Decimal)
        if isinstance(p, bool) or not (exact or isinstance(p, Real)):
            raise TypeError
        check_length(str(p))
        value = Fraction(str(p))
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(f"{wanted}, got p={shortened(p)}.") from None
    if not 0 <= value <= 100:
        raise ParameterError(f"{wanted}, got p={p}.")
    return value


def check_labels(labels: Sequence[Hashable], n: int) -> None:
    """Raises a `ParameterError` unless there are n different labels, none of them missing."""
    if len(labels) != n:
        raise ParameterError(f"Expected one label per value ({n}), got {len(labels)} labels.")
    try:
        missing = any(label is None or label != label for label in labels)  # noqa: PLR0124 (NaN)
        different = len(set(labels))
    except TypeError:
        raise ParameterError(
            "Expected labels such as text or whole numbers, none of them missing."
        ) from None
    if missing:
        raise ParameterError("Expected a label for every value; some are missing.")
    if different < n:
        raise ParameterError(
            "Expected different labels; some occur twice. Pass labels=None for 0..n-1."
        )


def no_values() -> DataError:
    """The error for an empty column, which has no percentile."""
    return DataError("Expected at least one value, got an empty column.")
