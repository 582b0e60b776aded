"""See `dampen.trees.splits`."""

from dampen.trees.splits import BestSplit

__all__ = ["BestSplit"]
