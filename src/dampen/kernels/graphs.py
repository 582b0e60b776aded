"""Graphs: edge lists parsed from bytes, rows made of edges, sums over neighbours.

A graph is `first` (n + 1 offsets, int64) and `to` (both directions of every edge, int32, each row
sorted, no loops, no repeats).

*Half rows* hold every edge once, at the lower of its two ends.  Edges that repeat, turn round or
loop are dropped on the way.  They are dealt by their lower end into buckets of a size that a cache
holds; a bucket is sorted into rows by counting; and a bit for every node tells who is in a row
already.  Edges that come in order need none of that.  These kernels work on a range of edges, so
that threads can share them: what they fill in belongs to that range alone, and what they count to
the thread.  Arrays that come again and again:

- `src`, `dst`: the two ends of all edges;
- `first` or `length`: per node, where its row begins or how long it is; `to`: the rows; `above`:
  per node, how many edges have their higher end there; `bits`: a bit per node, whether it is in the
  current row, 0 before and after;
- `bucket`: per cell, its bucket; a node is shifted by `shift` bits to find its cell; `place`: per
  bucket, where the next edge of this range goes; `pairs`: the edges, the lower end in the upper 32
  bits.

Round 2 of questions about nodes (`dampen.questions.nodes.two_rounds`) counts around a *shortlist*:

- `begins`, `ends`, `to`: node u has the higher neighbours to[begins[u]:ends[u]], in any order;
- `low`, `high`: some edges, their lower ends, which rise, and their higher ends;
- `number`: per node, its place on the shortlist or -1; `on_it`: whether it is left out of lists and
  counts; `last`: the last node on its own list, or n.
"""

from typing import Any, NamedTuple

import numpy as np

try:
    import cython
except ImportError:
    from dampen.kernels import primitives as cython
if not cython.compiled:  # else the .pxd has them
    from dampen.kernels.primitives import *

PAUSE = cython.declare(cython.longlong, (1 << 20) - 1)
NEWLINE = cython.declare(cython.longlong, 10)
RETURN = cython.declare(cython.longlong, 13)
TAB = cython.declare(cython.longlong, 9)
BLANK = cython.declare(cython.longlong, 32)
HASH = cython.declare(cython.longlong, 35)
QUOTE = cython.declare(cython.longlong, 34)
PERCENT = cython.declare(cython.longlong, 37)
PLUS = cython.declare(cython.longlong, 43)
MINUS = cython.declare(cython.longlong, 45)
ZERO = cython.declare(cython.longlong, 48)
LARGEST_TENTH = cython.declare(cython.longlong, 922337203685477580)
MOST_DIGITS = cython.declare(cython.longlong, 18)


class Ordered(NamedTuple):
    """Nodes renamed 0, 1, ... in the order of degrees: each has at most sqrt(2 m) later ones."""

    order: Any  # per node: its old name
    first: Any
    to: Any
    later: Any  # per node: where in its row the later ones begin


def both_ways(begin, end, higher, degrees):
    """Whole rows from those that hold every edge once, at its lower end, in any order.

    Two counting passes leave every row sorted.  Also returns where its higher neighbours begin.
    """
    n: Size = len(degrees)
    sizes = np.cumsum(degrees, dtype=np.int64)
    first: OutLongs = memoryview(np.concatenate([np.zeros(1, np.int64), sizes]))
    to: OutInts = memoryview(np.empty(first[n], np.int32))
    later: OutLongs = memoryview(np.array(first[:n]))
    steps: Long = 0
    with cython.nogil:
        for v in range(n):
            for i in range(begin[v], end[v]):
                to[later[higher[i]]] = v
                later[higher[i]] += 1
            steps = heed(steps + end[v] - begin[v])
    fill: OutLongs = memoryview(np.array(later))
    with cython.nogil:
        for v in range(n):
            for i in range(first[v], later[v]):
                to[fill[to[i]]] = v
                fill[to[i]] += 1
            steps = heed(steps + later[v] - first[v])
    return np.asarray(first), np.asarray(to), np.asarray(later)


