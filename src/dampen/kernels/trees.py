"""Decision trees: contingency tables, scores of splits with their sensitivity, menus of subtrees.

`phi(x) = (x+1) log2(x+1) - x log2 x`; its sums telescope, so that no table of it is needed.  The
local sensitivity of information gain is an upper envelope.  A *piece* of it is a row
(t0, kind, n, m): from t0 on, until the next piece starts, the envelope is

    kind DOWN:  phi(n - t) - phi(m - t)     for t < m, with n >= 2m + 1
    kind UP:    phi(n + t), or the bound as soon as n + t > N

Differences of logarithms are written as logarithms of quotients: every value and every sum has a
relative error below 2^-50.

A *menu* of public splits has several levels; at level l every node has widths[l] splits to choose
from.  Which were chosen down to level l is a number `choice`, where their nodes stand in the level
is `place` (the side of each split, as a binary number).  So the splits of level l are stored from
start[l] on at choice * 2^l + place, one row of arrays per leaf that the menu is for.  A tree of the
menu is a choice for all levels; splits with the same beginning of it are the same.  A split sends
codes low .. high - 1 of its attribute to the first side and others to the second.
"""

import numpy as np

try:
    import cython
except ImportError:
    from dampen.kernels import primitives as cython
if not cython.compiled:  # else the .pxd has them
    from dampen.kernels.primitives import *

DOWN = cython.declare(cython.longlong, 0)
UP = cython.declare(cython.longlong, 1)
LN2 = cython.declare(cython.double, log(2.0))
PAUSE = cython.declare(cython.longlong, (1 << 20) - 1)


def count_tables(codes, classes, order, begins, starts, tables):
    """Counts the rows of each node, from order[begins[node]] on: tables[node, value, class]."""
    width: Size = codes.shape[1]
    with cython.nogil:
        for node in range(len(begins) - 1):
            for i in range(begins[node], begins[node + 1]):
                row = order[i]
                for a in range(width):
                    tables[node, starts[a] + codes[row, a], classes[row]] += 1
                if i & PAUSE == PAUSE:
                    heed(PAUSE)


def group_rows(node_of_row, nodes):
    """Rows by node, nodes < 0 left out: (order, starts), a counting sort."""
    counts = np.bincount(np.asarray(node_of_row) + 1, minlength=nodes + 1)
    starts = (np.cumsum(counts) - counts[0]).astype(np.int64)
    place: OutLongs = memoryview(starts.copy())
    order: OutLongs = memoryview(np.empty(starts[nodes], np.int64))
    with cython.nogil:
        for row in range(len(node_of_row)):
            node = node_of_row[row]
            if node >= 0:
                order[place[node]] = row
                place[node] += 1
            if row & PAUSE == PAUSE:
                heed(PAUSE)
    return np.asarray(order), starts


def move_rows(codes, node_of_row, attribute, route_start, routes):
    """Every row of a split node goes to its child; rows of other nodes leave the level (-1)."""
    with cython.nogil:
        for row in range(len(node_of_row)):
            node = node_of_row[row]
            if node >= 0:
                a = attribute[node]
                node_of_row[row] = routes[route_start[node] + codes[row, a]] if a >= 0 else -1
            if row & PAUSE == PAUSE:
                heed(PAUSE)


def _sum(table, j):
    total: Long = 0
    for c in range(table.shape[1]):
        total += table[j, c]
    return total


def impurities(table, starts, order):
    """Minus Tsallis' entropy within the values of every candidate, in units of its own.

    Of order 1 that is information gain, -tau H(C|A); of order 2 gini; between them 1.5.  Each is a
    compensated sum of terms of one sign.
    """
    u: OutDoubles = memoryview(np.zeros(len(starts) - 1))
    with cython.nogil:
        for r in range(len(u)):
            total: cython.double = 0.0
            error: cython.double = 0.0
            for j in range(starts[r], starts[r + 1]):
                a = _sum(table, j)
                for c in range(table.shape[1]):
                    term = _impurity(table, j, c, a, order)
                    new = total + term
                    error += lost(total, term, new)
                    total = new
            u[r] = total + error
    return np.asarray(u)


