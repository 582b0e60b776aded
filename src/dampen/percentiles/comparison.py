"""What competes for the label at a percentile; not private, for study on public data."""

from collections.abc import Iterator

from dampen.comparison import Method
from dampen.mechanisms import named
from dampen.percentiles.labels import NEAR, Percent, PercentileLabel
from dampen.percentiles.release import label_mechanism
from dampen.selection import FloatArray

__all__ = ["label_methods"]


def label_methods(
    values: FloatArray, *, p: Percent, upper: float, lower: float = 0.0
) -> Iterator[Method]:
    """The paper's mechanisms, permute-and-flip, and the default, which is the last one."""
    n = len(values)
    paper = PercentileLabel(n=n, p=p, upper=upper, lower=lower, delta="simple").selection(values)
    for name in ("em", "pf", "ld", "ld-pf", "sld", "sld-pf"):
        yield Method(name, paper, named(name))
    ours = PercentileLabel(n=n, p=p, upper=upper, lower=lower, delta="exact", horizon=NEAR)
    default = label_mechanism(lower, upper)
    yield Method(f"{default.name} (default)", ours.selection(values), default)
