"""From a question to a release: check, charge, look, draw.

- `answer`: the private answer to a question, by the steps below; `expect` and `planned` stop before
  the second one.
- `release`: one private selection of a problem of your own, by a mechanism of the paper.
- `rehearse`: how a question is answered on public data: several private answers beside the best
  one.

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

A method may take steps 2 and 3 twice (`dampen.releases.method.Stepwise`): a first small charge pays
for a first look, and the rest is charged only if what that look released says that it is worth it.
A budget that cannot pay for both is not charged for the first one.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from dampen.core.mechanisms import Mechanism, check_joint, named, select
from dampen.core.sampling import Entropy, InsecureEntropy, SystemEntropy
from dampen.core.selection import Neighbours, Problem, check_k
from dampen.data.columns import DatedTable
from dampen.data.open import located, open_table
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import (
    AccuracyWarning,
    BudgetError,
    DampenError,
    DataError,
    ParameterError,
    PrivacyLeakWarning,
    a_thing,
    raise_alone,
    warn_caller,
)
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.releases.cost import Budget, Cost, Keeper, Price, selection_cost
from dampen.releases.method import (
    Drawn,
    Finding,
    InTwoSteps,
    Leak,
    Method,
    OfTypes,
    Replacing,
    Rest,
    Searching,
    Stepwise,
    first_cost,
    is_halved,
)
from dampen.releases.numbers import Law
from dampen.releases.question import Question, Shape, check_size_is_public
from dampen.releases.release import Release
from dampen.releases.units import unit_method
from dampen.schema.schema import Numbers, Schema

__all__ = [
    "DRAWS",
    "MechanismMethod",
    "OwnQuestion",
    "Paid",
    "Planned",
    "Rehearsal",
    "Scored",
    "answer",
    "expect",
    "is_refused",
    "open_entropy",
    "pay",
    "planned",
    "planned_in_two_steps",
    "rehearse",
    "release",
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
    first = plan.first_cost
    if first is None or is_refused(plan.cost, budget):
        return plan.release(pay(plan.cost, budget=budget, entropy=entropy))
    paid = pay(first, budget=budget, entropy=entropy)
    begun = plan.begin(paid)
    if isinstance(begun, Release):
        return begun
    return plan.finish(begun, _paid_rest(plan, paid))


def is_refused(cost: Cost, budget: Budget | None) -> bool:
    """Whether a budget surely refuses a cost: then it is asked for all of it at once."""
    refusal = getattr(budget, "refusal", None)
    return callable(refusal) and bool(refusal(cost))


def _paid_rest(plan: "Planned", paid: "Paid") -> "Paid":
    try:
        return pay(plan.rest_cost, budget=paid.budget, entropy=paid.entropy)
    except BudgetError as error:
        raise BudgetError(f"{error} {paid.stands}") from None


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
    """The cost and the accuracy of an answer, before it is paid for.  Free; no row is read.

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
        dated = _dates_in_expressions(question, schema)
        if dated:
            data = DatedTable(open_table(data, header=header, table=table), dated)
            table = None
    return question.open(data, header=header, table=table)


