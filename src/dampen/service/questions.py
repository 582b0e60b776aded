"""From what an analyst asks to a question, by the question's declaration.

An analyst names columns and says p, k, ε; bounds, grids, categories, groups and nodes are facts of
the data set.  A column that is not among them does not exist for an analyst, whatever the file
holds, so that no name of a column ever reaches a file or a database unchecked.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dampen.data.expressions import parse_condition
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.questions import QUESTIONS, question_type
from dampen.releases.answer import Planned, planned
from dampen.releases.cost import Price
from dampen.releases.question import (
    Fact,
    Parameter,
    Question,
    Resolved,
    parameters,
    plain_label,
    shows_size,
)
from dampen.schema import Categories, Column, Names, Numbers, Schema

if TYPE_CHECKING:
    from dampen.service.cache import Cache
    from dampen.service.configuration import Served

__all__ = [
    "LISTS",
    "Asked",
    "asked_parameters",
    "declarations",
    "example",
    "fact_of",
    "possible_questions",
    "question_of",
]

SHOWN_FACTS = {"lower", "upper", "step", "values"}
"""Facts of a column that analysts are shown."""
LISTS = ("quartiles", "deciles")
"""Lists of percentiles that have a name."""
HOLDS: Mapping[str, type[Column]] = {"numbers": Numbers, "categories": Categories, "names": Names}
NOT_HELD = {
    "numbers": "is not numeric: it has no public lower and upper",
    "categories": "has no public values",
    "names": "does not hold the public names of the rows",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question about one data set, checked against its public facts.

    Attributes:
        served: the data set.
        question: what is asked, with the facts filled in.
        price: what is offered.
        options: what the analyst stated, in canonical form; ε and ρ as exact text.
        mark: the same for the same question about the same facts, and for no other.
    """

    served: "Served"
    question: Question
    price: Price
    options: Mapping[str, Any]
    mark: str

    def plan(self, cache: "Cache") -> Planned:
        """Method, price and accuracy; no row is read.

        Raises:
            ParameterError: if it cannot be asked.
        """
        source = self.opened(cache)
        plan = planned(self.question, source, self.price, self.served.schema)
        for leak in plan.method.leaks():
            raise ParameterError(
                f"The public facts of {self.served.name!r} do not state {leak.what}. Ask the "
                "curator to add them. Nothing was charged."
            )
        return plan

    def opened(self, cache: "Cache") -> Any:
        """The data, opened for the question; no row is read.

        Raises:
            ParameterError: if it cannot be asked of this data.
        """
        if self.question.data == "edges":
            data, table = cache.source.data()
            return self.question.open(data, table=table)
        return self.question.open(cache.table())

    def columns(self) -> tuple[str, ...]:
        """The columns that were asked for."""
        named = [
            each.name for each in asked_parameters(self.question.name) if each.kind == "column"
        ]
        columns = [self.options[name] for name in named if name in self.options]
        where = self.options.get("where")
        also = () if where is None else parse_condition(where).columns
        return tuple(dict.fromkeys([*columns, *also]))

    def shown(self) -> dict[str, Any]:
        """As JSON: what to send to ask it again, and how to read the answer."""
        return {
            "dataset": self.served.name,
            "kind": self.question.name,
            "options": dict(self.options),
            "shape": self.question.shape(),
        }


def question_of(served: "Served", name: str, options: Mapping[str, Any]) -> Asked:
    """The question that an analyst put together.

    Raises:
        ParameterError: if the data set does not answer it, or a column is not public.
    """
    if name not in served.questions:
        known = served.questions
        raise ParameterError(
            f"Data set {served.name!r} does not answer {name!r}. Ask one of {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
    given = _canonical(name, options)
    asked = {key: value for key, value in given.items() if key not in ("epsilon", "rho")}
    _check_columns(served.schema, name, asked)
    question = question_type(name)(**asked, **_facts(served, name, _of_facts(name, asked)))
    price = Price(given.get("epsilon"), given.get("rho"))
    resolved = question.resolved(price) if isinstance(question, Resolved) else {}
    return Asked(served, question, price, given, _mark(served, name, {**given, **resolved}))


def fact_of(schema: Schema, fact: Fact, asked: Mapping[str, Any]) -> Any:
    """The value of a fact: of the column that was asked for, or of the data set; None if unknown.

    Args:
        schema: what is public about the data set.
        fact: which fact.
        asked: the parameters that an analyst stated.
    """
    column = asked.get(fact.of) if fact.of else None
    if fact.either and column is not None:
        return schema.fact_if_any(fact.name, column)
    return schema.fact(fact.name, column)


def _of_facts(name: str, asked: Mapping[str, Any]) -> tuple[tuple[str, str | None], ...]:
    """The parameters that facts are of, with the columns that were asked for."""
    return tuple((fact.of, asked.get(fact.of)) for _, fact in _declared_facts(name) if fact.of)


@lru_cache
def _facts(
    served: "Served", name: str, asked: tuple[tuple[str, str | None], ...]
) -> Mapping[str, Any]:
    """The parameters that are facts, where they are known: the same for all who ask."""
    columns = dict(asked)
    found = {each: fact_of(served.schema, fact, columns) for each, fact in _declared_facts(name)}
    return {each: value for each, value in found.items() if value is not None}


def _check_columns(schema: Schema, name: str, asked: Mapping[str, Any]) -> None:
    for each in asked_parameters(name):
        if each.kind == "column" and each.name in asked:
            _check_column(schema, asked[each.name], each.holds)
        if each.kind == "columns":
            for column in asked.get(each.name, ()):
                _check_column(schema, column, each.holds)
        if each.kind == "condition" and each.name in asked:
            for column in parse_condition(asked[each.name], each.name).columns:
                _check_column(schema, column, "")


def _check_column(schema: Schema, name: str, holds: str) -> None:
    if name not in schema.columns:
        known = ", ".join(schema.columns)
        raise ParameterError(
            f"There is no public column {name!r}. Choose one of {known or 'none'}."
            f"{did_you_mean(name, schema.columns)}"
        )
    if holds and not isinstance(schema.columns[name], HOLDS[holds]):
        fitting = ", ".join(schema.of_kind(HOLDS[holds]))
        raise ParameterError(
            f"Column {name!r} {NOT_HELD[holds]}. Choose one of {fitting or 'none'}."
        )


def _mark(served: "Served", name: str, stated: Mapping[str, Any]) -> str:
    asked = [served.name, name, dict(stated), served.digest]
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]


