"""Which group has the largest median, mean, quantile or sum?"""

from dampen.groups.problem import BestGroup
from dampen.groups.release import top_groups

__all__ = ["BestGroup", "top_groups"]
