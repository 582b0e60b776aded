"""Menus of public splits: drawing them, counting rows at the ends of their trees, weights.

Arrays in, arrays out.  A menu has several levels; at level l every node has widths[l] splits to
choose from.  Which were chosen down to level l is a number `choice`, where their nodes stand in the
level is `place` (the side of each split, as a binary number).  So the splits of level l are stored
from start[l] on at choice * 2^l + place, one row of arrays per leaf that the menu is for.  A tree
of the menu is a choice for all levels; splits with the same beginning of it are the same.
A split sends codes low .. high - 1 of its attribute to the first side and others to the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed, lost
    from cython.cimports.libc.math import exp, log
else:
    from math import exp, log

    from dampen.kernels.primitives import heed, lost

PAUSE = cython.declare(cython.longlong, (1 << 18) - 1)
LOW_HALF = cython.declare(cython.longlong, 0xFFFFFFFF)


@kernel
def draw_splits(
    words: cython.const[cython.longlong][:, :, ::1],
    splits: cython.const[cython.longlong][:, :],
    first_split: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    allowed: cython.const[cython.uchar][:, ::1],
    attribute: cython.longlong[:, ::1],
    low: cython.longlong[:, ::1],
    high: cython.longlong[:, ::1],
    start: cython.const[cython.longlong][::1],
    widths: cython.const[cython.longlong][::1],
) -> None:
    """Fills the menu with random splits, by words[leaf, split, attempt].

    An attribute is drawn uniformly and one of its splits uniformly; one that cannot tell rows apart
    after the splits above it is drawn again, as often as there are attempts.  `first` is where the
    values of each attribute begin, `allowed` which of all values every leaf allows.
    """
    attributes: cython.longlong = len(first_split) - 1
    leaf: cython.Py_ssize_t
    level: cython.Py_ssize_t
    k: cython.longlong
    at: cython.longlong
    attempt: cython.Py_ssize_t
    word: cython.longlong
    a: cython.longlong
    split: cython.longlong
    with cython.nogil:
        for leaf in range(attribute.shape[0]):
            for level in range(len(widths)):
                for k in range(start[level + 1] - start[level]):
                    at = start[level] + k
                    for attempt in range(words.shape[2]):
                        word = words[leaf, at, attempt]
                        a = (word >> 32) % attributes
                        split = (word & LOW_HALF) % (first_split[a + 1] - first_split[a])
                        split += first_split[a]
                        attribute[leaf, at] = splits[split, 0]
                        low[leaf, at] = splits[split, 1]
                        high[leaf, at] = splits[split, 2]
                        if _tells_apart(
                            leaf, level, k, first, allowed, attribute, low, high, start, widths
                        ):
                            break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tells_apart(
    leaf: cython.Py_ssize_t,
    level: cython.Py_ssize_t,
    k: cython.longlong,
    first: cython.const[cython.longlong][::1],
    allowed: cython.const[cython.uchar][:, ::1],
    attribute: cython.longlong[:, ::1],
    low: cython.longlong[:, ::1],
    high: cython.longlong[:, ::1],
    start: cython.const[cython.longlong][::1],
    widths: cython.const[cython.longlong][::1],
) -> cython.bint:
    """Whether values that reach the k-th split of a level go either way."""
    at: cython.longlong = start[level] + k
    a: cython.longlong = attribute[leaf, at]
    one: cython.bint = False
    other: cython.bint = False
    reached: cython.bint
    inside: cython.bint
    code: cython.longlong
    choice: cython.longlong
    place: cython.longlong
    side: cython.longlong
    parent: cython.longlong
    above: cython.Py_ssize_t
    for code in range(first[a + 1] - first[a]):
        reached = allowed[leaf, first[a] + code]
        choice = k >> level
        place = k - (choice << level)
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


def _places(begin: int, stop: int, start: Any, widths: Any) -> Any:
    """Where the splits of the trees begin .. stop - 1 stand, before the place in the level."""
    later = np.prod(widths, dtype=np.int64) // np.cumprod(widths, dtype=np.int64)
    choice = np.arange(begin, stop, dtype=np.int64)[:, None] // later
    return np.asarray(start)[: len(later)] + (choice << np.arange(len(later)))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _end(
    codes: cython.const[cython.short][:, ::1],
    row: cython.Py_ssize_t,
    leaf: cython.longlong,
    attribute: cython.const[cython.longlong][:, ::1],
    low: cython.const[cython.longlong][:, ::1],
    high: cython.const[cython.longlong][:, ::1],
    places: cython.longlong[:, ::1],
    tree: cython.Py_ssize_t,
) -> cython.longlong:
    """Where a row ends in one of the trees of the menu."""
    place: cython.longlong = 0
    level: cython.Py_ssize_t
    at: cython.longlong
    code: cython.longlong
    for level in range(places.shape[1]):
        at = places[tree, level] + place
        code = codes[row, attribute[leaf, at]]
        place = 2 * place + (not (low[leaf, at] <= code < high[leaf, at]))
    return place


@kernel
def count_ends(
    codes: cython.const[cython.short][:, ::1],
    classes: cython.const[cython.longlong][::1],
    slot: cython.const[cython.longlong][::1],
    attribute: cython.const[cython.longlong][:, ::1],
    low: cython.const[cython.longlong][:, ::1],
    high: cython.const[cython.longlong][:, ::1],
    start: cython.const[cython.longlong][::1],
    widths: cython.const[cython.longlong][::1],
    begin: cython.longlong,
    first: cython.const[cython.longlong][::1],
    tables: cython.longlong[:, :, :, :, ::1],
) -> None:
    """Adds every row to tables[slot, tree, end, value, class], for the trees from `begin` on.

    Trees that differ in their last split alone have the same rows before it.  So of two ends of
    one split the larger is what the two have together in the tree before, less the smaller.
    """
    last: cython.longlong = widths[len(widths) - 1] if len(widths) else 1
    made = _places(begin, begin + tables.shape[1], start, widths)
    places: cython.longlong[:, ::1] = memoryview(made)
    attributes: cython.Py_ssize_t = len(first) - 1
    place: cython.longlong[::1] = memoryview(np.empty(len(slot), dtype=np.int64))
    shape = tables.shape[0], tables.shape[2]
    rows_at: cython.longlong[:, ::1] = memoryview(np.empty(shape, dtype=np.int64))
    whole: cython.bint
    tree: cython.Py_ssize_t
    row: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    end: cython.longlong
    with cython.nogil:
        for tree in range(tables.shape[1]):
            whole = tree == 0 or (begin + tree) % last == 0
            for i in range(rows_at.shape[0]):
                for end in range(rows_at.shape[1]):
                    rows_at[i, end] = 0
            for row in range(len(slot)):
                place[row] = _end(codes, row, slot[row], attribute, low, high, places, tree)
                rows_at[slot[row], place[row]] += 1
            for row in range(len(slot)):
                end = place[row]
                if whole or not _is_larger(rows_at, slot[row], end):
                    for a in range(attributes):
                        tables[slot[row], tree, end, first[a] + codes[row, a], classes[row]] += 1
                if row & PAUSE == PAUSE:
                    heed()
            if not whole:
                for i in range(rows_at.shape[0]):
                    for end in range(rows_at.shape[1]):
                        if _is_larger(rows_at, i, end):
                            _fill_difference(tables, i, tree, end)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_larger(
    rows_at: cython.longlong[:, ::1], leaf: cython.Py_ssize_t, end: cython.longlong
) -> cython.bint:
    """Whether an end has more rows than the other of its split; of equal ones the first has."""
    own: cython.longlong = rows_at[leaf, end]
    other: cython.longlong = rows_at[leaf, end ^ 1]
    return own > other or (own == other and not end & 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_difference(
    tables: cython.longlong[:, :, :, :, ::1],
    leaf: cython.Py_ssize_t,
    tree: cython.Py_ssize_t,
    end: cython.longlong,
) -> cython.void:
    """The table of an end: both of its split in the tree before, less the other's in this one."""
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    for j in range(tables.shape[3]):
        for c in range(tables.shape[4]):
            tables[leaf, tree, end, j, c] = (
                tables[leaf, tree - 1, end, j, c]
                + tables[leaf, tree - 1, end ^ 1, j, c]
                - tables[leaf, tree, end ^ 1, j, c]
            )