def _impurity(table, j, c, a, order):
    """The term of one class; all classes are in the first, where exact integers are their sum."""
    b: Long = table[j, c]
    squares: Long = 0
    if order == 2.0:
        if c > 0 or a == 0:
            return 0.0
        for i in range(table.shape[1]):
            squares += table[j, i] * table[j, i]
        return 1.0 * (squares - a * a) / a
    if b in (0, a):
        return 0.0
    if order == 1.5:  # b (sqrt(b / a) - 1), without a difference of rounded numbers
        return b * (1.0 * (b - a) / a) / (1.0 + sqrt(1.0 * b / a))
    return b * ((log(1.0 * b / a) if 2 * b < a else log1p(1.0 * (b - a) / a)) / LN2)


def _phi_difference(n, m):
    """phi(n) - phi(m), for n >= m >= 0, in natural logarithms."""
    x: cython.double = log((n + 1.0) / (m + 1))
    if n > 0:
        x += n * log1p(1.0 / n)
    if m > 0:
        x -= m * log1p(1.0 / m)
    return x


def _value(pieces, i, t, N, bound):
    """A piece at t, in bits."""
    n: Long = pieces[i, 2]
    if pieces[i, 1] == DOWN:
        return _phi_difference(n - t, pieces[i, 3] - t) / LN2
    return bound if n + t > N else min(bound, _phi_difference(n + t, 0) / LN2)


def _telescoped(x, length):
    """The sum of phi(i) over x <= i < x + length, less length log(x + length)."""
    return x * log1p(1.0 * length / x) if x > 0 else 0.0


def _piece_sum(pieces, i, t1, N, bound):
    """The sum of a piece from its start to t1, in bits."""
    t0: Long = pieces[i, 0]
    n: Long = pieces[i, 2]
    m: Long = pieces[i, 3]
    length: Long = t1 - t0
    total: cython.double = 0.0
    if t1 <= t0:
        return 0.0
    if pieces[i, 1] == DOWN:
        x = n - t1 + 1
        y = m - t1 + 1
        total = length * log(1.0 * (x + length) / (y + length))
        return (total + (_telescoped(x, length) - _telescoped(y, length))) / LN2
    end = max(t0, min(t1, N - n + 1))
    length = end - t0
    if length > 0:
        x = n + t0
        total = (length * log(x + length) + _telescoped(x, length)) / LN2
    return total + (t1 - end) * bound


def _frontier(table, begin, end, lines):
    """The values that no other value dominates, as rows (n, m), n and m falling; how many.

    Of each value only its rarest class matters, and a value matters only if none has both a larger
    n and a smaller m: see `dampen.questions.classify.splits`.
    """
    kept: Size = 0
    for j in range(begin, end):
        n = _sum(table, j)
        m: Long = table[j, 0]
        for c in range(table.shape[1]):
            m = min(m, table[j, c])
        if m >= 1:
            n -= 1
        m = max(m - 1, 0)
        at = kept
        while at > 0 and lines[at - 1, 0] <= n:
            at -= 1
        if at > 0 and lines[at - 1, 1] <= m:
            continue
        if at < kept and lines[at, 0] == n and lines[at, 1] <= m:
            continue
        after = at
        while after < kept and lines[after, 1] >= m:
            after += 1
        shift = at + 1 - after
        if shift > 0:
            for c in range(kept - 1, after - 1, -1):
                lines[c + 1, 0] = lines[c, 0]
                lines[c + 1, 1] = lines[c, 1]
        elif shift < 0:
            for c in range(after, kept):
                lines[c + shift, 0] = lines[c, 0]
                lines[c + shift, 1] = lines[c, 1]
        kept += shift
        lines[at, 0] = n
        lines[at, 1] = m
    return kept


def _lines_alone(lines, count, N, out, begins):
    """The pieces of every value: remove from its rarest class until it is empty, then add."""
    size: Size = 0
    for i in range(count):
        n = lines[i, 0]
        m = lines[i, 1]
        begins[i] = size
        if m > 0:
            size = _append(out, size, 0, DOWN, n, m)
        if m == 0 or m < N:
            size = _append(out, size, m, UP, n - 2 * m, 0)
    begins[count] = size


def _append(out, size, t0, kind, n, m):
    out[size, 0] = t0
    out[size, 1] = kind
    out[size, 2] = n
    out[size, 3] = m
    return size + 1


class Merging:
    """Two envelopes and what they become, from out[begin] on; a piece is its place in `given`."""


