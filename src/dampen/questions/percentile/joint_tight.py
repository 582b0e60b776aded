"""Several percentiles in one draw, by the best place inside every tie.

Drawn together, ordered, percentiles cost ε once (after Gillenwater, Joseph, Kulesza, 2021): one
record lies between two of the answers, and the numbers of records between them say whether they
fit.  Where records tie, a percentile lies *inside* the tie.  Were a place in it drawn too, the
places would wander as if nothing tied.  Here nobody draws it: a tuple of points is as good as its
best places.

**Intervals.**  g_1 < g_2 < ... is a public grid.  A record on a point counts there, one between two
points counts half at each.  So the points have intervals [l_i, h_i] of ranks with l_1 = 0,
h_i = l_{i+1}, and n at the end; a point without records has an empty one.  A place of a point is a
share θ of its interval, F(i, θ) = l_i + θ (h_i - l_i).

**A tuple** of points i_1 <= ... <= i_J has targets r_1 <= ... <= r_J <= r_{J+1} and the cost

    TV = min over θ of Σ_{j=1}^{J+1} |e_j - e_{j-1}|,   e_j = F(i_j, θ_j) - r_j,

e_0 = 0 and e_{J+1} = n - r_{J+1}.  It is drawn with a probability proportional to exp(-α TV) + τ,
τ = e^-`FLOOR` / T, where T is the number of tuples.  Where n = r_{J+1}, the tuple of the true
percentiles has TV = 0, and every answer is at most TV / 2 ranks off.

**Lemma 1.**  If the targets are fixed, a record that comes or goes moves TV by at most 1; if they
are sums of t_j = π_j n, rounded down to multiples of `UNIT`, with Σ π = 1, by at most
2 (1 - min π) + (J+1) UNIT.  Proof.  Fix the tuple and θ.  F is monotone in the data and in the
place, so the record's weight is divided among the J+1 gaps, Σ w_j = 1, w_j >= 0, and gap j moves by
w_j.  If targets are fixed, the cost moves by at most Σ w_j.  If not, by at most Σ |w_j - π_j| and
the rounding; that is convex in w and largest where one w_j is 1: (1 - π_j) + Σ_{i≠j} π_i.  The
minimum over θ of what moves by at most s moves by at most s. ∎

**Theorem.**  With s from the lemma, α = ε / (4 s) under replace-one (s = 1, n is public), ε / (2 s)
under add/remove, the draw is ε-DP.  Proof.  One step, two under replace-one, moves α TV by at most
ε/2, and so exp(-α TV) + τ by a factor of at most e^(ε/2), and the sum of all weights too. ∎

**Targets.**  Under replace-one r_j is the rank of `dampen.paper.percentile_selection` less 1/2,
and n at the end.  Under add/remove, up to `FEW` percentiles have the moving targets of the lemma.
For more, `COUNTING` of ε pays for N = n + discrete Laplace noise, which is public from then on, and
the targets are fixed, as if N were n: s is 1, half of what it was, and an N that is off by some 1/ε
matters less than that.

**Lemma 2.**  The least TV is that of the *lazy* path: e_j is the point of [l - r_j, h - r_j] that
is nearest to e_{j-1}.  Proof.  Let V_j(e) be the least cost of a path that ends in e after j steps,
without e_j's own interval.  V_1(e) = |e|.  If V_j(e) = c + |e - g|, then V_{j+1}(e) is the minimum
of c + |e' - g| + |e - e'| over e' in the interval, which the point nearest to g attains for every
e: c + |g' - g| + |e - g'|. ∎

**The draw.**  So a tuple is a path through states (point, place), and there is one path to each
tuple.  The weights of all paths to every state are sums over the states before (`taut_step`), and
the states are drawn from the last to the first, each given the one after it, with Gumbel noise by
`dampen.core.sampling` on the logarithm of its weight.  Before that, the whole of τ, e^-FLOOR,
competes as one more state: a uniform tuple.  Paths that leave `reach` = (log T + FLOOR + 42) / α
are left
out: e^-42 of what τ gives their tuple.

**Exactness.**  Places are multiples of 1/2, or of UNIT less, exact in floats.  A weight is a sum of
products of positive numbers between e^-`RANGE` and e^RANGE: of B states it is computed to a factor
of 1 ± 4 (B + 512) 2^-53, and the logarithms to 2^-41.  The factors telescope, so the law of J
points is within twice the sum of these, and its loss within four times it.  `rounding` is taken off
ε for it.

**zCDP.**  ln of a weight moves by at most ε/2 up or down, so the draw has ε-bounded range and costs
ε²/8.  The range grows by eight times the sum above, twice what the loss grows by: ε has twice the
`rounding` added to it.  A noisy N costs its own.  Which way is taken is known before the charge
(`fits`); of two that N decides between, the dearer one is charged.

**When.**  A public rule: where T fits into a float, and the states into memory (`fits`).  If not,
`dampen.questions.percentile.halving.Halving` draws up to `FEW` percentiles, and
`dampen.questions.percentile.halving.NoisyTree` more.

**Crowds.**  A tuple whose percentiles all lie on empty points of one gap costs at most 2n, some 2
gaps of n / (J+1) a percentile, and there may be as many such tuples as the grid allows: some log G
a percentile.  So where α N / (J+1) is small, empty points may outweigh the data; the longer the
list, the more it has to lose.  More than FEW percentiles are drawn by the tree, for the ε that N
has left, where α N / (J+1) is below `CROWDED` log G log J (chosen by `dampen-studies
run list-rule`).  N is public by then, and either way is ε-DP.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import floor, inf, lgamma, log, nextafter, sqrt
from typing import ClassVar, TypeAlias

import numpy as np

from dampen.core.noise import GUMBEL, pure_rho
from dampen.core.sampling import Entropy, noisy_top, random_order
from dampen.core.selection import FloatArray, Neighbours
from dampen.questions.percentile.halving import (
    COUNTING,
    Halving,
    NoisyTree,
    Ranks,
    list_error,
    noisy_size,
    target_ranks,
    worth_it,
)

__all__ = ["Paths", "Targets", "Taut", "Way", "intervals", "together"]

FLOOR = 60
RANGE = 700
FEW = 9
CROWDED = 0.22
BRIDGE = 1.2239
"""Kolmogorov's 90 % point: the largest of a Brownian bridge of length and variance 1."""
MOST_RECORDS = 1 << 33
UNIT = Fraction(1, 1 << 19)
"""Moving targets are multiples of it, and exact in a float up to MOST_RECORDS."""
LARGEST_GRID = 1 << 20
MOST_STATES = 1 << 25
LARGEST_ALPHA = Fraction(1 << 20)
"""Above it all weights but those of the best tuples are 0 in a float anyway."""


