"""The bodies of requests, as FastAPI checks and describes them: names and shapes, no meaning.

The body of a question follows from its declaration.  Bounds, categories, groups and nodes are not
asked for: they are the data set's public facts.
"""

from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import Parameter
from dampen.service.questions import asked_parameters

__all__ = ["Body", "Login", "Why", "bodies"]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Number = Annotated[str, StringConstraints(min_length=1, max_length=100)] | int | float
Short = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}([./][0-9]{1,20})?$")] | int | float
"""A number without an exponent, for one such as 1e9999999 takes seconds to be read exactly."""
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


class Login(_Body):
    """The code of the administrator's link."""

    code: Name


class Why(_Body):
    """A reason, for the record."""

    why: Annotated[str, StringConstraints(max_length=1000)] = ""


def bodies() -> dict[str, type[Body]]:
    """The body of every question, by its name."""
    return {name: _body(name) for name in QUESTIONS}


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
        "column": Name,
        "columns": Annotated[list[Name], Field(min_length=1, max_length=1000)],
        "labels": Annotated[list[Name | int], Field(min_length=1, max_length=1000)],
        "count": Annotated[int, Field(ge=each.least, le=LARGEST_COUNT)],
        "exact": Short,
        "flag": bool,
        "percentiles": Percentiles,
        "condition": Annotated[str, StringConstraints(min_length=1, max_length=1000)],
        "word": words,
    }
    return types[each.kind]