def _emit(work, t0, p):
    """Appends a piece from t0 on, unless it is the one already running."""
    i: Size = work.size - 1
    kind: Long = work.given[p, 1]
    n: Long = work.given[p, 2]
    m: Long = work.given[p, 3]
    runs: cython.bint = work.size > work.begin and work.out[i, 1] == kind
    if not (runs and work.out[i, 2] == n and work.out[i, 3] == m):
        work.size = _append(work.out, work.size, t0, kind, n, m)


def _turn(work, p, q, lo, hi):
    """The first t in [lo, hi) from which p - q, p DOWN, is monotone to the end."""
    n: cython.double = work.given[p, 2]
    m: cython.double = work.given[p, 3]
    other_n: cython.double = work.given[q, 2]
    other_m: cython.double = work.given[q, 3]
    while lo < hi:
        t = (lo + hi) // 2
        if work.given[q, 1] == UP:  # p - q falls first, then rises; else it is the other way round
            slope = (n - t) * (other_n + t) - (m - t) * (n + other_n + 1)
        else:
            slope = (other_n - other_m) * (m - t) * (n - t + 1)
            slope -= (n - m) * (other_m - t) * (other_n - t + 1)
        if slope >= 0:
            hi = t
        else:
            lo = t + 1
    return lo


def _wins(work, p, q, t):
    other: cython.double = _value(work.given, q, t, work.N, work.bound)
    return _value(work.given, p, t, work.N, work.bound) > other


def _emit_monotone(work, p, q, lo, hi):
    """The larger of p and q on a span where p - q is monotone: at most one change."""
    if lo >= hi:
        return
    at_first = _wins(work, p, q, lo)
    at_last = _wins(work, p, q, hi - 1)
    _emit(work, lo, p if at_first else q)
    if at_first == at_last:
        return
    hi -= 1
    while lo + 1 < hi:
        t = (lo + hi) // 2
        if _wins(work, p, q, t) == at_first:
            lo = t
        else:
            hi = t
    _emit(work, hi, p if at_last else q)


def _emit_larger(work, p, q, lo, hi):
    """The larger of two pieces on a span."""
    if work.given[p, 1] == UP and work.given[q, 1] == UP:
        _emit(work, lo, p if work.given[p, 2] >= work.given[q, 2] else q)
        return
    if work.given[p, 1] == UP or (work.given[q, 1] == DOWN and work.given[q, 2] > work.given[p, 2]):
        other = p
        p = q
        q = other
    width = work.given[q, 2] - work.given[q, 3]
    if work.given[q, 1] == DOWN and work.given[p, 2] - work.given[p, 3] < width:
        _emit(work, lo, q)
        return
    turn = _turn(work, p, q, lo, hi)
    _emit_monotone(work, p, q, lo, turn)
    _emit_monotone(work, p, q, turn, hi)


def _merge(work, p, q, end):
    """The upper envelope, on [0, N), of two: rows p .. q - 1 and q .. end - 1 of what is given."""
    p_last: Size = q - 1
    lo: Long = 0
    while lo < work.N:
        p_end = work.given[p + 1, 0] if p < p_last else work.N
        q_end = work.given[q + 1, 0] if q + 1 < end else work.N
        hi = min(p_end, q_end)
        _emit_larger(work, p, q, lo, hi)
        if p_end == hi and p < p_last:
            p += 1
        if q_end == hi and q + 1 < end:
            q += 1
        lo = hi


