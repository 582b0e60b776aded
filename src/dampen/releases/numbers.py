"""Noisy numbers with the exact law of their noise, and the intervals that follow from it.

The noise of a release is public: its law is known before anything is drawn.  So an interval around
a noisy number holds the true one with a stated probability, whatever the data is, and costs no
privacy: it is a function of what was released.

The true number is that of the rows as they were counted: with values moved to the public range and
to the public grid, and rows without a value left out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from dampen.core.sampling import Entropy, discrete_gaussian, discrete_laplace
from dampen.core.selection import FloatArray, IntArray
from dampen.epsilon import check_length, decimal_text, exact
from dampen.errors import ParameterError

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "BracketLaw",
    "IntegerNoise",
    "Law",
    "MarginLaw",
    "RatioLaw",
    "ShiftLaw",
    "ThresholdLaw",
    "checked_confidence",
    "drawn_noise",
    "law_from",
    "likely",
    "share",
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
    """A margin of a winner over all others: see `dampen.questions.noisy_counts`.

    **Theorem.**  Where the noise E_j of all candidates is at most B, the true lead is between
    margin - B and margin + B + 1.  P(all E_j <= B) = (1 - a^(B+1))^candidates, a = exp(-1/scale).

    Attributes:
        scale: of the noise, integers >= 0.
        candidates: how many there are.
    """

    scale: Fraction
    candidates: int

    def is_number(self, number: Any, /) -> bool:
        return not isinstance(number, Mapping)

    def interval(self, number: Any, tail: Fraction, /) -> tuple[Any, Any]:
        one = -math.expm1(math.log1p(-float(tail)) / self.candidates)
        most = max(0, math.ceil(-float(self.scale) * math.log(one)) - 1)
        return int(number) - most, int(number) + most + 1

    def to_dict(self) -> dict[str, Any]:
        return {"law": "margin", "scale": _text(self.scale), "candidates": self.candidates}


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
        first, last = inside[0], inside[-1]
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
    """A quantile whose interval was drawn with it, at one level: see `questions.groups.quantiles`.

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
    """A count of a key that was published: see `dampen.core.truncated`.

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
        least, most = min(least, y), max(most - 1, y)
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


def law_from(told: Mapping[str, Any]) -> Law:
    """The law that `to_dict` wrote.

    Raises:
        ValueError: if there is none of that name.
    """
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
        return MarginLaw(_number(told["scale"]), int(told["candidates"]))
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
        inside, outside = between[last - 1], between[last]
    return float(outside)


def _exactly(number: Any) -> Fraction:
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _text(number: Fraction) -> str:
    return decimal_text(number)


def _number(text: str) -> Fraction:
    check_length(text)
    return Fraction(text)