def by_degree(first, to):
    """The same graph in the order of degrees; nodes of equal degree keep theirs."""
    n: Size = len(first) - 1
    degrees = np.diff(first)
    counts = np.bincount(degrees, minlength=1)
    start: OutLongs = memoryview((np.cumsum(counts) - counts).astype(np.int64))
    order: OutInts = memoryview(np.empty(n, np.int32))
    rank: OutInts = memoryview(np.empty(n, np.int32))
    steps: Long = 0
    with cython.nogil:
        for v in range(n):
            u = first[v + 1] - first[v]
            order[start[u]] = v
            rank[v] = start[u]
            start[u] += 1
    sizes = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees[np.asarray(order)])])
    new_to: OutUints = memoryview(np.empty(len(to), np.uint32))
    fill: OutLongs = memoryview(sizes[:n].copy())
    later: OutLongs = memoryview(np.empty(n, np.int64))
    with cython.nogil:
        for v in range(n):
            later[v] = fill[v]
            for i in range(first[order[v]], first[order[v] + 1]):
                u = rank[to[i]]
                new_to[fill[u]] = v
                fill[u] += 1
            steps = heed(steps + first[order[v] + 1] - first[order[v]])
    return Ordered(np.asarray(order), sizes, np.asarray(new_to), np.asarray(later))


def weighted_degrees(first, to, nodes, weights, result):
    """For each of some nodes, the sum of the weights of its neighbours."""
    steps: Long = 0
    with cython.nogil:
        for a in range(len(nodes)):
            total = 0
            v = nodes[a]
            for i in range(first[v], first[v + 1]):
                total += weights[to[i]]
            result[a] = total
            steps = heed(steps + first[v + 1] - first[v])


def peel(first, to, core):
    """Fills in core numbers: removes the node of the fewest neighbours, repeatedly.

    `core` holds the degrees at first.  Nodes lie in the order of their present degrees, `start`
    says where each degree begins; a node that loses a neighbour changes places with the first of
    its degree and joins the one below (Batagelj and Zaversnik 2003).
    """
    n: Size = len(first) - 1
    counts = np.bincount(core, minlength=1)
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    start: OutLongs = memoryview(begins)
    following: OutLongs = memoryview(begins.copy())
    order: OutLongs = memoryview(np.empty(n, np.int64))
    place: OutLongs = memoryview(np.empty(n, np.int64))
    steps: Long = 0
    with cython.nogil:
        for v in range(n):
            place[v] = following[core[v]]
            following[core[v]] += 1
            order[place[v]] = v
        for i in range(n):
            v = order[i]
            for j in range(first[v], first[v + 1]):
                u = to[j]
                if core[u] > core[v]:
                    head = max(start[core[u]], i + 1)
                    other = order[head]
                    order[head] = u
                    order[place[u]] = other
                    place[other] = place[u]
                    place[u] = head
                    start[core[u]] = head + 1
                    core[u] -= 1
            steps = heed(steps + first[v + 1] - first[v] + 1)


def rows_in_order(begin, end, src, dst, first, to, above):
    """Whether these edges rise, by their lower end and then by the other, which comes second.

    Such edges are in rows already: these are filled in, with where those begin that begin here.
    """
    low: cython.int = src[begin - 1] if begin else -1
    high: cython.int = dst[begin - 1] if begin else -1
    rises: cython.bint = True
    row: Size
    with cython.nogil:
        for i in range(begin, end):
            u = src[i]
            v = dst[i]
            if u != low:
                if u < low:
                    rises = False
                    break
                for row in range(low + 1, u + 1):
                    first[row] = i
                low = u
                high = u
            if v <= high:
                rises = False
                break
            high = v
            to[i] = v
            above[v] += 1
    return rises


