"""Percentiles without a grid: the records are read once, and answers drawn by runs of candidates.

Of the column only distinct values and their counts are kept (`dampen.data.cells`); rows
without a number are dropped.  Theorem and proof are in `dampen.questions.percentile.decimals`.

Several percentiles without a grid: find a range first, then draw all of them together in it.

**Stage 1** spends `FINDING` of ε on two percentiles beyond those that are asked for, half way to
the ends: q_1 / 2 and (1 + q_J) / 2, each by `dampen.questions.percentile.decimals` with half of it.
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

**The number of rows first.**  Where an end is open, the number of rows is private and nobody states
how many to expect, a first look counts them with discrete Laplace noise, at λ ε; a row more or less
moves the count by 1.  The rule about tails asks for n* = 75 S / (t ε') rows, with t = min(q, 1 - q)
of the percentile that is easiest to have and ε' = ε / parts, `tail_parts` of them.  λ is chosen
such that the noise has the scale n* / 3: λ = t / (25 S parts), 0.04 for a median, 0.002 for p = 95.
Below n* / 2 the answer is "too few rows" and the rest of ε is not charged (`Stepwise` has the
theorem).  That happens by mistake with probability e^(-3 (n / n* - 1/2)) / 2, 0.006 at n = 2 n*.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from dampen.core.mechanisms import EM
from dampen.core.noise import GUMBEL, pure_rho
from dampen.core.sampling import Entropy, discrete_laplace
from dampen.core.selection import IntArray, Neighbours
from dampen.data.cells import Grouping, GroupLookup, ValuesOf
from dampen.data.source import Opened
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.decimals import Candidates, Column, RankDraw
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import FEW, Taut, Way, together
from dampen.questions.percentile.methods import most_ranks
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_distance, by_tail, too_few
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak, Rest

__all__ = [
    "EqualRunShares",
    "RunDraws",
    "UnboundedMethod",
    "WithinRange",
    "read_columns",
    "several_draws",
]


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
    candidates: Candidates
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
        """Two draws of the exponential mechanism for the range; the rest is (1 - FINDING) ε-DP."""
        return composed_cost(
            self.neighbours,
            price,
            query=query,
            mechanism=self.name,
            rho=lambda e: GUMBEL.rho(FINDING * e, 2) + pure_rho((1 - FINDING) * e),
        )

    def farthest(self, _: Fraction, /) -> None:
        """No bound is known before the range is."""

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        """One code per percentile, in their order; None for too few rows: ε-DP."""
        found = self.range_of(column, epsilon * FINDING, entropy)
        if found is None:
            return [None] * len(self.points)
        listed = self.candidates.listed(*found, MOST_POINTS)
        drawn = self.together(column, listed, epsilon * (1 - FINDING), entropy)
        at = dict(zip(self.shares, listed[drawn].tolist(), strict=True))
        return [at[as_fraction(p) / 100] for p in self.points]

    def range_of(
        self, column: Column, epsilon: Fraction, entropy: Entropy
    ) -> tuple[int, int] | None:
        """Two codes, ascending, or None for too few rows: ε-DP."""
        beyond = (self.shares[0] / 2, (1 + self.shares[-1]) / 2)
        draws = (RankDraw(q * 100, self.candidates, self.neighbours) for q in beyond)
        drawn = [each.draw_or_none(column, epsilon / 2, entropy) for each in draws]
        if drawn[0] is None or drawn[1] is None:
            return None
        return min(drawn[0], drawn[1]), max(drawn[0], drawn[1])

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


SPLIT = 4
"""Up to so many percentiles ε is split; more are drawn together.  Chosen on seven columns."""

ENOUGH = 75
"""The rule about tails: n ε min(q, 1-q) / S must exceed this for an answer to be expected.

