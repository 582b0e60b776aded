"""What a curator does to a budget: each action is an entry, with who and when."""

from typing import Any

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import requests
from dampen.ledger.log import Draft, Kind
from dampen.ledger.names import bounded, key_of
from dampen.ledger.rules import balance_of
from dampen.ledger.state import Balance, State, Status
from dampen.ledger.storage import Log
from dampen.ledger.storage.witness import open_witness, witness_place
from dampen.ledger.worker import Change

__all__ = ["cap", "change_status", "raise_to", "set_witness", "thaw"]


def raise_to(name: str, epsilon: Epsilon, who: str) -> Change:
    """Lets more be spent."""
    total = exact(epsilon)
    signed = requests.signature(who)

    def change(state: State, _: Log) -> Draft:
        balance = _changeable(state, name)
        if total < balance.limit.epsilon:
            has = decimal_text(balance.limit.epsilon)
            raise ParameterError(f"Expected epsilon >= {has}, the total of the budget already.")
        return Draft(Kind.RAISE, key_of(name), requests.limit(total, balance.limit.delta) | signed)

    return change


def cap(name: str, epsilon: Epsilon, analyst: str, who: str) -> Change:
    """Lets an analyst spend only so much."""
    most = exact(epsilon)
    signed = {"analyst": bounded(analyst, "analyst"), **requests.signature(who)}

    def change(state: State, _: Log) -> Draft:
        delta = _changeable(state, name).limit.delta
        return Draft(Kind.CAP, key_of(name), requests.limit(most, delta) | signed)

    return change


def change_status(name: str, kind: Kind, why: str, who: str) -> Change:
    """Freezes or closes."""
    signed = {"why": bounded(why, "why"), **requests.signature(who)}

    def change(state: State, _: Log) -> Draft:
        _changeable(state, name)
        return Draft(kind, key_of(name), signed)

    return change


def thaw(name: str, spent: Epsilon | None, why: str, who: str) -> Change:
    """Pays again; after a restore what was lost is taken first."""
    lost: dict[str, Any] = {"epsilon": "", "rho": ""}
    if spent is not None and not _is_zero(spent):
        e = exact(spent, "spent")
        lost = {"epsilon": decimal_text(e), "rho": decimal_text(e**2 / 2)}
    signed = {"why": bounded(why, "why"), **requests.signature(who)}

    def change(state: State, _: Log) -> Draft:
        restored = _changeable(state, name).status is Status.RESTORED
        if restored and spent is None:
            raise ParameterError(
                "Expected spent: this budget was restored from a backup; say what was spent "
                "since the backup was made, 0 if nothing."
            )
        if not restored and spent is not None:
            raise ParameterError("Expected no spent: this budget was not restored from a backup.")
        return Draft(Kind.THAW, key_of(name), lost | signed)

    return change


def set_witness(place: str, who: str) -> Change:
    """Keeps the newest head in a second place from now on."""
    absolute = witness_place(place)
    details = {"place": absolute, **requests.signature(who)}

    def change(state: State, _: Log) -> Draft:
        witness = open_witness(absolute, state.origin)
        seen = witness.read()
        if seen is None:
            witness.advance(None, state.head)
        elif seen != state.head:
            raise BudgetError(
                f"The place {place} already holds another head. Choose a place of its own."
            )
        return Draft(Kind.WITNESS, "", details)

    return change


def _changeable(state: State, name: str) -> Balance:
    balance = balance_of(state, name)
    if balance.status is Status.CLOSED:
        raise BudgetError(f"Budget {balance.name!r} is closed.")
    return balance


def _is_zero(value: Epsilon) -> bool:
    return value in (0, "0")
