"""What a curator does to a budget: each action is an entry, with who and when."""

import getpass
from typing import Any

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import BudgetError, ParameterError
from dampen.ledger.balances import Balance, Status
from dampen.ledger.log import Draft, Kind, bounded, key_of, stamp
from dampen.ledger.rules import balance_of
from dampen.ledger.state import State
from dampen.ledger.storage import Log
from dampen.ledger.storage.witness import open_witness, witness_place
from dampen.ledger.worker import Change
from dampen.ledger.zcdp import rho_within

__all__ = [
    "amount",
    "cap",
    "change_status",
    "limit",
    "raise_to",
    "set_witness",
    "signature",
    "thaw",
]


def raise_to(name: str, epsilon: Epsilon, who: str) -> Change:
    """Lets more be spent."""
    total = exact(epsilon)
    signed = signature(who)

    def change(state: State, _: Log) -> Draft:
        balance = _changeable(state, name)
        if total < balance.limit.epsilon:
            has = decimal_text(balance.limit.epsilon)
            raise ParameterError(f"Expected epsilon >= {has}, the total of the budget already.")
        return Draft(Kind.RAISE, key_of(name), limit(total, balance.limit.delta) | signed)

    return change


def cap(name: str, epsilon: Epsilon, analyst: str, who: str) -> Change:
    """Lets an analyst spend only so much."""
    most = exact(epsilon)
    signed = {"analyst": bounded(analyst, "analyst"), **signature(who)}

    def change(state: State, _: Log) -> Draft:
        delta = _changeable(state, name).limit.delta
        return Draft(Kind.CAP, key_of(name), limit(most, delta) | signed)

    return change


def change_status(name: str, kind: Kind, why: str, who: str) -> Change:
    """Freezes or closes."""
    signed = {"why": bounded(why, "why"), **signature(who)}

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
    signed = {"why": bounded(why, "why"), **signature(who)}

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
    details = {"place": absolute, **signature(who)}

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


def limit(epsilon: Epsilon, delta: Epsilon | None, name: str = "epsilon") -> dict[str, str]:
    """How much may be spent, as an entry says it."""
    e = exact(epsilon, name)
    if delta is None:
        return {"epsilon": decimal_text(e), "delta": "", "rho": ""}
    d = exact(delta, "delta")
    if d >= 1:
        raise ParameterError(f"Expected delta < 1, got delta={delta}.")
    rho = rho_within(e, d)
    return {"epsilon": decimal_text(e), "delta": decimal_text(d), "rho": decimal_text(rho)}


def amount(value: Epsilon, name: str) -> str:
    """An exact number above zero, as an entry says it."""
    return decimal_text(exact(value, name))


def signature(who: str) -> dict[str, str]:
    """Who changes a budget, and when."""
    return {"who": bounded(who or _user(), "who"), **stamp()}


def _changeable(state: State, name: str) -> Balance:
    balance = balance_of(state, name)
    if balance.status is Status.CLOSED:
        raise BudgetError(f"Budget {balance.name!r} is closed.")
    return balance


def _is_zero(value: Epsilon) -> bool:
    return value in (0, "0")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
