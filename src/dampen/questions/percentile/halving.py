"""Many percentiles for one ε: by halving, or from a tree of noisy counts.

- `Halving`: many percentiles for one ε, by halving (after Kaplan, Schnapp, Stemmer, 2022).
- `NoisyTree`: many percentiles for one ε, from a tree of noisy counts (after Hay et al., 2010).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, log, log1p, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import select
from dampen.core.noise import pure_rho
from dampen.core.sampling import LARGEST_SCALE, Entropy, discrete_laplace
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.paper.percentile_selection import rank
from dampen.releases.accuracy import CONFIDENCE
from dampen.releases.numbers import likely

__all__ = [
    "COUNTING",
    "Cut",
    "Halving",
    "Node",
    "NoisyTree",
    "Ranks",
    "levels_of",
    "list_error",
    "noisy_size",
    "shape",
    "target_ranks",
    "within",
    "worth_it",
]

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

    Splitting ε among m percentiles costs a factor m.  Halving costs log2 m: ask for the middle one;
    what is below its answer serves the smaller percentiles, what is above it the larger ones, and
    one record is on one side only.  So all questions of one level share one ε.

    **Cuts.**  g_1 < g_2 < ... is a public grid, L_i = #{x < g_i}, R_i = #{x <= g_i}.  Where records
    tie at an answer g_i, the percentile lies *inside* the tie, and all of it on one side would
    shift the others.  So a cut is a pair (i, θ), 0 <= θ <= B: of each record at g_i a share θ/B
    lies below it and the rest above, F(i, θ) = L_i + (R_i - L_i) θ / B in all.  A question is about
    the records between two cuts a <= b: they weigh N = F(b) - F(a) together, a single one weighs
    w <= 1.

    **A question** has a public share q and asks for

    - *a cut* (i, θ) from a to b, if there are further questions: u(i, θ) = -|F(i, θ) - F(a) - q N|.
      Its point is the answer.  Where the grid is so fine that all pairs are too many (`AT_ONCE`),
      first a point, as in the last questions, then θ in it, at half of the ε each;
    - *a point* g_i from a to b, if it is the last question here.  With l_i = max(L_i - F(a), 0)
      below it and r_i = min(R_i, F(b)) - F(a) up to it, u(i) = -max(0, l_i - q N, q N - r_i).

    q = (q_j - q_a) / (q_b - q_a), where a and b are the cuts at the percentiles q_a and q_b, or the
    ends 0 and 1.  The answers are ordered as the percentiles are.

    **Lemma.**  A record of weight w that comes or goes moves u by at most w s, s = max(q, 1 - q).
    Proof.  It moves N by w; l_i and F(i, θ) by between 0 and w; r_i too.  So l_i - q N and
    F(i, θ) - F(a) - q N move by between -qw and (1-q) w, q N - r_i by between -(1-q) w and qw. ∎

    **Theorem.**  Let every question of a level be drawn by permute-and-flip with the exponent ε'
    u / (2S), or half of it twice, for a point and for θ.  The level is ε'-DP

    - for adding or removing one record, with S = s of the question itself;
    - for replacing one, with S = max(1, the sum of the two largest s of the level), for all
      questions.

    With ε' = ε / levels the whole is ε-DP by adaptive composition.  Proof.  Cuts of earlier levels
    are public, so the questions of a level are fixed, and the weights of one record in them sum to
    1.  A score that moves by at most d in u costs ε' d / S.  One record coming or going costs at
    most Σ w s ε' / s = ε'.  Replacing one moves its weight from some questions to others; take it
    as moving shares π_jk from question j to k.  For j ≠ k such a share costs at most π_jk
    (s_j + s_k) ε' / S.  Within one question it moves l_i - q N by at most q π + (1-q) π = π, hence
    costs π ε' / S.  All of it costs at most ε' since Σ π_jk = 1. ∎

    Cutting instead at the data's own rank q N, without a draw, is *not* private: tests show it.

    **Rounding.**  Everything is integers: B, and q as a fraction, are multiplied out.  If a
    sensitivity is above 2^20 then it and the utility are divided by one public number, utilities
    rounded down.  That costs every question that a record lies in up to 1 more, and inside a tie it
    may lie in all K questions of its level: the sensitivities of the level pay for it by 2K each.
    Proof.  Let M_k be the sensitivities, divided, without that, all below 2^21, and d_k what one
    step moves the utilities by before they are rounded down.  Σ d_k / M_k <= 1 by the theorem.  The
    level costs ε' times the sum of d_k / (M_k + 2K), at most 1 - 2K / (2^21 + 2K), and of
    1 / (M_k + 2K) where utilities are rounded and M_k >= 2^20, at most K / (2^20 + 2K). ∎

    **When.**  For the few percentiles on grids that are too large for
    `dampen.questions.percentile.joint_tight`.  For two percentiles splitting is better: a public
    rule (`worth_it`).

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
        """The method for a grid of so many points."""
        parts = min(AT_ONCE // points, MOST_PARTS)
        if parts < LEAST_PARTS:
            return cls(shares, neighbours, MOST_PARTS, at_once=False)
        return cls(shares, neighbours, parts, at_once=True)

    @property
    def levels(self) -> int:
        return levels_of(len(self.shares))

    def rho(self, epsilon: Fraction) -> Fraction:
        """A level is ε'-DP, and so are its draws together."""
        return self.levels * pure_rho(epsilon / self.levels)

    def farthest(self, _: Fraction, __: int | None = None) -> None:
        """No bound is known."""

    def usual(self, _: Fraction, __: int | None = None) -> None:
        """Nor is a usual error."""

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


