"""Contingency tables, information gain and the upper envelope of its local sensitivity.

Arrays in, arrays out.  `phi(x) = (x+1) log2(x+1) - x log2 x`; its sums telescope, so that no table
of it is needed.  A *piece* is a row (t0, kind, n, m): from t0 on, until the next piece starts, the
envelope is

    kind DOWN:  phi(n - t) - phi(m - t)     for t < m, with n >= 2m + 1
    kind UP:    phi(n + t), or the bound as soon as n + t > N

Differences of logarithms are written as logarithms of quotients: every value and every sum has a
relative error below 2^-50.
"""

import math
from typing import Any

import numpy as np

from dampen.kernels.compile import compiled

DOWN = 0
UP = 1
LN2 = math.log(2.0)


@compiled
def count_tables(codes: Any, classes: Any, groups: Any, starts: Any, tables: Any) -> Any:
    """Counts the rows of each node: tables[node, value, class], from groups = (order, begins)."""
    order, begins = groups
    for node in range(len(begins) - 1):
        for i in range(begins[node], begins[node + 1]):
            row = order[i]
            for a in range(codes.shape[1]):
                tables[node, starts[a] + codes[row, a], classes[row]] += 1


@compiled
def group_rows(node_of_row: Any, nodes: Any) -> Any:
    """Rows by node, nodes < 0 left out: (order, starts), a counting sort."""
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for node in node_of_row:
        if node >= 0:
            starts[node + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    place = starts.copy()
    order = np.empty(starts[nodes], dtype=np.int64)
    for row in range(len(node_of_row)):
        node = node_of_row[row]
        if node >= 0:
            order[place[node]] = row
            place[node] += 1
    return order, starts


@compiled
def move_rows(codes: Any, node_of_row: Any, attribute: Any, route_start: Any, routes: Any) -> Any:
    """Every row of a split node goes to its child; rows of other nodes leave the level (-1)."""
    for row in range(len(node_of_row)):
        node = node_of_row[row]
        if node >= 0:
            a = attribute[node]
            node_of_row[row] = routes[route_start[node] + codes[row, a]] if a >= 0 else -1


@compiled
def level_cells(codes: Any, classes: Any, slot: Any, first: Any, n_classes: Any) -> Any:
    """The cells (slot, value, class) of every row that has a slot, one per attribute."""
    width = codes.shape[1]
    rows = 0
    for row in range(len(slot)):
        rows += slot[row] >= 0
    cells = np.empty(rows * width, dtype=np.int64)
    i = 0
    for row in range(len(slot)):
        if slot[row] >= 0:
            begin = slot[row] * first[width]
            for a in range(width):
                cells[i] = (begin + first[a] + codes[row, a]) * n_classes + classes[row]
                i += 1
    return cells


@compiled
def _add(total: Any, lost: Any, term: Any) -> Any:
    """One step of Neumaier's sum: the rounded total, and what all roundings have lost so far."""
    new = total + term
    if abs(total) >= abs(term):
        return new, lost + ((total - new) + term)
    return new, lost + ((term - new) + total)


@compiled
def information_gain(table: Any, starts: Any) -> Any:
    """-tau H(C|A) of every candidate: compensated sums of terms of one sign."""
    u = np.zeros(len(starts) - 1)
    for r in range(len(u)):
        total = 0.0
        lost = 0.0
        for j in range(starts[r], starts[r + 1]):
            a = table[j].sum()
            for b in table[j]:
                if 0 < b < a:
                    ratio = math.log(b / a) if 2 * b < a else math.log1p((b - a) / a)
                    total, lost = _add(total, lost, b * (ratio / LN2))
        u[r] = total + lost
    return u


@compiled
def largest_classes(table: Any, starts: Any) -> Any:
    """The sum over values of the largest class count, for every candidate."""
    u = np.zeros(len(starts) - 1)
    for r in range(len(u)):
        for j in range(starts[r], starts[r + 1]):
            u[r] += table[j].max()
    return u


@compiled
def gini(table: Any, starts: Any) -> Any:
    """-sum_j (a - sum_c b^2 / a) of every candidate; numerators are exact integers."""
    u = np.zeros(len(starts) - 1)
    for r in range(len(u)):
        total = 0.0
        lost = 0.0
        for j in range(starts[r], starts[r + 1]):
            a = 0
            squares = 0
            for b in table[j]:
                a += b
                squares += b * b
            if a > 0:
                total, lost = _add(total, lost, (squares - a * a) / a)
        u[r] = total + lost
    return u


@compiled
def tsallis(table: Any, starts: Any) -> Any:
    """-sum_jc b (1 - sqrt(b / a)) of every candidate, without a difference of rounded numbers."""
    u = np.zeros(len(starts) - 1)
    for r in range(len(u)):
        total = 0.0
        lost = 0.0
        for j in range(starts[r], starts[r + 1]):
            a = table[j].sum()
            for b in table[j]:
                if 0 < b < a:
                    term = b * ((b - a) / a) / (1.0 + math.sqrt(b / a))
                    total, lost = _add(total, lost, term)
        u[r] = total + lost
    return u


@compiled
def phi_difference(n: Any, m: Any) -> Any:
    """phi(n) - phi(m), for n >= m >= 0, in natural logarithms."""
    x = math.log((n + 1) / (m + 1))
    if n > 0:
        x += n * math.log1p(1 / n)
    if m > 0:
        x -= m * math.log1p(1 / m)
    return x


@compiled
def piece_value(piece: Any, t: Any, limits: Any) -> Any:
    """A piece at t, in bits; limits = (N, bound)."""
    _, kind, n, m = piece
    N, bound = limits
    if kind == DOWN:
        return phi_difference(n - t, m - t) / LN2
    return bound if n + t > N else min(bound, phi_difference(n + t, 0) / LN2)


@compiled
def _telescoped(x: Any, length: Any) -> Any:
    """The sum of phi(i) over x <= i < x + length, less length log(x + length)."""
    return x * math.log1p(length / x) if x > 0 else 0.0


@compiled
def piece_sum(piece: Any, t1: Any, limits: Any) -> Any:
    """The sum of a piece from its start to t1, in bits."""
    t0, kind, n, m = piece
    N, bound = limits
    if t1 <= t0:
        return 0.0
    if kind == DOWN:
        length = t1 - t0
        x = n - t1 + 1
        y = m - t1 + 1
        leading = length * math.log((x + length) / (y + length))
        return (leading + (_telescoped(x, length) - _telescoped(y, length))) / LN2
    end = max(t0, min(t1, N - n + 1))
    length = end - t0
    total = 0.0
    if length > 0:
        x = n + t0
        total = (length * math.log(x + length) + _telescoped(x, length)) / LN2
    return total + (t1 - end) * bound


@compiled
def _frontier(table: Any, lo: Any, hi: Any) -> Any:
    """The values that no other value dominates, as rows (n, m), n and m falling.

    Of each value only its rarest class matters, and a value matters only if none has both a larger
    n and a smaller m: see `dampen.questions.classify.splits`.
    """
    size = hi - lo
    n = np.empty(size, dtype=np.int64)
    m = np.empty(size, dtype=np.int64)
    for j in range(size):
        a = table[lo + j].sum()
        b = table[lo + j].min()
        n[j] = a - 1 if b >= 1 else a
        m[j] = max(b - 1, 0)
    lines = np.empty((size, 2), dtype=np.int64)
    kept = 0
    for j in np.argsort(-n):
        if kept and n[j] == lines[kept - 1, 0] and m[j] < lines[kept - 1, 1]:
            kept -= 1
        if kept == 0 or m[j] < lines[kept - 1, 1]:
            lines[kept, 0] = n[j]
            lines[kept, 1] = m[j]
            kept += 1
    return lines[:kept]


@compiled
def _pieces_of_line(n: Any, m: Any, T: Any) -> Any:
    """One value alone: remove from its rarest class until that is empty, then add to the others."""
    if 0 < m < T:
        return np.array([[0, DOWN, n, m], [m, UP, n - 2 * m, 0]], dtype=np.int64)
    if m > 0:
        return np.array([[0, DOWN, n, m]], dtype=np.int64)
    return np.array([[0, UP, n, 0]], dtype=np.int64)


@compiled
def _slope_sign(p: Any, q: Any, t: Any) -> Any:
    """A number with the sign of the derivative of p - q at t, for p DOWN."""
    if q[1] == UP:
        rise = float(p[2] - t) * float(q[2] + t)
        return rise - float(p[3] - t) * float(p[2] + q[2] + 1)
    d = float(p[2] - p[3])
    e = float(q[2] - q[3])
    return d * (q[3] - t) * (q[2] - t + 1) - e * (p[3] - t) * (p[2] - t + 1)


@compiled
def _turn(p: Any, q: Any, lo: Any, hi: Any) -> Any:
    """The first t in [lo, hi) from which p - q, p DOWN, is monotone to the end."""
    falls_first = q[1] == UP
    a = lo
    b = hi
    while a < b:
        t = (a + b) // 2
        slope = _slope_sign(p, q, t)
        if (slope >= 0) if falls_first else (slope <= 0):
            b = t
        else:
            a = t + 1
    return a


@compiled
def _wins(p: Any, q: Any, t: Any, limits: Any) -> Any:
    return piece_value(p, t, limits) > piece_value(q, t, limits)


@compiled
def _emit(out: Any, size: Any, t0: Any, piece: Any) -> Any:
    """Appends a piece from t0 on, unless it is the one already running; the new size."""
    if size and (out[size - 1, 1:] == piece[1:]).all():
        return size
    out[size, 0] = t0
    out[size, 1:] = piece[1:]
    return size + 1


@compiled
def _emit_monotone(out: Any, size: Any, pair: Any, span: Any, limits: Any) -> Any:
    """The larger of p and q on a span where p - q is monotone: at most one change."""
    p, q = pair
    lo, hi = span
    if lo >= hi:
        return size
    at_first = _wins(p, q, lo, limits)
    at_last = _wins(p, q, hi - 1, limits)
    size = _emit(out, size, lo, p if at_first else q)
    if at_first == at_last:
        return size
    a = lo
    b = hi - 1
    while a + 1 < b:
        t = (a + b) // 2
        if _wins(p, q, t, limits) == at_first:
            a = t
        else:
            b = t
    return _emit(out, size, b, p if at_last else q)


@compiled
def _emit_larger(out: Any, size: Any, pair: Any, span: Any, limits: Any) -> Any:
    """The larger of two pieces on a span."""
    p, q = pair
    lo, hi = span
    if p[1] == UP and q[1] == UP:
        return _emit(out, size, lo, p if p[2] >= q[2] else q)
    if p[1] == UP or (q[1] == DOWN and q[2] > p[2]):
        p, q = q, p
    if q[1] == DOWN and p[2] - p[3] < q[2] - q[3]:
        return _emit(out, size, lo, q)
    turn = _turn(p, q, lo, hi)
    size = _emit_monotone(out, size, (p, q), (lo, turn), limits)
    return _emit_monotone(out, size, (p, q), (turn, hi), limits)


@compiled
def _merge(p: Any, q: Any, limits: Any) -> Any:
    """The upper envelope of two envelopes on [0, N)."""
    out = np.empty((4 * (len(p) + len(q)), 4), dtype=np.int64)
    T = limits[0]
    size = 0
    i = 0
    j = 0
    lo = 0
    while lo < T:
        p_end = p[i + 1, 0] if i + 1 < len(p) else T
        q_end = q[j + 1, 0] if j + 1 < len(q) else T
        hi = min(p_end, q_end)
        size = _emit_larger(out, size, (p[i], q[j]), (lo, hi), limits)
        i += p_end == hi and i + 1 < len(p)
        j += q_end == hi and j + 1 < len(q)
        lo = hi
    return out[:size].copy()


@compiled
def _envelope_of_lines(lines: Any, limits: Any) -> Any:
    """The upper envelope of all lines, merged by pairs."""
    parts = [_pieces_of_line(lines[i, 0], lines[i, 1], limits[0]) for i in range(len(lines))]
    while len(parts) > 1:
        merged = [_merge(parts[i], parts[i + 1], limits) for i in range(0, len(parts) - 1, 2)]
        if len(parts) % 2:
            merged.append(parts[-1])
        parts = merged
    return parts[0]


@compiled
def envelopes(table: Any, starts: Any, limits: Any) -> Any:
    """The pieces of every candidate, where each begins, and the sums up to each piece."""
    size = len(starts) - 1
    begins = np.zeros(size + 1, dtype=np.int64)
    pieces = np.empty((4 * size, 4), dtype=np.int64)
    for r in range(size):
        mine = _envelope_of_lines(_frontier(table, starts[r], starts[r + 1]), limits)
        end = begins[r] + len(mine)
        if end > len(pieces):
            larger = np.empty((2 * end, 4), dtype=np.int64)
            larger[: begins[r]] = pieces[: begins[r]]
            pieces = larger
        pieces[begins[r] : end] = mine
        begins[r + 1] = end
    pieces = pieces[: begins[size]].copy()
    return begins, pieces, _sums_before(begins, pieces, limits)


@compiled
def _sums_before(begins: Any, pieces: Any, limits: Any) -> Any:
    sums = np.zeros(len(pieces))
    for r in range(len(begins) - 1):
        total = 0.0
        lost = 0.0
        for i in range(begins[r], begins[r + 1] - 1):
            term = piece_sum(pieces[i], pieces[i + 1, 0], limits)
            total, lost = _add(total, lost, term)
            sums[i + 1] = total + lost
    return sums


@compiled
def _piece_at(begins: Any, pieces: Any, r: Any, t: Any) -> Any:
    """The index of the piece of candidate r that holds t."""
    a = begins[r]
    b = begins[r + 1]
    while a + 1 < b:
        i = (a + b) // 2
        if pieces[i, 0] <= t:
            a = i
        else:
            b = i
    return a


@compiled
def envelope_at(envelope: Any, t: Any, limits: Any) -> Any:
    """delta(x, t_r, r) for every candidate r."""
    begins, pieces, _ = envelope
    values = np.empty(len(t))
    for r in range(len(t)):
        values[r] = piece_value(pieces[_piece_at(begins, pieces, r, t[r])], t[r], limits)
    return values


@compiled
def envelope_sum(envelope: Any, t: Any, limits: Any) -> Any:
    """The sum of delta(x, j, r) over j < t_r, for every candidate r."""
    begins, pieces, sums = envelope
    values = np.empty(len(t))
    for r in range(len(t)):
        i = _piece_at(begins, pieces, r, t[r])
        values[r] = sums[i] + piece_sum(pieces[i], t[r], limits)
    return values
