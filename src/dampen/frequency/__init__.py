"""Which category occurs most often?"""

from dampen.frequency.problem import MostFrequent
from dampen.frequency.release import most_frequent

__all__ = ["MostFrequent", "most_frequent"]