COUNTING = Fraction(3, 20)
"""The share of ε for a noisy number of records, where that is private."""
LARGEST_SIZE = 1 << 34


def shape(points: int) -> tuple[int, int]:
    """b and h for a grid: those with the least error, which is as the root of b h³.

    >>> shape(50), shape(4096), shape(10**6)
    ((50, 1), (16, 3), (16, 5))
    """
    found = [(_root(points, h), h) for h in range(1, max(points.bit_length(), 1) + 1)]
    return min(found, key=lambda b_h: b_h[0] * b_h[1] ** 3)


def noisy_size(n: int, epsilon: Fraction, entropy: Entropy) -> int:
    """N under add/remove, at least 1, for its share of ε; public from then on."""
    noisy = n + int(discrete_laplace(1 / (COUNTING * epsilon), 1, entropy)[0])
    return min(max(noisy, 1), LARGEST_SIZE)


def target_ranks(shares: tuple[Fraction, ...], size: int) -> tuple[float, ...]:
    """The rank of `dampen.paper.percentile_selection` less 1/2, for so many records."""
    return tuple(rank(100 * q, max(size, 1)) - 0.5 for q in shares)


def list_error(
    shares: tuple[Fraction, ...],
    epsilon: Fraction,
    beyond: Callable[[float], float],
    *,
    counts: bool,
) -> float:
    """How far all targets are from the intervals of their answers at most, with probability 0.9.

    That is their error in ranks, but for half of the records between an answer and the next point.
    Every target is at most X + max(q, 1 - q) |N - n| + 1 from its answer's interval, X being above
    beyond(p) with a probability of at most p; any way to divide 0.1 between X and N will do.

    Args:
        shares: the percentiles.
        epsilon: of the release.
        beyond: as above.
        counts: whether N is noisy; else it is n.
    """
    missed = 1 - CONFIDENCE
    if not counts:
        return beyond(missed) + 1
    widest = float(max(max(q, 1 - q) for q in shares))
    scale = 1 / (COUNTING * epsilon)
    parts = (Fraction(i, 100) for i in (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90))
    return 1 + min(
        widest * likely(scale, part / 10) + beyond(float(1 - part) * missed) for part in parts
    )


