"""Reach: how far changing so many rows can push a group's statistic, and who wins by it.

- `Reach`: the reach of every group.
- `winning_probabilities`: the law of the best group: who wins with which probability.
- `ByMinMax`: the best group where a person may be in many groups: the min-max score.

For a group x and an integer w, R(x, w) is the largest statistic among all groups within w steps of
x if w >= 0, and the smallest among those within -w steps if w < 0.  A group with fewer than N rows
has the statistic -infinity.  A step adds or removes one row (`Rows`), or replaces the value of one
(`Replacements`: the number of rows never changes).

**Lemma.**  R(x, w-1) <= R(y, w) <= R(x, w+1) for groups x, y that are one step apart.  The balls
around y nest in those around x: for w >= 0 the ball of radius w around y lies in that of radius w+1
around x, and for w >= 1 it contains that of radius w-1; below 0 the same with the roles exchanged;
and R(x, -1) <= s(y) = R(y, 0).

**Closed form.**  With "r out, a in" and `highest` as in `dampen.questions.groups.statistics`:
adding and removing rows, R(x, w) = highest(x, w) with M = min(w, n, ⌊(n+w-N)/2⌋), so that N rows
remain, and -infinity if n+w < N.  Downwards it is -infinity if n+w < N, else the mirror image: the
smallest statistic of x is the largest of x turned upside down.  Replacing values, R(x, w) = s(w
out, w in). From w = n + N on and from w = -(n+1) on R does not change any more.

**Small groups.**  A group of n rows can be pushed to any height by n q rows (`pushed_share`), so
that few rows of noise make a small one win.  Let public numbers N' >= N and A be given, and let
R_N' be the reach among groups of at least N' rows.  Then

    R'(x, w) = max(R_N'(x, w), R(x, w - A))

asks for A rows more of a group that has fewer than N' of them, and changes nothing where n + w is
at least N' and w <= 0.  The lemma holds for R' too: it holds for both terms, with the same public
numbers for x and y, and a maximum keeps the inequalities.  So small groups are treated with more
caution at no cost, although it is private which ones they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core import sensitivity
from dampen.core.mechanisms import Mechanism, probabilities, select
from dampen.core.noise import EXPONENTIAL, GUMBEL
from dampen.core.sampling import Entropy
from dampen.core.scores import Global
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.errors import ParameterError
from dampen.questions.groups.statistics import AnyHistograms, Fractions, Quantile, Statistic

__all__ = ["MIN_MAX", "MIN_MAX_FOR_RHO", "ByMinMax", "min_max_offset"]

LARGEST_OFFSET = 1 << 50
"""Scores, below it by the weights of all persons, are exact as floats."""


class Steps(Protocol):
    """What one step between neighbouring groups is."""

    def highest(
        self, statistic: Statistic, x: AnyHistograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        """The largest statistic within z >= 0 steps, among groups of at least `floor` rows."""
        ...

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        """What must be at least N for a statistic above -infinity: n + w, or n."""
        ...

    def pushed_share(self, p: Fraction) -> Fraction:
        """q: so many of its rows push the p-quantile of a group to any height."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A step adds or removes one row."""

    def highest(
        self, statistic: Statistic, x: AnyHistograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        n = x.sizes[who]
        most = np.maximum(np.minimum(np.minimum(z, n), (n + z - floor) // 2), 0)
        return statistic.highest(x, who, z, most)

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        return n + w

    def pushed_share(self, p: Fraction) -> Fraction:
        """The rows above p are outweighed by (1-p)/p times those below, or all are removed."""
        return min((1 - p) / p, Fraction(1))


@dataclass(frozen=True, slots=True)
class Replacements:
    """A step replaces the value of one row."""

    def highest(
        self, statistic: Statistic, x: AnyHistograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        del floor  # the number of rows stays as it is
        moved = np.minimum(z, x.sizes[who])
        return statistic.value(x, who, moved, moved)

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        del w
        return n

    def pushed_share(self, p: Fraction) -> Fraction:
        return 1 - p


@dataclass(frozen=True, slots=True, repr=False)
class Reach:
    """R(x, ·) of every group x of private histograms.

    Attributes:
        x: the groups.
        statistic: what is compared, in cells from 0.
        steps: what a step is.
        floor: N >= 1, the public number of rows below which a group has no statistic.
        guard: N' and A, if small groups are to be treated with more caution.
    """

    x: AnyHistograms
    statistic: Statistic
    steps: Steps
    floor: int
    guard: tuple[int, int] | None = None

    def at(self, who: IntArray, w: IntArray) -> Fractions:
        """R(x_who, w), with -1 for -infinity; every statistic is at least 0.  R' with a guard."""
        w = np.clip(w, *self.ends(who))
        if self.guard is None:
            return self._among(self.floor, who, w)
        enough, more = self.guard
        guarded = self._among(max(enough, self.floor), who, w)
        return guarded.or_larger(self._among(self.floor, who, w - more))

    def ends(self, who: IntArray) -> tuple[IntArray, IntArray]:
        """The w beyond which R does not change."""
        n = self.x.sizes[who]
        enough, more = self.guard or (0, 0)
        return -(n + 1), n + max(enough, self.floor + more)

    def _among(self, floor: int, who: IntArray, w: IntArray) -> Fractions:
        """R among groups of at least so many rows."""
        up = np.flatnonzero(w >= 0)
        down = np.flatnonzero(w < 0)
        highest = self.steps.highest(self.statistic, self.x, who[up], w[up], floor)
        parts = [highest, self._lowest(who[down], -w[down])]
        best = Fractions.joined(parts).taken(np.argsort(np.concatenate([up, down])))
        known = self.steps.smallest_size(self.x.sizes[who], w) >= floor
        return best.where(known, -1)

    def _lowest(self, who: IntArray, z: IntArray) -> Fractions:
        mirrored = self.steps.highest(self.statistic.mirrored(), self.x.mirrored, who, z, 1)
        return mirrored.subtracted_from(self.statistic.largest(self.x.top))


NEGLIGIBLE = 46.0
BLOCK = 1 << 20


def winning_probabilities(reach: Reach, epsilon: Fraction, offset: int) -> FloatArray:
    """P(g wins) for every group g, with the public offset z0.

    Every group g has an independent integer W_g = z0 + Z_g with P(Z = z) proportional to a^|z|,
    a = exp(-ε), and the largest R_g = R(x_g, W_g) wins, ties by a random order.  With
    F_g(τ) = P(R_g < τ) and f_g(τ) = P(R_g = τ),

        P(g wins) = Σ over τ of f_g(τ) ∫ over u in [0, 1] of Π over h ≠ g of (F_h(τ) + u f_h(τ)),

    since a random order is the order of independent uniform numbers u.  R_g takes finitely many
    values, because R does not change beyond its ends; all other tails are cut where they hold less
    than e^-46.  The comparisons of the R's are exact.  What is added and multiplied are positive
    floats, so that the probabilities are good to about 1e-12 of their value, and absolutely to less
    than 1e-19 times the number of groups.
    """
    groups = len(reach.x.sizes)
    who, w, mass = _support(reach, float(epsilon), offset)
    level = _levels(reach.at(who, w))

    def tables() -> Iterator[FloatArray]:
        for here, levels in _blocks(level, max(1, BLOCK // groups)):
            at = np.zeros((levels, groups))
            np.add.at(at, (level[here] - level[here[0]], who[here]), mass[here])
            yield at

    return largest_wins(tables())


def largest_wins(tables: Iterable[FloatArray]) -> FloatArray:
    """P(g has the largest of independent numbers, ties by a random order) for every g.

    Args:
        tables: P(the number of g is at level l), one line per level and one column per g; the
            levels ascend from line to line and from table to table.
    """
    wins = np.zeros(1)
    below = np.zeros(1)
    for at in tables:
        through = np.cumsum(at, axis=0) + below
        wins = wins + _wins(np.vstack([np.broadcast_to(below, at.shape[1]), through[:-1]]), at)
        below = through[-1]
    return wins / wins.sum()


def _support(reach: Reach, epsilon: float, offset: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Groups, integers W and their probabilities; what lies beyond an end is put there."""
    far = int(NEGLIGIBLE / epsilon) + 1
    everyone = np.arange(len(reach.x.sizes))
    first, last = (np.clip(end, offset - far, offset + far) for end in reach.ends(everyone))
    sizes = last - first + 1
    who = np.repeat(everyone, sizes)
    start = np.cumsum(sizes) - sizes
    w = np.arange(len(who)) - np.repeat(start - first, sizes)
    z = (w - offset).astype(np.float64)
    mass = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z))
    for end, beyond in ((start, -1), (start + sizes - 1, 1)):
        mass[end] = _at_least(epsilon, beyond * z[end])
    mass[start[sizes == 1]] = 1.0
    return who, w, mass


def _at_least(epsilon: float, z: FloatArray) -> FloatArray:
    """P(Z >= z)."""
    tail = np.exp(-epsilon * np.where(z > 0, z, 1 - z)) / (1 + np.exp(-epsilon))
    return np.where(z > 0, tail, 1 - tail)


def _levels(numbers: Fractions) -> IntArray:
    """0 for the smallest numbers, 1 for the next larger ones, and so on."""
    keys = numbers.ordinals()
    order = np.lexsort(keys[::-1])
    rises = np.zeros(len(order), dtype=np.bool_)
    for key in keys:
        rises[1:] |= np.diff(key[order]) != 0
    level = np.empty(len(order), dtype=np.int64)
    level[order] = np.cumsum(rises)
    return level


def _blocks(level: IntArray, length: int) -> Iterator[tuple[IntArray, int]]:
    """The entries of `length` levels at a time, lowest first, and how many levels these are."""
    order = np.argsort(level, kind="stable")
    for first in range(0, int(level.max()) + 1, length):
        last = min(first + length, int(level.max()) + 1)
        a, b = np.searchsorted(level[order], [first, last])
        yield order[a:b], last - first


def _wins(below: FloatArray, at: FloatArray) -> FloatArray:
    """Σ over the levels of f_g ∫ Π over the others: one point u where a level has one group."""
    tied = (at > 0).sum(axis=1) > 1
    alone = (at[~tied] * _others(below[~tied])).sum(axis=0)
    if not tied.any():
        return alone
    # A polynomial of degree d in u is integrated exactly by d // 2 + 1 nodes.
    nodes, weights = np.polynomial.legendre.leggauss(int((at > 0).sum(axis=1).max()) // 2 + 1)
    for u, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        alone += weight * (at[tied] * _others(below[tied] + u * at[tied])).sum(axis=0)
    return alone


def _others(factors: FloatArray) -> FloatArray:
    """For every row and column the product of the row's other entries, without a division."""
    left = np.ones_like(factors)
    right = np.ones_like(factors)
    np.multiply.accumulate(factors[:, :-1], axis=1, out=left[:, 1:])
    right[:, :-1] = np.multiply.accumulate(factors[:, :0:-1], axis=1)[:, ::-1]
    return left * right


MIN_MAX = Mechanism("min-max", Global(), EXPONENTIAL)
MIN_MAX_FOR_RHO = Mechanism("min-max-em", Global(), GUMBEL)
"""At one ρ it has twice the ε."""


@dataclass(frozen=True, slots=True, repr=False)
class ByMinMax:
    """The private reach of every group, in weights within the group, ready to be drawn from.

    Neighbours differ in one person with all their rows.  Inside *each* group a person weighs Q,
    shared by their rows there (`dampen.data.units.Shares`, within lines); so a person moves the
    counts of every group by at most Q, and may move those of all groups at once.  Reach with
    weights that are shared by all groups would have to divide the person among them.

    **Score.**  For a group g and a point v of the public grid, a_g(v) = min{z : R_g(z) >= v} is how
    far g must be pushed upwards to reach v, below 0 how far it can be pushed down (`Reach`, in
    units of 1/Q).  With a public offset c >= 0,

        s_g = max over v of min(-a_g(v) - c, min over h != g of a_h(v) + c - 1):

    -s_g is how far all groups must be pushed, g up and the others down, for g to be the best.
    Without a grid v is any number, or infinite: a_g changes at values of g alone, so that the
    maximum over the values of all groups is the maximum over all numbers.

    **Theorem.**  A person moves every s_g by at most Q, however many groups they are in.  So
    permute-and-flip with the exponent ε s / (2 Q) is ε-DP for one person, and k answers that are
    drawn one after the other at ε/k each are too.  With Gumbel noise each draw has an (ε/k)-bounded
    range: k of them are ε²/(8k)-zCDP.  Proof.  By the lemma of reach, once for each of at most Q
    steps, R(x, z-Q) <= R(y, z) <= R(x, z+Q) for a group with and without the person, so a_g(v)
    moves by at most Q.  A minimum or maximum of numbers that move by at most Q, over public sets,
    moves by at most Q. ∎  It is not one-sided: without the factor 2 the loss is up to 2 ε (tests
    show it).

    **Search.**  a_g(v) never falls as v grows.  So the first term falls, the second one rises, and
    the maximum is where they cross: a bisection over v, and for every a_g(v) one over z.

    **Caution** is the offset c = 2 caution Q / ε, the scale of the noise: a group that can be
    pushed anywhere, because it has few persons, must prove itself.

    Attributes:
        reach: of the weights.
        quantum: Q.
        caution: see above.
        mechanism: that draws.
    """

    reach: Reach
    quantum: int
    caution: Fraction
    mechanism: Mechanism = MIN_MAX

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first, one at a time at ε/k each: ε-DP for one person."""
        share = epsilon / k
        left = list(range(len(self.reach.x.sizes)))
        best = []
        for _ in range(k):
            selection = self.selection(left, share)
            place = select(selection, epsilon=share, mechanism=self.mechanism, entropy=entropy)
            best.append(left.pop(place))
        return best

    def probabilities(self, groups: Sequence[int], epsilon: Fraction) -> FloatArray:
        """The probability of every group to be the best of some; not private."""
        selection = self.selection(groups, epsilon)
        return probabilities(selection, epsilon=epsilon, mechanism=self.mechanism)

    def selection(self, groups: Sequence[int], epsilon: Fraction) -> Selection:
        """The scores of some groups among themselves."""
        offset = min_max_offset(self.caution, self.quantum, epsilon)
        scores = self.scores(np.asarray(groups), offset)
        return Selection(scores, sensitivity.constant(self.quantum), exact=True)

    def scores(self, groups: IntArray, offset: int) -> IntArray:
        """s of every group among some, in units of 1/Q."""
        if len(groups) == 1:
            return np.zeros(1, dtype=np.int64)
        low = np.zeros(len(groups), dtype=np.int64)
        high = np.full(len(groups), self.reach.x.top, dtype=np.int64)
        for _ in range(int(high[0] + 1).bit_length()):
            v = (low + high) // 2
            own, others = self._pushes(groups, v)
            crossed = others + offset - 1 >= -own - offset
            high = np.where(crossed, v, high)
            low = np.where(crossed, low, np.minimum(v + 1, high))
        best = [self._score(groups, v, offset) for v in (high, np.maximum(high - 1, 0))]
        return np.maximum(*best)

    def _score(self, groups: IntArray, v: IntArray, offset: int) -> IntArray:
        own, others = self._pushes(groups, v)
        return np.minimum(-own - offset, others + offset - 1)

    def _pushes(self, groups: IntArray, v: IntArray) -> tuple[IntArray, IntArray]:
        """a_g(v_g), and the least a_h(v_g) of the others, one v per group."""
        points, at = np.unique(v, return_inverse=True)
        m = len(groups)
        table = self.pushed(np.tile(groups, len(points)), np.repeat(points, m))
        each = table.reshape(len(points), m)[at]
        everyone = np.arange(m)
        own = each[everyone, everyone].copy()
        each[everyone, everyone] = np.iinfo(np.int64).max // 4
        return own, each.min(axis=1)

    def pushed(self, who: IntArray, v: IntArray) -> IntArray:
        """a_who(v), for v = 0..m."""
        statistic = self.reach.statistic
        below, reached = (end.copy() for end in self.reach.ends(who))
        for _ in range(int((reached - below).max()).bit_length()):
            z = (below + reached) // 2
            at = self.reach.at(who, z)
            enough = _reaches(statistic, at, v)
            reached = np.where(enough, z, reached)
            below = np.where(enough, below, z)
        return reached


def min_max_offset(caution: Fraction, quantum: int, epsilon: Fraction) -> int:
    """c, in units of 1/Q.

    Raises:
        ParameterError: if scores would not be exact as floats.
    """
    offset = floor(2 * caution * quantum / epsilon)
    if offset > LARGEST_OFFSET:
        raise ParameterError(
            "Expected a larger epsilon, or less caution: small groups would have to prove "
            "themselves by more than 2^50 steps."
        )
    return offset


def _reaches(statistic: Statistic, at: Fractions, v: IntArray) -> NDArray[np.bool_]:
    """Which statistics are at least v: on a grid the start of its cell, else its value."""
    if not isinstance(statistic, Quantile):
        return at.whole >= v
    if statistic.end == "middle":
        return at.whole >= v * statistic.unit
    return statistic.reaches(at, v)
