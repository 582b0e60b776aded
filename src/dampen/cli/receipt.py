"""What a command has paid for, known at any moment."""

import getpass
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dampen.cli.interrupts import held

if TYPE_CHECKING:
    from dampen.ledger import Account, Ledger
    from dampen.releases.cost import Budget, Cost
    from dampen.schema import Schema

__all__ = ["Receipt", "open_ledger"]


@dataclass
class Receipt:
    """The budget of one release, or none, and a record of what was charged and kept.

    It stands between a release and its account, so that whatever happens to the command, what it
    says about the charge is true.

    Attributes:
        account: who pays, if anybody.
        place: the ledger, if another than the default one was named.
        asked: public details of the question, for the ledger.
        charged: the id of the charge, once there is one.
        cost: what was asked of the account.
        kept: whether the ledger holds the answer.
        schema: the public facts of registered data.
    """

    account: "Account | None" = None
    place: str | None = None
    asked: str = ""
    charged: str | None = None
    cost: "Cost | None" = None
    kept: bool = False
    schema: "Schema | None" = None

    @property
    def budget(self) -> "Budget | None":
        """What to pass to a release."""
        return None if self.account is None else self

    @property
    def ledger(self) -> Path | None:
        """The file of the account that pays, if it is in a file."""
        from dampen.ledger.storage import is_address

        if self.account is None or is_address(self.account.ledger.place):
            return None
        return self.account.ledger.path

    def charge(self, cost: "Cost", /) -> str | None:
        """Charges the account, and knows it before any interrupt is obeyed."""
        assert self.account is not None
        with held():
            asked = replace(cost, query=f"{cost.query} {self.asked}".strip())
            self.charged = self.account.charge(asked)
            self.cost = cost
        return self.charged

    def keep(self, charge: str, answer: str, /) -> None:
        """Keeps the answer in the ledger; one that cannot be kept is left to be printed."""
        from dampen.errors import DampenError

        assert self.account is not None
        with held(), suppress(DampenError):
            self.account.keep(charge, answer)
            self.kept = True

    @property
    def told(self) -> str:
        """What was charged and where the answer is, in sentences."""
        if self.account is None:
            return ""
        if self.charged is None or self.cost is None:
            return "Nothing was charged."
        stands = f"The charge of {self.cost.price} ({self.charged}) stands."
        return f"{stands} {self.fetching}".strip()

    @property
    def fetching(self) -> str:
        """How to get at an answer that was kept."""
        if not self.kept:
            return ""
        place = "" if self.place is None else f" --ledger {shlex.quote(self._shown_place())}"
        return f"The answer is kept: dampen budget answer {self.charged}{place}"

    def _shown_place(self) -> str:
        """The ledger as it was named; an address without its password."""
        from dampen.ledger.storage import is_address

        assert self.place is not None
        return str(self.account.ledger) if self.account and is_address(self.place) else self.place

    def balance(self, price: "Cost | None" = None) -> dict[str, Any]:
        """What was charged and what is left of the budget; nothing if the ledger cannot say.

        Given a price that was not paid yet, it stands in place of what was charged.
        """
        from dampen.epsilon import decimal_text, short_text
        from dampen.errors import DampenError
        from dampen.ledger.rules import steps_between

        cost = price or self.cost
        if self.account is None or cost is None:
            return {}
        try:
            left = self.account.remaining
            total = self.account.total
            own = self.account.neighbours
        except DampenError:
            return {}
        steps = steps_between(cost.neighbours, own)
        return {
            "budget": {
                "name": self.account.name,
                "charged": decimal_text(steps * cost.epsilon) if cost.pure else None,
                "left": short_text(left, up=False),
                "total": decimal_text(total),
            }
        }

    def open(
        self,
        file: str,
        *,
        budget: str | None,
        ledger: str | None,
        analyst: str | None,
        dataset: str | None,
        config: str | None,
    ) -> tuple[str, str | None]:
        """Finds the account that pays, by what a policy allows; reads no data.

        Args:
            file: a path or address, or the name of a registered data set, which brings its budget.
            budget: the name of the budget, if one was named.
            ledger: where it is.
            analyst: who asks.
            dataset: what the charge records.
            config: the policy.

        Returns:
            Where the rows are, and which table of a database.

        Raises:
            ParameterError: if options do not fit together.
            BudgetError: if a policy does not allow the question.
        """
        from dampen.errors import ParameterError
        from dampen.ledger.policy import check_policy, registered_name

        named = registered_name(file, config)
        place = file if named is None else named.only_place
        if named is not None:
            budget = budget or named.budgets[0]
        if budget is None and (analyst or dataset or ledger):
            raise ParameterError("Expected --budget with --ledger, --analyst and --dataset.")
        registered = check_policy(place, budget, config) or named
        if registered is not None:
            ledger = registered.place(ledger)
            dataset = dataset or registered.name
            self.schema = registered.schema
        if budget is not None:
            self.place = ledger
            location, name = _location(place)
            account = open_ledger(ledger)[budget]
            self.account = account.by(analyst or _user(), dataset or name, location)
        return place, None if named is None else named.table


def _location(file: str) -> tuple[str, str]:
    """What the ledger records of where data is: its place, and a short name."""
    from dampen.data.postgres import is_address, shown

    if is_address(file):
        return shown(file), shown(file)
    if file == "-":
        return "", "standard input"
    return os.path.realpath(file), os.path.basename(os.path.abspath(file))


def open_ledger(place: str | None) -> "Ledger":
    """The ledger of that path or address, or the default one."""
    from dampen.ledger import Ledger, default_place

    return Ledger(place or default_place())


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
