"""See `dampen.questions.frequency`."""

from dampen.questions.frequency import MostFrequent

__all__ = ["MostFrequent"]
