"""Which nodes of a graph are the most influential?  (Application 2 of the paper.)"""

from dampen.questions.nodes.graphs import Graph, egocentric_betweenness
from dampen.questions.nodes.metric import Metric
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.nodes.question import NodesQuestion, top_k

__all__ = [
    "Graph",
    "InfluentialNode",
    "Metric",
    "NodesQuestion",
    "egocentric_betweenness",
    "top_k",
]
