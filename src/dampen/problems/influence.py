"""See `dampen.questions.nodes.problem` and `dampen.questions.nodes.metrics`."""

from dampen.questions.nodes.betweenness import Betweenness
from dampen.questions.nodes.degree import Degree
from dampen.questions.nodes.metric import Metric
from dampen.questions.nodes.problem import InfluentialNode
from dampen.questions.nodes.triangles import Brokerage, Triangles

__all__ = ["Betweenness", "Brokerage", "Degree", "InfluentialNode", "Metric", "Triangles"]
