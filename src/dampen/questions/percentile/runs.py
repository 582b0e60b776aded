"""Percentiles on more candidates than anyone could list, drawn by runs of equal utility.

Candidates g are public and have public weights w(g) (`dampen.questions.percentile.decimals`).  Of
the n records that have a number, L(g) are below g and R(g) at most g.  With the share q = p / 100,

    u(x, g) = -max(0, L(g) - q n, q n - R(g))

is 0 where a share of at most q lies below g and a share of at least q at or below it.

**Lemma.**  One record more or less moves every u by at most s = max(q, 1 - q).  One record that is
replaced, where a missing number may take the place of a number, moves every u by at most 1.
Proof.  A record more moves L - q n by 1 - q if it is below g and by -q if not; q n - R by q if it
is above g and by -(1 - q) if not.  Records without a number move nothing.  Where a number takes the
place of another, n stays, and L and R move by at most 1 each. ∎

**Theorem.**  The exponential mechanism with a prior, P(g) proportional to w(g) exp(ε u(x, g) / 2S),
is ε-DP: for adding or removing a record with S = s, for replacing one with S = 1.
Proof.  A neighbour changes the numerator by a factor of at most e^(ε/2), and each term of the sum
below it, hence the sum; w is the same for both. ∎
It has ε-bounded range as well, and so costs ε²/8 in zCDP.

**By runs.**  u is constant on the candidates between two neighbouring values, and on the candidate
at a value.  So d distinct values make at most 2d + 1 runs.  A run is drawn with probability
proportional to its mass, the sum of its weights, times exp(ε u / 2S); then a candidate in it by
weight.  The masses are whole numbers and their logarithms are refined together with the noise
(`dampen.core.sampling.weighted_best`), so the law is exactly the theorem's: nothing is rounded.
The work grows with the records, not with the candidates.

**Accuracy.**  A record's own number is a candidate (or, with a step, lies between two).  The best
candidate weighs at least w_min, all of them W together.  Candidates that are worse by more than
r ranks are drawn with a probability of at most 0.1 if W exp(-ε r / 2S) <= w_min / 9.

**Tails.**  Ranks hide absurd answers: beyond the largest record every number has the same rank.  Of
n records those at the ends are left behind with a probability that falls with n min(q, 1-q) ε / 2S,
while all numbers beyond them have far more prior weight.  `lasts` says from which n on the answer
lies within the data's range: a public rule, stated before the charge where n is public.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from dampen.core.sampling import Entropy, uniform_below, weighted_best
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.decimals import Decimals
from dampen.questions.percentile.values import FINEST

__all__ = ["Column", "RankDraw", "Runs"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """The distinct values of some records as codes, ascending, and how often each occurs; private.

    Attributes:
        codes: of the distinct values.
        counts: how many records have each.
    """

    codes: IntArray
    counts: IntArray

    @classmethod
    def of(cls, codes: IntArray, counts: IntArray | None = None) -> "Column":
        """From codes in any order, once or with their counts."""
        distinct, place = np.unique(codes, return_inverse=True)
        if counts is None:
            return cls(distinct, np.bincount(place, minlength=len(distinct)))
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, place, counts)
        return cls(distinct, total)

    @property
    def n(self) -> int:
        """How many records have a number."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Runs:
    """The runs of equal utility that hold any candidate, ascending; private.

    Attributes:
        start: the mass of the candidates before each run.
        mass: of its candidates.
        less: L of its candidates.
        at_most: R of its candidates.
    """

    start: IntArray
    mass: IntArray
    less: IntArray
    at_most: IntArray

    @classmethod
    def of(cls, column: Column, candidates: Decimals) -> "Runs":
        """Before the first value, at it, between it and the second, and so on."""
        upto = np.empty(2 * len(column.codes) + 1, dtype=np.int64)
        upto[:-1:2] = candidates.mass(column.codes - 1)
        upto[1::2] = candidates.mass(column.codes)
        upto[-1] = candidates.total
        start = np.concatenate([[0], upto[:-1]])
        ranks = np.concatenate([[0], np.cumsum(column.counts)])
        less = np.repeat(ranks, 2)[:-1]
        at_most = np.repeat(ranks, 2)[1:]
        held = upto > start
        return cls(start[held], (upto - start)[held], less[held], at_most[held])


@dataclass(frozen=True)
class RankDraw:
    """One percentile by the exponential mechanism on ranks; public parameters alone.

    Attributes:
        p: which percentile, 0 to 100, with at most four decimals.
        candidates: the possible answers and their weights.
        neighbours: replace one record, or add or remove one.

    Raises:
        ParameterError: if p has more decimals.
    """

    p: Percent
    candidates: Decimals
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if self.share.denominator > FINEST:
            raise ParameterError(f"Expected p with at most four decimals, got p={self.p}.")

    @property
    def share(self) -> Fraction:
        """q."""
        return as_fraction(self.p) / 100

    @property
    def span(self) -> Fraction:
        """S."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return Fraction(1)
        return max(self.share, 1 - self.share)

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy) -> int:
        """The code of a candidate: ε-DP."""
        runs = Runs.of(column, self.candidates)
        u = self.utility(runs, column.n)
        run = weighted_best(u, runs.mass, self.scale(epsilon), entropy)
        place = uniform_below(int(runs.mass[run]), entropy)
        return self.candidates.code_at(int(runs.start[run]) + place)

    def utility(self, runs: Runs, n: int) -> FloatArray:
        """u of every run, times the denominator of q: whole numbers, exact as floats."""
        P = self.share.numerator
        Q = self.share.denominator
        away = np.maximum(Q * runs.less - P * n, P * n - Q * runs.at_most)
        return -np.maximum(away, 0).astype(np.float64)

    def scale(self, epsilon: Fraction) -> Fraction:
        """What `utility` is multiplied by in the exponent."""
        return epsilon / (2 * self.span * self.share.denominator)

    def law(self, runs: Runs, n: int, epsilon: Fraction) -> FloatArray:
        """The probability of every run, to about 1e-12; not private."""
        exponent = self.utility(runs, n) * float(self.scale(epsilon)) + np.log(runs.mass)
        weight = np.exp(exponent - exponent.max())
        return np.asarray(weight / weight.sum())

    def farthest(self, epsilon: Fraction) -> float:
        """r: in 9 of 10 runs the answer is at most so many ranks worse than the best candidate."""
        odds = log(9) + log(self.candidates.total) - log(self.candidates.least)
        return float(2 * self.span / epsilon) * odds
