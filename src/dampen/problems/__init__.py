"""The problems of all applications under one name: public parameters in, a selection out.

Each application keeps its mathematics beside its release function (`dampen.questions.frequency`,
`dampen.questions.groups`, `dampen.questions.nodes`, `dampen.questions.percentile`,
`dampen.questions.classify`); this package gathers the problem classes for those who compare
mechanisms, prove privacy or write a problem of their own.
"""

from dampen.problems.frequency import MostFrequent
from dampen.problems.groups import BestGroup
from dampen.problems.influence import Betweenness, Degree, InfluentialNode, Metric
from dampen.problems.percentile import PercentileLabel, PercentileValue
from dampen.problems.splits import BestSplit

__all__ = [
    "BestGroup",
    "BestSplit",
    "Betweenness",
    "Degree",
    "InfluentialNode",
    "Metric",
    "MostFrequent",
    "PercentileLabel",
    "PercentileValue",
]
