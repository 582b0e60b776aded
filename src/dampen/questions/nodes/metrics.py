"""The metrics that are known by name: one line each, and all that follows from the list."""

from dataclasses import replace
from typing import Any, Literal, get_args

from dampen.errors import ParameterError
from dampen.questions.nodes.betweenness import Betweenness
from dampen.questions.nodes.centralities import EIGENVECTOR, PAGERANK, Core
from dampen.questions.nodes.degree import Degree, InDegree
from dampen.questions.nodes.metric import TWO_ROUNDS, Metric, NamedMetric
from dampen.questions.nodes.triangles import Brokerage, Triangles
from dampen.releases.question import checked_choice

Delta = Literal["degree", "codegree"]
DELTAS: tuple[str, ...] = get_args(Delta)

METRICS: tuple[NamedMetric, ...] = (
    Betweenness(),
    Degree(),
    InDegree(),
    Triangles(),
    Brokerage(),
    EIGENVECTOR,
    Core(),
    PAGERANK,
)
NAMES = tuple(metric.name for metric in METRICS)


def metric_of(metric: "str | Metric", delta: Delta = "degree") -> Any:
    """The metric of a name, or one's own, with one of its sensitivity functions.

    Raises:
        ParameterError: if there is none of that name, or it has no such sensitivity function.
    """
    checked_choice("delta", delta, DELTAS)
    if isinstance(metric, str):
        made: Any = METRICS[NAMES.index(checked_choice("metric", metric, NAMES))]
    else:
        made = metric
    if isinstance(made, Betweenness) and isinstance(metric, str):
        return replace(made, delta=delta)
    if delta != "degree":
        raise ParameterError(
            f"Expected delta='degree' for metric {name_of(metric)!r}, got {delta!r}. Leave delta "
            "out: only betweenness has two sensitivity functions."
        )
    if not isinstance(made, Metric) and getattr(made, "rounds", None) is None:
        raise ParameterError(
            f"Expected a metric with a method selection, got a {type(made).__name__}. Choose one "
            f"of {', '.join(NAMES)}."
        )
    return made


def name_of(metric: "str | Metric") -> str:
    """As a release shows it."""
    return (
        metric if isinstance(metric, str) else str(getattr(metric, "name", type(metric).__name__))
    )


def with_selection(metric: Any) -> Metric:
    """A metric that a mechanism can be used for.

    Raises:
        ParameterError: if no useful sensitivity function of it is known.
    """
    if isinstance(metric, Metric):
        return metric
    raise ParameterError(
        f"Expected no mechanism, or {TWO_ROUNDS!r}, for metric {name_of(metric)!r}: no useful "
        "sensitivity function of it is known."
    )


def in_rounds(metric: Any, delta: str = "degree") -> Any:
    """A metric that two rounds find.

    Raises:
        ParameterError: if they do not.
    """
    if getattr(metric, "rounds", None) is not None and delta == "degree":
        return metric
    names = ", ".join(each.name for each in METRICS if each.rounds is not None)
    raise ParameterError(
        f"Expected one of the metrics {names}, with delta='degree', for mechanism {TWO_ROUNDS!r}. "
        "Leave mechanism out to get the best one for yours."
    )
