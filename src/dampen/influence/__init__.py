"""Which nodes of a graph are the most influential?  (Application 2 of the paper.)"""

from dampen.influence.graphs import Graph, egocentric_betweenness
from dampen.influence.problem import InfluentialNode, Metric
from dampen.influence.release import top_k

__all__ = ["Graph", "InfluentialNode", "Metric", "egocentric_betweenness", "top_k"]
