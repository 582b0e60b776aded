"""What value, or which record, is at a percentile?"""

from dampen.paper.percentile_selection import PercentileLabel
from dampen.questions.percentile.question import PercentileQuestion, percentile
from dampen.questions.percentile.record import RecordQuestion, percentile_record
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows

__all__ = [
    "PercentileLabel",
    "PercentileQuestion",
    "PercentileValue",
    "PercentileValueOfRows",
    "RecordQuestion",
    "percentile",
    "percentile_record",
]
