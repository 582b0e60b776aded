"""Questions in two steps: a share of ε finds what nobody stated, the rest answers.

**Theorem.**  The first step releases groups with (ε₁, δ)-DP (`dampen.questions.keys`), or a range
of values with ε₁-DP (`dampen.questions.ranges`).  The second one asks the question with them, as if
they had been stated, with ε₂-DP.  Both together are (ε₁ + ε₂, δ)-DP, and δ-approximately
(ρ₁ + ρ₂)-zCDP: adaptive composition, in which the second step may depend on what the first one
released in any way.  ∎

All public parameters are checked before the charge, with an example of what is not known yet.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dampen.core.sampling import Entropy
from dampen.epsilon import decimal_text, exact
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Cost, Price
from dampen.releases.method import Drawn, Leak
from dampen.releases.question import Question

if TYPE_CHECKING:
    from dampen.releases.answer import Planned

__all__ = ["Finding", "InTwoSteps", "Searching"]


@dataclass(frozen=True)
class Finding:
    """The first step of a question.

    Attributes:
        what: is found, "groups" or "range".
        question: whose answer has it.
        share: of ε.
        example: an answer, for checks before the charge.
        filled: the question with what was found; None where nothing was.
        nothing: the answer where nothing was found.
    """

    what: str
    question: Question
    share: Fraction
    example: Any
    filled: Callable[[Any], Question | None]
    nothing: Any = None

    def prices(self, price: Price) -> tuple[Price, Price]:
        """Of both steps.

        Raises:
            ParameterError: if what was offered is no positive number.
        """
        if price.rho is None or price.epsilon is not None:
            epsilon = price.asked(Fraction(1, 2))
            return Price(self.share * epsilon), Price((1 - self.share) * epsilon)
        rho = exact(price.rho, "rho")
        first = self.share**2 / (self.share**2 + (1 - self.share) ** 2) * rho
        return Price(None, first), Price(None, rho - first)


@runtime_checkable
class Searching(Protocol):
    """A question that can find what nobody stated."""

    @property
    def finding(self) -> Finding | None:
        """The first step; None where nothing has to be found."""
        ...


@dataclass(frozen=True)
class InTwoSteps:
    """The method of both steps, for the price that it was made for.

    Attributes:
        finding: the first step.
        first: its plan.
        second: the plan of the second one, with an example of what is not known yet.
        plan: of a question with what was found, at the price of the second step.
    """

    finding: Finding
    first: "Planned"
    second: "Planned"
    plan: "Callable[[Question], Planned]"

    def cost(self, _: Price, /) -> Cost:
        first, second = self.first.cost, self.second.cost
        return replace(
            second,
            epsilon=first.epsilon + second.epsilon,
            rho=first.rho + second.rho,
            mechanism=f"{first.mechanism}, {second.mechanism}",
            delta=first.delta + second.delta,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """What is found; how good the answer is depends on it."""
        del epsilon, rows
        return replace(self.first.accuracy, sentence=self._sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return (*self.first.method.leaks(), *self.second.method.leaks())

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        del epsilon
        share = self.first.cost.epsilon
        found = self.first.method.draw(source, share, entropy).answer
        spent = {f"epsilon_for_{self.finding.what}": decimal_text(share)}
        question = self.finding.filled(found)
        if question is None:
            return Drawn(self.finding.nothing, {self.finding.what: 0, **spent})
        second = self.plan(question)
        drawn = second.method.draw(source, second.cost.epsilon, entropy)
        told = drawn.accuracy or second.accuracy
        accuracy = replace(told, sentence=f"{self._sentence} {told.sentence}")
        shown = {**second.question.shown(), **drawn.shown, **spent}
        return replace(drawn, shown=shown, accuracy=accuracy)

    @property
    def _sentence(self) -> str:
        found = self.first.accuracy.sentence.partition(" Released counts")[0]
        return found.replace(" a value with", " a group with").replace("released", "found")
