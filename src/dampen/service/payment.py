"""Which budget pays for a question, and what a question would cost, without paying.

A quote and a receipt stand where a release expects its budget, so that there is one way from
parameters to a charge and to an answer.  A quote ends the release just before the charge, when
parameters were checked and no row was read.  The charge is made, with those of others, and then the
same release goes through with its receipt: it can be had for a charge alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dampen.core.selection import Neighbours
from dampen.errors import BudgetError, DataError
from dampen.ledger import Account
from dampen.ledger.rules import STEPS
from dampen.releases.cost import Cost

__all__ = ["Quote", "Quoted", "Receipt", "payer"]


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


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made before, for one release.

    It has no method `keep`, by which a release would put its answer into the ledger at once: the
    ledger may be watched, and when an answer was ready is nobody's business.
    """

    cost: Cost
    charged: str

    def charge(self, cost: Cost, /) -> str:
        """The id of the charge, if it was for this."""
        if cost != self.cost:
            raise DataError("The data set changed while it was asked, and costs something else.")
        return self.charged