def count_cells(begin, end, src, dst, shift, counts):
    """Counts these edges, but loops, by the upper bits of their lower end."""
    with cython.nogil:
        for i in range(begin, end):
            counts[min(src[i], dst[i]) >> shift] += src[i] != dst[i]


def deal(begin, end, src, dst, shift, bucket, place, pairs):
    """Puts these edges, but loops, into the buckets of their cells."""
    with cython.nogil:
        for i in range(begin, end):
            if src[i] != dst[i]:
                low: Word = min(src[i], dst[i])
                high: Word = max(src[i], dst[i])
                b = bucket[low >> shift]
                pairs[place[b]] = low << 32 | high
                place[b] += 1


def fill_rows(begin, end, node, node_end, pairs, length, to, above, bits):
    """Sorts one bucket, of the lower ends node .. node_end - 1, into rows without repeats.

    The rows follow each other from `begin` on; fills in their lengths, returns where they end.
    """
    rows: Size = node_end - node
    fill: OutLongs = memoryview(np.zeros(rows + 1, np.int64))
    kept: Size = begin
    one: Word = 1
    with cython.nogil:
        for i in range(begin, end):
            fill[(pairs[i] >> 32) - node + 1] += 1
        fill[0] = begin
        for row in range(rows):
            fill[row + 1] += fill[row]
        for i in range(begin, end):
            row = (pairs[i] >> 32) - node
            to[fill[row]] = pairs[i] & 0x7FFFFFFF
            fill[row] += 1
        i = begin
        for row in range(rows):
            start = kept
            while i < fill[row]:
                v = to[i]
                bit = one << (v & 63)
                if not bits[v >> 6] & bit:
                    bits[v >> 6] |= bit
                    to[kept] = v
                    above[v] += 1
                    kept += 1
                i += 1
            for j in range(start, kept):
                bits[to[j] >> 6] = 0
            length[node + row] = kept - start
    return kept


def parsed(text, separator, columns, first, second):
    """Two columns, integers, of lines of `columns` fields.

    `separator` is a byte, or 0 for runs of blanks.  Numbers may be quoted.  Empty lines, lines that
    begin with # or % and lines that are not as expected are skipped, each by what it holds alone.
    """
    lines: Size = np.count_nonzero(np.asarray(text) == NEWLINE) + 1
    found: OutLongs2 = memoryview(np.empty((2, lines), np.int64))
    n: Size = 0
    i: Size = 0
    size: Size = len(text)
    plain: cython.bint = columns == 2 and first == 0 and second == 1
    tabs: cython.bint = separator == TAB and columns > 2  # a field between two may be empty
    blank: cython.int = BLANK if tabs else TAB
    with cython.nogil:
        while i < size:
            if plain:
                after = _plain_line(text, i, separator, found, n)
                if after > 0:
                    n += 1
                    i = after
                    continue
            i = _after_blanks(text, i, blank)
            begin = i
            if i < size and text[i] != NEWLINE and text[i] != HASH and text[i] != PERCENT:
                for column in range(columns):
                    if column:
                        i = _after_separator(text, i, separator, blank)
                    if i < 0:
                        break
                    if column in (first, second):
                        i = _quoted_integer(text, i, found, column == second, n)
                    else:
                        i = _other(text, i, separator)
                if i >= 0:
                    i = _after_blanks(text, i, TAB)
                if i >= 0 and (i >= size or text[i] == NEWLINE):
                    n += 1
                else:
                    i = begin
            while i < size and text[i] != NEWLINE:
                i += 1
            i += 1
    return np.asarray(found)[:, :n]


