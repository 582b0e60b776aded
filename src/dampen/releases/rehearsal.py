"""How a question is answered on public data: several private answers beside the best one.

It looks at the data without privacy: for public data, such as a made-up sample that has the shape
of private data.  The best answer is the one at an ε at which noise does not matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.releases.answer import pay, planned
from dampen.releases.cost import Price
from dampen.releases.question import Question
from dampen.schema.schema import Schema

__all__ = ["DRAWS", "Rehearsal", "Scored", "rehearse"]

DRAWS = 20
EXACTLY = Price("1000000")
"""The price of an answer that is the best one, for all that anybody can see."""


@runtime_checkable
class Scored(Protocol):
    """A question whose answers are not compared with the best one but tried on the data."""

    def wrong_share(self, answer: Any, source: Any, /) -> float:
        """The share of the rows for which an answer is wrong."""
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
        """The mean error."""
        return float(np.mean(self.errors))

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
    """Of an amount, or of one that carries the names of its group and cell."""
    return _amount(part[1]) if isinstance(part, tuple) else float(part)


def _wrong_share(parts: Sequence[Any], best: Sequence[Any]) -> float:
    return 1 - len(set(parts) & set(best)) / len(set(best))


def _parts(answer: Any) -> list[Any]:
    """The amounts or names of an answer; those of a group carry the name of the group."""
    if isinstance(answer, Mapping):
        return [(str(name), part) for name, each in answer.items() for part in _parts(each)]
    return list(answer) if isinstance(answer, list | tuple) else [answer]
