"""The best group, by a statistic of its rows."""

from dampen.questions.groups.problem import BestGroup

__all__ = ["BestGroup"]
