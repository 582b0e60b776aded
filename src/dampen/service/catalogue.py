"""What callers are shown: data sets, budgets, releases and, for curators, all activity.

Everything here is public or the caller's own.  Nothing is charged and no row is read.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import BudgetError, DampenError, ParameterError
from dampen.ledger import Account, Balance
from dampen.ledger.balances import spent
from dampen.ledger.log import folded
from dampen.ledger.rules import STEPS
from dampen.service.configuration import Configuration, Served
from dampen.service.history import History, Record
from dampen.service.tokens import Role, Token

__all__ = ["Catalogue", "NotFound", "payer", "shown_balance"]


class NotFound(DampenError):
    """There is no such thing, or the caller may not know of it."""


@dataclass
class Catalogue:
    """The data sets of a service, who may ask them, and what was asked."""

    configuration: Configuration
    history: History
    _accounts: dict[str, list[tuple[Account, Neighbours]]] = field(default_factory=dict)

    @property
    def sets(self) -> Sequence[Served]:
        """All data sets."""
        return list(self.configuration.sets.values())

    def served(self, caller: Token, name: str) -> Served:
        """A data set that a caller may ask.

        Raises:
            NotFound: if there is no such data set for this caller.
        """
        found = self.configuration.sets.get(name)
        if found is None or not _allows(found, caller):
            raise NotFound(f"There is no data set {name[:100]!r} for you. Nothing was charged.")
        return found

    def is_open(self, name: str) -> bool:
        """Whether the budgets of a data set were looked at before, so that the ledger need not."""
        return name in self._accounts

    def accounts(
        self, served: Served, caller: Token, budget: str | None
    ) -> list[tuple[Account, Neighbours]]:
        """The budgets that may pay for a caller, each with its relation, which never changes.

        Raises:
            ParameterError: if a budget was named that the data set does not have.
            BudgetError: if the budgets of the data set are for different relations.
        """
        if served.name not in self._accounts:
            opened = [self._account(served, each) for each in served.budgets]
            _check_one_relation(served, opened)
            self._accounts[served.name] = opened
        found = [
            (account.by(caller.analyst), relation)
            for account, relation in self._accounts[served.name]
            if budget is None or account.name == budget
        ]
        if not found:
            raise ParameterError(
                f"Data set {served.name!r} has no budget {str(budget)[:100]!r}. Choose one of "
                f"{', '.join(served.budgets)}."
            )
        return found

    def _account(self, served: Served, budget: str) -> tuple[Account, Neighbours]:
        ledger = self.configuration.ledger
        account = Account(ledger, budget, "", served.name, served.source.place)
        return account, ledger.neighbours(budget)

    def datasets(self, caller: Token) -> list[dict[str, Any]]:
        """The public facts of what a caller may ask."""
        return [
            {"name": served.name, **served.shown(), "budgets": self._budgets(served, caller)}
            for served in self._allowed(caller)
        ]

    def budgets(self, caller: Token) -> list[dict[str, Any]]:
        """The budgets of what a caller may ask, each once."""
        found = [each for served in self._allowed(caller) for each in self._budgets(served, caller)]
        return list({each["name"]: each for each in found}.values())

    def release(self, caller: Token, charge: str) -> dict[str, Any]:
        """A release by the id of its charge: the caller's own, and for a curator any."""
        record = self.history.record(charge)
        if record is None or not (_is_curator(caller) or record.charge.analyst == caller.analyst):
            raise NotFound(f"You have no release {charge}.")
        if not record.released:
            raise NotFound(
                f"The charge {charge} stands, but it has no answer: the answer is still being "
                "drawn, or could not be drawn."
            )
        return _shown_record(record) | {"release": json.loads(self.history.answer(charge))}

    def releases(self, caller: Token, *, limit: int, skip: int) -> list[dict[str, Any]]:
        """The caller's own charges, newest first, each with its answer."""
        own = self.history.records(caller.analyst)[skip : skip + limit]
        kept = self.history.answers([each.charge.id for each in own if each.released])
        releases = {charge: json.loads(answer) for charge, answer in kept.items()}
        return [_shown_record(each) | {"release": releases.get(each.charge.id)} for each in own]

    def activity(self) -> dict[str, Any]:
        """What a curator sees: every charge, without its answer, and refusals per analyst."""
        records = self.history.records()
        return {
            "charges": [_shown_record(each) for each in records],
            "refusals": dict(self.history.refusals),
        }

    def freeze(self, name: str, why: str, who: str) -> str:
        """Lets a budget pay nothing until it is thawed, for a curator; its status then."""
        account = self._budget(name)
        account.freeze(why=why, who=who)
        return str(account.status)

    def thaw(self, name: str, why: str, who: str) -> str:
        """Lets a budget pay again, for a curator; its status then."""
        account = self._budget(name)
        account.thaw(why=why, who=who)
        return str(account.status)

    def _budget(self, name: str) -> Account:
        if not any(name in served.budgets for served in self.sets):
            raise NotFound(f"No data set here has a budget {name!r}.")
        return self.configuration.ledger[name]

    def _allowed(self, caller: Token) -> list[Served]:
        return [served for served in self.sets if _allows(served, caller)]

    def _budgets(self, served: Served, caller: Token) -> list[dict[str, Any]]:
        ledger = self.configuration.ledger
        return [shown_balance(ledger.balance(name), caller) for name in served.budgets]


