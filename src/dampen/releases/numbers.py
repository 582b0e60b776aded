"""Noisy numbers with the exact law of their noise, and the intervals that follow from it.

- `Law`: the law of the noise in the numbers of a release, which gives their intervals.
- `ranked`, `winner`: a ranking with its noisy counts, a winner with its margin.
- `bars`, `plot`, `html_bars`: pictures of releases.  All of it is public.

The noise of a release is public: its law is known before anything is drawn.  So an interval around
a noisy number holds the true one with a stated probability, whatever the data is, and costs no
privacy: it is a function of what was released.

The true number is that of the rows as they were counted: with values moved to the public range and
to the public grid, and rows without a value left out.

**Which category, and how much** (`ranked`, `winner`).  Add/remove one row; c_i counts the rows of
category i, and a row is in one category.  ε pays for names and numbers together.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from html import escape
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from dampen.core.losses import equal_parts
from dampen.core.sampling import (
    LARGEST_SCALE,
    Entropy,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    random_order,
)
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.columns import DAY, Measure, as_bound, in_own_type
from dampen.epsilon import check_length, decimal_text, exact
from dampen.errors import ParameterError
from dampen.printing import printable, text_of
from dampen.releases.cost import Cost, Price, composed_cost

if TYPE_CHECKING:
    from dampen.releases.release import Release

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "BracketLaw",
    "IntegerNoise",
    "Law",
    "MarginLaw",
    "Ranked",
    "RatioLaw",
    "ShiftLaw",
    "ThresholdLaw",
    "TypedLaw",
    "Winner",
    "at_most",
    "check_scale",
    "checked_confidence",
    "drawn_noise",
    "html_bars",
    "law_from",
    "likely",
    "noise_cost",
    "noise_for",
    "plot",
    "ranked",
    "share",
    "winner",
    "with_noise",
]

PLACES = np.linspace(0, 1, 65)
"""Where the interval of a ratio is looked for, before its ends are narrowed down."""
BRACKET = Fraction("0.95")
"""Confidence of the interval that is drawn with a quantile."""
SHARES = np.linspace(0, 1, 4097)
"""Where quantiles are tabulated."""


IntegerNoise: TypeAlias = Literal["discrete-laplace", "discrete-gaussian"]
"""Integers Z with P(z) proportional to exp(-|z| / scale), or to exp(-z² / (2 scale²))."""
LAPLACE: IntegerNoise = "discrete-laplace"
GAUSSIAN: IntegerNoise = "discrete-gaussian"
FINEST: Mapping[Measure, Fraction] = {
    "date": Fraction(1),
    "time": Fraction(1, DAY),
    "duration": Fraction(1, 10**6),
}
"""What values of these types are rounded to: whole days, seconds, and microseconds."""
ALL_BUT_SURE = 1 - 2.0**-53
"""The largest float below 1."""
MOST_ADDED = 2000
"""Up to this scale the probabilities of Gaussian noise are added up."""


def drawn_noise(noise: IntegerNoise, scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent integers, drawn exactly."""
    draw = discrete_gaussian if noise == GAUSSIAN else discrete_laplace
    return draw(scale, size, entropy)


class Law(Protocol):
    """The law of the noise in the numbers of a release."""

    def is_number(self, number: Any, /) -> bool:
        """Whether it is one noisy number, not several by name."""
        ...

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        """Both ends of an interval that misses the true number with probability `tail` at most."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; `law_from` reads it."""
        ...


