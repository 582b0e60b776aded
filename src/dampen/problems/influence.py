"""See `dampen.influence.problem`."""

from dampen.influence.problem import Betweenness, Degree, InfluentialNode, Metric

__all__ = ["Betweenness", "Degree", "InfluentialNode", "Metric"]
