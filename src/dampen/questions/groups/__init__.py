"""Which group has the largest median, mean, quantile or sum?"""

from dampen.questions.groups.problem import BestGroup
from dampen.questions.groups.release import top_groups

__all__ = ["BestGroup", "top_groups"]
