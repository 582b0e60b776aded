"""The law of the best group: who wins with which probability.

Every group g has an independent integer W_g = z0 + Z_g with P(Z = z) proportional to a^|z|,
a = exp(-ε), and the largest R_g = R(x_g, W_g) wins, ties by a random order.  With
F_g(τ) = P(R_g < τ) and f_g(τ) = P(R_g = τ),

    P(g wins) = Σ over τ of f_g(τ) ∫ over u in [0, 1] of Π over h ≠ g of (F_h(τ) + u f_h(τ)),

since a random order is the order of independent uniform numbers u.  R_g takes finitely many values,
because R does not change beyond its ends; all other tails are cut where they hold less than e^-46.
The comparisons of the R's are exact.  What is added and multiplied are positive floats, so that the
probabilities are good to about 1e-12 of their value, and absolutely to less than 1e-19 times the
number of groups.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.questions.groups.fractions import Fractions
from dampen.questions.groups.reach import Reach

NEGLIGIBLE = 46.0
BLOCK = 1 << 20


def winning_probabilities(reach: Reach, epsilon: Fraction, offset: int) -> FloatArray:
    """P(g wins) for every group g, with the public offset z0."""
    groups = len(reach.x.sizes)
    who, w, mass = _support(reach, float(epsilon), offset)
    level = _levels(reach.at(who, w))

    def tables() -> Iterator[FloatArray]:
        for here, levels in _blocks(level, max(1, BLOCK // groups)):
            at = np.zeros((levels, groups))
            np.add.at(at, (level[here] - level[here[0]], who[here]), mass[here])
            yield at

    return largest_wins(tables())


def largest_wins(tables: Iterable[FloatArray]) -> FloatArray:
    """P(g has the largest of independent numbers, ties by a random order) for every g.

    Args:
        tables: P(the number of g is at level l), one line per level and one column per g; the
            levels ascend from line to line and from table to table.
    """
    wins = np.zeros(1)
    below = np.zeros(1)
    for at in tables:
        through = np.cumsum(at, axis=0) + below
        wins = wins + _wins(np.vstack([np.broadcast_to(below, at.shape[1]), through[:-1]]), at)
        below = through[-1]
    return wins / wins.sum()


def _support(reach: Reach, epsilon: float, offset: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Groups, integers W and their probabilities; what lies beyond an end is put there."""
    far = int(NEGLIGIBLE / epsilon) + 1
    everyone = np.arange(len(reach.x.sizes))
    first, last = (np.clip(end, offset - far, offset + far) for end in reach.ends(everyone))
    sizes = last - first + 1
    who = np.repeat(everyone, sizes)
    start = np.cumsum(sizes) - sizes
    w = np.arange(len(who)) - np.repeat(start - first, sizes)
    z = (w - offset).astype(np.float64)
    mass = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z))
    for end, beyond in ((start, -1), (start + sizes - 1, 1)):
        mass[end] = _at_least(epsilon, beyond * z[end])
    mass[start[sizes == 1]] = 1.0
    return who, w, mass


def _at_least(epsilon: float, z: FloatArray) -> FloatArray:
    """P(Z >= z)."""
    tail = np.exp(-epsilon * np.where(z > 0, z, 1 - z)) / (1 + np.exp(-epsilon))
    return np.where(z > 0, tail, 1 - tail)


def _levels(numbers: Fractions) -> IntArray:
    """0 for the smallest numbers, 1 for the next larger ones, and so on."""
    keys = numbers.ordinals()
    order = np.lexsort(keys[::-1])
    rises = np.zeros(len(order), dtype=np.bool_)
    for key in keys:
        rises[1:] |= np.diff(key[order]) != 0
    level = np.empty(len(order), dtype=np.int64)
    level[order] = np.cumsum(rises)
    return level


def _blocks(level: IntArray, length: int) -> Iterator[tuple[IntArray, int]]:
    """The entries of `length` levels at a time, lowest first, and how many levels these are."""
    order = np.argsort(level, kind="stable")
    for first in range(0, int(level.max()) + 1, length):
        last = min(first + length, int(level.max()) + 1)
        a, b = np.searchsorted(level[order], [first, last])
        yield order[a:b], last - first


def _wins(below: FloatArray, at: FloatArray) -> FloatArray:
    """Σ over the levels of f_g ∫ Π over the others: one point u where a level has one group."""
    tied = (at > 0).sum(axis=1) > 1
    alone = (at[~tied] * _others(below[~tied])).sum(axis=0)
    if not tied.any():
        return alone
    # A polynomial of degree d in u is integrated exactly by d // 2 + 1 nodes.
    nodes, weights = np.polynomial.legendre.leggauss(int((at > 0).sum(axis=1).max()) // 2 + 1)
    for u, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        alone += weight * (at[tied] * _others(below[tied] + u * at[tied])).sum(axis=0)
    return alone


def _others(factors: FloatArray) -> FloatArray:
    """For every row and column the product of the row's other entries, without a division."""
    left = np.ones_like(factors)
    right = np.ones_like(factors)
    np.multiply.accumulate(factors[:, :-1], axis=1, out=left[:, 1:])
    right[:, :-1] = np.multiply.accumulate(factors[:, :0:-1], axis=1)[:, ::-1]
    return left * right
