"""Counts around a public shortlist, from whole rows.

Graphs are compressed rows, sorted (see `dampen.kernels.adjacency`); the results are integers and
are filled into arrays that the caller made.
"""

from typing import Any, NamedTuple

import numpy as np

from dampen.kernels.compile import compiled


class Listed(NamedTuple):
    """A graph, and a shortlist of its nodes."""

    first: Any
    to: Any
    nodes: Any  # those on the shortlist
    on_it: Any  # per node: whether it is one of them
    last: Any  # per node: the last node on its own list, or n


class Workspace(NamedTuple):
    """The memory of one thread."""

    mark: Any  # per node: whether it is a neighbour of the current one; False before and after
    stop: Any  # a flag that all threads share


@compiled
def outside_and_triangles(
    begin: int, end: int, graph: Listed, work: Workspace, result: Any
) -> None:
    """For the nodes begin .. end-1 of the shortlist, what their neighbours outside it are like.

    Fills two columns of the result: how many neighbours are outside, and how many edges among
    those are on the lists of both their ends.  Returns early when the stop flag rises.
    """
    first = graph.first
    to = graph.to
    last = graph.last
    mark = work.mark
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
        result[a, 0] = outside
        result[a, 1] = triangles
