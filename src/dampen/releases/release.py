"""Releases: what every user-facing function returns, and the one way in which it is paid for.

1. Public parameters are checked: `ParameterError`, nothing charged.
2. The budget is charged (`pay`): `BudgetError` if it refuses, nothing charged.
3. Only then the data is looked at (`Paid.looking`): `DataError`, the charge stands.

A crash, an interrupt or bad data after step 2 costs the charge and never gives a free look.  All
that releases goes through `pay`; the contract suite in `tests/contracts` runs over every function.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from dampen.core.mechanisms import Mechanism, check_joint, check_k, named, select
from dampen.core.sampling import Entropy, SystemEntropy
from dampen.core.selection import Neighbours, Problem, Selection
from dampen.epsilon import Epsilon, asked_epsilon, decimal_text, short_text
from dampen.errors import DampenError, DataError, ParameterError, raise_alone
from dampen.printing import html_facts, text_of
from dampen.versions import library_version

__all__ = [
    "UNTOLD",
    "Budget",
    "Cost",
    "Keeper",
    "Paid",
    "Release",
    "composed_cost",
    "open_entropy",
    "pay",
    "release",
    "selection_cost",
]

X = TypeVar("X")

UNTOLD = "Public facts alone do not tell how good the answer is; public data of its shape does."


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release asks of a budget.  All of it is public.

    Attributes:
        epsilon: the ε of a pure ε-DP release.
        rho: its cost in zero-concentrated differential privacy, at most ε²/2.
        query: what was asked, in a few words.
        mechanism: the name of the mechanism.
        neighbours: the relation that ε speaks of.
        leaks: the public parameters that are taken from the data, and so are not covered by ε.
        accuracy: what the answer will be worth, a sentence from public facts alone; empty where
            they do not tell.
    """

    epsilon: Fraction
    rho: Fraction
    query: str
    mechanism: str
    neighbours: Neighbours
    leaks: tuple[str, ...] = ()
    accuracy: str = field(default="", compare=False)


class Budget(Protocol):
    """What a release charges: an account of a `dampen.Ledger`, or anything with this method."""

    def charge(self, cost: Cost, /) -> str | None:
        """Records the charge and returns its id; or raises `BudgetError` and records nothing."""
        ...


