"""Counts around a public shortlist, and degrees that count every edge at one end.

Graphs are compressed rows, sorted (see `dampen._kernels.adjacency`); the results are integers and
are filled into arrays that the caller made.
"""

from typing import Any, NamedTuple

import numpy as np

from dampen._kernels.compile import compiled


class Workspace(NamedTuple):
    """The memory of one thread."""

    mark: Any  # per node: whether it is a neighbour of the current one; False before and after
    last: Any  # per node: the last node on its list
    stop: Any  # a flag that all threads share


@compiled
def oriented_degrees(first: Any, to: Any, level: Any, result: Any) -> None:
    """How many neighbours of every node have a lower level; at equal levels the name decides."""
    for v in range(len(first) - 1):
        count, here = 0, level[v]
        for i in range(first[v], first[v + 1]):
            there = level[to[i]]
            count += there < here or (there == here and to[i] < v)
        result[v] = count


@compiled
def fill_lists(first: Any, to: Any, listed: Any, length: int, last: Any) -> None:
    """The last of the first `length` neighbours of every node that are not on the shortlist.

    For a node with fewer of them, it is n: all of its neighbours are on its list.
    """
    n = len(first) - 1
    for y in range(n):
        last[y] = n
        if first[y + 1] - first[y] > length:
            count = 0
            for i in range(first[y], first[y + 1]):
                count += not listed[to[i]]
                if count == length:
                    last[y] = to[i]
                    break


@compiled
def outside_and_triangles(  # noqa: PLR0917
    begin: int,
    end: int,
    graph: tuple[Any, Any],
    shortlist: tuple[Any, Any],
    work: Workspace,
    result: Any,
) -> None:
    """For the nodes begin .. end-1 of the shortlist, what their neighbours outside it are like.

    `graph` is (first, to); `shortlist` is (its nodes, whether a node is on it).  Fills two columns
    of the result: how many neighbours are outside, and how many edges among those are on the lists
    of both their ends.  Returns early when the stop flag rises.
    """
    first, to = graph
    nodes, listed = shortlist
    mark, last = work.mark, work.last
    for a in range(begin, end):
        if work.stop[0]:
            return
        c, outside, triangles = nodes[a], 0, 0
        for i in range(first[c], first[c + 1]):
            if not listed[to[i]]:
                mark[to[i]] = True
                outside += 1
        for i in range(first[c], first[c + 1]):
            y = to[i]
            if mark[y]:
                row = to[first[y] : first[y + 1]]
                for j in range(np.searchsorted(row, y), len(row)):
                    z = row[j]
                    if z > last[y]:
                        break
                    triangles += mark[z] and y <= last[z]
        for i in range(first[c], first[c + 1]):
            mark[to[i]] = False
        result[a, 0], result[a, 1] = outside, triangles
