"""From what people write to what entries say: checked, exact, bounded."""

import getpass
from copy import deepcopy
from fractions import Fraction
from hashlib import sha256
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.ledger.names import bounded
from dampen.ledger.rules import ChargeRequest
from dampen.ledger.stamps import stamp
from dampen.ledger.state import Balance
from dampen.ledger.zcdp import epsilon_at, rho_within

__all__ = [
    "amount",
    "charge_request",
    "copied",
    "fingerprint",
    "limit",
    "relation",
    "signature",
    "spent",
]


def charge_request(
    epsilon: Epsilon | None,
    rho: Epsilon | None,
    neighbours: Neighbours,
    *,
    query: str,
    mechanism: str,
    analyst: str,
    dataset: str,
    leaks: tuple[str, ...],
    location: str,
    delta: Fraction = Fraction(0),
) -> ChargeRequest:
    """A charge to ask for.

    Raises:
        ParameterError: if there is neither ε nor ρ, or one is not valid, or a text is too long.
    """
    if epsilon is None and rho is None:
        raise ParameterError("Expected epsilon, rho or both.")
    e = None if epsilon is None else exact(epsilon)
    r = exact(rho, "rho", digits=RHO_DIGITS) if rho is not None else _rho(e)
    note: dict[str, Any] = {
        "query": bounded(query, "query"),
        "mechanism": bounded(mechanism, "mechanism"),
        "analyst": bounded(analyst, "analyst"),
        "dataset": bounded(dataset, "dataset"),
        "leaks": [bounded(each, "a leak") for each in leaks],
        **stamp(),
    }
    return ChargeRequest(e, r, neighbours, note, fingerprint(location), delta)


RHO_DIGITS = 130
"""Of a ρ: the square of an ε has twice its digits."""


def _rho(epsilon: Fraction | None) -> Fraction:
    assert epsilon is not None
    return epsilon**2 / 2


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


def relation(neighbours: Neighbours | str) -> Neighbours:
    """A neighbour relation by its name."""
    try:
        return Neighbours(neighbours)
    except ValueError:
        known = [each.value for each in Neighbours]
        raise ParameterError(
            f"Expected neighbours to be one of {', '.join(known)}, got {neighbours!r}."
            f"{did_you_mean(str(neighbours), known)}"
        ) from None


def fingerprint(location: str) -> str:
    """Of where data lies, never of what is in it; empty if that is not known."""
    if not location:
        return ""
    return sha256(location.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def signature(who: str) -> dict[str, str]:
    """Who changes a budget, and when."""
    return {"who": bounded(who or _user(), "who"), **stamp()}


def spent(balance: Balance) -> Fraction:
    """The ε of all that was spent: the sum or, with δ, the least of what can be said."""
    limit = balance.limit
    pure = balance.spent.epsilon
    rho = balance.spent.rho
    if limit.delta is None or limit.rho is None:
        assert pure is not None
        return pure
    bounds = [epsilon_at(rho, limit.delta)]
    bounds += [] if pure is None else [pure]
    bounds += [limit.epsilon] if rho <= limit.rho else []
    return min(bounds)


def copied(balance: Balance) -> Balance:
    """A balance that later charges do not change."""
    return deepcopy(balance)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
