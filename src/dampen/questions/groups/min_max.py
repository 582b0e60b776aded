"""The best group where a person may be in many groups: the min-max score.

Neighbours differ in one person with all their rows.  Inside *each* group a person weighs Q, shared
by their rows there (`dampen.data.units.Shares`, within lines); so a person moves the counts of
every group by at most Q, and may move those of all groups at once.  Reach with weights that are
shared by all groups would have to divide the person among them.

**Score.**  For a group g and a point v of the public grid, a_g(v) = min{z : R_g(z) >= v} is how far
g must be pushed upwards to reach v, below 0 how far it can be pushed down
(`dampen.questions.groups.reach`, in units of 1/Q).  With a public offset c >= 0,

    s_g = max over v of min(-a_g(v) - c, min over h != g of a_h(v) + c - 1):

-s_g is how far all groups must be pushed, g up and the others down, for g to be the best.  Without
a grid v is any number, or infinite: a_g changes at values of g alone, so that the maximum over the
values of all groups is the maximum over all numbers.

**Theorem.**  A person moves every s_g by at most Q, however many groups they are in.  So
permute-and-flip with the exponent ε s / (2 Q) is ε-DP for one person, and k answers that are drawn
one after the other at ε/k each are too.  Proof.  By the lemma of reach, once for each of at most Q
steps, R(x, z-Q) <= R(y, z) <= R(x, z+Q) for a group with and without the person, so a_g(v) moves by
at most Q.  A minimum or maximum of numbers that move by at most Q, over public sets, moves by at
most Q. ∎  It is not one-sided: without the factor 2 the loss is up to 2 ε (tests show it).

**Search.**  a_g(v) never falls as v grows.  So the first term falls, the second one rises, and the
maximum is where they cross: a bisection over v, and for every a_g(v) one over z.

**Caution** is the offset c = 2 caution Q / ε, the scale of the noise: a group that can be pushed
anywhere, because it has few persons, must prove itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from dampen.core import sensitivity
from dampen.core.mechanisms import Mechanism, probabilities, select
from dampen.core.noise import EXPONENTIAL
from dampen.core.sampling import Entropy
from dampen.core.scores import Global
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.groups.reach import Reach
from dampen.questions.groups.statistics import Fractions, Quantile, Statistic

__all__ = ["MIN_MAX", "ByMinMax"]

MIN_MAX = Mechanism("min-max", Global(), EXPONENTIAL)


@dataclass(frozen=True, slots=True, repr=False)
class ByMinMax:
    """The private reach of every group, in weights within the group, ready to be drawn from.

    Attributes:
        reach: of the weights.
        quantum: Q.
        caution: see above.
    """

    reach: Reach
    quantum: int
    caution: Fraction

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first, one at a time at ε/k each: ε-DP for one person."""
        left = list(range(len(self.reach.x.sizes)))
        best = []
        for _ in range(k):
            selection = self.selection(left, epsilon / k)
            place = select(selection, epsilon=epsilon / k, mechanism=MIN_MAX, entropy=entropy)
            best.append(left.pop(place))
        return best

    def probabilities(self, groups: Sequence[int], epsilon: Fraction) -> FloatArray:
        """The probability of every group to be the best of some; not private."""
        return probabilities(self.selection(groups, epsilon), epsilon=epsilon, mechanism=MIN_MAX)

    def selection(self, groups: Sequence[int], epsilon: Fraction) -> Selection:
        """The scores of some groups among themselves."""
        scores = self.scores(np.asarray(groups), floor(2 * self.caution * self.quantum / epsilon))
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


def _reaches(statistic: Statistic, at: Fractions, v: IntArray) -> NDArray[np.bool_]:
    """Which statistics are at least v: on a grid the start of its cell, else its value."""
    if not isinstance(statistic, Quantile):
        return at.whole >= v
    if statistic.end == "middle":
        return at.whole >= v * statistic.unit
    return statistic.reaches(at, v)
