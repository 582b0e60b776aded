"""The bodies of questions, as FastAPI checks and describes them: names and shapes, no meaning.

Bounds, categories, groups and nodes are not asked for: they are the data set's public facts.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "BODIES",
    "Body",
    "Login",
    "MostFrequent",
    "Percentile",
    "TopGroups",
    "TopK",
    "Tree",
    "Why",
]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Number = Annotated[str, StringConstraints(min_length=1, max_length=100)] | int | float
Short = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}([./][0-9]{1,20})?$")] | int | float
"""A number without an exponent, for one such as 1e9999999 takes seconds to be read exactly."""
Relation = Literal["replace-one", "add-remove-row"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Body(_Body):
    """What every question has."""

    epsilon: Number | None = Field(None, description="The privacy parameter; exact as text.")
    rho: Number | None = Field(None, description="In place of epsilon: that of zCDP.")
    mechanism: Name | None = None
    budget: Name | None = Field(None, description="Default: the one of the question's relation.")
    reuse: bool = Field(True, description="The recorded answer to the same question, for free.")

    def options(self) -> dict[str, Any]:
        """What is asked, without how it is paid for."""
        return self.model_dump(exclude={"budget", "reuse"}, exclude_none=True)


class Percentile(Body):
    """What value, or whose record, is at a percentile."""

    column: Name
    p: (
        Short
        | Literal["quartiles", "deciles"]
        | Annotated[list[Short], Field(min_length=1, max_length=100)]
    )
    release: Literal["value", "label"] | None = Field(None, description="Default: value.")
    k: int | None = Field(None, ge=1, description="Of labels: how many. Default: one.")
    by: Name | None = None
    neighbours: Relation | None = None


class MostFrequent(Body):
    """The most frequent category, or the k most frequent."""

    column: Name
    k: int | None = Field(None, ge=1)
    by: Name | None = None


class TopGroups(Body):
    """The group, or the k groups, with the largest statistic."""

    mechanism: None = None
    value: Name
    by: Name
    statistic: Name | None = Field(None, description="Default: median, or quantile with p.")
    p: Short | None = None
    k: int | None = Field(None, ge=1)
    smallest: bool | None = None
    min_rows: int | None = Field(None, ge=1)
    caution: Short | None = None
    ordered: bool | None = None
    neighbours: Relation | None = None


class TopK(Body):
    """The most influential nodes."""

    k: int | None = Field(None, ge=1)
    metric: (
        Literal["betweenness", "degree", "triangles", "eigenvector", "core", "pagerank"] | None
    ) = None


class Tree(Body):
    """A decision tree."""

    target: Name
    columns: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = None
    depth: int | None = Field(None, ge=0, le=30)


BODIES: dict[str, type[Body]] = {
    "percentile": Percentile,
    "most-frequent": MostFrequent,
    "top-groups": TopGroups,
    "top-k": TopK,
    "tree": Tree,
}


class Login(_Body):
    """The code of the administrator's link."""

    code: Name


class Why(_Body):
    """A reason, for the record."""

    why: Annotated[str, StringConstraints(max_length=1000)] = ""
