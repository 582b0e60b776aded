"""`percentile`: which record is at the percentile, or what its value is, privately."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

from dampen.data.numbers import finite_range
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, did_you_mean
from dampen.mechanisms import Mechanism, named, select
from dampen.noise import EXPONENTIAL
from dampen.percentiles.labels import NEAR, Delta, Percent, PercentileLabel, as_fraction
from dampen.percentiles.values import PercentileValue
from dampen.releases import Budget, Release, after_the_charge, pay
from dampen.releases import release as release_one
from dampen.sampling import Entropy
from dampen.scores import Dampened
from dampen.selection import Neighbours

Kind = Literal["label", "value"]
KINDS = ("label", "value")


def percentile(
    values: Any,
    p: Percent | Sequence[Percent],
    epsilon: Epsilon,
    upper: float,
    lower: float = 0.0,
    *,
    labels: Any = None,
    release: Kind = "label",
    step: float | None = None,
    mechanism: str | Mechanism | None = None,
    delta: Delta | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The p-th percentile with ε-differential privacy: the label of its record, or its value.

    Guarantee: ε-DP under replacing one value.  The number of values, the labels, the range, the
    step and p are public.  Values outside the range are clipped, and how many is not shown.

    Args:
        values: a list, a numpy array, a pandas, polars or pyarrow column of numbers.
        p: the percentile, 0 to 100; for values also a list, each at an equal share of ε, with
            answers that never decrease in p.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        upper: public upper end of the values.
        lower: public lower end of the values.
        labels: one public name per value; None means 0..n-1.
        release: "label" names the record whose value is nearest to the percentile; "value" gives a
            point of the public grid.  No private mechanism can name a record well when others are
            much like it (see `docs/percentile.md`); if you want a number, take the value.
        step: distance of the grid's points, for values.
        mechanism: for values "pf" by default; for labels local dampening with permute-and-flip, of
            the utility lowered by the range (`label_mechanism`).
        delta: for labels, "exact" is the local sensitivity itself, "simple" a little more.  It
            concerns SLD, where "simple" costs one sort and "exact" O(n²) time.  None takes "exact"
            for the default mechanism, "simple" for others.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    >>> import dampen
    >>> hours = [35, 38, 40, 40, 40, 41, 45, 50, 60, 38] * 30
    >>> dampen.percentile(hours, 50, epsilon="2", upper=100, release="value", step=5).answer
    40
    """
    _check_kind(release)
    n = _size(values)
    public: dict[str, Any] = {"n": n, "p": p, "lower": lower, "upper": upper, "release": release}
    if release == "label":
        _check_label_arguments(p, step)
        label = PercentileLabel(
            n=n,
            p=cast("Percent", p),
            upper=upper,
            lower=lower,
            delta=delta or ("simple" if mechanism else "exact"),
            horizon=None if mechanism else NEAR,
            labels=_names(labels),
        )
        chosen = named(mechanism or label_mechanism(lower, upper))
        ask = partial(release_one, label, query="percentile-label", parameters=public)
    else:
        points = _check_value_arguments(p, step, labels)
        public["step"] = step
        grid = [
            PercentileValue(n=n, p=q, upper=upper, lower=lower, step=cast("float", step))
            for q in points
        ]
        chosen = named(mechanism or "pf")
        ask = partial(_several, grid, many=not _is_one(p), parameters=public)
    return ask(lambda: values, epsilon=epsilon, mechanism=chosen, budget=budget, entropy=entropy)


def label_mechanism(lower: float, upper: float) -> Mechanism:
    """The default for labels: permute-and-flip on D of the utility lowered by the range.

    Sound because the shift is public; `benchmarks/percentile_default.py` measures it.
    """
    low, high = finite_range(lower, upper)
    return Mechanism("ld-pf-range", Dampened(shift=high - low), EXPONENTIAL)


def _several(
    problems: Sequence[PercentileValue],
    load: Callable[[], Any],
    *,
    many: bool,
    epsilon: Epsilon,
    mechanism: Mechanism,
    budget: Budget | None,
    entropy: Entropy | None,
    parameters: Mapping[str, Any],
) -> Release:
    """One value per problem, at an equal and exact share of ε each, in the order of p.

    Sorting the answers is post-processing.  Guarantee: ε-DP in total, by sequential composition.
    """
    near = Neighbours.REPLACE_ONE
    paid = pay(
        near,
        query="percentile-value",
        epsilon=epsilon,
        mechanism=mechanism,
        budget=budget,
        entropy=entropy,
    )
    with after_the_charge():
        values, share = load(), paid.epsilon / len(problems)
        picked = [
            select(q.selection(values), epsilon=share, mechanism=mechanism, entropy=paid.entropy)
            for q in problems
        ]
    ascending = iter(sorted(picked))
    answer: list[Any] = [None] * len(problems)
    for i in sorted(range(len(problems)), key=lambda i: as_fraction(problems[i].p)):
        answer[i] = problems[i].candidates[next(ascending)]
    return Release(
        answer if many else answer[0],
        paid.epsilon,
        mechanism.name,
        near,
        parameters,
        paid.entropy.secure,
    )


def _check_kind(release: str) -> None:
    if release not in KINDS:
        hint = did_you_mean(str(release), KINDS)
        raise ParameterError(f"Expected release='label' or release='value', got {release!r}.{hint}")


def _check_label_arguments(p: Percent | Sequence[Percent], step: float | None) -> None:
    if step is not None or not _is_one(p):
        raise ParameterError(
            "Expected one p and no step= for a label. Pass release='value' for numbers."
        )


def _check_value_arguments(
    p: Percent | Sequence[Percent], step: float | None, labels: Any
) -> Sequence[Percent]:
    """The percentiles asked for."""
    if step is None:
        raise ParameterError(
            "Expected step=, the public distance of the grid's points, for release='value'."
        )
    if labels is not None:
        raise ParameterError("Expected no labels= for release='value': the answer is a number.")
    points = [cast("Percent", p)] if _is_one(p) else list(cast("Sequence[Percent]", p))
    if not points:
        raise ParameterError("Expected at least one percentile p, got none.")
    return points


def _is_one(p: Percent | Sequence[Percent]) -> bool:
    return isinstance(p, str) or not hasattr(p, "__len__")


def _size(values: Any) -> int:
    """The public number of values."""
    if isinstance(values, str) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ParameterError(
            "Expected values in one dimension: a list, a numpy array, or one column of a table."
        )
    if len(values) == 0:
        raise ParameterError("Expected at least one value, got an empty column.")
    return len(values)


def _names(labels: Any) -> list[Hashable] | None:
    """Labels as plain Python objects, whatever column holds them."""
    if labels is None:
        return None
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    return list(labels)