def _plain_line(text, i, separator, found, n):
    """Fills in two numbers with one separator: where the next line begins; 0 for other lines."""
    begin: Size = i
    stop: Size = min(begin + MOST_DIGITS, len(text))
    value: Long = 0
    while i < stop and ZERO <= text[i] <= ZERO + 9:
        value = value * 10 + (text[i] - ZERO)
        i += 1
    if i == begin or i >= len(text):
        return 0
    if text[i] != separator and not (separator == 0 and (text[i] == BLANK or text[i] == TAB)):
        return 0
    found[0, n] = value
    i += 1
    begin = i
    stop = min(begin + MOST_DIGITS, len(text))
    value = 0
    while i < stop and ZERO <= text[i] <= ZERO + 9:
        value = value * 10 + (text[i] - ZERO)
        i += 1
    found[1, n] = value
    if i == begin or (i < len(text) and text[i] != NEWLINE):
        return 0
    return i + 1


def _after_blanks(text, i, blank):
    """Where other than blanks and ends of lines of Windows begins; `blank` is one more of them."""
    while i < len(text) and (text[i] == BLANK or text[i] == blank or text[i] == RETURN):
        i += 1
    return i


def _after_separator(text, i, separator, blank):
    """Where the next field begins; -1 where there is none."""
    j: Size = _after_blanks(text, i, blank)
    if blank == TAB and separator in (0, TAB):
        return j if i < j < len(text) and text[j] != NEWLINE else -1
    if j >= len(text) or text[j] != separator:
        return -1
    return _after_blanks(text, j + 1, blank)


def _quoted_integer(text, i, found, end, n):
    """Fills in an integer of 64 bits, perhaps in quotes; where it ends, -1 where there is none."""
    value: Long = 0
    size: Size = len(text)
    quoted: cython.bint = i < size and text[i] == QUOTE
    i += quoted
    negative: cython.bint = i < size and text[i] == MINUS
    i += negative or (i < size and text[i] == PLUS)
    start = i
    while i < size and ZERO <= text[i] <= ZERO + 9:
        digit = text[i] - ZERO
        if value > LARGEST_TENTH or (value == LARGEST_TENTH and digit > 7):
            return -1
        value = value * 10 + digit
        i += 1
    found[end, n] = -value if negative else value
    if i == start or (quoted and (i >= size or text[i] != QUOTE)):
        return -1
    return i + quoted


def _other(text, i, separator):
    """The end of a field that is not read; in quotes it may hold separators."""
    if separator and i < len(text) and text[i] == QUOTE:
        i += 1
        while i < len(text) and text[i] != NEWLINE:
            if text[i] == QUOTE:
                if i + 1 >= len(text) or text[i + 1] != QUOTE:
                    break
                i += 1
            i += 1
    while i < len(text) and text[i] != NEWLINE and text[i] != separator:
        if separator == 0 and (text[i] == BLANK or text[i] == TAB):
            break
        i += 1
    return i


def count_oriented(begin, end, begins, ends, to, level, result):
    """Counts these edges at the end of higher level each; at equal levels the name decides."""
    with cython.nogil:
        for u in range(begin, end):
            here = level[u]
            count: cython.int = 0
            for i in range(begins[u], ends[u]):
                below: cython.int = level[to[i]] < here
                count += below
                result[to[i]] += 1 - below
            result[u] += count


def fill_touching(begin, end, begins, ends, to, chosen, low, high):
    """Fills in the edges of these rows with a chosen end; how many there are."""
    found: Size = 0
    with cython.nogil:
        for u in range(begin, end):
            mine = chosen[u]
            for i in range(begins[u], ends[u]):
                if mine or chosen[to[i]]:
                    low[found] = u
                    high[found] = to[i]
                    found += 1
    return found


