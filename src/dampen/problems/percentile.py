"""See `dampen.paper.percentile_selection` and `dampen.questions.percentile.values`."""

from dampen.paper.percentile_selection import PercentileLabel
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

__all__ = ["PercentileLabel", "PercentileValue", "PercentileValueOfRows"]
