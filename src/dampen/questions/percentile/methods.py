"""How the values of percentiles are drawn from ranks: each at its share of ε, or all together.

What an answer about a percentile will be worth, from public facts alone.

**Values.**  Let r be the lead that one of as many candidates as the grid has points needs
(`dampen.releases.accuracy`).  Points whose rank error is by more than r above the best point's are
drawn with a probability of at most 0.1, for the best one beats all of them with a probability of
0.9.

**Several values together.**  The bound of `Taut.farthest`, for all of them at once.

**What is possible.**  Of n values no point is more than max(k, n + 1 - k) ranks from the rank k.

**Records in two stages.**  Whatever the interval is, the utility of a record is 0 or 1, so that no
record is more likely than one that is alone inside: the probability of `least_probability` at a
lead of ε3 among n records.  Of k records: with no record inside, each is named with probability
k/n, and to move one inside changes that by e^ε3 at most, and 1 - k/n too.  So no record is named
with a probability above min(e^ε3 k/n, 1 - e^-ε3 (1 - k/n)), whatever else is inside: others only
lower it.

**Records in one draw.**  If all scores lie within s of each other, no record is more likely than
one that is s above all others, in any of k draws at ε/k each.  s is 1 for u / Λ and for D = u / δ,
both in [-1, 0].  For D of u - Λ it is 7/3: -D is at least 1, since δ <= Λ; and at most 10/3, since
δ(0) >= |u|, and the remaining Λ is covered by δ(1) >= Λ/3 and δ(t) >= Λ/2 for t >= 2
(`dampen.paper.percentile_selection`).  SLD has no such bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Protocol

import numpy as np

from dampen.core.mechanisms import PF, Mechanism, select
from dampen.core.sampling import Entropy
from dampen.core.scores import Dampened, Global
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.paper.percentile_selection import Percent, as_fraction, rank
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import Way
from dampen.questions.percentile.record_two_stages import Shares
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows, ValueGrid
from dampen.releases.accuracy import (
    UNKNOWN,
    Accuracy,
    by_distance,
    by_likeliest,
    lead,
    least_probability,
)
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost

__all__ = [
    "Draws",
    "EqualShares",
    "Together",
    "likeliest_in_one_draw",
    "likeliest_in_two_stages",
    "most_ranks",
    "record_accuracy",
    "value_accuracy",
]


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


def value_accuracy(
    ranks: float | None, subject: str, *, epsilon: Fraction, most: float | None
) -> Accuracy:
    """Of one value or several that are at most so many ranks off; None where that is not known."""
    if ranks is None:
        return UNKNOWN
    return by_distance(
        ranks,
        "ranks",
        subject=subject,
        target="the percentile" if subject.startswith("the value") else "its percentile",
        than="the best point of the grid",
        epsilon=epsilon,
        most=most,
    )


def most_ranks(points: Sequence[Percent], n: int, *, public: bool) -> float:
    """The farthest that any value can be from its percentile, of at most n values.

    Args:
        points: the percentiles.
        n: the number of values, or a bound on it.
        public: whether it is the number that neighbours share.
    """
    if public:
        ranks = [rank(p, max(n, 1)) for p in points]
        return float(max(max(k, n + 1 - k) for k in ranks))
    shares = [as_fraction(p) / 100 for p in points]
    return float(n * max(max(q, 1 - q) for q in shares))


def likeliest_in_two_stages(n: int, epsilon: Fraction, k: int = 1) -> float:
    """The largest probability with which any record can be named, whatever the data is."""
    share = min(k / n, 1.0)
    e = float(Shares.of(epsilon).label)
    if k > 1:
        return min(exp(min(e, 300.0)) * share, 1 - exp(-e) * (1 - share))
    found = least_probability(PF, m=n, k=1, g=e)
    assert found is not None
    return found


def likeliest_in_one_draw(
    mechanism: Mechanism, n: int, epsilon: Fraction, *, k: int = 1, width: float
) -> float | None:
    """The same where k records are drawn one after the other; None if no bound is known.

    Args:
        mechanism: how they are drawn.
        n: how many records there are.
        epsilon: of all draws together.
        k: how many are named.
        width: Λ.
    """
    span = _span(mechanism, width)
    if span is None:
        return None
    total = 0.0
    for named in range(min(k, n)):
        one = least_probability(mechanism, m=n - named, k=1, g=span * float(epsilon) / (2 * k))
        if one is None:
            return None
        total += one
    return min(total, 1.0)


def record_accuracy(likeliest: float | None, n: int, k: int, epsilon: Fraction) -> Accuracy:
    """Of k of n records, none of which is named with a larger probability than `likeliest`."""
    if likeliest is None:
        return UNKNOWN
    return by_likeliest(
        likeliest,
        who=("record", "records"),
        n=n,
        k=k,
        epsilon=epsilon,
        instead="Ask for the value with dampen.percentile, or use a larger ε.",
    )


def _span(mechanism: Mechanism, width: float) -> float | None:
    """s."""
    match mechanism.score:
        case Global():
            return 1.0
        case Dampened(shift=shift) if shift == 0:
            return 1.0
        case Dampened(shift=shift) if shift == width:
            return 7 / 3
    return None
