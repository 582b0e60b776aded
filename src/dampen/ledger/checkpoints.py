"""Checkpoints: entries of the log that hold all totals, so that opening reads only what follows.

A checkpoint is an entry like any other: its digest is part of the chain.  So the head, which also
lies in the head file, vouches for the totals in the last checkpoint as it vouches for every entry.
An older entry that was edited cannot change a total; it is found when the whole log is verified
(`recovery.verify`, `watching`), where each checkpoint must be what the entries before it add up to.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text
from dampen.ledger.balances import Balance, Limit, Spent, Status, Total

__all__ = ["EVERY", "budgets_of", "content"]

EVERY = 4096
"""Entries from one checkpoint to the next."""


def content(budgets: Mapping[str, Balance]) -> dict[str, Any]:
    """All budgets, as JSON."""
    return {key: _balance_content(balance) for key, balance in budgets.items()}


def budgets_of(details: Mapping[str, Any]) -> dict[str, Balance]:
    """The budgets in the details of a checkpoint."""
    return {key: _balance(saved) for key, saved in details["budgets"].items()}


def _balance_content(balance: Balance) -> dict[str, Any]:
    return {
        "name": balance.name,
        "neighbours": balance.neighbours.value,
        "limit": _limit_content(balance.limit),
        "dataset": balance.dataset,
        "location": balance.location,
        "largest": _text(balance.largest),
        "trial": balance.trial,
        "status": balance.status.value,
        "spent": _spent_content(balance.spent),
        "spent_by": {who: _spent_content(spent) for who, spent in balance.spent_by.items()},
        "lost": _spent_content(balance.lost),
        "caps": {who: _limit_content(cap) for who, cap in balance.caps.items()},
    }


def _balance(saved: Mapping[str, Any]) -> Balance:
    return Balance(
        name=saved["name"],
        neighbours=Neighbours(saved["neighbours"]),
        limit=_limit(saved["limit"]),
        dataset=saved["dataset"],
        location=saved["location"],
        largest=_number(saved["largest"]),
        trial=saved["trial"],
        status=Status(saved["status"]),
        spent=_spent(saved["spent"]),
        spent_by={who: _spent(spent) for who, spent in saved["spent_by"].items()},
        lost=_spent(saved["lost"]),
        caps={who: _limit(cap) for who, cap in saved["caps"].items()},
    )


def _limit_content(limit: Limit) -> list[str]:
    return [_text(limit.epsilon), _text(limit.delta), _text(limit.rho)]


def _limit(saved: list[str]) -> Limit:
    epsilon, delta, rho = saved
    return Limit(Fraction(epsilon), _number(delta), _number(rho))


def _spent_content(spent: Spent) -> list[Any]:
    return [spent.pure, spent.charges, *spent.sums()]


def _spent(saved: list[Any]) -> Spent:
    pure, charges, *sums = saved
    numbers = list(map(int, sums))
    totals = [Total(*numbers[i : i + 2]) for i in range(0, len(numbers), 2)]
    return Spent(bool(pure), int(charges), *totals)


def _text(value: Fraction | None) -> str:
    return "" if value is None else decimal_text(value)


def _number(text: str) -> Fraction | None:
    return Fraction(text) if text else None
