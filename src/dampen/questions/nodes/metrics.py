"""The metrics that are known by name: one line each, and all that follows from the list.

`InfluentialNode` is the selection by any of them: public parameters in, a selection out.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from dampen.core.scores import Score
from dampen.core.selection import Neighbours, Selection
from dampen.errors import ParameterError, a_thing
from dampen.questions.nodes.betweenness import Betweenness
from dampen.questions.nodes.centralities import EIGENVECTOR, PAGERANK, Brokerage, Core, Triangles
from dampen.questions.nodes.graphs import LARGEST_N, Degrees, Graph, bounded, graph_of, node_set
from dampen.questions.nodes.metric import (
    NOISY_GRAPH,
    TWO_ROUNDS,
    Degree,
    InDegree,
    Metric,
    NamedMetric,
)
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
    """The metric of a name, or your own metric, with one of its sensitivity functions.

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
            f"Expected a metric with a method selection, got {a_thing(made)}. Choose one "
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
        f"Expected no mechanism, {TWO_ROUNDS!r} or {NOISY_GRAPH!r} for metric {name_of(metric)!r}: "
        "no useful sensitivity function of it is known."
    )


def in_rounds(metric: Any, mechanism: str = TWO_ROUNDS, delta: str = "degree") -> Any:
    """A metric that two rounds find, and a noisy copy of the graph.

    Raises:
        ParameterError: if they do not.
    """
    if getattr(metric, "rounds", None) is not None and delta == "degree":
        return metric
    names = ", ".join(each.name for each in METRICS if each.rounds is not None)
    raise ParameterError(
        f"Expected one of the metrics {names}, with delta='degree', for mechanism {mechanism!r}. "
        "Leave mechanism out to get the best one for yours."
    )


@dataclass(frozen=True)
class InfluentialNode:
    """Which of the public nodes has the largest influence?

    What influence means is a metric: `dampen.questions.nodes.betweenness` is the paper's, the
    others are listed in `METRICS`.

    Attributes:
        n: the nodes are 0, 1, ..., n - 1; or else
        nodes: their labels.
        max_degree: D, a public bound on all degrees, by default n - 1.  A smaller one is a promise:
            of a graph that breaks it, only the edges count by which each end is among the first D
            neighbours of the other, in the order of `nodes` (`bounded`).
        metric: a name of `dampen.questions.nodes.metrics.METRICS`, or a `Metric` of your own; some
            have no selection.
        delta: for betweenness, the sensitivity function, "degree" (the paper's) or "codegree".
        cap_degree: for betweenness, D' >= D; by default D.

    Guarantee: ε-DP under adding or removing one edge, between graphs that keep the promise.  Where
    one breaks it one edge changes up to three that count, so that the loss may be up to 3 ε; not
    for the degree and the core number, which hold on all graphs: they count up to D.  Nor do two
    rounds rely on it.

    >>> InfluentialNode(n=4).selection(([0, 0, 0], [1, 2, 3])).utility
    array([3., 0., 0., 0.])
    """

    n: int | None = None
    nodes: Sequence[Hashable] | None = None
    max_degree: int | None = None
    metric: str | Metric = "betweenness"
    delta: Delta = "degree"
    cap_degree: int | None = None
    neighbours = Neighbours.ADD_REMOVE_EDGE

    def __post_init__(self) -> None:
        known = node_set(self.nodes, self.n)
        if known is None:
            raise ParameterError("Expected n= or nodes=, the public nodes of the graph; got none.")
        object.__setattr__(self, "nodes", known)
        object.__setattr__(self, "n", len(known))
        largest = _degree("max_degree", self.max_degree, 1, LARGEST_N, default=len(known) - 1)
        object.__setattr__(self, "max_degree", max(1, min(largest, len(known) - 1)))
        _ = self.chosen_metric  # raises where there is none

    @property
    def candidates(self) -> Sequence[Hashable]:
        assert self.nodes is not None
        return self.nodes

    @property
    def joint(self) -> Mapping[Score, float] | None:
        """The 1-norm bounds of the metric, by score; None where a metric of your own says none."""
        return getattr(self.chosen_metric, "joint", None)

    def selection(self, graph: Any, /) -> Selection:
        """Takes (src, dst) arrays, or any graph that `dampen.top_k` takes."""
        made: Any = graph if isinstance(graph, Degrees) else self.graph(graph)
        assert self.max_degree is not None
        return with_selection(self.chosen_metric).selection(made, self.max_degree)

    def graph(self, graph: Any, /) -> Graph:
        """The same graph on the public nodes, with degrees up to the bound where it matters."""
        made = graph_of(graph, self.candidates)
        assert self.max_degree is not None
        any_degree = getattr(self.chosen_metric, "any_degree", False)
        return made if any_degree else bounded(made, self.max_degree)

    @property
    def chosen_metric(self) -> Any:
        """The metric as an object."""
        made = metric_of(self.metric, self.delta)
        if isinstance(made, Betweenness) and made.cap_degree is None:
            assert self.max_degree is not None
            D = self.max_degree
            return replace(made, cap_degree=_degree("cap_degree", self.cap_degree, D, LARGEST_N, D))
        return made


def _degree(name: str, value: int | None, low: int, high: int, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(f"Expected {name} to be an integer, got {name}={value!r}.")
    if not low <= value <= high:
        raise ParameterError(f"Expected {name} >= {low}, got {name}={value}.")
    return int(value)
