"""Counts around a public shortlist, and degrees that count every edge at one end.

Graphs are compressed rows, sorted (see `dampen._kernels.adjacency`); the results are integers and
are filled into arrays that the caller made.
"""

from typing import Any, NamedTuple

import numpy as np

from dampen._kernels.compile import compiled


class Listed(NamedTuple):
    """A graph, and a shortlist of its nodes."""

    first: Any
    to: Any
    nodes: Any  # those on the shortlist
    on_it: Any  # per node: whether it is one of them
    last: Any  # per node: the last node on its own list; see `fill_lists`


class Workspace(NamedTuple):
    """The memory of one thread."""

    mark: Any  # per node: whether it is a neighbour of the current one; False before and after
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
def fill_lists(graph: Listed, length: int) -> None:
    """Everyone's list: the first `length` neighbours that are not on the shortlist.

    Fills in the last node of each list, or n where a node has fewer: all are on its list then.
    """
    first, to, n = graph.first, graph.to, len(graph.first) - 1
    for y in range(n):
        graph.last[y] = n
        if first[y + 1] - first[y] > length:
            count = 0
            for i in range(first[y], first[y + 1]):
                count += not graph.on_it[to[i]]
                if count == length:
                    graph.last[y] = to[i]
                    break


@compiled
def outside_and_triangles(
    begin: int, end: int, graph: Listed, work: Workspace, result: Any
) -> None:
    """For the nodes begin .. end-1 of the shortlist, what their neighbours outside it are like.

    Fills two columns of the result: how many neighbours are outside, and how many edges among
    those are on the lists of both their ends.  Returns early when the stop flag rises.
    """
    first, to, last, mark = graph.first, graph.to, graph.last, work.mark
    for a in range(begin, end):
        if work.stop[0]:
            return
        c = graph.nodes[a]
        outside = triangles = 0
        for i in range(first[c], first[c + 1]):
            if not graph.on_it[to[i]]:
                mark[to[i]] = True
                outside += 1
        for i in range(first[c], first[c + 1]):
            y = to[i]
            if mark[y]:
                row = to[first[y] : first[y + 1]]
                for j in range(np.searchsorted(row, y), len(row)):
                    if row[j] > last[y]:
                        break
                    triangles += mark[row[j]] and y <= last[row[j]]
        for i in range(first[c], first[c + 1]):
            mark[to[i]] = False
        result[a, 0], result[a, 1] = outside, triangles
