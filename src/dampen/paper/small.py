"""Bundled small data for quick runs: no file, no network, the same on every machine."""

import numpy as np

from dampen.datasets import Edges
from dampen.selection import IntArray

HISTOGRAMS = ("steep", "even")
GRAPHS = ("karate", "miserables")


def histogram(name: str) -> IntArray:
    """256 counts by a fixed formula: a few large ones, or an even spread."""
    golden = np.modf(np.arange(1, 257) * 0.6180339887498949)[0]
    shape = {"steep": 1000 * golden**8, "even": 1000 * golden}[name]
    return np.floor(shape).astype(np.int64)


def graph(name: str) -> Edges:
    """Zachary's karate club or the characters of Les Misérables, from networkx."""
    import networkx as nx

    make = {"karate": nx.karate_club_graph, "miserables": nx.les_miserables_graph}[name]
    named = nx.convert_node_labels_to_integers(make(), ordering="sorted")
    ends = np.sort(np.array(named.edges, dtype=np.int32), axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), named.number_of_nodes())
