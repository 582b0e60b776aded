"""Codegrees: how many neighbours two nodes have in common, at most, for every node."""

from typing import Any, NamedTuple

from dampen._kernels.adjacency import Ordered
from dampen._kernels.compile import compiled


class Workspace(NamedTuple):
    """The memory of one thread."""

    common: Any  # per node: neighbours shared with the current one; zero before and after
    touched: Any
    stop: Any  # a flag that all threads share


@compiled
def codegrees_of_range(begin: int, end: int, graph: Ordered, work: Workspace, result: Any) -> None:
    """Raises result[v] to the largest number of neighbours that v shares with any other node.

    Looks at the pairs v > x for v in begin .. end-1, and raises both ends; the results of several
    ranges combine by the maximum.  Returns early when the stop flag rises.
    """
    first, to, common, touched = graph.first, graph.to, work.common, work.touched
    for v in range(begin, end):
        if work.stop[0]:
            return
        n = 0
        for i in range(first[v], first[v + 1]):
            w = to[i]
            for j in range(first[w], first[w + 1]):
                x = to[j]
                if x >= v:
                    break
                touched[n] = x
                n += common[x] == 0
                common[x] += 1
        for i in range(n):
            x = touched[i]
            result[v] = max(result[v], common[x])
            result[x] = max(result[x], common[x])
            common[x] = 0
