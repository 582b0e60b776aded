"""Which record, or which value, is at a percentile?  (Application 1 of the paper.)"""

from dampen.questions.percentile.plot import plot
from dampen.questions.percentile.record import PercentileLabel
from dampen.questions.percentile.release import percentile
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

__all__ = ["PercentileLabel", "PercentileValue", "PercentileValueOfRows", "percentile", "plot"]