@kernel
def end_cells(
    codes: cython.const[cython.short][:, ::1],
    classes: cython.const[cython.longlong][::1],
    slot: cython.const[cython.longlong][::1],
    attribute: cython.const[cython.longlong][:, ::1],
    low: cython.const[cython.longlong][:, ::1],
    high: cython.const[cython.longlong][:, ::1],
    start: cython.const[cython.longlong][::1],
    widths: cython.const[cython.longlong][::1],
    begin: cython.longlong,
    stop: cython.longlong,
    first: cython.const[cython.longlong][::1],
    n_classes: cython.longlong,
) -> Any:
    """The cells (slot, tree, end, value, class) of every row, for the trees begin .. stop - 1."""
    places: cython.longlong[:, ::1] = memoryview(_places(begin, stop, start, widths))
    ends: cython.longlong = 1 << len(widths)
    attributes: cython.Py_ssize_t = len(first) - 1
    values: cython.longlong = first[attributes]
    count: cython.longlong = stop - begin
    found = np.empty(len(slot) * count * attributes, dtype=np.int64)
    cells: cython.longlong[::1] = memoryview(found)
    i: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    a: cython.Py_ssize_t
    tree: cython.Py_ssize_t
    end: cython.longlong
    place: cython.longlong
    with cython.nogil:
        for row in range(len(slot)):
            for tree in range(count):
                end = _end(codes, row, slot[row], attribute, low, high, places, tree)
                place = (slot[row] * count + tree) * ends + end
                for a in range(attributes):
                    cells[i] = place * values + first[a] + codes[row, a]
                    cells[i] = cells[i] * n_classes + classes[row]
                    i += 1
    return found


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _largest(counts: cython.const[cython.longlong][:, :], i: cython.Py_ssize_t) -> cython.longlong:
    largest: cython.longlong = counts[i, 0]
    c: cython.Py_ssize_t
    for c in range(counts.shape[1]):
        largest = max(largest, counts[i, c])
    return largest


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _powers_below(
    counts: cython.const[cython.longlong][:, :],
    i: cython.Py_ssize_t,
    largest: cython.longlong,
    epsilon: cython.double,
    powers: cython.const[cython.double][::1],
) -> cython.double:
    """The sum over c of exp(epsilon (count_c - largest))."""
    total: cython.double = 0.0
    c: cython.Py_ssize_t
    for c in range(counts.shape[1]):
        total += _power(largest - counts[i, c], epsilon, powers)
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _power(
    below: cython.longlong, epsilon: cython.double, powers: cython.const[cython.double][::1]
) -> cython.double:
    """exp(-epsilon below), from powers[below] as far as it goes."""
    return powers[below] if below < len(powers) else exp(-epsilon * below)


