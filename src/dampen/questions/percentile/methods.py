"""How the values of percentiles are drawn from ranks: each at its share of ε, or all together."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dampen.core.mechanisms import Mechanism, select
from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import Way
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows, ValueGrid
from dampen.releases.accuracy import lead
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost

__all__ = ["Draws", "EqualShares", "Together"]


class Draws(Protocol):
    """How the points of a grid are drawn; public parameters alone."""

    def cost(self, price: Price, query: str, /) -> Cost:
        """What all of them cost together."""
        ...

    def farthest(self, epsilon: Fraction, /) -> float | None:
        """How many ranks farther than the best points they are, in 9 of 10 runs; None if unknown.

        Of `EqualShares` that is said of each alone, of `Together` of all at once.
        """
        ...

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        """One point per percentile, in their order, none above that of a larger percentile."""
        ...


@dataclass(frozen=True)
class EqualShares:
    """Each percentile by a mechanism on ranks, at an equal and exact share of ε.

    ε-DP in total, by sequential composition, and sorting the answers is post-processing.

    Raises:
        ParameterError: if a percentile has more decimals than its relation allows.
    """

    points: tuple[Percent, ...]
    grid: ValueGrid
    neighbours: Neighbours
    mechanism: Mechanism

    def __post_init__(self) -> None:
        self._of_nothing()

    def cost(self, price: Price, query: str, /) -> Cost:
        k = len(self.points)
        return selection_cost(self.neighbours, price, query=query, mechanism=self.mechanism, k=k)

    def farthest(self, epsilon: Fraction, /) -> float | None:
        share = epsilon / len(self.points)
        m = len(self.grid.points)
        farthest = 0.0
        for p, tiny in zip(self.points, self._of_nothing(), strict=True):
            needed = lead(tiny, self.mechanism, m=m, k=1, epsilon=share)
            if needed is None:
                return None
            farthest = max(farthest, needed / self._one_rank(p))
        return farthest

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        share = epsilon / len(self.points)
        picked = [
            select(one, epsilon=share, mechanism=self.mechanism, entropy=entropy)
            for one in self._selections(ranks.less, ranks.at_most, n)
        ]
        in_order = sorted(range(len(picked)), key=lambda i: as_fraction(self.points[i]))
        answers = [0] * len(picked)
        for i, drawn in zip(in_order, sorted(picked), strict=True):
            answers[i] = drawn
        return answers

    def _of_nothing(self) -> list[Selection]:
        """A selection of every percentile's kind."""
        none = np.zeros(1, np.int64)
        return list(self._selections(none, none, 1))

    def _selections(self, less: IntArray, at_most: IntArray, n: int) -> Iterator[Selection]:
        """One per percentile.  Of no values at all every candidate is as good."""
        lower = self.grid.lower
        upper = self.grid.upper
        step = self.grid.step
        for p in self.points:
            if self.neighbours is Neighbours.REPLACE_ONE and n > 0:
                known = PercentileValue(n=n, p=p, lower=lower, upper=upper, step=step)
                yield known.selection_of_ranks(less, at_most)
            else:
                rows = PercentileValueOfRows(p=p, lower=lower, upper=upper, step=step)
                yield rows.selection_of_ranks(less, at_most, n)

    def _one_rank(self, p: Percent) -> int:
        """What one rank counts in the utility."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 1
        return (as_fraction(p) / 100).denominator


@dataclass(frozen=True)
class Together:
    """Different percentiles in one release, for one ε (`dampen.questions.percentile.joint_tight`).

    Attributes:
        points: the percentiles as they were asked for, in any order, some perhaps twice.
        way: how they are drawn.
    """

    points: tuple[Percent, ...]
    way: Way

    def cost(self, price: Price, query: str, /) -> Cost:
        return composed_cost(
            self.way.neighbours,
            price,
            query=query,
            mechanism=self.way.name,
            shares=self.way.zcdp_shares,
        )

    def farthest(self, epsilon: Fraction, /) -> float | None:
        return self.way.farthest(epsilon)

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        del n
        drawn = self.way.draw(ranks, epsilon, entropy)
        at = dict(zip(self.way.shares, drawn, strict=True))
        return [at[as_fraction(p) / 100] for p in self.points]
