"""See `dampen.questions.percentile.record` and `dampen.questions.percentile.values`."""

from dampen.questions.percentile.record import PercentileLabel
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

__all__ = ["PercentileLabel", "PercentileValue", "PercentileValueOfRows"]
