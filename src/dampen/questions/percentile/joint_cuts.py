"""Many percentiles in one draw (after Gillenwater, Joseph, Kulesza, 2021), exactly.

Splitting ε among m percentiles costs a factor m.  Drawn together, ordered, they cost nothing more:
one record lies between two of the answers, and the number of records between two answers says
whether they fit.

**Cuts.**  g_1 < g_2 < ... is a public grid, L_i = #{x < g_i}, R_i = #{x <= g_i}.  Where records
tie, a percentile lies *inside* the tie.  So a point i has B_i cuts z = (i, b), 0 <= b < B_i: of
each record at g_i a share (2b+1) / (2 B_i) lies below the cut, F(z) = L_i + (R_i - L_i) (2b+1) /
(2 B_i) in all.  B_i is public.  A point that is the answer by any of its cuts is the answer.

**A question** asks for J percentiles between two cuts a <= b that are public already, or the ends
of the grid: for cuts z_1 <= ... <= z_J from a to b.  With z_0 = a, z_{J+1} = b and
d_j = |F(z_j) - F(z_{j-1}) - t_j|, it is drawn with a probability proportional to

    Π_j (exp(-α d_j) + τ) · Π_j 1 / B(z_j).

Under replace-one, t_j is the public number of records that belong there, by the ranks of
`dampen.paper.percentile_selection` less 1/2.  Under add/remove it is π_j N, π_j the share of the
list's percentiles and N = F(b) - F(a), rounded down to a multiple of `UNIT`.  B in the weight lets
every point count as one; τ, a public constant, keeps every weight within a float's range.

**Lemma.**  A record of weight w in a question that comes or goes moves the d's by at most w in sum
under replace-one, by at most 2 (1 - min π) w + (J+1) UNIT under add/remove.  Proof.  Its weight is
divided among the J+1 links, w = Σ w_j, since F is monotone in the cut and in the data.  If the t's
are fixed, d_j moves by at most w_j.  If not, by at most |w_j - π_j w| and the rounding; the sum is
convex in the w_j and largest where one of them is w: (1 - π_j) w + Σ_{i≠j} π_i w. ∎

**Theorem.**  With α = ε' / 4 under replace-one, and ε' / (2 s), s = 2 (1 - min π) + (J+1) UNIT,
under add/remove, all questions between cuts that are public already are ε'-DP together, if no two
of them share cuts inside.  Proof.  exp(-α d) + τ changes by a factor of at most e^(α |Δd|), so a
tuple's weight by e^(α Σ|Δd|), and so does the sum of all weights.  Questions that a record has no
weight in stay as they are; its weights in the others sum to 1, and so a replacement moves
d's by 2 in sum, at 2α each; a record that comes or goes costs Σ_q w_q s_q 2 α_q = ε'. ∎

**Levels.**  Up to `MOST` percentiles are one question.  More are asked in levels, each with an
equal share of ε: first some of them, evenly in the list; then those between two answers, for all
gaps at once.  99 percentiles take two levels of nine.

**Parts.**  Cuts of one tie should be closer than 1/α, or a link that cannot fit pushes others.  If
the public n shows that equally many parts are enough even if all records tie, they are taken.  If
not, or if n is private, a twentieth of ε pays for noisy counts of all points (discrete Laplace
noise, 1-norm 2 or 1), and the points above the noise get parts by their noisy count.  If even so
they are too coarse, because n ε is above some 10^7, halving draws with the ε that is left: the
error, of some 1/ε records, is then far below a millionth of n.

**Exactness.**  The cuts of a question are drawn from the last to the first, each given the one
after it, with Gumbel noise by `dampen.core.sampling` on the logarithm of its weight: exactly, for
the weights as computed.  F is exact in floats.  The weights are sums of products of positive
numbers, so each is computed to a factor of 1 ± δ with δ <= MOST (4 · cells) 2^-51 (`forward`, exp
and log within two units of the last place), whatever the data is; numbers too small for a float are
far below τ times their own weight.  So the law of m cuts is within e^(±2mδ) of the ideal one, its
loss within 4mδ.  `ROUNDING` per percentile is taken off ε for it.

**When.**  For lists that are too long for `dampen.questions.percentile.joint_tight`, which draws no
places in ties and has less error for it.

**zCDP.**  A question is an exponential mechanism, so a level costs ε'²/8 and all together at most
ε² / (8 levels), the noisy counts included.  Charged is what halving costs, if that is more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, exp, floor, log, nextafter
from typing import ClassVar, TypeVar

import numpy as np

from dampen.core.noise import GUMBEL
from dampen.core.sampling import Entropy, discrete_laplace, noisy_top
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import Halving, Ranks, levels_of

__all__ = ["Chain", "Cuts", "Group", "Joint"]

Number = TypeVar("Number", float, Fraction)

MOST = 9
"""Percentiles of one question: more would leave the range of a float."""
FLOOR = exp(-40.0)
"""τ."""
MOST_PERCENTILES = 999
LARGEST_GRID = 1 << 17
CELLS = 1 << 20
"""Cuts, if all points have equally many; with noisy counts at most twice as many."""
MOST_PARTS = 1 << 18
FEW_PARTS = 1 << 7
"""Parts of a point whose noisy count is small."""
MOST_RECORDS = 1 << 33
UNIT = Fraction(1, 2 * MOST_PARTS)
"""F is a multiple of it, and exact in a float up to MOST_RECORDS."""
ROUNDING = Fraction(1, 1 << 22)
COUNTING = Fraction(1, 20)
"""The share of ε for noisy counts."""
COARSEST = 2
"""Parts are at most so many 1/α apart if all records tie; by noisy counts four times as many."""
LARGEST_NOISE = 1 << 36


@dataclass(frozen=True, slots=True)
class Group:
    """A question of the plan: positions of percentiles, `first` to `last` (exclusive) with gaps.

    Attributes:
        first: the first position that it and the questions inside it answer.
        last: the position after the last one.
        wanted: the positions that it answers itself.
        level: from 0.
    """

    first: int
    last: int
    wanted: tuple[int, ...]
    level: int


@dataclass(frozen=True, slots=True)
class Parts:
    """B of every point, or None where parts would be too coarse; and the ε that is left."""

    parts: IntArray | None
    left: Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cuts:
    """All cuts in order: their point, F, and 1 / B; private, but for the points."""

    point: IntArray
    place: FloatArray
    base: FloatArray

    @classmethod
    def of(cls, ranks: Ranks, parts: IntArray) -> "Cuts":
        """For B_i, each a power of two."""
        point = np.repeat(np.arange(len(parts)), parts)
        b = np.arange(len(point)) - np.repeat(np.cumsum(parts) - parts, parts)
        less = np.minimum(ranks.less, MOST_RECORDS)
        tie = np.minimum(ranks.at_most, MOST_RECORDS) - less
        share = (2 * b + 1) / (2 * parts)[point]
        return cls(point, less[point] + tie[point] * share, 1 / parts[point])


@dataclass(frozen=True, eq=False, repr=False)
class Chain:
    """One question on its cuts; private.

    Attributes:
        place: F of the cuts from a to b.
        base: 1 / B of each.
        alpha: α.
        steps: t_1, ..., t_{J+1}.
        ends: F(a) and F(b).
    """

    place: FloatArray
    base: FloatArray
    alpha: float
    steps: tuple[float, ...]
    ends: tuple[float, float]

    @cached_property
    def messages(self) -> FloatArray:
        """Row j: the weight of all z_1 <= ... <= z_j that end in a cut, but for its own 1 / B."""
        from dampen.kernels.level_sums import forward

        messages = np.empty((len(self.steps) - 1, len(self.place)))
        messages[0] = self._links(self.place - self.ends[0], self.steps[0])
        decay = np.exp(-self.alpha * np.diff(self.place, prepend=self.place[0]))
        cells = np.stack([self.place, self.base, decay])
        inner = np.array(self.steps[1:-1])
        forward(cells, self.alpha, FLOOR, inner, messages)
        return messages

    def scores(self, j: int, after: int | None) -> FloatArray:
        """The logarithm of the weight of every z_j, given z_{j+1}, or b where that is None."""
        if after is None:
            links = self._links(self.ends[1] - self.place, self.steps[-1])
        else:
            links = self._links(self.place[after] - self.place[: after + 1], self.steps[j + 1])
        return np.log(self.messages[j, : len(links)] * self.base[: len(links)] * links)

    def draw(self, entropy: Entropy) -> list[int]:
        """z_1 <= ... <= z_J, as positions among the cuts."""
        drawn: list[int] = []
        for j in reversed(range(len(self.steps) - 1)):
            scores = self.scores(j, drawn[-1] if drawn else None)
            drawn += noisy_top(scores, Fraction(1), GUMBEL, 1, entropy)
        return drawn[::-1]

    def _links(self, distance: FloatArray, step: float) -> FloatArray:
        return np.exp(-self.alpha * np.abs(distance - step)) + FLOOR


@dataclass(frozen=True, slots=True)
class Joint:
    """Different percentiles, ascending, as exact shares between 0 and 1; all fields are public.

    Attributes:
        shares: the percentiles.
        neighbours: add or remove one record, or replace one.
    """

    shares: tuple[Fraction, ...]
    neighbours: Neighbours
    name: ClassVar[str] = "joint-percentiles"

    @property
    def levels(self) -> int:
        """How many levels the list has: one per factor of ten."""
        return len(str(len(self.shares)))

    @property
    def zcdp_shares(self) -> int:
        """ρ is ε² over twice this, whether halving is needed or not."""
        return min(4 * self.levels, levels_of(len(self.shares)))

    def draw(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One point of the grid per percentile, ascending: ε-DP."""
        rest = max(epsilon - len(self.shares) * ROUNDING, Fraction(0))
        found = self.parts(ranks, rest, entropy)
        if found.parts is None:
            halving = Halving.on(len(ranks.less), self.shares, self.neighbours)
            return halving.draw(ranks, found.left, entropy)
        return self.drawn(Cuts.of(ranks, found.parts), ranks, found.left / self.levels, entropy)

    def drawn(self, cuts: Cuts, ranks: Ranks, share: Fraction, entropy: Entropy) -> list[int]:
        """Level by level, at so much ε each, on public parts."""
        n = min(int(ranks.at_most[-1]), MOST_RECORDS)
        answers = [0] * len(self.shares)
        known = {-1: (0, 0.0), len(answers): (len(cuts.point) - 1, float(n))}
        for group in self.plan():
            a = known[group.first - 1]
            b = known[group.last]
            chain = self.chain(cuts, group, n, (a, b), share)
            for wanted, z in zip(group.wanted, chain.draw(entropy), strict=True):
                known[wanted] = (a[0] + z, float(cuts.place[a[0] + z]))
                answers[wanted] = int(cuts.point[a[0] + z])
        return answers

    def plan(self) -> Iterator[Group]:
        """All questions, level by level; they depend on nothing but the number of percentiles."""
        arity = _arity(len(self.shares), self.levels)
        ranges = [(0, len(self.shares))]
        for level in range(self.levels):
            inside: list[tuple[int, int]] = []
            for first, last in ranges:
                asked = min(arity - 1, last - first)
                wanted = [
                    first + i * (last - first + 1) // (asked + 1) - 1 for i in range(1, asked + 1)
                ]
                yield Group(first, last, tuple(wanted), level)
                gaps = zip([first, *(w + 1 for w in wanted)], [*wanted, last], strict=True)
                inside += [(low, high) for low, high in gaps if low < high]
            ranges = inside

    def chain(
        self,
        cuts: Cuts,
        group: Group,
        n: int,
        between: tuple[tuple[int, float], tuple[int, float]],
        epsilon: Fraction,
    ) -> Chain:
        """A question, between two cuts with their F, at the ε of a level."""
        (a, low), (b, high) = between
        here = slice(a, b + 1)
        if self.neighbours is Neighbours.REPLACE_ONE:
            steps = self._ranks_apart(group, n)
            span = Fraction(2)
        else:
            apart = self._shares_apart(group)
            whole = Fraction(high) - Fraction(low)
            steps = tuple(float(floor(p * whole / UNIT) * UNIT) for p in apart)
            span = 2 * (1 - min(apart)) + len(apart) * UNIT
        alpha = _float_below(epsilon / (2 * span))
        return Chain(cuts.place[here], cuts.base[here], alpha, steps, (low, high))

    def parts(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> "Parts":
        """B of every point, by a public rule or by noisy counts."""
        G = len(ranks.less)
        fixed = self.neighbours is Neighbours.REPLACE_ONE
        most = min(_power_of_two(CELLS // G + 1) // 2, MOST_PARTS)
        share = epsilon / self.levels
        if fixed and int(ranks.at_most[-1]) * share <= 4 * COARSEST * most:
            uniform = min(most, _power_of_two(ceil(int(ranks.at_most[-1]) * share)))
            return Parts(np.full(G, uniform), epsilon)
        few = np.full(G, min(most, FEW_PARTS))
        if COUNTING * epsilon * LARGEST_NOISE < 1:
            return Parts(few, epsilon)
        noise = (2 if fixed else 1) / (COUNTING * epsilon)
        left = (1 - COUNTING) * epsilon
        counts = ranks.at_most - ranks.less + discrete_laplace(noise, G, entropy)
        return Parts(self._by_counts(counts, few, noise, left), left)

    def _by_counts(
        self, counts: IntArray, few: IntArray, noise: Fraction, epsilon: Fraction
    ) -> IntArray | None:
        """B by noisy counts, which are public; None where parts would be too coarse."""
        share = float(min(epsilon / self.levels, Fraction(LARGEST_NOISE)))
        heavy = counts > float(noise) * (log(len(counts)) + 5)
        apart = max(2 * counts[heavy].sum() / CELLS, counts.max() / MOST_PARTS, 1 / share)
        if apart * share > 16 * COARSEST:
            return None
        wanted = np.exp2(np.ceil(np.log2(np.maximum(counts / apart, 1)))).astype(np.int64)
        return np.where(heavy, np.clip(wanted, few, MOST_PARTS), few)

    def _ranks_apart(self, group: Group, n: int) -> tuple[float, ...]:
        """t under replace-one: the records that belong between the percentiles."""
        ranks = [*(rank(100 * q, max(n, 1)) - 0.5 for q in self.shares), float(n), 0.0]
        return tuple(b - a for a, b in pairwise(self._ends(ranks, group)))

    def _shares_apart(self, group: Group) -> list[Fraction]:
        """π."""
        ends = self._ends([*self.shares, Fraction(1), Fraction(0)], group)
        return [(b - a) / (ends[-1] - ends[0]) for a, b in pairwise(ends)]

    def _ends(self, known: list[Number], group: Group) -> list[Number]:
        """What is known of the percentiles and of the two ends, which are at m and at -1."""
        return [known[i] for i in (group.first - 1, *group.wanted, group.last)]


def _arity(m: int, levels: int) -> int:
    """The least number of gaps per question with which so many levels are enough."""
    return next(a for a in range(2, MOST + 2) if a**levels > m)


def _power_of_two(number: int) -> int:
    """The least one that is not below it."""
    return 1 << max(number - 1, 0).bit_length()


def _float_below(number: Fraction) -> float:
    return nextafter(float(number), 0.0)
