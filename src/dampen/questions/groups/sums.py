"""The groups with the largest sum, by a mechanism of the core.

`BySum` draws by the sums of the groups.  One row more or less changes one group's sum by at most
Δ = max(|lower|, |upper|), and one replaced value by at most Δ = upper - lower.  Between neighbours
no two sums move in opposite directions, since only one moves.  That is all that permute-and-flip
needs to draw with the exponent ε u / Δ, without a factor 1/2; and the vector of sums changes by
at most Δ in the 1-norm, so that Laplace noise of scale Δ / ε on every sum serves any k at once, and
may show their order.  Sums are whole numbers of the largest unit that divides `lower` and `step`,
clamped to ±2^53, where floats are exact; clamping never makes two sums differ by more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import PF, Mechanism, probabilities, select
from dampen.core.noise import LAPLACE
from dampen.core.sampling import Entropy
from dampen.core.scores import Global, Shifted
from dampen.core.selection import FloatArray, Neighbours, Selection
from dampen.questions.groups.statistics import Grid, Histograms
from dampen.releases.accuracy import lead

LARGEST_EXACT = 2**53
JOINT = Mechanism("joint", Global(), LAPLACE)
"""On the sums as they are, which are exact: other scores would be cut at 2^28 units."""


@dataclass(frozen=True, slots=True, repr=False)
class BySum:
    """The private sums of the groups, ready to be drawn from."""

    sums: Selection

    @classmethod
    def of(cls, x: Histograms, grid: Grid, neighbours: Neighbours, *, smallest: bool) -> "BySum":
        """The sums of counted rows, negated where the smallest is asked for."""
        unit = _unit(grid)
        low = int(grid.lower / unit)
        step = int(grid.step / unit)
        everyone = np.arange(len(x.sizes))
        pairs = zip(x.sizes.tolist(), x.lowest(everyone, x.sizes).tolist(), strict=True)
        sums = [low * n + step * cells for n, cells in pairs]
        sign = -1 if smallest else 1
        inside = [sign * max(-LARGEST_EXACT, min(s, LARGEST_EXACT)) for s in sums]
        return cls(_selection(inside, int(largest_change(grid, neighbours) / unit)))

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        """The probability that a group is the one that `winners` gives for k = 1; not private."""
        return probabilities(self.sums, epsilon=epsilon, mechanism=sum_mechanism(1))

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The set of the k best groups, ascending: ε-DP."""
        return sorted(self.ranking(k, epsilon, entropy))

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first: ε-DP."""
        mechanism = sum_mechanism(k)
        return select(self.sums, epsilon=epsilon, mechanism=mechanism, k=k, entropy=entropy)


def sum_mechanism(k: int) -> Mechanism:
    """One draw at its best, several from one noisy vector."""
    return PF if k == 1 else JOINT


def sum_lead(grid: Grid, neighbours: Neighbours, *, m: int, k: int, epsilon: Fraction) -> float:
    """The lead at which the sums of k of m groups are the answer with probability 0.9."""
    needed = lead(_selection([0, 0], 1), sum_mechanism(k), m=m, k=k, epsilon=epsilon)
    assert needed is not None, "the noise of both mechanisms is known"
    return needed * float(largest_change(grid, neighbours))


def largest_change(grid: Grid, neighbours: Neighbours) -> Fraction:
    """Δ: how much one step changes a sum at most."""
    if neighbours == Neighbours.REPLACE_ONE:
        return grid.upper - grid.lower
    return max(abs(grid.lower), abs(grid.upper))


def _unit(grid: Grid) -> Fraction:
    """The largest unit that divides `lower` and `step`."""
    parts = lcm(grid.lower.denominator, grid.step.denominator)
    return Fraction(gcd(int(grid.lower * parts), int(grid.step * parts)), parts)


def _selection(sums: Sequence[int], change: int) -> Selection:
    return Selection(
        sums,
        sensitivity.constant(change),
        separable=True,
        joint={Global(): 1.0, Shifted(): 1.0},
        exact=True,
    )
