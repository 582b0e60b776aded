"""`measure=`: the winner's own number beside its name, for a share of ε.

**Theorem.**  Let a method name winners with (1 - s) ε, and let a second method, which may look at
the names, measure them with s ε.  Names and numbers together are ε-DP, by adaptive composition, and
cost ρ₁ + ρ₂.  The numbers that the first method drew are not published: those of reach are not
private.

Groups are disjoint, so that s ε measures all k winners at once.  One edge changes the degrees of
two nodes by 1: noise of scale 1 / (s ε) measures one winner, of scale 2 / (s ε) several.

The usual share, a quarter, comes from the study `shares`: over its tables the name loses little of
its probability to be right, and the number has four times the error that all of ε would buy.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dampen.core.sampling import Entropy
from dampen.epsilon import exact
from dampen.errors import ParameterError
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Cost, Price
from dampen.releases.method import Drawn, Leak, Method

__all__ = ["Measured", "checked_share"]

USUAL_SHARE = Fraction(1, 4)
"""Of ε for the number, if nothing else is said; see the study `shares`."""


def checked_share(share: Any) -> Fraction:
    """The share of ε for the number.

    Raises:
        ParameterError: unless it is between 0 and 1.
    """
    if share is None:
        return USUAL_SHARE
    value = exact(share, "share")
    if value >= 1:
        raise ParameterError(f"Expected share between 0 and 1, such as 0.25, got share={share}.")
    return value


@dataclass(frozen=True)
class Measured:
    """A method that names winners, and one that measures them.

    Attributes:
        method: names the winners.
        measuring: gives, for the names, the method that measures them; its answers and numbers are
            dicts by name.
        share: of ε, for the number.
        expected: as many names as there will be, for the accuracy.
        held: reads the data once for both, where it could not be read twice.
    """

    method: Method
    measuring: Callable[[Sequence[Hashable]], Method]
    share: Fraction
    expected: Sequence[Hashable]
    held: Callable[[Any], Any] | None = None

    def cost(self, price: Price, /) -> Cost:
        """ε in all.  In zCDP ρ₁ + ρ₂, each of them ε² times a constant."""
        rest = 1 - self.share
        first = self.method.cost(Price(Fraction(1))).rho * rest**2
        unit = first + self._second.cost(Price(Fraction(1))).rho * self.share**2
        epsilon = price.asked(unit)
        named = self.method.cost(Price(rest * epsilon))
        self._second.cost(Price(self.share * epsilon))
        return replace(named, epsilon=epsilon, rho=unit * epsilon**2)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """That of the names; its sentence has that of the numbers too."""
        told = self.method.accuracy((1 - self.share) * epsilon, rows)
        number = self._second.accuracy(self.share * epsilon, rows)
        return replace(told, sentence=f"{told.sentence} The number: {number.sentence}")

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        held = source if self.held is None else self.held(source)
        drawn = self.method.draw(held, (1 - self.share) * epsilon, entropy)
        several = isinstance(drawn.answer, list)
        names = drawn.answer if several else [drawn.answer]
        number = self.measuring(names).draw(held, self.share * epsilon, entropy)
        found = {name: _valued(number.numbers[name], number.answer[name]) for name in names}
        return replace(drawn, numbers=found if several else found[names[0]], law=number.law)

    @property
    def _second(self) -> Method:
        return self.measuring(self.expected)


def _valued(number: Any, value: Any) -> Any:
    """A number that consists of several has the value that follows from them beside it."""
    return {"value": value, **number} if isinstance(number, dict) else number
