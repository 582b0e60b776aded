"""Codegrees: how many neighbours two nodes have in common, at most, for every node.

A neighbour w of degree t makes t² pairs.  The few largest nodes are taken out as *hubs*, at most 64
of them: every node has a word with one bit for each hub that it is adjacent to.  Two nodes share
the ones of both their words, and the light neighbours that walking from one to the other finds.
Nodes that no walk finds share hubs alone, and there are few different words: the best partner of
every word is found once, so that a star costs its edges and not their square.
"""

from typing import Any, NamedTuple

import numpy as np

from dampen.kernels.adjacency import Ordered
from dampen.kernels.compile import compiled, popcount

MOST_HUBS = 64
HEAVY = 16
"""A node is worth to be a hub if its pairs are more than this many for each node of the graph."""


class Workspace(NamedTuple):
    """The memory of one thread."""

    common: Any  # per node: light neighbours shared with the current one; zero before and after
    touched: Any
    stop: Any  # a flag that all threads share


@compiled
def first_hub(graph: Ordered) -> int:
    """Hubs are the nodes from this one on."""
    n = len(graph.first) - 1
    hub = n
    while hub > 0 and n - hub < MOST_HUBS:
        d = graph.first[hub] - graph.first[hub - 1]
        if d * d <= HEAVY * n:
            break
        hub -= 1
    return hub


@compiled
def fill_words(graph: Ordered, hub: int, words: Any) -> None:
    """Which hubs every node is adjacent to, one bit each."""
    for w in range(hub, len(graph.first) - 1):
        bit = np.uint64(1) << np.uint64(w - hub)
        for i in range(graph.first[w], graph.first[w + 1]):
            words[graph.to[i]] |= bit


@compiled
def codegrees_of_range(  # noqa: PLR0917
    begin: int, end: int, graph: Ordered, hub: int, words: Any, work: Workspace, result: Any
) -> None:
    """Raises result[v] to the largest number of neighbours that v shares with a node it walks to.

    Walks over light neighbours only, to the nodes x < v for v in begin .. end-1, and raises both
    ends; the results of several ranges combine by the maximum.  Returns early when the stop flag
    rises.
    """
    first = graph.first
    to = graph.to
    common = work.common
    touched = work.touched
    for v in range(begin, end):
        if work.stop[0]:
            return
        n = 0
        for i in range(first[v], first[v + 1]):
            w = to[i]
            if w >= hub:
                break
            for j in range(first[w], first[w + 1]):
                x = to[j]
                if x >= v:
                    break
                touched[n] = x
                n += common[x] == 0
                common[x] += 1
        for i in range(n):
            x = touched[i]
            shared = common[x] + np.int64(popcount(words[v] & words[x]))
            result[v] = max(result[v], shared)
            result[x] = max(result[x], shared)
            common[x] = 0


@compiled
def shared_hubs(words: Any, result: Any) -> None:
    """Raises result[v] to the largest number of hubs that v shares with any other node."""
    order = np.argsort(words)
    n = len(words)
    distinct = np.empty(n, np.uint64)
    start = np.empty(n + 1, np.int64)
    count = 0
    for i in range(n):
        if i == 0 or words[order[i]] != words[order[i - 1]]:
            distinct[count] = words[order[i]]
            start[count] = i
            count += 1
    start[count] = n
    size = np.empty(count, np.int64)
    for a in range(count):
        size[a] = np.int64(popcount(distinct[a]))
    by_size = np.argsort(-size)
    for a in range(count):
        best = size[a] if start[a + 1] - start[a] > 1 else 0
        for b in by_size:
            if best >= min(size[a], size[b]):
                break
            if b != a:
                best = max(best, np.int64(popcount(distinct[a] & distinct[b])))
        for i in range(start[a], start[a + 1]):
            result[order[i]] = max(result[order[i]], best)
