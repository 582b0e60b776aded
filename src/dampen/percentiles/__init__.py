"""Which record, or which value, is at a percentile?  (Application 1 of the paper.)"""

from dampen.percentiles.labels import PercentileLabel
from dampen.percentiles.picture import plot
from dampen.percentiles.release import percentile
from dampen.percentiles.values import PercentileValue, PercentileValueOfRows

__all__ = ["PercentileLabel", "PercentileValue", "PercentileValueOfRows", "percentile", "plot"]
