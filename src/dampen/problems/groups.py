"""The best group, by a statistic of its rows."""

from dampen.groups.problem import BestGroup

__all__ = ["BestGroup"]
