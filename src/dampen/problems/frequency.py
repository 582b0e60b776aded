"""See `dampen.frequency.problem`."""

from dampen.frequency.problem import MostFrequent

__all__ = ["MostFrequent"]