def _dates_in_expressions(question: Question, schema: Schema) -> frozenset[str]:
    """The columns of dates, by the public facts, that a condition or a formula may speak of."""
    written = [getattr(question, name, None) for name in ("where", "value")]
    texts = [each for each in written if isinstance(each, str) and each not in schema.columns]
    return frozenset(
        name
        for name, column in schema.columns.items()
        if isinstance(column, Numbers) and column.dates and any(name in text for text in texts)
    )


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
        price = self.cost.price.replace(" ", "=")
        delta = f", delta={decimal_text(self.cost.delta)}" if self.cost.delta else ""
        return f"Planned({price}{delta}, accuracy={self.accuracy.sentence!r})"

    def __str__(self) -> str:
        """The cost and the accuracy, one to a line."""
        return f"cost: {self.cost.price}\naccuracy: {self.accuracy.sentence}"

    def warn(self) -> None:
        """Warns, before the charge, about leaks and about an answer that would be a guess."""
        for leak in self.method.leaks():
            warn_caller(
                f"{leak.what} was taken from the private data, so the release is not covered by "
                f"epsilon alone. {leak.remedy}",
                PrivacyLeakWarning,
            )
        if self.accuracy.chance:
            warn_caller(self.accuracy.sentence, AccuracyWarning)

    @property
    def first_cost(self) -> Cost | None:
        """What pays for the first look, if the rest is charged only after it."""
        first = first_cost(self.method, self.cost)
        return None if first is None else replace(first, unit=self.cost.unit)

    @property
    def rest_cost(self) -> Cost:
        """The cost that is charged after the first look."""
        first = self.first_cost
        assert first is not None
        return replace(
            self.cost,
            epsilon=self.cost.epsilon - first.epsilon,
            rho=self.cost.rho - first.rho,
            delta=self.cost.delta - first.delta,
            losses=(),
        )

    def begin(self, paid: "Paid") -> Release | Rest:
        """The first look: the release that ends the question, or the rest of it."""
        assert isinstance(self.method, Stepwise)
        with paid.looking():
            begun = self.method.begin(self.source, self.cost.epsilon, paid.entropy)
        return self._made(begun, paid) if isinstance(begun, Drawn) else begun

    def finish(self, rest: Rest, paid: "Paid") -> Release:
        """Draws the rest of an answer; the release tells the cost of both parts."""
        with paid.looking():
            drawn = rest(paid.entropy)
        return self._made(drawn, replace(paid, cost=self.cost))

    def release(self, paid: "Paid") -> Release:
        """Looks at the data and draws the answer that was paid for."""
        with paid.looking():
            drawn = self.method.draw(self.source, paid.epsilon, paid.entropy)
        return self._made(drawn, paid)

    def _made(self, drawn: Drawn, paid: "Paid") -> Release:
        with paid.looking():
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
    if isinstance(question, OfTypes):
        question = question.of_types(source)
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
    examples = [finding.filled(each) for each in finding.examples]
    plans = [planned(each, source, for_answer, schema) for each in examples if each is not None]
    method = InTwoSteps(
        finding,
        planned(finding.question, source, for_finding, schema),
        max(plans, key=lambda plan: plan.cost.rho),
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
            "Expected budget= to be an account of a ledger, such as dampen.Ledger(file)[name], or "
            f"an object with a method charge, got {a_thing(budget)}."
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
        """Turns every failure to read the data into a `DataError` with a constant message.

        It says that the charge stands, if there is one.  Why it failed is for the curator alone:
        set DAMPEN_TRACEBACK=1 to see it.  Only where public parameters were taken from the data,
        which was warned of, an error of dampen itself keeps its words, without numbers.  numpy does
        not warn: of a number that is too large, it would say that there is one.
        """
        try:
            with np.errstate(all="ignore"):
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
            "Expected entropy to be a dampen.sampling.Entropy, with read and secure, got "
            f"{a_thing(entropy)}."
        )
    if entropy.secure is not True and getattr(entropy, "allow_release", False) is not True:
        raise ParameterError(
            "Expected secure entropy for a release, got a seeded generator. For experiments on "
            "public data pass InsecureEntropy(seed, allow_release=True)."
        )
    return entropy


DRAWS = 20
EXACTLY = Price("1000000")
"""The price of an answer that is the best one, for all that anybody can see."""


