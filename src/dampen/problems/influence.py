"""See `dampen.influence.problem`."""

from dampen.influence.metrics import Brokerage, Triangles
from dampen.influence.problem import Betweenness, Degree, InfluentialNode, Metric

__all__ = ["Betweenness", "Brokerage", "Degree", "InfluentialNode", "Metric", "Triangles"]
