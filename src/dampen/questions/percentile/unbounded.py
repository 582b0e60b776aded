"""Percentiles where nobody states a range: what may be an answer, and how one or several are drawn.

- `Decimals`, `Moments`: the possible answers: all decimal numbers of up to nine digits; dates and
  times.
- `RankDraw`: one percentile on more candidates than anyone could list, drawn by runs of equal
  utility.
- `EqualRunShares`, `WithinRange`: several percentiles: each by itself; or find a range first, then
  draw all of them together in it.
- `UnboundedMethod`: the records are read once, and answers drawn by runs of candidates.

Of the column only distinct values and their counts are kept (`dampen.data.cells`); rows without a
number are dropped.  Theorem and proof are in `RankDraw`.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, gcd, log
from typing import Any, Protocol

import numpy as np

from dampen.core.mechanisms import EM, PF, Mechanism
from dampen.core.noise import GUMBEL, permute_and_flip, pure_rho
from dampen.core.sampling import (
    Entropy,
    best_of_copies,
    discrete_laplace,
    uniform_below,
    weighted_best,
)
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.cells import Grouping, GroupLookup, ValuesOf
from dampen.data.columns import DAY
from dampen.data.source import Opened
from dampen.epsilon import check_length, decimal_text, shortened
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import Percent, as_fraction
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import FEW, Taut, Way, together
from dampen.questions.percentile.methods import most_ranks
from dampen.questions.percentile.values import FINEST
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_distance, by_tail, of_numbers, too_few
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak, Rest
from dampen.releases.numbers import check_scale

__all__ = [
    "Candidates",
    "Column",
    "Decimals",
    "EqualRunShares",
    "Moments",
    "RankDraw",
    "RunDraws",
    "Runs",
    "UnboundedMethod",
    "WithinRange",
    "read_columns",
    "several_draws",
]

HEAVIEST = range(5)
"""Exponents of the decades of weight 1."""

SHARES = (32, 24, 18, 13, 10, 8, 6, 4, 3)
"""Of a decade, for its numbers of exactly 1, 2, ... digits, for the exponential mechanism; chosen
among twenty on 30 columns of `dampen-studies run unbounded`."""
FLIP_SHARES = (4, 6, 9, 14, 22, 34, 52, 80, 24, 10, 4, 2, 1, 1)
"""The same for permute-and-flip: the largest one is that of numbers of `Decimals.peak` digits."""
LEAST_PEAK = 3
MOST_PEAK = 8

YEARS = Fraction(7, 100)
"""Share of the whole numbers from 1900 to 2099, of all of a decade's."""
FIRST_YEAR = 1900
LAST_YEAR = 2099
THOUSANDS = 3
"""Their exponent."""


