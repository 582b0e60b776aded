"""Which group has the largest median, mean, quantile or sum?"""

from dampen.questions.groups.above import AboveQuestion, groups_above
from dampen.questions.groups.problem import STATISTICS, BestGroup
from dampen.questions.groups.question import GroupsQuestion, top_groups

__all__ = [
    "STATISTICS",
    "AboveQuestion",
    "BestGroup",
    "GroupsQuestion",
    "groups_above",
    "top_groups",
]