@kernel
def log_means(
    counts: cython.const[cython.longlong][:, :],
    epsilon: cython.double,
    powers: cython.const[cython.double][::1],
) -> Any:
    """ln(mean_c exp(epsilon count_c)) of every row of a matrix."""
    found: cython.double[::1] = memoryview(np.empty(counts.shape[0]))
    i: cython.Py_ssize_t
    largest: cython.longlong
    total: cython.double
    with cython.nogil:
        for i in range(counts.shape[0]):
            largest = _largest(counts, i)
            total = _powers_below(counts, i, largest, epsilon, powers)
            found[i] = epsilon * largest + log(total / counts.shape[1])
    return np.asarray(found)


@cython.cclass
class Sides:
    """The memory for both sides of every split of one table."""

    below: cython.longlong[:, ::1]  # per value and class: the rows of smaller values
    side: cython.longlong[:, ::1]  # class counts of the two sides of the current split
    leads: cython.longlong[::1]  # per split: the sum of the largest counts of both sides
    means: cython.double[::1]  # per split: the product of the mean powers of both sides

    def __init__(self, values: Any, classes: Any, splits: Any) -> None:
        self.below = memoryview(np.zeros((values + 1, classes), dtype=np.int64))
        self.side = memoryview(np.zeros((2, classes), dtype=np.int64))
        self.leads = memoryview(np.empty(splits, dtype=np.int64))
        self.means = memoryview(np.empty(splits))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_sides(
    tables: cython.const[cython.longlong][:, :, :],
    i: cython.Py_ssize_t,
    splits: cython.const[cython.longlong][:, :],
    epsilon: cython.double,
    powers: cython.const[cython.double][::1],
    work: Sides,
) -> cython.void:
    """For the splits (begin, low, high, end) of the i-th table, of its values begin .. end - 1."""
    classes: cython.Py_ssize_t = tables.shape[2]
    v: cython.Py_ssize_t
    c: cython.Py_ssize_t
    s: cython.Py_ssize_t
    one: cython.longlong
    other: cython.longlong
    mean: cython.double
    for v in range(tables.shape[1]):
        for c in range(classes):
            work.below[v + 1, c] = work.below[v, c] + tables[i, v, c]
    for s in range(splits.shape[0]):
        for c in range(classes):
            work.side[0, c] = work.below[splits[s, 2], c] - work.below[splits[s, 1], c]
            work.side[1, c] = (
                work.below[splits[s, 3], c] - work.below[splits[s, 0], c] - work.side[0, c]
            )
        one = _largest(work.side, 0)
        other = _largest(work.side, 1)
        work.leads[s] = one + other
        mean = _powers_below(work.side, 0, one, epsilon, powers) / classes
        work.means[s] = mean * (_powers_below(work.side, 1, other, epsilon, powers) / classes)


