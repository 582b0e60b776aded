"""See `dampen.questions.nodes.problem`."""

from dampen.questions.nodes.metrics import Brokerage, Triangles
from dampen.questions.nodes.problem import Betweenness, Degree, InfluentialNode, Metric

__all__ = ["Betweenness", "Brokerage", "Degree", "InfluentialNode", "Metric", "Triangles"]