def together(shares: tuple[Fraction, ...], neighbours: Neighbours, points: int) -> "Way | None":
    """How different percentiles are drawn at once on so many points; None if ε is split."""
    otherwise: NoisyTree | Halving
    if len(shares) > FEW:
        otherwise = NoisyTree(shares, neighbours, points)
    else:
        otherwise = Halving.on(points, shares, neighbours)
    taut = Taut(shares, neighbours, points, otherwise)
    if taut.few_enough:
        return taut
    return otherwise if worth_it(len(shares)) else None


@dataclass(frozen=True, slots=True)
class Targets:
    """r_1, ..., r_J, r_{J+1}, and α; private where n is."""

    ranks: tuple[float, ...]
    end: float
    alpha: float


def intervals(ranks: Ranks) -> FloatArray:
    """Two rows, l and h of all points; private."""
    less, at_most = (np.minimum(r, MOST_RECORDS) for r in (ranks.less, ranks.at_most))
    edges = np.concatenate([[0.0], (at_most[:-1] + less[1:]) / 2, at_most[-1:]])
    return np.stack([edges[:-1], edges[1:]])


@dataclass(frozen=True, eq=False, repr=False)
class Paths:
    """All tuples on given intervals, by their lazy paths; private.

    Attributes:
        points: l and h.
        targets: where the percentiles should be.
        reach: how far from them a place may be.
    """

    points: FloatArray
    targets: Targets
    reach: float

    @cached_property
    def rows(self) -> list[FloatArray]:
        """The states of every percentile: point, place, and the weight of all paths to it."""
        from dampen.kernels.percentiles import taut_step

        rows = [self._first()]
        for before, r in pairwise(self.targets.ranks):
            first, last = self._near(r)
            after = np.empty((3, 2 * (last - first) + rows[-1].shape[1]))
            facts = first, r - before, r - self.reach, r + self.reach
            points = self.points[:, first:last]
            size = taut_step(*points, self.targets.alpha, *facts, *rows[-1], *after)
            rows.append(after[:, :size].copy())
        return rows

    def draw(self, entropy: Entropy) -> list[int]:
        """One point per percentile, ascending."""
        scores = self.last_scores()
        s = noisy_top(scores, Fraction(1), GUMBEL, 1, entropy)[0]
        if s == len(scores) - 1:
            return self._any_tuple(entropy)
        drawn = [s]
        for j in reversed(range(1, len(self.rows))):
            first, scores = self.scores_before(j, drawn[-1])
            drawn.append(first + noisy_top(scores, Fraction(1), GUMBEL, 1, entropy)[0])
        pairs = zip(self.rows, reversed(drawn), strict=True)
        return [int(row[0, state]) for row, state in pairs]

    def last_scores(self) -> FloatArray:
        """The logarithm of the weight of every last state, and of all that τ gives."""
        _, place, weight = self.rows[-1]
        off = place - self.targets.ranks[-1] - (self.points[1, -1] - self.targets.end)
        return np.append(np.log(weight) - self.targets.alpha * np.abs(off), -float(FLOOR))

    def scores_before(self, j: int, state: int) -> tuple[int, FloatArray]:
        """The same of the states of percentile j - 1 that lead to a state of j, from the first."""
        point, y, _ = self.rows[j][:, state]
        owner, place, weight = self.rows[j - 1]
        x = y - (self.targets.ranks[j] - self.targets.ranks[j - 1])
        low, high = self.points[:, int(point)]
        first = 0
        last = int(np.searchsorted(owner, point, side="right"))
        if y != low:
            first = int(np.searchsorted(place, x))
        if y != high:
            last = min(last, int(np.searchsorted(place, x, side="right")))
        here = slice(first, last)
        return first, np.log(weight[here]) - self.targets.alpha * np.abs(place[here] - x)

    def _first(self) -> FloatArray:
        """The states of the first percentile: one for each point."""
        r = self.targets.ranks[0]
        first, last = self._near(r)
        place = np.clip(r, *self.points[:, first:last])
        weight = np.exp(-self.targets.alpha * np.abs(place - r))
        return np.stack([np.arange(first, last, dtype=np.float64), place, weight])

    def _near(self, r: float) -> tuple[int, int]:
        """The first point within reach of a rank, and the one after the last."""
        low, high = self.points
        first = int(np.searchsorted(high, r - self.reach))
        return first, max(int(np.searchsorted(low, r + self.reach, side="right")), first)

    def _any_tuple(self, entropy: Entropy) -> list[int]:
        """Uniform among ordered tuples: a set of J, closed up."""
        J = len(self.rows)
        chosen = random_order(self.points.shape[1] + J - 1, entropy)[:J]
        return [int(i) for i in np.sort(chosen) - np.arange(J)]