@dataclass(frozen=True)
class NoisyTree:
    """Different percentiles, ascending, as exact shares between 0 and 1; all fields are public.

    A draw of all percentiles together (`dampen.questions.percentile.joint_tight`) errs like a walk
    of as many steps, and where few records lie between two percentiles, empty points outweigh it.
    The error of a tree of counts does not grow with the list.

    **Counts.**  g_1 < ... < g_G is a public grid.  A record on a point counts 2 there, one between
    two points counts 1 at each.  With b parts a level, h levels, b^h >= G, a node of level l has
    the points k b^(h-l) to (k+1) b^(h-l) - 1; those beyond the grid are empty and public.  b and h
    are chosen from G (`shape`).

    **Theorem.**  Let N be the public number of records under replace-one, and n + discrete Laplace
    noise of scale 1 / ε0 under add/remove, ε0 = `COUNTING` of ε.  Let every node of every level
    have its count plus discrete Laplace noise of scale 4 h / ε under replace-one, 2 h / (ε - ε0)
    under add/remove.  N and all counts together are ε-DP, and so is whatever is computed from them.
    Proof.  A record is 2 in the counts of a level: coming or going, it moves them by 2 in the
    1-norm, which costs (ε - ε0) / h, and n by 1, which costs ε0.  Replacing one is one going, one
    coming: 4 in the 1-norm, ε / h a level. ∎

    Only the counts below nodes in which a percentile is sought are drawn: what nobody looks at is
    not needed.  Counts and noise are whole numbers, so nothing is rounded before the noise is in.

    **Reading.**  F is the number of records up to an edge between points, half of those between two
    points included.  The estimate of F is 0 and N at the two ends.  Inside a node whose ends have
    estimates, the sums of its noisy counts are shifted linearly to meet the one at the right end;
    the estimates are the nearest sequence that never decreases (isotonic regression), within the
    two ends.  A percentile with the target r of `joint_tight` is sought in the part whose ends are
    around r.

    **Lemma.**  Let B_k = S_k - (k/b) S_b, where S_k is the sum of the noise of the first k of b
    parts.  An estimate inside a node is off by at most the larger of what its two ends are off by,
    and max_k |B_k|.  Proof.  Before the regression it is off by (1 - k/b) e_left + (k/b)
    e_right + B_k.  Isotonic regression is monotone and commutes with adding constants, so it moves
    no sequence by more than the largest difference to another; F is its own regression.  Cutting
    off at the two ends is off by no more than these are. ∎

    With d = N - n and M = Σ_l max_k |B_k| the estimates are between F - M and F + d + M for d >= 0,
    by the same steps, and the target of N is within 1 of q d more than that of n.  So the target of
    n is at most M + max(q, 1 - q) |d| + 1 from the interval of its answer (`list_error`).

    **zCDP.**  A level is ε_l-DP, ε_l being its share.  Under replace-one no count moves by more
    than 2, which costs ε_l/2, and all by 4: Σ f(e_i) over e_i <= ε_l/2 with Σ e_i <= ε_l, f(e) = e
    tanh(e/2), is at most 2 f(ε_l/2), as f is convex and f(0) = 0.

    Attributes:
        shares: the percentiles.
        neighbours: add or remove one record, or replace one.
        points: of the grid.
    """

    shares: tuple[Fraction, ...]
    neighbours: Neighbours
    points: int
    name: ClassVar[str] = "noisy-tree"

    def rho(self, epsilon: Fraction) -> Fraction:
        """The ρ of N, where it is private, and of all levels."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return self.rho_given(epsilon)
        return pure_rho(COUNTING * epsilon) + self.rho_given(epsilon)

    def rho_given(self, epsilon: Fraction) -> Fraction:
        """The ρ of all levels, where N is public already."""
        h = self.levels
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 2 * h * pure_rho(epsilon / (2 * h))
        return h * pure_rho((1 - COUNTING) * epsilon / h)

    @cached_property
    def parts(self) -> int:
        """b."""
        return shape(self.points)[0]

    @cached_property
    def levels(self) -> int:
        """h."""
        return shape(self.points)[1]

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise on every count, for the whole ε, that of N included."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 4 * self.levels / epsilon
        return 2 * self.levels / ((1 - COUNTING) * epsilon)

    def draw(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One point of the grid per percentile, ascending: ε-DP."""
        if not self._fits(epsilon):
            return self._without_data()
        size = int(ranks.at_most[-1])
        if self.neighbours is Neighbours.ADD_REMOVE_ROW:
            size = noisy_size(size, epsilon, entropy)
        return self.draw_given(size, ranks, epsilon, entropy)

    def draw_given(self, size: int, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The same where N is public already: for the rest of ε."""
        if not self._fits(epsilon):
            return self._without_data()
        edges = self.edges(ranks)
        scale = self.scale(epsilon)
        found = Descent.of(target_ranks(self.shares, size), size)
        for level in range(1, self.levels + 1):
            counts = self.counts(edges, found.asked, level)
            noise = discrete_laplace(scale, counts.size, entropy).reshape(counts.shape)
            found = found.further(counts + noise, self.real_parts(found.asked, level))
        return [int(i) for i in found.node]

    def edges(self, ranks: Ranks) -> IntArray:
        """Twice F of the G + 1 edges; private."""
        between = ranks.at_most[:-1] + ranks.less[1:]
        return np.concatenate([[0], between, 2 * ranks.at_most[-1:]])

    def counts(self, edges: IntArray, nodes: IntArray, level: int) -> IntArray:
        """Row by row the counts of all parts of the nodes above a level; private."""
        first = nodes[:, None] * self.parts + np.arange(self.parts + 1)
        return np.diff(edges[np.minimum(first * self._width(level), self.points)])

    def real_parts(self, nodes: IntArray, level: int) -> IntArray:
        """How many parts of each node begin within the grid."""
        begun = -(-self.points // self._width(level)) - nodes * self.parts
        return np.minimum(begun, self.parts)

    def farthest(self, epsilon: Fraction, _: int | None = None) -> float | None:
        """How many ranks off answers are, mostly, as `list_error` has it; None if unknown."""
        if not self._fits(epsilon):
            return None
        counts = self.neighbours is Neighbours.ADD_REMOVE_ROW
        beyond = self.beyond(epsilon)
        return list_error(self.shares, epsilon, beyond, counts=counts)

    def usual(self, epsilon: Fraction, _: int | None = None) -> float | None:
        """The same where values are spread evenly: as if noise were normal, and all edges apart.

        B_k has the variance k (b-k) / b times that of the noise of a part, 2 (scale/2)², which is
        b/6 of it for the average k; levels add up, and m independent normal numbers are all below z
        standard deviations with probability 0.9.  The regression, and ends that share their noise,
        make it somewhat less.
        """
        if not self._fits(epsilon):
            return None
        z = NormalDist().inv_cdf((1 + CONFIDENCE ** (1 / len(self.shares))) / 2)
        return z * float(self.scale(epsilon)) / 2 * sqrt(self.parts * self.levels / 3)

    def beyond(self, epsilon: Fraction) -> Callable[[float], float]:
        """What Σ_l max_k |B_k| exceeds, on some path of the tree, with at most a probability.

        A Chernoff bound over all paths, which are at most one for each percentile and for each node
        above the last level: noise of a scale s has E e^(λz) <= 1 / (1 - λ²s²), the noise of a
        level is independent of what is asked there, and e^(λ max_k |B_k|) is at most the sum of all
        e^(±λ B_k).  Any λ will do.
        """
        paths = min(len(self.shares), self.parts ** (self.levels - 1))
        scale = float(self.scale(epsilon)) / 2
        tried = np.linspace(0.02, 0.98, 49).tolist()
        moments = [self.levels * self._log_moment(x) for x in tried]

        def bound(missed: float) -> float:
            needed = log(paths / missed)
            pairs = zip(tried, moments, strict=True)
            return min((needed + moment) * scale / x for x, moment in pairs)

        return bound

    def _log_moment(self, x: float) -> float:
        """The logarithm of a bound of E e^(λ max_k |B_k|), x = λ times the scale."""
        b = self.parts
        moments = [
            -k * log1p(-((x * (1 - k / b)) ** 2)) - (b - k) * log1p(-((x * k / b) ** 2))
            for k in range(1, b)
        ]
        return log(1 + sum(2 * exp(moment) for moment in moments))

    def _fits(self, epsilon: Fraction) -> bool:
        """Whether the noise can be drawn; for less ε it would drown any data."""
        return max(self.scale(epsilon), 1 / (COUNTING * epsilon)) <= LARGEST_SCALE

    def _without_data(self) -> list[int]:
        return [int(q * (self.points - 1)) for q in self.shares]

    def _width(self, level: int) -> int:
        """The points of a node."""
        return int(self.parts ** (self.levels - level))


@dataclass(frozen=True, eq=False)
class Descent:
    """How far every percentile has been followed; public.

    Attributes:
        target: r, ascending.
        node: the node in which it is sought.
        ends: two rows, the estimates of F at the ends of that node.
    """

    target: FloatArray
    node: IntArray
    ends: FloatArray

    @classmethod
    def of(cls, ranks: tuple[float, ...], size: int) -> "Descent":
        """At the root, for N records."""
        m = len(ranks)
        ends = np.stack([np.zeros(m), np.full(m, float(size))])
        return cls(np.array(ranks), np.zeros(m, dtype=np.int64), ends)

    @property
    def asked(self) -> IntArray:
        """The nodes, each once."""
        return np.unique(self.node)

    def further(self, noisy: IntArray, real: IntArray) -> "Descent":
        """One level down, by the noisy counts of all parts of the nodes that are asked."""
        _, one, row = np.unique(self.node, return_index=True, return_inverse=True)
        sums = estimates(noisy / 2, real, self.ends[:, one])[row]
        b = noisy.shape[1]
        part = (sums[:, 1:b] < self.target[:, None]).sum(axis=1)
        part = np.minimum(part, real[row] - 1)
        every = np.arange(len(row))
        ends = np.stack([sums[every, part], sums[every, part + 1]])
        return Descent(self.target, self.node * b + part, ends)


def estimates(noisy: FloatArray, real: IntArray, ends: FloatArray) -> FloatArray:
    """Estimates of F at the b + 1 edges of the parts of every node, one row each, from the left."""
    number = np.arange(1, noisy.shape[1] + 1)
    parts = real[:, None]
    left = ends[0][:, None]
    right = ends[1][:, None]
    sums = np.cumsum(np.where(number <= parts, noisy, 0.0), axis=1)
    steps = np.minimum(number / parts, 1.0)
    met = left + sums + steps * (right - left - sums[:, -1:])
    inner = np.clip(isotonic(met), left, right)
    return np.concatenate([left, np.where(number < parts, inner, right)], axis=1)


def isotonic(rows: FloatArray) -> FloatArray:
    """The nearest sequence that never decreases, of every row, by the max-min formula."""
    b = rows.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    fitted = np.full(rows.shape, -np.inf)
    for first in range(b):
        means = (sums[:, first + 1 :] - sums[:, first : first + 1]) / np.arange(1, b - first + 1)
        least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        fitted[:, first:] = np.maximum(fitted[:, first:], least)
    return fitted


def _root(points: int, h: int) -> int:
    """The least b with b^h >= points."""
    b = max(ceil(points ** (1 / h)) - 1, 1)
    while b**h < points:
        b += 1
    return b
