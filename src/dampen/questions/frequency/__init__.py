"""Which category occurs most often?"""

from dampen.questions.frequency.problem import MostFrequent
from dampen.questions.frequency.release import most_frequent

__all__ = ["MostFrequent", "most_frequent"]