Below, "too few rows" becomes likely (`percentile.decimals`).  Without that candidate an answer
beyond ten times the range of the data would have a probability of up to 0.91 at 20, of 1.6e-5 at
50, and of 1e-10 at 75, on 30 columns (pressures are the worst)."""


COUNTING = 25
STOP = Fraction(1, 2)
"""Of the rows that the rule about tails asks for: below so many nothing more is charged."""


class RunDraws(Protocol):
    """How several percentiles are drawn; public parameters alone."""

    @property
    def tail_parts(self) -> Fraction:
        """A percentile in its tail is found as if it had ε divided by this."""
        ...

    def cost(self, price: Price, query: str, /) -> Cost:
        """What all of them cost together."""
        ...

    def farthest(self, epsilon: Fraction, /) -> float | None:
        """In 9 of 10 runs each is at most so many ranks worse than the best; None if unknown."""
        ...

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        """One code per percentile, in their order, none above that of a larger percentile.

        None for a percentile that the rows are too few for.
        """
        ...


@dataclass(frozen=True)
class EqualRunShares:
    """Each percentile by itself, at an equal and exact share of ε.

    ε-DP in total, by sequential composition, and sorting the answers is post-processing.

    Attributes:
        points: the percentiles as they were asked for.
        candidates: the possible answers.
        neighbours: what ε speaks of.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """

    points: tuple[Percent, ...]
    candidates: Candidates
    neighbours: Neighbours

    def __post_init__(self) -> None:
        self._draws()

    @property
    def tail_parts(self) -> Fraction:
        return Fraction(len(self.points))

    def cost(self, price: Price, query: str, /) -> Cost:
        return selection_cost(self.neighbours, price, query=query, mechanism=EM, k=len(self.points))

    def farthest(self, epsilon: Fraction, /) -> float:
        share = epsilon / len(self.points)
        return max(each.farthest(share) for each in self._draws())

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        share = epsilon / len(self.points)
        drawn = [each.draw_or_none(column, share, entropy) for each in self._draws()]
        ascending = iter(sorted(code for code in drawn if code is not None))
        in_order = sorted(range(len(drawn)), key=lambda i: as_fraction(self.points[i]))
        codes: list[int | None] = [None] * len(drawn)
        for i in in_order:
            if drawn[i] is not None:
                codes[i] = next(ascending)
        return codes

    def _draws(self) -> list[RankDraw]:
        return [RankDraw(p, self.candidates, self.neighbours) for p in self.points]


def several_draws(
    points: tuple[Percent, ...], candidates: Candidates, neighbours: Neighbours
) -> RunDraws:
    """How so many percentiles are drawn: a public rule.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """
    for draw in (RankDraw(p, candidates, neighbours) for p in points):
        if draw.open_tail == 0:
            raise ParameterError(
                f"p = {draw.p} needs a public end: beyond the data every number has the same rank. "
                "State lower= and upper=, or ask for a percentile such as 1 or 99."
            )
    different = len({as_fraction(p) for p in points})
    way = EqualRunShares if different <= SPLIT else WithinRange
    return way(points, candidates, neighbours)


@dataclass(frozen=True, kw_only=True)
class UnboundedMethod:
    """Values by rank among all decimals, or moments; in every group if there are groups.

    One ε for all groups, by parallel composition: see `dampen.data.cells`.

    Attributes:
        query: what is asked, for the ledger.
        column: of the numbers.
        by: the column of groups, if there are groups.
        grouping: the groups.
        candidates: the possible answers.
        draws: how they are drawn.
        points: the percentiles.
        several: whether the answer is a list.
        neighbours: what ε speaks of.
        rows: the number of rows, where it is public and known.
        counts: whether a first look counts the rows, see the module.
    """

    query: str
    column: str
    by: str | None
    grouping: Grouping | None
    candidates: Candidates
    draws: RunDraws
    points: tuple[Percent, ...]
    several: bool
    neighbours: Neighbours
    rows: int | None
    counts: bool = False

    def cost(self, price: Price, /) -> Cost:
        """Of both looks: the part λ of ε pays for the count, the rest for the answer."""
        part = self.counting
        if not part:
            return self.draws.cost(price, self.query)

        def answering(epsilon: Fraction) -> Cost:
            return self.draws.cost(Price((1 - part) * epsilon), self.query)

        def rho(epsilon: Fraction) -> Fraction:
            return pure_rho(part * epsilon) + answering(epsilon).rho

        epsilon = price.asked(rho)
        return replace(answering(epsilon), epsilon=epsilon, rho=rho(epsilon))

    @property
    def counting(self) -> Fraction:
        """λ: the part of ε that counts the rows; 0 if nothing does."""
        easiest = max(min(q, 1 - q) for q in self._shares)
        if not self.counts or not easiest:
            return Fraction(0)
        return easiest / (COUNTING * self._span(easiest) * self.draws.tail_parts)

    def first_cost(self, cost: Cost, /) -> Cost | None:
        part = self.counting
        if not part:
            return None
        price = Price(part * cost.epsilon)
        return composed_cost(self.neighbours, price, query=self.query, mechanism="count")

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.rows if self.rows is not None else rows
        if n is not None and (needed := self._too_few(n, epsilon)) is not None:
            return needed
        return self._distance(epsilon, n)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        if self.counting:
            begun = self.begin(source, epsilon, entropy)
            return begun if isinstance(begun, Drawn) else begun(entropy)
        lookup = None if self.grouping is None else self.grouping.lookup(source, str(self.by))
        columns, n = read_columns(source, self.column, self.candidates, lookup)
        answers = [self._values(column, epsilon, entropy) for column in columns]
        if lookup is not None:
            return Drawn(dict(zip(lookup.groups, answers, strict=True)))
        if self.neighbours is not Neighbours.REPLACE_ONE:
            return Drawn(answers[0], accuracy=too_few() if self._lacks(answers[0]) else None)
        return Drawn(answers[0], {"n": n}, self.accuracy(epsilon, n))

    def begin(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        """Counts the rows, noisily; goes on unless they are too few for every percentile."""
        [column], _ = read_columns(source, self.column, self.candidates)
        part = self.counting
        [noise] = discrete_laplace(1 / (part * epsilon), 1, entropy).tolist()
        n = max(column.n + noise, 0)
        shown = {"epsilon_for_rows": decimal_text(part * epsilon)}
        needed = Fraction(ENOUGH) / (COUNTING * part * epsilon)
        if n < needed * STOP:
            nothing = [None] * len(self.points) if self.several else None
            return Drawn(nothing, shown, self._few(n, epsilon))

        def rest(bits: Entropy) -> Drawn:
            found = self._values(column, (1 - part) * epsilon, bits)
            return Drawn(found, shown, self._few(n, epsilon) if self._lacks(found) else None)

        return rest

    def _lacks(self, found: Any) -> bool:
        return found is None or (self.several and None in found)

    def _few(self, n: int, epsilon: Fraction) -> Accuracy:
        """What is said of a noisy number of rows where a percentile was not answered."""
        return self._too_few(n, epsilon, noisy=True) or too_few()

    @property
    def _shares(self) -> list[Fraction]:
        return [as_fraction(p) / 100 for p in self.points]

    def _span(self, tail: Fraction) -> Fraction:
        return Fraction(1) if self.neighbours is Neighbours.REPLACE_ONE else 1 - tail

    def _values(self, column: Column, epsilon: Fraction, entropy: Entropy) -> Any:
        codes = self.draws.draw(column, epsilon, entropy)
        values = [None if code is None else self.candidates.value(code) for code in codes]
        return values if self.several else values[0]

    def _distance(self, epsilon: Fraction, n: int | None) -> Accuracy:
        """How many ranks off, whatever the data is."""
        ranks = self.draws.farthest(epsilon)
        public = self.neighbours is Neighbours.REPLACE_ONE
        most = None if n is None else most_ranks(self.points, n, public=public)
        if ranks is None:
            return UNKNOWN
        if most is not None:
            ranks = min(ranks, most)
        subject = "the value" if len(self.points) == 1 else "each value"
        return by_distance(
            ranks,
            "ranks",
            subject=subject if self.by is None else f"{subject} of a group",
            target="the percentile" if len(self.points) == 1 else "its percentile",
            epsilon=epsilon,
        )

    def _too_few(self, n: int, epsilon: Fraction, *, noisy: bool = False) -> Accuracy | None:
        """What the rule about tails says of n rows, if they are too few."""
        parts = self.draws.tail_parts
        share = epsilon / parts
        hardest = min(self._shares, key=lambda q: min(q, 1 - q))
        tail = min(hardest, 1 - hardest)
        span = self._span(tail)
        if n * share * tail > ENOUGH * span:
            return None
        bound = Fraction(ENOUGH) * parts / max(n, 1)
        return by_tail(
            n,
            p=hardest * 100,
            epsilon=epsilon,
            needed=bound * span / tail if tail else None,
            first=_first_share(share * n, self.neighbours),
            noisy=noisy,
        )


def _first_share(strength: Fraction, neighbours: Neighbours) -> Fraction | None:
    """The smallest share, in percent, that n ε = `strength` is enough for; None for none."""
    for tenths in range(1, 501):
        q = Fraction(tenths, 1000)
        span = Fraction(1) if neighbours is Neighbours.REPLACE_ONE else 1 - q
        if strength * q > ENOUGH * span:
            return q * 100
    return None


def read_columns(
    source: Opened,
    name: str,
    candidates: Candidates,
    lookup: GroupLookup | None = None,
) -> tuple[list[Column], int]:
    """The column, or that of every group, and the number of rows with those without a number.

    Args:
        source: the opened data; its rows are read.
        name: the column of numbers.
        candidates: which tell the code of a number.
        lookup: of the public groups; rows of others are dropped.
    """
    found = ValuesOf(name, lookup).of(source)
    columns = [Column.of(candidates.codes(numbers), rows) for numbers, rows in found.parts()]
    return columns, int(found.rows.sum() + found.missing.sum())