@dataclass(frozen=True)
class Taut:
    """Different percentiles, ascending, as exact shares between 0 and 1; all fields are public.

    Attributes:
        shares: the percentiles.
        neighbours: add or remove one record, or replace one.
        points: of the grid.
        otherwise: how they are drawn where they do not fit.
    """

    shares: tuple[Fraction, ...]
    neighbours: Neighbours
    points: int
    otherwise: NoisyTree | Halving
    name: ClassVar[str] = "joint-percentiles"

    def rho(self, epsilon: Fraction) -> Fraction:
        """The ρ of the way that ε allows; if N decides between two, the larger one."""
        if not self.fits(epsilon):
            return self.otherwise.rho(epsilon)
        noisy_size = pure_rho(COUNTING * epsilon) if self.counts else Fraction(0)
        drawn = (1 - COUNTING) * epsilon if self.counts else epsilon
        one_draw = GUMBEL.rho(drawn + 2 * self.rounding(epsilon))
        if not isinstance(self.otherwise, NoisyTree):
            return noisy_size + one_draw
        return noisy_size + max(one_draw, self.otherwise.rho_given(epsilon))

    @cached_property
    def log_tuples(self) -> float:
        """log T, rounded up."""
        G = self.points
        J = len(self.shares)
        return lgamma(G + J) - lgamma(G) - lgamma(J + 1) + 1e-3

    @property
    def few_enough(self) -> bool:
        """Whether it may fit, for some ε."""
        return self.points <= LARGEST_GRID and self.log_tuples + FLOOR + 42 <= RANGE

    def fits(self, epsilon: Fraction) -> bool:
        """Whether weights, states and their rounding are within bounds: a public rule."""
        states = sum(self._states(epsilon))
        return self.few_enough and states <= MOST_STATES and 100 * self.rounding(epsilon) <= epsilon

    def rounding(self, epsilon: Fraction) -> Fraction:
        """The part of ε that pays for rounding."""
        largest = Fraction(max(self._states(epsilon)) + 512, 1 << 48)
        return len(self.shares) * (largest + Fraction(1, 1 << 39))

    def draw(self, ranks: Ranks, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One point of the grid per percentile, ascending: ε-DP."""
        if not self.fits(epsilon):
            return self.otherwise.draw(ranks, epsilon, entropy)
        points = intervals(ranks)
        rest = epsilon - self.rounding(epsilon)
        size = self.size(int(points[1, -1]), rest, entropy)
        if isinstance(self.otherwise, NoisyTree) and size is not None and self.crowded(size, rest):
            return self.otherwise.draw_given(size, ranks, rest, entropy)
        targets = self.targets(float(points[1, -1]), size, rest)
        return Paths(points, targets, self._reach(rest)).draw(entropy)

    def size(self, n: int, epsilon: Fraction, entropy: Entropy) -> int | None:
        """A public number of records: n or a noisy one; None if nobody pays for it."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return n
        return noisy_size(n, epsilon, entropy) if self.counts else None

    def crowded(self, size: int, epsilon: Fraction) -> bool:
        """Whether empty points may outweigh so many records: a public rule."""
        between = self.alpha(epsilon) * size / len(self.apart)
        return between < CROWDED * log(self.points) * log(len(self.shares))

    def targets(self, n: float, size: int | None, epsilon: Fraction) -> Targets:
        """The targets for a public number of records, or for n, which is private."""
        alpha = self.alpha(epsilon)
        if size is not None:
            return Targets(target_ranks(self.shares, size), float(size), alpha)
        steps = (floor(p * Fraction(n) / UNIT) * UNIT for p in self.apart)
        *ranks, end = (float(r) for r in accumulate(steps))
        return Targets(tuple(ranks), end, alpha)

    def alpha(self, epsilon: Fraction) -> float:
        """α."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            exact = epsilon / 4
        elif self.counts:
            exact = (1 - COUNTING) * epsilon / 2
        else:
            exact = epsilon / (2 * (2 * (1 - min(self.apart)) + len(self.apart) * UNIT))
        return nextafter(float(min(exact, LARGEST_ALPHA)), 0.0)

    def farthest(self, epsilon: Fraction, size: int | None = None) -> float | None:
        """How many ranks off answers are, mostly, as `list_error` has it; None if unknown.

        **Lemma 3.**  With d = N - n, TV exceeds |d| + 2x with a probability of at most T e^(-2αx),
        and if it does not, every target of n is at most x + max(q, 1 - q) |d| + 1 from the interval
        of its answer.  Proof.  The tuple of the true percentiles has TV = |d|, the least one: all T
        weights beyond are together at most T e^(-2αx) times its weight.  A path from 0 by e_j to -d
        has |e_j| + |e_j + d| <= TV.  So for d >= 0, -d - x <= e_j <= x, and the target of n is
        within 1 of q d less than that of N; for d < 0 likewise. ∎

        Nothing smaller holds for all data: on a column with gaps of G / J empty points, each x
        ranks from a target, some (G/J)^J tuples have TV = 2x, and one is better.

        Args:
            epsilon: of the release.
            size: the number of records, where it is public; it decides whether the tree draws.
        """
        if not self.fits(epsilon):
            return self.otherwise.farthest(epsilon)
        rest = epsilon - self.rounding(epsilon)
        of_tree = self.otherwise.farthest(rest)
        if of_tree is not None and self._by_tree(size, rest):
            return of_tree

        def beyond(missed: float) -> float:
            return (self.log_tuples + log(1 / missed) + 1e-3) / (2 * self.alpha(rest))

        drawn = list_error(self.shares, rest, beyond, counts=self.counts)
        public = size is not None and self.neighbours is Neighbours.REPLACE_ONE
        return drawn if of_tree is None or public else max(drawn, of_tree)

    def usual(self, epsilon: Fraction, size: int | None = None) -> float | None:
        """The same where values are spread evenly.

        Let every rank have as many points, densely.  Then e_1, ..., e_J is a walk of J + 1 steps
        from 0 to 0 with densities proportional to e^(-α|step|), of variance 2 / α².  The largest
        of a Brownian bridge of that variance is below `BRIDGE` sqrt(2 (J+1)) / α with probability
        0.9; a walk is looked at between its steps only, which is 1 / α less, or more than that.
        """
        if not self.fits(epsilon):
            return self.otherwise.usual(epsilon)
        rest = epsilon - self.rounding(epsilon)
        of_tree = self.otherwise.usual(rest)
        if of_tree is not None and self._by_tree(size, rest):
            return of_tree
        drawn = (BRIDGE * sqrt(2 * (len(self.shares) + 1)) - 1) / self.alpha(rest)
        public = size is not None and self.neighbours is Neighbours.REPLACE_ONE
        return drawn if of_tree is None or public else max(drawn, of_tree)

    def _by_tree(self, size: int | None, epsilon: Fraction) -> bool:
        """Whether the tree surely draws."""
        public = size is not None and self.neighbours is Neighbours.REPLACE_ONE
        return public and self.crowded(int(size or 0), epsilon)

    @property
    def counts(self) -> bool:
        """Whether a noisy number of records is paid for."""
        return self.neighbours is Neighbours.ADD_REMOVE_ROW and len(self.shares) > FEW

    @property
    def apart(self) -> list[Fraction]:
        """π."""
        return [b - a for a, b in pairwise([Fraction(0), *self.shares, Fraction(1)])]

    def _reach(self, epsilon: Fraction) -> float:
        alpha = self.alpha(epsilon)
        return (self.log_tuples + FLOOR + 42) / alpha if alpha > 0 else inf

    def _states(self, epsilon: Fraction) -> list[int]:
        """The most states of a percentile: two ends of each point, and places from before.

        Those are ends of points too, and multiples of 1/2 but for the fraction of their target.
        The rounding may take a hundredth of ε.
        """
        lattice = 4 * min(self._reach(epsilon * Fraction(99, 100)), 1e15) + 2
        of_one = self.neighbours is Neighbours.REPLACE_ONE or self.counts
        return [
            2 * self.points + int(min(2 * self.points * j, lattice * (1 if of_one else j)))
            for j in range(1, len(self.shares) + 1)
        ]


Way: TypeAlias = Taut | NoisyTree | Halving
"""Ways to draw several percentiles at once."""
