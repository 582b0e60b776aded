"""A released tree: where rows go, which class they get, and how sure that is.

All of it is public, and everything here is a function of what was released: it costs nothing
(post-processing).

**Splits whose leaves all agree** are taken back: the tree is smaller and predicts the same.

**Probabilities of classes from noisy counts**: from the public law of the noise.  A leaf's noisy
count is z = t + Z with P(Z = j) proportional to q^|j|, q = exp(-ε).  If every t >= 0 was as likely
before, the mean of t given z is

    z + q^(z+1) (z + 1 - z q) / ((1 - q) (1 + q - q^(z+1)))  for z >= 0,   q / (1 - q)  for z <= 0,

sums of geometric series.  It is above 0 where z is not, and z itself where there is no noise.  Half
a row more for each class (Jeffreys) keeps a leaf of few rows from being sure.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen.core.selection import FloatArray, IntArray

__all__ = ["Tree", "chances", "collapsed", "expected_counts"]

PSEUDO_COUNT = 0.5


@dataclass(frozen=True, eq=False)
class Tree:
    """A released tree: arrays with one entry per node, the root first.  Nothing here is private.

    Attributes:
        attribute: the attribute a node splits by, -1 for a leaf.
        route_start: where a node's routes begin.
        routes: the child for every code of the attribute, node after node.
        label: the class of a leaf, -1 inside the tree.
        level: the distance from the root.
        counts: the noisy class counts of the leaves, where leaves were made from them.
    """

    attribute: IntArray
    route_start: IntArray
    routes: IntArray
    label: IntArray
    level: IntArray
    counts: IntArray | None

    @property
    def leaves(self) -> IntArray:
        """The nodes that are leaves, in their order."""
        return np.flatnonzero(self.attribute < 0)

    @property
    def slots(self) -> IntArray:
        """The place of every leaf among the leaves; -1 inside the tree."""
        leaf = self.attribute < 0
        return np.where(leaf, np.cumsum(leaf) - 1, -1)

    @property
    def depth(self) -> int:
        """The levels of splits."""
        return int(self.level.max())

    def apply(self, codes: Any) -> IntArray:
        """The leaf of every row."""
        node = np.zeros(len(codes), dtype=np.int64)
        moving = np.flatnonzero(self.attribute[node] >= 0)
        while len(moving):
            at = node[moving]
            node[moving] = self.routes[self.route_start[at] + codes[moving, self.attribute[at]]]
            moving = moving[self.attribute[node[moving]] >= 0]
        return node

    def children(self, node: int) -> IntArray:
        """The child for every code of the attribute of a node; none for a leaf."""
        later = node + 1
        end = self.route_start[later] if later < len(self.route_start) else len(self.routes)
        return self.routes[self.route_start[node] : end]


def collapsed(tree: Tree) -> Tree:
    """The tree without splits into leaves of one class; noisy counts of leaves are kept apart."""
    if tree.counts is not None:
        return tree
    attribute = tree.attribute.copy()
    label = tree.label.copy()
    for node in reversed(range(len(attribute))):  # children come after their parents
        agreed = np.unique(label[tree.children(node)])
        if len(agreed) == 1 and agreed[0] >= 0:
            attribute[node] = -1
            label[node] = agreed[0]
    return _kept(tree, attribute, label)


def _kept(tree: Tree, attribute: IntArray, label: IntArray) -> Tree:
    """What can still be reached from the root, numbered anew in the same order."""
    kept = np.zeros(len(attribute), dtype=np.bool_)
    kept[0] = True
    for node in range(len(attribute)):
        if kept[node] and attribute[node] >= 0:
            kept[tree.children(node)] = True
    nodes = np.flatnonzero(kept)
    number = np.cumsum(kept) - 1
    routes = [number[tree.children(int(i))] if attribute[i] >= 0 else number[:0] for i in nodes]
    starts = np.cumsum([0, *map(len, routes)], dtype=np.int64)[:-1]
    return Tree(
        attribute[nodes], starts, np.concatenate(routes), label[nodes], tree.level[nodes], None
    )


def expected_counts(noisy: IntArray, epsilon: float) -> FloatArray:
    """The mean of a count given its noisy value, for noise at ε.

    >>> expected_counts(np.array([-5, 0, 3, 50]), 1.0).round(2).tolist()
    [0.58, 0.58, 3.06, 50.0]
    """
    z = np.maximum(noisy, 0).astype(np.float64)
    q = np.exp(-epsilon)
    tail = np.exp(-epsilon * (z + 1))
    gap = -np.expm1(-epsilon)
    raised: FloatArray = z + tail * (1 + z * gap) / (gap * (1 + q - tail))
    return raised


def chances(noisy: IntArray, epsilon: float) -> FloatArray:
    """Of every class (last axis), its share of the expected counts."""
    counts = expected_counts(noisy, epsilon) + PSEUDO_COUNT
    shares: FloatArray = counts / counts.sum(axis=-1, keepdims=True)
    return shares
