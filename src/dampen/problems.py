"""The problem classes of all questions under one name: public parameters in, a selection out.

Each question keeps its mathematics beside its methods; this module gathers the problem classes for
those who compare mechanisms, prove privacy or write a problem of their own.
"""

from dampen.paper.percentile_selection import PercentileLabel
from dampen.questions.classify.splits import BestSplit
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.problem import BestGroup
from dampen.questions.nodes.betweenness import Betweenness
from dampen.questions.nodes.centralities import Brokerage, Triangles
from dampen.questions.nodes.metric import Degree, Metric
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

__all__ = [
    "BestGroup",
    "BestSplit",
    "Betweenness",
    "Brokerage",
    "Degree",
    "InfluentialNode",
    "Metric",
    "MostFrequent",
    "PercentileLabel",
    "PercentileValue",
    "PercentileValueOfRows",
    "Triangles",
]
