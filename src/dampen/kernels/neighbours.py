"""Sums over neighbours, and the order in which a graph falls apart.

Graphs are compressed rows (see `dampen.kernels.adjacency`); the results are integers and are
filled into arrays that the caller made.
"""

from typing import Any

import numpy as np

from dampen.kernels.compile import compiled


@compiled
def weighted_degrees(first: Any, to: Any, nodes: Any, weights: Any, result: Any) -> None:
    """For each of some nodes, the sum of the weights of its neighbours."""
    for a in range(len(nodes)):
        total = 0
        v = nodes[a]
        for i in range(first[v], first[v + 1]):
            total += weights[to[i]]
        result[a] = total


@compiled
def peel(first: Any, to: Any, core: Any) -> None:
    """Fills in core numbers: the node of the fewest neighbours goes first, again and again.

    `core` holds the degrees at first.  Nodes lie in the order of their present degrees, `start`
    says where each degree begins; a node that loses a neighbour changes places with the first of
    its degree and joins the one below (Batagelj and Zaversnik 2003).
    """
    n = len(first) - 1
    start = np.zeros(core.max() + 2, np.int64)
    order = np.empty(n, np.int64)
    place = core.copy()
    for v in range(n):
        start[core[v] + 1] += 1
    start = np.cumsum(start)
    following = start.copy()
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
