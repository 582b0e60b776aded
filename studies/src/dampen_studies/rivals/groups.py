"""What competes for the best group; not private, for study on public data.

Every method is ε-DP under adding or removing one row, and gets the best form that is known for it.
A row belongs to one group, so one step changes one candidate's utility and sensitivity only: EM, LD
and SLD then need no factor 1/2 (a step moves one weight, or only the common denominator), and noise
on every group's own answer costs ε once, by parallel composition.

With the reach R of `dampen.questions.groups.reach`, the statistic of a group without enough rows
taken as the lowest value, and Δ the range of the statistic,

    δ(x, t) = max(R(x, t+1) - R(x, -t), R(x, t) - R(x, -t-1)),  at most Δ,

is the local sensitivity itself at t = 0, and admissible: R(y, t+1) - R(y, -t) is at most
R(x, t+2) - R(x, -t-1) for neighbours x, y.

| name | what it is |
|---|---|
| `reach` | `dampen.questions.groups.problem`, the default |
| `em` | the exponential mechanism on the statistic, over Δ |
| `ld`, `ld shifted` | local dampening, of the statistic, and of the statistic minus Δ |
| `sld` | shifted local dampening, in closed form |
| `smooth` | the statistic plus Cauchy noise of 6 S / ε, S = max over t of e^(-εt/6) δ(x, t) |
| `control` | a private answer for every group: its quantile by rank, or its mean by two sums |
| `inverse` | permute-and-flip on the signed number of rows that decide whether a group is best |

Why local dampening loses here: LD divides the statistic by sensitivities that shrink with the
number of rows, so that D mixes a group's size with its statistic; SLD counts how far a group is
from its worst case, which is its size and little else.  What decides is how many rows separate two
groups, and no score that looks at one group alone knows the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from dampen.core.mechanisms import probabilities
from dampen.core.noise import EXPONENTIAL, GUMBEL, permute_and_flip
from dampen.core.selection import FloatArray, IntArray
from dampen.epsilon import Epsilon, exact
from dampen.questions.groups.problem import BestGroup, ByReach
from dampen.questions.groups.reach import Reach, largest_wins
from dampen.questions.groups.statistics import AnyHistograms, BySum, Histograms, Mean, Quantile

__all__ = ["GroupMethod", "epsilon_for_best", "group_methods", "quantile_laws", "true_statistics"]

POINTS = 4001
"""Levels at which a continuous noisy answer is looked at."""

GUMBEL_UNIT = GUMBEL.rho(Fraction(1))
"""Where one step moves the log-probabilities against each other by at most ε, as in `em`."""


class GroupMethod(NamedTuple):
    """A method by its law: the probability of every group to be the answer at ε; and its ρ at 1."""

    name: str
    law: Callable[[Fraction], FloatArray]
    unit: Fraction = EXPONENTIAL.rho(Fraction(1))

    def best_probability(self, statistics: FloatArray, *, epsilon: Epsilon) -> float:
        """P(the answer is a group with the largest statistic)."""
        return float(self.law(exact(epsilon))[statistics == statistics.max()].sum())


def group_methods(problem: BestGroup, counts: IntArray) -> list[GroupMethod]:
    """The default first, then its rivals, on private counts by group and cell."""
    contest = problem.contest(counts)
    if isinstance(contest, BySum):
        em = partial(probabilities, contest.sums, mechanism="em")
        return [
            GroupMethod("pf", contest.probabilities),
            GroupMethod("em", lambda epsilon: em(epsilon=epsilon), GUMBEL_UNIT),
        ]
    assert isinstance(contest, ByReach)
    rivals = _Rivals(contest.reach)
    methods = [
        GroupMethod("reach", contest.probabilities),
        GroupMethod("em", partial(_exponential, rivals.utility / rivals.range), GUMBEL_UNIT),
        GroupMethod("ld", partial(_exponential, rivals.dampened(0.0)), GUMBEL_UNIT),
        GroupMethod("ld shifted", partial(_exponential, rivals.dampened(-1.0)), GUMBEL_UNIT),
        GroupMethod("sld", partial(_exponential, rivals.shifted), GUMBEL_UNIT),
        GroupMethod("smooth", rivals.smooth),
        GroupMethod("inverse", partial(_permute_and_flip, rivals.margins / 2)),
    ]
    if isinstance(contest.reach.statistic, Quantile):
        methods.append(GroupMethod("control", rivals.private_quantiles))
    if isinstance(contest.reach.statistic, Mean):
        methods.append(GroupMethod("control", rivals.noisy_means))
    return methods


def true_statistics(problem: BestGroup, counts: IntArray | AnyHistograms) -> FloatArray:
    """What a method should find the largest of; -1 for a group without enough rows.

    The sum, or the statistic in cells; for `smallest` counted from the other end.
    """
    contest = problem.contest(counts)
    if isinstance(contest, BySum):
        return contest.sums.utility
    assert isinstance(contest, ByReach)
    return _Rivals(contest.reach).at(0)


def epsilon_for_best(
    method: GroupMethod,
    statistics: FloatArray,
    *,
    probability: float = 0.9,
    lowest: float = 1e-3,
    highest: float = 1e2,
) -> float:
    """The smallest ε, to 2 %, from which on P(best) reaches the probability; infinite if none.

    Goes down from the highest ε: a method that is right by luck at a small ε only does not count.
    """
    epsilons = np.exp(np.arange(np.log(highest), np.log(lowest), -np.log(1.25)))
    reached = float("inf")
    for epsilon in epsilons:
        if _best(method, statistics, float(epsilon)) < probability:
            break
        reached = float(epsilon)
    else:
        return reached
    if reached == float("inf"):
        return reached
    low = reached / 1.25
    high = reached
    while high / low > 1.02:
        middle = float(np.sqrt(low * high))
        enough = _best(method, statistics, middle) >= probability
        low, high = (low, middle) if enough else (middle, high)
    return high


def _best(method: GroupMethod, statistics: FloatArray, epsilon: float) -> float:
    return method.best_probability(statistics, epsilon=f"{epsilon:.6g}")


@dataclass(frozen=True)
class _Rivals:
    """What the rivals need of the groups, each computed once; in cells, as floats."""

    reach: Reach

    @cached_property
    def everyone(self) -> IntArray:
        return np.arange(len(self.reach.x.sizes))

    @property
    def range(self) -> float:
        """Δ."""
        return float(self.reach.x.top)

    @cached_property
    def utility(self) -> FloatArray:
        """The statistic; the lowest value for groups without enough rows."""
        return np.maximum(self.at(0), self.lowest)

    @property
    def lowest(self) -> float:
        """The statistic of a group whose rows are all in cell 0."""
        statistic = self.reach.statistic
        return float(statistic.p) if isinstance(statistic, Quantile) else 0.0

    def at(self, w: int) -> FloatArray:
        return self.values(self.everyone, np.full_like(self.everyone, w))

    def values(self, who: IntArray, w: IntArray) -> FloatArray:
        """R in cells; -1 for -infinity."""
        numbers = self.reach.at(who, w)
        statistic = self.reach.statistic
        unit = statistic.unit if isinstance(statistic, Quantile) else 1
        value = (numbers.whole + numbers.rest / numbers.of) / unit
        return np.where(numbers.whole < 0, -1.0, value)

    @cached_property
    def deltas(self) -> Sequence[FloatArray]:
        """δ(x, t) for t = 0, 1, ... of every group, until it is Δ for good."""
        found = []
        for g in self.everyone:
            last = int(self.reach.x.sizes[g]) + self.reach.floor + 1
            w = np.arange(-last - 1, last + 2)
            R = np.maximum(self.values(np.full_like(w, g), w), self.lowest)
            t = np.arange(last + 1)
            zero = last + 1
            up = R[zero + t + 1] - R[zero - t]
            down = R[zero + t] - R[zero - t - 1]
            found.append(np.minimum(np.maximum(up, down), self.range))
        return found

    def dampened(self, shift: float) -> FloatArray:
        """D of the statistic plus `shift` times Δ."""
        D = np.empty(len(self.everyone))
        for g, (u, delta) in enumerate(zip(self.utility, self.deltas, strict=True)):
            moved = float(u) + shift * self.range
            size = abs(moved)
            b = np.concatenate([[0.0], np.cumsum(delta)])
            beyond = max(size - b[-1], 0.0) / self.range
            inside = np.interp(min(size, b[-1]), b, np.arange(len(b)))
            D[g] = np.copysign(inside + beyond, moved)
        return D

    @cached_property
    def shifted(self) -> FloatArray:
        """u / Δ - Σ over t of (1 - δ / Δ)."""
        deficit = [float((1 - delta / self.range).sum()) for delta in self.deltas]
        return self.utility / self.range - np.array(deficit)

    def smooth(self, epsilon: Fraction) -> FloatArray:
        """The largest of all statistics with Cauchy noise, at the quantiles of all of them."""
        beta = float(epsilon) / 6
        S = np.array([float((np.exp(-beta * np.arange(len(d))) * d).max()) for d in self.deltas])
        scale = np.maximum(6 * S / float(epsilon), 1e-12)[:, None]
        u = self.utility[:, None]
        q = (np.arange(1, POINTS) / POINTS)[None, :]
        levels = np.unique((u + scale * np.tan(np.pi * (q - 0.5)))[:, :: len(self.everyone)])
        below = 0.5 + np.arctan((levels - u) / scale) / np.pi
        return _law_of_distributions(below)

    def private_quantiles(self, epsilon: Fraction) -> FloatArray:
        """The largest of all private quantiles: permute-and-flip by rank, n private."""
        assert isinstance(self.reach.statistic, Quantile)
        assert isinstance(self.reach.x, Histograms)
        masses = quantile_laws(self.reach.x.counts, float(self.reach.statistic.p), epsilon)
        return largest_wins([masses.T])

    def noisy_means(self, epsilon: Fraction) -> FloatArray:
        """The largest of A / (A + B), A and B the sums of v and Δ - v with Laplace(Δ / ε) noise.

        A row adds Δ to A and B together, so both are released for one ε.
        """
        n = self.reach.x.sizes[:, None]
        A = self.reach.x.lowest(self.everyone, self.reach.x.sizes)[:, None] / self.range
        t = (np.arange(POINTS) + 0.25) / POINTS  # never 1/2
        a = 1 - t
        b = t
        c = (t * (n - A) - (1 - t) * A) * float(epsilon)
        tail = a**2 * np.exp(-np.abs(c) / a) - b**2 * np.exp(-np.abs(c) / b)
        tail /= 2 * (a**2 - b**2)
        return _law_of_distributions(np.where(c >= 0, 1 - tail, tail))

    @cached_property
    def margins(self) -> FloatArray:
        """How many rows less than needed keep a group the best; minus how many make it so.

        Best means: no other group has its statistic in a higher cell; a group without enough rows
        is in a cell below all others.  Unit sensitivity.
        """
        up = self._rows_to(1)
        down = self._rows_to(-1)
        others = down.sum(axis=0) - down
        needed = (up + others).min(axis=1)
        overtaken = np.full(len(needed), np.inf)
        for g in self.everyone:
            rival = np.delete(up, g, axis=0)[:, 1:]
            if len(rival):
                overtaken[g] = (rival + down[g, :-1]).min()
        return np.where(needed == 0, np.minimum(overtaken, 1e9) - 1, -needed)

    def _rows_to(self, direction: int) -> IntArray:
        """Rows to change until the statistic is in cell v or above (1), v or below (-1)."""
        cells = np.arange(-1, self.reach.x.top + 1)
        who = np.repeat(self.everyone, len(cells))
        cell = np.tile(cells, len(self.everyone))
        low = np.zeros_like(who)
        high = self.reach.x.sizes[who] + self.reach.floor + 1
        while (low < high).any():
            z = (low + high) // 2
            value = np.maximum(self.values(who, direction * z), -0.5)
            there = value > cell if direction > 0 else value <= cell + 1
            low = np.where(there, low, z + 1)
            high = np.where(there, z, high)
        return high.reshape(len(self.everyone), len(cells))


def quantile_laws(counts: IntArray, p: float, epsilon: Fraction) -> FloatArray:
    """The laws of the private quantiles of all groups, one line each: permute-and-flip by rank."""
    at_most = np.cumsum(counts, axis=1)
    target = p * counts.sum(axis=1)[:, None]
    off = np.maximum(np.maximum(at_most - counts - target, target - at_most), 0)
    return np.array([_permute_and_flip(-line / (2 * max(p, 1 - p)), epsilon) for line in off])


def _law_of_distributions(below: FloatArray) -> FloatArray:
    """Who has the largest of independent numbers; one line of P(number <= level) for each."""
    ends = np.zeros((len(below), 1))
    return largest_wins([np.diff(below, axis=1, prepend=ends, append=ends + 1).T])


def _exponential(score: FloatArray, epsilon: Fraction) -> FloatArray:
    weight = np.exp(float(epsilon) * (score - score.max()))
    return weight / weight.sum()


def _permute_and_flip(score: FloatArray, epsilon: Fraction) -> FloatArray:
    return permute_and_flip(np.maximum(float(epsilon) * (score - score.max()), -1e300))
