"""Reach: how far a group's statistic can be pushed by changing so many of its rows.

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
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dampen.core.selection import IntArray
from dampen.questions.groups.fractions import Fractions
from dampen.questions.groups.histograms import Histograms
from dampen.questions.groups.statistics import Statistic


class Steps(Protocol):
    """What one step between neighbouring groups is."""

    def highest(
        self, statistic: Statistic, x: Histograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        """The largest statistic within z >= 0 steps, among groups of at least `floor` rows."""
        ...

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        """What must be at least N for a statistic above -infinity: n + w, or n."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A step adds or removes one row."""

    def highest(
        self, statistic: Statistic, x: Histograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        n = x.sizes[who]
        most = np.maximum(np.minimum(np.minimum(z, n), (n + z - floor) // 2), 0)
        return statistic.highest(x, who, z, most)

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        return n + w


@dataclass(frozen=True, slots=True)
class Replacements:
    """A step replaces the value of one row."""

    def highest(
        self, statistic: Statistic, x: Histograms, who: IntArray, z: IntArray, floor: int
    ) -> Fractions:
        del floor  # the number of rows stays as it is
        moved = np.minimum(z, x.sizes[who])
        return statistic.value(x, who, moved, moved)

    def smallest_size(self, n: IntArray, w: IntArray) -> IntArray:
        del w
        return n


@dataclass(frozen=True, slots=True, repr=False)
class Reach:
    """R(x, ·) of every group x of private histograms.

    Attributes:
        x: the groups.
        statistic: what is compared, in cells from 0.
        steps: what a step is.
        floor: N >= 1, the public number of rows below which a group has no statistic.
    """

    x: Histograms
    statistic: Statistic
    steps: Steps
    floor: int

    def at(self, who: IntArray, w: IntArray) -> Fractions:
        """R(x_who, w), with -1 for -infinity; every statistic is at least 0."""
        w = np.clip(w, *self.ends(who))
        up = np.flatnonzero(w >= 0)
        down = np.flatnonzero(w < 0)
        parts = [self._highest(who[up], w[up]), self._lowest(who[down], -w[down])]
        best = Fractions.joined(parts).taken(np.argsort(np.concatenate([up, down])))
        known = self.steps.smallest_size(self.x.sizes[who], w) >= self.floor
        return best.where(known, -1)

    def ends(self, who: IntArray) -> tuple[IntArray, IntArray]:
        """The w beyond which R does not change."""
        n = self.x.sizes[who]
        return -(n + 1), n + self.floor

    def _highest(self, who: IntArray, z: IntArray) -> Fractions:
        return self.steps.highest(self.statistic, self.x, who, z, self.floor)

    def _lowest(self, who: IntArray, z: IntArray) -> Fractions:
        mirrored = self.steps.highest(self.statistic.mirrored(), self.x.mirrored, who, z, 1)
        return mirrored.subtracted_from(self.statistic.largest(self.x.top))
