"""A question on its way from a caller to an answer: what is known at each stage of it.

Prepared    checked against public facts
Order       not answered before: what it costs, and who pays
Charged     paid for; no row was looked at
Drawn       a release that nobody has heard of
Answer      given
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dampen.core.selection import Neighbours
from dampen.errors import DampenError, DataError
from dampen.ledger import Account
from dampen.releases.cost import Cost
from dampen.service.history import marked
from dampen.service.payment import Receipt
from dampen.service.questions import Question
from dampen.service.tokens import Token

__all__ = ["Answer", "Charged", "Drawn", "Failed", "NotFound", "Order", "Prepared", "with_members"]


def with_members(text: str, **more: Any) -> str:
    """The JSON of an object that has members, and more of them."""
    return f"{text[:-1]}, {json.dumps(more)[1:]}"


class NotFound(DampenError):
    """There is no such thing, or the caller may not know of it."""


class Failed(DataError):
    """The data is not what the public facts promise; the charge stands.

    Its text is the same whatever was wrong; `incident` is for the curator.
    """

    def __init__(self, incident: str, charge: str | None) -> None:
        stands = "Nothing was charged." if charge is None else f"The charge {charge} stands."
        super().__init__(
            f"The data set could not answer this question. {stands} The curator can look up "
            f"{incident}."
        )
        self.incident = incident
        self.charge = charge


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way.

    Attributes:
        release: its JSON, with the question.
        analyst: who paid for it.
        own: whether that is the caller.
        reused: whether it was free.
    """

    release: str
    analyst: str
    own: bool = True
    reused: bool = False

    def seen_by(self, caller: Token) -> "Answer":
        """The same, for somebody who asked the same."""
        return replace(self, own=caller.analyst == self.analyst)

    def shown(self) -> str:
        """As JSON; of who paid for it, whether it was the caller."""
        return with_members(self.release, reused=self.reused, own=self.own)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question that was checked, who asks it, and the budgets that may pay."""

    question: Question
    accounts: Mapping[Account, Neighbours]
    caller: Token

    @property
    def mark(self) -> str:
        return self.question.mark

    @property
    def dataset(self) -> str:
        return self.question.served.name


@dataclass(frozen=True, slots=True)
class Order:
    """A question that was not answered before: what it costs, and who pays."""

    asked: Prepared
    cost: Cost
    account: Account

    @property
    def recorded(self) -> Cost:
        """The cost, with what the ledger records besides."""
        made = self.asked.question
        return replace(self.cost, query=f"{self.cost.query} {marked(made.text, made.mark)}")


@dataclass(frozen=True, slots=True)
class Charged:
    """A question that was paid for, and for which no row was looked at."""

    asked: Prepared
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Drawn:
    """A release that was paid for and drawn, and that nobody has heard of."""

    asked: Prepared
    charge: str
    release: str

    def answer(self) -> Answer:
        return Answer(self.release, self.asked.caller.analyst)