def _check_one_relation(served: Served, accounts: Sequence[tuple[Account, Neighbours]]) -> None:
    found = {str(relation): account.name for account, relation in accounts}
    if len(found) > 1:
        told = ", ".join(f"{name!r} ({relation})" for relation, name in found.items())
        raise BudgetError(
            f"The data set {served.name!r} has budgets of different relations: {told}. The same "
            f"rows need one relation. The facts say {served.schema.relation}: list budgets for "
            "that alone."
        )


def payer(accounts: Sequence[tuple[Account, Neighbours]], asked: Neighbours) -> Account:
    """The first budget of the same relation, else the first that has a conversion.

    Raises:
        BudgetError: if there is none.
    """
    for account, own in accounts:
        if own is asked:
            return account
    for account, own in accounts:
        if (asked, own) in STEPS:
            return account
    raise BudgetError(
        f"The data set has no budget for {asked} neighbours. Nothing was charged, no data was read."
    )


def shown_balance(balance: Balance, caller: Token) -> dict[str, Any]:
    """A budget as JSON, for one caller."""
    limit = balance.limit
    used = spent(balance)
    cap = balance.cap(caller.analyst)
    own = balance.by(caller.analyst)
    return {
        "name": balance.name,
        "neighbours": str(balance.neighbours),
        "epsilon": decimal_text(limit.epsilon),
        "delta": None if limit.delta is None else decimal_text(limit.delta),
        "spent": short_text(used, up=True),
        "left": short_text(limit.epsilon - used, up=False),
        "status": str(balance.status),
        "largest": None if balance.largest is None else decimal_text(balance.largest),
        "your_cap": None if cap is None else decimal_text(cap.epsilon),
        "spent_by_you": None if own.epsilon is None else short_text(own.epsilon, up=True),
    }


def _allows(served: Served, caller: Token) -> bool:
    if served.analysts is None or _is_curator(caller):
        return True
    return folded(caller.analyst) in map(folded, served.analysts)


def _is_curator(caller: Token) -> bool:
    return caller.role is Role.CURATOR


def _shown_record(record: Record) -> dict[str, Any]:
    charge = record.charge
    return {
        "charge": charge.id,
        "time": charge.time.isoformat(timespec="seconds"),
        "budget": record.budget,
        "dataset": charge.dataset,
        "analyst": charge.analyst,
        "query": record.query,
        "mechanism": charge.mechanism,
        "epsilon": None if charge.epsilon is None else decimal_text(charge.epsilon),
        "released": record.released,
    }