def fill_lists(low, high, begins, ends, to, on_it, last, long, length):
    """Everyone's list: the first `length` neighbours that are not on the shortlist.

    Fills in the last node of the lists of those that are `long`; all edges there are given, in the
    order of their lower ends.  Who has fewer neighbours keeps what was there.
    """
    n: Size = len(long)
    seen: OutInts = memoryview(np.zeros(n, np.int32))
    rest: OutInts = memoryview(np.empty(n, np.int32))
    steps: Long = 0
    with cython.nogil:
        for i in range(len(low)):
            v = high[i]
            if long[v] and not on_it[low[i]]:
                seen[v] += 1
                if seen[v] == length:
                    last[v] = low[i]
            if i & PAUSE == PAUSE:
                heed(PAUSE)
        for u in range(n):
            if long[u] and seen[u] < length:
                count: Long = 0
                for i in range(begins[u], ends[u]):
                    if not on_it[to[i]]:
                        rest[count] = to[i]
                        count += 1
                if seen[u] + count >= length:
                    last[u] = _smallest(rest, count, length - seen[u], n)
                    steps = heed(steps + 20 * count)


def _smallest(values, size, rank, n):
    """The one of this rank, from 1 on, of different numbers below n, by bisection."""
    low: Size = 0
    high: Size = n - 1
    while low < high:
        middle = (low + high) // 2
        count: Long = 0
        for i in range(size):
            count += values[i] <= middle
        if count >= rank:
            high = middle
        else:
            low = middle + 1
    return low


def count_outside(low, high, number, on_it, result):
    """How many neighbours outside the shortlist each of its nodes has."""
    with cython.nogil:
        for i in range(len(low)):
            a = number[low[i]]
            b = number[high[i]]
            if a >= 0:
                result[a] += 1 - on_it[high[i]]
            if b >= 0:
                result[b] += 1 - on_it[low[i]]
            if i & PAUSE == PAUSE:
                heed(PAUSE)


def fill_words(low, high, number, on_it, begin, words):
    """One bit for each of 64 nodes of the shortlist: whether it is a neighbour."""
    one: Word = 1
    with cython.nogil:
        for i in range(len(low)):
            a = number[low[i]] - begin
            b = number[high[i]] - begin
            if 0 <= a < 64 and not on_it[high[i]]:
                words[high[i]] |= one << a
            if 0 <= b < 64 and not on_it[low[i]]:
                words[low[i]] |= one << b
            if i & PAUSE == PAUSE:
                heed(PAUSE)


def count_triangles(begin, end, begins, ends, to, last, words, result):
    """Counts the edges of these rows that are on the lists of both ends, for all bits of both."""
    with cython.nogil:
        for u in range(begin, end):
            if not words[u]:
                continue
            for i in range(begins[u], ends[u]):
                v = to[i]
                shared = words[u] & words[v]
                if shared and v <= last[u] and u <= last[v]:
                    while shared:
                        result[trailing_zeros(shared)] += 1
                        shared &= shared - 1


def outside_and_triangles(begin, end, first, to, nodes, on_it, last, mark, stop, result):
    """For the nodes begin .. end-1 of the shortlist, how many of their neighbours are outside it,
    and how many edges among those are on the lists of both their ends: two columns of the result.

    Returns early when the stop flag rises.  Here `first` and `to` are whole rows, and `mark` tells
    per node whether it is a neighbour of the current one; it is 0 before and after.
    """
    with cython.nogil:
        for a in range(begin, end):
            if stop[0]:
                break
            c = nodes[a]
            outside: Long = 0
            triangles: Long = 0
            for i in range(first[c], first[c + 1]):
                if not on_it[to[i]]:
                    mark[to[i]] = 1
                    outside += 1
            for i in range(first[c], first[c + 1]):
                y = to[i]
                if not mark[y]:
                    continue
                low = first[y]
                high = first[y + 1]
                while low < high:
                    j = (low + high) // 2
                    if to[j] < y:
                        low = j + 1
                    else:
                        high = j
                for j in range(low, first[y + 1]):
                    if to[j] > last[y]:
                        break
                    if mark[to[j]] and y <= last[to[j]]:
                        triangles += 1
            for i in range(first[c], first[c + 1]):
                mark[to[i]] = 0
            result[a, 0] = outside
            result[a, 1] = triangles


if not cython.compiled:
    plain(globals())
