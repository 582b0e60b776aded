"""Menus of public splits: drawing them, counting rows at the ends of their trees, weights.

Arrays in, arrays out.  A menu has several levels; at level l every node has widths[l] splits to
choose from.  Which were chosen down to level l is a number `choice`, where their nodes stand in the
level is `place` (the side of each split, as a binary number).  So the splits of level l are stored
from start[l] on at choice * 2^l + place, one row of arrays per leaf that the menu is for.  A tree
of the menu is a choice for all levels; splits with the same beginning of it are the same.
A split sends codes low .. high - 1 of its attribute to the first side and others to the second.
"""

import math
from typing import Any

import numpy as np

from dampen.kernels.compile import compiled
from dampen.kernels.splits import _add


@compiled
def draw_splits(words: Any, splits: Any, first_split: Any, values: Any, menu: Any) -> Any:
    """Fills the menu with random splits, by words[leaf, split, attempt].

    An attribute is drawn uniformly and one of its splits uniformly; one that cannot tell rows apart
    after the splits above it is drawn again, as often as there are attempts.  `values` is where
    those of each attribute begin, and which of all values every leaf allows.
    """
    first, allowed = values
    attribute, low, high, start, widths = menu
    for leaf in range(len(attribute)):
        for level in range(len(widths)):
            for k in range(start[level + 1] - start[level]):
                at = start[level] + k
                for word in words[leaf, at]:
                    a = (word >> 32) % (len(first_split) - 1)
                    count = first_split[a + 1] - first_split[a]
                    split = first_split[a] + (word & 0xFFFFFFFF) % count
                    attribute[leaf, at] = splits[split, 0]
                    low[leaf, at] = splits[split, 1]
                    high[leaf, at] = splits[split, 2]
                    if _tells_apart(menu, leaf, (level, k), first, allowed[leaf]):
                        break


@compiled
def _tells_apart(menu: Any, leaf: Any, split: Any, first: Any, allowed: Any) -> Any:
    """Whether values that reach the k-th split of a level go either way."""
    level, k = split
    attribute, low, high, start, widths = menu
    at = start[level] + k
    a = attribute[leaf, at]
    one = False
    other = False
    for code in range(first[a + 1] - first[a]):
        reached = allowed[first[a] + code]
        choice = k >> level
        place = k & (2**level - 1)
        for above in range(level - 1, -1, -1):
            choice = choice // widths[above + 1]
            side = place & 1
            place = place >> 1
            parent = start[above] + (choice << above) + place
            inside = low[leaf, parent] <= code < high[leaf, parent]
            if attribute[leaf, parent] == a and inside != (side == 0):
                reached = False
        if reached:
            if low[leaf, at] <= code < high[leaf, at]:
                one = True
            else:
                other = True
    return one and other


