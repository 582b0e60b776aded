"""What releases lose together: privacy loss distributions, added up with nothing rounded down.

**A loss in steps.**  A release *loses ε in m steps* if the laws P and Q of its answer on any two
neighbours are the ends of a chain P = P_0, P_1, ..., P_m = Q of laws of which any two that follow
each other are ε/m-DP: P_i(S) <= e^(ε/m) P_j(S) for |i - j| = 1 and all sets S of answers.  Laws
between the ends need not belong to any data set.

| release | loses ε in |
|---|---|
| anything that is ε-DP, such as randomised response | 1 step |
| discrete Laplace noise of scale m/ε on integers that move by m in all | m steps, by 1 each |
| continuous Laplace noise of scale S/ε on numbers that move by S in all | any number of steps |
| an ε/m-DP answer about rows, where a person has m | m steps, one row |

**Theorem 1.**  A release that loses ε in m steps is dominated by integer noise Z with
P(z) ~ e^(-ε |z| / m) and by Z + m: every test tells P from Q at most as well as it tells these two.
*Proof.*  Let b = ε/m, a = e^-b, and let φ be a test with x_i = E[φ] under P_i.  As P_i+1 is b-DP to
P_i, for φ and for 1 - φ, x_i+1 <= g(x_i) with g(x) = min(e^b x, 1 - e^-b (1 - x)).  g does not
fall, and x_m <= g(g(...g(x_0))).  Noise attains this.  P(Z >= t) is a^t / (1 + a) for t >= 0 and
1 - a^(1-t) / (1 + a) for t <= 0.  The two ends of the minimum meet in a / (1 + a) = P(Z >= 1), so
that g(P(Z >= t)) = P(Z >= t - 1) for every integer t, and g is linear between these points.  So the
test that says yes for Z > t, and with a fixed chance for Z = t, follows g in every step, and some
such test begins at x_0. ∎

So a chain of m steps is a chain of d steps too if d divides m, and no release that loses ε in any
number of steps can lose more than the limit, continuous Laplace noise.  Steps of one release that
consists of several parts, each given the earlier ones, are counted for each part.

The privacy loss of this noise is b (m - 2j) with probability 1 / (1 + a) for j = 0,
a^j (1 - a) / (1 + a) for 0 < j < m, and a^m / (1 + a) for j = m; both directions are alike.  One
step is randomised response, the worst of all ε-DP releases (Kairouz, Oh and Viswanath 2015).

**Theorem 2.**  Let releases lose ε_i in m_i steps, and let others be ρ-zCDP in all.  All may be
chosen by earlier answers, but ε_i, m_i and ρ are fixed beforehand.  Together they are (ε, δ)-DP for

    δ = Σ over losses l of P(L = l) D(ε - l),

where L is the sum of independent losses as above and D(x) bounds the δ of a ρ-zCDP release at x;
without others D(x) = max(0, 1 - e^x).
*Proof.*  By theorem 1 and Blackwell's theorem the answer of release i, given all before it, is a
function of Z_i, or of Z_i + m_i, and of chance.  So all answers are a function of these Z's, which
are independent and are drawn first, and of the other answers.  Given the Z's the others are ρ-zCDP.
Where the Z's have likelihood ratio e^l, the part of δ that is theirs is P(L = l) times the δ of the
others at ε - l. ∎

So a sum holds for prices and noises that were fixed beforehand, and not where somebody chooses how
much to spend by earlier answers, or when to stop because of what is left: it is a report and never
pays.  A question that leaves its second charge out, because its first step found too few rows,
chooses so as well.

**Numbers.**  The laws of n equal releases are powers of a polynomial.  Laws of different steps are
added up on a common grid, losses rounded *up* where it does not have them.  Probabilities are
integers in units of 2^-B, rounded up.  Both can only raise δ.  Which ε has the δ is proved in ball
arithmetic.  D is that of `dampen.core.zcdp`, at orders α that were found in floats: every α gives a
bound that holds.  For x < 0, D(x) = 1 - e^x + e^x D(-x), as neighbours are symmetric.
(ε_i, δ_i)-DP releases lose ε_i in one step and add Σ δ_i.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from dampen.core.noise import laplace_rho
from dampen.core.selection import FloatArray
from dampen.core.zcdp import end_of, epsilon_at, exactly, log_delta, rounded
from dampen.epsilon import decimal_text, exact, short_text
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb, fmpz_poly

__all__ = [
    "ANY",
    "ONE_PART",
    "Loss",
    "Losses",
    "check_losses",
    "composed_epsilon",
    "equal_parts",
    "read_losses",
    "rho_of",
    "text_of_losses",
]

ANY = 0
"""Steps of a loss that may be divided into any number of steps, such as continuous noise."""

STEPS = 1 << 15
"""Points of the grid on which laws of different steps are added up."""

MOST_LOSSES = 48
"""Different losses that are added up as they are; of more, some are rounded up."""

LATTICE = 1 << 12
"""Points of the law of equal releases, at most: in ten steps each it is nearly as tight as in more.
"""

MOST_STEPS = 1 << 8
"""Steps of one release, at most, that are added up as they are."""

BITS = 256
"""Bits of a probability, beside those of δ."""

PROOF_BITS = 128
"""Bits of the balls that prove a sum of terms above 0."""

NEGLIGIBLE = 2.0**-40
"""Terms below this part of δ are added up as one."""

MARGINS = (Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 10**3))
"""What an ε from floats is raised by, until it is proved."""

DIGITS = 30
"""Digits of a number of steps, at most."""

LONGEST = 9
"""Digits of a number of parts, at most."""

_PART = re.compile(rf"(?:(\d{{1,{LONGEST}}}) x )?(\S+) in (any|\d{{1,{DIGITS}}}) steps?")


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """What equal parts of a release lose: ε each, in so many steps.

    Attributes:
        epsilon: of each part.
        steps: m, or `ANY`.
        times: how many parts.

    >>> print(Loss(Fraction("0.2")), Loss(Fraction(1, 3), ANY, 5), sep="; ")
    0.2 in 1 step; 5 x 1/3 in any steps

    Raises:
        ParameterError: if it is no loss.
    """

    epsilon: Fraction
    steps: int = 1
    times: int = 1

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 <= self.steps < 10**DIGITS:
            raise ParameterError(f"Expected a loss above 0 in 0 or more steps, got {self!r}.")
        if not 0 < self.times < 10**LONGEST:
            raise ParameterError(f"Expected from 1 to 10^{LONGEST} - 1 parts, got {self.times}.")

    def __str__(self) -> str:
        several = f"{self.times} x " if self.times > 1 else ""
        steps = {ANY: "any steps", 1: "1 step"}.get(self.steps, f"{self.steps} steps")
        return f"{several}{decimal_text(self.epsilon)} in {steps}"

    @property
    def total(self) -> Fraction:
        """The ε of all parts."""
        return self.times * self.epsilon

    @property
    def rho(self) -> Fraction:
        """The zCDP cost of all parts; see `dampen.core.noise`."""
        return self.times * laplace_rho(self.epsilon, self.steps or None)

    def grouped(self, steps: int) -> Self:
        """The loss of neighbours that are so many steps apart, each of which loses this."""
        return replace(self, epsilon=steps * self.epsilon, steps=steps * self.steps)


Losses: TypeAlias = Callable[[Fraction], tuple[Loss, ...]]
"""What the parts of a release lose, as a function of the ε of all of them."""


def equal_parts(count: int, steps: int = 1) -> Losses:
    """What so many equal parts lose, each in so many steps.

    >>> text_of_losses(equal_parts(2)(Fraction("0.2")))
    '2 x 0.1 in 1 step'
    """
    return lambda epsilon: (Loss(epsilon / count, steps, count),)


ONE_PART: Losses = equal_parts(1)
"""What any ε-DP release loses."""


def rho_of(losses: Iterable[Loss]) -> Fraction:
    """The zCDP cost of all parts of a release."""
    return sum((each.rho for each in losses), Fraction(0))


def _epsilon_of(losses: Iterable[Loss]) -> Fraction:
    """The ε of all parts of a release."""
    return sum((each.total for each in losses), Fraction(0))


def check_losses(losses: Iterable[Loss], epsilon: Fraction | None, delta: Fraction) -> None:
    """Refuses losses that are not those of a release.

    Raises:
        ParameterError: if there are some, and the release has a δ, or another ε than they have.
    """
    total = _epsilon_of(losses)
    if total and (delta or total != epsilon):
        raise ParameterError(
            f"Expected losses that add up to the epsilon of a release without delta, got "
            f"{short_text(total, up=True)}."
        )


def text_of_losses(losses: Iterable[Loss]) -> str:
    """All parts of a release, as a ledger has them."""
    return ", ".join(map(str, losses))


def read_losses(text: str) -> tuple[Loss, ...]:
    """The parts in a text.

    >>> read_losses("2 x 0.1 in 1 step, 0.3 in any steps")[1]
    Loss(epsilon=Fraction(3, 10), steps=0, times=1)

    Raises:
        ParameterError: if they cannot be read.
    """
    return tuple(map(_read_loss, text.split(", "))) if text else ()


def _read_loss(text: str) -> Loss:
    found = _PART.fullmatch(text)
    if found is None:
        raise ParameterError(f"Expected a loss such as '0.2 in 10 steps', got {text[:100]!r}.")
    times, epsilon, steps = found.groups()
    return Loss(exact(epsilon), ANY if steps == "any" else int(steps), int(times or 1))


def composed_epsilon(
    losses: Iterable[Loss], delta: Fraction, rho: Fraction = Fraction(0)
) -> Fraction:
    """An ε at which releases of these losses, and others of ρ in all, are (ε, δ)-DP together.

    >>> counts = Loss(Fraction("0.2"), times=50)
    >>> float(composed_epsilon([counts], Fraction("1e-6")))
    6.88...
    >>> float(composed_epsilon([replace(counts, steps=ANY)], Fraction("1e-6")))
    6.66...

    Args:
        losses: of the releases.
        delta: the δ, above 0.
        rho: of other releases in zCDP.
    """
    parts = _few(losses)
    if not parts:
        return epsilon_at(rho, delta)
    total = _epsilon_of(parts)
    bits = BITS + len(str(delta.denominator)) * 4
    law = _added_up([_Lattice.of(_coarser(each), bits) for each in parts], bits)
    if rho:
        return min(total + epsilon_at(rho, delta), _solved_beside(law, rho, delta))
    return min(total, _solved(law, delta))


def _few(losses: Iterable[Loss]) -> list[Loss]:
    """At most `MOST_LOSSES` different ones, of which some stand for two of the others."""
    times = Counter[tuple[int, Fraction]]()
    for each in losses:
        times[each.steps, each.epsilon] += each.times
    found = [Loss(epsilon, steps, n) for (steps, epsilon), n in sorted(times.items())]
    while len(found) > MOST_LOSSES:
        found = _fewer(found, len(found) - MOST_LOSSES)
    return found


def _fewer(losses: list[Loss], fewer: int) -> list[Loss]:
    """At most so many fewer: one in place of two beside each other, where that costs least."""
    pairs = list(pairwise(losses))
    both = [_for_both(*pair) for pair in pairs]
    added = [each.rho - one.rho - other.rho for each, (one, other) in zip(both, pairs, strict=True)]
    taken: set[int] = set()
    for i in sorted(range(len(both)), key=added.__getitem__):
        if len(taken) < fewer and not {i - 1, i + 1} & taken:
            taken.add(i)
    found = [both[i] if i in taken else each for i, each in enumerate(losses)]
    return [each for i, each in enumerate(found) if i - 1 not in taken]


def _for_both(one: Loss, other: Loss) -> Loss:
    """The larger loss, in steps that both can be taken in: of `ANY`, which is 0, and m it is m."""
    epsilon = max(one.epsilon, other.epsilon)
    return Loss(epsilon, math.gcd(one.steps, other.steps), one.times + other.times)


def _coarser(loss: Loss) -> Loss:
    """A loss that stands for this one, in steps that are few enough to be added up.

    Steps are taken together, as many at a time as cost least; some may be added for that.
    """
    most = min(MOST_STEPS, max(1, LATTICE // loss.times))
    if loss.steps == ANY:  # a power of two, so that few grids have many losses
        return replace(loss, steps=1 << (most.bit_length() - 1))
    if loss.steps <= most:
        return loss
    one = loss.epsilon / loss.steps
    together = {n: -(-loss.steps // n) for n in range(1, most + 1)}
    chains = (replace(loss, epsilon=one * n * size, steps=n) for n, size in together.items())
    return min(chains, key=lambda each: each.rho)


@dataclass(frozen=True, slots=True)
class _Lattice:
    """The law of the sum of equal losses, which are -n, -n + 2, ..., n times a unit.

    Attributes:
        unit: ε/m.
        weights: probabilities, rounded up, in units of 2^-bits.
    """

    unit: Fraction
    weights: list[int]

    @classmethod
    def of(cls, loss: Loss, bits: int) -> Self:
        unit = loss.epsilon / loss.steps
        return cls(unit, _power(_one(unit, loss.steps, bits), loss.times, bits))

    @property
    def losses(self) -> list[Fraction]:
        n = len(self.weights) - 1
        return [(2 * j - n) * self.unit for j in range(n + 1)]


@dataclass(frozen=True, slots=True)
class _Law:
    """What all of them lose, the smallest loss first, and how likely, in units of 2^-bits."""

    losses: list[Fraction]
    weights: list[int]
    bits: int


def _one(unit: Fraction, steps: int, bits: int) -> list[int]:
    """The law of one loss: see theorem 1, from its smallest loss on."""
    from flint import arb, ctx

    with ctx.workprec(2 * bits + 64):
        a = (-exactly(unit)).exp()
        end = arb(2) ** bits / (1 + a)
        inner = [end * (1 - a) * a**j for j in range(steps - 1, 0, -1)]
        law = [end * a**steps, *inner, end]
        return [math.ceil(end_of(each.upper())) for each in law]


def _power(one: list[int], times: int, bits: int) -> list[int]:
    """The law of the sum of so many."""
    from flint import fmpz_poly

    base = fmpz_poly(one)
    found = fmpz_poly([1 << bits])
    while times:
        if times & 1:
            found = _product(found, base, bits)
        times >>= 1
        if times:
            base = _product(base, base, bits)
    return [int(each) for each in found]


def _product(one: "fmpz_poly", other: "fmpz_poly", bits: int) -> "fmpz_poly":
    """The law of a sum, in the same units, rounded up."""
    from flint import fmpz_poly

    return fmpz_poly([-(-int(each) >> bits) for each in one * other])


def _added_up(lattices: list[_Lattice], bits: int) -> _Law:
    """The law of the sum: exact losses if one grid has all of them, else rounded up."""
    if len(lattices) == 1:
        return _Law(lattices[0].losses, lattices[0].weights, bits)
    total = sum((each.losses[-1] for each in lattices), Fraction(0))
    step = max(_common(each.unit for each in lattices), 2 * total / STEPS)
    placed = [_placed(each, step) for each in lattices]
    laws = [law for _, law in placed]
    while len(laws) > 1:  # short ones first
        pairs = zip(laws[::2], laws[1::2], strict=False)
        odd = laws[len(laws) // 2 * 2 :]
        laws = [_product(one, other, bits) for one, other in pairs] + odd
    first = sum(each for each, _ in placed)
    weights = [int(each) for each in laws[0]]
    return _Law([(first + j) * step for j in range(len(weights))], weights, bits)


def _common(units: Iterable[Fraction]) -> Fraction:
    """The largest number of which all of them are multiples."""
    found = list(units)
    whole = math.lcm(*(each.denominator for each in found))
    return Fraction(math.gcd(*(int(each * whole) for each in found)), whole)


def _placed(lattice: _Lattice, step: Fraction) -> tuple[int, "fmpz_poly"]:
    """A law on the grid, losses rounded up, and where its first point is."""
    from flint import fmpz_poly

    places = [math.ceil(loss / step) for loss in lattice.losses]
    spread = [0] * (places[-1] - places[0] + 1)
    for place, weight in zip(places, lattice.weights, strict=True):
        spread[place - places[0]] += weight
    return places[0], fmpz_poly(spread)


def _solved(law: _Law, delta: Fraction) -> Fraction:
    """The ε with the given δ, rounded up: from the largest loss down, until δ is exceeded.

    Between two losses δ is A - e^ε B, with A the probability of all above and B = Σ P(l) e^-l.
    """
    from flint import arb, ctx

    with ctx.workprec(2 * law.bits + 64):
        allowed = exactly(delta) * arb(2) ** law.bits
        above = arb(0)
        shrunk = arb(0)
        for loss, weight in zip(reversed(law.losses), reversed(law.weights), strict=True):
            at_loss = (above - exactly(loss).exp() * shrunk).upper()
            if not at_loss <= allowed:
                break
            above += weight
            shrunk += weight * (-exactly(loss)).exp()
            lowest = loss
        found = ((above - allowed) / shrunk).log() if above > allowed else arb(0)
        bound = min(end_of(found.upper()), lowest) if found.is_finite() else lowest
    return max(Fraction(0), rounded(bound, up=True))


def _solved_beside(law: _Law, rho: Fraction, delta: Fraction) -> Fraction:
    """The ε with the given δ where others cost ρ: found in floats, then proved."""
    orders = _Orders.of(float(rho))
    losses = np.array([float(each) for each in law.losses])
    chances = np.array([each / (1 << law.bits) for each in law.weights])

    def fits(epsilon: float) -> bool:
        return float(chances @ orders.delta(epsilon - losses)) <= delta

    low = 0.0
    high = float(law.losses[-1] + epsilon_at(rho, delta))
    for _ in range(60):
        middle = (low + high) / 2
        if fits(middle):
            high = middle
        else:
            low = middle
    raised = (rounded(Fraction(high) * (1 + margin), up=True) for margin in MARGINS)
    found = (each for each in raised if _is_proved(law, rho, delta, each, orders))
    return next(found, law.losses[-1] + epsilon_at(rho, delta))


def _is_proved(
    law: _Law, rho: Fraction, delta: Fraction, epsilon: Fraction, orders: "_Orders"
) -> bool:
    """Whether theorem 2 gives at most δ at this ε, in balls.

    From the loss on that makes the others negligible, all smaller ones count as that one.
    """
    from flint import arb, ctx

    away = np.array([float(epsilon - loss) for loss in law.losses])
    less = orders.less(np.abs(away)).tolist()
    counted = np.flatnonzero((orders.delta(away) >= NEGLIGIBLE * float(delta)) | (away <= 0))
    first = max(int(counted[0]) - 1, 0) if len(counted) else len(away) - 1
    weights = [sum(law.weights[: first + 1]), *law.weights[first + 1 :]]
    with ctx.workprec(PROOF_BITS):
        cost = exactly(rho)
        total = arb(0)
        for i, weight in enumerate(weights, start=first):
            total += weight * _rest(cost, epsilon - law.losses[i], exactly(Fraction(less[i])))
        return bool(total <= exactly(delta) * arb(2) ** law.bits)


def _rest(rho: "arb", x: Fraction, less: "arb") -> "arb":
    """At least D(x), by the order α of which this is α - 1."""
    from flint import arb

    found = log_delta(rho, exactly(abs(x)), 1 + less).exp().min(arb(1))
    return found if x >= 0 else 1 - exactly(x).exp() * (1 - found)


@dataclass(frozen=True, slots=True, eq=False)
class _Orders:
    """Which order α bounds the δ of ρ-zCDP at x >= 0 best: a table, for ln(α - 1).

    The bound is least where (2α - 1) ρ + ln(1 - 1/α) is x.
    """

    rho: float
    x: FloatArray
    log_less: FloatArray

    @classmethod
    def of(cls, rho: float) -> Self:
        log_less = np.linspace(-34.0, 340.0, 1 << 13)
        less = np.exp(log_less)
        return cls(rho, (2 * less + 1) * rho - np.log1p(1 / less), log_less)

    def less(self, x: FloatArray) -> FloatArray:
        """α - 1."""
        return np.exp(np.interp(x, self.x, self.log_less))

    def delta(self, x: FloatArray) -> FloatArray:
        """D(x), in floats."""
        away = np.abs(x)
        less = self.less(away)
        log = less * ((1 + less) * self.rho - away - np.log1p(1 / less)) - np.log1p(less)
        found = np.exp(np.minimum(log, 0.0))
        nearer = np.exp(np.minimum(x, 0.0))
        return np.where(x < 0, 1 - nearer * (1 - found), found)
