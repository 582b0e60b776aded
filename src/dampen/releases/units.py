"""Questions of a data set that protects persons: methods for rows, asked for all rows of a person.

A question is answered on the weights of persons where its method looks at counts alone, and on at
most m kept rows of every person where it looks at rows; `dampen.data.units` has both theorems.  A
question that knows a better way, or may be asked of counts, says so by a method `unit_method`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.source import Opened, columns_of, is_opened, require_labels
from dampen.data.units import KeptRows, Shares, UnitTable, Weighing, quantum_of
from dampen.errors import ParameterError
from dampen.releases.accuracy import Accuracy, too_few
from dampen.releases.cost import Cost, Price, grouped
from dampen.releases.method import Drawn, Leak, Method, Rest, begun, first_cost
from dampen.releases.question import Question
from dampen.schema.schema import USUAL_ROWS_PER_UNIT, Schema, persons

__all__ = ["OfUnits", "Unitwise", "kept_rows", "persons", "unit_method", "weighed"]

View: TypeAlias = Callable[[Opened, Entropy], Opened]
MethodOf: TypeAlias = Callable[[Any, Schema, Price], Method]


@runtime_checkable
class Unitwise(Protocol):
    """A question that chooses its method where a column names the person a row belongs to."""

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """A method for adding or removing one person with all their rows.

        Raises:
            ParameterError: if the question cannot be asked of persons.
        """
        ...


@runtime_checkable
class CutsRows(Protocol):
    """A question that says how many rows of a person count in full where nobody states it."""

    def rows_in_full(self, price: Price, /) -> int:
        """m, where the statistic of the rows is meant; by public facts alone."""
        ...


OF_ONE_STEP = ("epsilon_each", "rho_each", "epsilon_for_rows")
"""Facts about the ε, or ρ, of one step."""


@dataclass(frozen=True, slots=True)
class OfUnits:
    """A method for one row more or less, for one person more or less.

    Theorem.  Let a person move what `view` shows by at most `steps` rows.  If the method is
    ε/steps-DP under adding or removing one row, it is ε-DP here, and ρ-zCDP if it is ρ/steps²-zCDP
    there: group privacy.  An (ε', δ')-DP method costs δ' (1 + e^ε' + ... + e^((steps-1) ε')).

    Attributes:
        method: for one row.
        steps: how many rows a person is, as `view` shows them.
        cap: m, the rows of a person that count in full: one such row is steps / m of what is shown.
        view: what the method sees of the data.
        facts: public ones that a release shows.
        people: whether what is counted is persons, not rows.
    """

    method: Method
    steps: int
    cap: int
    view: View
    facts: Mapping[str, Any]
    people: bool

    def cost(self, price: Price, /) -> Cost:
        step = self.method.cost(price.divided(self.steps))
        return grouped(step, self.steps, Neighbours.ADD_REMOVE_UNIT)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """In rows that count in full, for which the noise is that of ε / m; else in persons."""
        if self.method.accuracy(epsilon / self.steps, None).error is None:
            return self.method.accuracy(epsilon / self.steps, None)
        told = self.method.accuracy(epsilon / self.cap, rows)
        return _of_people(told) if self.people else told

    def leaks(self) -> tuple[Leak, ...]:
        return self.method.leaks()

    def first_cost(self, cost: Cost, /) -> Cost | None:
        epsilon = cost.epsilon / self.steps
        step = replace(cost, epsilon=epsilon, rho=cost.rho / self.steps**2, losses=())
        first = first_cost(self.method, step)
        return None if first is None else grouped(first, self.steps, Neighbours.ADD_REMOVE_UNIT)

    def begin(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        view = self.view(source, entropy)
        return begun(self.method, view, epsilon / self.steps, entropy, self._of_persons)

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        drawn = self.method.draw(self.view(source, entropy), epsilon / self.steps, entropy)
        return self._of_persons(drawn)

    def _of_persons(self, drawn: Drawn) -> Drawn:
        # The ε of one step, which a method may show, says nothing about a person.
        shown = {name: fact for name, fact in drawn.shown.items() if name not in OF_ONE_STEP}
        accuracy = None if drawn.accuracy is None else self._few(drawn, drawn.accuracy)
        return replace(drawn, shown={**shown, **self.facts}, accuracy=accuracy)

    def _few(self, drawn: Drawn, told: Accuracy) -> Accuracy | None:
        """The accuracy of an answer that is missing; None where all are there."""
        if told.unit == "ranks":
            return _few_people(drawn)
        if drawn.answer is not None:
            return None
        return _of_people(told) if self.people else told


def _few_people(drawn: Drawn) -> Accuracy | None:
    """The accuracy where percentiles are missing; None where all are there."""
    if drawn.answer is None:
        return too_few("people")
    if isinstance(drawn.answer, list):
        return too_few("people", several=True) if None in drawn.answer else None
    if not isinstance(drawn.answer, dict):
        return None
    answers = drawn.answer.values()
    lacking = sum(None in each if isinstance(each, list) else each is None for each in answers)
    several = any(isinstance(each, list) for each in answers)
    return too_few("people", (lacking, len(answers)), several=several) if lacking else None


def unit_method(question: Question, source: Any, schema: Schema, price: Price) -> Method:
    """The method of a question for persons: its own, else the one for rows on kept rows.

    Raises:
        ParameterError: if the question cannot be asked of persons.
    """
    if question.data == "edges" and schema.unit == "source" and isinstance(question, Unitwise):
        return question.unit_method(source, schema, price)
    if schema.people is None or question.data == "edges":
        raise ParameterError(
            f"{question.title}: this question cannot be asked of a data set that protects "
            f"{schema.protected}. A node is known only by its edges, so hiding all of them hides "
            f"the node. Protect edges with unit='edge'; or ask most_frequent for the column "
            "of the targets, with unit= the column of the sources."
        )
    if not is_opened(source):
        raise ParameterError(
            f"{question.title}: expected a table with a column {schema.people!r}, which says whose "
            "row it is, got counts."
        )
    require_labels(source, schema.people)
    _check_columns(question, source, schema.people)
    usual = question.rows_in_full(price) if isinstance(question, CutsRows) else USUAL_ROWS_PER_UNIT
    schema = schema.weighing(getattr(question, "weigh", None), usual)
    if isinstance(question, Unitwise):
        return question.unit_method(source, schema, price)
    return kept_rows(question.method, source, schema, price, question.title)


def _check_columns(question: Question, source: Opened, unit: str) -> None:
    """Refuses questions about the ids themselves: ids read as numbers could be equal by rounding.

    Raises:
        ParameterError: if the column of persons is asked about.
    """
    asked = (getattr(question, name, None) for name in ("value", "by"))
    columns = [each for name in asked if isinstance(name, str) for each in columns_of(source, name)]
    if unit in columns:
        raise ParameterError(
            f"{question.title}: column {unit!r} names whom ε protects, so its values cannot be "
            f"released. Ask about another column."
        )


def weighed(
    method_of: MethodOf,
    source: Any,
    schema: Schema,
    price: Price,
    *,
    width: int = 0,
    distinct: int = 0,
    quantum: int = 0,
) -> OfUnits:
    """A method that looks at nothing but counts, on the weights of persons.

    Args:
        method_of: gives the method for rows at a price.
        source: the opened data.
        schema: its public facts, with the column of persons.
        price: of the whole.
        width: of lines of cells, see `UnitTable`.
        distinct: if above 0, a person counts once in a cell, and in so many cells in full.
        quantum: Q, a multiple of the cap; the usual one if 0.
    """
    cap = distinct or schema.rows_per_unit
    quantum = quantum or quantum_of(cap)
    method = method_of(source, schema.of_rows(), price.divided(quantum))
    weighing = Shares(quantum, cap, distinct=distinct > 0)
    facts = {"groups_per_unit" if distinct else "rows_per_unit": cap}
    people = distinct > 0 or cap == 1
    return OfUnits(method, quantum, cap, shares(schema, weighing, width), facts, people)


def shares(schema: Schema, weighing: Weighing, width: int = 0) -> View:
    """A view of what persons add to the counts of cells; for `width` see `UnitTable`."""

    def view(opened: Opened, entropy: Entropy) -> Opened:
        del entropy
        return UnitTable(opened, str(schema.people), weighing, width)

    return view


def kept_rows(
    method_of: MethodOf, source: Any, schema: Schema, price: Price, title: str
) -> OfUnits:
    """A method that looks at rows, on at most m rows of every person.

    Raises:
        ParameterError: if the method is for replaced rows.
    """
    unit = str(schema.people)
    most = schema.rows_per_unit
    method = method_of(source, schema.of_rows(), price.divided(most))
    if method.cost(price.divided(most)).neighbours is not Neighbours.ADD_REMOVE_ROW:
        raise ParameterError(
            f"{title}: this question names single rows or shows their number, and the data set "
            f"protects {schema.protected}. Ask for a value instead, such as percentile."
        )

    def view(opened: Opened, entropy: Entropy) -> Opened:
        return KeptRows(opened, unit, most, entropy)

    return OfUnits(method, most, most, view, {"kept_rows_per_unit": most}, people=most == 1)


def _of_people(told: Accuracy) -> Accuracy:
    """Everyone weighs one: what is counted is persons."""
    unit = told.unit.replace("rows", "people")
    sentence = told.sentence.replace(" rows", " people").replace(" 1 row ", " 1 person ")
    return replace(told, unit=unit, sentence=sentence)
