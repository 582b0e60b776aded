"""Which budget pays for a question, and what a question would cost, without paying.

Both stand where a release expects its budget, so that there is one way from parameters to a charge:
a purse charges one of the budgets of the data set, a quote ends the release just before the charge,
when parameters were checked and no row was read.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dampen.errors import BudgetError
from dampen.ledger import Account
from dampen.ledger.rules import STEPS
from dampen.releases import Cost
from dampen.selection import Neighbours

__all__ = ["Purse", "Quote", "Quoted", "payer"]


@dataclass
class Purse:
    """The budgets of a data set in the hands of one analyst, for one question.

    Attributes:
        accounts: the budgets, with the names of the analyst and of the data set, each with its
            relation.
        query: what the ledger records besides what the release says.
        question: kept with the answer.
        charged: the id of the charge, once there is one.
        cost: what was charged, once it was.
    """

    accounts: Mapping[Account, Neighbours]
    query: str
    question: Mapping[str, Any]
    charged: str | None = None
    cost: Cost | None = None

    def charge(self, cost: Cost, /) -> str:
        """Charges the budget of the release's relation, or one that it can be converted to."""
        account = payer(self.accounts, cost.neighbours)
        self.charged = account.charge(replace(cost, query=f"{cost.query} {self.query}"))
        self.cost = cost
        return self.charged

    def settle(self, answer: str) -> None:
        """Puts the answer into the ledger.

        A release would do that itself if this had a method `keep`; but the ledger may be watched,
        and when an answer was ready is nobody's business.
        """
        assert self.charged is not None
        next(iter(self.accounts)).keep(self.charged, answer)

    def with_question(self, answer: str) -> str:
        """The JSON of a release and what was asked."""
        return json.dumps(json.loads(answer) | {"question": dict(self.question)})


def payer(accounts: Mapping[Account, Neighbours], asked: Neighbours) -> Account:
    """The first budget of the same relation, else the first that has a conversion.

    Raises:
        BudgetError: if there is none.
    """
    for account, own in accounts.items():
        if own is asked:
            return account
    for account, own in accounts.items():
        if (asked, own) in STEPS:
            return account
    raise BudgetError(
        f"The data set has no budget for {asked} neighbours. Nothing was charged, no data was read."
    )


class Quoted(Exception):
    """Ends a release at its charge; says what that would have been."""

    def __init__(self, cost: Cost) -> None:
        super().__init__()
        self.cost = cost


class Quote:
    """A budget that pays nothing."""

    def charge(self, cost: Cost, /) -> str:
        raise Quoted(cost)
