"""What competes for the label at a percentile; not private, for study on public data."""

from collections.abc import Iterator

from dampen import accuracy
from dampen.comparison import Method
from dampen.data.columns import clipped, finite_range
from dampen.epsilon import Epsilon, exact
from dampen.mechanisms import named
from dampen.percentiles import two_stage_law
from dampen.percentiles.labels import NEAR, Percent, PercentileLabel
from dampen.percentiles.release import label_mechanism
from dampen.percentiles.two_stages import Shares, TwoStages, worth_it
from dampen.selection import FloatArray

__all__ = ["expected_errors", "label_methods"]


def label_methods(
    values: FloatArray, *, p: Percent, upper: float, lower: float = 0.0
) -> Iterator[Method]:
    """The paper's mechanisms, permute-and-flip, and the default for few labels as the last one."""
    n = len(values)
    paper = PercentileLabel(n=n, p=p, upper=upper, lower=lower, delta="simple").selection(values)
    for name in ("em", "pf", "ld", "ld-pf", "sld", "sld-pf"):
        yield Method(name, paper, named(name))
    ours = PercentileLabel(n=n, p=p, upper=upper, lower=lower, delta="exact", horizon=NEAR)
    default = label_mechanism(lower, upper)
    name = default.name if worth_it(n) else f"{default.name} (default)"
    yield Method(name, ours.selection(values), default)


def expected_errors(
    values: FloatArray,
    *,
    p: Percent,
    upper: float,
    epsilons: list[Epsilon],
    lower: float = 0.0,
) -> Iterator[tuple[str, list[float]]]:
    """The expected error of every method at every ε; the default is the last one."""
    for name, selection, mechanism in label_methods(values, p=p, upper=upper, lower=lower):
        yield (
            name,
            [accuracy.expected_error(selection, epsilon=e, mechanism=mechanism) for e in epsilons],
        )
    if worth_it(n := len(values)):
        inside = clipped(values, *finite_range(lower, upper))
        shares = [Shares.of(exact(e)) for e in epsilons]
        staged = [TwoStages(n=n, p=p, upper=upper, lower=lower, shares=s) for s in shares]
        yield "two-stages (default)", [two_stage_law.expected_error(s, inside) for s in staged]
