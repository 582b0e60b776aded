"""Which nodes of a graph are the most influential?  (Application 2 of the paper.)"""

from dampen.questions.nodes.graphs import Graph, egocentric_betweenness
from dampen.questions.nodes.problem import InfluentialNode, Metric
from dampen.questions.nodes.release import top_k

__all__ = ["Graph", "InfluentialNode", "Metric", "egocentric_betweenness", "top_k"]
