"""`release`: one private selection of a problem of your own, by a mechanism of the paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, TypeVar

from dampen.core.mechanisms import Mechanism, check_joint, check_k, named, select
from dampen.core.sampling import Entropy
from dampen.core.selection import Problem
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, selection_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.question import Shape
from dampen.releases.release import Release
from dampen.schema.schema import Schema

__all__ = ["MechanismMethod", "OwnQuestion", "release"]

X = TypeVar("X")


@dataclass(frozen=True)
class OwnQuestion(Generic[X]):
    """A problem of one's own: which candidates, by which mechanism, how many."""

    problem: Problem[X]
    query: str
    mechanism: Mechanism
    k: int | None
    parameters: Mapping[str, Any]
    name: ClassVar[str] = "release"
    title: ClassVar[str] = "Your own problem"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = ()

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Any:
        del header, table
        if not callable(data):
            raise ParameterError(
                "Expected load to be a function that gives the data, got a "
                f"{type(data).__name__}. Pass lambda: data, so that the data is looked at after "
                "the charge."
            )
        return data

    def method(self, source: Any, schema: Schema, price: Price, /) -> "MechanismMethod[X]":
        del source, schema, price
        check_k(self.k, len(self.problem.candidates))
        if (joint := getattr(self.problem, "joint", None)) is not None:
            check_joint(self.mechanism, joint)
        return MechanismMethod(self.problem, self.mechanism, self.k, self.query)

    def shown(self) -> Mapping[str, Any]:
        return self.parameters

    def text(self) -> str:
        return self.query

    def shape(self) -> Shape:
        return "name" if self.k is None else "ranking"


@dataclass(frozen=True)
class MechanismMethod(Generic[X]):
    """A mechanism of the paper on the selection of a problem.

    Guarantee: ε-differential privacy for `problem.neighbours`, provided that the problem's δ is
    admissible for them.
    """

    problem: Problem[X]
    mechanism: Mechanism
    k: int | None
    query: str

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            self.problem.neighbours,
            price,
            query=self.query,
            mechanism=self.mechanism,
            k=self.k or 1,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del epsilon, rows
        return UNKNOWN

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Callable[[], X], epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        selection = self.problem.selection(source())
        picked = select(
            selection, epsilon=epsilon, mechanism=self.mechanism, k=self.k, entropy=entropy
        )
        names = self.problem.candidates
        if isinstance(picked, list):
            return Drawn([names[i] for i in picked])
        return Drawn(names[picked])


def release(
    problem: Problem[X],
    load: Callable[[], X],
    *,
    query: str,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    k: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """One private selection, from public parameters to a `Release`.

    Guarantee: ε-differential privacy for `problem.neighbours`, provided that the problem's δ is
    admissible for them.

    Args:
        problem: public parameters only; see `dampen.selection.Problem`.
        load: gives the private data; called after the charge, and only then.
        query: what the ledger records the charge under.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        mechanism: a name or a `Mechanism`.
        k: how many candidates to release; None for one.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.
        parameters: public facts to show in the release.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.
    """
    question = OwnQuestion(problem, query, named(mechanism), k, dict(parameters or {}))
    return answer(question, load, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