@dataclass(frozen=True)
class Decimals:
    """The public candidates, with their prior weights.

    **Candidates** are 0 and ±m 10^(e-8) for whole numbers 10^8 <= m < 10^9 and exponents
    -9 <= e <= 14: everything from 10^-9 to 10^15 with nine significant digits.  `lower` and `upper`
    cut them off, and a `step` leaves its multiples.

    **Prior.**  A decade (the numbers with one exponent and sign) shares its weight among its
    numbers of exactly 1, 2, ..., 9 digits (`SHARES`, `FLIP_SHARES`), and all numbers of as many
    digits weigh the same, so that round numbers weigh more.  Decades weigh 1 for exponents from 0
    to 4, and half as much for every exponent farther away; 0 weighs as much as one of the heaviest.
    The whole numbers from 1900 to 2099 share `YEARS` on top: many columns hold years, which are far
    from 0 beside their range.  All of it is public and does not depend on any data.

    **In whole numbers.**  A candidate has a *code*: 0 for zero, and ±((e - e_min) 10^9 + m).  Codes
    are ordered as the numbers are.  A decade has 9 numbers of one digit and 81 10^(j-2) of exactly
    j digits.  So a number of one digit weighs 9 10^7 s_1 and one of j digits 10^(9-j) s_j for the
    shares s_j.  The numbers with at most j digits are the multiples of 10^(9-j) among the m; with a
    step they are the multiples of the least common multiple of both.  So the weight of all
    candidates up to a code is a sum of ten floor divisions (`mass`), less than 2^52 for all of
    them, and nothing is enumerated.

    **Records.**  A number is rounded to nine digits, and moved to the nearest end if it is outside
    the range.  That looks at each record alone, so neighbouring databases stay neighbours.  A float
    that is the nearest one to a decimal of nine digits becomes that decimal: m 10^(8-e) is off by
    less than 10^9 2^-51, and is rounded to the nearest whole number.

    **Weights.**  The exponential mechanism adds the weights of all candidates of a run, while
    permute-and-flip compares single copies.  So numbers of three digits have the largest share here
    (`FLIP_SHARES`), and those of ⌊log10 n ε⌋ digits where n ε is public, or noisy, and above 10^4:
    the more records, the finer is what separates them.  The weights were chosen on 60 columns and
    tried on 30 others (`dampen-studies run unbounded`).

    Attributes:
        lower: the smallest possible answer, if it is bounded.
        upper: the largest possible answer, if it is bounded.
        step: answers are multiples of it, if there is one.
        digits: significant digits of a candidate, nine outside tests.
        exponents: the smallest and the largest one.
        peak: if given, numbers of so many digits have the largest share of their decade.

    Raises:
        ParameterError: unless lower <= upper are numbers, step > 0, and some candidate is left.
    """

    lower: float | None = None
    upper: float | None = None
    step: float | None = None
    digits: int = 9
    exponents: tuple[int, int] = (-9, 14)
    peak: int | None = None

    def __post_init__(self) -> None:
        if self._low is not None and self._high is not None and self._low >= self._high:
            raise ParameterError(
                f"Expected lower < upper, got lower={self.lower}, upper={self.upper}."
            )
        if self._step is not None and self._step <= 0:
            raise ParameterError(f"Expected step > 0, got step={shortened(self.step)}.")
        if self.total == 0:
            raise ParameterError(
                f"No number of up to {self.digits} digits is a possible answer. Use a wider range "
                "or a smaller step."
            )

    def codes(self, numbers: FloatArray) -> IntArray:
        """The codes of numbers that are not missing, within the range."""
        low, high = self.exponents
        size = np.abs(numbers)
        powers = np.array([float(f"1e{e}") for e in range(low, high + 1)])
        at = np.clip(np.searchsorted(powers, size, side="right") - 1, 0, high - low)
        e = at + low
        shift = self.digits - 1 - e
        with np.errstate(over="ignore"):
            m = np.rint(
                np.where(shift >= 0, size * 10.0 ** np.maximum(shift, 0), size)
                / 10.0 ** np.maximum(-shift, 0)
            )
        m = np.minimum(m, self._radix).astype(np.int64)
        over = m == self._radix
        at = np.where(over, at + 1, at)
        m = np.where(over, self._first, m)
        code = at * self._radix + m
        # What is below the first decade is 0, or the first candidate if that is nearer.
        code = np.where(size < powers[0], np.where(size >= powers[0] / 2, self._first, 0), code)
        code = np.minimum(code, self._last)
        return np.clip(np.where(numbers < 0, -code, code), *self.ends)

    def mass(self, codes: IntArray) -> IntArray:
        """The prior weight of all candidates up to each code, the range and the step cut off."""
        low, high = self.ends
        return self._uncut(np.clip(codes, low - 1, high)) - self._before

    def value(self, code: int) -> int | float:
        """The number with that code: whole if it is, else the float nearest to the decimal."""
        exact = self._exact(code)
        return exact.numerator if exact.denominator == 1 else float(exact)

    def code_at(self, mass: int) -> int:
        """The first code up to which candidates weigh more than `mass`; 0 <= mass < total."""
        return _code_at(self, mass)

    def for_flips(self, strength: Fraction | None) -> "Decimals":
        """The same with the prior for permute-and-flip, where n ε is public.

        The finer the answer can be, the more digits it should have: ⌊log10 n ε⌋ of them.
        """
        digits = LEAST_PEAK if strength is None else len(str(int(strength))) - 1
        return replace(self, peak=min(max(digits, LEAST_PEAK), MOST_PEAK))

    @cached_property
    def blocks(self) -> IntArray:
        """The first codes of the decades and of 0, ascending: weights change there."""
        decades = np.arange(len(self._decade)) * self._radix
        negative = -(decades[::-1] + self._radix - 1)
        return np.concatenate([negative, [0], np.maximum(decades, 1)])

    @cached_property
    def weights(self) -> IntArray:
        """What a candidate of every kind weighs, by block.

        Kinds are the numbers of exactly 1, 2, ... digits, and the years, which weigh on top.
        """
        kinds = np.append(self._by_digits[:-1], self._of_year)
        decades = self._decade[:, None] * kinds
        zero = np.zeros_like(kinds)
        zero[0] = self._zero
        return np.concatenate([decades[::-1], [zero], decades])

    def kinds(self, codes: IntArray) -> IntArray:
        """How many candidates of every kind lie in the block of each code, up to the code."""
        at, m = np.divmod(np.abs(codes), self._radix)
        inside = np.minimum(at, len(self._decade) - 1)
        found = self._kinds_up_to(inside, np.where(codes < 0, m - 1, m))
        negative = np.flatnonzero(codes < 0)
        found[negative] = self._all_kinds[inside[negative]] - found[negative]
        found[codes == 0] = np.eye(1, found.shape[1], dtype=np.int64)
        return found

    @cached_property
    def _all_kinds(self) -> IntArray:
        """How many candidates of every kind a decade has."""
        decades = np.arange(len(self._decade))
        return self._kinds_up_to(decades, np.full(len(decades), self._radix - 1))

    def _kinds_up_to(self, at: IntArray, m: IntArray) -> IntArray:
        """Of the decade at that place, up to m."""
        kinds = np.zeros((len(m), self.digits + 1), dtype=np.int64)
        fewer = np.zeros_like(m)
        for j in range(self.digits):
            period = self._periods[at, j]
            upto = np.maximum(m // period - (self._first - 1) // period, 0)
            kinds[:, j] = upto - fewer
            fewer = upto
        if self._of_year:
            in_thousands = at == THOUSANDS - self.exponents[0]
            kinds[in_thousands, -1] = self._years(m[in_thousands])
        return kinds

    def listed(self, low: int, high: int, most: int) -> IntArray:
        """The candidates from one code to another with few digits, ascending, and both ends.

        They have the largest number of digits at which there are at most `most` of them.
        """
        for j in range(self.digits, 0, -1):
            parts = [self._in_decade(at, j, low, high) for at in self._decades_between(low, high)]
            if sum(map(len, parts)) <= most:
                break
        few = [np.arange(part.start, part.stop, part.step) for part in parts]
        zero = [0] if low <= 0 <= high else []
        return np.unique(np.concatenate([np.array([low, *zero, high], dtype=np.int64), *few]))

    @cached_property
    def total(self) -> int:
        """The weight of all candidates."""
        return int(self.mass(np.array([self.ends[1]]))[0])

    @cached_property
    def least(self) -> int:
        """A weight that no candidate is below."""
        low, high = (self._decade_of(code) for code in self.ends)
        straddles = self.ends[0] <= 0 <= self.ends[1]
        first = 0 if straddles else min(low, high)
        found = [w for w in self._lightest[first : max(low, high) + 1] if w > 0]
        return min([*found, self._zero])

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The codes of the range: the first at or above `lower`, the last at or below `upper`."""
        low = -self._last if self._low is None else self._first_at_least(self._low)
        high = self._last if self._high is None else -self._first_at_least(-self._high)
        if low > high:
            raise ParameterError(
                f"No number of up to {self.digits} digits lies from lower={self.lower} to "
                f"upper={self.upper}. Use a wider range."
            )
        return low, high

    @property
    def _first(self) -> int:
        """The smallest m."""
        return 10 ** (self.digits - 1)

    @property
    def _radix(self) -> int:
        return 10**self.digits

    @property
    def _last(self) -> int:
        """The largest code."""
        low, high = self.exponents
        return (high - low + 1) * self._radix - 1

    @cached_property
    def _low(self) -> Fraction | None:
        return _exact_number("lower", self.lower)

    @cached_property
    def _high(self) -> Fraction | None:
        return _exact_number("upper", self.upper)

    @cached_property
    def _step(self) -> Fraction | None:
        return _exact_number("step", self.step)

    @cached_property
    def _before(self) -> int:
        """The weight of what lies below the range."""
        return int(self._uncut(np.array([self.ends[0] - 1]))[0])

    @cached_property
    def _decade(self) -> IntArray:
        """What a number of as many digits as possible weighs in every decade."""
        low, high = self.exponents
        away = [max(HEAVIEST[0] - e, e - HEAVIEST[-1], 0) for e in range(low, high + 1)]
        return np.array([2 ** (max(away) - each) for each in away], dtype=np.int64)

    @cached_property
    def _by_digits(self) -> list[int]:
        """What a number of exactly j digits weighs, for j = 1, 2, ..., and 0 for one more."""
        if self.digits == 1:
            return [1, 0]
        shares = self._shares
        more = [10 ** (self.digits - j) * shares[j - 1] for j in range(2, self.digits + 1)]
        return [9 * 10 ** (self.digits - 2) * shares[0], *more, 0]

    @property
    def _shares(self) -> tuple[int, ...]:
        """Of a decade, for its numbers of exactly 1, 2, ... digits."""
        return SHARES if self.peak is None else FLIP_SHARES[MOST_PEAK - self.peak :]

    @cached_property
    def _of_year(self) -> int:
        """What a whole number from 1900 to 2099 weighs on top, in the units of its decade."""
        low, high = self.exponents
        if self.digits < THOUSANDS + 2 or not low <= THOUSANDS <= high:
            return 0
        share = int(YEARS * sum(self._shares[: self.digits]))
        return share * 81 * 10 ** (self.digits - 2) // (LAST_YEAR - FIRST_YEAR + 1)

    def _years(self, m: IntArray) -> IntArray:
        """How many of these numbers are candidates up to m, in their decade."""
        unit = 10 ** (self.digits - 1 - THOUSANDS)
        period = self._periods[THOUSANDS - self.exponents[0], THOUSANDS]
        upto = np.minimum(m, LAST_YEAR * unit) // period - (FIRST_YEAR * unit - 1) // period
        return np.maximum(upto, 0)

    @cached_property
    def _lightest(self) -> list[int]:
        """What the lightest candidate of every decade weighs; 0 for a decade without any."""
        upto = (self._radix - 1) // self._periods - (self._first - 1) // self._periods
        exactly = np.diff(upto, axis=1, prepend=0) > 0
        weights = np.array(self._by_digits[:-1])
        light = np.where(exactly, weights, weights.max() + 1).min(axis=1)
        return (np.where(exactly.any(axis=1), light, 0) * self._decade).tolist()

    @cached_property
    def _zero(self) -> int:
        """What 0 weighs: as a decade, no step cut off."""
        counts = [9, *(81 * 10 ** (j - 2) for j in range(2, self.digits + 1))]
        share = sum(n * w for n, w in zip(counts, self._by_digits, strict=False))
        return int(share * self._decade.max())

    @cached_property
    def _periods(self) -> IntArray:
        """By decade and number of digits: the m that are candidates are the multiples of this."""
        low, high = self.exponents
        return np.array(
            [[self._period(e, j) for j in range(1, self.digits + 1)] for e in range(low, high + 1)],
            dtype=np.int64,
        )

    def _period(self, e: int, j: int) -> int:
        """At most 10^digits, which no m reaches."""
        if self._step is None:
            return 10 ** (self.digits - j)
        unit = Fraction(10) ** (e - self.digits + 1)
        common = _common_multiple(self._step, unit * 10 ** (self.digits - j)) / unit
        return min(int(common), self._radix)

    @cached_property
    def _totals(self) -> IntArray:
        """The weight of the positive candidates below each decade, and of all of them."""
        decades = np.arange(len(self._decade))
        each = self._within(decades, np.full(len(decades), self._radix - 1))
        return np.concatenate([[0], np.cumsum(each)])

    def _within(self, at: IntArray, m: IntArray) -> IntArray:
        """The weight of the candidates up to m in the decade at that place."""
        weight = np.zeros(len(m), dtype=np.int64)
        for j, (here, further) in enumerate(
            zip(self._by_digits[:-1], self._by_digits[1:], strict=True)
        ):
            period = self._periods[at, j]
            upto = np.maximum(m // period - (self._first - 1) // period, 0)
            weight += upto * (here - further)
        if self._of_year:
            in_thousands = at == THOUSANDS - self.exponents[0]
            weight += np.where(in_thousands, self._years(m), 0) * self._of_year
        return weight * self._decade[at]

    def _positive(self, codes: IntArray) -> IntArray:
        """The weight of the positive candidates up to codes >= 0."""
        at, m = np.divmod(codes, self._radix)
        inside = np.minimum(at, len(self._decade) - 1)
        return np.where(
            at < len(self._decade), self._totals[inside] + self._within(inside, m), self._totals[-1]
        )

    def _uncut(self, codes: IntArray) -> IntArray:
        """The weight of all candidates up to codes, whatever the range is."""
        every = int(self._totals[-1])
        below = every - self._positive(np.maximum(-codes - 1, 0))
        return np.where(codes < 0, below, every + self._zero + self._positive(np.maximum(codes, 0)))

    def _decades_between(self, low: int, high: int) -> list[int]:
        """Places of decades, negative ones as -1 for the first, -2 for the second, and so on."""
        count = len(self._decade)
        first = -(-low // self._radix) - 1 if low < 0 else low // self._radix
        last = -(-high // self._radix) - 1 if high < 0 else high // self._radix
        return [*range(max(first, -count), min(last, count - 1) + 1)]

    def _in_decade(self, place: int, j: int, low: int, high: int) -> range:
        """The codes of a decade's candidates of at most j digits, between two codes."""
        at = place if place >= 0 else -place - 1
        period = int(self._periods[at, j - 1])
        ends = (low, high) if place >= 0 else (-high, -low)
        smallest = max(ends[0] - at * self._radix, self._first)
        largest = min(ends[1] - at * self._radix, self._radix - 1)
        found = range(-(-smallest // period) * period, largest + 1, period)
        codes = range(at * self._radix + found.start, at * self._radix + found.stop, period)
        if place >= 0 or not codes:
            return codes
        return range(-codes[-1], -codes[0] + 1, period)

    def _decade_of(self, code: int) -> int:
        return min(abs(code) // self._radix, len(self._decade) - 1)

    def _exact(self, code: int) -> Fraction:
        at, m = divmod(abs(code), self._radix)
        size = m * Fraction(10) ** (at + self.exponents[0] - self.digits + 1)
        return -size if code < 0 else size

    def _first_at_least(self, bound: Fraction) -> int:
        """The smallest code of a number of so many digits that is at or above a bound.

        One more than the largest code if there is none.
        """
        low, high = self.exponents
        smallest = Fraction(10) ** low
        if bound > self._exact(self._last):
            return self._last + 1
        if bound <= 0:
            return -self._last_at_most(-bound)
        if bound <= smallest:
            return self._first
        e = next(e for e in range(high, low - 1, -1) if Fraction(10) ** e <= bound)
        m = -(-bound // Fraction(10) ** (e - self.digits + 1))
        at = e - low
        return (at + 1) * self._radix + self._first if m == self._radix else at * self._radix + m

    def _last_at_most(self, bound: Fraction) -> int:
        """The largest code of a number of so many digits that is at or below a bound >= 0."""
        low, high = self.exponents
        if bound < Fraction(10) ** low:
            return 0
        e = next(e for e in range(high, low - 1, -1) if Fraction(10) ** e <= bound)
        m = bound // Fraction(10) ** (e - self.digits + 1)
        return (e - low) * self._radix + min(int(m), self._radix - 1)


def _exact_number(name: str, number: float | None) -> Fraction | None:
    """A float as its shortest decimal."""
    if number is None:
        return None
    try:
        if isinstance(number, bool):
            raise TypeError
        check_length(str(number))
        return Fraction(str(number))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(
            f"Expected {name} to be a finite number, got {name}={shortened(number)}."
        ) from None


def _common_multiple(a: Fraction, b: Fraction) -> Fraction:
    """The smallest positive number that both divide."""
    numerator = a.numerator * b.numerator // gcd(a.numerator, b.numerator)
    return Fraction(numerator, gcd(a.denominator, b.denominator))


def _code_at(candidates: "Decimals | Moments", mass: int) -> int:
    """The first code up to which candidates weigh more than `mass`; 0 <= mass < total."""
    low, high = candidates.ends

    def weight(code: int) -> int:
        return int(candidates.mass(np.array([code]))[0])

    return low + bisect_right(range(low, high), mass, key=weight)


PIECE = 1 << 16
"""Runs whose kinds are counted at a time."""
ODDS = 14
"""Logarithm of the odds of "too few rows" against all numbers beyond the records."""
LARGEST_ODDS = 1 << 52
"""Of whole numbers in place of c: one record more moves their difference, as floats, by its own."""


class Candidates(Protocol):
    """Public candidates, ordered as their codes are, with public weights that are whole numbers."""

    @property
    def lower(self) -> float | None:
        """The smallest possible answer, if it is bounded."""
        ...

    @property
    def upper(self) -> float | None:
        """The largest possible answer, if it is bounded."""
        ...

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest code and the largest one."""
        ...

    @property
    def total(self) -> int:
        """The weight of all candidates."""
        ...

    @property
    def least(self) -> int:
        """A weight that no candidate is below."""
        ...

    def codes(self, numbers: FloatArray, /) -> IntArray:
        """The codes of numbers that are not missing, within the range."""
        ...

    def mass(self, codes: IntArray, /) -> IntArray:
        """The weight of all candidates up to each code."""
        ...

    def value(self, code: int, /) -> int | float:
        """The number with that code."""
        ...

    def code_at(self, mass: int, /) -> int:
        """The first code up to which candidates weigh more than `mass`; 0 <= mass < total."""
        ...

    def listed(self, low: int, high: int, most: int, /) -> IntArray:
        """Few candidates from one code to another, ascending, and both ends."""
        ...

    def for_flips(self, strength: Fraction | None, /) -> "Candidates":
        """The same with the prior for permute-and-flip, where n ε is public."""
        ...

    @property
    def blocks(self) -> IntArray:
        """The first codes of blocks, ascending; in a block all candidates of a kind weigh alike."""
        ...

    @property
    def weights(self) -> IntArray:
        """What a candidate of every kind weighs, by block."""
        ...

    def kinds(self, codes: IntArray, /) -> IntArray:
        """How many candidates of every kind lie in the block of each code, up to the code."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """The distinct values of some records as codes, ascending, and how often each occurs; private.

    Attributes:
        codes: of the distinct values.
        counts: how many records have each.
    """

    codes: IntArray
    counts: IntArray

    @classmethod
    def of(cls, codes: IntArray, counts: IntArray | None = None) -> "Column":
        """From codes in any order, once or with their counts."""
        distinct, place = np.unique(codes, return_inverse=True)
        if counts is None:
            return cls(distinct, np.bincount(place, minlength=len(distinct)))
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, place, counts)
        return cls(distinct, total)

    @property
    def n(self) -> int:
        """How many records have a number."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Runs:
    """The runs of equal utility that hold any candidate, ascending; private.

    u is constant on the candidates between two neighbouring values, and on the candidate at a
    value.  So d distinct values make at most 2d + 1 runs.  A run is drawn with probability
    proportional to its mass, the sum of its weights, times exp(ε u / 2S); then a candidate in it by
    weight.  The masses are whole numbers and their logarithms are refined together with the noise
    (`dampen.core.sampling.weighted_best`), so the law is exactly the theorem's: nothing is rounded.
    The work grows with the records, not with the candidates.

    Attributes:
        start: the mass of the candidates before each run.
        mass: of its candidates.
        less: L of its candidates.
        at_most: R of its candidates.
    """

    start: IntArray
    mass: IntArray
    less: IntArray
    at_most: IntArray

    @classmethod
    def of(cls, column: Column, candidates: Candidates) -> "Runs":
        """Before the first value, at it, between it and the second, and so on."""
        upto = np.empty(2 * len(column.codes) + 1, dtype=np.int64)
        upto[:-1:2] = candidates.mass(column.codes - 1)
        upto[1::2] = candidates.mass(column.codes)
        upto[-1] = candidates.total
        start = np.concatenate([[0], upto[:-1]])
        ranks = np.concatenate([[0], np.cumsum(column.counts)])
        less = np.repeat(ranks, 2)[:-1]
        at_most = np.repeat(ranks, 2)[1:]
        held = upto > start
        return cls(start[held], (upto - start)[held], less[held], at_most[held])

    def best(self, u: FloatArray, scale: Fraction, none: int | None, entropy: Entropy) -> int:
        """The run that the exponential mechanism draws; `none` is the weight of one more."""
        mass = self.mass if none is None else np.append(self.mass, none)
        return weighted_best(u, mass, scale, entropy)

    def code(self, run: int, candidates: Candidates, entropy: Entropy) -> int:
        """A candidate of the run, by weight."""
        place = uniform_below(int(self.mass[run]), entropy)
        return candidates.code_at(int(self.start[run]) + place)

    def exponents(self, scaled: FloatArray) -> tuple[FloatArray, None]:
        """Those of each run, from its scaled utility."""
        return scaled + np.log(self.mass), None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copies:
    """The candidates of one kind in one run and one block, of equal utility and weight; private.

    In a run, candidates of one decade and of as many digits have one score: N copies of it.  The
    largest of N exponential numbers is -log(1 - U^(1/N)) for one uniform number U, refined with the
    logarithm of w where runs are near (`dampen.core.sampling.best_of_copies`).  All copies of the
    winner are as likely, so one of them is drawn uniformly.  So d distinct values take some 20 d
    numbers, however many candidates there are.

    Attributes:
        first: the codes they begin at.
        last: the codes they end at.
        kind: of the candidates.
        weight: of one of them.
        count: how many there are.
        less: L of each.
        at_most: R of each.
    """

    first: IntArray
    last: IntArray
    kind: IntArray
    weight: IntArray
    count: IntArray
    less: IntArray
    at_most: IntArray

    @classmethod
    def of(cls, column: Column, candidates: Candidates) -> "Copies":
        """Ascending, in pieces that fit into memory."""
        low, high = candidates.ends
        cuts = np.r_[low, column.codes, column.codes + 1, candidates.blocks]
        cuts = np.sort(cuts[(low <= cuts) & (cuts <= high)], kind="stable")
        first = cuts[np.diff(cuts, prepend=low - 1) > 0]
        last = np.append(first[1:] - 1, high)
        ranks = np.concatenate([[0], np.cumsum(column.counts)])
        less = ranks[np.searchsorted(column.codes, first, side="left")]
        at_most = ranks[np.searchsorted(column.codes, first, side="right")]
        found = []
        for start in range(0, len(first), PIECE):
            piece = slice(start, start + PIECE)
            count, weight = _by_kind(first[piece], last[piece], candidates)
            run, kind = np.nonzero(count * weight)
            each = (first, last, less, at_most)
            begin, end, below, upto = (of_run[piece][run] for of_run in each)
            found.append((begin, end, kind, weight[run, kind], count[run, kind], below, upto))
        return cls(*map(np.concatenate, zip(*found, strict=True)))

    def best(self, u: FloatArray, scale: Fraction, none: int | None, entropy: Entropy) -> int:
        """Whose copies permute-and-flip draws; `none` is the weight of one more."""
        weight = self.weight if none is None else np.append(self.weight, none)
        count = self.count if none is None else np.append(self.count, 1)
        return best_of_copies(u, weight, count, scale, entropy)

    def code(self, i: int, candidates: Candidates, entropy: Entropy) -> int:
        """One of them, uniformly."""
        place = uniform_below(int(self.count[i]), entropy)
        first = self.first[i : i + 1]
        codes = range(int(first[0]), int(self.last[i]))

        def upto(code: int) -> int:
            count, _ = _by_kind(first, np.array([code]), candidates)
            return int(count[0, self.kind[i]])

        return codes.start + bisect_right(codes, place, key=upto)

    def exponents(self, scaled: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of each copy, from its scaled utility, and how many copies there are."""
        return scaled + np.log(self.weight), self.count.astype(np.float64)


def _by_kind(first: IntArray, last: IntArray, candidates: Candidates) -> tuple[IntArray, IntArray]:
    """How many candidates of every kind lie between codes of one block, and what each weighs.

    The codes follow each other: all but one begin where the one before ends.
    """
    block = np.searchsorted(candidates.blocks, first, side="right") - 1
    upto = candidates.kinds(np.append(first[0] - 1, last))
    before = np.where((candidates.blocks[block] == first)[:, None], 0, upto[:-1])
    return upto[1:] - before, candidates.weights[block]


@dataclass(frozen=True)
class RankDraw:
    """One percentile by a mechanism on ranks; public parameters alone.

    Candidates g are public and have public weights w(g).  Of the n records that have a number, L(g)
    are below g and R(g) at most g.  With the share q = p / 100,

        u(x, g) = -max(0, L(g) - q n, q n - R(g))

    is 0 where a share of at most q lies below g and a share of at least q at or below it.

    **Lemma.**  One record more or less moves every u by at most s = max(q, 1 - q).  One record that
    is replaced, where a missing number may take the place of a number, moves every u by at most 1.
    Proof.  A record more moves L - q n by 1 - q if it is below g and by -q if not; q n - R by q if
    it is above g and by -(1 - q) if not.  Records without a number move nothing.  Where a number
    takes the place of another, n stays, and L and R move by at most 1 each. ∎

    **Theorem.**  The exponential mechanism with a prior, P(g) proportional to w(g)
    exp(ε u(x, g) / 2S), is ε-DP: for adding or removing a record with S = s, for replacing one with
    S = 1.
    Proof.  A neighbour changes the numerator by a factor of at most e^(ε/2), and each term of the
    sum below it, hence the sum; w is the same for both. ∎
    It has ε-bounded range as well, and so costs ε²/8 in zCDP.

    **Permute-and-flip** is the default where ε is the price; where ρ is, the exponential mechanism
    is.  Let every candidate of weight w be a *copy* with the score ε u(x, g) / 2S + log w, and a
    number from 1900 to 2099 two copies, one as a year.  Add an exponential number to each; the
    answer is the candidate of the largest.

    **Theorem.**  It is ε-DP, with S as above; ε + e^-ε - 1 is what it costs in zCDP.
    Proof.  Scores of neighbours differ by at most ε/2, for log w is public and does not move.
    Adding exponential noise of scale 1 to scores that move by at most ε/2 and naming the largest is
    permute-and-flip, which is ε-DP (McKenna and Sheldon 2020; Ding et al. 2021).  Which candidate a
    copy belongs to is post-processing. ∎

    **Accuracy.**  A record's own number is a candidate (or, with a step, lies between two).  The
    best candidate weighs at least w_min, all of them W together.  Candidates that are worse by more
    than r ranks are drawn with a probability of at most 0.1 if W exp(-ε r / 2S) <= w_min / 9: by
    permute-and-flip too, for P(a) <= e^(a - b) P(b) holds for the copies of scores a <= b.

    **Too few rows.**  Ranks hide absurd answers: beyond the largest record every number has the
    same rank.  Where an end of the range is open, one more candidate, "too few rows", has the
    weight W of all others together and the utility

        u(x, none) = -n t + c,    t = min(q, 1 - q),  c = 14 * 2S / ε,

    with t = 1 - q, or q, where only the upper, or lower, end is open.  A record more moves it by t,
    one that is replaced by at most t, and t <= S: the theorem holds with it as well.  All numbers
    beyond the records at an open end have a utility of at most -n t and weigh at most W, so that
    the answer is one of them with a probability of at most e^-14 < 10^-6, whatever the data is:
    "too few rows" is e^14 times as likely, as one copy among copies too.  It is negligible where n
    t ε / 2S exceeds log(W / w_min) + 14 by some more.

    Attributes:
        p: which percentile, 0 to 100, with at most four decimals.
        candidates: the possible answers and their weights.
        neighbours: replace one record, or add or remove one.
        mechanism: the exponential mechanism, or permute-and-flip.

    Raises:
        ParameterError: if p has more decimals.
    """

    p: Percent
    candidates: Candidates
    neighbours: Neighbours
    mechanism: Mechanism = EM

    def __post_init__(self) -> None:
        if self.share.denominator > FINEST:
            raise ParameterError(f"Expected p with at most four decimals, got p={self.p}.")

    @property
    def share(self) -> Fraction:
        """q."""
        return as_fraction(self.p) / 100

    @property
    def span(self) -> Fraction:
        """S."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return Fraction(1)
        return max(self.share, 1 - self.share)

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy) -> int:
        """The code of a candidate: ε-DP."""
        parts = self.parts(column)
        i = parts.best(self.utility(parts, column.n), self.scale(epsilon), None, entropy)
        return parts.code(i, self.candidates, entropy)

    def draw_or_none(self, column: Column, epsilon: Fraction, entropy: Entropy) -> int | None:
        """The code of a candidate, or None for too few rows: ε-DP."""
        if self.open_tail is None:
            return self.draw(column, epsilon, entropy)
        parts = self.parts(column)
        u = np.append(self.utility(parts, column.n), self.none_utility(column.n, epsilon))
        i = parts.best(u, self.scale(epsilon), self.candidates.total, entropy)
        return None if i == len(u) - 1 else parts.code(i, self.candidates, entropy)

    def parts(self, column: Column) -> Runs | Copies:
        """What one noisy value stands for: a run, or the copies of one kind in it."""
        return (Copies if self.mechanism == PF else Runs).of(column, self.candidates)

    def is_enough(self, strength: Fraction) -> bool:
        """Whether n ε = `strength` is enough for an answer near the data: the rule about tails."""
        return self.open_tail is None or strength * self.ease > ENOUGH

    @property
    def ease(self) -> Fraction:
        """t / S: the larger, the fewer rows are enough."""
        tail = min(self.share, 1 - self.share) if self.open_tail is None else self.open_tail
        return tail / self.span

    @property
    def open_tail(self) -> Fraction | None:
        """t; None where both ends are public."""
        tails = []
        if self.candidates.lower is None:
            tails.append(self.share)
        if self.candidates.upper is None:
            tails.append(1 - self.share)
        return min(tails, default=None)

    def check(self, epsilon: Fraction) -> None:
        """Refuses an ε at which floats do not hold the utility of "too few rows".

        Raises:
            ParameterError: if it is too small.
        """
        if self.open_tail is not None and ODDS / self.scale(epsilon) > LARGEST_ODDS:
            raise ParameterError(
                f"Expected a larger epsilon for p={self.p} where an end of the values is not "
                "stated. Raise epsilon, or state lower= and upper=."
            )

    def none_utility(self, n: int, epsilon: Fraction) -> float:
        """The utility of "too few rows", times the denominator of q."""
        assert self.open_tail is not None
        return float(ceil(ODDS / self.scale(epsilon)) - self.open_tail * self.share.denominator * n)

    def utility(self, runs: Runs | Copies, n: int) -> FloatArray:
        """u of every part, times the denominator of q: whole numbers, exact as floats."""
        P = self.share.numerator
        Q = self.share.denominator
        away = np.maximum(Q * runs.less - P * n, P * n - Q * runs.at_most)
        return -np.maximum(away, 0).astype(np.float64)

    def scale(self, epsilon: Fraction) -> Fraction:
        """What `utility` is multiplied by in the exponent."""
        return epsilon / (2 * self.span * self.share.denominator)

    def law(self, parts: Runs | Copies, n: int, epsilon: Fraction) -> FloatArray:
        """The probability of every part, to about 1e-12; not private."""
        exponent, copies = parts.exponents(self.utility(parts, n) * float(self.scale(epsilon)))
        exponent -= exponent.max()
        if copies is not None:
            return permute_and_flip(exponent, copies)
        weight = np.exp(exponent)
        return np.asarray(weight / weight.sum())

    def farthest(self, epsilon: Fraction) -> float:
        """r: in 9 of 10 runs the answer is at most so many ranks worse than the best candidate."""
        odds = log(9) + log(self.candidates.total) - log(self.candidates.least)
        return float(2 * self.span / epsilon) * odds

    def usual(self, epsilon: Fraction) -> float:
        """The same where values are spread evenly (`dampen.releases.accuracy.even_distance`)."""
        return float(2 * self.span / epsilon) * log(10)


FIRST = date(1900, 1, 1)
LAST = date(2099, 12, 31)
ORIGIN = date(1970, 1, 1).toordinal() - FIRST.toordinal()
NEAR = 1e-3
"""Of a second: what a float of days may be off."""
DAYS = LAST.toordinal() - FIRST.toordinal() + 1


@dataclass(frozen=True)
class Moments:
    """The public candidates, with their prior weights; numbers are days since 1970-01-01.

    **Candidates** are the days from 1900-01-01 to 2099-12-31, of times every second of them.

    **Prior.**  A year shares its weight equally among its first day, the first days of its months,
    and all of its days; a day, of times, among its start, its hours, its minutes and its seconds.
    Years from 1975 to 2024 weigh 8, and half as much for every half century farther away.  All of
    it is public and does not depend on any data.

    **In whole numbers.**  The code of a candidate is its day, or second, from 1900 on.  The weight
    of all candidates up to a code is looked up in two tables, of days and of the seconds of a day.
    `RankDraw` has the theorem and the draw.

    Attributes:
        lower: the smallest possible answer, if it is bounded.
        upper: the largest possible answer, if it is bounded.
        seconds: whether the candidates are seconds; days if not.

    Raises:
        ParameterError: if no candidate is left.
    """

    lower: float | None = None
    upper: float | None = None
    seconds: bool = False

    def __post_init__(self) -> None:
        low, high = self.ends
        if low > high:
            raise ParameterError(
                f"Expected lower < upper between {FIRST} and {LAST}. Other ranges need a step, "
                "such as step=1 for days."
            )

    def codes(self, numbers: FloatArray) -> IntArray:
        """The codes of numbers that are not missing, within the range."""
        day = np.clip(numbers + ORIGIN, -1, DAYS + 1)
        place = np.rint(day * DAY) if self.seconds else np.floor(day)
        return np.clip(place.astype(np.int64), *self.ends)

    def mass(self, codes: IntArray) -> IntArray:
        """The prior weight of all candidates up to each code, the range cut off."""
        low, high = self.ends
        return self._uncut(np.clip(codes, low - 1, high)) - self._before

    def value(self, code: int) -> int | float:
        """The number with that code."""
        day, second = divmod(code, DAY if self.seconds else 1)
        return day - ORIGIN + second / DAY if second else day - ORIGIN

    def code_at(self, mass: int) -> int:
        """The first code up to which candidates weigh more than `mass`; 0 <= mass < total."""
        return _code_at(self, mass)

    def for_flips(self, _: Fraction | None) -> "Moments":
        """The prior is the same for both mechanisms."""
        return self

    @cached_property
    def blocks(self) -> IntArray:
        """The first codes of the half centuries, where weights change."""
        return np.flatnonzero(np.diff(self._era, prepend=0)) * (DAY if self.seconds else 1)

    @cached_property
    def weights(self) -> IntArray:
        """What a candidate of every kind weighs, by block: kinds of days times kinds of seconds."""
        days, seconds = (np.unique(each) for each in (self._plain_day, self._second))
        first = np.flatnonzero(np.diff(self._era, prepend=0))
        return self._era[first, None] * np.outer(days, seconds).ravel()

    def kinds(self, codes: IntArray) -> IntArray:
        """How many candidates of every kind lie in the block of each code, up to the code."""
        day, second = np.divmod(codes, DAY if self.seconds else 1)
        start = self.blocks[np.searchsorted(self.blocks, codes, side="right") - 1]
        (days, of_day), (seconds, _) = self._tables
        whole = days[day] - days[start // (DAY if self.seconds else 1)]
        found = whole[:, :, None] * seconds[-1]
        found = found + of_day[day][:, :, None] * seconds[second + 1][:, None, :]
        return found.reshape(len(codes), -1)

    def listed(self, low: int, high: int, most: int) -> IntArray:
        """Candidates from one code to another at even distances, at most about `most` of them."""
        steps = (1, 60, 3600, DAY) if self.seconds else (1,)
        step = next((each for each in steps if (high - low) // each < most), steps[-1])
        inside = np.arange(-(-low // step) * step, high + 1, step)
        return np.unique(np.concatenate([[low, high], inside]))

    @cached_property
    def total(self) -> int:
        """The weight of all candidates."""
        return int(self.mass(np.array([self.ends[1]]))[0])

    @cached_property
    def least(self) -> int:
        """A weight that no candidate is below."""
        return int(self._day.min() * self._second.min())

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The codes of the range."""
        part = DAY if self.seconds else 1
        low = 0 if self.lower is None else int(np.ceil((self.lower + ORIGIN) * part - NEAR))
        last = DAYS * part - 1
        high = last if self.upper is None else int(np.floor((self.upper + ORIGIN) * part + NEAR))
        return max(low, 0), min(high, last)

    @cached_property
    def _plain_day(self) -> IntArray:
        """What every day weighs in its year: shares are 1/3 each, in units of 1/(12 366)."""
        days = [date.fromordinal(FIRST.toordinal() + i) for i in range(DAYS)]
        plain = np.full(DAYS, 12)
        plain[[each.day == 1 for each in days]] += 366
        plain[[each.day == each.month == 1 for each in days]] += 12 * 366
        return plain

    @cached_property
    def _era(self) -> IntArray:
        """What the half century of every day multiplies its weight by."""
        years = (FIRST.year + i for i in range(LAST.year - FIRST.year + 1))
        return np.concatenate(
            [
                np.full(date(y, 12, 31).timetuple().tm_yday, 2 ** max(0, 3 - abs((y - 1975) // 50)))
                for y in years
            ]
        )

    @cached_property
    def _day(self) -> IntArray:
        """The weight of every day."""
        return self._plain_day * self._era

    @cached_property
    def _tables(self) -> list[tuple[IntArray, IntArray]]:
        """Of days, and of seconds: how many of every kind come before each, and its own kind."""
        own = [
            (weight[:, None] == np.unique(weight)).astype(np.int64)
            for weight in (self._plain_day, self._second)
        ]
        none = [np.zeros((1, each.shape[1]), dtype=np.int64) for each in own]
        pairs = zip(none, own, strict=True)
        return [(np.concatenate([zero, each.cumsum(axis=0)]), each) for zero, each in pairs]

    @cached_property
    def _second(self) -> IntArray:
        """The weight of every second of a day, in units of 1/86,400 of a share."""
        if not self.seconds:
            return np.ones(1, dtype=np.int64)
        second = np.ones(DAY, dtype=np.int64)
        second[::60] += 60
        second[::3600] += 3600
        second[0] += DAY
        return second

    @cached_property
    def _upto(self) -> tuple[IntArray, IntArray]:
        """The weight of the days, and of the seconds, before each."""
        none = np.zeros(1, dtype=np.int64)
        days = np.concatenate([none, np.cumsum(self._day)])
        return days, np.concatenate([none, np.cumsum(self._second)])

    @cached_property
    def _before(self) -> int:
        return int(self._uncut(np.array([self.ends[0] - 1]))[0])

    def _uncut(self, codes: IntArray) -> IntArray:
        """The weight of all candidates up to codes from -1 on, whatever the range is."""
        days, seconds = self._upto
        day, second = np.divmod(codes + 1, DAY if self.seconds else 1)
        whole = days[day] * seconds[-1]
        return whole + np.append(self._day, 0)[day] * seconds[second]


FINDING = Fraction(1, 3)
FOR_RANGE = 4 / FINDING
"""The points of the range need as many rows as percentiles do that have ε divided by this: half of
`FINDING` for each, for half of the tail."""
MOST_POINTS = 1 << 17


@dataclass(frozen=True)
class WithinRange:
    """Several percentiles in two stages; public parameters alone.

    **Stage 1** spends `FINDING` of ε on two percentiles beyond those that are asked for, half way
    to the ends: q_1 / 2 and (1 + q_J) / 2, each with half of it, as one percentile is drawn
    (`RankDraw`).  They are public from then on, and so are the *points*: all decimals between them
    of as many digits as leave at most `MOST_POINTS` of them.

    **Stage 2** spends the rest on the percentiles themselves, together, on these points
    (`dampen.questions.percentile.joint_tight`).  Its ways are those for adding or removing a
    record, in which the number of records is private, as it is here: rows without a number are
    skipped.

    **Theorem.**  With ε2 for stage 2 the whole is ε-DP for adding or removing a record, by adaptive
    composition.  For replacing one, where a missing number may take the place of a number, it is if
    stage 2 gets ε2 (1 - min π) in place of ε2 where up to nine percentiles are one joint draw, π
    being the shares of records between them, and ε2 / 2 in its other ways.
    Proof.  A number that goes missing, or comes, is a record less or more.  A number that takes the
    place of another is one record less and one more, at most 2ε' for any way that is ε'-DP.  The
    joint draw of up to nine moves its targets with n, so that they stay: the weight of the record
    leaves its gaps and enters others, and TV moves by at most 2.  With α = ε' / 2s and
    s >= 2 (1 - min π) that costs at most 2 · 2α = 2 ε' / s <= ε' / (1 - min π), and its rounding is
    paid for by ε'. ∎

    **Where the range needs more rows than there are.**  If the number of rows is public, or was
    counted with noise, it may be too small for the points beyond the first and the last percentile,
    but not for all percentiles.  Then the percentiles are asked for that it is enough for: as many
    as possible, in two stages as above, or one by one at equal shares of ε with the exponential
    mechanism.  The others have no answer.  The choice follows from public facts alone, and neither
    way loses more than ε, nor costs more ρ than was charged for the two stages: k draws at ε/k cost
    ε²/8k.  Where that is more, they have ε' = (1 - `FINDING`) ε in all, as stage 2 has, and cost no
    more than any ε'-DP release.

    Attributes:
        points: the percentiles as they were asked for, in any order, some perhaps twice.
        candidates: the possible answers.
        neighbours: what ε speaks of.

    Raises:
        ParameterError: if a percentile has more than four decimals, or half of the way from it to
            an end does.
    """

    points: tuple[Percent, ...]
    candidates: Candidates
    neighbours: Neighbours
    name = "joint-in-range"

    def __post_init__(self) -> None:
        for p in self.points:
            RankDraw(p, self.candidates, self.neighbours)
        # Any of them may be the first or the last one that is drawn (`of_rows`).
        if any(half.denominator > FINEST for q in self.shares for half in (q / 2, (1 + q) / 2)):
            raise ParameterError(
                "Expected p with at most three decimals, or an even fourth one, for several "
                "percentiles where lower= and upper= are not stated."
            )

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The different percentiles, ascending, as shares."""
        return tuple(sorted({as_fraction(p) / 100 for p in self.points}))

    @property
    def tail_parts(self) -> Fraction:
        """A percentile in its tail is found as if it had this part of ε: see `unbounded.ENOUGH`.

        Half of the share that finds the range, for half of the tail; or one by one (`of_rows`).
        """
        return min(FOR_RANGE, Fraction(len(self.shares)))

    def of_rows(self, n: int | None, epsilon: Fraction, /) -> "WithinRange | OfSome":
        """The percentiles that n rows are enough for: as many as possible, see the class."""
        if n is None:
            return self
        together = self._enough(n * epsilon / FOR_RANGE)
        if len(together) == len(self.shares):
            return self
        most = range(1, len(self.shares) + 1)
        alone = max((self._enough(n * epsilon / k)[:k] for k in most), key=len)
        if len(alone) < len(together):
            return OfSome(self.points, replace(self, points=tuple(together)))
        one_by_one = EqualRunShares(tuple(alone), self.candidates, self.neighbours, EM)
        fits = not alone or GUMBEL.rho(epsilon, len(alone)) <= pure_rho((1 - FINDING) * epsilon)
        return OfSome(self.points, one_by_one, Fraction(1) if fits else 1 - FINDING)

    def _enough(self, strength: Fraction) -> list[Percent]:
        """The percentiles that n ε = `strength` is enough for, the easiest first."""
        draws = [RankDraw(q * 100, self.candidates, self.neighbours) for q in self.shares]
        easiest = sorted(draws, key=lambda draw: (-draw.ease, draw.share))
        return [draw.p for draw in easiest if draw.is_enough(strength)]

    def cost(self, price: Price, query: str, /) -> Cost:
        """Two draws of the exponential mechanism for the range; the rest is (1 - FINDING) ε-DP."""
        cost = composed_cost(
            self.neighbours,
            price,
            query=query,
            mechanism=self.name,
            rho=lambda e: GUMBEL.rho(FINDING * e, 2) + pure_rho((1 - FINDING) * e),
        )
        for each in self._beyond:
            each.check(cost.epsilon * FINDING / 2)
        for q in self.shares:  # which may be drawn one by one (`of_rows`)
            alone = RankDraw(q * 100, self.candidates, self.neighbours)
            alone.check(cost.epsilon * (1 - FINDING) / len(self.shares))
        return cost

    def farthest(self, _: Fraction, /) -> None:
        """No bound is known before the range is."""

    def usual(self, _: Fraction, /) -> None:
        """Nor is a usual error."""

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        """One code per percentile, in their order; None for too few rows: ε-DP."""
        found = self.range_of(column, epsilon * FINDING, entropy)
        if found is None:
            return [None] * len(self.points)
        listed = self.candidates.listed(*found, MOST_POINTS)
        drawn = self.together(column, listed, epsilon * (1 - FINDING), entropy)
        at = dict(zip(self.shares, listed[drawn].tolist(), strict=True))
        return [at[as_fraction(p) / 100] for p in self.points]

    def range_of(
        self, column: Column, epsilon: Fraction, entropy: Entropy
    ) -> tuple[int, int] | None:
        """Two codes, ascending, or None for too few rows: ε-DP."""
        drawn = [each.draw_or_none(column, epsilon / 2, entropy) for each in self._beyond]
        if drawn[0] is None or drawn[1] is None:
            return None
        return min(drawn[0], drawn[1]), max(drawn[0], drawn[1])

    @property
    def _beyond(self) -> list[RankDraw]:
        """The two percentiles that are the range."""
        beyond = (self.shares[0] / 2, (1 + self.shares[-1]) / 2)
        return [RankDraw(q * 100, self.candidates, self.neighbours) for q in beyond]

    def together(
        self, column: Column, listed: IntArray, epsilon: Fraction, entropy: Entropy
    ) -> list[int]:
        """Places among the listed candidates, ascending: ε-DP."""
        upto = np.concatenate([[0], np.cumsum(column.counts)])
        codes = np.clip(column.codes, listed[0], listed[-1])
        less = upto[np.searchsorted(codes, listed, side="left")]
        at_most = upto[np.searchsorted(codes, listed, side="right")]
        ranks = Ranks(less, at_most)
        way = self.way(len(listed))
        return way.draw(ranks, epsilon * self.part(way, epsilon), entropy)

    def way(self, size: int) -> Way:
        """How the percentiles are drawn on so many points."""
        way = together(self.shares, Neighbours.ADD_REMOVE_ROW, size)
        assert way is not None, "so few points are always few enough"
        return way

    def part(self, way: Way, epsilon: Fraction) -> Fraction:
        """How much of ε a way gets that is for adding and removing records."""
        if self.neighbours is not Neighbours.REPLACE_ONE:
            return Fraction(1)
        ends = (Fraction(0), *self.shares, Fraction(1))
        part = 1 - min(b - a for a, b in pairwise(ends))
        is_one_draw = isinstance(way, Taut) and way.fits(epsilon * part)
        return part if is_one_draw and len(self.shares) <= FEW else Fraction(1, 2)


SPLIT = 4
"""Up to so many percentiles ε is split; more are drawn together.  Chosen on seven columns."""

ENOUGH = 75
"""The rule about tails: n ε min(q, 1-q) / S must exceed this for an answer to be expected.

Below, "too few rows" becomes likely (`RankDraw`).  Without that candidate an answer
beyond ten times the range of the data would have a probability of up to 0.91 at 20, of 1.6e-5 at
50, and of 1e-10 at 75, on 30 columns (pressures are the worst)."""


COUNTING = 25
LEAST_COUNTING = Fraction(1, 200)
"""The share of ε that counts the rows, at least."""
STOP = Fraction(1, 2)
"""Of the rows that the rule about tails asks for: below so many nothing more is charged."""


class RunDraws(Protocol):
    """How several percentiles are drawn; public parameters alone."""

    @property
    def tail_parts(self) -> Fraction:
        """A percentile in its tail is found as if it had ε divided by this."""
        ...

    def of_rows(self, n: int | None, epsilon: Fraction, /) -> "RunDraws":
        """The same for n public rows; None if nobody knows them."""
        ...

    def cost(self, price: Price, query: str, /) -> Cost:
        """What all of them cost together."""
        ...

    def farthest(self, epsilon: Fraction, /) -> float | None:
        """In 9 of 10 runs each is at most so many ranks worse than the best; None if unknown."""
        ...

    def usual(self, epsilon: Fraction, /) -> float | None:
        """The same where values are spread evenly."""
        ...

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        """One code per percentile, in their order, none above that of a larger percentile.

        None for a percentile that the rows are too few for.
        """
        ...


@dataclass(frozen=True)
class EqualRunShares:
    """Each percentile by itself, at an equal and exact share of ε.

    ε-DP in total, by sequential composition, and sorting the answers is post-processing.

    Attributes:
        points: the percentiles as they were asked for.
        candidates: the possible answers.
        neighbours: what ε speaks of.
        mechanism: the exponential mechanism, or permute-and-flip.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """

    points: tuple[Percent, ...]
    candidates: Candidates
    neighbours: Neighbours
    mechanism: Mechanism

    def __post_init__(self) -> None:
        self._draws()

    def of_rows(self, n: int | None, epsilon: Fraction, /) -> "EqualRunShares":
        if self.mechanism != PF:
            return self
        strength = None if n is None else epsilon * n / len(self.points)
        return replace(self, candidates=self.candidates.for_flips(strength))

    @property
    def tail_parts(self) -> Fraction:
        return Fraction(len(self.points))

    def cost(self, price: Price, query: str, /) -> Cost:
        k = len(self.points)
        cost = selection_cost(self.neighbours, price, query=query, mechanism=self.mechanism, k=k)
        for each in self._draws():
            each.check(cost.epsilon / k)
        return cost

    def farthest(self, epsilon: Fraction, /) -> float:
        share = epsilon / len(self.points)
        return max(each.farthest(share) for each in self._draws())

    def usual(self, epsilon: Fraction, /) -> float:
        share = epsilon / len(self.points)
        return max(each.usual(share) for each in self._draws())

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        share = epsilon / len(self.points)
        drawn = [each.draw_or_none(column, share, entropy) for each in self._draws()]
        ascending = iter(sorted(code for code in drawn if code is not None))
        in_order = sorted(range(len(drawn)), key=lambda i: as_fraction(self.points[i]))
        codes: list[int | None] = [None] * len(drawn)
        for i in in_order:
            if drawn[i] is not None:
                codes[i] = next(ascending)
        return codes

    def _draws(self) -> list[RankDraw]:
        return [RankDraw(p, self.candidates, self.neighbours, self.mechanism) for p in self.points]


@dataclass(frozen=True)
class OfSome:
    """Some of the percentiles, those that the rows are enough for; the others have no answer.

    Attributes:
        asked: the percentiles as they were asked for.
        draws: of those that have an answer.
        part: of ε that they get.
    """

    asked: tuple[Percent, ...]
    draws: "EqualRunShares | WithinRange"
    part: Fraction = Fraction(1)

    @property
    def tail_parts(self) -> Fraction:
        return self.draws.tail_parts

    def of_rows(self, _n: int | None, _epsilon: Fraction, /) -> "OfSome":
        return self

    def cost(self, price: Price, query: str, /) -> Cost:
        return self.draws.cost(Price(self.part * price.asked()), query)

    def farthest(self, epsilon: Fraction, /) -> float | None:
        return self.draws.farthest(self.part * epsilon) if self.draws.points else None

    def usual(self, epsilon: Fraction, /) -> float | None:
        return self.draws.usual(self.part * epsilon) if self.draws.points else None

    def draw(self, column: Column, epsilon: Fraction, entropy: Entropy, /) -> list[int | None]:
        points = self.draws.points
        codes = self.draws.draw(column, self.part * epsilon, entropy) if points else []
        found = dict(zip(map(as_fraction, points), codes, strict=True))
        return [found.get(as_fraction(p)) for p in self.asked]


def several_draws(
    points: tuple[Percent, ...],
    candidates: Candidates,
    neighbours: Neighbours,
    mechanism: Mechanism,
) -> RunDraws:
    """How so many percentiles are drawn: a public rule.

    Raises:
        ParameterError: if a percentile has more than four decimals.
    """
    for draw in (RankDraw(p, candidates, neighbours) for p in points):
        if draw.open_tail == 0:
            raise ParameterError(
                f"p = {draw.p} needs a public end: beyond the data every number has the same rank. "
                "State lower= and upper=, or ask for a percentile such as 1 or 99."
            )
    if len({as_fraction(p) for p in points}) > SPLIT:
        return WithinRange(points, candidates, neighbours)
    return EqualRunShares(points, candidates, neighbours, mechanism)


@dataclass(frozen=True, kw_only=True)
class UnboundedMethod:
    """Values by rank among all decimals, or moments; in every group if there are groups.

    One ε for all groups, by parallel composition: see `dampen.data.cells`.

    **The number of rows first.**  Where an end is open, the number of rows is private and nobody
    states how many to expect, a first look counts them with discrete Laplace noise, at λ ε; a row
    more or less moves the count by 1.  The rule about tails asks for n* = 75 S / (t ε') rows, with
    the open tail t of the percentile that is easiest to have and ε' = ε / parts, `tail_parts` of
    them.  λ is chosen such that the noise has the scale n* / 3, λ = t / (25 S parts), 0.04 for a
    median, and is at least 0.005: nearer to the ends n* is large, and noise in proportion to it
    would hide how many rows there are.  Below n* / 2 the answer is "too few rows" and the rest of ε
    is not charged (`Stepwise` has the theorem).  That happens by mistake with probability
    e^(-3 (n / n* - 1/2)) / 2 at most, 0.006 at n = 2 n*.

    Attributes:
        query: what is asked, for the ledger.
        column: of the numbers.
        by: the column of groups, if there are groups.
        grouping: the groups.
        candidates: the possible answers.
        draws: how they are drawn.
        points: the percentiles.
        several: whether the answer is a list.
        neighbours: what ε speaks of.
        rows: the number of rows, where it is public and known.
        most: a public bound on it, where that is stated.
        counts: whether a first look counts the rows.
    """

    query: str
    column: str
    by: str | None
    grouping: Grouping | None
    candidates: Candidates
    draws: RunDraws
    points: tuple[Percent, ...]
    several: bool
    neighbours: Neighbours
    rows: int | None
    most: int | None = None
    counts: bool = False

    def cost(self, price: Price, /) -> Cost:
        """The cost of both looks: the part λ of ε pays for the count, the rest for the answer."""
        part = self.counting
        if not part:
            return self.draws.cost(price, self.query)

        def answering(epsilon: Fraction) -> Cost:
            return self.draws.cost(Price((1 - part) * epsilon), self.query)

        def rho(epsilon: Fraction) -> Fraction:
            return pure_rho(part * epsilon) + answering(epsilon).rho

        epsilon = price.asked(rho)
        check_scale(1 / (part * epsilon))
        return replace(answering(epsilon), epsilon=epsilon, rho=rho(epsilon), losses=())

    @property
    def counting(self) -> Fraction:
        """λ: the part of ε that counts the rows; 0 if nothing does."""
        if not self.counts or not self._easiest:
            return Fraction(0)
        share = ENOUGH / (COUNTING * self._needed(self._easiest, Fraction(1)))
        return max(share, LEAST_COUNTING)

    def first_cost(self, cost: Cost, /) -> Cost | None:
        part = self.counting
        if not part:
            return None
        price = Price(part * cost.epsilon)
        return composed_cost(self.neighbours, price, query=self.query, mechanism="count")

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.rows if self.rows is not None else rows
        if n is not None and (needed := self._too_few(n, epsilon)) is not None:
            return needed
        return self._distance(epsilon, n)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        if self.counting:
            begun = self.begin(source, epsilon, entropy)
            return begun if isinstance(begun, Drawn) else begun(entropy)
        lookup = None if self.grouping is None else self.grouping.lookup(source, str(self.by))
        columns, n = read_columns(source, self.column, self.candidates, lookup)
        # No more rows than are stated: percentiles that these are too few for are not asked for.
        at_most = self.most if self._is_in_range else self._rows_each
        answers = [self._values(column, epsilon, entropy, at_most) for column in columns]
        if lookup is not None:
            lacking = sum(map(self._lacks, answers))
            few = too_few(groups=(lacking, len(answers)), several=self.several)
            told = self._told(few, answers, source) if lacking else None
            return Drawn(dict(zip(lookup.groups, answers, strict=True)), accuracy=told)
        if self.neighbours is not Neighbours.REPLACE_ONE:
            stated = None if self.most is None else self._too_few(self.most, epsilon)
            few = stated or too_few(several=self.several)
            told = self._told(few, answers, source) if self._lacks(answers[0]) else None
            return Drawn(answers[0], accuracy=told)
        return Drawn(answers[0], {"n": n}, self.accuracy(epsilon, n))

    def begin(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        """Counts the rows, noisily; goes on unless they are too few for every percentile."""
        [column], _ = read_columns(source, self.column, self.candidates)
        part = self.counting
        [noise] = discrete_laplace(1 / (part * epsilon), 1, entropy).tolist()
        n = max(column.n + noise, 0)
        shown = {"epsilon_for_rows": decimal_text(part * epsilon)}
        few = self._few(n, epsilon)
        if n < self._needed(self._easiest, epsilon) * STOP:
            nothing = [None] * len(self.points) if self.several else None
            return Drawn(nothing, shown, of_numbers(few, source, self.column))

        def rest(bits: Entropy) -> Drawn:
            left = (1 - part) * epsilon
            found = self._values(column, left, bits, n)
            lacks = self._lacks(found)
            told = self._told(few, [found], source) if lacks else self._known_later(n, left)
            return Drawn(found, shown, told)

        return rest

    def _known_later(self, n: int, epsilon: Fraction) -> Accuracy | None:
        """The accuracy of a way that was chosen by the number of rows, if that way has one."""
        if not isinstance(self.draws.of_rows(n, epsilon), OfSome):
            return None
        return replace(self, draws=self.draws.of_rows(n, epsilon))._distance(epsilon, None)

    def _lacks(self, found: Any) -> bool:
        return found is None or (self.several and None in found)

    def _told(self, few: Accuracy, found: list[Any], source: Opened) -> Accuracy:
        """The accuracy where an answer is missing; if all are, the column may hold no numbers."""
        each = [value for values in found for value in (values if self.several else [values])]
        nothing = all(value is None for value in each)
        return of_numbers(few, source, self.column) if nothing else few

    def _few(self, n: int, epsilon: Fraction) -> Accuracy:
        """The accuracy for a noisy number of rows where a percentile was not answered."""
        noise = ceil(3 / (self.counting * epsilon))
        return self._too_few(n, epsilon, noise=noise) or too_few(several=self.several)

    @property
    def _eases(self) -> list[Fraction]:
        """t / S of each percentile, in the rule about tails."""
        asked = map(as_fraction, self.points)
        return [RankDraw(p, self.candidates, self.neighbours).ease for p in asked]

    @property
    def _easiest(self) -> Fraction:
        return max(self._eases)

    def _needed(self, ease: Fraction, epsilon: Fraction) -> Fraction:
        """n*: the rows that the rule about tails asks for."""
        return ENOUGH * self.draws.tail_parts / (ease * epsilon)

    @property
    def _is_in_range(self) -> bool:
        """Whether a bound on the rows may choose the percentiles: of one column, not of groups."""
        return isinstance(self.draws, WithinRange) and self.grouping is None and self.rows is None

    @property
    def _rows_each(self) -> int | None:
        """How many rows a column has, or a group on average, where that is public."""
        if self.rows is None or self.grouping is None:
            return self.rows
        return self.rows // len(self.grouping.groups)

    def _values(self, column: Column, epsilon: Fraction, entropy: Entropy, rows: int | None) -> Any:
        codes = self.draws.of_rows(rows, epsilon).draw(column, epsilon, entropy)
        values = [None if code is None else self.candidates.value(code) for code in codes]
        return values if self.several else values[0]

    def _distance(self, epsilon: Fraction, n: int | None) -> Accuracy:
        """How many ranks off, whatever the data is."""
        draws = self.draws.of_rows(self._rows_each, epsilon)
        ranks = draws.farthest(epsilon)
        public = self.neighbours is Neighbours.REPLACE_ONE
        most = None if n is None else most_ranks(self.points, n, public=public)
        if ranks is None:
            return UNKNOWN
        if most is not None:
            ranks = min(ranks, most)
        subject = "the value" if len(self.points) == 1 else "each value"
        return by_distance(
            ranks,
            "ranks",
            subject=subject if self.by is None else f"{subject} of a group",
            target="the percentile" if len(self.points) == 1 else "its percentile",
            epsilon=epsilon,
            usual=draws.usual(epsilon),
        )

    def _too_few(self, n: int, epsilon: Fraction, *, noise: int = 0) -> Accuracy | None:
        """What the rule about tails says of n rows, if they are too few.

        Of several groups the smallest has at most as many rows as there are on average.
        """
        if self.grouping is not None:
            n //= len(self.grouping.groups)
        ease, hardest = min(zip(self._eases, self.points, strict=True))
        needed = self._needed(ease, epsilon) if ease else None
        if needed is not None and n > needed:
            return None
        return by_tail(
            n,
            p=as_fraction(hardest),
            epsilon=epsilon,
            needed=needed,
            first=_first_share(epsilon * n / self.draws.tail_parts, self.neighbours),
            noise=noise,
            by_group=self.grouping is not None,
        )


def _first_share(strength: Fraction, neighbours: Neighbours) -> Fraction | None:
    """The smallest share, in percent, that n ε = `strength` is enough for; None for none."""
    for tenths in range(1, 501):
        q = Fraction(tenths, 1000)
        span = Fraction(1) if neighbours is Neighbours.REPLACE_ONE else 1 - q
        if strength * q > ENOUGH * span:
            return q * 100
    return None


def read_columns(
    source: Opened,
    name: str,
    candidates: Candidates,
    lookup: GroupLookup | None = None,
) -> tuple[list[Column], int]:
    """The column, or that of every group, and the number of rows with those without a number.

    Args:
        source: the opened data; its rows are read.
        name: the column of numbers.
        candidates: which tell the code of a number.
        lookup: of the public groups; rows of others are dropped.
    """
    found = ValuesOf(name, lookup).of(source)
    columns = [Column.of(candidates.codes(numbers), rows) for numbers, rows in found.parts()]
    return columns, int(found.rows.sum() + found.missing.sum())
