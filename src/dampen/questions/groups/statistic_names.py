"""What groups are compared by, from the words a user says."""

from dataclasses import dataclass
from fractions import Fraction

from dampen.epsilon import exact
from dampen.errors import ParameterError, did_you_mean
from dampen.questions.groups.grid import Exact
from dampen.questions.groups.statistics import Mean, Quantile, Statistic, TrimmedMean

NAMES = ("median", "quantile", "mean", "trimmed-mean", "sum")
EXTREMES = {"max": 99, "maximum": 99, "min": 1, "minimum": 1}
USUAL_TRIM = 10
FINEST = 10**6
"""p has at most four decimals, so that ranks times its denominator stay within 64 bits."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the values."""


def measure(statistic: str | None, p: Exact | None) -> Statistic | Sum:
    """The statistic of that name.

    >>> measure("quantile", 90) == measure(None, "90.0") == Quantile(Fraction(9, 10))
    True
    """
    name = statistic or ("median" if p is None else "quantile")
    _check_name(name)
    if name == "quantile":
        if p is None:
            raise ParameterError("Expected p=, which quantile in percent, such as p=90.")
        return Quantile(_share(p, 100))
    if name == "trimmed-mean":
        return TrimmedMean(_share(USUAL_TRIM if p is None else p, 50))
    if p is not None:
        raise ParameterError(
            f"Expected no p= for the {name}, got p={p}. For a quantile pass statistic='quantile'."
        )
    return Quantile(Fraction(1, 2)) if name == "median" else Mean() if name == "mean" else Sum()


def _check_name(name: str) -> None:
    if name in EXTREMES:
        raise ParameterError(
            f"Expected another statistic than the {name}: one row decides it, so that a private "
            "answer is little better than a guess. Ask for the quantile next to it: "
            f"statistic='quantile', p={EXTREMES[name]}."
        )
    if name not in NAMES:
        hint = did_you_mean(str(name), NAMES)
        raise ParameterError(
            f"Expected a statistic, one of {', '.join(NAMES)}, got {name!r}.{hint}"
        )


def _share(p: Exact, below: int) -> Fraction:
    """p percent as a fraction; p > 0 and below a public limit."""
    value = exact(p, "p")
    if value >= below:
        raise ParameterError(f"Expected p < {below} (percent), got p={p}.")
    if (value / 100).denominator > FINEST:
        raise ParameterError(f"Expected p with at most four decimals, got p={p}.")
    return value / 100
