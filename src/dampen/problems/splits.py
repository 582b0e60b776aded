"""See `dampen.questions.classify.splits`."""

from dampen.questions.classify.splits import BestSplit

__all__ = ["BestSplit"]