@runtime_checkable
class Scored(Protocol):
    """A question whose answers are not compared with the best one but tried on the data."""

    def wrong_share(self, answer: Any, source: Any, /) -> float:
        """The share of the rows for which an answer is wrong."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A question whose answers predict numbers, and are tried on the data."""

    def mean_distance(self, answer: Any, source: Any, /) -> float:
        """How far an answer is from the numbers of the rows, on average."""
        ...


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Several answers to one question about public data.

    Attributes:
        answers: one for every draw.
        errors: of each, how far it is from the best one: the mean distance of numbers, or the
            share of wrong names.
        numeric: whether `errors` are distances of numbers.
    """

    answers: Sequence[Any]
    errors: Sequence[float]
    numeric: bool

    @property
    def error(self) -> float:
        """The mean error of those that were answered."""
        answered = [error for error in self.errors if not math.isnan(error)]
        return float(np.mean(answered)) if answered else math.nan

    @property
    def sentence(self) -> str:
        """The error in words."""
        tries = f"In {len(self.answers)} tries on public data"
        if self.numeric:
            return f"{tries} the answer was off by {self.error:,.4g} on average."
        return f"{tries} {1 - self.error:.0%} of what was named was right."


def rehearse(
    question: Question,
    source: Any,
    price: Price,
    *,
    draws: int = DRAWS,
    schema: Schema | None = None,
) -> Rehearsal:
    """Asks a question of public data several times.

    It looks at the data without privacy: for public data, such as a made-up sample that has the
    shape of private data.  The best answer is the one at an ε at which noise does not matter.

    Args:
        question: what is asked.
        source: public data, as `question.open` gave it.
        price: what each answer would cost.
        draws: how many answers.
        schema: the public facts of the data, which say whom ε protects.

    Returns:
        The answers and their errors.

    Raises:
        ParameterError: if a public parameter is wrong.
        DataError: if the machine cannot read the data.
    """
    answers = _answers(question, source, price, draws, schema)
    if isinstance(question, Scored):
        return Rehearsal(answers, [question.wrong_share(each, source) for each in answers], False)
    if isinstance(question, Measured):
        return Rehearsal(answers, [question.mean_distance(each, source) for each in answers], True)
    best = _parts(_answers(question, source, EXACTLY, 1, schema)[0])
    numeric = question.shape() in ("value", "points", "number")
    error = _distance if numeric else _wrong_share
    return Rehearsal(answers, [error(_parts(each), best) for each in answers], numeric)


def _answers(
    question: Question, source: Any, price: Price, draws: int, schema: Schema | None
) -> list[Any]:
    """One plan, drawn from with the seeds 0, 1, ..."""
    plan = planned(question, source, price, schema)
    seeded = [InsecureEntropy(seed, allow_release=True) for seed in range(draws)]
    return [plan.release(pay(plan.cost, entropy=entropy)).answer for entropy in seeded]


def _distance(parts: Sequence[Any], best: Sequence[Any]) -> float:
    pairs = zip(_amounts(parts), _amounts(best), strict=True)
    return float(np.mean([abs(a - b) for a, b in pairs]))


def _amounts(parts: Sequence[Any]) -> list[float]:
    return [_amount(part) for part in parts]


def _amount(part: Any) -> float:
    """Of an amount, or of one that carries the names of its group and cell; NaN for none."""
    if isinstance(part, tuple):
        return _amount(part[1])
    return math.nan if part is None else float(part)


def _wrong_share(parts: Sequence[Any], best: Sequence[Any]) -> float:
    return 1 - len(set(parts) & set(best)) / len(set(best))


def _parts(answer: Any) -> list[Any]:
    """The amounts or names of an answer; those of a group carry the name of the group."""
    if isinstance(answer, Mapping):
        return [(str(name), part) for name, each in answer.items() for part in _parts(each)]
    return list(answer) if isinstance(answer, list | tuple) else [answer]


X = TypeVar("X")


@dataclass(frozen=True)
class OwnQuestion(Generic[X]):
    """A problem of your own: its candidates, a mechanism and how many to select."""

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
                f"Expected load to be a function that gives the data, got {a_thing(data)}. Pass "
                "lambda: data, so that the data is looked at after the charge."
            )
        return data

    def method(self, source: Any, schema: Schema, price: Price, /) -> "MechanismMethod[X]":
        del source, schema, price
        check_k(self.k, len(self.problem.candidates))
        Neighbours.named(self.problem.neighbours)
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
            Neighbours.named(self.problem.neighbours),
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
        names = self.problem.candidates  # before the data: a problem may keep what it saw
        selection = self.problem.selection(source())
        picked = select(
            selection, epsilon=epsilon, mechanism=self.mechanism, k=self.k, entropy=entropy
        )
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
    mechanism: str | Mechanism = "auto",
    k: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """One private selection, from public parameters to a `Release`.

    Guarantee: ε-differential privacy for `problem.neighbours`, provided that the problem's δ is
    admissible for them.

    Args:
        problem: public parameters only; see `dampen.Problem`.
        load: gives the private data; called after the charge, and only then.
        query: what the ledger records the charge under.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        mechanism: a name or a `Mechanism`; `auto` is permute-and-flip or local dampening with a
            private shift, by public facts (`dampen.core.mechanisms.chosen_for`).
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
