"""How much: `total` and `mean` of numbers, and a range of the numbers where nobody states one.

- `TotalMethod`, `MeanMethod`: totals and means, in all or in every group, with exact intervals.
- `PublicSizeMethod`: the same where the number of rows is public.
- `RangeMethod`: a range that holds nearly all values of a column, where nobody knows its ends: for
  sums of them.

Add/remove one row.  Values are moved to the nearest point of a public grid lower, lower + step,
..., upper; rows without a value are left out.  A group is a cell: a row belongs to one at most, so
that one ε pays for all groups.

Where the number of rows is public, `PublicSizeMethod` has the theorem for replaced rows; for
persons `dampen.data.units` has those of weights and amounts.

**In zCDP.**  A row changes a total by at most Δ and (A, B) by (c, m - c), whose 2-norm is at most
m.  So discrete Gaussian noise of the scales Δ / √(2ρ) and m / √(2ρ) is ρ-zCDP, as for counts.
Δ is that of `TotalMethod`; A, B, c and m are those of `MeanMethod`.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from dampen.core.noise import GUMBEL, pure_rho
from dampen.core.sampling import Entropy, discrete_laplace, weighted_best
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.cells import Grouping, GroupLookup, Keyed, ValuesOf
from dampen.data.columns import Measure, as_bound, as_numbers, as_step, measure_of, measured
from dampen.data.open import open_columns, open_table
from dampen.data.source import AddsCells, Batch, Kind, Opened, reading, require_numbers
from dampen.data.units import Amounts, UnitTable, quantum_of
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError
from dampen.questions.counts import all_rows, grouping_of
from dampen.questions.groups.statistics import Exact, Grid, decimal, usual_step
from dampen.questions.keys import finding_groups
from dampen.questions.percentile.unbounded import Column, Decimals, RankDraw
from dampen.releases.accuracy import (
    CONFIDENCE,
    Accuracy,
    by_noise,
    likely_noise,
    of_numbers,
    rounded_up,
)
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost
from dampen.releases.method import Drawn, Finding, InOwnType, Leak, Method, Rest
from dampen.releases.numbers import (
    LAPLACE,
    IntegerNoise,
    RatioLaw,
    ShiftLaw,
    check_scale,
    noise_cost,
    noise_for,
    share,
    with_noise,
)
from dampen.releases.question import (
    Fact,
    Shape,
    by_parameter,
    delta_parameter,
    groups_parameter,
    kind_parameter,
    lower_parameter,
    parameter,
    upper_parameter,
    weigh_parameter,
    where_parameter,
)
from dampen.releases.release import Release
from dampen.releases.units import OfUnits, persons, shares, weighed
from dampen.schema.schema import FIRST_DAY, Schema

__all__ = [
    "MeanQuestion",
    "RangeMethod",
    "RangeQuestion",
    "TotalQuestion",
    "finding_range",
    "mean",
    "radius_classes",
    "total",
]

SIZE = Fraction(1, 10)
"""Of ε, for the size; chosen by `dampen-studies run ranges`, as all numbers here."""
CENTRE = Fraction(1, 20)
RADIUS = Fraction(3, 20)
CELLS = 100_000
"""Of the grid in the range."""
EXPONENTS = range(-9, 16)
RADII = tuple(first * Fraction(10) ** e for e in EXPONENTS for first in (1, 2, 5))
WINDOW = 6
"""Classes of a window: two decades."""
USUAL_SIZES = range(7)
"""Exponents of windows that weigh the most; the others weigh half as much for every decade."""
ODDS = 14
"""Logarithm of the odds of "too few rows" against all windows without rows."""
SURE = 10.0
BESIDE = 6.0
FAR = 0.4
USUAL = 0.9
LIKELY = 1.0
NEAR = 1.25
BEYOND = 0.8
"""What a class beyond the size needs more, for every class: as much as the range grows by it."""
ENOUGH = 200
"""n ε must exceed this, or too few rows are likely."""
TOO_FEW = Accuracy(
    None,
    "rows",
    "There are too few rows to find the range of the values at this ε: n ε should be at least "
    f"{ENOUGH}. State lower= and upper=, or use a larger ε.",
    chance=True,
)


def finding_range(asked: "NumbersQuestion") -> Finding | None:
    """How the range of a column is found; None where both ends are stated.

    Args:
        asked: the question, of listed groups or none.
    """
    if asked.lower is not None and asked.upper is not None:
        return None
    question = _range_question(asked)
    stated = as_step(asked.step, asked.lower, asked.upper)

    def filled(found: tuple[Fraction, Fraction]) -> Any:
        low, high = found
        step = _fitting_step(high - low, stated)
        if asked.around_zero:  # the unit of a total divides both ends
            low = low // step * step
        cells = -((low - high) // step)
        if question.upper is not None:
            low = high - cells * step
        return replace(asked, lower=low, upper=low + cells * step, step=step)

    end = question.known_end
    known_upper = Fraction(0) if question.upper is None else decimal(question.upper, "upper")
    examples = [
        question.ends(known_upper if end is None else end, radius) for radius in _radii_of(stated)
    ]
    return Finding(
        "range",
        question,
        sum(question.shares, Fraction(0)),
        examples,
        lambda found: None if found is None else filled(found),
        None if asked.groups is None else dict.fromkeys(asked.groups),
    )


def _range_question(asked: "NumbersQuestion") -> "RangeQuestion":
    """The question for the ends that are not stated; for a total no end but 0 is of use."""
    lower = None if asked.lower == FIRST_DAY else as_bound(asked.lower)
    ends = {"lower": lower, "upper": as_bound(asked.upper)}
    known: dict[str, Exact | None] = {
        name: None if end is None else decimal(end, name) for name, end in ends.items()
    }
    if asked.around_zero:
        known = {name: end if end == 0 else None for name, end in known.items()}
    grouping = None if asked.groups is None else Grouping(asked.groups)
    return RangeQuestion(asked.value, asked.by, grouping, around_zero=asked.around_zero, **known)


def _radii_of(stated: Exact | None) -> tuple[Fraction, ...]:
    """Radii of ranges with the fewest steps, which cost the most, and with the most steps."""
    if stated is None:
        return (Fraction(1),)
    step = decimal(stated, "step")
    return step / 2, step * CELLS


def _fitting_step(span: Fraction, stated: Exact | None) -> Fraction:
    """The stated step, unless it is too fine for a range of that length."""
    fine = span / CELLS
    step = fine if stated is None else decimal(stated, "step")
    if step <= 0:
        raise ParameterError(f"Expected step > 0, got step={stated}.")
    return max(step, fine)


@dataclass(frozen=True)
class RangeQuestion:
    """Which range holds nearly all values?  The first step of totals and means.

    Attributes:
        value: the column of numbers.
        by: the column of groups, if there are groups.
        grouping: the public groups; rows of others do not count.
        lower: the lower end, if it is known.
        upper: the upper end, if it is known.
        around_zero: whether distances are measured from 0.
    """

    value: str
    by: str | None = None
    grouping: Grouping | None = None
    lower: Exact | None = None
    upper: Exact | None = None
    around_zero: bool = False
    name: ClassVar[str] = "range"
    title: ClassVar[str] = "Range of the values"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = ()

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        return open_table(data, header=header, table=table)

    def method(self, source: Any, schema: Schema, price: Price, /) -> "RangeMethod":
        del source, schema, price
        return RangeMethod(self)

    def shown(self) -> Mapping[str, Any]:
        return {}

    def text(self) -> str:
        return f"range of {self.value}"

    def shape(self) -> Shape:
        return "points"

    @property
    def known_end(self) -> Fraction | None:
        """From which distances are measured, if it is public."""
        if self.lower is not None:
            return decimal(self.lower, "lower")
        return Fraction(0) if self.around_zero else None

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of ε, for the size, the centre and the radius."""
        return SIZE, (CENTRE if self.known_end is None else Fraction(0)), RADIUS

    def candidates(self, size: Fraction) -> Decimals:
        """The candidates for the centre."""
        upper = float(size) if self.upper is None else min(float(size), float(self.upper))
        return Decimals(lower=None if upper <= -float(size) else -float(size), upper=upper)

    def away(self, numbers: FloatArray, centre: Fraction) -> FloatArray:
        """How far every number is from the centre, below 0 or above, on sides that are unknown."""
        away = numbers - float(centre)
        return away if self.lower is None else np.maximum(away, 0)

    def ends(
        self, centre: Fraction, above: Fraction, below: Fraction | None = None
    ) -> tuple[Fraction, Fraction]:
        """The range, from the radii on both sides."""
        high = centre + above
        if self.upper is not None:
            high = min(high, decimal(self.upper, "upper"))
        return (centre if self.lower is not None else centre - (below or above)), high


