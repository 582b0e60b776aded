"""Splits whose leaves all agree are taken back: the tree is smaller and predicts the same.

A function of the released tree alone, so it costs nothing (post-processing).
"""

import numpy as np

from dampen.core.selection import IntArray
from dampen.questions.classify.grow_levels import Tree

__all__ = ["collapsed"]


def collapsed(tree: Tree) -> Tree:
    """The tree without splits into leaves of one class; noisy counts of leaves are kept apart."""
    if tree.counts is not None:
        return tree
    attribute = tree.attribute.copy()
    label = tree.label.copy()
    ends = np.append(tree.route_start[1:], len(tree.routes))
    for node in reversed(range(len(attribute))):  # children come after their parents
        children = tree.routes[tree.route_start[node] : ends[node]]
        agreed = np.unique(label[children])
        if len(agreed) == 1 and agreed[0] >= 0:
            attribute[node] = -1
            label[node] = agreed[0]
    return _kept(tree, attribute, label, ends)


def _kept(tree: Tree, attribute: IntArray, label: IntArray, ends: IntArray) -> Tree:
    """What can still be reached from the root, numbered anew in the same order."""
    kept = np.zeros(len(attribute), dtype=np.bool_)
    kept[0] = True
    for node in range(len(attribute)):
        if kept[node] and attribute[node] >= 0:
            kept[tree.routes[tree.route_start[node] : ends[node]]] = True
    nodes = np.flatnonzero(kept)
    number = np.cumsum(kept) - 1
    routes = [
        number[tree.routes[tree.route_start[i] : ends[i]]] if attribute[i] >= 0 else number[:0]
        for i in nodes
    ]
    starts = np.cumsum([0, *map(len, routes)], dtype=np.int64)[:-1]
    return Tree(
        attribute[nodes], starts, np.concatenate(routes), label[nodes], tree.level[nodes], None
    )
