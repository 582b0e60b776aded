"""Percentiles without a grid: the records are read once, and answers drawn by runs of candidates.

The column comes in batches, of which only distinct values and their counts are kept; rows without a
number are dropped.  Theorem and proof are in `dampen.questions.percentile.runs`.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dampen.core.mechanisms import EM
from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours
from dampen.data.cells import Grouping
from dampen.data.columns import Lookup, as_numbers
from dampen.data.source import Kind, Opened, reading
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.accuracy import most_ranks
from dampen.questions.percentile.decimals import Decimals
from dampen.questions.percentile.runs import Column, RankDraw
from dampen.questions.percentile.within_range import WithinRange
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_distance, by_tail
from dampen.releases.cost import Cost, Price, selection_cost
from dampen.releases.method import Drawn, Leak

__all__ = ["EqualRunShares", "RunDraws", "UnboundedMethod", "read_columns", "several_draws"]

SPLIT = 4
"""Up to so many percentiles ε is split; more are drawn together.  Chosen on seven columns."""

ENOUGH = 50
"""The rule about tails: n ε min(q, 1-q) / S must exceed this.

At 20 an answer lay beyond ten times the range of the data with a probability of up to 0.87, on
columns such as years; in all cells of the study that pass, with at most 10^-6 (`dampen-studies run
unbounded`).  The number was chosen on most of the same columns.
"""


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

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        """One code per percentile, in their order, none above that of a larger percentile."""
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
    candidates: Decimals
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

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        share = epsilon / len(self.points)
        drawn = sorted(each.draw(column, share, entropy) for each in self._draws())
        in_order = sorted(range(len(drawn)), key=lambda i: as_fraction(self.points[i]))
        codes = [0] * len(drawn)
        for i, code in zip(in_order, drawn, strict=True):
            codes[i] = code
        return codes

    def _draws(self) -> list[RankDraw]:
        return [RankDraw(p, self.candidates, self.neighbours) for p in self.points]


def several_draws(
    points: tuple[Percent, ...], candidates: Decimals, neighbours: Neighbours
) -> RunDraws:
    """How so many percentiles are drawn: a public rule.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """
    different = len({as_fraction(p) for p in points})
    way = EqualRunShares if different <= SPLIT else WithinRange
    return way(points, candidates, neighbours)


@dataclass(frozen=True, kw_only=True)
class UnboundedMethod:
    """Values by rank among all decimals; in every group if there are groups.

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
    """

    query: str
    column: str
    by: str | None
    grouping: Grouping | None
    candidates: Decimals
    draws: RunDraws
    points: tuple[Percent, ...]
    several: bool
    neighbours: Neighbours
    rows: int | None

    def cost(self, price: Price, /) -> Cost:
        return self.draws.cost(price, self.query)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.rows if self.rows is not None else rows
        if n is not None and (needed := self._too_few(n, epsilon)) is not None:
            return needed
        return self._distance(epsilon, n)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        groups = None if self.grouping is None else self.grouping.groups
        columns, n = read_columns(source, self.column, self.candidates, self.by, groups)
        answers = [self._values(column, epsilon, entropy) for column in columns]
        if groups is not None:
            return Drawn(dict(zip(groups, answers, strict=True)))
        if self.neighbours is not Neighbours.REPLACE_ONE:
            return Drawn(answers[0])
        return Drawn(answers[0], {"n": n}, self.accuracy(epsilon, n))

    def _values(self, column: Column, epsilon: Fraction, entropy: Entropy) -> Any:
        codes = self.draws.draw(column, epsilon, entropy)
        values = [self.candidates.value(code) for code in codes]
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

    def _too_few(self, n: int, epsilon: Fraction) -> Accuracy | None:
        """What the rule about tails says of n rows, if they are too few."""
        parts = self.draws.tail_parts
        share = epsilon / parts
        shares = [as_fraction(p) / 100 for p in self.points]
        hardest = min(shares, key=lambda q: min(q, 1 - q))
        tail = min(hardest, 1 - hardest)
        span = Fraction(1) if self.neighbours is Neighbours.REPLACE_ONE else 1 - tail
        if n * share * tail > ENOUGH * span:
            return None
        bound = Fraction(ENOUGH) * parts / max(n, 1)
        return by_tail(
            n,
            p=hardest * 100,
            epsilon=epsilon,
            needed=bound * span / tail if tail else None,
            first=_first_share(share * n, self.neighbours),
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
    candidates: Decimals,
    by: str | None = None,
    groups: "tuple[Hashable, ...] | Any" = None,
) -> tuple[list[Column], int]:
    """The column, or that of every group, and the number of rows with those without a number.

    Args:
        source: the opened data; its rows are read.
        name: the column of numbers.
        candidates: which tell the code of a number.
        by: the column of groups.
        groups: the public groups; rows of others are dropped.
    """
    lookup = None if groups is None else Lookup(groups)
    wanted: dict[str, Kind] = {name: "numbers"}
    if lookup is not None:
        wanted[str(by)] = lookup.kind
    size = 1 if lookup is None else len(lookup)
    parts: list[list[Column]] = [[] for _ in range(size)]
    n = 0
    with reading(source.batches(wanted)) as stream:
        for batch in stream:
            numbers = as_numbers(batch[name])
            n += len(numbers)
            place = (
                np.zeros(len(numbers), dtype=np.int64)
                if lookup is None
                else lookup.positions(batch[str(by)])
            )
            for group, codes in _by_group(numbers, place, size, candidates):
                parts[group].append(Column.of(codes))
    return [_merged(part) for part in parts], n


def _by_group(
    numbers: Any, place: IntArray, size: int, candidates: Decimals
) -> list[tuple[int, IntArray]]:
    """The codes of the numbers of every group, missing ones left out."""
    held = ~np.isnan(numbers) & (place >= 0)
    codes = candidates.codes(numbers[held])
    if size == 1:
        return [(0, codes)]
    group = place[held]
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(size + 1))
    codes = codes[order]
    return [(i, codes[ends[i] : ends[i + 1]]) for i in range(size) if ends[i] < ends[i + 1]]


def _merged(parts: list[Column]) -> Column:
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, dtype=np.int64)
    codes = np.concatenate([none, *(part.codes for part in parts)])
    return Column.of(codes, np.concatenate([none, *(part.counts for part in parts)]))
