"""Methods: how a question is answered, and under which relation.

- `Method`: what every method has; `Replacing` and `InOwnType` change one that there is.
- `Stepwise`: a first look that may save the rest of the charge.
- `InTwoSteps`: a share of ε finds what nobody stated, the rest answers.
- `Measured`: the winner's own number beside its name, for a share of ε (`measure=`).

A mechanism of the paper on a selection is one kind of method; reach, two rounds and joint draws are
others.  A method holds public parameters alone.  Its module has the theorem.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.columns import Measure, in_own_type
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError
from dampen.releases.accuracy import Accuracy, in_unit
from dampen.releases.cost import Cost, Price, grouped
from dampen.releases.numbers import BracketLaw, Law, TypedLaw
from dampen.releases.question import Question

if TYPE_CHECKING:
    from dampen.releases.answer import Planned

__all__ = [
    "Drawn",
    "Finding",
    "InOwnType",
    "InTwoSteps",
    "Leak",
    "Measured",
    "Method",
    "OfTypes",
    "Replacing",
    "Rest",
    "Searching",
    "Stepwise",
    "begun",
    "checked_share",
    "first_cost",
    "is_halved",
]


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


Rest: TypeAlias = Callable[[Entropy], Drawn]
"""Draws the answer once the rest of its price was charged; it holds private data."""


@runtime_checkable
class Stepwise(Protocol):
    """A method whose first look may show that the rest of its price need not be charged.

    **Theorem.**  Let the first look release a number with ε₁-DP, and let a public rule decide from
    this number alone whether a second one, which is ε₂-DP, follows.  Both together are
    (ε₁ + ε₂)-DP, by adaptive composition; whether the second charge is made is post-processing of
    the first release, so that its presence in the ledger tells nothing more.  ∎
    """

    def first_cost(self, cost: Cost, /) -> Cost | None:
        """The part of its cost that pays for the first look; None if there is one look alone."""
        ...

    def begin(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        """The first look, at the ε of the whole: an answer that ends the question, or the rest."""
        ...


def first_cost(method: Method, cost: Cost) -> Cost | None:
    """What pays for the first look of a method; None if there is one look alone."""
    return method.first_cost(cost) if isinstance(method, Stepwise) else None


def begun(
    method: Method, source: Any, epsilon: Fraction, entropy: Entropy, then: Callable[[Drawn], Drawn]
) -> Drawn | Rest:
    """The first look of a method inside another one, which changes what is drawn."""
    assert isinstance(method, Stepwise)
    found = method.begin(source, epsilon, entropy)
    return then(found) if isinstance(found, Drawn) else lambda bits: then(found(bits))


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
        return grouped(self.method.cost(price.divided(2)), 2, Neighbours.REPLACE_ONE)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return self.method.accuracy(epsilon / 2, rows)

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.method.draw(source, epsilon / 2, entropy)

    def first_cost(self, cost: Cost, /) -> Cost | None:
        step = replace(cost, epsilon=cost.epsilon / 2, rho=cost.rho / 4, losses=())
        first = first_cost(self.method, step)
        return None if first is None else grouped(first, 2, Neighbours.REPLACE_ONE)

    def begin(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        return begun(self.method, source, epsilon / 2, entropy, lambda drawn: drawn)


@dataclass(frozen=True, slots=True)
class InOwnType:
    """A method whose answers are numbers of a column of dates, durations, truth values or decimals.

    Answers and intervals are of the type of the column; `Drawn.numbers` stay days and seconds.

    Attributes:
        method: which draws numbers.
        measure: what they stand for.
    """

    method: Method
    measure: Measure

    def cost(self, price: Price, /) -> Cost:
        return self.method.cost(price)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        told = self.method.accuracy(epsilon, rows)
        return in_unit(told, "seconds") if self.measure == "duration" else told

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self._in_type(self.method.draw(source, epsilon, entropy))

    def first_cost(self, cost: Cost, /) -> Cost | None:
        return first_cost(self.method, cost)

    def begin(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        return begun(self.method, source, epsilon, entropy, self._in_type)

    def _in_type(self, drawn: Drawn) -> Drawn:
        typed = replace(drawn, answer=self._typed(drawn.answer))
        if isinstance(drawn.law, BracketLaw):
            return replace(typed, numbers=self._typed(drawn.numbers))
        return replace(typed, law=None if drawn.law is None else TypedLaw(drawn.law, self.measure))

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


@dataclass(frozen=True)
class Finding:
    """The first step of a question.

    Attributes:
        what: is found, "groups" or "range".
        question: whose answer has it.
        share: of ε.
        examples: answers, for checks before the charge; with one of them the second step costs at
            least as much as with any other answer.
        filled: the question with what was found; None where nothing was.
        nothing: the answer where nothing was found.
    """

    what: str
    question: Question
    share: Fraction
    examples: Sequence[Any]
    filled: Callable[[Any], Question | None]
    nothing: Any = None

    def prices(self, price: Price) -> tuple[Price, Price]:
        """Of both steps.

        Raises:
            ParameterError: if what was offered is no positive number.
        """
        if price.rho is None or price.epsilon is not None:
            epsilon = price.asked()
            return Price(self.share * epsilon), Price((1 - self.share) * epsilon)
        rho = exact(price.rho, "rho")
        first = self.share**2 / (self.share**2 + (1 - self.share) ** 2) * rho
        return Price(None, first), Price(None, rho - first)


@runtime_checkable
class Searching(Protocol):
    """A question that can find facts which were not stated."""

    @property
    def finding(self) -> Finding | None:
        """The first step; None where nothing has to be found."""
        ...


@runtime_checkable
class OfTypes(Protocol):
    """A question of which the declared types of the columns may state a part."""

    def of_types(self, source: Any, /) -> Any:
        """The question with what the types state."""
        ...


@dataclass(frozen=True)
class InTwoSteps:
    """The method of both steps, for the price that it was made for.

    **Theorem.**  The first step releases groups with (ε₁, δ)-DP (`dampen.questions.keys`), or a
    range of values with ε₁-DP (`dampen.questions.means`).  The second one asks the question with
    them, as if they had been stated, with ε₂-DP.  Both together are (ε₁ + ε₂, δ)-DP, and
    δ-approximately (ρ₁ + ρ₂)-zCDP: adaptive composition, in which the second step may depend on
    what the first one released in any way.  ∎

    All public parameters are checked before the charge, with examples of what is not known yet.
    What is charged for the second step is its price with the dearest of them: no answer of the
    first step may ask for a larger ρ.

    Attributes:
        finding: the first step.
        first: its plan.
        second: the plan of the second one, with the dearest example of what is not known yet.
        plan: of a question with what was found, at the price of the second step.
    """

    finding: Finding
    first: "Planned"
    second: "Planned"
    plan: "Callable[[Question], Planned]"

    def cost(self, _: Price, /) -> Cost:
        first = self.first.cost
        second = self.second.cost
        return replace(
            second,
            epsilon=first.epsilon + second.epsilon,
            rho=first.rho + second.rho,
            mechanism=f"{first.mechanism}, {second.mechanism}",
            delta=first.delta + second.delta,
            losses=(),
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """What is found; how good the answer is depends on it."""
        del epsilon, rows
        return self._of_first(self.first.accuracy)

    def leaks(self) -> tuple[Leak, ...]:
        return (*self.first.method.leaks(), *self.second.method.leaks())

    def first_cost(self, _: Cost, /) -> Cost:
        """Where nothing is found the rest is not charged; nor after a first look of the finding."""
        first = first_cost(self.first.method, self.first.cost) or self.first.cost
        return replace(first, query=self.second.cost.query)

    def begin(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        del epsilon
        first = self.first
        share = first_cost(first.method, first.cost)
        if share is None:
            drawn = first.method.draw(source, first.cost.epsilon, entropy)
            if self.finding.filled(drawn.answer) is None:
                return self._nothing(first.cost.epsilon, drawn)
            return lambda bits: self._filled(source, drawn, bits)
        assert isinstance(first.method, Stepwise)
        found = first.method.begin(source, first.cost.epsilon, entropy)
        if isinstance(found, Drawn):
            return self._nothing(share.epsilon, found)
        return lambda bits: self._filled(source, found(bits), bits)

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        del epsilon
        found = self.first.method.draw(source, self.first.cost.epsilon, entropy)
        return self._filled(source, found, entropy)

    def _filled(self, source: Any, found: Drawn, entropy: Entropy) -> Drawn:
        """The second step, with what was found."""
        question = self.finding.filled(found.answer)
        if question is None:
            return self._nothing(self.first.cost.epsilon, found)
        second = self.plan(question)
        drawn = second.method.draw(source, second.cost.epsilon, entropy)
        told = drawn.accuracy or second.accuracy
        first = self._of_first(self.first.accuracy)
        accuracy = replace(told, sentence=f"{first.sentence} {told.sentence}")
        shown = {**second.question.shown(), **drawn.shown, **self._spent(self.first.cost.epsilon)}
        return replace(drawn, shown=shown, accuracy=accuracy)

    def _nothing(self, epsilon: Fraction, found: Drawn) -> Drawn:
        shown = {self.finding.what: 0, **self._spent(epsilon)}
        told = None if found.accuracy is None else self._of_first(found.accuracy)
        return Drawn(self.finding.nothing, shown, told)

    def _spent(self, epsilon: Fraction) -> dict[str, str]:
        return {f"epsilon_for_{self.finding.what}": decimal_text(epsilon)}

    def _of_first(self, told: Accuracy) -> Accuracy:
        """The accuracy of the first step, in the words of the question."""
        found = told.sentence.partition(" Released counts")[0]
        found = found.replace(" a value with", " a group with").replace("released", "found")
        return replace(told, sentence=found)


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

    **Theorem.**  Let a method name winners with (1 - s) ε, and let a second method, which may look
    at the names, measure them with s ε.  Names and numbers together are ε-DP, by adaptive
    composition, and cost ρ₁ + ρ₂.  The numbers that the first method drew are not published: those
    of reach are not private.

    Groups are disjoint, so that s ε measures all k winners at once; persons share their weight
    among the winning groups.  One edge changes the degrees of two nodes by 1: noise of scale
    1 / (s ε) measures one winner, of scale 2 / (s ε) several.  A record has a value of its own:
    noise of scale (upper - lower) / (s ε) measures all k.

    The usual share, a quarter, comes from the study `shares`: over its tables the name loses little
    of its probability to be right, and the number has four times the error that all of ε would buy.

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
        """ε in all.  In zCDP ρ₁ + ρ₂."""
        epsilon = price.asked(self._rho)
        named, measured = self._costs(epsilon)
        pure = all(each.pure and not each.delta for each in (named, measured))
        losses = named.parts + measured.parts if pure else ()
        return replace(named, epsilon=epsilon, rho=named.rho + measured.rho, losses=losses)

    def _rho(self, epsilon: Fraction) -> Fraction:
        return sum((each.rho for each in self._costs(epsilon)), Fraction(0))

    def _costs(self, epsilon: Fraction) -> tuple[Cost, Cost]:
        """Of the names, and of the numbers."""
        named = self.method.cost(Price((1 - self.share) * epsilon))
        return named, self._second.cost(Price(self.share * epsilon))

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """That of the names; its sentence has that of the numbers too."""
        told = self.method.accuracy((1 - self.share) * epsilon, rows)
        return self._with_number(told, self.share * epsilon, rows)

    def _with_number(self, told: Accuracy, epsilon: Fraction, rows: int | None) -> Accuracy:
        number = self._second.accuracy(epsilon, rows)
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
        told = drawn.accuracy
        if told is not None:
            told = self._with_number(told, self.share * epsilon, None)
        numbers = found if several else found[names[0]]
        return replace(drawn, accuracy=told, numbers=numbers, law=number.law)

    @property
    def _second(self) -> Method:
        return self.measuring(self.expected)


def _valued(number: Any, value: Any) -> Any:
    """A number that consists of several has the value that follows from them beside it."""
    return {"value": value, **number} if isinstance(number, dict) else number
