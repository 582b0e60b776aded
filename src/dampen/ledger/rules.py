"""When a budget pays: the one place that grants or refuses a charge.

`grant` is a function of the state and the request alone.  It runs inside the transaction that
appends its entry, so no other charge can come between the check and the entry.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from dampen.core.losses import Loss, check_losses, text_of_losses
from dampen.core.noise import pure_rho
from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon, decimal_text, exact, price_text, short_text
from dampen.errors import BudgetError, ParameterError, did_you_mean
from dampen.ledger.log import Draft, Kind, bounded, key_of, stamp
from dampen.ledger.state import Balance, Limit, State, Status
from dampen.releases.cost import group_delta
from dampen.schema.schema import protected

__all__ = [
    "ChargeRequest",
    "Refused",
    "balance_of",
    "charge_request",
    "fingerprint",
    "grant",
    "refusal",
    "steps_between",
    "unit_of",
]

STEPS: dict[tuple[Neighbours, Neighbours], int] = {
    (Neighbours.ADD_REMOVE_ROW, Neighbours.REPLACE_ONE): 2,
    (Neighbours.ADD_REMOVE_UNIT, Neighbours.ADD_REMOVE_ROW): 2,
}
"""How many steps of the first relation, that of a release, make one step of the second, that of a
budget: to replace a row is to remove it and to add another; to add a row of a person is to remove
the person and to add them with one row more.  By group privacy m steps cost m ε and
m² ρ (Bun and Steinke 2016, Proposition 1.9), or the ρ of any mε-DP release where that is less.
There is no conversion in the other direction: replacing rows never leads to a table with one row
more."""

FEW_BUDGETS = 10
"""So many are listed where there is none of a name."""
RHO_DIGITS = 200
"""Of a ρ: the square of an ε has twice its digits, and shares and rounded parts add some."""


class Refused(BudgetError):
    """A refusal that is recorded in the ledger."""

    def __init__(self, text: str, draft: Draft) -> None:
        super().__init__(text)
        self.draft = draft


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """A charge that is asked for.

    Attributes:
        epsilon: of a pure ε-DP release; None if it has no pure ε.
        rho: its cost in zCDP.
        neighbours: the relation that both speak of.
        note: what to record with it: query, mechanism, analyst, dataset, time and so on.
        location: a fingerprint of where the data lies, if that is known.
        delta: of an (ε, δ)-DP release; 0 for a pure one.
        unit: what is protected with all that belongs to it, such as "patient"; empty if nothing is.
        losses: of its parts, where they are known to lose less than any ε-DP release.
    """

    epsilon: Fraction | None
    rho: Fraction
    neighbours: Neighbours
    note: dict[str, Any]
    location: str = ""
    delta: Fraction = Fraction(0)
    unit: str = ""
    losses: tuple[Loss, ...] = ()

    @property
    def costs(self) -> tuple[Fraction | None, Fraction, Fraction]:
        """ε, ρ and δ."""
        return self.epsilon, self.rho, self.delta

    @property
    def price(self) -> str:
        """ε, or ρ where there is no ε."""
        return price_text(self.epsilon, self.rho)


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
    unit: str = "",
    losses: tuple[Loss, ...] = (),
) -> ChargeRequest:
    """A charge to ask for.

    Raises:
        ParameterError: if there is neither ε nor ρ, or one is not valid, or a text is too long, or
            losses do not add up to ε.
    """
    e = None if epsilon is None else exact(epsilon)
    if rho is not None:
        r = exact(rho, "rho", digits=RHO_DIGITS)
    elif e is not None:
        r = pure_rho(e)
    else:
        raise ParameterError("Expected epsilon, rho or both.")
    note: dict[str, Any] = {
        "query": bounded(query, "query"),
        "mechanism": bounded(mechanism, "mechanism"),
        "analyst": bounded(analyst, "analyst"),
        "dataset": bounded(dataset, "dataset"),
        "leaks": [bounded(each, "a leak") for each in leaks],
        **stamp(),
    }
    named = unit_of(neighbours, unit)
    check_losses(losses, e, delta)
    bounded(text_of_losses(losses), "losses")
    return ChargeRequest(e, r, neighbours, note, fingerprint(location), delta, named, losses)


def unit_of(neighbours: Neighbours, unit: str) -> str:
    """What a unit is called.

    Raises:
        ParameterError: if it is too long, or the relation knows no units.
    """
    if unit and neighbours is not Neighbours.ADD_REMOVE_UNIT:
        raise ParameterError(
            f"Expected unit={unit!r} with neighbours={Neighbours.ADD_REMOVE_UNIT.value!r} alone, "
            f"got {neighbours.value!r}."
        )
    return bounded(unit, "unit")


def fingerprint(location: str) -> str:
    """A fingerprint of the place of data, never of its content; empty if the place is not known."""
    if not location:
        return ""
    return sha256(location.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def balance_of(state: State, name: str) -> Balance:
    """The budget of that name.

    Raises:
        BudgetError: if there is none.
    """
    found = state.budgets.get(key_of(name))
    if found is None:
        known = [balance.name for balance in state.budgets.values()]
        hint = did_you_mean(name, known)
        if not hint and 0 < len(known) <= FEW_BUDGETS:
            hint = f" It has {', '.join(known)}."
        raise BudgetError(f"The ledger has no budget {name!r}.{hint}")
    return found


def grant(state: State, name: str, request: ChargeRequest) -> Draft:
    """The entry of a charge.

    Raises:
        Refused: with the entry of a refusal.
        BudgetError: if there is no such budget.
    """
    balance = balance_of(state, name)
    steps = steps_between(request.neighbours, balance.neighbours)
    charged = _in_steps(request, steps)
    rule, why = _objection(balance, request, charged)
    if why:
        details = _details(request) | {"why": why, "rule": rule}
        draft = Draft(Kind.REFUSAL, key_of(name), details)
        raise Refused(f"Budget {balance.name!r} {why} Nothing was charged.", draft)
    details = _details(charged)
    if steps > 1:
        squared = charged.rho == request.rho * steps**2
        times = f"{steps**2} times" if squared else "as for any release of that epsilon"
        details["converted"] = (
            f"{request.price} for {request.neighbours} is charged {steps} times, rho {times}, "
            f"because {steps} of its changes make one of {balance.neighbours}"
        )
    return Draft(Kind.CHARGE, key_of(name), details)


def refusal(state: State, name: str, request: ChargeRequest) -> str:
    """Why a budget would not pay; empty if it would.

    Raises:
        BudgetError: if there is no such budget.
    """
    try:
        grant(state, name, request)
    except Refused as refused:
        return str(refused)
    return ""


def steps_between(asked: Neighbours, own: Neighbours) -> int:
    """How many times its ε a release under one relation costs a budget of another that pays it."""
    return STEPS.get((asked, own), 1)


def _in_steps(request: ChargeRequest, steps: int) -> ChargeRequest:
    epsilon = None if request.epsilon is None else request.epsilon * steps
    delta = request.delta
    if delta and request.epsilon is not None:
        delta = group_delta(delta, request.epsilon, steps)
    losses = request.losses
    if steps > 1 and request.epsilon is not None and not delta:
        losses = tuple(each.grouped(steps) for each in losses or (Loss(request.epsilon),))
    rho = request.rho * steps**2
    if epsilon is not None and steps > 1:
        rho = min(rho, pure_rho(epsilon))
    return replace(request, epsilon=epsilon, rho=rho, delta=delta, losses=losses)


def _details(request: ChargeRequest) -> dict[str, Any]:
    return {
        "epsilon": "" if request.epsilon is None else decimal_text(request.epsilon),
        "rho": decimal_text(request.rho),
        **({"delta": decimal_text(request.delta)} if request.delta else {}),
        "neighbours": request.neighbours.value,
        **({"unit": request.unit} if request.unit else {}),
        **({"losses": text_of_losses(request.losses)} if request.losses else {}),
        **request.note,
    }


def _objection(balance: Balance, request: ChargeRequest, charged: ChargeRequest) -> tuple[str, str]:
    """The rule by which a budget does not pay, and why; empty if it does."""
    objections = {
        "status": _status_objection(balance),
        "dataset": _dataset_objection(balance, request),
        "neighbours": _relation_objection(balance, request),
        "unit": _unit_objection(balance, request),
        "delta": _delta_objection(balance, request),
        "largest": _size_objection(balance, charged),
        "funds": _funds_objection(balance, charged),
    }
    return next(((rule, why) for rule, why in objections.items() if why), ("", ""))


def _status_objection(balance: Balance) -> str:
    match balance.status:
        case Status.OPEN:
            return ""
        case Status.RESTORED:
            return (
                "was restored from a backup that misses charges. State what was spent since: "
                "dampen budget thaw NAME --spent E."
            )
        case status:
            return f"is {status}."


def _dataset_objection(balance: Balance, request: ChargeRequest) -> str:
    asked = request.note.get("dataset", "")
    if balance.dataset and asked != balance.dataset:
        return f"is for the data set {balance.dataset!r}, not for {asked!r}."
    if balance.location and request.location != balance.location:
        return "is for a data set at another place."
    return ""


def _relation_objection(balance: Balance, request: ChargeRequest) -> str:
    own = balance.neighbours
    asked = request.neighbours
    if asked == own or (asked, own) in STEPS:
        return ""
    return (
        f"protects {protected(own, balance.unit)} ({own}), but this release protects "
        f"{protected(asked, request.unit)} ({asked}). Use another budget: dampen budget create "
        f"NAME --neighbours {asked}."
    )


def _unit_objection(balance: Balance, request: ChargeRequest) -> str:
    """Refuses a release for another unit: ε for patients says nothing about doctors."""
    of_units = balance.neighbours is Neighbours.ADD_REMOVE_UNIT
    if not of_units or not balance.unit or request.unit == balance.unit:
        return ""
    if not request.unit:
        return f"protects {balance.protects}. Pass unit= to state what this release protects."
    asked = protected(request.neighbours, request.unit)
    return (
        f"protects {balance.protects}, and this release protects {asked}. Open another budget: "
        f"dampen budget create NAME --neighbours {request.neighbours} --unit {request.unit}."
    )


def _delta_objection(balance: Balance, request: ChargeRequest) -> str:
    """Refuses a release with a δ from a budget that has none."""
    if not request.delta or balance.limit.delta is not None:
        return ""
    return (
        f"is pure: it has no delta, and this release needs delta {decimal_text(request.delta)}. "
        "Ask with a list of the possible values instead, or open a budget with delta=."
    )


def _size_objection(balance: Balance, charged: ChargeRequest) -> str:
    """Compares what would be charged, after conversion to the relation of the budget."""
    if balance.largest is None:
        return ""
    small = (
        charged.rho <= balance.largest**2 / 2
        if charged.epsilon is None
        else charged.epsilon <= balance.largest
    )
    if small:
        return ""
    return f"pays at most epsilon {decimal_text(balance.largest)} a question, not {charged.price}."


def _funds_objection(balance: Balance, charged: ChargeRequest) -> str:
    who = charged.note.get("analyst", "")
    cap = balance.cap(who)
    if cap is not None and not cap.covers(balance.by(who).plus(*charged.costs)):
        left = _left(cap, balance.by(who).epsilon, balance.by(who).rho)
        return f"cannot pay {charged.price} for {who!r}: {left} is left for this analyst."
    limit = balance.limit
    spent = balance.spent
    if limit.covers(spent.plus(*charged.costs)):
        return ""
    if charged.epsilon is None and limit.delta is None:
        return "has no delta, and this release has no pure epsilon."
    after = spent.delta + charged.delta
    if charged.delta and limit.delta is not None and not limit.keeps_half:
        return (
            "was opened by dampen 0.2 and has no delta left for releases that have one. Open "
            "another budget for them."
        )
    if charged.delta and limit.delta is not None and 2 * after > limit.delta:
        least = short_text(2 * after, up=True)
        return (
            f"cannot pay delta {decimal_text(charged.delta)}. Releases with a delta of their own "
            f"may use half of that of the budget, {short_text(limit.delta / 2, up=False)}, and "
            f"would use {short_text(after, up=True)}. Ask with a smaller delta, or open a budget "
            f"with a delta of {least} or more."
        )
    return f"cannot pay {charged.price}: {_left(limit, spent.epsilon, spent.rho)} is left."


def _left(limit: Limit, epsilon: Fraction | None, rho: Fraction) -> str:
    total = decimal_text(limit.epsilon)
    if limit.delta is None or limit.rho is None:
        return f"{short_text(limit.epsilon - (epsilon or 0), up=False)} of {total}"
    left = short_text(max(Fraction(0), limit.rho - rho), up=False)
    return (
        f"rho {left} of {short_text(limit.rho, up=False)} "
        f"(epsilon {total} at delta {decimal_text(limit.delta)})"
    )
