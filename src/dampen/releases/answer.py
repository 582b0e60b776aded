"""The one way from a question to a release.

    open (public facts) -> question checked against schema -> method chosen -> cost, accuracy
        -> pay -> look -> draw -> release

1. Public parameters are checked: `ParameterError`, nothing charged.
2. The budget is charged (`pay`): `BudgetError` if it refuses, nothing charged.
3. Only then the data is looked at (`Paid.looking`): `DataError`, the charge stands.

Every possible row has a public outcome, so that only the machine can fail in step 3: a file that is
gone, a server that is down.  A crash or an interrupt after step 2 costs the charge and never gives
a free look.  Every
question, front end and engine goes this way; the contract suite in `tests/contracts` runs over all
of them.  `planned` stops before step 2: price and accuracy cost nothing.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dampen.core.sampling import Entropy, SystemEntropy
from dampen.core.selection import Neighbours
from dampen.data.open import located
from dampen.epsilon import Epsilon
from dampen.errors import (
    AccuracyWarning,
    BudgetError,
    DampenError,
    DataError,
    ParameterError,
    PrivacyLeakWarning,
    raise_alone,
    warn_caller,
)
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Budget, Cost, Keeper, Price
from dampen.releases.found import Finding, InTwoSteps, Searching
from dampen.releases.method import Method, Replacing, is_halved
from dampen.releases.numbers import Law
from dampen.releases.question import Question, check_size_is_public
from dampen.releases.release import Release
from dampen.releases.units import unit_method
from dampen.schema.schema import Schema

__all__ = [
    "Paid",
    "Planned",
    "answer",
    "expect",
    "open_entropy",
    "pay",
    "planned",
    "planned_in_two_steps",
]

NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
UNREADABLE = (
    "The data could not be read. This says nothing about its content: the file may be gone or the "
    "database down. The curator can set DAMPEN_TRACEBACK=1 to see the reason."
)


def answer(
    question: Question,
    data: Any,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
    schema: Schema | None = None,
    header: bool = False,
    table: str | None = None,
) -> Release:
    """The private answer to a question.

    Guarantee: ε-differential privacy for the relation of the release, as the method that is chosen
    proves it.  With a schema that is the schema's relation, whatever is asked.

    Args:
        question: what is asked; public parameters alone.
        data: what it is asked of: a table, a graph or the path of a file (see `dampen.data`).
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.
        schema: the public facts of the data set.  None for data without a name, of which nothing
            is known but what the question itself states.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database, which table.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.
    """
    if schema is not None:
        check_size_is_public(question, schema)
    source = _opened(question, data, schema, header=header, table=table)
    plan = planned(question, source, Price(epsilon, rho), schema)
    plan.warn()
    paid = pay(plan.cost, budget=budget, entropy=entropy)
    return plan.release(paid)


def expect(
    question: Question,
    data: Any,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    schema: Schema | None = None,
    header: bool = False,
    table: str | None = None,
) -> "Planned":
    """What an answer would cost and how good it would be: free, no row is read.

    Args:
        question: what would be asked.
        data: what it would be asked of; opened by its public facts.
        epsilon: the privacy parameter.
        rho: in place of ε, that of zCDP.
        schema: the public facts of the data set, see `answer`.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database, which table.

    Returns:
        The plan: `.cost` and `.accuracy`.

    Raises:
        ParameterError: if a public parameter is wrong.
    """
    if schema is not None:
        check_size_is_public(question, schema)
    source = _opened(question, data, schema, header=header, table=table)
    return planned(question, source, Price(epsilon, rho), schema)


def _opened(
    question: Question, data: Any, schema: Schema | None, *, header: bool, table: str | None
) -> Any:
    """The data, opened by the question, and read as the schema says that it is written."""
    if schema is not None and question.data == "table":
        data = located(data, header=header, encoding=schema.encoding, decimal=schema.decimal)
    return question.open(data, header=header, table=table)


@dataclass(frozen=True, slots=True)
class Planned:
    """A question whose method was chosen: price and accuracy are known, nothing is charged.

    Attributes:
        question: what is asked.
        source: opened data.
        method: how it is answered.
        cost: what it costs.
        accuracy: how good the answer will be.
    """

    question: Question
    source: Any
    method: Method
    cost: Cost
    accuracy: Accuracy

    def __repr__(self) -> str:
        return f"Planned(cost={self.cost!r}, accuracy={self.accuracy!r})"

    def warn(self) -> None:
        """Warns, before the charge, of leaks and of an answer that would be chance."""
        for leak in self.method.leaks():
            warn_caller(
                f"{leak.what} was taken from the private data, so the release is not covered by "
                f"epsilon alone. {leak.remedy}",
                PrivacyLeakWarning,
            )
        if self.accuracy.chance:
            warn_caller(self.accuracy.sentence, AccuracyWarning)

    def release(self, paid: "Paid") -> Release:
        """Looks at the data and draws the answer that was paid for."""
        with paid.looking():
            drawn = self.method.draw(self.source, paid.epsilon, paid.entropy)
            where = getattr(self.question, "where", None)
            kept = {} if where is None else {"where": where}
            if self.cost.unit:
                kept["unit"] = self.cost.unit
            shown = {**self.question.shown(), **kept, **drawn.shown}
        accuracy = drawn.accuracy or self.accuracy
        return paid.release(drawn.answer, shown, accuracy, numbers=drawn.numbers, law=drawn.law)


def planned(question: Question, source: Any, price: Price, schema: Schema | None = None) -> Planned:
    """The method, price and accuracy of a question about opened data.

    Args:
        question: what is asked.
        source: what `question.open` gave.
        price: what is offered.
        schema: the public facts of the data set, see `answer`.

    Raises:
        ParameterError: if a public parameter is wrong, or the question cannot be asked under the
            relation of the data set.
    """
    if isinstance(question, Searching) and (finding := question.finding) is not None:
        return planned_in_two_steps(question, finding, source, price, schema)
    facts = Schema() if schema is None else schema
    if facts.relation is Neighbours.ADD_REMOVE_UNIT:
        of_units = unit_method(question, source, facts, price)
        return _of_method(question, source, of_units, price, facts)
    facts.weighing(getattr(question, "weigh", None))
    method = question.method(source, facts, price)
    if schema is not None and is_halved(schema.relation, method.cost(price), question.title):
        method = Replacing(question.method(source, facts, price.divided(2)))
    return _of_method(question, source, method, price, facts)


def planned_in_two_steps(
    question: Question, finding: Finding, source: Any, price: Price, schema: Schema | None
) -> Planned:
    """The plan of a question that finds something first."""
    for_finding, for_answer = finding.prices(price)
    example = finding.filled(finding.example)
    assert example is not None
    method = InTwoSteps(
        finding,
        planned(finding.question, source, for_finding, schema),
        planned(example, source, for_answer, schema),
        lambda filled: planned(filled, source, for_answer, schema),
    )
    return _of_method(question, source, method, price, schema or Schema())


def _of_method(
    question: Question, source: Any, method: Method, price: Price, facts: Schema
) -> Planned:
    cost = replace(method.cost(price), unit=facts.unit_name)
    if facts.max_delta is not None and cost.delta > Fraction(str(facts.max_delta)):
        raise ParameterError(
            f"The data set allows a delta of at most {facts.max_delta:g} for one question, and "
            f"this one has {float(cost.delta):.3g}. Pass a smaller delta, or list the values."
        )
    return Planned(question, source, method, cost, method.accuracy(cost.epsilon, facts.rows))


def pay(cost: Cost, *, budget: Budget | None = None, entropy: Entropy | None = None) -> "Paid":
    """Charges a release whose parameters were checked, before any data is looked at."""
    bits = open_entropy(entropy)
    if budget is not None and not callable(getattr(budget, "charge", None)):
        raise ParameterError(
            "Expected budget= to be an account of a ledger, or an object with a method charge, got "
            f"a {type(budget).__name__}."
        )
    charge = None if budget is None else budget.charge(cost)
    return Paid(cost, bits, budget, charge)


@dataclass(frozen=True, slots=True)
class Paid:
    """The right to one release: its parameters were checked and its ε was charged.

    Attributes:
        cost: what was charged.
        entropy: of random bits.
        budget: who paid, if anybody.
        charge: the id of the charge.
        reasons: where a service keeps, for its curator alone, why reading failed.
    """

    cost: Cost
    entropy: Entropy
    budget: Budget | None = None
    charge: str | None = None
    reasons: list[str] | None = None

    @property
    def epsilon(self) -> Fraction:
        return self.cost.epsilon

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Where data is looked at: every failure is a `DataError` of one constant text.

        It says that the charge stands, if there is one.  Why it failed is for the curator alone:
        set DAMPEN_TRACEBACK=1 to see it.  Only where public parameters were taken from the data,
        which was warned of, an error of dampen itself keeps its words, without numbers.
        """
        try:
            yield
        except Exception as error:
            if self.reasons is not None:
                self.reasons.append(f"{type(error).__name__}: {error}")
            if os.environ.get("DAMPEN_TRACEBACK"):
                raise DataError(self._told(error)) from error
            raise_alone(DataError(self._told(error)))
        except BaseException as interrupt:
            interrupt.__context__ = None  # what it interrupted may quote the data
            if self.stands:
                interrupt.add_note(self.stands)
            raise

    def release(
        self,
        answer: Any,
        shown: dict[str, Any],
        accuracy: Accuracy,
        *,
        numbers: Any = None,
        law: Law | None = None,
    ) -> Release:
        """The answer with its public facts, kept where the budget keeps answers."""
        made = Release(
            answer,
            self.cost.pure_epsilon,
            self.cost.mechanism,
            self.cost.neighbours,
            shown,
            secure=self.entropy.secure,
            leaks=self.cost.leaks,
            charge=self.charge,
            rho=self.cost.rho,
            accuracy=accuracy,
            delta=self.cost.delta,
            numbers=numbers,
            law=law,
        )
        keeper: object = self.budget
        if self.charge is not None and keeper is not None and isinstance(keeper, Keeper):
            # The caller has the answer: nothing that goes wrong with a copy may take it away.
            with self.looking(), suppress(Exception):
                keeper.keep(self.charge, made.to_json())
        return made

    @property
    def stands(self) -> str:
        """A sentence about the charge, empty where nothing was charged."""
        if self.budget is None:
            return ""
        named = f" ({self.charge})" if self.charge else ""
        return f"The charge of {self.cost.price}{named} stands."

    def _told(self, error: Exception) -> str:
        own = isinstance(error, DampenError) and bool(self.cost.leaks)
        known = own or isinstance(error, BudgetError)  # which knows nothing of the data
        told = NUMBER.sub("…", str(error)) if own else str(error) if known else UNREADABLE
        return " ".join(part for part in (told, self.stands) if part)


def open_entropy(entropy: Entropy | None) -> Entropy:
    """The entropy of a release: the operating system's, unless other may be used."""
    if entropy is None:
        return SystemEntropy()
    if not (hasattr(entropy, "read") and hasattr(entropy, "secure")):
        raise ParameterError(
            "Expected entropy to be a dampen.sampling.Entropy, with read and secure, got a "
            f"{type(entropy).__name__}."
        )
    if entropy.secure is not True and getattr(entropy, "allow_release", False) is not True:
        raise ParameterError(
            "Expected secure entropy for a release, got a seeded generator. For experiments on "
            "public data pass InsecureEntropy(seed, allow_release=True)."
        )
    return entropy
