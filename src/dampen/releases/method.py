"""What a method is: how a question is answered.

A mechanism of the paper on a selection is one kind of method; reach, two rounds and joint draws are
others.  A method holds public parameters alone.  Its module has the theorem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from dampen.core.sampling import Entropy
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Cost, Price
from dampen.releases.numbers import Law

__all__ = ["Drawn", "Leak", "Method"]


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
