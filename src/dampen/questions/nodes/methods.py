"""How a release of influential nodes is made: which way is taken, and what each way does.

The choice is made from public facts alone, before the charge.  Where `mechanism=` is left out, it
is the most accurate way we know:

| asked for | way |
|---|---|
| betweenness | two rounds (`dampen.questions.nodes.two_rounds`), where they pay off: `worth_it` |
| triangles | two rounds |
| eigenvector centrality, cores, PageRank | two rounds (`dampen.questions.nodes.centralities`) |
| brokerage | `joint` |
| otherwise, and for the degree | on the degree: `pf` for one or two nodes, `joint` for more |
| a metric of one's own, codegrees | `ld-pf` |

Noise on the degree: exponential of scale k/ε for permute-and-flip (one-sided), Laplace of scale 2/ε
for the joint release, which is the wider one for k <= 2.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dampen.core.mechanisms import Mechanism, check_joint, check_k, named, select
from dampen.core.sampling import Entropy
from dampen.core.scores import Dampened, Global, Shifted
from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.questions.nodes.centralities import CENTRAL, most_central, prepare_central
from dampen.questions.nodes.graphs import Degrees, Graph, prepare
from dampen.questions.nodes.lazy_betweenness import draw_nodes
from dampen.questions.nodes.metrics import OnlyInRounds, core_numbers
from dampen.questions.nodes.problem import Betweenness, Delta, InfluentialNode, Metric
from dampen.questions.nodes.two_rounds import (
    most_triangles,
    prepare_two_rounds,
    two_rounds,
    worth_it,
)
from dampen.releases.cost import Cost, composed_cost, selection_cost

TWO_ROUNDS = "two-rounds"
IN_ROUNDS = ("betweenness", "triangles", *CENTRAL)
"""The metrics that two rounds are for."""
JOINT_STRETCH = 10
"""The joint release caps at q(10 D): the scores of the largest nodes are then not squeezed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for; all of it public."""

    metric: str | Metric = "betweenness"
    mechanism: str | Mechanism | None = None
    delta: Delta = "degree"
    max_degree: int | None = None
    epsilon: Epsilon | None = None
    rho: Epsilon | None = None


class Way(Protocol):
    """One way to answer."""

    @property
    def degrees_only(self) -> bool:
        """Whether degrees are all that it looks at."""
        ...

    def problem(self, nodes: Sequence[Hashable], /) -> InfluentialNode:
        """The problem on these nodes, its public parameters checked."""
        ...

    def cost(self, k: int, leaks: tuple[str, ...] = ()) -> Cost: ...

    def prepare(self) -> None:
        """Compiles or loads what it needs, before anything is paid."""
        ...

    def draw(
        self,
        problem: InfluentialNode,
        graph: Graph | Degrees,
        *,
        k: int,
        epsilon: Fraction,
        entropy: Entropy,
    ) -> list[int]:
        """The places of k nodes, best first.

        Raises:
            DataError: if a degree is above the public bound.
        """
        ...


def way(asked: Asked, *, n: int, k: int) -> Way:
    """The way for k of n nodes."""
    if asked.mechanism == TWO_ROUNDS or (asked.mechanism is None and asked.metric in CENTRAL):
        return TwoRounds.on(asked)
    if asked.mechanism is not None:
        return OneRound(asked, asked.metric, named(asked.mechanism))
    if asked.metric in ("betweenness", "triangles") and asked.delta == "degree":
        twice = TwoRounds.on(asked)
        if asked.metric == "triangles" or worth_it(n, k, twice.cost(k).epsilon):
            return twice
    if asked.metric == "brokerage":
        return OneRound(asked, "brokerage", named("joint"))
    if asked.metric in ("betweenness", "degree") and asked.delta == "degree":
        return OneRound(asked, "degree", named("pf" if k <= 2 else "joint"))
    return OneRound(asked, asked.metric, named("ld-pf"))


@dataclass(frozen=True, slots=True)
class OneRound:
    """A mechanism on the scores of all nodes."""

    asked: Asked
    ranked_by: str | Metric
    mechanism: Mechanism

    @property
    def degrees_only(self) -> bool:
        return self.ranked_by == "degree"

    def problem(self, nodes: Sequence[Hashable], /) -> InfluentialNode:
        asked = self.asked
        made = InfluentialNode(
            nodes=nodes, max_degree=asked.max_degree, metric=self.ranked_by, delta=asked.delta
        )
        if self.mechanism.noise.joint and self.ranked_by == "betweenness":
            made = _for_joint_release(made)
        if isinstance(metric := made.chosen_metric, OnlyInRounds):
            raise metric.refusal
        if made.joint is not None:
            check_joint(self.mechanism, made.joint)
        return made

    def cost(self, k: int, leaks: tuple[str, ...] = ()) -> Cost:
        return selection_cost(
            Neighbours.ADD_REMOVE_EDGE,
            query="top-k",
            epsilon=self.asked.epsilon,
            rho=self.asked.rho,
            mechanism=self.mechanism,
            k=k,
            leaks=leaks,
        )

    def prepare(self) -> None:
        named = self.ranked_by if isinstance(self.ranked_by, str) else "other"
        graph = prepare(named, self.asked.delta)
        if named == "core":
            core_numbers(graph)

    def draw(
        self,
        problem: InfluentialNode,
        graph: Graph | Degrees,
        *,
        k: int,
        epsilon: Fraction,
        entropy: Entropy,
    ) -> list[int]:
        metric = problem.chosen_metric
        draw: dict[str, Any] = {"epsilon": epsilon, "k": k, "entropy": entropy}
        if isinstance(metric, Betweenness) and _known_from_degrees(self.mechanism):
            made = problem.graph(graph)
            check_k(k, len(made.nodes))
            return draw_nodes(made, metric, self.mechanism, **draw)
        return select(problem.selection(graph), mechanism=self.mechanism, **draw)


@dataclass(frozen=True, slots=True)
class TwoRounds:
    """Noisy degrees first, then what they make worth asking."""

    asked: Asked
    degrees_only = False

    @classmethod
    def on(cls, asked: Asked) -> "TwoRounds":
        if asked.metric not in IN_ROUNDS or asked.delta != "degree":
            raise ParameterError(
                f"Expected metric {', '.join(map(repr, IN_ROUNDS[:-1]))} or {IN_ROUNDS[-1]!r} and "
                f"delta 'degree' for {TWO_ROUNDS!r}; got others."
            )
        return cls(asked)

    def problem(self, nodes: Sequence[Hashable], /) -> InfluentialNode:
        asked = self.asked
        return InfluentialNode(nodes=nodes, max_degree=asked.max_degree, metric=asked.metric)

    def cost(self, _: int, leaks: tuple[str, ...] = ()) -> Cost:
        return composed_cost(
            Neighbours.ADD_REMOVE_EDGE,
            query="top-k",
            epsilon=self.asked.epsilon,
            rho=self.asked.rho,
            mechanism=TWO_ROUNDS,
            leaks=leaks,
        )

    def prepare(self) -> None:
        prepare_two_rounds(self.cost(1).epsilon)
        if self.asked.metric in CENTRAL:
            prepare_central()

    def draw(
        self,
        problem: InfluentialNode,
        graph: Graph | Degrees,
        *,
        k: int,
        epsilon: Fraction,
        entropy: Entropy,
    ) -> list[int]:
        made = problem.graph(graph)
        check_k(k, len(made.nodes))
        draw: dict[str, Any] = {"epsilon": epsilon, "k": k, "entropy": entropy}
        if problem.metric == "triangles":
            return most_triangles(made, **draw)
        if problem.metric in CENTRAL:
            return most_central(made, str(problem.metric), **draw)
        return two_rounds(made, max_degree=problem.max_degree, **draw)


def _known_from_degrees(mechanism: Mechanism) -> bool:
    """Whether a score grows with EBC, so that bounds on EBC bound it, and its noise is one draw."""
    return mechanism.noise.one_draw and isinstance(mechanism.score, Global | Dampened | Shifted)


def _for_joint_release(problem: InfluentialNode) -> InfluentialNode:
    if problem.delta != "degree":
        raise ParameterError(
            f"Expected delta 'degree' for a joint release, got {problem.delta!r}: with codegrees "
            "one edge can move any number of scores."
        )
    return problem.with_cap_degree(JOINT_STRETCH)
