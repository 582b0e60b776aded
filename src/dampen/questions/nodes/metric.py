"""What a metric is: what influence means, and how it is found; and the degree, which is one.

A metric is one file and one line in `dampen.questions.nodes.metrics.METRICS`.  It says its name, a
few words of help, and what answers it by default.  It is found in one round, by a mechanism on its
`selection`, or in two (`dampen.questions.nodes.two_rounds`), by its `rounds`; or in both ways.
A metric with rounds has `values` as well: they are computed of a noisy copy of the graph
(`dampen.questions.nodes.graphs.noisy_copy`) where ε is large enough for one.
Choices, help, errors and the choice of the method follow from the list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import Mechanism
from dampen.core.sampling import Entropy
from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.nodes.graphs import Degrees, Graph
from dampen.questions.nodes.two_rounds import Rounds

TWO_ROUNDS = "two-rounds"
NOISY_GRAPH = "noisy-graph"
"""These stand in the place of a mechanism."""


@runtime_checkable
class Metric(Protocol):
    """An influence metric with its own sensitivity function: pass one of your own as `metric=`.

    A frozen dataclass of public parameters with one method.  Its guarantee is the admissibility of
    the δ in the selections that it makes, for graphs that differ by one edge and whose degrees are
    at most `max_degree`; `dampen.testing` checks that on all small graphs.  A mapping `joint` may
    say the 1-norm bounds of its selections.  If `any_degree` is true the guarantee holds for all
    graphs, and none is cut down to `max_degree` for it.
    """

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        """Utilities and sensitivities, one per node, in the order of `graph.nodes`."""
        ...


class NamedMetric(Protocol):
    """A metric that is asked for by its name."""

    @property
    def name(self) -> str: ...

    @property
    def help(self) -> str:
        """The metric in a few words that follow its name."""
        ...

    @property
    def rounds(self) -> Rounds | None:
        """What two rounds ask for; None where they do not find it."""
        ...

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> "Usual":
        """What finds k of n nodes best at ε, as far as public facts can tell."""
        ...


@dataclass(frozen=True, slots=True)
class Usual:
    """What answers a metric where no mechanism is asked for.

    Attributes:
        metric: the metric, or what stands in for it.
        mechanism: a mechanism or its name, or `TWO_ROUNDS`.
    """

    metric: Any
    mechanism: str | Mechanism


@runtime_checkable
class DrawnMetric(Protocol):
    """A metric that draws without a selection of all nodes where it can."""

    def suited(self, mechanism: Mechanism, max_degree: int, /) -> Metric:
        """The same metric with the public parameters that suit a mechanism.

        Raises:
            ParameterError: if the mechanism cannot be used for it.
        """
        ...

    def draw(
        self, graph: Graph, mechanism: Mechanism, /, *, k: int, epsilon: Fraction, entropy: Entropy
    ) -> list[int]:
        """The k nodes that `select` would draw from its selection, for the same bits."""
        ...


@dataclass(frozen=True)
class OnlyInRounds:
    """A metric without a useful sensitivity function."""

    name: str
    help: str
    rounds: Rounds
    values: Callable[[Graph], FloatArray]

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        del n, k, epsilon
        return Usual(self, TWO_ROUNDS)


def counted(counts: IntArray, joint: Mapping[Score, float], max_degree: int) -> Selection:
    """Whole numbers, counted up to D, that an edge more raises by at most 1 each: Δ = 1.

    One-sided and exact.  What is above D counts as D: neither guarantee needs D to hold.
    """
    return Selection(
        np.minimum(counts, max_degree),
        sensitivity.constant(1),
        one_sided=True,
        joint=joint,
        exact=True,
        utility_range=float(max_degree),
    )


@dataclass(frozen=True)
class Degree:
    """The number of neighbours: integers, Δ = 1, and one edge changes exactly two of them.

    One-sided, S = 2.  Noise on it is exponential of scale k/ε for permute-and-flip (one-sided),
    Laplace of scale 2/ε for the joint release, which is the wider one for k <= 2.
    """

    name: ClassVar[str] = "degree"
    help: ClassVar[str] = "the number of neighbours"
    rounds: ClassVar[None] = None
    degrees_only: ClassVar[bool] = True
    any_degree: ClassVar[bool] = True
    unit: ClassVar[str] = "neighbours"
    joint = MappingProxyType[Score, float]({Global(): 2.0, Shifted(): 2.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In one round, with the narrower noise."""
        del n, epsilon
        return Usual(self, "pf" if k <= 2 else "joint")

    def selection(self, graph: Graph | Degrees, max_degree: int, /) -> Selection:
        return counted(graph.degrees, self.joint, max_degree)


@dataclass(frozen=True)
class InDegree:
    """The number of different sources of directed edges: Δ = 1, one-sided.

    An edge that is listed in both directions changes two of them, so that S = 2 as for the degree.
    Where ε protects a source with all its edges, distinct sources are counted
    (`dampen.questions.frequency.DistinctMethod`).
    """

    name: ClassVar[str] = "indegree"
    help: ClassVar[str] = "the number of sources of edges to it; for directed edges"
    rounds: ClassVar[None] = None
    directed: ClassVar[bool] = True
    any_degree: ClassVar[bool] = True
    unit: ClassVar[str] = "neighbours"
    joint = Degree.joint

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In one round, with the narrower noise."""
        del n, epsilon
        return Usual(self, "pf" if k <= 2 else "joint")

    def selection(self, graph: Graph | Degrees, max_degree: int, /) -> Selection:
        return counted(graph.degrees, self.joint, max_degree)