@compiled
def _end(codes: Any, leaf: Any, tree: Any, menu: Any) -> Any:
    attribute, low, high, start, widths = menu
    place = 0
    later = 1
    for width in widths:
        later *= width
    for level in range(len(widths)):
        later //= widths[level]
        at = start[level] + ((tree // later) << level) + place
        code = codes[attribute[leaf, at]]
        place = 2 * place + (0 if low[leaf, at] <= code < high[leaf, at] else 1)
    return place


@compiled
def count_ends(codes: Any, classes: Any, slot: Any, menu: Any, counted: Any) -> Any:
    """Adds every row to tables[slot, tree, end, value, class], for the trees from `begin` on."""
    begin, first, tables = counted
    for tree in range(tables.shape[1]):
        for row in range(len(slot)):
            end = _end(codes[row], slot[row], begin + tree, menu)
            for a in range(len(first) - 1):
                tables[slot[row], tree, end, first[a] + codes[row, a], classes[row]] += 1


@compiled
def end_cells(codes: Any, classes: Any, slot: Any, menu: Any, counted: Any) -> Any:
    """The cells (slot, tree, end, value, class) of every row, for the trees begin .. end - 1."""
    begin, end_of_trees, first, n_classes = counted
    ends = 2 ** len(menu[4])
    attributes = len(first) - 1
    values = first[-1]
    count = end_of_trees - begin
    cells = np.empty(len(slot) * count * attributes, dtype=np.int64)
    i = 0
    for row in range(len(slot)):
        for tree in range(count):
            end = _end(codes[row], slot[row], begin + tree, menu)
            place = (slot[row] * count + tree) * ends + end
            for a in range(attributes):
                cells[i] = (place * values + first[a] + codes[row, a]) * n_classes + classes[row]
                i += 1
    return cells


@compiled
def _lead(counts: Any, epsilon: Any, powers: Any) -> Any:
    """The largest count l, and the sum over c of exp(epsilon (count_c - l))."""
    largest = counts[0]
    total = 0.0
    for count in counts:
        largest = max(largest, count)
    for count in counts:
        total += _power(largest - count, epsilon, powers)
    return largest, total


@compiled
def _power(below: Any, epsilon: Any, powers: Any) -> Any:
    """exp(-epsilon below), from powers[below] as far as it goes."""
    return powers[below] if below < len(powers) else math.exp(-epsilon * below)


@compiled
def log_means(counts: Any, epsilon: Any, powers: Any) -> Any:
    """ln(mean_c exp(epsilon count_c)) of every row of a matrix."""
    found = np.empty(len(counts))
    for i in range(len(counts)):
        largest, total = _lead(counts[i], epsilon, powers)
        found[i] = epsilon * largest + math.log(total / counts.shape[1])
    return found


@compiled
def _sides(table: Any, splits: Any, epsilon: Any, powers: Any) -> Any:
    """Of every split of a table (value, class), l of both sides and the product of their means."""
    values, classes = table.shape
    below = np.zeros((values + 1, classes), dtype=np.int64)
    for v in range(values):
        for c in range(classes):
            below[v + 1, c] = below[v, c] + table[v, c]
    leads = np.empty(len(splits), dtype=np.int64)
    means = np.empty(len(splits))
    inside = below[0].copy()
    outside = below[0].copy()
    for s in range(len(splits)):
        begin, low, high, end = splits[s]
        for c in range(classes):
            inside[c] = below[high, c] - below[low, c]
            outside[c] = below[end, c] - below[begin, c] - inside[c]
        one, one_sum = _lead(inside, epsilon, powers)
        other, other_sum = _lead(outside, epsilon, powers)
        leads[s] = one + other
        means[s] = (one_sum / classes) * (other_sum / classes)
    return leads, means


@compiled
def split_weights(table: Any, splits: Any, log_prior: Any, epsilon: Any, powers: Any) -> Any:
    """Of every split, ln of its prior and of both sides' mean powers; table is (value, class)."""
    leads, means = _sides(table, splits, epsilon, powers)
    return log_prior + epsilon * leads + np.log(means)


@compiled
def end_weights(tables: Any, counts: Any, splits: Any, prior: Any, law: Any) -> Any:
    """ln of the summed weights of no split and of every single one, for each of many tables.

    `counts` are those of the classes, prior[0] is that of no split; law is epsilon and its powers.
    """
    epsilon, powers = law
    found = np.zeros(len(tables))
    for i in range(len(tables)):
        if counts[i].any():  # else all weights are priors, and those add up to 1
            leads, means = _sides(tables[i], splits, epsilon, powers)
            stay, alone = _lead(counts[i], epsilon, powers)
            largest = max(stay, leads.max()) if len(leads) else stay
            total = prior[0] * alone / counts.shape[1] * _power(largest - stay, epsilon, powers)
            lost = 0.0
            for s in range(len(leads)):
                term = prior[1 + s] * means[s] * _power(largest - leads[s], epsilon, powers)
                total, lost = _add(total, lost, term)
            found[i] = epsilon * largest + math.log(total + lost)
    return found
