"""Questions as requests: how one is made of a request, and what its body holds.

- `question_of`: turns the request of an analyst into a question, by its declaration.
- `bodies`: the bodies of requests, as FastAPI checks and describes them: names and shapes, no
  meaning.

An analyst names columns and says p, k, ε; bounds, grids, categories, groups and nodes are facts of
the data set.  A column that is not among them does not exist for an analyst, whatever the file
holds, so that no name of a column ever reaches a file or a database unchecked.

The body of a question follows from its declaration.  Bounds, categories, groups and nodes are not
asked for: they are the data set's public facts.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
)

from dampen.data.expressions import looks_like_formula, parse_condition, parse_formula
from dampen.data.source import joined_columns, named_columns
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
    from dampen.sql import Statement

__all__ = [
    "LISTS",
    "Asked",
    "Body",
    "Cap",
    "Limits",
    "Login",
    "NewBudget",
    "NewToken",
    "Place",
    "Raise",
    "Registration",
    "Sql",
    "Thaw",
    "Why",
    "asked_parameters",
    "bodies",
    "body_of",
    "declarations",
    "example",
    "fact_of",
    "least_steps",
    "mistake",
    "options_of",
    "possible_questions",
    "question_of",
]


SHOWN_FACTS = {"lower", "upper", "step", "values"}
"""Facts of a column that analysts are shown."""
LISTS = ("quartiles", "deciles")
"""Lists of percentiles that have a name."""
HOLDS: Mapping[str, type[Column]] = {"numbers": Numbers, "categories": Categories, "names": Names}
SLOW_LISTS = ((10**5, 1), (10**6, 4))
SLOWEST = 16
"""Points of a grid, and the steps that a list of percentiles takes on so many; else the last."""
WITHOUT_GRID = 4
"""Steps of a percentile among all numbers."""
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
        known = self.served.schema.columns
        given = [self.options[name] for name in named if name in self.options]
        columns = [column for name in given for column in named_columns(name, known)]
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
    _check_moments(served.schema, name, asked)
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
    if column is not None and column not in schema.columns and looks_like_formula(column):
        return None  # nothing is stated of a formula
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
            _check_value(schema, asked[each.name], each)
        if each.kind == "columns":
            for column in asked.get(each.name, ()):
                _check_column(schema, column, each.holds)
        if each.kind == "condition" and each.name in asked:
            for column in parse_condition(asked[each.name], each.name).columns:
                _check_column(schema, column, "")


def _check_value(schema: Schema, value: str, declared: Parameter) -> None:
    """Checks a column, several of them joined by commas, or the columns of a formula."""
    if value not in schema.columns and declared.name == "value" and looks_like_formula(value):
        for column in parse_formula(value).columns:
            _check_column(schema, column, "")
        return
    for column in named_columns(value, schema.columns):
        _check_column(schema, column, declared.holds)


def _check_moments(schema: Schema, name: str, asked: Mapping[str, Any]) -> None:
    """Refuses a date beside a column that holds none by the facts."""
    column = schema.columns.get(asked.get("value", ""))
    if isinstance(column, Numbers) and column.dates:
        return
    for each in asked_parameters(name):
        value = asked.get(each.name)
        if each.kind == "exact" and isinstance(value, str) and re.fullmatch(MOMENT, value):
            raise ParameterError(f"Expected {each.name} to be a number. Nothing was charged.")


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
    """One spelling of a question, so that nobody pays for it twice."""
    given: dict[str, Any] = {}
    for key in ("epsilon", "rho"):
        if options.get(key) is not None:
            given[key] = decimal_text(exact(options[key], key))
    for each in asked_parameters(name):
        value = options.get(each.name)
        if each.kind in ("exact", "percentiles"):
            value = _number_as_is(value)
        if each.kind == "column" and isinstance(value, list):
            value = joined_columns(value)
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
        "usual": each.usual,
        "several": each.several,
        "rare": not each.required and each.label == plain_label(each.name),
    }


def _facts_of_column(name: str, each: Parameter) -> list[Fact]:
    """The facts that a column must have to be asked for; of alternatives, all of one."""
    facts = (fact for _, fact in _declared_facts(name) if fact.of == each.name)
    return [fact for fact in facts if not fact.optional]


def least_steps(question: Question) -> int:
    """Steps of time before which no answer of this class leaves, by public parameters alone.

    The time of most questions does not depend on what the rows hold.  That of a list of
    percentiles does, the more the finer the grid, and that of a percentile without a grid.  A step
    is a quarter of a second by default; the steps are more than the slowest data took in
    `benchmarks/hostile.py times`.
    """
    if question.name != "percentile":
        return 1
    lower, upper, step = (getattr(question, each) for each in ("lower", "upper", "step"))
    if lower is None or upper is None or step is None:
        return WITHOUT_GRID
    if question.shape() != "points":
        return 1
    points = (Fraction(upper) - Fraction(lower)) / Fraction(step)
    return next((steps for most, steps in SLOW_LISTS if points <= most), SLOWEST)


def possible_questions(schema: Schema) -> tuple[str, ...]:
    """The questions that the facts are enough for."""
    return tuple(name for name in QUESTIONS if example(schema, name) is not None)


def example(schema: Schema, name: str) -> dict[str, Any] | None:
    """The options of a question that can be asked; None if the facts are not enough for one."""
    declared = question_type(name)
    if shows_size(declared) and (schema.people is not None or not schema.units_public):
        return None
    if declared.data == "edges":
        enough = schema.graph is not None and schema.unit in ("edge", "source")
    else:
        enough = schema.unit == "row" or schema.people is not None
    if not enough:
        return None
    asked: dict[str, Any] = {}
    if declared.data == "edges" and schema.unit == "source":
        asked["metric"] = "indegree"
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
            # The values of the column that names the persons are never released.
            fitting = [column for column in held if column != schema.people]
            return [column for column in fitting if _has_facts(schema, needed, column)]
        case "percentiles":
            return [50]
        case "word":
            return each.choices
        case "count":
            return [each.least]
        case "exact":
            return [each.usual or "0"]
    raise AssertionError(f"no example of {each.kind}")


def _has_facts(schema: Schema, needed: Sequence[Fact], column: str) -> bool:
    """Whether a column has all facts that have no alternative, and all of one alternative."""
    lacking = {f.either for f in needed if fact_of(schema, f, {f.of: column}) is None}
    alternatives = {fact.either for fact in needed if fact.either}
    return "" not in lacking and (not alternatives or bool(alternatives - lacking))


def _first(values: Iterable[Any], without: Sequence[Any]) -> Any:
    return next((value for value in values if value not in without), None)


PAYING = ("epsilon", "rho", "budget", "reuse")

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Number = Annotated[str, StringConstraints(min_length=1, max_length=100)] | int | float
Short = (
    Annotated[
        str,
        StringConstraints(
            pattern=r"^-?[0-9]{1,20}(/[0-9]{1,20}|(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?)$"
        ),
    ]
    | int
    | float
)
"""A number with a short exponent, for one such as 1e9999999 takes seconds to be read exactly."""
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$"
"""A date or time, as the threshold of a column of dates."""
Moment = Annotated[str, StringConstraints(pattern=MOMENT)]
Percentiles = (
    Short
    | Literal["quartiles", "deciles"]
    | Annotated[list[Short], Field(min_length=1, max_length=100)]
)
LARGEST_COUNT = 10**12


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Body(_Body):
    """What every question has."""

    epsilon: Number | None = Field(None, description="The privacy parameter; exact as text.")
    rho: Number | None = Field(None, description="In place of epsilon: that of zCDP.")
    budget: Name | None = Field(None, description="Default: the one of the question's relation.")
    reuse: bool = Field(True, description="The recorded answer to the same question, for free.")


class Sql(Body):
    """One SELECT statement about one data set, which is one private question."""

    statement: Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
    delta: Number | None = Field(None, description="Finds groups that the data set does not list.")


class Login(_Body):
    """The code of the administrator's link."""

    code: Name


