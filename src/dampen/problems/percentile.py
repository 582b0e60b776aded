"""See `dampen.percentiles.labels` and `dampen.percentiles.values`."""

from dampen.percentiles.labels import PercentileLabel
from dampen.percentiles.values import PercentileValue, PercentileValueOfRows

__all__ = ["PercentileLabel", "PercentileValue", "PercentileValueOfRows"]
