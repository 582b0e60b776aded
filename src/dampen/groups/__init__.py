"""Which group has the largest median, mean, quantile or sum?"""

from dampen.groups.problem import BestGroup

__all__ = ["BestGroup"]
