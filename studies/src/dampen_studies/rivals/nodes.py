"""What competes for the most influential nodes; not private, for study on public data."""

from dataclasses import dataclass, replace
from fractions import Fraction

from dampen.core.mechanisms import named
from dampen.core.sampling import Entropy
from dampen.epsilon import Epsilon, exact
from dampen.questions.nodes.betweenness import JOINT_STRETCH
from dampen.questions.nodes.graphs import Graph
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.nodes.question import NodesQuestion
from dampen.releases.cost import Price
from dampen.releases.method import Measured
from dampen.schema import Schema
from dampen_studies.rivals.drawings import Drawing, Method

__all__ = ["DefaultNodes", "node_methods"]


@dataclass(frozen=True, slots=True, repr=False)
class DefaultNodes:
    """What `dampen.top_k` does where no mechanism is named."""

    graph: Graph
    max_degree: int | None = None
    name: str = "default"
    metric: str = "betweenness"

    def asked_epsilon(self, epsilon: Epsilon | None, rho: Epsilon | None, k: int) -> Fraction:
        question = self._question(k)
        price = Price(epsilon, rho)
        return question.method(question.open(self.graph), Schema(), price).cost(price).epsilon

    def ready(self) -> Drawing:
        return self

    def draw(self, *, epsilon: Epsilon, k: int, entropy: Entropy) -> list[int]:
        question = self._question(k)
        opened = question.open(self.graph)
        method = question.method(opened, Schema(), Price(epsilon))
        assert not isinstance(method, Measured)
        return method.places(opened, exact(epsilon), entropy)[1]

    def _question(self, k: int) -> NodesQuestion:
        return NodesQuestion(k=k, metric=self.metric, max_degree=self.max_degree)


def node_methods(
    graph: Graph, *, max_degree: int | None = None
) -> tuple[Method, *tuple[Method | DefaultNodes, ...]]:
    """The paper's mechanisms, permute-and-flip, joint release, all on the degree, and the default.

    The first one has the egocentric betweenness as its utility.
    """
    problem = InfluentialNode(nodes=graph.nodes, max_degree=max_degree)
    between = problem.selection(graph)
    capped = problem.with_cap_degree(JOINT_STRETCH).selection(graph)
    degree = replace(problem, metric="degree").selection(graph)
    rivals: list[Method | DefaultNodes] = [
        *[Method(f"betweenness {name}", between, named(name)) for name in ("pf", "ld", "sld")],
        Method("betweenness joint", capped, named("joint")),
        *[Method(f"degree {name}", degree, named(name)) for name in ("em", "pf", "joint")],
        DefaultNodes(graph, max_degree),
    ]
    return Method("betweenness em", between, named("em")), *rivals
