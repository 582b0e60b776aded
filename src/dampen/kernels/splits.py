"""Contingency tables, information gain and the upper envelope of its local sensitivity.

Arrays in, arrays out.  `phi(x) = (x+1) log2(x+1) - x log2 x`; its sums telescope, so that no table
of it is needed.  A *piece* is a row (t0, kind, n, m): from t0 on, until the next piece starts, the
envelope is

    kind DOWN:  phi(n - t) - phi(m - t)     for t < m, with n >= 2m + 1
    kind UP:    phi(n + t), or the bound as soon as n + t > N

Differences of logarithms are written as logarithms of quotients: every value and every sum has a
relative error below 2^-50.
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
    from cython.cimports.libc.math import log, log1p, sqrt
else:
    from math import log, log1p, sqrt

    from dampen.kernels.primitives import heed, lost

DOWN = cython.declare(cython.longlong, 0)
UP = cython.declare(cython.longlong, 1)
LN2 = cython.declare(cython.double, log(2.0))
PAUSE = cython.declare(cython.longlong, (1 << 20) - 1)


@kernel
def count_tables(
    codes: cython.const[cython.short][:, ::1],
    classes: cython.const[cython.longlong][::1],
    order: cython.const[cython.longlong][::1],
    begins: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    tables: cython.longlong[:, :, ::1],
) -> None:
    """Counts the rows of each node, from order[begins[node]] on: tables[node, value, class]."""
    width: cython.Py_ssize_t = codes.shape[1]
    node: cython.Py_ssize_t
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t
    row: cython.longlong
    with cython.nogil:
        for node in range(len(begins) - 1):
            for i in range(begins[node], begins[node + 1]):
                row = order[i]
                for a in range(width):
                    tables[node, starts[a] + codes[row, a], classes[row]] += 1
                if i & PAUSE == PAUSE:
                    heed()


@kernel
def group_rows(node_of_row: cython.const[cython.longlong][::1], nodes: cython.Py_ssize_t) -> Any:
    """Rows by node, nodes < 0 left out: (order, starts), a counting sort."""
    starts: cython.longlong[::1] = memoryview(np.zeros(nodes + 1, dtype=np.int64))
    row: cython.Py_ssize_t
    node: cython.longlong
    with cython.nogil:
        for row in range(len(node_of_row)):
            if node_of_row[row] >= 0:
                starts[node_of_row[row] + 1] += 1
        for node in range(nodes):
            starts[node + 1] += starts[node]
    place: cython.longlong[::1] = memoryview(np.array(starts))
    order: cython.longlong[::1] = memoryview(np.empty(starts[nodes], dtype=np.int64))
    with cython.nogil:
        for row in range(len(node_of_row)):
            node = node_of_row[row]
            if node >= 0:
                order[place[node]] = row
                place[node] += 1
            if row & PAUSE == PAUSE:
                heed()
    return np.asarray(order), np.asarray(starts)


@kernel
def move_rows(
    codes: cython.const[cython.short][:, ::1],
    node_of_row: cython.longlong[::1],
    attribute: cython.const[cython.longlong][::1],
    route_start: cython.const[cython.longlong][::1],
    routes: cython.const[cython.longlong][::1],
) -> None:
    """Every row of a split node goes to its child; rows of other nodes leave the level (-1)."""
    row: cython.Py_ssize_t
    node: cython.longlong
    a: cython.longlong
    with cython.nogil:
        for row in range(len(node_of_row)):
            node = node_of_row[row]
            if node >= 0:
                a = attribute[node]
                node_of_row[row] = routes[route_start[node] + codes[row, a]] if a >= 0 else -1
            if row & PAUSE == PAUSE:
                heed()


@kernel
def level_cells(
    codes: cython.const[cython.short][:, ::1],
    classes: cython.const[cython.longlong][::1],
    slot: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    n_classes: cython.longlong,
) -> Any:
    """The cells (slot, value, class) of every row that has a slot, one per attribute."""
    width: cython.Py_ssize_t = codes.shape[1]
    rows = np.count_nonzero(np.asarray(slot) >= 0)
    cells: cython.longlong[::1] = memoryview(np.empty(rows * width, dtype=np.int64))
    i: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    a: cython.Py_ssize_t
    begin: cython.longlong
    with cython.nogil:
        for row in range(len(slot)):
            if slot[row] >= 0:
                begin = slot[row] * first[width]
                for a in range(width):
                    cells[i] = (begin + first[a] + codes[row, a]) * n_classes + classes[row]
                    i += 1
    return np.asarray(cells)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sum(table: cython.const[cython.longlong][:, :], j: cython.Py_ssize_t) -> cython.longlong:
    total: cython.longlong = 0
    c: cython.Py_ssize_t
    for c in range(table.shape[1]):
        total += table[j, c]
    return total


@kernel
def information_gain(
    table: cython.const[cython.longlong][:, :], starts: cython.const[cython.longlong][::1]
) -> Any:
    """-tau H(C|A) of every candidate: compensated sums of terms of one sign."""
    u: cython.double[::1] = memoryview(np.zeros(len(starts) - 1))
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    a: cython.longlong
    b: cython.longlong
    ratio: cython.double
    term: cython.double
    new: cython.double
    total: cython.double
    error: cython.double
    with cython.nogil:
        for r in range(len(u)):
            total = 0.0
            error = 0.0
            for j in range(starts[r], starts[r + 1]):
                a = _sum(table, j)
                for c in range(table.shape[1]):
                    b = table[j, c]
                    if 0 < b < a:
                        ratio = log(1.0 * b / a) if 2 * b < a else log1p(1.0 * (b - a) / a)
                        term = b * (ratio / LN2)
                        new = total + term
                        error += lost(total, term, new)
                        total = new
            u[r] = total + error
    return np.asarray(u)


@kernel
def largest_classes(
    table: cython.const[cython.longlong][:, :], starts: cython.const[cython.longlong][::1]
) -> Any:
    """The sum over values of the largest class count, for every candidate."""
    u: cython.double[::1] = memoryview(np.zeros(len(starts) - 1))
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    largest: cython.longlong
    with cython.nogil:
        for r in range(len(u)):
            for j in range(starts[r], starts[r + 1]):
                largest = table[j, 0]
                for c in range(table.shape[1]):
                    largest = max(largest, table[j, c])
                u[r] += largest
    return np.asarray(u)


@kernel
def gini(
    table: cython.const[cython.longlong][:, :], starts: cython.const[cython.longlong][::1]
) -> Any:
    """-sum_j (a - sum_c b^2 / a) of every candidate; numerators are exact integers."""
    u: cython.double[::1] = memoryview(np.zeros(len(starts) - 1))
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    a: cython.longlong
    squares: cython.longlong
    term: cython.double
    new: cython.double
    total: cython.double
    error: cython.double
    with cython.nogil:
        for r in range(len(u)):
            total = 0.0
            error = 0.0
            for j in range(starts[r], starts[r + 1]):
                a = _sum(table, j)
                squares = 0
                for c in range(table.shape[1]):
                    squares += table[j, c] * table[j, c]
                if a > 0:
                    term = 1.0 * (squares - a * a) / a
                    new = total + term
                    error += lost(total, term, new)
                    total = new
            u[r] = total + error
    return np.asarray(u)


@kernel
def tsallis(
    table: cython.const[cython.longlong][:, :], starts: cython.const[cython.longlong][::1]
) -> Any:
    """-sum_jc b (1 - sqrt(b / a)) of every candidate, without a difference of rounded numbers."""
    u: cython.double[::1] = memoryview(np.zeros(len(starts) - 1))
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    a: cython.longlong
    b: cython.longlong
    term: cython.double
    new: cython.double
    total: cython.double
    error: cython.double
    with cython.nogil:
        for r in range(len(u)):
            total = 0.0
            error = 0.0
            for j in range(starts[r], starts[r + 1]):
                a = _sum(table, j)
                for c in range(table.shape[1]):
                    b = table[j, c]
                    if 0 < b < a:
                        term = b * (1.0 * (b - a) / a) / (1.0 + sqrt(1.0 * b / a))
                        new = total + term
                        error += lost(total, term, new)
                        total = new
            u[r] = total + error
    return np.asarray(u)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _phi_difference(n: cython.longlong, m: cython.longlong) -> cython.double:
    """phi(n) - phi(m), for n >= m >= 0, in natural logarithms."""
    x: cython.double = log((n + 1.0) / (m + 1))
    if n > 0:
        x += n * log1p(1.0 / n)
    if m > 0:
        x -= m * log1p(1.0 / m)
    return x


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _value(
    kind: cython.longlong,
    n: cython.longlong,
    m: cython.longlong,
    t: cython.longlong,
    N: cython.longlong,
    bound: cython.double,
) -> cython.double:
    """A piece at t, in bits."""
    if kind == DOWN:
        return _phi_difference(n - t, m - t) / LN2
    return bound if n + t > N else min(bound, _phi_difference(n + t, 0) / LN2)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _telescoped(x: cython.longlong, length: cython.longlong) -> cython.double:
    """The sum of phi(i) over x <= i < x + length, less length log(x + length)."""
    return x * log1p(1.0 * length / x) if x > 0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _piece_sum(
    pieces: cython.const[cython.longlong][:, ::1],
    i: cython.Py_ssize_t,
    t1: cython.longlong,
    N: cython.longlong,
    bound: cython.double,
) -> cython.double:
    """The sum of a piece from its start to t1, in bits."""
    t0: cython.longlong = pieces[i, 0]
    n: cython.longlong = pieces[i, 2]
    m: cython.longlong = pieces[i, 3]
    length: cython.longlong = t1 - t0
    end: cython.longlong
    x: cython.longlong
    y: cython.longlong
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _frontier(
    table: cython.const[cython.longlong][:, :],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    lines: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """The values that no other value dominates, as rows (n, m), n and m falling; how many.

    Of each value only its rarest class matters, and a value matters only if none has both a larger
    n and a smaller m: see `dampen.questions.classify.splits`.
    """
    kept: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    at: cython.Py_ssize_t
    after: cython.Py_ssize_t
    shift: cython.Py_ssize_t
    n: cython.longlong
    m: cython.longlong
    for j in range(begin, end):
        n = _sum(table, j)
        m = table[j, 0]
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lines_alone(
    lines: cython.longlong[:, ::1],
    count: cython.Py_ssize_t,
    N: cython.longlong,
    out: cython.longlong[:, ::1],
    begins: cython.longlong[::1],
) -> cython.void:
    """The pieces of every value: remove from its rarest class until it is empty, then add."""
    size: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    n: cython.longlong
    m: cython.longlong
    for i in range(count):
        n = lines[i, 0]
        m = lines[i, 1]
        begins[i] = size
        if m > 0:
            size = _append(out, size, 0, DOWN, n, m)
        if m == 0 or m < N:
            size = _append(out, size, m, UP, n - 2 * m, 0)
    begins[count] = size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _append(
    out: cython.longlong[:, ::1],
    size: cython.Py_ssize_t,
    t0: cython.longlong,
    kind: cython.longlong,
    n: cython.longlong,
    m: cython.longlong,
) -> cython.Py_ssize_t:
    out[size, 0] = t0
    out[size, 1] = kind
    out[size, 2] = n
    out[size, 3] = m
    return size + 1


@cython.cclass
class Merging:
    """Two envelopes and what they are merged into; a piece is the place of its row in `given`."""

    given: cython.longlong[:, ::1]
    out: cython.longlong[:, ::1]
    begin: cython.Py_ssize_t  # where the current envelope begins in `out`
    size: cython.Py_ssize_t
    N: cython.longlong
    bound: cython.double


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _emit(work: Merging, t0: cython.longlong, p: cython.Py_ssize_t) -> cython.void:
    """Appends a piece from t0 on, unless it is the one already running."""
    i: cython.Py_ssize_t = work.size - 1
    if (
        work.size > work.begin
        and work.out[i, 1] == work.given[p, 1]
        and work.out[i, 2] == work.given[p, 2]
        and work.out[i, 3] == work.given[p, 3]
    ):
        return
    work.size = _append(
        work.out, work.size, t0, work.given[p, 1], work.given[p, 2], work.given[p, 3]
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slope_sign(
    work: Merging, p: cython.Py_ssize_t, q: cython.Py_ssize_t, t: cython.longlong
) -> cython.double:
    """A number with the sign of the derivative of p - q at t, for p DOWN."""
    n: cython.double = work.given[p, 2]
    m: cython.double = work.given[p, 3]
    other_n: cython.double = work.given[q, 2]
    other_m: cython.double = work.given[q, 3]
    rise: cython.double
    if work.given[q, 1] == UP:
        rise = (n - t) * (other_n + t)
        return rise - (m - t) * (n + other_n + 1)
    rise = (n - m) * (other_m - t) * (other_n - t + 1)
    return rise - (other_n - other_m) * (m - t) * (n - t + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn(
    work: Merging,
    p: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    lo: cython.longlong,
    hi: cython.longlong,
) -> cython.longlong:
    """The first t in [lo, hi) from which p - q, p DOWN, is monotone to the end."""
    falls_first: cython.bint = work.given[q, 1] == UP
    t: cython.longlong
    slope: cython.double
    while lo < hi:
        t = (lo + hi) // 2
        slope = _slope_sign(work, p, q, t)
        if (slope >= 0) if falls_first else (slope <= 0):
            hi = t
        else:
            lo = t + 1
    return lo


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wins(
    work: Merging, p: cython.Py_ssize_t, q: cython.Py_ssize_t, t: cython.longlong
) -> cython.bint:
    one: cython.double = _value(
        work.given[p, 1], work.given[p, 2], work.given[p, 3], t, work.N, work.bound
    )
    other: cython.double = _value(
        work.given[q, 1], work.given[q, 2], work.given[q, 3], t, work.N, work.bound
    )
    return one > other


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _emit_monotone(
    work: Merging,
    p: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    lo: cython.longlong,
    hi: cython.longlong,
) -> cython.void:
    """The larger of p and q on a span where p - q is monotone: at most one change."""
    at_first: cython.bint
    at_last: cython.bint
    t: cython.longlong
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _emit_larger(
    work: Merging,
    p: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    lo: cython.longlong,
    hi: cython.longlong,
) -> cython.void:
    """The larger of two pieces on a span."""
    other: cython.Py_ssize_t
    turn: cython.longlong
    if work.given[p, 1] == UP and work.given[q, 1] == UP:
        _emit(work, lo, p if work.given[p, 2] >= work.given[q, 2] else q)
        return
    if work.given[p, 1] == UP or (work.given[q, 1] == DOWN and work.given[q, 2] > work.given[p, 2]):
        other = p
        p = q
        q = other
    if (
        work.given[q, 1] == DOWN
        and work.given[p, 2] - work.given[p, 3] < work.given[q, 2] - work.given[q, 3]
    ):
        _emit(work, lo, q)
        return
    turn = _turn(work, p, q, lo, hi)
    _emit_monotone(work, p, q, lo, turn)
    _emit_monotone(work, p, q, turn, hi)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merge(
    work: Merging,
    p: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """The upper envelope, on [0, N), of two: rows p .. q - 1 and q .. end - 1 of what is given."""
    p_last: cython.Py_ssize_t = q - 1
    p_end: cython.longlong
    q_end: cython.longlong
    lo: cython.longlong = 0
    hi: cython.longlong
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merge_pairs(
    work: Merging, begins: cython.longlong[::1], count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Merges the first envelope with the second and so on; how many are left."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    work.size = 0
    for i in range(0, count, 2):
        work.begin = work.size
        if i + 1 < count:
            _merge(work, begins[i], begins[i + 1], begins[i + 2])
        else:
            for j in range(begins[i], begins[count]):
                work.size = _append(
                    work.out,
                    work.size,
                    work.given[j, 0],
                    work.given[j, 1],
                    work.given[j, 2],
                    work.given[j, 3],
                )
        begins[i // 2] = work.begin
    begins[(count + 1) // 2] = work.size
    return (count + 1) // 2


@kernel
def envelopes(
    table: cython.const[cython.longlong][:, :],
    starts: cython.const[cython.longlong][::1],
    N: cython.longlong,
    bound: cython.double,
) -> Any:
    """The pieces of every candidate, where each begins, and the sums up to each piece."""
    count: cython.Py_ssize_t
    r: cython.Py_ssize_t
    most = int(np.diff(starts).max(initial=0))
    lines: cython.longlong[:, ::1] = memoryview(np.empty((most, 2), dtype=np.int64))
    inner: cython.longlong[::1] = memoryview(np.empty(most + 1, dtype=np.int64))
    work: Merging = Merging()
    work.N = N
    work.bound = bound
    work.given = memoryview(np.empty((2 * most, 4), dtype=np.int64))
    work.out = memoryview(np.empty((8 * most, 4), dtype=np.int64))
    parts = []
    for r in range(len(starts) - 1):
        count = _frontier(table, starts[r], starts[r + 1], lines)
        _lines_alone(lines, count, N, work.given, inner)
        while count > 1:
            needed = 4 * inner[count]
            if len(work.out) < needed:
                work.out = memoryview(np.empty((2 * needed, 4), dtype=np.int64))
            count = _merge_pairs(work, inner, count)
            made = work.out
            work.out = work.given
            work.given = made
        parts.append(np.array(work.given)[: inner[count]])
        heed()
    begins = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    pieces = np.concatenate([np.empty((0, 4), dtype=np.int64), *parts])
    sums = np.zeros(len(pieces))
    _fill_sums_before(begins, pieces, N, bound, sums)
    return begins, pieces, sums


@kernel
def _fill_sums_before(
    begins: cython.const[cython.longlong][::1],
    pieces: cython.const[cython.longlong][:, ::1],
    N: cython.longlong,
    bound: cython.double,
    sums: cython.double[::1],
) -> None:
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    term: cython.double
    new: cython.double
    total: cython.double
    error: cython.double
    with cython.nogil:
        for r in range(len(begins) - 1):
            total = 0.0
            error = 0.0
            for i in range(begins[r], begins[r + 1] - 1):
                term = _piece_sum(pieces, i, pieces[i + 1, 0], N, bound)
                new = total + term
                error += lost(total, term, new)
                total = new
                sums[i + 1] = total + error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _piece_at(
    begins: cython.const[cython.longlong][::1],
    pieces: cython.const[cython.longlong][:, ::1],
    r: cython.Py_ssize_t,
    t: cython.longlong,
) -> cython.Py_ssize_t:
    """The index of the piece of candidate r that holds t."""
    a: cython.Py_ssize_t = begins[r]
    b: cython.Py_ssize_t = begins[r + 1]
    i: cython.Py_ssize_t
    while a + 1 < b:
        i = (a + b) // 2
        if pieces[i, 0] <= t:
            a = i
        else:
            b = i
    return a


@kernel
def envelope_at(
    begins: cython.const[cython.longlong][::1],
    pieces: cython.const[cython.longlong][:, ::1],
    t: cython.const[cython.longlong][::1],
    N: cython.longlong,
    bound: cython.double,
) -> Any:
    """delta(x, t_r, r) for every candidate r."""
    values: cython.double[::1] = memoryview(np.empty(len(t)))
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for r in range(len(t)):
            i = _piece_at(begins, pieces, r, t[r])
            values[r] = _value(pieces[i, 1], pieces[i, 2], pieces[i, 3], t[r], N, bound)
    return np.asarray(values)


@kernel
def envelope_sum(
    begins: cython.const[cython.longlong][::1],
    pieces: cython.const[cython.longlong][:, ::1],
    sums: cython.const[cython.double][::1],
    t: cython.const[cython.longlong][::1],
    N: cython.longlong,
    bound: cython.double,
) -> Any:
    """The sum of delta(x, j, r) over j < t_r, for every candidate r."""
    values: cython.double[::1] = memoryview(np.empty(len(t)))
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for r in range(len(t)):
            i = _piece_at(begins, pieces, r, t[r])
            values[r] = sums[i] + _piece_sum(pieces, i, t[r], N, bound)
    return np.asarray(values)