class Why(_Body):
    """A reason, for the record."""

    why: Annotated[str, StringConstraints(max_length=1000)] = ""


class Thaw(Why):
    """Why a budget pays again."""

    spent: Number | None = Field(
        None, description="After a restore, the epsilon that was spent since the backup."
    )


class Raise(_Body):
    """A larger budget."""

    epsilon: Number = Field(description="All that may ever be spent.")


class Cap(Raise):
    """What one analyst may spend."""

    epsilon: Number = Field(description="All that this analyst may spend.")
    analyst: Name | None = Field(
        None, description="Default: every analyst without a cap of their own."
    )


class Limits(_Body):
    """What a new budget may spend; what it protects follows from the facts of its data set."""

    epsilon: Number = Field(description="All that may ever be spent.")
    delta: Number | None = Field(None, description="For a promise of (epsilon, delta).")
    largest: Number | None = Field(None, description="The largest epsilon of one question.")
    each: Number | None = Field(None, description="All that one analyst may spend.")
    trial: bool = Field(False, description="Marks the budget as a trial.")


class NewBudget(Limits):
    """A budget for a data set that is served."""

    name: Name
    dataset: Name


class NewToken(_Body):
    """Who gets a token."""

    analyst: Name
    role: Literal["analyst", "curator"] = "analyst"