@dataclass(frozen=True, slots=True)
class ShiftLaw:
    """number = true number + unit Z, for integer noise Z.

    **Theorem.**  The interval from number - unit B to number + unit B, for the smallest B at which
    P(|Z| > B) is at most 1 - confidence (`likely`), holds the true number with at least the stated
    confidence, and with less than P(|Z| = B) more.

    Attributes:
        scale: of the integer noise.
        unit: what one step of it is worth.
        least: a public lower bound of the true number, if there is one: intervals begin there.
        noise: its law.
    """

    scale: Fraction
    unit: Fraction = Fraction(1)
    least: int | None = None
    noise: IntegerNoise = LAPLACE

    def is_number(self, number: Any, /) -> bool:
        return not isinstance(number, Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        steps = likely(self.scale, tail, self.noise)
        if isinstance(number, int) and self.unit == 1:
            least = number - steps if self.least is None else self.least
            return max(number - steps, least), max(number + steps, least)
        width = steps * self.unit
        ends = [_exactly(number) - width, _exactly(number) + width]
        if self.least is not None:
            ends = [max(end, Fraction(self.least)) for end in ends]
        low, high = (int(end) if self.unit.denominator == 1 else float(end) for end in ends)
        return low, high

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": self.noise,
            "scale": _text(self.scale),
            "unit": _text(self.unit),
            "least": self.least,
        }


@dataclass(frozen=True, slots=True)
class MarginLaw:
    """A margin of a winner over all others: see `winner`.

    **Theorem.**  Where the noise E_j of all candidates is at most B, the true lead is between
    margin - B and margin + B + 1.  P(all E_j <= B) = (1 - a^(B+1))^candidates, a = exp(-1/scale).

    Attributes:
        scale: of the noise, integers >= 0.
        candidates: how many there are.
        unit: the steps of a row or a person, in which the noise is counted.
    """

    scale: Fraction
    candidates: int
    unit: int = 1

    def is_number(self, number: Any, /) -> bool:
        return not isinstance(number, Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        one = -math.expm1(math.log1p(-min(float(tail), ALL_BUT_SURE)) / self.candidates)
        most = max(0, math.ceil(-float(self.scale) * math.log(one)) - 1)
        steps = round(number * self.unit)
        low = steps - most
        high = steps + most + 1
        return (low, high) if self.unit == 1 else (low / self.unit, high / self.unit)

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": "margin",
            "scale": _text(self.scale),
            "candidates": self.candidates,
            "unit": self.unit,
        }


@dataclass(frozen=True, slots=True)
class RatioLaw:
    """A mean, by two noisy sums A = Σ (v - lower) and B = Σ (upper - v), each with noise Z.

    A number is {"sum": Σ v, "count": n}, both noisy: n = (A + B) / (upper - lower) and
    Σ v = lower n + A.  The true share r = A / (A + B) is where the mean lies in the range.

    **Theorem.**  (1-r) A~ - r B~ = (1-r) Z_1 - r Z_2 for the true r, whatever the data is.  So the
    shares r for which |(1-r) A~ - r B~| is at most its quantile q(r) hold the true one with the
    stated confidence (Fieller's argument, with the law of the noise in place of an estimate).
    The interval is the smallest one that holds them all, and the mean that is told.

    q(r) is that of Laplace noise, to which half a step is added: with a = exp(-1/scale),
    P(|Z| >= k) = 2 a^k / (1+a) = P(|L| >= k - 1/2) / cosh(1 / (2 scale)), so that |Z| is at most
    the rounded |L| in law.  Of discrete Gaussian noise it is the quantile of a normal number N, to
    which one step is added: P(Z >= k) <= P(N >= k - 1) for k >= 1 (Canonne, Kamath and Steinke
    2020, Proposition 25), so that |Z| is at most |N| rounded up in law.  Both laws are symmetric
    and have one peak, so that sums keep that order.

    Attributes:
        scale: of the integer noise in both sums, in steps.
        lower: of the values.
        upper: of the values.
        step: of both sums.
        noise: its law.
    """

    scale: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    noise: IntegerNoise = LAPLACE

    def is_number(self, number: Any, /) -> bool:
        """Groups may be called sum and count as well; theirs are no numbers."""
        named = isinstance(number, Mapping) and {"sum", "count"} <= set(number)
        return named and not isinstance(number["sum"], Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        above, below = self.sums(number)
        told = share(above, below)
        normal = self.noise == GAUSSIAN
        quantiles = _normal_quantiles(float(tail)) if normal else _quantiles(float(tail))
        rounding = 1.0 if normal else 0.5

        def slack(r: FloatArray) -> FloatArray:
            """How far r is inside: below 0 it is not held."""
            within = np.interp(r, SHARES, quantiles) * float(self.scale) + rounding
            held: FloatArray = within - np.abs((1 - r) * above - r * below)
            return held

        places = np.union1d(PLACES, [told])
        inside = np.flatnonzero(slack(places) >= 0)
        if not len(inside):
            return self.mean(told), self.mean(told)
        first = inside[0]
        last = inside[-1]
        low = _crossing(slack, places[max(first - 1, 0)], places[first])
        high = _crossing(slack, places[min(last + 1, len(places) - 1)], places[last])
        return self.mean(min(low, told)), self.mean(max(high, told))

    def sums(self, number: Mapping[str, Any]) -> tuple[float, float]:
        """A and B, in steps."""
        count = _exactly(number["count"])
        above = _exactly(number["sum"]) - self.lower * count
        below = (self.upper - self.lower) * count - above
        return float(above / self.step), float(below / self.step)

    def mean(self, r: float) -> float:
        """The value at a share of the range."""
        return float(self.lower + (self.upper - self.lower) * Fraction(r))

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": "two-sums",
            "noise": self.noise,
            "scale": _text(self.scale),
            "lower": _text(self.lower),
            "upper": _text(self.upper),
            "step": _text(self.step),
        }


