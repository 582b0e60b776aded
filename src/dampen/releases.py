"""Releases: what every user-facing function returns, and the one order in which it comes about.

1. Public parameters are checked: `ParameterError`, nothing charged.
2. The budget is charged: `BudgetError` if it refuses, nothing charged.
3. Only then the data is looked at: `DataError`, the charge stands.

A crash, an interrupt or bad data after step 2 costs the charge and never gives a free look.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import DataError, ParameterError
from dampen.mechanisms import Mechanism, check_joint, check_k, named, select
from dampen.sampling import Entropy, InsecureEntropy, SystemEntropy
from dampen.selection import Neighbours, Problem

X = TypeVar("X")


class Budget(Protocol):
    """What a release charges: an account of a `dampen.Ledger`, or anything with this method."""

    def charge(
        self, epsilon: Fraction, /, *, query: str, mechanism: str, neighbours: Neighbours
    ) -> None:
        """Records the charge, or raises `BudgetError` and records nothing."""
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
    """

    answer: Any
    epsilon: Fraction
    mechanism: str
    neighbours: Neighbours
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secure: bool = True

    def to_json(self) -> str:
        """One JSON object; ε is exact decimal text."""
        return json.dumps(
            {
                "answer": self.answer,
                "epsilon": decimal_text(self.epsilon),
                "mechanism": self.mechanism,
                "neighbours": str(self.neighbours),
                "parameters": dict(self.parameters),
                "secure": self.secure,
            },
            default=_plain,
        )

    def __repr__(self) -> str:
        insecure = "" if self.secure else ", NOT SECURE: seeded randomness"
        return (
            f"Release({self.answer!r}, epsilon={decimal_text(self.epsilon)}, "
            f"mechanism={self.mechanism!r}, neighbours={str(self.neighbours)!r}{insecure})"
        )


def release(
    problem: Problem[X],
    load: Callable[[], X],
    *,
    query: str,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    k: int | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """One private selection, from public parameters to a `Release`.

    Args:
        problem: public parameters only; see `dampen.selection.Problem`.
        load: gives the private data; called after the charge, and only then.
        query: what the ledger records the charge under.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanism: a name or a `Mechanism`.
        k: how many candidates to release; None for one.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.
        parameters: public facts to show in the release.

    Guarantee: ε-differential privacy for `problem.neighbours`, provided that the problem's δ is
    admissible for them.
    """
    check_k(k, len(problem.candidates))
    if (joint := getattr(problem, "joint", None)) is not None:
        check_joint(named(mechanism), joint)
    paid = pay(
        problem.neighbours,
        query=query,
        epsilon=epsilon,
        mechanism=mechanism,
        budget=budget,
        entropy=entropy,
    )
    return paid.release(problem, load, k=k, parameters=parameters)


@dataclass(frozen=True, slots=True)
class Paid:
    """The right to one release: its parameters were checked and its ε was charged."""

    epsilon: Fraction
    mechanism: Mechanism
    entropy: Entropy

    def release(
        self,
        problem: Problem[X],
        load: Callable[[], X],
        *,
        k: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Release:
        """Looks at the data and draws."""
        with after_the_charge():
            selection = problem.selection(load())
            picked = select(
                selection, epsilon=self.epsilon, mechanism=self.mechanism, k=k, entropy=self.entropy
            )
        names = problem.candidates
        return Release(
            [names[i] for i in picked] if isinstance(picked, list) else names[picked],
            self.epsilon,
            self.mechanism.name,
            problem.neighbours,
            dict(parameters or {}),
            self.entropy.secure,
        )


@contextmanager
def after_the_charge() -> Iterator[None]:
    """Where data is looked at: a parameter found wrong only here is a `DataError`."""
    try:
        yield
    except ParameterError as error:
        told = f"{error} This showed only with the data, so the charge stands."
        raise DataError(told) from None


def pay(
    neighbours: Neighbours,
    *,
    query: str,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Paid:
    """Checks the parameters of a release and charges it, before any data is read.

    `release` does both; this is for problems that exist only once data is read, because one of
    their public parameters is taken from it (with a `PrivacyLeakWarning`).
    """
    paid = Paid(exact(epsilon), named(mechanism), open_entropy(entropy))
    if budget is not None:
        name = paid.mechanism.name
        budget.charge(paid.epsilon, query=query, mechanism=name, neighbours=neighbours)
    return paid


def open_entropy(entropy: Entropy | None) -> Entropy:
    """The entropy of a release: the operating system, unless another was given and may be used."""
    if entropy is None:
        return SystemEntropy()
    if isinstance(entropy, InsecureEntropy) and not entropy.allow_release:
        raise ParameterError(
            "Expected secure entropy for a release, got a seeded generator. For experiments on "
            "public data pass InsecureEntropy(seed, allow_release=True)."
        )
    return entropy


def _plain(value: Any) -> Any:
    """JSON for numpy numbers and exact numbers; text for any other label."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return decimal_text(value)
    return str(value)