class Place(_Body):
    """Where a data set lies: a file below a directory of `register-from`."""

    file: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    table: Name | None = Field(None, description="Of a database, which table.")
    encoding: Annotated[str, StringConstraints(max_length=40)] = ""
    decimal: Literal[".", ","] = "."


class Registration(_Body):
    """A new data set; `facts` as `[[data]]` of dampen.toml has them, with `-` or `_` in keys."""

    name: Name
    file: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    table: Name | None = Field(None, description="Of a database, which table.")
    facts: dict[str, Any]
    analysts: Annotated[list[Name], Field(max_length=1000)] | None = None
    budget: Name = Field(description="The budget that pays; created if it does not exist.")
    limits: Limits | None = Field(None, description="Epsilon of a budget that is created.")


class Misshapen(Protocol):
    """What FastAPI and pydantic raise for a body that is not as described."""

    def errors(self) -> Any: ...


OF_SHAPES = ("body", "str", "int", "float", "bool")
"""What pydantic adds to the place of a mistake."""


def mistake(error: Misshapen) -> str:
    """What is wrong with a body, in one sentence."""
    found = error.errors()
    unknown = (each for each in found if each["type"] == "extra_forbidden")
    first = next(unknown, found[0])  # a misspelt name comes before the one that is then missing
    parts = [str(part) for part in first["loc"] if part not in OF_SHAPES]
    named = ".".join(part for part in parts if part.isidentifier() or part.isdecimal())
    wrong = _wrong(first["type"], str(first["msg"]), named or "the body")
    return f"{wrong}. Nothing was charged."


def _wrong(kind: str, told: str, where: str) -> str:
    if kind == "json_invalid":
        return f"Expected the body to be JSON, got something else ({told.partition(': ')[2]})"
    if kind == "missing":
        return f"Expected {where}, which is missing"
    if kind == "extra_forbidden":
        return f"There is no parameter {where} here. GET /v1/questions lists those of each question"
    if kind == "string_pattern_mismatch":
        return f"Expected {where} to be a number"
    if told.startswith("Input should be "):
        return f"Expected {where} to be {told.removeprefix('Input should be ')}"
    return f"Expected another {where}: {told}"


def options_of(question: str, stated: Mapping[str, Any], paying: Mapping[str, Any]) -> Body:
    """The body of a question from its parameters and what is offered for it.

    Raises:
        ParameterError: if it is not as described.
    """
    offered = {key: value for key, value in paying.items() if key in PAYING and value is not None}
    try:
        return bodies()[question].model_validate_json(json.dumps({**stated, **offered}))
    except ValidationError as error:
        raise ParameterError(mistake(error)) from None


def body_of(asked: "Statement", paying: Mapping[str, Any]) -> Body:
    """The body of the question that a statement of SQL asks.

    Raises:
        ParameterError: if ε is stated twice.
    """
    epsilon = asked.offered(paying.get("epsilon"), paying.get("rho"))
    return options_of(asked.question, asked.stated, {**paying, "epsilon": epsilon})


def bodies() -> dict[str, type[Body]]:
    """The body of every question, by its name."""
    return {name: _body(name) for name in QUESTIONS}


@lru_cache
def json_schema(shape: type[Body]) -> dict[str, Any]:
    """The JSON schema of a body, as the description of the interface shows it."""
    return shape.model_json_schema()


@lru_cache
def _body(name: str) -> type[Body]:
    declared = question_type(name)
    fields: dict[str, Any] = {each.name: _field(each) for each in asked_parameters(name)}
    made: type[Body] = create_model(
        declared.__name__, __base__=Body, __doc__=declared.__doc__, **fields
    )
    return made


def _field(each: Parameter) -> tuple[Any, Any]:
    if each.required:
        return _type(each), Field(description=each.help)
    return _type(each) | None, Field(None, description=each.help)


def _type(each: Parameter) -> Any:
    words: Any = Literal[each.choices] if each.choices else Name
    types: dict[str, Any] = {
        "column": Name | Annotated[list[Name], Field(min_length=1, max_length=10)],
        "columns": Annotated[list[Name], Field(min_length=1, max_length=1000)],
        "labels": Annotated[list[Name | int], Field(min_length=1, max_length=1000)],
        "count": Annotated[int, Field(ge=each.least, le=LARGEST_COUNT)],
        "exact": Short | Moment,
        "flag": bool,
        "percentiles": Percentiles,
        "condition": Annotated[str, StringConstraints(min_length=1, max_length=1000)],
        "word": words,
    }
    return types[each.kind]
