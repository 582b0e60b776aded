"""The cost of a release, the budget that pays for it and the offered price."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp
from typing import Protocol, runtime_checkable

from dampen.core.losses import ANY, ONE_PART, Loss, Losses, check_losses, rho_of
from dampen.core.mechanisms import Mechanism
from dampen.core.noise import EXPONENTIAL, LAPLACE, pure_rho
from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon, asked_epsilon, exact, price_text, short_text
from dampen.errors import ParameterError
from dampen.schema.schema import protected

__all__ = [
    "Budget",
    "Cost",
    "Keeper",
    "Price",
    "composed_cost",
    "group_delta",
    "grouped",
    "rho_from",
    "selection_cost",
]

MOST_EXPONENT = 600


@dataclass(frozen=True, slots=True)
class Price:
    """What a caller offers for an answer: ε, or in its place the ρ of zCDP; exactly one of them."""

    epsilon: Epsilon | None = None
    rho: Epsilon | None = None

    def asked(self, rho: Callable[[Fraction], Fraction] = pure_rho) -> Fraction:
        """The ε of a release that costs `rho` of ε in zCDP.

        Raises:
            ParameterError: if both or none were offered, or what was offered is no positive number.
        """
        return asked_epsilon(self.epsilon, self.rho, rho)

    @property
    def pure(self) -> bool:
        """Whether ε is offered; noise for ρ may be Gaussian."""
        return self.rho is None

    @property
    def selection(self) -> str:
        """The mechanism that selects one candidate best at this price.

        For ε permute-and-flip; for ρ the exponential mechanism, which allows twice the ε, and
        permute-and-flip is never better than it at twice the ε (McKenna and Sheldon 2020).
        """
        return "pf" if self.pure else "em"

    def divided(self, parts: int) -> "Price":
        """The price of one of `parts` equal steps of group privacy: ε by their number, ρ by its
        square.

        Raises:
            ParameterError: if what was offered is no positive number.
        """
        epsilon = None if self.epsilon is None else exact(self.epsilon) / parts
        rho = None if self.rho is None else exact(self.rho, "rho") / parts**2
        return Price(epsilon, rho)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release asks of a budget.  All of it is public.

    Attributes:
        epsilon: the ε of a pure ε-DP release; if it is not pure, the root of 2ρ, which only says
            how much noise is drawn.
        rho: its cost in zero-concentrated differential privacy, the sum of that of its parts; of a
            pure release at most ε tanh(ε/2).
        query: what was asked, in a few words.
        mechanism: the name of the method that answers.
        neighbours: the relation that ε speaks of.
        leaks: the public parameters that are taken from the data, and so are not covered by ε.
        delta: the δ of an (ε, δ)-DP release; 0 for a pure one.
        pure: whether ε holds; False for Gaussian noise, which is ρ-zCDP alone.
        unit: where ε protects a unit with all that belongs to it, what it is called: the column
            that names the person, or "source".
        losses: what its parts lose, if that is less than any ε-DP release does: their ε add up to
            that of the release (`dampen.core.losses`).  Of a release that is not pure, or has a δ,
            there is none.

    Raises:
        ParameterError: if the parts do not add up.
    """

    epsilon: Fraction
    rho: Fraction
    query: str
    mechanism: str
    neighbours: Neighbours
    leaks: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)
    pure: bool = True
    unit: str = ""
    losses: tuple[Loss, ...] = ()

    def __post_init__(self) -> None:
        check_losses(self.losses, self.pure_epsilon, self.delta)

    @property
    def parts(self) -> tuple[Loss, ...]:
        """What its parts lose; where nothing is known of them, what any ε-DP release does."""
        return self.losses or (Loss(self.epsilon),)

    @property
    def protects(self) -> str:
        """Whom ε protects, in words: such as "one patient, with all their rows"."""
        return protected(self.neighbours, self.unit)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """ε, None where there is none."""
        return self.epsilon if self.pure else None

    @property
    def price(self) -> str:
        """ε, or ρ where there is no ε, in words."""
        return price_text(self.pure_epsilon, self.rho)