@runtime_checkable
class Keeper(Protocol):
    """A budget that keeps what was paid for, so that an answer that got lost can be fetched."""

    def keep(self, charge: str, answer: str, /) -> None:
        """Keeps the JSON of a release beside its charge."""
        ...


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer and the public facts about it; nothing else about the data.

    Attributes:
        answer: a label, a value, or a list of them.
        epsilon: the exact ε that it cost.
        mechanism: its name.
        neighbours: the relation that ε speaks of.
        parameters: the public parameters it was asked with.
        secure: False if the randomness came from a seeded generator.
        leaks: which public parameters were taken from the data; ε does not cover them.
        charge: the id of its entry in the ledger, if a budget paid.
        version: of the library.
        rho: its cost in zCDP, for budgets with a δ.
        accuracy: what such an answer is worth, a sentence from public facts alone; see
            `dampen.releases.accuracy`.  Where they do not tell, it says so.
    """

    answer: Any
    epsilon: Fraction
    mechanism: str
    neighbours: Neighbours
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secure: bool = True
    leaks: tuple[str, ...] = ()
    charge: str | None = None
    version: str = field(default_factory=library_version)
    rho: Fraction | None = None
    accuracy: str = UNTOLD

    def to_json(self) -> str:
        """One JSON object; ε is exact decimal text."""
        return json.dumps(
            {
                "answer": _text_keys(self.answer),
                "epsilon": decimal_text(self.epsilon),
                "mechanism": self.mechanism,
                "neighbours": str(self.neighbours),
                "parameters": dict(self.parameters),
                "secure": self.secure,
                "leaks": list(self.leaks),
                "charge": self.charge,
                "version": self.version,
                "rho": None if self.rho is None else short_text(self.rho, up=True),
                "accuracy": self.accuracy,
            },
            default=_plain,
        )

    def __repr__(self) -> str:
        insecure = "" if self.secure else ", NOT SECURE: seeded randomness"
        leaky = f", NOT COVERED BY EPSILON: {', '.join(self.leaks)}" if self.leaks else ""
        return (
            f"Release({self.answer!r}, epsilon={decimal_text(self.epsilon)}, "
            f"mechanism={self.mechanism!r}, neighbours={str(self.neighbours)!r}{insecure}{leaky})"
        )

    def __str__(self) -> str:
        """The answer and all public facts, one to a line."""
        return "\n".join(f"{name}: {text_of(value)}" for name, value in self._facts().items())

    def _repr_html_(self) -> str:
        return html_facts(self._facts())

    def _facts(self) -> dict[str, Any]:
        facts = {
            "answer": self.answer,
            "epsilon": decimal_text(self.epsilon),
            "mechanism": self.mechanism,
            "neighbours": self.neighbours,
            "accuracy": self.accuracy,
            "NOT SECURE": "" if self.secure else "seeded randomness",
            "NOT COVERED BY EPSILON": self.leaks,
            "charge": self.charge or "",
        }
        return {name: value for name, value in facts.items() if name == "answer" or value}


def release(
    problem: Problem[X],
    load: Callable[[], X],
    *,
    query: str,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    k: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """One private selection, from public parameters to a `Release`.

    Guarantee: ε-differential privacy for `problem.neighbours`, provided that the problem's δ is
    admissible for them.

    Args:
        problem: public parameters only; see `dampen.core.selection.Problem`.
        load: gives the private data; called after the charge, and only then.
        query: what the ledger records the charge under.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        mechanism: a name or a `Mechanism`.
        k: how many candidates to release; None for one.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.
        parameters: public facts to show in the release.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data is not as promised; the charge stands.
    """
    if not callable(load):
        raise ParameterError(
            f"Expected load to be a function that gives the data, got a {type(load).__name__}. "
            "Pass lambda: data, so that the data is looked at after the charge."
        )
    check_k(k, len(problem.candidates))
    chosen = named(mechanism)
    if (joint := getattr(problem, "joint", None)) is not None:
        check_joint(chosen, joint)
    cost = selection_cost(
        problem.neighbours, query=query, epsilon=epsilon, rho=rho, mechanism=chosen, k=k or 1
    )
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        answer = paid.draw(problem.selection(load()), problem.candidates, chosen, k)
    return paid.release(answer, parameters)


def selection_cost(
    neighbours: Neighbours,
    *,
    query: str,
    epsilon: Epsilon | None,
    mechanism: Mechanism,
    rho: Epsilon | None = None,
    k: int = 1,
    leaks: tuple[str, ...] = (),
) -> Cost:
    """The cost of k answers of one mechanism, which are ε-DP, or ρ-zCDP, together."""
    e = mechanism.asked_epsilon(epsilon, rho, k)
    return Cost(e, mechanism.noise.rho(e, k), query, mechanism.name, neighbours, leaks)


def composed_cost(
    neighbours: Neighbours,
    *,
    query: str,
    epsilon: Epsilon | None,
    mechanism: str,
    rho: Epsilon | None = None,
    leaks: tuple[str, ...] = (),
    shares: int = 1,
) -> Cost:
    """The cost of a release that is ε-DP in all and made of several parts.

    ρ = ε²/2, and ε²/2m where m parts have an equal share of ε each.
    """
    unit = Fraction(1, 2 * shares)
    e = asked_epsilon(epsilon, rho, unit)
    return Cost(e, unit * e**2, query, mechanism, neighbours, leaks)


def pay(cost: Cost, *, budget: Budget | None = None, entropy: Entropy | None = None) -> "Paid":
    """Charges a release whose parameters were checked, before any data is looked at."""
    bits = open_entropy(entropy)
    if budget is not None and not callable(getattr(budget, "charge", None)):
        raise ParameterError(
            "Expected budget= to be an account of a ledger, or an object with a method charge, got "
            f"a {type(budget).__name__}."
        )
    charge = None if budget is None else budget.charge(cost)
    return Paid(cost, bits, budget, charge)


@dataclass(frozen=True, slots=True)
class Paid:
    """The right to one release: its parameters were checked and its ε was charged."""

    cost: Cost
    entropy: Entropy
    budget: Budget | None = None
    charge: str | None = None

    @property
    def epsilon(self) -> Fraction:
        return self.cost.epsilon

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Where data is looked at: every failure is a `DataError` that says that the charge stands.

        Errors of other libraries may quote the data, so they are replaced, context included; set
        DAMPEN_TRACEBACK=1 to see them.
        """
        try:
            yield
        except Exception as error:
            if os.environ.get("DAMPEN_TRACEBACK"):
                raise DataError(self._told(error)) from error
            raise_alone(DataError(self._told(error)))
        except BaseException as interrupt:
            interrupt.__context__ = None  # what it interrupted may quote the data
            if self.stands:
                interrupt.add_note(self.stands)
            raise

    def draw(
        self, selection: Selection, names: Sequence[Any], mechanism: Mechanism, k: int | None = None
    ) -> Any:
        """Draws the name of one candidate, or a list of k of them."""
        picked = select(
            selection, epsilon=self.epsilon, mechanism=mechanism, k=k, entropy=self.entropy
        )
        return [names[i] for i in picked] if isinstance(picked, list) else names[picked]

    def release(
        self,
        answer: Any,
        parameters: Mapping[str, Any] | None = None,
        accuracy: str | None = None,
    ) -> Release:
        """The answer with its public facts, kept where the budget keeps answers.

        `accuracy` is for what is public and known only now; else it is that of the cost.
        """
        made = Release(
            answer,
            self.cost.epsilon,
            self.cost.mechanism,
            self.cost.neighbours,
            dict(parameters or {}),
            self.entropy.secure,
            self.cost.leaks,
            self.charge,
            rho=self.cost.rho,
            accuracy=accuracy or self.cost.accuracy or UNTOLD,
        )
        keeper: object = self.budget
        if self.charge is not None and isinstance(keeper, Keeper):
            # The caller has the answer: nothing that goes wrong with a copy may take it away.
            with self.looking(), suppress(Exception):
                keeper.keep(self.charge, made.to_json())
        return made

    @property
    def stands(self) -> str:
        """A sentence about the charge, empty where nothing was charged."""
        if self.budget is None:
            return ""
        named = f" ({self.charge})" if self.charge else ""
        return f"The charge of epsilon {decimal_text(self.cost.epsilon)}{named} stands."

    def _told(self, error: Exception) -> str:
        return " ".join(part for part in (_safe_text(error), self.stands) if part)


NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")


def _safe_text(error: Exception) -> str:
    """What may be said of an error that was raised with the data in hand."""
    if isinstance(error, ParameterError):
        # Parameters that are checked this late were taken from the data, and so were their sizes.
        return NUMBER.sub("…", str(error))
    if isinstance(error, DampenError):
        return str(error)
    return (
        f"Expected data that can be read and used; it gave a {type(error).__name__}. Set "
        "DAMPEN_TRACEBACK=1 to see it in full; it may then show private data."
    )


def open_entropy(entropy: Entropy | None) -> Entropy:
    """The entropy of a release: the operating system's, unless other may be used."""
    if entropy is None:
        return SystemEntropy()
    if not (hasattr(entropy, "read") and hasattr(entropy, "secure")):
        raise ParameterError(
            "Expected entropy to be a dampen.sampling.Entropy, with read and secure, got a "
            f"{type(entropy).__name__}."
        )
    if entropy.secure is not True and getattr(entropy, "allow_release", False) is not True:
        raise ParameterError(
            "Expected secure entropy for a release, got a seeded generator. For experiments on "
            "public data pass InsecureEntropy(seed, allow_release=True)."
        )
    return entropy


def _text_keys(answer: Any) -> Any:
    """JSON knows text as keys only; an answer per group has the groups as keys."""
    return {str(k): v for k, v in answer.items()} if isinstance(answer, dict) else answer


def _plain(value: Any) -> Any:
    """JSON for numpy numbers and exact numbers; text for any other label."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return decimal_text(value)
    return str(value)
