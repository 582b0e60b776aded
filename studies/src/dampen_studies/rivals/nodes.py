"""The library's choice of the most influential nodes; not private, for study on public data."""

from dataclasses import dataclass

from dampen.core.sampling import Entropy
from dampen.epsilon import Epsilon, exact
from dampen.questions.nodes.graphs import Graph
from dampen.questions.nodes.question import NodesQuestion
from dampen.releases.cost import Price
from dampen.releases.method import Measured
from dampen.schema import Schema

__all__ = ["DefaultNodes"]


@dataclass(frozen=True, slots=True, repr=False)
class DefaultNodes:
    """What `dampen.top_k` does where no mechanism is named."""

    graph: Graph
    metric: str = "betweenness"

    def draw(self, *, epsilon: Epsilon, k: int, entropy: Entropy) -> list[int]:
        question = self._question(k)
        opened = question.open(self.graph)
        method = question.method(opened, Schema(), Price(epsilon))
        assert not isinstance(method, Measured)
        return method.places(opened, exact(epsilon), entropy)[1]

    def _question(self, k: int) -> NodesQuestion:
        return NodesQuestion(k=k, metric=self.metric)
