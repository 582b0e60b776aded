"""What a question is to the contract of releases: how to ask it, and what it costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import dampen
from dampen import InsecureEntropy, Release
from dampen.core.losses import read_losses
from dampen.core.noise import laplace_rho, pure_rho
from dampen.epsilon import short_text
from dampen.releases.cost import Cost

EPSILON = Fraction(3, 5)
PURE = pure_rho(EPSILON)
FLIPPED = laplace_rho(EPSILON), "0.6 in any steps"
"""What a name by permute-and-flip costs and loses."""
GUMBEL = EPSILON**2 / 8

Hook = Callable[[], Any]


class Armed(list[Any]):
    """A column with a length, which calls its hook whenever it is looked into."""

    def __init__(self, values: Any, hook: Hook) -> None:
        super().__init__(values)
        self.hook = hook

    def __getitem__(self, key: Any) -> Any:
        self.hook()
        return super().__getitem__(key)

    def __iter__(self) -> Any:
        self.hook()
        return super().__iter__()

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        self.hook()
        return np.array(list(super().__iter__()), *arguments)


@dataclass(frozen=True)
class Ask:
    """One function that releases.

    Attributes:
        name: of the question.
        run: asks it, of data and with keyword arguments; a `Release` comes back.
        data: legal data.
        armed: the same data, which calls a hook when it is looked at.
        given: the public parameters.
        cost: what it has to charge, at ε = 0.6.
        wrong: changes of parameters that must be refused before anything else happens.
        bad: data that is not as the parameters promise; secrets are planted in it.
        leaky: a change that leaves public parameters out, and the names of those.
    """

    name: str
    run: Callable[..., Release]
    data: Any
    armed: Callable[[Hook], Any]
    given: Mapping[str, Any]
    cost: Cost
    wrong: tuple[Mapping[str, Any], ...]
    bad: tuple[Any, ...]
    leaky: Mapping[str, Any] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()

    def __call__(self, data: Any = None, **changes: Any) -> Release:
        options = {"epsilon": EPSILON, **self.given, **changes}
        return self.run(self.data if data is None else data, **options)


ALWAYS_WRONG: tuple[Mapping[str, Any], ...] = (
    {"epsilon": 0},
    {"epsilon": None},
    {"epsilon": "1e999999999"},
    {"epsilon": float("nan")},
    {"epsilon": "1/" + "9" * 61},
    {"entropy": InsecureEntropy(1)},
    {"entropy": 42},
    {"budget": "payroll"},
)


def cost(
    query: str, mechanism: str, neighbours: str, rho: Fraction = PURE, losses: str = ""
) -> Cost:
    relation = dampen.Neighbours(neighbours)
    return Cost(EPSILON, rho, query, mechanism, relation, losses=read_losses(losses))


def shown(rho: Fraction) -> Fraction:
    """As a release and its charge have it."""
    return Fraction(short_text(rho, up=True).lstrip("<"))


def several(changes: Mapping[str, list[Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple({name: value} for name, values in changes.items() for value in values)


def armed_table(table: Mapping[str, Any], hook: Hook) -> Any:
    return {name: Armed(column, hook) for name, column in table.items()}
