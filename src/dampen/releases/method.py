"""What a method is: how a question is answered, and under which relation.

A mechanism of the paper on a selection is one kind of method; reach, two rounds and joint draws are
others.  A method holds public parameters alone.  Its module has the theorem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.times import Measure, in_own_type
from dampen.errors import ParameterError
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Cost, Price, group_delta
from dampen.releases.numbers import Law

__all__ = ["Drawn", "InOwnType", "Leak", "Method", "Replacing", "is_halved"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """An answer that was drawn, with what else may be shown.

    Attributes:
        answer: the private answer.
        shown: public facts that are known only now, such as a public number of rows.
        accuracy: where it was not known before the charge.
        numbers: noisy numbers that come with the answer: one, or a dict by name.
        law: of the noise in them.
    """

    answer: Any
    shown: Mapping[str, Any] = field(default_factory=dict)
    accuracy: Accuracy | None = None
    numbers: Any = None
    law: Law | None = None


@dataclass(frozen=True, slots=True)
class Leak:
    """A public parameter that is taken from the data: which, what of it, what to pass instead."""

    parameter: str
    what: str
    remedy: str


class Method(Protocol):
    """How a question is answered."""

    def cost(self, price: Price, /) -> Cost:
        """What an answer costs; looks at nothing.

        Raises:
            ParameterError: if the price cannot be offered for it.
        """
        ...

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """How good an answer at ε will be; `rows` is a public bound on their number, if any."""
        ...

    def leaks(self) -> tuple[Leak, ...]:
        """The public parameters that it takes from the data."""
        ...

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        """Looks at the data and draws.

        Guarantee: ε-differential privacy for the relation of its cost, leaks apart.
        """
        ...


@dataclass(frozen=True, slots=True)
class Replacing:
    """A method for one row more or less, where one row is replaced and their number stays.

    Theorem.  If a method is ε/2-DP under adding or removing one row, it is ε-DP under replacing
    one; if it is ρ/4-zCDP there, it is ρ-zCDP here.  Proof: a replacement is a removal and an
    addition; between the three data sets ε/2 adds up twice, and √ρ/2 twice (group privacy of
    zCDP for two steps).  An (ε/2, δ')-DP method costs δ' (1 + e^(ε/2)).
    """

    method: Method

    def cost(self, price: Price, /) -> Cost:
        half = self.method.cost(price.divided(2))
        return replace(
            half,
            epsilon=2 * half.epsilon,
            rho=4 * half.rho,
            delta=group_delta(half.delta, half.epsilon, 2),
            neighbours=Neighbours.REPLACE_ONE,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return self.method.accuracy(epsilon / 2, rows)

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.method.draw(source, epsilon / 2, entropy)


@dataclass(frozen=True, slots=True)
class InOwnType:
    """A method whose answers are numbers of a column of dates, times, durations or truth values.

    Attributes:
        method: which draws numbers.
        measure: what they stand for.
    """

    method: Method
    measure: Measure

    def cost(self, price: Price, /) -> Cost:
        return self.method.cost(price)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return self.method.accuracy(epsilon, rows)

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        drawn = self.method.draw(source, epsilon, entropy)
        return replace(drawn, answer=self._typed(drawn.answer))

    def _typed(self, answer: Any) -> Any:
        if isinstance(answer, dict):
            return {name: self._typed(each) for name, each in answer.items()}
        if isinstance(answer, list):
            return [self._typed(each) for each in answer]
        return None if answer is None else in_own_type(answer, self.measure)


def is_halved(relation: Neighbours, cost: Cost, title: str) -> bool:
    """Whether a method holds under the relation of a data set at half its ε alone.

    Args:
        relation: of the data set, which nobody who asks can choose.
        cost: of the method, under its own relation.
        title: of the question, for errors.

    Raises:
        ParameterError: if the question cannot be asked under that relation.
    """
    own = cost.neighbours
    halved = (own, relation) == (Neighbours.ADD_REMOVE_ROW, Neighbours.REPLACE_ONE)
    if own != relation and not halved:
        raise ParameterError(
            f"{title}: this question protects {own}, and the data set protects {relation}. Ask a "
            "question about what the data set holds."
        )
    return halved
