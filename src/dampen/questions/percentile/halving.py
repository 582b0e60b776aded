"""Many percentiles for one ε, by halving (after Kaplan, Schnapp, Stemmer, 2022).

Splitting ε among m percentiles costs a factor m.  Halving costs log2 m: ask for the middle one;
what is below its answer serves the smaller percentiles, what is above it the larger ones, and one
record is on one side only.  So all questions of one level share one ε.

**Cuts.**  g_1 < g_2 < ... is a public grid, L_i = #{x < g_i}, R_i = #{x <= g_i}.  Where records
tie at an answer g_i, the percentile lies *inside* the tie, and all of it on one side would shift
the others.  So a cut is a pair (i, θ), 0 <= θ <= B: of each record at g_i a share θ/B lies below it
and the rest above, F(i, θ) = L_i + (R_i - L_i) θ / B in all.  A question is about the records
between two cuts a <= b: they weigh N = F(b) - F(a) together, a single one weighs w <= 1.

**A question** has a public share q and asks for

- *a cut* (i, θ) from a to b, if there are further questions: u(i, θ) = -|F(i, θ) - F(a) - q N|.
  Its point is the answer.  Where the grid is so fine that all pairs are too many (`AT_ONCE`), first
  a point, as in the last questions, then θ in it, at half of the ε each;
- *a point* g_i from a to b, if it is the last question here.  With l_i = max(L_i - F(a), 0) below
  it and r_i = min(R_i, F(b)) - F(a) up to it, u(i) = -max(0, l_i - q N, q N - r_i).

q = (q_j - q_a) / (q_b - q_a), where a and b are the cuts at the percentiles q_a and q_b, or the
ends 0 and 1.  The answers are ordered as the percentiles are.

**Lemma.**  A record of weight w that comes or goes moves u by at most w s, s = max(q, 1 - q).
Proof.  It moves N by w; l_i and F(i, θ) by between 0 and w; r_i too.  So l_i - q N and
F(i, θ) - F(a) - q N move by between -qw and (1-q) w, q N - r_i by between -(1-q) w and qw. ∎

**Theorem.**  Let every question of a level be drawn by permute-and-flip with the exponent
ε' u / (2S), or half of it twice, for a point and for θ.  The level is ε'-DP

- for adding or removing one record, with S = s of the question itself;
- for replacing one, with S = max(1, the sum of the two largest s of the level), for all questions.

With ε' = ε / levels the whole is ε-DP by adaptive composition.  Proof.  Cuts of earlier levels are
public, so the questions of a level are fixed, and the weights of one record in them sum to 1.  A
score that moves by at most d in u costs ε' d / S.  One record coming or going costs at most
Σ w s ε' / s = ε'.  Replacing one moves its weight from some questions to others; take it as moving
shares π_jk from question j to k.  For j ≠ k such a share costs at most π_jk (s_j + s_k) ε' / S.
Within one question it moves l_i - q N by at most q π + (1-q) π = π, hence costs π ε' / S.  All of
it costs at most ε' since Σ π_jk = 1. ∎

Cutting instead at the data's own rank q N, without a draw, is *not* private: tests show it.

**Rounding.**  Everything is integers: B, and q as a fraction, are multiplied out.  If a sensitivity
is above 2^20 then it and the utility are divided by one public number, utilities rounded down.
That costs every question that a record lies in up to 1 more, and inside a tie it may lie in all K
questions of its level: the sensitivities of the level pay for it by 2K each.  Proof.  Let M_k be
the sensitivities, divided, without that, all below 2^21, and d_k what one step moves the utilities
by before they are rounded down.  Σ d_k / M_k <= 1 by the theorem.  The level costs ε' times the sum
of d_k / (M_k + 2K), at most 1 - 2K / (2^21 + 2K), and of 1 / (M_k + 2K) where utilities are rounded
and M_k >= 2^20, at most K / (2^20 + 2K). ∎

**When.**  For the few percentiles on grids that are too large for
`dampen.questions.percentile.joint_tight`.  For two percentiles splitting is better: a public rule
(`worth_it`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import select
from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours, Selection

__all__ = ["Cut", "Halving", "Node", "Ranks", "levels_of", "within", "worth_it"]

AT_ONCE = 1 << 20
"""Cuts of one level that are drawn at once."""
MOST_PARTS = 1 << 12
LEAST_PARTS = 1 << 6
FEW = 2
"""Up to so many percentiles ε is split."""
LARGEST_SENSITIVITY = 1 << 20


def levels_of(m: int) -> int:
    """How many levels m different percentiles have.

    >>> [levels_of(m) for m in (1, 2, 3, 4, 9, 99)]
    [1, 2, 2, 3, 4, 7]
    """
    return m.bit_length()


def worth_it(m: int) -> bool:
    """Whether halving is better than splitting, for m different percentiles: a public rule."""
    return m > FEW


@dataclass(frozen=True, slots=True)
class Cut:
    """A place in the order of records: within the point, so many parts of B below it."""

    point: int
    part: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranks:
    """L and R of every point of the grid; private."""

    less: IntArray
    at_most: IntArray

    def up_to(self, cut: Cut, parts: int) -> int:
        """F of a cut, times B."""
        less = int(self.less[cut.point])
        at_most = int(self.at_most[cut.point])
        return parts * less + cut.part * (at_most - less)


@dataclass(frozen=True, slots=True)
class Node:
    """A question of the plan: which percentile, between which others, in whose share.

    Attributes:
        wanted: the position of its percentile.
        first: the first position that it and the questions below it answer.
        last: the position after the last one.
        level: from 0.
        share: q.
        span: S.
        rounding: what its sensitivity pays for rounding, 2K or 0.
    """

    wanted: int
    first: int
    last: int
    level: int
    share: Fraction
    span: Fraction
    rounding: int

    @property
    def asks_again(self) -> bool:
        return self.last - self.first > 1


@dataclass(frozen=True, slots=True)
class Halving:
    """Different percentiles, ascending, as exact shares between 0 and 1; all fields are public.

    Attributes:
        shares: the percentiles.
        neighbours: add or remove one record, or replace one.
        parts: B.
        at_once: whether a cut is one draw, or a point and then θ.
    """

    shares: tuple[Fraction, ...]
    neighbours: Neighbours
    parts: int
    at_once: bool
    name: ClassVar[str] = "halving"

    @classmethod
    def on(cls, points: int, shares: tuple[Fraction, ...], neighbours: Neighbours) -> "Halving":
        """For a grid of so many points."""
        parts = min(AT_ONCE // points, MOST_PARTS)
        if parts < LEAST_PARTS:
            return cls(shares, neighbours, MOST_PARTS, at_once=False)
        return cls(shares, neighbours, parts, at_once=True)

    @property
    def levels(self) -> int:
        return levels_of(len(self.shares))

    @property
    def zcdp_shares(self) -> int:
        """ρ is ε² over twice this."""
        return self.levels

    def farthest(self, _: Fraction) -> None:
        """No bound is known."""

    def draw(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One point of the grid per percentile, ascending: ε-DP."""
        answers = [0] * len(self.shares)
        nodes = {(n.first, n.last): n for n in self.plan()}
        asked = [((0, len(answers)), Cut(0, 0), Cut(len(ranks.less) - 1, self.parts))]
        while asked:
            where, a, b = asked.pop()
            node = nodes[where]
            cut = self._drawn(ranks, node, (a, b), epsilon / self.levels, entropy)
            answers[node.wanted] = cut.point
            asked += self.further(node, a, cut, b)
        return answers

    def _drawn(
        self,
        ranks: Ranks,
        node: Node,
        between: tuple[Cut, Cut],
        epsilon: Fraction,
        entropy: Entropy,
    ) -> Cut:
        """The answer, and where to cut for further questions, for the ε of a level."""
        a, b = between
        if node.asks_again and self.at_once:
            selection = self.cut(ranks, node, a, b)
            drawn = select(selection, epsilon=epsilon, mechanism="pf", entropy=entropy)
            return self.cut_at(a, drawn)
        share = epsilon / 2 if node.asks_again else epsilon
        selection = self.point(ranks, node, a, b)
        point = a.point + select(selection, epsilon=share, mechanism="pf", entropy=entropy)
        if not node.asks_again:
            return Cut(point, 0)
        first, last = within(point, a, b, self.parts)
        selection = self.cut(ranks, node, first, last)
        return self.cut_at(first, select(selection, epsilon=share, mechanism="pf", entropy=entropy))

    def plan(self) -> list[Node]:
        """All questions, level by level; they depend on nothing but the percentiles."""
        nodes: list[Node] = []
        ranges = [(0, len(self.shares))]
        for level in range(self.levels):
            share = {r: self._share(*r) for r in ranges}
            widest = sorted((max(q, 1 - q) for q in share.values()), reverse=True)
            two = max(sum(widest[:2], Fraction(0)), Fraction(1))
            span = {
                r: max(q, 1 - q) if self.neighbours is Neighbours.ADD_REMOVE_ROW else two
                for r, q in share.items()
            }
            largest = max(self._sensitivity(q, span[r]) for r, q in share.items())
            rounding = 2 * len(share) if largest > LARGEST_SENSITIVITY else 0
            for (first, last), q in share.items():
                middle = (first + last) // 2
                nodes.append(Node(middle, first, last, level, q, span[first, last], rounding))
            ranges = [part for r in ranges for part in _halves(*r)]
        return nodes

    def point(self, ranks: Ranks, node: Node, a: Cut, b: Cut) -> Selection:
        """The points from a to b."""
        low = ranks.up_to(a, self.parts)
        high = ranks.up_to(b, self.parts)
        here = slice(a.point, b.point + 1)
        P = node.share.numerator
        Q = node.share.denominator
        below = np.maximum(self.parts * ranks.less[here], low) - low
        up_to = np.minimum(self.parts * ranks.at_most[here], high) - low
        target = P * (high - low)
        return self._selection(
            np.maximum(np.maximum(Q * below - target, target - Q * up_to), 0), node
        )

    def cut(self, ranks: Ranks, node: Node, a: Cut, b: Cut) -> Selection:
        """The cuts from a to b, in order."""
        low = ranks.up_to(a, self.parts)
        high = ranks.up_to(b, self.parts)
        here = slice(a.point, b.point + 1)
        tie = (ranks.at_most - ranks.less)[here, None]
        below = self.parts * ranks.less[here, None] + tie * np.arange(self.parts + 1)
        P = node.share.numerator
        Q = node.share.denominator
        place = below.ravel()[a.part : below.size - self.parts + b.part] - low
        return self._selection(np.abs(Q * place - P * (high - low)), node)

    def cut_at(self, a: Cut, position: int) -> Cut:
        """The cut at a position of `cut`."""
        points, part = divmod(a.part + position, self.parts + 1)
        return Cut(a.point + points, part)

    def further(
        self, node: Node, a: Cut, middle: Cut, b: Cut
    ) -> Iterator[tuple[tuple[int, int], Cut, Cut]]:
        """The questions below, with the cuts around them."""
        if node.first < node.wanted:
            yield (node.first, node.wanted), a, middle
        if node.wanted + 1 < node.last:
            yield (node.wanted + 1, node.last), middle, b

    def _share(self, first: int, last: int) -> Fraction:
        """q of the middle one between its neighbours outside."""
        low = self.shares[first - 1] if first > 0 else Fraction(0)
        high = self.shares[last] if last < len(self.shares) else Fraction(1)
        wanted = self.shares[(first + last) // 2]
        return (wanted - low) / (high - low)

    def _sensitivity(self, share: Fraction, span: Fraction) -> int:
        """S times B and the denominator of q, rounded up."""
        return ceil(span * self.parts * share.denominator)

    def _selection(self, distance: IntArray, node: Node) -> Selection:
        """Minus the distance."""
        exact = self._sensitivity(node.share, node.span)
        by = max(exact // LARGEST_SENSITIVITY, 1)
        bound = -(-exact // by) + node.rounding
        return Selection(-(distance // by), sensitivity.constant(bound), exact=True)


def within(point: int, a: Cut, b: Cut, parts: int) -> tuple[Cut, Cut]:
    """The first and the last cut of a point between two cuts."""
    first = Cut(point, 0)
    last = Cut(point, parts)
    return a if a.point == point else first, b if b.point == point else last


def _halves(first: int, last: int) -> Sequence[tuple[int, int]]:
    middle = (first + last) // 2
    return [part for part in ((first, middle), (middle + 1, last)) if part[0] < part[1]]
