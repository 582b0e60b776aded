"""How the winners are drawn from the private counts of all groups.

`ByReach` is the mechanism of `dampen.questions.groups.problem`.

`BySum` draws by the sums of the groups.  One row more or less changes one group's sum by at most
Δ = max(|lower|, |upper|), and one replaced value by at most Δ = upper - lower.  Between neighbours
no two sums move in opposite directions, since only one moves.  That is all that permute-and-flip
needs to draw with the exponent ε u / Δ, without a factor 1/2; and the vector of sums changes by
at most Δ in the 1-norm, so that Laplace noise of scale Δ / ε on every sum serves any k at once, and
may show their order.  Sums are whole numbers of the largest unit that divides `lower` and `step`,
clamped to ±2^53, where floats are exact; clamping never makes two sums differ by more.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd, lcm
from typing import Protocol

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import probabilities, select
from dampen.core.sampling import Entropy, discrete_laplace, random_order
from dampen.core.scores import Global, Shifted
from dampen.core.selection import FloatArray, Neighbours, Selection
from dampen.questions.groups.grid import Grid
from dampen.questions.groups.histograms import Histograms
from dampen.questions.groups.law import winning_probabilities
from dampen.questions.groups.reach import Reach

LARGEST_EXACT = 2**53


class Contest(Protocol):
    """Private counts, ready to be drawn from."""

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        """The probability that a group is the one that `winners` gives for k = 1; not private."""
        ...

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The set of the k best groups, ascending: ε-DP."""
        ...

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first: ε-DP."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class ByReach:
    """The groups with the largest noisy reach."""

    reach: Reach
    caution: Fraction

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        return winning_probabilities(self.reach, epsilon, self.offset(epsilon))

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        groups = len(self.reach.x.sizes)
        w = discrete_laplace(1 / epsilon, groups, entropy) + self.offset(epsilon)
        whole, high, low = self.reach.at(np.arange(groups), w).ordinals()
        order = np.lexsort((random_order(groups, entropy), low, high, whole))
        return sorted(order[groups - k :].tolist())

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """One group at a time, at ε/k each."""
        left = list(range(len(self.reach.x.sizes)))
        best = []
        for _ in range(k):
            [place] = self._among(left).winners(1, epsilon / k, entropy)
            best.append(left.pop(place))
        return best

    def offset(self, epsilon: Fraction) -> int:
        return public_offset(self.caution, epsilon)

    def _among(self, groups: list[int]) -> "ByReach":
        reach = self.reach
        x = Histograms(reach.x.counts[groups])
        return ByReach(Reach(x, reach.statistic, reach.steps, reach.floor), self.caution)


@dataclass(frozen=True, slots=True, repr=False)
class BySum:
    """The groups with the largest noisy sum."""

    sums: Selection

    @classmethod
    def of(cls, x: Histograms, grid: Grid, neighbours: Neighbours, *, smallest: bool) -> "BySum":
        unit = lcm(grid.lower.denominator, grid.step.denominator)
        low = int(grid.lower * unit)
        step = int(grid.step * unit)
        low, step = low // gcd(low, step), step // gcd(low, step)
        high = low + grid.top * step
        change = max(abs(low), abs(high)) if neighbours == Neighbours.ADD_REMOVE_ROW else high - low
        everyone = np.arange(len(x.sizes))
        pairs = zip(x.sizes.tolist(), x.lowest(everyone, x.sizes).tolist(), strict=True)
        sums = [low * n + step * cells for n, cells in pairs]
        sign = -1 if smallest else 1
        inside = [sign * max(-LARGEST_EXACT, min(s, LARGEST_EXACT)) for s in sums]
        return cls(
            Selection(
                inside,
                sensitivity.constant(change),
                separable=True,
                joint={Global(): 1.0, Shifted(): 1.0},
                exact=True,
            )
        )

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        return probabilities(self.sums, epsilon=epsilon, mechanism="pf")

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        return sorted(self.ranking(k, epsilon, entropy))

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        mechanism = sum_mechanism(k)
        chosen = select(self.sums, epsilon=epsilon, mechanism=mechanism, k=k, entropy=entropy)
        return chosen if isinstance(chosen, list) else [chosen]


def public_offset(caution: Fraction, epsilon: Fraction) -> int:
    """z0: -caution / ε, to the nearest integer."""
    return -floor(caution / epsilon + Fraction(1, 2))


def sum_mechanism(k: int) -> str:
    """One draw at its best, several from one noisy vector."""
    return "pf" if k == 1 else "joint"