@kernel
def split_weights(
    tables: cython.const[cython.longlong][:, :, :],
    splits: cython.const[cython.longlong][:, :],
    log_prior: cython.const[cython.double][:],
    epsilon: cython.double,
    powers: cython.const[cython.double][::1],
) -> Any:
    """Of every split, ln of its prior and of both sides' mean powers; one table (value, class)."""
    found: cython.double[::1] = memoryview(np.empty(splits.shape[0]))
    work: Sides = Sides(tables.shape[1], tables.shape[2], splits.shape[0])
    s: cython.Py_ssize_t
    with cython.nogil:
        _fill_sides(tables, 0, splits, epsilon, powers, work)
        for s in range(splits.shape[0]):
            found[s] = log_prior[s] + epsilon * work.leads[s] + log(work.means[s])
    return np.asarray(found)


@kernel
def end_weights(
    tables: cython.const[cython.longlong][:, :, :],
    counts: cython.const[cython.longlong][:, :],
    splits: cython.const[cython.longlong][:, :],
    prior: cython.const[cython.double][:],
    epsilon: cython.double,
    powers: cython.const[cython.double][::1],
) -> Any:
    """ln of the summed weights of no split and of every single one, for each of many tables.

    `counts` are those of the classes, prior[0] is that of no split.
    """
    found: cython.double[::1] = memoryview(np.zeros(tables.shape[0]))
    work: Sides = Sides(tables.shape[1], tables.shape[2], splits.shape[0])
    i: cython.Py_ssize_t
    s: cython.Py_ssize_t
    stay: cython.longlong
    largest: cython.longlong
    alone: cython.double
    total: cython.double
    error: cython.double
    term: cython.double
    new: cython.double
    with cython.nogil:
        for i in range(tables.shape[0]):
            stay = _largest(counts, i)
            if stay == 0:  # all weights are priors, and those add up to 1
                continue
            _fill_sides(tables, i, splits, epsilon, powers, work)
            alone = _powers_below(counts, i, stay, epsilon, powers)
            largest = stay
            for s in range(splits.shape[0]):
                largest = max(largest, work.leads[s])
            total = prior[0] * alone / counts.shape[1]
            total *= _power(largest - stay, epsilon, powers)
            error = 0.0
            for s in range(splits.shape[0]):
                term = prior[1 + s] * work.means[s]
                term *= _power(largest - work.leads[s], epsilon, powers)
                new = total + term
                error += lost(total, term, new)
                total = new
            found[i] = epsilon * largest + log(total + error)
            if i % 256 == 0:
                heed()
    return np.asarray(found)