def _canonical(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the same question, however it is spelled: it must not be paid for twice."""
    given: dict[str, Any] = {}
    for key in ("epsilon", "rho"):
        if options.get(key) is not None:
            given[key] = decimal_text(exact(options[key], key))
    for each in asked_parameters(name):
        value = options.get(each.name)
        if each.kind in ("exact", "percentiles"):
            value = _number_as_is(value)
        if value is not None and value != each.default:
            given[each.name] = value
    return given


def _number_as_is(value: Any) -> Any:
    """50 for "50" and 50.0; a number that is not whole as exact text; other things as they are."""
    if isinstance(value, list):
        return [_number_as_is(each) for each in value]
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return value
    return int(number) if number.denominator == 1 else decimal_text(number)


@lru_cache
def asked_parameters(name: str) -> tuple[Parameter, ...]:
    """What an analyst states of a question."""
    return tuple(each for each in parameters(question_type(name)) if each.asked)


@lru_cache
def _declared_facts(name: str) -> tuple[tuple[str, Fact], ...]:
    declared = parameters(question_type(name))
    return tuple((each.name, each.fact) for each in declared if each.fact is not None)


def declarations() -> list[dict[str, Any]]:
    """All questions as JSON: what they are called, and what to state."""
    return [_declaration(name) for name in QUESTIONS]


def _declaration(name: str) -> dict[str, Any]:
    declared = question_type(name)
    return {
        "name": name,
        "title": declared.title,
        "help": (declared.__doc__ or "").strip().partition("\n")[0],
        "data": declared.data,
        "parameters": [_shown(name, each) for each in asked_parameters(name)],
    }


def _shown(name: str, each: Parameter) -> dict[str, Any]:
    return {
        "name": each.name,
        "label": each.label,
        "help": each.help,
        "kind": each.kind,
        "choices": list(LISTS if each.kind == "percentiles" else each.choices),
        "holds": each.holds,
        "facts": [
            fact.name
            for fact in _facts_of_column(name, each)
            if fact.name in SHOWN_FACTS and not fact.either
        ],
        "required": each.required,
        "default": None if each.required else each.default,
        "rare": not each.required and each.label == plain_label(each.name),
    }


def _facts_of_column(name: str, each: Parameter) -> list[Fact]:
    """The facts that a column must have to be asked for; of those marked `either`, one."""
    facts = (fact for _, fact in _declared_facts(name) if fact.of == each.name)
    return [fact for fact in facts if not fact.optional]


def possible_questions(schema: Schema) -> tuple[str, ...]:
    """The questions that the facts are enough for."""
    return tuple(name for name in QUESTIONS if example(schema, name) is not None)


def example(schema: Schema, name: str) -> dict[str, Any] | None:
    """The options of a question that can be asked; None if the facts are not enough for one."""
    declared = question_type(name)
    if shows_size(declared) and (schema.people is not None or not schema.units_public):
        return None
    if declared.data == "edges":
        enough = schema.graph is not None and schema.unit == "edge"
    else:
        needed = [fact for _, fact in _declared_facts(name) if not fact.of]
        has_rows = schema.unit == "row" or schema.people is not None
        enough = has_rows and all(fact_of(schema, fact, {}) is not None for fact in needed)
    if not enough:
        return None
    asked: dict[str, Any] = {}
    for each in asked_parameters(name):
        if each.required:
            taken = list(asked.values()) if each.kind == "column" else []
            value = _first(_possible_values(schema, name, each), without=taken)
            if value is None:
                return None
            asked[each.name] = value
    if not _has_more_columns(schema, name, asked):
        return None
    return {**asked, "epsilon": "1"}


def _has_more_columns(schema: Schema, name: str, asked: Mapping[str, Any]) -> bool:
    """Whether a question for a model has columns to predict from, besides those asked for."""
    if all(fact.name != "domains" for _, fact in _declared_facts(name)):
        return True
    return any(column not in asked.values() for column in schema.fact("domains"))


def _possible_values(schema: Schema, name: str, each: Parameter) -> Iterable[Any]:
    match each.kind:
        case "column":
            held = schema.of_kind(HOLDS[each.holds]) if each.holds else list(schema.columns)
            needed = _facts_of_column(name, each)
            return [column for column in held if _has_facts(schema, needed, column)]
        case "percentiles":
            return [50]
        case "word":
            return each.choices
        case "count":
            return [each.least]
        case "exact":
            return ["0.000001"]
    raise AssertionError(f"no example of {each.kind}")


def _has_facts(schema: Schema, needed: Sequence[Fact], column: str) -> bool:
    known = {fact: fact_of(schema, fact, {fact.of: column}) is not None for fact in needed}
    either = [known[fact] for fact in needed if fact.either]
    return all(known[fact] for fact in needed if not fact.either) and (not either or any(either))


def _first(values: Iterable[Any], without: Sequence[Any]) -> Any:
    return next((value for value in values if value not in without), None)