def group_delta(delta: Fraction, epsilon: Fraction, steps: int) -> Fraction:
    """The δ of an (ε, δ)-DP release for groups of `steps`: δ (1 + e^ε + ... + e^((steps-1) ε)).

    Rounded up; never below the exact number, for the exponential of Python is off by less than
    2^-40 of itself.

    Raises:
        ParameterError: if it is not below 1.
    """
    if not delta:
        return delta
    exponents = [float((i * epsilon).limit_denominator(10**12)) for i in range(steps)]
    if max(exponents) > MOST_EXPONENT:
        raise ParameterError("Expected a smaller epsilon: the delta of a group would be above 1.")
    above = sum(Fraction(exp(each)) for each in exponents) * (1 + Fraction(1, 2**30))
    found = delta if steps == 1 else delta * above
    if found >= 1:
        raise ParameterError("Expected a smaller delta: that of a group would be above 1.")
    return found.limit_denominator(10**30) + Fraction(1, 10**30) if steps > 1 else found


def grouped(step: Cost, steps: int, neighbours: Neighbours) -> Cost:
    """The cost of a release for `steps` steps of its relation, which make one of another.

    Group privacy: m ε, and m² ρ (Bun and Steinke 2016, Proposition 1.9).  A pure release is mε-DP,
    which may be the lower ρ, and loses it in m steps.
    """
    epsilon = steps * step.epsilon
    rho = steps**2 * step.rho
    known = step.pure and not step.delta and steps > 1
    return replace(
        step,
        epsilon=epsilon,
        rho=min(rho, pure_rho(epsilon)) if step.pure else rho,
        delta=group_delta(step.delta, step.epsilon, steps),
        neighbours=neighbours,
        losses=tuple(each.grouped(steps) for each in step.parts) if known else step.losses,
    )


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


def selection_cost(
    neighbours: Neighbours,
    price: Price,
    *,
    query: str,
    mechanism: Mechanism,
    k: int = 1,
    norm: float = 1.0,
    leaks: tuple[str, ...] = (),
) -> Cost:
    """The cost of k answers of one mechanism, which are ε-DP, or ρ-zCDP, together.

    A joint release that moves by `norm` in the 1-norm costs less the more scores share it.
    """
    epsilon = mechanism.asked_epsilon(price.epsilon, price.rho, k, norm)
    rho = _shown(mechanism.rho(epsilon, k, norm), price)
    losses = _selection_losses(mechanism, epsilon, k)
    return Cost(epsilon, rho, query, mechanism.name, neighbours, leaks, losses=losses)


def _selection_losses(mechanism: Mechanism, epsilon: Fraction, k: int) -> tuple[Loss, ...]:
    """Continuous noise on all scores, or one draw after the other; ρ tells more of Gumbel noise."""
    if mechanism.noise == LAPLACE:
        return (Loss(epsilon, ANY),)
    if mechanism.noise == EXPONENTIAL and mechanism.shift is None:
        return (Loss(epsilon / k, ANY, times=k),)
    return ()


def composed_cost(
    neighbours: Neighbours,
    price: Price,
    *,
    query: str,
    mechanism: str,
    leaks: tuple[str, ...] = (),
    rho: Callable[[Fraction], Fraction] | None = None,
    delta: Fraction = Fraction(0),
    pure: bool = True,
    losses: Losses = ONE_PART,
) -> Cost:
    """The cost of a release that is ε-DP in all, or (ε, δ)-DP, and made of several parts.

    `losses` of ε are what its parts lose; where nothing is known of them, what any ε-DP release
    does.  `rho` of ε is its cost in zCDP, that of its losses unless another one is proved.  With a
    δ it is δ-approximate zCDP of that ρ (Bun and Steinke 2016): P and Q are within δ of two laws
    that are ε-DP to each other.  A release that is not pure is ρ-zCDP alone.
    """
    rho = rho or rho_from(losses, pure=pure)
    epsilon = price.asked(rho)
    lost = losses(epsilon)
    return Cost(
        epsilon,
        _shown(rho(epsilon), price),
        query,
        mechanism,
        neighbours,
        leaks,
        delta,
        pure,
        losses=lost if pure and lost != (Loss(epsilon),) else (),
    )


def rho_from(losses: Losses, *, pure: bool) -> Callable[[Fraction], Fraction]:
    """The cost in zCDP as a function of ε: that of the losses, or of Gaussian noise."""
    return (lambda epsilon: rho_of(losses(epsilon))) if pure else (lambda epsilon: epsilon**2 / 2)


def _shown(rho: Fraction, price: Price) -> Fraction:
    """ρ as its text has it, rounded up where that is long; never above a ρ that was offered."""
    return rho if price.rho is not None else Fraction(short_text(rho, up=True).lstrip("<"))