@dataclass(frozen=True, slots=True)
class BracketLaw:
    """A quantile whose interval was drawn with it, at one level: see `questions.groups.statistics`.

    A number is {"value": the quantile, "low": one end, "high": the other}.
    """

    def is_number(self, number: Any, /) -> bool:
        return set(number) == {"value", "low", "high"} and not isinstance(number["value"], Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        if 1 - tail > BRACKET:
            raise ParameterError(
                f"Expected a confidence of at most {float(BRACKET)}: the interval of a quantile "
                "was drawn for that."
            )
        return number["low"], number["high"]

    def to_dict(self) -> dict[str, Any]:
        return {"law": "bracket"}


@dataclass(frozen=True, slots=True)
class ThresholdLaw:
    """A count of a key that was published: see `dampen.core.thresholds.Threshold`.

    y = m + X for |X| <= B, P(x) proportional to exp(-ε |x|), and only y > B is seen, where B is
    T - 1 with the probability of the coin, else T.

    **Theorem.**  For the true count m let F(m) = P(Y >= y | m is published) and G(m) the same for
    Y <= y.  The m with F(m) > tail/2 and G(m) > tail/2 hold the true one with the stated
    confidence, *given that the key was published*.  F grows with m and G falls, so that they are an
    interval.  Plain intervals y ± B would miss every small count: it is seen only if its noise is
    large.

    Attributes:
        epsilon: of one step.
        high: T.
        coin: the probability of T - 1, times 2^64.
        unit: the steps of a row or a person.
    """

    epsilon: Fraction
    high: int
    coin: int
    unit: int = 1

    def is_number(self, number: Any, /) -> bool:
        return not isinstance(number, Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        y = round(number * self.unit)
        low = max(y - self.high, 1)
        high = y + self.high
        half = float(tail) / 2
        least = _first_true(low, high, lambda m: self.seen(m, y, None) > half * self.seen(m))
        most = _first_true(low, high + 1, lambda m: not self.seen(m, None, y) > half * self.seen(m))
        least = min(least, y)
        most = max(most - 1, y)
        return (least, most) if self.unit == 1 else (least / self.unit, most / self.unit)

    def seen(self, m: int, low: int | None = None, high: int | None = None) -> float:
        """The probability that a count m is published as one from `low` to `high`."""
        share = self.coin / 2**64
        whole = 0.0
        for bound, chance in ((self.high, 1 - share), (self.high - 1, share)):
            first = max(bound + 1 if low is None else max(low, bound + 1), m - bound)
            last = m + bound if high is None else min(high, m + bound)
            whole += chance * _within(float(self.epsilon), bound, first - m, last - m)
        return whole

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": "threshold",
            "epsilon": _text(self.epsilon),
            "high": self.high,
            "coin": str(self.coin),
            "unit": self.unit,
        }


def _first_true(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from low to high for which it holds, if it does from there on; else high."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _within(e: float, bound: int, first: int, last: int) -> float:
    """P(first <= X <= last) of truncated noise, both within the bound."""
    if first > last:
        return 0.0
    if first < 0 <= last:
        return _within(e, bound, first, -1) + _within(e, bound, 0, last)
    near, far = (first, last) if first >= 0 else (-last, -first)
    whole = -math.expm1(-e) + 2 * math.exp(-e) * -math.expm1(-e * bound)
    return math.exp(-e * near) * -math.expm1(-e * (far - near + 1)) / whole


@dataclass(frozen=True, slots=True)
class TypedLaw:
    """A law of numbers that stand for dates, times or durations: intervals have their type.

    The numbers of the release stay days since 1970-01-01, and seconds.

    Attributes:
        law: of the numbers.
        measure: what they stand for.
    """

    law: Law
    measure: Measure

    def is_number(self, number: Any, /) -> bool:
        return self.law.is_number(number)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        """Rounded outwards, so that the confidence is kept."""
        low, high = self.law.interval(number, tail)
        finest = FINEST[self.measure]
        outwards = (
            math.floor(Fraction(low) / finest) * finest,
            math.ceil(Fraction(high) / finest) * finest,
        )
        return in_own_type(outwards[0], self.measure), in_own_type(outwards[1], self.measure)

    def to_dict(self) -> dict[str, Any]:
        return {**self.law.to_dict(), "measure": self.measure}


def law_from(told: Mapping[str, Any]) -> Law:
    """The law that `to_dict` wrote.

    Raises:
        ValueError: if there is none of that name.
    """
    if "measure" in told:
        plain = {name: each for name, each in told.items() if name != "measure"}
        [measure] = [each for each in FINEST if each == told["measure"]]
        return TypedLaw(law_from(plain), measure)
    if told["law"] in (LAPLACE, GAUSSIAN):
        least = None if told["least"] is None else int(told["least"])
        return ShiftLaw(_number(told["scale"]), _number(told["unit"]), least, told["law"])
    if told["law"] == "two-sums":
        scale, *grid = (_number(told[name]) for name in ("scale", "lower", "upper", "step"))
        noise = GAUSSIAN if told.get("noise") == GAUSSIAN else LAPLACE
        return RatioLaw(scale, grid[0], grid[1], grid[2], noise)
    if told["law"] == "bracket":
        return BracketLaw()
    if told["law"] == "threshold":
        coin = min(max(int(told["coin"]), 0), 2**64)
        return ThresholdLaw(_number(told["epsilon"]), int(told["high"]), coin, int(told["unit"]))
    if told["law"] == "margin":
        return MarginLaw(_number(told["scale"]), int(told["candidates"]), int(told.get("unit", 1)))
    raise ValueError


def checked_confidence(confidence: Any) -> Fraction:
    """1 - confidence, exact.

    Raises:
        ParameterError: unless it is a number between 0 and 1.
    """
    level = exact(confidence, "confidence")
    if level >= 1:
        raise ParameterError(
            f"Expected a confidence between 0 and 1, such as 0.95, got {confidence!r}."
        )
    return 1 - level


@lru_cache(maxsize=64)
def likely(scale: Fraction, tail: Fraction, noise: IntegerNoise = LAPLACE) -> int:
    """The smallest B such that |Z| > B has at most the probability `tail`.

    Laplace noise has P(|Z| > B) = 2 a^(B+1) / (1+a), a = exp(-1/scale).  The probabilities of
    Gaussian noise are added up; beyond a scale of 2,000 they are those of a rounded normal number,
    up to a share of exp(-2π² scale²) (Poisson's summation).

    >>> likely(Fraction(1), Fraction(1, 20)), likely(Fraction(10), Fraction(1, 20))
    (3, 30)
    >>> likely(Fraction(10), Fraction(1, 20), GAUSSIAN)
    20
    """
    s = float(scale)
    if noise == GAUSSIAN:
        return _likely_gaussian(s, float(tail))
    exponent = s * math.log(2 / (float(tail) * (1 + math.exp(-1 / s))))
    return max(0, math.ceil(exponent - 1))


def at_most(z: FloatArray, scale: Fraction, noise: IntegerNoise = LAPLACE) -> FloatArray:
    """P(Z <= z) of whole numbers z, to about 1e-12; the sums are those of `likely`.

    >>> at_most(np.array([-1.0, 0.0]), Fraction(1)).round(4).tolist()
    [0.2689, 0.7311]
    """
    s = float(scale)
    below = -np.abs(z + 0.5) - 0.5  # P(Z <= z) = 1 - P(Z <= -1 - z)
    if noise != GAUSSIAN:
        tail = np.exp(np.maximum(below, -700 * s) / s) / (1 + math.exp(-1 / s))
    elif s > MOST_ADDED:
        tail = np.array([NormalDist().cdf((x + 0.5) / s) for x in below.tolist()])
    else:
        most = math.ceil(38 * s) + 1
        p = np.exp(-((np.arange(-most, 1) / max(s, 1e-150)) ** 2) / 2)
        sums = np.cumsum(p)
        where = np.clip(below + most, 0, most - 1).astype(np.int64)
        tail = sums[where] / (2 * sums[-2] + 1)
    return np.where(z < 0, tail, 1 - tail)


def _likely_gaussian(scale: float, tail: float) -> int:
    if scale > MOST_ADDED:
        return max(0, math.ceil(scale * normal_quantile(tail) - 0.5))
    most = math.ceil(scale * (normal_quantile(tail) + 9)) + 1
    p = np.exp(-((np.arange(most + 1) / max(scale, 1e-150)) ** 2) / 2)
    beyond = np.cumsum(p[:0:-1])[::-1]  # over z = 1.., from z on
    fits = 2 * beyond <= tail * (1 + 2 * beyond[0])
    return int(np.argmax(fits)) if fits.any() else most


def normal_quantile(tail: float) -> float:
    """q with P(|N| > q) = tail for a normal number of scale 1."""
    return NormalDist().inv_cdf(1 - tail / 2) if tail > 1e-9 else math.sqrt(-2 * math.log(tail))


@lru_cache(maxsize=16)
def _normal_quantiles(tail: float) -> FloatArray:
    """q(r) at `SHARES` for normal noise of scale 1: (1-r) N - r M is normal."""
    widths: FloatArray = np.hypot(SHARES, 1 - SHARES)
    return widths * normal_quantile(tail)


def share(above: float, below: float) -> float:
    """Where a mean lies in the range, of two noisy sums that may be negative.

    >>> share(30.0, 10.0), share(-3.0, 10.0), share(-1.0, -1.0)
    (0.75, 0.0, 0.5)
    """
    a = max(above, 0.0)
    b = max(below, 0.0)
    return a / (a + b) if a + b > 0 else 0.5


@lru_cache(maxsize=16)
def _quantiles(tail: float) -> FloatArray:
    """q(r) at `SHARES` for Laplace noise of scale 1: P(|(1-r) L - r M| > q) = tail.

    With v = 1-r and w = r, P(|v L - w M| > t) = (v² e^(-t/v) - w² e^(-t/w)) / (v² - w²), and
    e^(-t/v) (1 + t/2v) where v = w.
    """
    large = np.maximum(SHARES, 1 - SHARES)
    small = np.maximum(np.minimum(SHARES, 1 - SHARES), 1e-9)
    alike = large - small < 1e-6
    distance = np.where(alike, 1.0, large**2 - small**2)

    def beyond(t: FloatArray) -> FloatArray:
        apart = large**2 * np.exp(-t / large) - small**2 * np.exp(-t / small)
        near = np.exp(-t / large) * (1 + t / (2 * large))
        return np.where(alike, near, apart / distance)

    low = np.zeros(len(SHARES))
    high = np.full(len(SHARES), 4.0 - 2 * np.log(tail))
    for _ in range(60):
        middle = (low + high) / 2
        more = beyond(middle) > tail
        low = np.where(more, middle, low)
        high = np.where(more, high, middle)
    return high


def _crossing(slack: Callable[[FloatArray], FloatArray], outside: float, inside: float) -> float:
    """The last place from `inside` towards `outside` that is held."""
    if slack(np.array([outside]))[0] >= 0:
        return float(outside)
    for _ in range(6):
        between = np.linspace(inside, outside, 65)
        last = int(np.argmax(slack(between) < 0))
        inside = between[last - 1]
        outside = between[last]
    return float(outside)


def _exactly(number: Any) -> Fraction:
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _text(number: Fraction) -> str:
    return decimal_text(number)


def _number(text: str) -> Fraction:
    check_length(text)
    return Fraction(text)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The k categories with the largest noisy counts, best first, and all noisy counts."""

    places: list[int]
    numbers: IntArray


@dataclass(frozen=True, slots=True)
class Winner:
    """The category with the largest noisy count, and its margin."""

    place: int
    margin: int


def ranked(
    counts: IntArray, k: int, epsilon: Fraction, entropy: Entropy, noise: IntegerNoise = LAPLACE
) -> Ranked:
    """The k largest noisy counts, and all of them: ε-DP, or ε²/2-zCDP with Gaussian noise.

    All noisy counts c + Z, with independent integers, P(z) proportional to exp(-ε |z|), are ε-DP
    (`dampen.questions.counts`), and with discrete Gaussian noise of variance 1/(2ρ) they are
    ρ-zCDP, which is what ρ buys.  Their order, ties by a random order that knows nothing of the
    data, is computed from them: names cost nothing more, whatever k is.
    """
    noisy: IntArray = counts + drawn_noise(noise, 1 / epsilon, len(counts), entropy)
    return Ranked(largest(noisy, k, entropy), noisy)


def largest(noisy: IntArray, k: int, entropy: Entropy) -> list[int]:
    """Where the k largest are, the largest first; ties in a random order."""
    order = np.lexsort((random_order(len(noisy), entropy), -noisy))
    return [int(place) for place in order[:k]]


def winner(counts: IntArray, epsilon: Fraction, entropy: Entropy) -> Winner:
    """The largest of two or more noisy counts by permute-and-flip, and its margin: ε-DP.

    E_i are independent integers >= 0, P(e) proportional to exp(-ε e), and π is a random order.
    Category i wins if c_i + E_i is the largest, ties by π.  The *margin* is

        γ = c_i + E_i - max over j != i of (c_j + E_j + [π puts j before i]) >= 0.

    **Theorem.**  (i, γ) is ε-DP.  Proof.  It is enough to show it for every fixed π.  Let a = e^-ε
    and let M be the maximum above, of which E_i is no part.  With T = M + g - c_i,
    P(i, γ = g) = P(E_i = T) = (1-a) S, where S is the mean of a^T over T >= 0.

    *A row more of j != i.*  T becomes T or T + 1, so that S becomes at least a S.  And a noise of e
    then does what a noise of e + 1 did before, which has a times its probability: S becomes at most
    S / a.

    *A row more of i.*  Every T becomes T - 1.  With p(t) = P(T = t), S = Σ_{t >= 0} p(t) a^t
    becomes S' = Σ_{t >= 1} p(t) a^(t-1) <= S / a.  The other way round S <= S' / a says that
    p(0) <= (1 - a²) Σ_{t >= 1} p(t) a^(t-2), which follows from p(t) >= a^t p(0), since Σ_{t >= 1}
    a^(2t-2) = 1 / (1 - a²).  And p(t+1) >= a p(t): raise the noise of the first j that attains M by
    1.  That costs a factor a, makes M larger by 1, and can be undone, for j alone attains it then.
    ∎

    The proof needs a second category: a noisy count with E alone is never below the true one.  So
    one category alone has no margin.

    The plain gap c_i + E_i - max (c_j + E_j) with a fixed order of ties is *not* private: at a gap
    of 0 who wins tells who is before whom, and it loses 2ε.

    **It is permute-and-flip.**  An exponential number is its whole part, which is E, and a fraction
    that is independent of it.  Counts are whole, so comparing c + exponential is comparing c + E,
    ties by independent fractions: a random order.  The name has exactly the law of `pf`.

    **Intervals.**  Where all E_j <= B, the lead L = c_i - max over j != i of c_j is between γ - B
    and γ + B + 1.  P(all E_j <= B) = (1 - a^(B+1))^m for m categories.  That holds for whoever
    wins.
    """
    noisy: IntArray = counts + geometric(1 / epsilon, len(counts), entropy)
    return margin(noisy, random_order(len(counts), entropy))


def margin(noisy: IntArray, order: IntArray) -> Winner:
    """The winner of two or more and its margin, for noisy counts and an order of ties.

    Of equal ones that with the smaller place in the order is first.
    """
    largest = np.flatnonzero(noisy == noisy.max())
    place = int(largest[order[largest].argmin()])
    others = noisy + (order < order[place])
    others = np.delete(others, place)
    return Winner(place, int(noisy[place] - others.max()))


def noise_for(price: Price) -> IntegerNoise:
    """Laplace noise for ε, Gaussian noise for ρ."""
    return LAPLACE if price.pure else GAUSSIAN


def noise_cost(price: Price, query: str, noise: IntegerNoise, moved: int = 1) -> Cost:
    """The cost of integer noise of scale Δ/ε: ε, or with Gaussian noise ρ = ε²/2 alone.

    `moved` is Δ: what a row moves the integers by, in the 1-norm.  Laplace noise loses ε in Δ
    steps.
    """
    return composed_cost(
        Neighbours.ADD_REMOVE_ROW,
        price,
        query=query,
        mechanism=noise,
        pure=noise == LAPLACE,
        losses=equal_parts(1, moved),
    )


def with_noise(
    numbers: IntArray, noise: IntegerNoise, scale: Fraction, entropy: Entropy
) -> IntArray:
    """Exact whole numbers with independent integer noise."""
    drawn = drawn_noise(noise, scale, numbers.size, entropy)
    noisy: IntArray = numbers + drawn.reshape(numbers.shape)
    return noisy


def check_scale(scale: Fraction) -> None:
    """Refuses noise that would not fit into 64 bits.

    Raises:
        ParameterError: if the scale is above 2^40.
    """
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "Expected a larger epsilon: the noise would have a scale above 2^40. Raise epsilon, or "
            "step where there is one."
        )


MOST_LINES = 60
"""Of a table in a notebook; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A number with its name, from the outside in, and its interval."""

    names: tuple[str, ...]
    height: float
    low: float
    high: float


def bars(release: "Release") -> list[Bar]:
    """The numbers of a release; none if it has none, or dates, which have no height."""
    if release.law is None or release.numbers is None:
        return []
    if isinstance(release.law, TypedLaw) and release.law.measure != "duration":
        return []
    return _bars(release, release.numbers, release.interval(), release.answer, ())


def _bars(
    release: "Release", numbers: Any, ends: Any, shown: Any, names: tuple[str, ...]
) -> list[Bar]:
    assert release.law is not None
    if release.law.is_number(numbers):
        low, high = (float(as_bound(end)) for end in ends)
        told = as_bound(shown) if _is_number(as_bound(shown)) else numbers
        height = told.get("value", (low + high) / 2) if isinstance(told, Mapping) else told
        return [Bar(names, float(as_bound(height)), low, high)]
    found: list[Bar] = []
    for name, number in numbers.items():
        inside = shown.get(name) if isinstance(shown, Mapping) else None
        found += _bars(release, number, ends[name], inside, (*names, printable(str(name))))
    return found


def _is_number(shown: Any) -> bool:
    return isinstance(shown, int | float) and not isinstance(shown, bool)


def plot(release: "Release", ax: Any = None) -> Any:
    """Draws a release: bars with intervals where it has numbers, a curve of several percentiles.

    Raises:
        ParameterError: if it is neither, or matplotlib is not installed.
    """
    heights = bars(release)
    points = _points(release)
    if not heights and points is None:
        raise ParameterError(
            "Expected a release with numbers, such as dampen.histogram gives it, or several values "
            "of percentile(..., p='deciles'): one answer is no picture."
        )
    ax = _axes() if ax is None else ax
    if heights:
        _draw_bars(ax, heights)
    else:
        _draw_curve(ax, release.answer, points or [])
    cost = release.price.replace("epsilon ", "ε = ").replace("rho ", "ρ = ")
    ax.set_title(f"{cost}, neighbours: {release.neighbours}", fontsize="medium")
    return ax


def _draw_bars(ax: Any, heights: list[Bar]) -> None:
    """Bars by their innermost name; an outer name is a colour."""
    outer = list(dict.fromkeys(bar.names[:-1] for bar in heights))
    inner = list(dict.fromkeys(bar.names[-1:] for bar in heights))
    width = 0.8 / len(outer)
    for i, group in enumerate(outer):
        own = [bar for bar in heights if bar.names[:-1] == group]
        places = [inner.index(bar.names[-1:]) + (i - (len(outer) - 1) / 2) * width for bar in own]
        below = [max(bar.height - bar.low, 0.0) for bar in own]
        above = [max(bar.high - bar.height, 0.0) for bar in own]
        label = ", ".join(group) or None
        tall = [bar.height for bar in own]
        ax.bar(places, tall, 0.9 * width, yerr=[below, above], capsize=3, label=label)
    ax.set_xticks(range(len(inner)), [", ".join(name) for name in inner])
    if len(inner) > 8:
        ax.tick_params(axis="x", rotation=90)
    ax.set_ylabel("with 95 % interval")
    if len(outer) > 1:
        ax.legend(frameon=False)


def _draw_curve(ax: Any, answer: Any, points: list[float]) -> None:
    """Values of percentiles over p, one line per group."""
    order = sorted(range(len(points)), key=lambda i: points[i])
    p = [points[i] for i in order]
    grouped = isinstance(answer, Mapping)
    for name, values in (answer if grouped else {None: answer}).items():
        label = None if name is None else str(name)
        ax.plot(p, [values[i] for i in order], "o-", markersize=4, linewidth=1.5, label=label)
    if grouped:
        ax.legend(frameon=False)
    ax.set(xlim=(0, 100), xlabel="percentile", ylabel="value")


def _points(release: "Release") -> list[float] | None:
    """The percentiles of a release of several; a named list has equal distances."""
    asked = release.parameters.get("p")
    answer = release.answer
    if isinstance(answer, Mapping):
        answer = next(iter(answer.values()), None)
    if not isinstance(answer, list | tuple) or asked is None:
        return None
    if isinstance(asked, str):
        return [100 * (i + 1) / (len(answer) + 1) for i in range(len(answer))]
    if not hasattr(asked, "__len__"):
        return None
    return [float(each) for each in asked]


def _axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError(
            "Expected matplotlib for a plot: pip install 'dampen[plot]'."
        ) from None
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]


def html_bars(release: "Release") -> str:
    """A table of the numbers with bars and intervals, for a notebook; empty if there are few.

    All text is escaped, and nothing is loaded from elsewhere.
    """
    heights = bars(release)
    if len(heights) < 2:
        return ""
    most = max((abs(bar.height) for bar in heights), default=0.0) or 1.0
    lines = [_html_line(bar, most) for bar in heights[:MOST_LINES]]
    if len(heights) > MOST_LINES:
        rest = f"and {len(heights) - MOST_LINES:,} more"
        lines.append(f'<tr><td colspan="4">{rest}</td></tr>')
    head = "<tr><th></th><th></th><th>number</th><th>95 % interval</th></tr>"
    return f"<table>{head}{''.join(lines)}</table>"


def _html_line(bar: Bar, most: float) -> str:
    share = max(0, round(100 * bar.height / most))
    colour = "background:#4878a8;height:0.8em"
    drawn = f'<div style="width:{share}px;{colour}"></div>'
    ends = f"{text_of(_short(bar.low))} to {text_of(_short(bar.high))}"
    return (
        f'<tr><th style="text-align:left">{escape(", ".join(bar.names))}</th><td>{drawn}</td>'
        f"<td>{escape(_short(bar.height))}</td><td>{escape(ends)}</td></tr>"
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6g}"
