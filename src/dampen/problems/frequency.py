"""See `dampen.questions.frequency.problem`."""

from dampen.questions.frequency.problem import MostFrequent

__all__ = ["MostFrequent"]