def _merge_pairs(work, begins, count):
    """Merges the first envelope with the second and so on; how many are left."""
    work.size = 0
    for i in range(0, count, 2):
        work.begin = work.size
        if i + 1 < count:
            _merge(work, begins[i], begins[i + 1], begins[i + 2])
        else:
            for j in range(begins[i], begins[count]):
                _emit(work, work.given[j, 0], j)
        begins[i // 2] = work.begin
    begins[(count + 1) // 2] = work.size
    return (count + 1) // 2


def envelopes(table, starts, N, bound):
    """The pieces of every candidate, where each begins, and the sums up to each piece."""
    most = int(np.diff(starts).max(initial=0))
    lines: OutLongs2 = memoryview(np.empty((most, 2), np.int64))
    inner: OutLongs = memoryview(np.empty(most + 1, np.int64))
    work: Merging = Merging()
    work.N = N
    work.bound = bound
    work.given = memoryview(np.empty((2 * most, 4), np.int64))
    work.out = memoryview(np.empty((8 * most, 4), np.int64))
    parts = []
    for r in range(len(starts) - 1):
        count = _frontier(table, starts[r], starts[r + 1], lines)
        _lines_alone(lines, count, N, work.given, inner)
        while count > 1:
            needed = 4 * inner[count]
            if len(work.out) < needed:
                work.out = memoryview(np.empty((2 * needed, 4), np.int64))
            count = _merge_pairs(work, inner, count)
            made = work.out
            work.out = work.given
            work.given = made
        parts.append(np.array(work.given)[: inner[count]])
    begins = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    pieces = np.concatenate([np.empty((0, 4), np.int64), *parts])
    sums = np.zeros(len(pieces))
    _fill_sums_before(memoryview(begins), memoryview(pieces), N, bound, memoryview(sums))
    return begins, pieces, sums


def _fill_sums_before(begins, pieces, N, bound, sums):
    with cython.nogil:
        for r in range(len(begins) - 1):
            total: cython.double = 0.0
            error: cython.double = 0.0
            for i in range(begins[r], begins[r + 1] - 1):
                term = _piece_sum(pieces, i, pieces[i + 1, 0], N, bound)
                new = total + term
                error += lost(total, term, new)
                total = new
                sums[i + 1] = total + error


def envelope(begins, pieces, sums, t, N, bound):
    """The sum of delta(x, j, r) over j < t_r, for every r; delta(x, t_r, r) without sums."""
    values: OutDoubles = memoryview(np.empty(len(t)))
    with cython.nogil:
        for r in range(len(t)):
            a = begins[r]
            b = begins[r + 1]
            while a + 1 < b:
                i = (a + b) // 2
                if pieces[i, 0] <= t[r]:
                    a = i
                else:
                    b = i
            if len(sums) > 0:
                values[r] = sums[a] + _piece_sum(pieces, a, t[r], N, bound)
            else:
                values[r] = _value(pieces, a, t[r], N, bound)
    return np.asarray(values)


def draw_splits(words, splits, first_split, first, allowed, attribute, low, high, start, widths):
    """Fills the menu with random splits, by words[leaf, split, attempt].

    A column is drawn uniformly and one of its splits uniformly; one that cannot tell rows apart
    after the splits above it is drawn again, as often as there are attempts.  `first` is where the
    values of each attribute begin, `allowed` which of all values every leaf allows.
    """
    attributes: Long = len(first_split) - 1
    with cython.nogil:
        for leaf in range(attribute.shape[0]):
            for level in range(len(widths)):
                for k in range(start[level + 1] - start[level]):
                    at = start[level] + k
                    for attempt in range(words.shape[2]):
                        word = words[leaf, at, attempt]
                        a = (word >> 32) % attributes
                        split: Long = (word - (word >> 32 << 32)) % (
                            first_split[a + 1] - first_split[a]
                        )
                        split += first_split[a]
                        attribute[leaf, at] = splits[split, 0]
                        low[leaf, at] = splits[split, 1]
                        high[leaf, at] = splits[split, 2]
                        if _tells_apart(
                            leaf, level, k, first, allowed, attribute, low, high, start, widths
                        ):
                            break


def _tells_apart(leaf, level, k, first, allowed, attribute, low, high, start, widths):
    """Whether values that reach the k-th split of a level go either way."""
    at: Long = start[level] + k
    a: Long = attribute[leaf, at]
    one: cython.bint = False
    other: cython.bint = False
    reached: cython.bint
    for code in range(first[a + 1] - first[a]):
        reached = allowed[leaf, first[a] + code]
        choice = k >> level
        place = k - (choice << level)
        for above in range(level - 1, -1, -1):
            choice = choice // widths[above + 1]
            side = place & 1
            place = place >> 1
            parent = start[above] + (choice << above) + place
            inside: cython.bint = low[leaf, parent] <= code < high[leaf, parent]
            if attribute[leaf, parent] == a and inside != (side == 0):
                reached = False
        if reached:
            if low[leaf, at] <= code < high[leaf, at]:
                one = True
            else:
                other = True
    return one and other


def _places(begin, stop, start, widths):
    """Where the splits of the trees begin .. stop - 1 stand, before the place in the level."""
    later = np.prod(widths, dtype=np.int64) // np.cumprod(widths, dtype=np.int64)
    choice = np.arange(begin, stop, dtype=np.int64)[:, None] // later
    return np.asarray(start)[: len(later)] + (choice << np.arange(len(later)))


def _end(codes, row, leaf, attribute, low, high, places, tree, levels):
    """Where a row stands in a tree of the menu, after so many levels."""
    place: Long = 0
    for level in range(levels):
        at = places[tree, level] + place
        code = codes[row, attribute[leaf, at]]
        place = 2 * place + (not (low[leaf, at] <= code < high[leaf, at]))
    return place


def count_ends(codes, cells, slot, attribute, low, high, start, widths, begin, width, tables):
    """Adds every row to tables[slot, tree, end, value, class], for the trees from `begin` on.

    The cells (value, class) of every row are given, the first `width` of its attributes are asked.
    Rows are grouped once for all trees that differ in their last split alone; a split puts those of
    its group to both ends of a list.  The longer side is both of the tree before, less the shorter.
    """
    above: Size = max(len(widths) - 1, 0)
    last: Long = widths[above] if len(widths) else 1
    places: OutLongs2 = memoryview(_places(begin, begin + tables.shape[1], start, widths))
    counts: OutLongs = memoryview(np.asarray(tables).reshape(-1))
    group: OutLongs = memoryview(np.zeros(len(slot), np.int64))
    sides: OutLongs = memoryview(np.zeros(len(slot), np.int64))
    steps: Long = 0
    for tree in range(tables.shape[1]):
        whole: cython.bint = tree == 0 or (begin + tree) % last == 0
        if whole:
            for row in range(len(slot)):
                at = _end(codes, row, slot[row], attribute, low, high, places, tree, above)
                group[row] = (slot[row] << above) + at
            grouped = group_rows(group, tables.shape[0] << above)
            order: Longs = memoryview(grouped[0])
            first: Longs = memoryview(grouped[1])
        with cython.nogil:
            for g in range(tables.shape[0] << above):
                front = first[g]
                back = first[g + 1]
                leaf = g >> above
                at = g - (leaf << above)
                end = tables.shape[2] * (leaf * tables.shape[1] + tree) + 2 * at
                if len(widths) == 0:
                    _count_rows(counts, end, order, front, back, cells, width, tables)
                    continue
                place = places[tree, above] + at
                a = attribute[leaf, place]
                least = low[leaf, place]
                most = high[leaf, place]
                for i in range(first[g], first[g + 1]):
                    row = order[i]  # both comparisons, as a branch could not be predicted
                    inside: Size = (codes[row, a] >= least) & (codes[row, a] < most)
                    sides[front] = row
                    sides[back - 1] = row
                    front += inside
                    back += inside - 1
                second: cython.bint = 2 * front > first[g] + first[g + 1]
                if whole or not second:
                    _count_rows(counts, end, sides, first[g], front, cells, width, tables)
                if whole or second:
                    _count_rows(counts, end + 1, sides, front, first[g + 1], cells, width, tables)
                if not whole:
                    _fill_difference(tables, leaf, tree, 2 * at + 1 - second)
                steps = heed(steps + first[g + 1] - first[g])


def _count_rows(counts, table, rows, begin, end, cells, width, tables):
    """Adds some rows to one of the tables."""
    at: Size = table * tables.shape[3] * tables.shape[4]
    for i in range(begin, end):
        for a in range(width):
            counts[at + cells[rows[i], a]] += 1


def _fill_difference(tables, leaf, tree, end):
    """The table of an end: both of its split in the tree before, less the other's in this one."""
    for j in range(tables.shape[3]):
        for c in range(tables.shape[4]):
            both = tables[leaf, tree - 1, end, j, c] + tables[leaf, tree - 1, end ^ 1, j, c]
            tables[leaf, tree, end, j, c] = both - tables[leaf, tree, end ^ 1, j, c]


def end_cells(
    codes, classes, slot, attribute, low, high, start, widths, begin, stop, first, n_classes
):
    """The cells (slot, tree, end, value, class) of every row, for the trees begin .. stop - 1."""
    places: OutLongs2 = memoryview(_places(begin, stop, start, widths))
    ends: Long = 1 << len(widths)
    attributes: Size = len(first) - 1
    values: Long = first[attributes]
    count: Long = stop - begin
    found = np.empty(len(slot) * count * attributes, np.int64)
    cells: OutLongs = memoryview(found)
    i: Size = 0
    with cython.nogil:
        for row in range(len(slot)):
            for tree in range(count):
                end = _end(codes, row, slot[row], attribute, low, high, places, tree, len(widths))
                place = (slot[row] * count + tree) * ends + end
                for a in range(attributes):
                    cells[i] = place * values + first[a] + codes[row, a]
                    cells[i] = cells[i] * n_classes + classes[row]
                    i += 1
    return found


def _largest(counts, i):
    largest: Long = counts[i, 0]
    for c in range(counts.shape[1]):
        largest = max(largest, counts[i, c])
    return largest


def _powers_below(counts, i, largest, epsilon, powers):
    """The sum over c of exp(epsilon (count_c - largest))."""
    total: cython.double = 0.0
    for c in range(counts.shape[1]):
        total += _power(largest - counts[i, c], epsilon, powers)
    return total


def _power(below, epsilon, powers):
    """exp(-epsilon below), from powers[below] as far as it goes."""
    return powers[below] if below < len(powers) else exp(-epsilon * below)


def log_means(counts, epsilon, powers):
    """ln(mean_c exp(epsilon count_c)) of every row of a matrix."""
    found: OutDoubles = memoryview(np.empty(counts.shape[0]))
    with cython.nogil:
        for i in range(counts.shape[0]):
            largest = _largest(counts, i)
            total = _powers_below(counts, i, largest, epsilon, powers)
            found[i] = epsilon * largest + log(total / counts.shape[1])
    return np.asarray(found)


class Sides:
    """The memory for both sides of every split of one table."""

    def __init__(self, values, classes, splits):
        self.below = memoryview(np.zeros((values + 1, classes), np.int64))  # rows of smaller values
        self.side = memoryview(np.zeros((2, classes), np.int64))  # of the current split
        self.leads = memoryview(np.empty(splits, np.int64))  # the sum of both sides' largest counts
        self.means = memoryview(np.empty(splits))  # the product of both sides' mean powers


def _fill_sides(tables, i, splits, epsilon, powers, work):
    """For the splits (begin, low, high, end) of the i-th table, of its values begin .. end - 1."""
    classes: Size = tables.shape[2]
    for v in range(tables.shape[1]):
        for c in range(classes):
            work.below[v + 1, c] = work.below[v, c] + tables[i, v, c]
    for s in range(splits.shape[0]):
        for c in range(classes):
            work.side[0, c] = work.below[splits[s, 2], c] - work.below[splits[s, 1], c]
            both = work.below[splits[s, 3], c] - work.below[splits[s, 0], c]
            work.side[1, c] = both - work.side[0, c]
        one = _largest(work.side, 0)
        other = _largest(work.side, 1)
        work.leads[s] = one + other
        mean = _powers_below(work.side, 0, one, epsilon, powers) / classes
        work.means[s] = mean * (_powers_below(work.side, 1, other, epsilon, powers) / classes)


def split_weights(tables, splits, log_prior, epsilon, powers):
    """Of every split, ln of its prior and of both sides' mean powers; one table (value, class)."""
    found: OutDoubles = memoryview(np.empty(splits.shape[0]))
    work: Sides = Sides(tables.shape[1], tables.shape[2], splits.shape[0])
    with cython.nogil:
        _fill_sides(tables, 0, splits, epsilon, powers, work)
        for s in range(splits.shape[0]):
            found[s] = log_prior[s] + epsilon * work.leads[s] + log(work.means[s])
    return np.asarray(found)


def end_weights(tables, counts, splits, prior, epsilon, powers):
    """ln of the summed weights of no split and of every single one, for each of many tables.

    `counts` are those of the classes, prior[0] is that of no split.
    """
    found: OutDoubles = memoryview(np.zeros(tables.shape[0]))
    work: Sides = Sides(tables.shape[1], tables.shape[2], splits.shape[0])
    steps: Long = 0
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
            steps = heed(steps + (1 << 12))
    return np.asarray(found)


if not cython.compiled:
    plain(globals())
