"""Several percentiles without a grid: find a range first, then draw all of them together in it.

**Stage 1** spends `FINDING` of ε on two percentiles beyond those that are asked for, half way to
the ends: q_1 / 2 and (1 + q_J) / 2, each by `dampen.questions.percentile.runs` with half of it.
They are public from then on, and so are the *points*: all decimals between them of as many digits
as leave at most `MOST_POINTS` of them.

**Stage 2** spends the rest on the percentiles themselves, together, on these points
(`dampen.questions.percentile.joint_tight`).  Its ways are those for adding or removing a record, in
which the number of records is private, as it is here: rows without a number are skipped.

**Theorem.**  With ε2 for stage 2 the whole is ε-DP for adding or removing a record, by adaptive
composition.  For replacing one, where a missing number may take the place of a number, it is if
stage 2 gets ε2 (1 - min π) in place of ε2 where up to nine percentiles are one joint draw, π being
the shares of records between them, and ε2 / 2 in its other ways.
Proof.  A number that goes missing, or comes, is a record less or more.  A number that takes the
place of another is one record less and one more, at most 2ε' for any way that is ε'-DP.  The joint
draw of up to nine moves its targets with n, so that they stay: the weight of the record leaves its
gaps and enters others, and TV moves by at most 2.  With α = ε' / 2s and s >= 2 (1 - min π) that
costs at most 2 · 2α = 2 ε' / s <= ε' / (1 - min π), and its rounding is paid for by ε'. ∎
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.decimals import Decimals
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import FEW, Taut, Way, together
from dampen.questions.percentile.runs import Column, RankDraw
from dampen.releases.cost import Cost, Price, composed_cost

__all__ = ["WithinRange"]

FINDING = Fraction(1, 3)
MOST_POINTS = 1 << 17


@dataclass(frozen=True)
class WithinRange:
    """Several percentiles in two stages; public parameters alone.

    Attributes:
        points: the percentiles as they were asked for, in any order, some perhaps twice.
        candidates: the possible answers.
        neighbours: what ε speaks of.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """

    points: tuple[Percent, ...]
    candidates: Decimals
    neighbours: Neighbours
    name = "joint-in-range"

    def __post_init__(self) -> None:
        for p in self.points:
            RankDraw(p, self.candidates, self.neighbours)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The different percentiles, ascending, as shares."""
        return tuple(sorted({as_fraction(p) / 100 for p in self.points}))

    @property
    def tail_parts(self) -> Fraction:
        """A percentile in its tail is found as if it had this part of ε: see `unbounded.ENOUGH`.

        Half of the share that finds the range, for half of the tail.
        """
        return 4 / FINDING

    def cost(self, price: Price, query: str, /) -> Cost:
        return composed_cost(self.neighbours, price, query=query, mechanism=self.name)

    def farthest(self, _: Fraction, /) -> None:
        """No bound is known before the range is."""

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        """One code per percentile, in their order: ε-DP."""
        found = self.range_of(column, epsilon * FINDING, entropy)
        listed = self.candidates.listed(*found, MOST_POINTS)
        drawn = self.together(column, listed, epsilon * (1 - FINDING), entropy)
        at = dict(zip(self.shares, listed[drawn].tolist(), strict=True))
        return [at[as_fraction(p) / 100] for p in self.points]

    def range_of(self, column: Column, epsilon: Fraction, entropy: Entropy) -> tuple[int, int]:
        """Two codes, ascending: ε-DP."""
        beyond = (self.shares[0] / 2, (1 + self.shares[-1]) / 2)
        draws = (RankDraw(q * 100, self.candidates, self.neighbours) for q in beyond)
        low, high = sorted(each.draw(column, epsilon / 2, entropy) for each in draws)
        return low, high

    def together(
        self, column: Column, listed: IntArray, epsilon: Fraction, entropy: Entropy
    ) -> list[int]:
        """Places among the listed candidates, ascending: ε-DP."""
        upto = np.concatenate([[0], np.cumsum(column.counts)])
        codes = np.clip(column.codes, listed[0], listed[-1])
        less = upto[np.searchsorted(codes, listed, side="left")]
        at_most = upto[np.searchsorted(codes, listed, side="right")]
        ranks = Ranks(less, at_most)
        way = self.way(len(listed))
        return way.draw(ranks, epsilon * self.part(way, epsilon), entropy)

    def way(self, size: int) -> Way:
        """How the percentiles are drawn on so many points."""
        way = together(self.shares, Neighbours.ADD_REMOVE_ROW, size)
        assert way is not None, "so few points are always few enough"
        return way

    def part(self, way: Way, epsilon: Fraction) -> Fraction:
        """How much of ε a way gets that is for adding and removing records."""
        if self.neighbours is not Neighbours.REPLACE_ONE:
            return Fraction(1)
        ends = (Fraction(0), *self.shares, Fraction(1))
        part = 1 - min(b - a for a, b in pairwise(ends))
        is_one_draw = isinstance(way, Taut) and way.fits(epsilon * part)
        return part if is_one_draw and len(self.shares) <= FEW else Fraction(1, 2)
