"""Small trees from a menu: drawing them, counting rows at their ends, their free energy.

Arrays in, arrays out.  A menu is (attribute, low, high, height): row i is a complete binary tree in
heap order, whose node k sends codes low[i, k] .. high[i, k] - 1 of its attribute to 2k + 1 and the
others to 2k + 2, down to height[i].
"""

import math
from typing import Any

import numpy as np

from dampen._kernels.compile import compiled
from dampen._kernels.splits import _add


@compiled
def draw_trees(words: Any, splits: Any, first_split: Any, sizes: Any, menu: Any) -> Any:
    """Fills the menu with random splits, by words[tree, node, attempt].

    An attribute is drawn uniformly and one of its splits uniformly; one that cannot tell rows apart
    after the splits above it is drawn again, as often as there are attempts.
    """
    attribute, low, high, height = menu
    for tree in range(len(height)):
        for node in range(2 ** height[tree] - 1):
            for word in words[tree, node]:
                a = (word >> 32) % len(sizes)
                count = first_split[a + 1] - first_split[a]
                split = first_split[a] + (word & 0xFFFFFFFF) % count
                attribute[tree, node] = a
                low[tree, node], high[tree, node] = splits[split, 0], splits[split, 1]
                if _tells_apart(attribute[tree], low[tree], high[tree], node, sizes[a]):
                    break


@compiled
def _tells_apart(attribute: Any, low: Any, high: Any, node: Any, size: Any) -> Any:
    """Whether values that reach the node go either way."""
    left, right = False, False
    for code in range(size):
        child, reached = node, True
        while child > 0 and reached:
            parent = (child - 1) // 2
            inside = low[parent] <= code < high[parent]
            reached = attribute[parent] != attribute[node] or inside == (child == 2 * parent + 1)
            child = parent
        if reached:
            if low[node] <= code < high[node]:
                left = True
            else:
                right = True
    return left and right


@compiled
def _end(codes: Any, menu: Any, tree: Any) -> Any:
    attribute, low, high, height = menu
    node = 0
    for _ in range(height[tree]):
        code = codes[attribute[tree, node]]
        inside = low[tree, node] <= code < high[tree, node]
        node = 2 * node + 1 if inside else 2 * node + 2
    return node + 1 - 2 ** height[tree]


@compiled
def count_ends(codes: Any, classes: Any, slot: Any, menu: Any, tables: Any) -> Any:
    """Adds every row that has a slot to tables[slot, tree, end, class], for all trees."""
    for tree in range(len(menu[3])):
        for row in range(len(slot)):
            if slot[row] >= 0:
                tables[slot[row], tree, _end(codes[row], menu, tree), classes[row]] += 1


@compiled
def end_cells(codes: Any, classes: Any, slot: Any, menu: Any, n_classes: Any) -> Any:
    """The cells (slot, tree, end, class) of every row, one per tree."""
    trees, ends = len(menu[3]), menu[0].shape[1] + 1
    cells = np.empty(len(slot) * trees, dtype=np.int64)
    i = 0
    for row in range(len(slot)):
        for tree in range(trees):
            end = (slot[row] * trees + tree) * ends + _end(codes[row], menu, tree)
            cells[i] = end * n_classes + classes[row]
            i += 1
    return cells


@compiled
def free_energy(tables: Any, epsilon: Any) -> Any:
    """The sum over ends of ln(mean_c exp(epsilon count_c)) / epsilon, for every tree."""
    trees, ends, classes = tables.shape
    u = np.zeros(trees)
    for tree in range(trees):
        total, lost = 0.0, 0.0
        for end in range(ends):
            largest = tables[tree, end].max()
            if largest > 0:
                term = _log_mean(tables[tree, end], largest, epsilon, classes)
                total, lost = _add(total, lost, term / epsilon)
        u[tree] = total + lost
    return u


@compiled
def _log_mean(counts: Any, largest: Any, epsilon: Any, classes: Any) -> Any:
    """ln(mean_c exp(epsilon count_c)), by terms of one sign where exponentials do not overflow."""
    small = epsilon * largest <= 700.0
    total, lost = 0.0, 0.0
    for count in counts:
        part = math.expm1(epsilon * count) if small else math.exp(epsilon * (count - largest))
        total, lost = _add(total, lost, part)
    mean = (total + lost) / classes
    return math.log1p(mean) if small else epsilon * largest + math.log(mean)