@dataclass(frozen=True)
class RangeMethod:
    """The size, the centre and the radius of the rows.

    Add/remove one row.  Four steps, each with a public share of ε.

    1. **Size**: which two decades hold the distances of most rows from 0, or from the lower end
       where that is known?  Windows of two decades overlap, so that a row is in two of them; zeros
       are a window of their own.  A window has a public weight w and the number u of its rows; one
       more candidate, "too few rows", has the weight W of all of them and u = 14/ε₁.  One is drawn
       with probability proportional to w exp(ε₁ u).
    2. **Centre** c: the median among all decimals up to that size
       (`questions.percentile.unbounded`), ε₂-DP.  It is not needed where the lower end of the range
       is known, from which distances are measured; nor for totals, which are measured from 0, since
       what a row adds to a total is its distance from 0.
    3. **Radius**: rows by their distance from c in classes that end at 1, 2 and 5 times the powers
       of ten, below c and above it.  A row is in one class.  With discrete Laplace noise of scale
       1/ε₃ all counts are ε₃-DP (`dampen.questions.counts`), and both ends are computed from them
       by `radius_classes`.
    4. The question itself is asked with the range that was found.

    **Theorem.**  Steps 1 to 3 are (ε₁ + ε₂ + ε₃)-DP.  Proof.  A row more moves every u by 0 or 1,
    none downwards, and that of "too few rows" not at all.  So it multiplies w exp(ε₁ u) of every
    candidate, and their sum, by a factor from 1 to e^ε₁, and their ratio by one from e^-ε₁ to e^ε₁:
    step 1 is ε₁-DP, with an ε₁-bounded range.  The rest is adaptive composition.  ∎

    **Too few rows.**  A window without rows is drawn with a probability of at most e^-14 < 10^-6
    for all of them together, whatever the data is: "too few rows" is e^14 times as likely.  So no
    range is absurd.  "Too few rows" is unlikely once most rows are in one window and n ε₁ exceeds
    14 by some more: with a tenth of ε that is n ε >= 200.  Then, and only then, is the rest of ε
    charged.

    **Why not AboveThreshold.**  Asking for one radius after the other whether few rows lie outside
    (`dampen.core.thresholds`) fails where the noise of the threshold is large, because it is the
    same for all radii: the number of radii that are passed in vain has no mean, and the error grows
    beyond all bounds.  `dampen-studies run ranges` has the error of noisy classes on 28 columns.
    """

    question: RangeQuestion

    def cost(self, price: Price, /) -> Cost:
        """ρ of all steps: two exponential mechanisms, and discrete Laplace noise."""
        size, centre, radius = self._shares
        return composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query=self.question.name,
            mechanism="centre-radius",
            rho=lambda e: GUMBEL.rho(size * e) + GUMBEL.rho(centre * e) + pure_rho(radius * e),
        )

    def first_cost(self, cost: Cost, /) -> Cost:
        """Of the size, after which the rest is not charged if there are too few rows."""
        epsilon = self._shares[0] * cost.epsilon
        return replace(cost, epsilon=epsilon, rho=GUMBEL.rho(epsilon), losses=())

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        whole = epsilon / sum(self.question.shares, Fraction(0))
        needed = int(ENOUGH / whole) + 1
        if rows is not None and rows < needed:
            sentence = (
                f"ε = {decimal_text(whole)} is too small for {rows:,} rows where the range of the "
                f"values is not known: it needs about {needed:,} rows. State lower= and upper=, or "
                f"use ε ≥ {decimal_text(Fraction(-(-10 * ENOUGH // rows), 10))}."
            )
            return Accuracy(float(needed), "rows", sentence, chance=True)
        sentence = (
            f"A share of ε finds the range of the values, which needs {needed:,} rows or more. "
            "Values outside it count as its nearer end, also in the interval."
        )
        return Accuracy(float(needed), "rows", sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        begun = self.begin(source, epsilon, entropy)
        return begun if isinstance(begun, Drawn) else begun(entropy)

    def begin(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn | Rest:
        """Finds the size; goes on unless there are too few rows."""
        values = self._values(source)
        origin = self.question.known_end or Fraction(0)
        counts = self.counts(*values, origin).sum(axis=0)
        place = size_place(counts, self._shares[0] * epsilon, entropy)
        if place is None:
            return Drawn(None, accuracy=of_numbers(TOO_FEW, source, self.question.value))
        return lambda bits: self._found(*values, place, epsilon, bits)

    def _found(
        self, numbers: FloatArray, rows: IntArray, place: int, epsilon: Fraction, bits: Entropy
    ) -> Drawn:
        """The centre and both ends, once the size is known."""
        _, for_centre, for_radius = (share * epsilon for share in self._shares)
        centre = self.question.known_end
        if centre is None:
            candidates = self.question.candidates(RADII[place])
            column = Column.of(candidates.codes(numbers), rows)
            draw = RankDraw(50, candidates, Neighbours.ADD_REMOVE_ROW)
            centre = Fraction(str(candidates.value(draw.draw(column, for_centre, bits))))
        counts = self.counts(numbers, rows, centre)
        noise = discrete_laplace(1 / for_radius, counts.size, bits).reshape(counts.shape)
        scaled = (counts + noise).astype(np.float64) * float(for_radius)
        below, above = radius_classes(scaled, place, float(abs(centre)) or 1.0)
        if self.question.around_zero:  # the noise of a total depends on the farther end alone
            below = above = max(below, above)
        # Floats tell both ends apart.
        least = abs(centre) / 10**9
        ends = max(RADII[above], least), max(RADII[below], least)
        return Drawn(self.question.ends(centre, *ends))

    def counts(self, numbers: FloatArray, rows: IntArray, centre: Fraction) -> IntArray:
        """The rows of every class of distances, below the centre and above it; private."""
        ends = np.array([float(radius) for radius in RADII])
        away = self.question.away(numbers, centre)
        place = np.minimum(np.searchsorted(ends, np.abs(away)), len(ends) - 1)
        counts = np.zeros((2, len(ends)), dtype=np.int64)
        np.add.at(counts, ((away >= 0).astype(np.int64), place), rows)
        return counts

    def _values(self, source: Opened) -> tuple[FloatArray, IntArray]:
        """The different numbers and their rows, group after group; private."""
        grouping = self.question.grouping
        lookup = None if grouping is None else grouping.lookup(source, str(self.question.by))
        parts = list(ValuesOf(self.question.value, lookup).of(source).parts())
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    @property
    def _shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of the ε of this step, for the size, the centre and the radius."""
        size, centre, radius = self.question.shares
        whole = size + centre + radius
        return size / whole, centre / whole, radius / whole


PLACES = tuple(range(0, len(RADII), 3))
"""Of windows: the class at which each ends, a power of ten; the first one is that of zeros."""
USUAL_PLACE = PLACES[USUAL_SIZES[-1] - EXPONENTS[0]]


def size_place(counts: IntArray, epsilon: Fraction, entropy: Entropy) -> int | None:
    """The class at which the window of most rows ends; None for too few rows: ε-DP.

    Args:
        counts: the rows of every class of distances.
        epsilon: of the draw.
        entropy: of random bits.
    """
    place = size_candidates()[0]
    windows = window_rows(counts)
    none = float(math.ceil(ODDS / epsilon))
    values = np.append(windows, none).astype(np.float64)
    drawn = weighted_best(values, size_candidates()[1], epsilon, entropy)
    return None if drawn == len(place) else int(place[drawn])


def size_candidates() -> tuple[IntArray, IntArray]:
    """The place of every window, and the public weights, "too few rows" last."""
    place = np.array(PLACES, dtype=np.int64)
    exponent = np.array(EXPONENTS)
    far = np.maximum(exponent - USUAL_SIZES[-1], USUAL_SIZES[0] - exponent).clip(min=0)
    far[0] = 0  # zeros
    weight = 1 << (len(EXPONENTS) - far)
    # Of windows without sizes, 0 and beyond, nothing is known to be unusual.
    return np.where(place == 0, USUAL_PLACE, place), np.append(weight, weight.sum())


def window_rows(counts: IntArray) -> IntArray:
    """The rows of every window of distances; the last one has all that lie beyond."""
    within = counts[: PLACES[-1] + 1].copy()
    within[-1] += counts[PLACES[-1] + 1 :].sum()
    first = [max(1, end + 1 - WINDOW) for end in PLACES[1:]]
    others = [within[i : end + 1].sum() for i, end in zip(first, PLACES[1:], strict=True)]
    return np.array([within[0], *others], dtype=np.int64)


def radius_classes(scaled: FloatArray, size: int, usual: float = 1.0) -> tuple[int, int]:
    """The classes whose ends are the radii below and above; nothing but noisy counts is looked at.

    From the fullest class of both sides together on, classes that surely have rows are passed, then
    those that probably have.  The first class holds rows at the centre itself, which say nothing
    about the others: if it is the fullest one, it starts from the fullest of the others that lies
    near the usual distance, which is that of the centre from 0.  A side whose fullest class surely
    has rows ends where the same rule says so of this side alone, whose noise is smaller.

    A class with no rows has a noisy count above t / ε₃ with probability e^-t / 2, and a range that
    is j classes too wide costs 10^(j/3) times the error.  So a class counts only if its noisy count
    exceeds a number that grows with its distance from classes that surely have rows.

    Args:
        scaled: of every class its noisy count times ε₃, below the centre and above it.
        size: the class at which the distances of most rows from 0 end.
        usual: a public distance.

    >>> from collections import Counter
    >>> rows = Counter({30: 500, 31: 200, 32: 3})
    >>> above = [rows[i] for i in range(len(RADII))]
    >>> below = [above[i] * (i < 31) for i in range(len(RADII))]
    >>> [float(RADII[i]) for i in radius_classes(np.array([below, above]), size=36)]
    [10.0, 50.0]
    """
    both = scaled.sum(axis=0)
    place = np.arange(len(both))
    start = _fullest(both, size)
    if start == 0:
        near = np.searchsorted([float(radius) for radius in RADII], usual)
        beside = both - BESIDE - USUAL * np.abs(place - near)
        best = 1 + int(np.argmax(beside[1:]))
        start = best if beside[best] > 0 else 0
    widest = _passed(both, start, size)
    below, above = (_side(each, widest, size) for each in scaled)
    return below, above


def _side(count: FloatArray, widest: int, size: int) -> int:
    start = _fullest(count, size)
    return _passed(count, start, size) if count[start] > SURE and start else widest


def _fullest(count: FloatArray, size: int) -> int:
    return int(np.argmax(count - BEYOND * np.maximum(np.arange(len(count)) - size, 0)))


def _passed(count: FloatArray, start: int, size: int) -> int:
    """The last class that has rows, from one that has."""
    place = np.arange(len(count))
    beyond = BEYOND * np.maximum(place - max(start, size), 0)
    for least, slope in ((SURE, FAR), (LIKELY, NEAR)):
        passes = count > least + slope * (place - start) + beyond
        start = int(np.flatnonzero((place >= start) & passes).max(initial=start))
    return start


USUAL_CELLS = 100_000
"""Steps of a range whose step nobody stated, at least."""
MOST_COUNTED = 1 << 20
"""Cells that are counted one by one; values of more are added up as they are read."""


@dataclass(frozen=True, kw_only=True)
class NumbersQuestion:
    """What the questions for a total and for a mean have in common."""

    value: str = parameter("column", "Column of the private numbers.", holds="numbers")
    lower: Exact | None = lower_parameter(optional=True)
    upper: Exact | None = upper_parameter(optional=True)
    step: Exact | None = parameter(
        "exact",
        "Public distance of the grid to which values are rounded; a fine one if left out.",
        default=None,
        fact=Fact("step", of="value", optional=True),
    )
    kind: str | None = kind_parameter()
    by: str | None = by_parameter("number")
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str]
    around_zero: ClassVar[bool]
    """Whether an end of the range other than 0 is of no use."""
    data: ClassVar[Literal["table", "edges"]] = "table"

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where, value=self.value)
        return self.column.opened(opened)

    def shown(self) -> Mapping[str, Any]:
        return self.column.shown()

    def text(self) -> str:
        return f"of {self.value}" + ("" if self.by is None else f" by {self.by}")

    def shape(self) -> Shape:
        return "number"

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists; then the range, if it is not known."""
        groups = finding_groups(self, nothing={})
        return groups or finding_range(self)

    @cached_property
    def column(self) -> "Numbers":
        """The column with its public grid and groups."""
        return Numbers.of(self)


@dataclass(frozen=True, kw_only=True)
class TotalQuestion(NumbersQuestion):
    """What is the total of a column, in all or in every group?"""

    name: ClassVar[str] = "total"
    title: ClassVar[str] = "Total"
    around_zero: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "dampen total stays.csv --value days --lower 0 --upper 100 --step 1 --epsilon 0.5",
        "dampen total stays.csv --value days --lower 0 --upper 100 --step 1 --by hospital "
        "--groups H1,H2,H3 --epsilon 0.5",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = super().open(data, header=header, table=table)
        if self.column.measure(opened) in ("date", "time"):
            raise ParameterError(
                f"Column {self.value!r} holds dates, which have no total. Ask for their mean, with "
                "dampen.mean."
            )
        return opened

    def of_types(self, source: Opened, /) -> "TotalQuestion":
        """With the range of truth values, 0 and 1, where the column holds such."""
        return with_range_of_truth(self, source)

    def method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        noise = noise_for(price)
        way = PublicSizeMethod if of_public_size(self, schema) else TotalMethod
        return self.column.typed(way(self, noise), source)

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """The rows of a person count up to m times the largest value; or their own mean does."""
        if self.weigh == "people":
            return self.column.weighed(partial(TotalMethod, self), source, schema, price)
        most = schema.rows_per_unit
        method = TotalMethod(self, noise_for(price))
        cut = shares(schema, method.amounts(most))
        of_units = OfUnits(method, most, most, cut, {"rows_per_unit": most}, people=False)
        return self.column.typed(of_units, source)


@dataclass(frozen=True, kw_only=True)
class MeanQuestion(NumbersQuestion):
    """What is the mean of a column, in all or in every group?"""

    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    around_zero: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = (
        "dampen mean stays.csv --value days --lower 0 --upper 100 --step 1 --epsilon 0.5",
        "dampen mean stays.csv --value days --lower 0 --upper 100 --step 1 --by hospital "
        "--groups H1,H2,H3 --epsilon 0.5",
    )

    def of_types(self, source: Opened, /) -> "MeanQuestion":
        """With the range of truth values, 0 and 1, where the column holds such."""
        return with_range_of_truth(self, source)

    def method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        noise = noise_for(price)
        way = PublicSizeMethod if of_public_size(self, schema) else MeanMethod
        return self.column.typed(way(self, noise), source)

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """The method on the weights of persons."""
        return self.column.weighed(partial(MeanMethod, self), source, schema, price)


AnyRanged = TypeVar("AnyRanged", TotalQuestion, MeanQuestion)


def with_range_of_truth(asked: AnyRanged, source: Opened) -> AnyRanged:
    """The question with 0 and 1 as ends of truth values that nobody stated."""
    if asked.column.measure(source) != "truth" or (asked.lower, asked.upper) != (None, None):
        return asked
    return replace(asked, lower=0, upper=1, step=asked.step or 1)


@dataclass(frozen=True)
class Numbers:
    """A column of numbers on a public grid, in public groups.

    Attributes:
        value: the name of the column.
        grid: its public grid.
        by: the column of groups.
        grouping: the public groups, if there are any.
        ends: the range as it was stated; dates tell what a column without a type holds.
        kind: the same, stated.
    """

    value: str
    grid: Grid
    by: str | None
    grouping: Grouping | None
    ends: tuple[Any, Any]
    kind: str | None

    @classmethod
    def of(cls, asked: NumbersQuestion) -> "Numbers":
        """Checks the public parameters.

        Raises:
            ParameterError: if one is wrong.
        """
        ends = asked.lower, asked.upper
        lower, upper = map(as_bound, ends)
        step = as_step(asked.step, *ends)
        if lower is None or upper is None:  # a place holder for a range that is to be found
            lower = 0
            upper = 1
            step = None
        if step is None:
            step = usual_step(lower, upper, USUAL_CELLS, firsts=(1,))
        grid = Grid.between(lower, upper, step)
        return cls(asked.value, grid, asked.by, grouping_of(asked, 1), ends, asked.kind)

    def measure(self, opened: Opened) -> Measure | None:
        """What the numbers stand for, if not for numbers."""
        return measure_of(opened, self.value, self.ends, self.kind)

    def typed(self, method: Method, opened: Opened) -> Method:
        """A method whose answers are dates and durations, if the column holds such."""
        measure = self.measure(opened)
        return method if measure in (None, "truth") else InOwnType(method, measure)

    def opened(self, opened: Opened) -> Opened:
        """Checks the columns of opened data; dates are read as days, durations as seconds."""
        opened = measured(opened, self.value, self.ends, self.kind)
        require_numbers(opened, self.value)
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), self.value)
        return opened

    def shown(self) -> dict[str, Any]:
        """What a release shows of the parameters."""
        facts: dict[str, Any] = {
            "lower": decimal_text(self.grid.lower),
            "upper": decimal_text(self.grid.upper),
            "step": decimal_text(self.grid.step),
        }
        if self.grouping is not None:
            facts["groups"] = len(self.grouping.groups)
        return facts

    @property
    def names(self) -> Sequence[Sequence[Hashable]]:
        """What the numbers are called."""
        return [] if self.grouping is None else [self.grouping.groups]

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return 1 if self.grouping is None else len(self.grouping.groups)

    def sums(self, source: Opened) -> IntArray:
        """For every group, the rows that have a value and the sum of their cells; private."""
        if isinstance(source, AddsCells):
            group_of = self._group_of(source)
            by = self._lookup(source)
            wanted = {} if by is None else by.wanted
            added = source.sums(wanted, group_of, self.size, self.value, self.grid.key)
            if added is not None:
                return added
        cells = self.grid.top + 1
        if self.size * cells > MOST_COUNTED:
            return self._added(source)
        keyed = Keyed(
            {self.value: self.grid.key}, itemgetter(self.value), ("nearest", self.value, self.grid)
        )
        needed: dict[str, Kind] = {self.value: "numbers"}
        if self.grouping is None:
            counts = source.counts(needed, keyed, cells)[None, :-1]
        else:
            counts = self.grouping.counts(source, str(self.by), needed, keyed, cells)[:, :-1]
        return np.stack([counts.sum(axis=1), counts @ np.arange(cells)], axis=1)

    def weighed(
        self,
        method_of: Callable[[IntegerNoise, int], Method],
        source: Opened,
        schema: Schema,
        price: Price,
    ) -> Method:
        """A method on the weights of persons, from the law of the noise and the steps of a row."""
        cap = schema.rows_per_unit
        of_units = weighed(
            lambda _, __, step: method_of(noise_for(step), quantum_of(cap) // cap),
            source,
            schema,
            price,
            width=0 if self.grouping is None else self.grid.top + 2,
        )
        return self.typed(of_units, source)

    def amounts(self, source: UnitTable) -> tuple[IntArray, IntArray, IntArray]:
        """Groups and cells with what persons add to them; private.

        For more cells than are counted one by one.
        """
        lookup = self._lookup(source)
        width = self.grid.top + 1

        def cell_of(batch: Batch) -> IntArray:
            cell = self.grid.cells(as_numbers(batch[self.value]))
            group = np.zeros(len(cell), dtype=np.int64)
            if lookup is not None:
                group = lookup.positions(batch)
            return np.where((cell >= 0) & (group >= 0), group * width + cell, -1)

        wanted: dict[str, Kind] = {self.value: "numbers"}
        if lookup is not None:
            wanted |= lookup.wanted
        cells, added = source.added(wanted, cell_of)
        group, cell = np.divmod(cells, width)
        return group, cell, added

    def _lookup(self, source: Opened) -> GroupLookup | None:
        return None if self.grouping is None else self.grouping.lookup(source, str(self.by))

    def _group_of(self, source: Opened) -> Keyed:
        """The place of a row's group among the public ones."""
        lookup = self._lookup(source)
        return Keyed({}, _one_group) if lookup is None else Keyed(lookup.keys, lookup.positions)

    def _added(self, source: Opened) -> IntArray:
        """The same, by adding up rows as they are read.

        A batch has fewer than 2^26 rows and a grid fewer than 2^24 cells, so that floats add the
        cells of a batch without an error.
        """
        added = np.zeros((self.size, 2), dtype=np.int64)
        if isinstance(source, UnitTable):
            groups, cells, weights = self.amounts(source)
            np.add.at(added, groups, np.stack([weights, weights * cells], axis=1))
            return added
        lookup = self._lookup(source)
        wanted: dict[str, Kind] = {self.value: "numbers"}
        if lookup is not None:
            wanted |= lookup.wanted
        with reading(source.batches(wanted)) as stream:
            for batch in stream:
                cell = self.grid.cells(as_numbers(batch[self.value]))
                group = np.zeros(len(cell), dtype=np.int64)
                if lookup is not None:
                    group = lookup.positions(batch)
                kept = (cell >= 0) & (group >= 0)
                added[:, 0] += np.bincount(group[kept], minlength=self.size)
                weights = np.bincount(group[kept], cell[kept], minlength=self.size)
                added[:, 1] += weights.astype(np.int64)
        return added


@dataclass(frozen=True)
class TotalMethod:
    """Integer noise on the total of every group.

    T = Σ v is a whole number of units, where the unit divides lower and step.  A row changes the
    total of one group by one v, |v| <= Δ = max(|lower|, |upper|).  **Theorem.**  T + unit Z for an
    integer Z with P(z) proportional to exp(-ε |z| unit / Δ) is ε-DP: the law of a sum that moves by
    d units changes by a factor of at most exp(ε d unit / Δ) <= e^ε.  ∎

    Attributes:
        question: what is added up.
        noise: the law of the noise.
        steps: of weight that a row has.
    """

    question: TotalQuestion
    noise: IntegerNoise = LAPLACE
    steps: int = 1

    def cost(self, price: Price, /) -> Cost:
        cost = noise_cost(price, self.question.name, self.noise, self.largest)
        check_scale(self.scale(cost.epsilon))
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        column = self.question.column
        noise = likely_noise(1 / self.scale(epsilon), column.size, self.noise) * self.unit
        most = None if rows is None else float(rows * self.largest * self.unit)
        return by_noise(float(noise), "units", numbers=column.size, epsilon=epsilon, most=most)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        scale = self.scale(epsilon)
        noisy = with_noise(self.totals(source), self.noise, scale, entropy)
        unit = self.unit / self.steps
        numbers = _by_name([_plain(int(each) * unit) for each in noisy], self.question.column.names)
        least = 0 if self.question.column.grid.lower >= 0 else None
        return Drawn(numbers, numbers=numbers, law=ShiftLaw(scale, unit, least, self.noise))

    def totals(self, source: Opened) -> IntArray:
        """The exact totals, in units; private."""
        if isinstance(source, UnitTable) and isinstance(source.weighing, Amounts):
            groups, _, added = self.question.column.amounts(source)
            cut = np.zeros(self.question.column.size, dtype=np.int64)
            np.add.at(cut, groups, added)
            return cut
        grid = self.question.column.grid
        rows, cells = self.question.column.sums(source).T
        totals: IntArray = rows * int(grid.lower / self.unit) + cells * int(grid.step / self.unit)
        return totals

    def amounts(self, rows: int) -> Amounts:
        """What a person adds: all of it, up to so many rows of the largest value."""
        grid = self.question.column.grid
        first, step = int(grid.lower / self.unit), int(grid.step / self.unit)
        return Amounts(rows * self.largest, grid.top + 1, first, step)

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in units: Δ / ε."""
        return self.largest / epsilon

    @cached_property
    def unit(self) -> Fraction:
        """The largest number that divides lower and step."""
        grid = self.question.column.grid
        below = math.lcm(grid.lower.denominator, grid.step.denominator)
        return Fraction(math.gcd(int(grid.lower * below), int(grid.step * below)), below)

    @property
    def largest(self) -> int:
        """Δ, in units: what one row changes a total by."""
        grid = self.question.column.grid
        return int(max(abs(grid.lower), abs(grid.upper)) / self.unit)


@dataclass(frozen=True)
class MeanMethod:
    """Integer noise on two sums of every group.

    Two sums, in steps: A = Σ (v - lower) / step and B = Σ (upper - v) / step.  With
    m = (upper - lower) / step a row at cell c changes (A, B) by (c, m - c), which has the 1-norm m
    whatever c is.  **Theorem.**  (A + Z_1, B + Z_2) with independent integers, P(z) proportional to
    exp(-ε |z| / m), is ε-DP.  Proof.  As for counts: the ratio of the probabilities of an outcome
    is at most exp(ε |(A, B) - (A', B')|₁ / m) <= e^ε.  ∎

    From them come the noisy number of rows n = (A + B) / m, and the noisy sum of v - middle, step
    (A - B) / 2.  Their variances are 4 / ε² and (upper - lower)² / ε²: half of those of the same
    two numbers with ε/2 each, because the set of all changes of (Σ (v - middle), n) by one row is a
    parallelogram, and this noise is shaped like it.  The mean is lower + (upper - lower)
    A⁺ / (A⁺ + B⁺), which is always in the range, and its middle where both are 0.

    Attributes:
        question: what is averaged.
        noise: the law of the noise.
        steps: of weight that a row has.
    """

    question: MeanQuestion
    noise: IntegerNoise = LAPLACE
    steps: int = 1

    def cost(self, price: Price, /) -> Cost:
        top = self.question.column.grid.top
        cost = noise_cost(price, self.question.name, self.noise, top)
        check_scale(self.scale(cost.epsilon))
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """The rows that a group needs for an error of one hundredth of the range.

        A mean of n rows at the share r of the range is off by (upper - lower) Y / (m n~) with
        Y = |(1-r) Z_1 - r Z_2|, which is at most max |Z_i|.  **Lemma.**  Laplace noise of scale s
        has P(Y > s t) <= e^-t for t >= 2, and whole numbers are less than 1 from it.  Proof.
        P(Y > s t) = (v² e^(-t/v) - w² e^(-t/w)) / (v² - w²), v = 1-r and w = r, is largest at the
        ends (a test looks at it there); Z is the difference of two exponential numbers, both
        rounded down. ∎  n~ is n and both Z_i / m: that Y exceeds m n~ / 100 is the same of weights
        that add up to at most 1.01, which 102 rows in place of 100 pay for.
        """
        size = self.question.column.size
        scale = self.scale(epsilon)
        steps = likely_noise(1 / scale, 2 * size, self.noise)
        if self.noise == LAPLACE:
            tail = -math.expm1(math.log(CONFIDENCE) / size)
            steps = min(steps, math.ceil(float(scale) * math.log(1 / tail)) + 1)
        noise = steps / self.question.column.grid.top
        needed = max(2, rounded_up(102 * noise))
        every = "the mean" if size == 1 else f"each of the {size:,} means"
        of = f"{needed:,} rows" if size == 1 else f"its group has {needed:,} rows"
        runs = f"In at least {10 * CONFIDENCE:.0f} of 10 runs"
        unit = "rows for an error of 1 % of the range"
        if rows is not None and rows < 2 * noise:
            sentence = (
                f"ε = {decimal_text(epsilon)} is too small for this question: with at most "
                f"{rows:,} rows the noise is as large as the range. An error of 1 % of the range "
                f"needs {needed:,} rows, or a larger ε."
            )
            return Accuracy(float(needed), unit, sentence, chance=True)
        there = f"there are {of}" if size == 1 else of
        sentence = f"{runs} {every} is off by at most 1 % of the range if {there}."
        return Accuracy(float(needed), unit, sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        scale = self.scale(epsilon)
        column = self.question.column
        noisy = with_noise(self.two_sums(source), self.noise, scale, entropy)
        grid = column.grid
        law = RatioLaw(scale, grid.lower, grid.upper, grid.step / self.steps, self.noise)
        means = [law.mean(share(float(above), float(below))) for above, below in noisy]
        numbers = [self._number(int(above), int(below)) for above, below in noisy]
        return Drawn(
            _by_name(means, column.names), numbers=_by_name(numbers, column.names), law=law
        )

    def two_sums(self, source: Opened) -> IntArray:
        """A and B of every group, exact; private."""
        rows, cells = self.question.column.sums(source).T
        return np.stack([cells, rows * self.question.column.grid.top - cells], axis=1)

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise in both sums: m / ε."""
        return self.question.column.grid.top / epsilon

    def _number(self, above: int, below: int) -> dict[str, float]:
        grid = self.question.column.grid
        rows = Fraction(above + below, grid.top * self.steps)
        total = float(grid.lower * rows + above * grid.step / self.steps)
        return {"sum": total, "count": float(rows)}


def of_public_size(question: NumbersQuestion, schema: Schema) -> bool:
    """Whether the number of the rows that count is public: all rows do, and theirs is."""
    return schema.relation is Neighbours.REPLACE_ONE and question.by is None and not question.where


@dataclass(frozen=True)
class PublicSizeMethod:
    """A total or a mean of all rows where their number n is public, and one row is replaced.

    **Theorem.**  A row without a value counts as the lower end.  C, the sum of the cells of all
    rows, moves by at most m = (upper - lower) / step if a row is replaced.  So C + Z for an integer
    Z with P(z) proportional to exp(-ε |z| / m) is ε-DP, and with discrete Gaussian noise of scale
    m / √(2ρ) it is ρ-zCDP.  The total n lower + step (C + Z), and that over n, follow from it.  ∎

    Attributes:
        question: what is asked; a mean is the total over n.
        noise: the law of the noise.
    """

    question: NumbersQuestion
    noise: IntegerNoise = LAPLACE

    def cost(self, price: Price, /) -> Cost:
        top = self.question.column.grid.top
        cost = noise_cost(price, self.question.name, self.noise, top)
        check_scale(self.scale(cost.epsilon))
        return replace(cost, neighbours=Neighbours.REPLACE_ONE)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        grid = self.question.column.grid
        noise = likely_noise(1 / self.scale(epsilon), 1, self.noise) * grid.step
        if self.is_mean:
            needed = max(2, rounded_up(float(100 * noise / (grid.top * grid.step))))
            sentence = (
                f"In at least {10 * CONFIDENCE:.0f} of 10 runs the mean is off by at most 1 % of "
                f"the range if there are {needed:,} rows."
            )
            return Accuracy(float(needed), "rows for an error of 1 % of the range", sentence)
        most = None if rows is None else float(rows * max(abs(grid.lower), abs(grid.upper)))
        return by_noise(float(noise), "units", numbers=1, epsilon=epsilon, most=most)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        grid = self.question.column.grid
        scale = self.scale(epsilon)
        rows = int(all_rows(source)[0])
        cells = self.question.column.sums(source)[:, 1]
        noisy = int(with_noise(cells, self.noise, scale, entropy)[0])
        if not self.is_mean:
            told = _plain(rows * grid.lower + noisy * grid.step)
            law = ShiftLaw(scale, grid.step, 0 if grid.lower >= 0 else None, self.noise)
            return Drawn(told, {"rows": rows}, numbers=told, law=law)
        unit = grid.step / max(rows, 1)
        mean = grid.lower + noisy * unit if rows else (grid.lower + grid.upper) / 2
        inside = min(max(mean, grid.lower), grid.upper)
        law = ShiftLaw(scale, unit, noise=self.noise)
        return Drawn(float(inside), {"rows": rows}, numbers=float(mean), law=law)

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in steps: m / ε."""
        return self.question.column.grid.top / epsilon

    @property
    def is_mean(self) -> bool:
        return isinstance(self.question, MeanQuestion)


def _one_group(keys: Mapping[str, Any]) -> IntArray:
    """All rows are in group 0."""
    return np.zeros(len(next(iter(keys.values()))), dtype=np.int64)


def _by_name(numbers: Sequence[Any], names: Sequence[Sequence[Hashable]]) -> Any:
    return dict(zip(names[0], numbers, strict=True)) if names else numbers[0]


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def total(
    data: Any,
    value: str | None = None,
    *,
    lower: Exact | None = None,
    upper: Exact | None = None,
    step: Exact | None = None,
    kind: str | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The total of a column, in all or of every group, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row, once for all groups, since a row is in one of
    them.  Rows of groups that are not listed, and rows without a value, are left out.

    The noise is exact: a whole number of units with discrete Laplace noise of scale
    max(|lower|, |upper|) / ε.  `Release.interval` tells where the true total lies.

    Without `lower` or `upper` a part of ε finds a range that holds nearly all values
    (`dampen.questions.means`); values beyond it count as its ends, and the release shows it.  Where
    there are too few rows for that, the answer is None and the rest of ε is not charged.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        lower: public lower end of the values, if you know it; smaller ones count as this.
        upper: public upper end of the values, if you know it; larger ones count as this.
        step: public distance of the grid to which values are rounded.  If left out, a power of ten
            that is at most one hundred-thousandth of the range.
        kind: what a column without a declared type holds, if not numbers: "date", "time",
            "duration" or "bool", as for a Python list or a text file.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer is a number, a timedelta for durations, or a dict of them by group.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> pay = {"pay": [100, 250, 75] * 1000}
    >>> made = dampen.total(pay, "pay", lower=0, upper=500, step=1, epsilon="1000")
    >>> abs(made.answer - 425_000) < 100
    True
    """
    source, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = TotalQuestion(
        value=names["value"],
        lower=lower,
        upper=upper,
        step=step,
        kind=kind,
        by=names.get("by"),
        groups=groups,
        delta=delta,
        where=where,
        weigh=weigh,
    )
    return answer(
        question,
        source,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=persons(names, rows_per_unit),
    )


def mean(
    data: Any,
    value: str | None = None,
    *,
    lower: Exact | None = None,
    upper: Exact | None = None,
    step: Exact | None = None,
    kind: str | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The mean of a column, in all or of every group, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row, once for all groups, since a row is in one of
    them.  Rows of groups that are not listed, and rows without a value, are left out.  How many
    rows there are stays private.

    The mean comes from two sums with exact discrete Laplace noise, Σ (v - lower) and Σ (upper - v).
    `Release.numbers` has the noisy sum and the noisy count, `Release.interval` where the true mean
    lies.

    Without `lower` or `upper` a part of ε finds a range that holds nearly all values
    (`dampen.questions.means`); values beyond it count as its ends, and the release shows it.  Where
    there are too few rows for that, the answer is None and the rest of ε is not charged.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        lower: public lower end of the values, if you know it; smaller ones count as this.
        upper: public upper end of the values, if you know it; larger ones count as this.
        step: public distance of the grid to which values are rounded.  If left out, a power of ten
            that is at most one hundred-thousandth of the range.
        kind: what a column without a declared type holds, if not numbers: "date", "time",
            "duration" or "bool", as for a Python list or a text file.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer is a number in the range, a date or a timedelta as the column has
        them, or a dict of them by group.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> pay = {"pay": [100, 250, 75] * 1000}
    >>> made = dampen.mean(pay, "pay", lower=0, upper=500, step=1, epsilon="1000")
    >>> abs(made.answer - 141.67) < 0.1
    True
    """
    source, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = MeanQuestion(
        value=names["value"],
        lower=lower,
        upper=upper,
        step=step,
        kind=kind,
        by=names.get("by"),
        groups=groups,
        delta=delta,
        where=where,
        weigh=weigh,
    )
    return answer(
        question,
        source,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=persons(names, rows_per_unit),
    )
