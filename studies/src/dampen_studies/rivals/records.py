"""What competes for the label at a percentile; not private, for study on public data."""

from collections.abc import Iterator, Sequence

from dampen.core import error_analysis
from dampen.core.mechanisms import named
from dampen.core.selection import FloatArray
from dampen.data.columns import clipped, finite_range
from dampen.epsilon import Epsilon, asked_epsilon
from dampen.paper.percentile_selection import NEAR, Percent, PercentileLabel
from dampen.questions.percentile.methods import Shares, TwoStages, worth_it
from dampen.questions.percentile.record import label_mechanism
from dampen_studies.rivals import record_law
from dampen_studies.rivals.drawings import Method

__all__ = ["expected_errors", "label_methods"]

Price = tuple[Epsilon | None, Epsilon | None]
"""What is asked for: ε, or ρ."""


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
    prices: Sequence[Price],
    lower: float = 0.0,
) -> Iterator[tuple[str, list[float]]]:
    """The expected error of every method at every price; the default is the last one."""
    for name, selection, mechanism in label_methods(values, p=p, upper=upper, lower=lower):
        yield (
            name,
            [
                error_analysis.expected_error(selection, epsilon=e, rho=rho, mechanism=mechanism)
                for e, rho in prices
            ],
        )
    if worth_it(n := len(values)):
        inside = clipped(values, *finite_range(lower, upper))
        asked = [asked_epsilon(e, rho, lambda x: Shares.of(x).rho()) for e, rho in prices]
        shares = [Shares.of(each) for each in asked]
        staged = [TwoStages(n=n, p=p, upper=upper, lower=lower, shares=s) for s in shares]
        yield (
            "two-stages (default)",
            [record_law.expected_error(s, inside) for s in staged],
        )
