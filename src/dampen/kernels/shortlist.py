"""Counts around a public shortlist, from whole rows.

Graphs are compressed rows, sorted (see `dampen.kernels.adjacency`); the results are integers and
are filled into arrays that the caller made.
"""

from __future__ import annotations

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython


@kernel
def outside_and_triangles(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    first: cython.const[cython.longlong][::1],
    to: cython.const[cython.int][::1],
    nodes: cython.const[cython.longlong][::1],
    on_it: cython.const[cython.uchar][::1],
    last: cython.const[cython.int][::1],
    mark: cython.uchar[::1],
    stop: cython.const[cython.uchar][::1],
    result: cython.longlong[:, ::1],
) -> None:
    """For the nodes begin .. end-1 of the shortlist, what their neighbours outside it are like.

    Fills two columns of the result: how many neighbours are outside, and how many edges among
    those are on the lists of both their ends.  Returns early when the stop flag rises.

    Args:
        begin: of the range.
        end: of the range.
        first: of the graph.
        to: of the graph.
        nodes: those on the shortlist.
        on_it: per node, whether it is one of them.
        last: per node, the last node on its own list, or n.
        mark: per node, whether it is a neighbour of the current one; 0 before and after.
        stop: a flag that all threads share.
        result: two columns.
    """
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    c: cython.longlong
    y: cython.int
    outside: cython.longlong
    triangles: cython.longlong
    with cython.nogil:
        for a in range(begin, end):
            if stop[0]:
                break
            c = nodes[a]
            outside = 0
            triangles = 0
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
