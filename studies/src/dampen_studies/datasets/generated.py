"""Graphs of many kinds from fixed seeds, by the generators of networkx; no file, no network.

No constant of two rounds for betweenness was fixed on those of HELD_OUT; when to ask for sums over
neighbours, and when to copy the graph, was decided on them.  Nothing was decided on those of
UNSEEN.  The names of nodes are shuffled, lest the order that a generator gives them decides.
"""

from collections.abc import Callable
from typing import TypeAlias

import networkx as nx
import numpy as np
from networkx.algorithms import bipartite

from dampen.core.sampling import InsecureEntropy, random_order
from dampen.questions.nodes.graphs import Graph, graph_of

Generator: TypeAlias = Callable[[], nx.Graph]

SHUFFLED = 2026


def heavy_tailed(n: int, exponent: float, least: int, seed: int) -> nx.Graph:
    """Random edges for degrees that are the quantiles of a power law, cut at a third of n."""
    below_one = (np.arange(n) + 0.5) / n
    degrees = np.minimum(least * below_one ** (-1 / (exponent - 1)), n / 3).astype(int)
    degrees[0] += degrees.sum() % 2
    return nx.Graph(nx.configuration_model(degrees.tolist(), seed=seed))


def co_authors(papers: int, seed: int) -> nx.Graph:
    """Who wrote together: papers of two to eleven authors, who write more, the more they wrote."""
    authors = [2 + 9 // (1 + i % 10) for i in range(papers)]
    both = bipartite.preferential_attachment_graph(authors, 0.4, seed=seed)
    people = [v for v, side in both.nodes(data="bipartite") if side == 1]
    return bipartite.projected_graph(nx.Graph(both), people)


def ego_networks(count: int, seed: int) -> nx.Graph:
    """Hubs of unlike size, among whose friends some know each other; and a few edges between."""
    parts = []
    for i in range(count):
        part = nx.gnp_random_graph(12 + 5 * i, 0.4 * (i % 4) / 4, seed=seed + i)
        part.add_edges_from([(len(part), v) for v in list(part)])
        parts.append(part)
    whole = nx.disjoint_union_all(parts)
    between = nx.gnm_random_graph(len(whole), len(whole) // 3, seed=seed)
    return nx.compose(whole, between)


def cliques_and_a_star() -> nx.Graph:
    cliques = [nx.complete_graph(size) for size in (5, 8, 13, 21, 34, 30, 25)]
    return nx.disjoint_union_all([*cliques, nx.star_graph(20)])


def blocks(sizes: list[int], within: list[float], between: float, seed: int) -> nx.Graph:
    chances = [
        [within[i] if i == j else between for j in range(len(sizes))] for i in range(len(sizes))
    ]
    return nx.stochastic_block_model(sizes, chances, seed=seed)


SEEN: dict[str, Generator] = {
    "karate club": nx.karate_club_graph,
    "Les Misérables": nx.les_miserables_graph,
}
"""Some constants were looked at on these."""

HELD_OUT: dict[str, Generator] = {
    "Florentine families": nx.florentine_families_graph,
    "Southern women": nx.davis_southern_women_graph,
    "preferential 30": lambda: nx.barabasi_albert_graph(30, 3, seed=213),
    "preferential 300": lambda: nx.barabasi_albert_graph(300, 2, seed=2102),
    "preferential 1500": lambda: nx.barabasi_albert_graph(1500, 4, seed=10504),
    "clustered 60": lambda: nx.powerlaw_cluster_graph(60, 3, 0.7, seed=423),
    "clustered 400": lambda: nx.powerlaw_cluster_graph(400, 8, 0.6, seed=2808),
    "clustered 800": lambda: nx.powerlaw_cluster_graph(800, 3, 0.95, seed=5603),
    "small world 800": lambda: nx.watts_strogatz_graph(800, 12, 0.1, seed=5600),
    "random 100": lambda: nx.gnp_random_graph(100, 0.5, seed=700),
    "random 500": lambda: nx.gnp_random_graph(500, 0.02, seed=3500),
    "four blocks": lambda: blocks([50] * 4, [0.32] * 4, 0.02, seed=3),
    "core and rim": lambda: blocks([60, 540], [0.5, 0.01], 0.1, seed=4),
    "caves": lambda: nx.relaxed_caveman_graph(50, 12, 0.2, seed=5),
    "partitions": lambda: nx.gaussian_random_partition_graph(400, 30, 10, 0.4, 0.02, seed=3),
    "windmill": lambda: nx.windmill_graph(30, 6),
    "barbell": lambda: nx.barbell_graph(25, 20),
    "geometric 600": lambda: nx.random_geometric_graph(600, 0.09, seed=6),
    "heavy tail 100": lambda: heavy_tailed(100, 2.5, 2, seed=700),
    "heavy tail 500": lambda: heavy_tailed(500, 2.0, 3, seed=3500),
    "internet 300": lambda: nx.random_internet_as_graph(300, seed=7),
    "duplication 1000": lambda: nx.duplication_divergence_graph(1000, 0.6, seed=7),
    "balanced tree": lambda: nx.balanced_tree(4, 5),
    "stars": lambda: nx.disjoint_union_all(
        [nx.star_graph(size) for size in (5, 8, 13, 21, 34, 55, 89)]
    ),
    "cliques and a star": cliques_and_a_star,
    "co-authors": lambda: co_authors(500, seed=6),
    "ego networks": lambda: ego_networks(12, seed=6),
    "line graph": lambda: nx.line_graph(nx.barabasi_albert_graph(300, 2, seed=8)),
    "communities": lambda: nx.LFR_benchmark_graph(
        1000, 2.5, 1.8, 0.2, average_degree=10, max_degree=80, min_community=20, seed=10
    ),
    "scale-free 1500": lambda: nx.scale_free_graph(1500, seed=5),
    "regular 300": lambda: nx.random_regular_graph(8, 300, seed=1),
}

UNSEEN: dict[str, Generator] = {
    "kite": nx.krackhardt_kite_graph,
    "internet 2000": lambda: nx.random_internet_as_graph(2000, seed=12),
    "co-authors 1500": lambda: co_authors(900, seed=12),
    "two preferences": lambda: nx.dual_barabasi_albert_graph(700, 2, 8, 0.8, seed=12),
    "shared interests": lambda: nx.uniform_random_intersection_graph(500, 60, 0.03, seed=12),
    "Waxman 400": lambda: nx.waxman_graph(400, beta=0.4, alpha=0.1, seed=12),
    "shells": lambda: nx.random_shell_graph(
        [(20, 80, 0.8), (100, 300, 0.7), (300, 500, 0.5)], seed=12
    ),
}


def generated(name: str) -> Graph:
    """One of them, with shuffled names; the same for the same version of networkx."""
    graph = nx.convert_node_labels_to_integers((SEEN | HELD_OUT | UNSEEN)[name]())
    names = random_order(len(graph), InsecureEntropy(SHUFFLED))
    ends = names[np.array([edge[:2] for edge in graph.edges], dtype=np.int64)]
    return graph_of((ends[:, 0], ends[:, 1]), range(len(graph)))
