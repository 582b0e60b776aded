"""A range that holds nearly all values of a column, where nobody knows its ends: for sums of them.

Add/remove one row.  Three steps, each with a public share of ε.

1. **Centre** c: the median among all decimals (`questions.percentile.decimals`), ε₁-DP.  It is
   not needed where the lower end of the range is known, from which distances are measured; nor for
   totals, which are measured from 0, since what a row adds to a total is its distance from 0.
2. **Radius** r: rows by their distance from c in classes that end at 1, 2 and 5 times the powers of
   ten.  A row is in one class.  With discrete Laplace noise of scale 1/ε₂ all counts are ε₂-DP
   (`dampen.questions.counts`), and the radius is computed from them by `radius_class`.
3. The question itself is asked with the range from c - r to c + r.

**Theorem.**  Steps 1 and 2 are (ε₁ + ε₂)-DP: adaptive composition.  ∎

**Why not AboveThreshold.**  Asking for one radius after the other whether few rows lie outside
(`dampen.core.above_threshold`) fails where the noise of the threshold is large, because it is the
same for all radii: the number of radii that are passed in vain has no mean, and the error grows
beyond all bounds.  `dampen-studies run ranges` has the error of noisy classes on 28 columns.

**The rule.**  A class with no rows has a noisy count above t / ε₂ with probability e^-t / 2, and a
range that is j classes too wide costs 10^(j/3) times the error.  So a class counts only if its
noisy count exceeds a number that grows with its distance from classes that surely have rows.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from dampen.core.sampling import Entropy, discrete_laplace
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.cells import Grouping
from dampen.data.open import open_table
from dampen.data.source import Opened
from dampen.data.value_counts import ValuesOf
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.questions.groups.statistics import Exact, decimal
from dampen.questions.percentile.decimals import Column, Decimals, RankDraw
from dampen.releases.accuracy import Accuracy
from dampen.releases.cost import Cost, Price
from dampen.releases.found import Finding
from dampen.releases.method import Drawn, Leak
from dampen.releases.question import Shape
from dampen.schema.schema import Schema

__all__ = ["RangeMethod", "RangeQuestion", "finding_range", "radius_class"]

SHARE = Fraction(1, 4)
"""Of ε, for finding the range; chosen by `dampen-studies run ranges`, as all numbers here."""
CENTRE = Fraction(1, 5)
"""Of that share, for the centre."""
CELLS = 100_000
"""Of the grid in the range."""
EXPONENTS = range(-9, 16)
RADII = tuple(first * Fraction(10) ** e for e in EXPONENTS for first in (1, 2, 5))
SURE = 10.0
FAR = 0.4
USUAL = 0.9
LIKELY = 1.0
NEAR = 1.5
ENOUGH = 100
"""n ε must exceed this, or the range is a guess."""


def finding_range(asked: "Ranged", *, around_zero: bool) -> Finding | None:
    """How the range of a column is found; None where both ends are stated.

    Args:
        asked: the question, of listed groups or none.
        around_zero: whether an end other than 0 is of no use, as for totals.
    """
    if asked.lower is not None and asked.upper is not None:
        return None
    known: dict[str, Exact | None] = {"lower": asked.lower, "upper": asked.upper}
    if around_zero:
        zeros = {name: 0 for name, end in known.items() if end is not None and float(end) == 0}
        known = {"lower": None, "upper": None, **zeros}
    grouping = None if asked.groups is None else Grouping(asked.groups)
    question = RangeQuestion(asked.value, asked.by, grouping, around_zero=around_zero, **known)

    def filled(found: tuple[Fraction, Fraction]) -> Any:
        listed: Any = asked
        low, high = found
        step = _fitting_step(high - low, asked.step)
        cells = -((low - high) // step)
        if question.upper is not None:
            low = high - cells * step
        return replace(listed, lower=low, upper=low + cells * step, step=step)

    end = question.known_end
    known_upper = Fraction(0) if question.upper is None else decimal(question.upper, "upper")
    example = question.ends(known_upper if end is None else end, Fraction(1))
    return Finding("range", question, SHARE, example, filled)


def _fitting_step(span: Fraction, stated: Exact | None) -> Fraction:
    """The stated step, unless it is too fine for a range of that length."""
    fine = span / CELLS
    step = fine if stated is None else decimal(stated, "step")
    if step <= 0:
        raise ParameterError(f"Expected step > 0, got step={stated}.")
    return max(step, fine)


class Ranged(Protocol):
    """A question that needs a range of its column; a frozen dataclass."""

    @property
    def value(self) -> str: ...
    @property
    def lower(self) -> Exact | None: ...
    @property
    def upper(self) -> Exact | None: ...
    @property
    def step(self) -> Exact | None: ...
    @property
    def by(self) -> str | None: ...
    @property
    def groups(self) -> Sequence[Hashable] | None: ...


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

    @cached_property
    def candidates(self) -> Decimals:
        """For the centre."""
        return Decimals(upper=None if self.upper is None else float(self.upper))

    def distances(self, numbers: FloatArray, centre: Fraction) -> FloatArray:
        """How far every number is from the centre, on the sides that are not known."""
        away = numbers - float(centre)
        return np.abs(away) if self.lower is None else np.maximum(away, 0)

    def ends(self, centre: Fraction, radius: Fraction) -> tuple[Fraction, Fraction]:
        """The range."""
        high = centre + radius
        if self.upper is not None:
            high = min(high, decimal(self.upper, "upper"))
        return (centre if self.lower is not None else centre - radius), high


@dataclass(frozen=True)
class RangeMethod:
    """The centre and the radius, with the theorem of this module."""

    question: RangeQuestion

    def cost(self, price: Price, /) -> Cost:
        """ρ of both steps: that of an exponential mechanism, and ε²/2 of the noisy counts."""
        first, second = self._shares
        unit = first**2 / 8 + second**2 / 2
        epsilon = price.asked(unit)
        name, relation = self.question.name, Neighbours.ADD_REMOVE_ROW
        return Cost(epsilon, unit * epsilon**2, name, "centre-radius", relation)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        whole = epsilon / SHARE
        needed = int(ENOUGH / whole) + 1
        if rows is not None and rows < needed:
            sentence = (
                f"ε = {decimal_text(whole)} is too small for {rows:,} rows where the range of the "
                f"values is not known: it needs about {needed:,} rows. State lower= and upper=, or "
                f"use ε ≥ {decimal_text(Fraction(-(-10 * ENOUGH // rows), 10))}."
            )
            return Accuracy(float(needed), "rows", sentence, chance=True)
        sentence = f"The range of the values is found with a share of ε, from {needed:,} rows on."
        return Accuracy(float(needed), "rows", sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        first, second = (share * epsilon for share in self._shares)
        numbers, rows = self._values(source)
        centre = self.question.known_end
        if centre is None:
            centre = self._centre(numbers, rows, first, entropy)
        counts = self.counts(numbers, rows, centre)
        noisy = (counts + discrete_laplace(1 / second, len(counts), entropy)).astype(np.float64)
        usual = float(abs(centre)) or 1.0
        radius = RADII[radius_class(noisy * float(second), usual)]
        # Floats tell both ends apart.
        least = abs(centre) / 10**9
        return Drawn(self.question.ends(centre, max(radius, least)))

    def counts(self, numbers: FloatArray, rows: IntArray, centre: Fraction) -> IntArray:
        """The rows of every class of distances; private."""
        ends = np.array([float(radius) for radius in RADII])
        place = np.searchsorted(ends, self.question.distances(numbers, centre))
        counts = np.zeros(len(ends), dtype=np.int64)
        np.add.at(counts, np.minimum(place, len(ends) - 1), rows)
        return counts

    def _values(self, source: Opened) -> tuple[FloatArray, IntArray]:
        """The different numbers and their rows, group after group; private."""
        grouping = self.question.grouping
        lookup = None if grouping is None else grouping.lookup(source, str(self.question.by))
        parts = list(ValuesOf(self.question.value, lookup).of(source).parts())
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _centre(
        self, numbers: FloatArray, rows: IntArray, epsilon: Fraction, entropy: Entropy
    ) -> Fraction:
        candidates = self.question.candidates
        draw = RankDraw(50, candidates, Neighbours.ADD_REMOVE_ROW)
        code = draw.draw(Column.of(candidates.codes(numbers), rows), epsilon, entropy)
        return Fraction(str(candidates.value(code)))

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        """Of ε, for the centre and for the radius."""
        first = CENTRE if self.question.known_end is None else Fraction(0)
        return first, 1 - first


def radius_class(scaled: Sequence[float] | FloatArray, usual: float = 1.0) -> int:
    """The class whose end is the radius, from noisy counts times ε; nothing else is looked at.

    From the fullest class on, classes that surely have rows are passed, then those that probably
    have.  The first class holds rows at the centre itself, which say nothing about the others: if
    it is the fullest one, it starts from the fullest of the others that lies near the usual
    distance, which is that of the centre from 0.

    Args:
        scaled: of every class its noisy count times ε₂.
        usual: a public distance.

    >>> from collections import Counter
    >>> rows = Counter({30: 500, 31: 200, 32: 3})
    >>> float(RADII[radius_class([rows[i] for i in range(len(RADII))])])
    50.0
    """
    count = np.asarray(scaled)
    place = np.arange(len(count))
    start = int(np.argmax(count))
    if start == 0:
        near = np.searchsorted([float(radius) for radius in RADII], usual)
        beyond = count - SURE - USUAL * np.abs(place - near)
        best = 1 + int(np.argmax(beyond[1:]))
        start = best if beyond[best] > 0 else 0
    for least, slope in ((SURE, FAR), (LIKELY, NEAR)):
        passed = np.flatnonzero((place >= start) & (count > least + slope * (place - start)))
        start = int(passed.max(initial=start))
    return start
