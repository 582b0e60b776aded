"""The statistics of a group, each with the largest value it can be pushed to.

- `Quantile`, `Mean`, `TrimmedMean`: statistics with a closed form of their reach; `Statistic` is
  what each of them has.
- `Grid`, `Histograms`, `ValueHistograms`: the public grid of values, lower, lower + step, ...,
  upper, and counts by group and cell.  Without a grid the cells are the numbers that occur.
- `BySum`: the groups with the largest sum, by a mechanism of the core.
- `QuantileMethod`: the quantile of a group that is public by now, with an interval: for `measure=`.
- `Fractions`: exact fractions in arrays: numpy has integers and floats, and a float must not decide
  here.

Notation: a group x has n rows on the cells 0..m, B_v of them below cell v (`Histograms`).  "r out,
a in" is x without its r lowest rows and with a more rows in cell m, hence with n' = n - r + a rows.
Every statistic here is *monotone*: with so many rows removed and so many added none is larger than
after "r out, a in", and one more row in cell m never lowers it.  So the largest value within z rows
of x is

    highest(x, z) = max over r of s(r out, z - r in),    0 <= r <= M,

where M, the most rows that may go, leaves enough of them.  Each class says which r to look at.

The **sum** needs no such closed form: see `BySum`.

A new statistic is a file beside this one with a class such as those here and its `NamedStatistic`,
and a line in the list `STATISTICS` of `dampen.questions.groups.problem`.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from operator import itemgetter
from typing import Any, Literal, Protocol, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dampen.core import sensitivity
from dampen.core.losses import ANY, equal_parts
from dampen.core.mechanisms import Mechanism, named, probabilities, select
from dampen.core.noise import EXPONENTIAL, LAPLACE
from dampen.core.sampling import Entropy, noisy_top
from dampen.core.scores import Global, Shifted
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.data.cells import GridKey, Grouping, Keyed, ValueCounts, nearest_cell
from dampen.data.columns import finite_range
from dampen.data.source import Kind, Opened
from dampen.epsilon import check_length, exact, shortened
from dampen.errors import ParameterError
from dampen.releases.accuracy import CONFIDENCE, Accuracy, lead, rounded_up
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.numbers import BRACKET, BracketLaw

__all__ = ["QuantileMethod"]

DIGITS = 18
ROUNDS = 3
"""Of long division, for each of two integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Fractions:
    """One exact number per entry: whole + rest / of.

    A fraction is whole + rest / of with 0 <= rest < of < 2^45.  Two different fractions with such
    denominators differ by more than 2^-90, so the first 108 binary digits of rest / of order them
    as the fractions themselves; six rounds of long division by 2^18 give these digits in 64-bit
    integers.
    """

    whole: IntArray
    rest: IntArray
    of: IntArray

    @classmethod
    def ratio(cls, numerator: IntArray, denominator: IntArray) -> "Fractions":
        """numerator / denominator, for denominators from 1 to 2^45."""
        whole, rest = np.divmod(numerator, denominator)
        return cls(whole, rest, denominator)

    def __len__(self) -> int:
        return len(self.whole)

    def plus(self, number: IntArray) -> "Fractions":
        return Fractions(self.whole + number, self.rest, self.of)

    def subtracted_from(self, number: int) -> "Fractions":
        """number - self."""
        whole = number - self.whole - (self.rest > 0)
        return Fractions(whole, np.where(self.rest > 0, self.of - self.rest, 0), self.of)

    def ordinals(self) -> tuple[IntArray, IntArray, IntArray]:
        """Three integers per number, the most significant first: their order is the numbers'."""
        first, rest = self._digits(self.rest)
        second, _ = self._digits(rest)
        return self.whole, first, second

    def _digits(self, rest: IntArray) -> tuple[IntArray, IntArray]:
        """The next digits of a rest, and what is left after them."""
        digits = np.zeros_like(rest)
        for _ in range(ROUNDS):
            next_digits, rest = np.divmod(rest << DIGITS, self.of)
            digits = (digits << DIGITS) | next_digits
        return digits, rest

    def best(self) -> "Fractions":
        """The largest number of every row of a two-dimensional array."""
        leads = np.ones(self.whole.shape, dtype=np.bool_)
        for key in self.ordinals():
            largest = np.where(leads, key, -1).max(axis=1, keepdims=True)
            leads &= key == largest
        chosen = (np.arange(len(leads)), leads.argmax(axis=1))
        return Fractions(self.whole[chosen], self.rest[chosen], self.of[chosen])

    def or_larger(self, other: "Fractions") -> "Fractions":
        """The larger one of every pair."""
        pairs = zip(self._parts, other._parts, strict=True)
        return Fractions(*(np.stack(pair, axis=1) for pair in pairs)).best()

    @property
    def _parts(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.whole, self.rest, self.of

    def where(self, condition: NDArray[np.bool_], otherwise: int) -> "Fractions":
        """Self where the condition holds, a whole number elsewhere."""
        whole = np.where(condition, self.whole, otherwise)
        return Fractions(whole, np.where(condition, self.rest, 0), self.of)

    def taken(self, index: IntArray) -> "Fractions":
        return Fractions(self.whole[index], self.rest[index], self.of[index])

    @classmethod
    def joined(cls, parts: "Sequence[Fractions]") -> "Fractions":
        return cls(
            np.concatenate([part.whole for part in parts]),
            np.concatenate([part.rest for part in parts]),
            np.concatenate([part.of for part in parts]),
        )


Exact: TypeAlias = str | int | float | Fraction | Decimal
"""A number that means the decimal it is written as."""

LARGEST_GRID = 10_000_000
USUAL_STEPS = 1000
MOST_FINER = 100
"""How many times as many steps a usual step may make, to be a round number."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells 0..top; cell i stands for lower + i step.

    Every number is the decimal it is written as: a step of 0.1 divides the range from 0 to 0.3.
    """

    lower: Fraction
    step: Fraction
    top: int

    @classmethod
    def between(cls, lower: Exact, upper: Exact, step: Exact) -> "Grid":
        """Checks the public parameters.

        Raises:
            ParameterError: unless lower < upper, step > 0 and step divides upper - lower.
        """
        finite_range(cast("float", lower), cast("float", upper))
        low = decimal(lower, "lower")
        high = decimal(upper, "upper")
        distance = decimal(step, "step")
        if distance <= 0:
            raise ParameterError(f"Expected step > 0, got step={step}.")
        top = (high - low) / distance
        if top > LARGEST_GRID:
            raise ParameterError(
                f"Expected a grid of at most {LARGEST_GRID:,} points, got step={step}. "
                "Take a larger step: half the precision you need is enough."
            )
        if top.denominator > 1:
            raise ParameterError(
                f"Expected a step that divides upper - lower, got lower={lower}, upper={upper}, "
                f"step={step}. Move an end of the range by less than a step."
            )
        return cls(low, distance, int(top))

    def cells(self, values: FloatArray) -> IntArray:
        """The cell nearest to each value, -1 for NaN; values beyond an end belong to that end.

        Which cell a row gets depends on its own value alone, so that neighbours stay neighbours
        whatever the rounding of this division does.
        """
        lower, upper = self._ends
        place = np.clip(values, lower, upper)
        place -= lower
        place /= float(self.step)
        place += 0.5
        with np.errstate(invalid="ignore"):
            cell = place.astype(np.int64)
        np.minimum(cell, self.top, out=cell)
        cell[np.isnan(values)] = -1
        return cell

    @property
    def key(self) -> GridKey:
        """The cells of a column, as engines may count them by themselves."""
        sql = nearest_cell(*self._ends, float(self.step), self.top)
        return GridKey(self.cells, self._ends, sql)

    @property
    def upper(self) -> Fraction:
        return self.lower + self.top * self.step

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self.lower), float(self.upper)

    def value(self, cells: Fraction) -> Fraction:
        """The value at a place of the grid, counted in cells."""
        return self.lower + cells * self.step


def usual_step(
    lower: Exact,
    upper: Exact,
    least: int = USUAL_STEPS,
    firsts: tuple[int, ...] = (5, 2, 1),
) -> Fraction:
    """A step for a range of which no step is stated: it divides the range, `least` times or more.

    The largest one of the form 1, 2 or 5 times a power of ten (`firsts`) that gives at most a
    hundred times as many; where none does, the range divided by `least`.

    >>> usual_step(0, 90), usual_step("-1.5", 2), usual_step(0, "0.123456789")
    (Fraction(1, 20), Fraction(1, 500), Fraction(123456789, 1000000000000))

    Raises:
        ParameterError: unless lower < upper, both finite.
    """
    finite_range(cast("float", lower), cast("float", upper))
    span = decimal(upper, "upper") - decimal(lower, "lower")
    power = Fraction(10) ** len(str(int(span)))
    while span < least * power:
        power /= 10
    for candidate in (first * power / 10**decade for decade in range(3) for first in firsts):
        steps = span / candidate
        if least <= steps <= MOST_FINER * least and steps.denominator == 1:
            return candidate
    return span / least


@dataclass(frozen=True, eq=False, repr=False)
class Histograms:
    """Private counts, one row per group, one column per cell.

    For a group x with n rows on the cells 0, 1, ..., m of a public grid, B_v is the number of rows
    below cell v (B_0 = 0, B_{m+1} = n), and A_v the sum of their cells.  Questions come in arrays:
    `who` is the group's row in the counts, and all arguments have, or broadcast to, one shape.
    """

    counts: IntArray

    @property
    def top(self) -> int:
        """m, the highest cell."""
        return self.counts.shape[1] - 1

    @cached_property
    def sizes(self) -> IntArray:
        """n of every group."""
        return self.counts.sum(axis=1)

    @cached_property
    def mirrored(self) -> "Histograms":
        """Every value v becomes m - v."""
        return Histograms(self.counts[:, ::-1])

    def among(self, groups: Sequence[int]) -> "Histograms":
        """Some of the groups."""
        return Histograms(self.counts[list(groups)])

    def below(self, who: IntArray, cell: IntArray) -> IntArray:
        """B_cell, for cell = 0..m+1."""
        return self._ladder[who * (self.top + 2) + cell] - who * self._stride

    def cell_after(self, who: IntArray, rank: IntArray) -> IntArray:
        """The cell v of the lowest row that has `rank` rows before it: B_v <= rank < B_{v+1}.

        For rank = 0..n; m+1 for rank = n.
        """
        found = np.searchsorted(self._ladder, who * self._stride + rank, side="right")
        return found - who * (self.top + 2) - 1

    def lowest(self, who: IntArray, count: IntArray) -> IntArray:
        """The sum of the cells of the `count` lowest rows; rows beyond n count as cell m."""
        inside = np.minimum(count, self.sizes[who])
        cell = self.cell_after(who, inside)
        partial = (inside - self.below(who, cell)) * cell
        return self._sums[who * (self.top + 2) + cell] + partial + (count - inside) * self.top

    @cached_property
    def _stride(self) -> int:
        return int(self.sizes.max()) + 1

    @cached_property
    def _ladder(self) -> IntArray:
        """All B_v, group after group, each group a stride higher: one ascending array to search."""
        ladder = _running(self.counts)
        ladder += np.arange(len(ladder))[:, None] * self._stride
        return ladder.ravel()

    @cached_property
    def _sums(self) -> IntArray:
        """All A_v, group after group."""
        return _running(self.counts * np.arange(self.top + 1)).ravel()


@dataclass(frozen=True, eq=False, repr=False)
class ValueHistograms:
    """Private counts by group and number, where no grid is public.

    Cell 0 is -infinity, the cells 1, 2, ... are the different numbers of all groups in their order,
    and cell m is +infinity.  Only the order of cells may be looked at: which numbers there are is
    private, and those of one group must not move the statistic of another.

    Attributes:
        group: of each entry, ascending.
        cell: of each entry, ascending within a group.
        rows: of each entry, none of them 0.
        size: how many groups there are.
        top: m.
    """

    group: IntArray
    cell: IntArray
    rows: IntArray
    size: int
    top: int

    @classmethod
    def of(cls, counts: ValueCounts, *, missing: bool) -> "tuple[ValueHistograms, FloatArray]":
        """The histograms, and the numbers of their cells 1..m-1.

        Args:
            counts: of the groups.
            missing: whether rows without a number count, as -infinity.
        """
        numbers, cell = np.unique(counts.number, return_inverse=True)
        nobody = np.flatnonzero(counts.missing if missing else counts.missing[:0])
        group = np.concatenate([nobody, counts.group])
        cells = np.concatenate([np.zeros_like(nobody), cell + 1])
        rows = np.concatenate([counts.missing[nobody], counts.rows])
        kept = np.flatnonzero(rows)
        order = kept[np.lexsort((cells[kept], group[kept]))]
        size = len(counts.missing)
        return cls(group[order], cells[order], rows[order], size, len(numbers) + 1), numbers

    @cached_property
    def sizes(self) -> IntArray:
        """n of every group."""
        sizes = np.zeros(self.size, dtype=np.int64)
        np.add.at(sizes, self.group, self.rows)
        return sizes

    @cached_property
    def mirrored(self) -> "ValueHistograms":
        """Every value v becomes m - v."""
        order = np.lexsort((-self.cell, self.group))
        cell = self.top - self.cell[order]
        return ValueHistograms(self.group, cell, self.rows[order], self.size, self.top)

    def among(self, groups: Sequence[int]) -> "ValueHistograms":
        """Some of the groups, in ascending order."""
        place = np.full(self.size, -1)
        place[list(groups)] = np.arange(len(groups))
        kept = place[self.group] >= 0
        group = place[self.group[kept]]
        return ValueHistograms(group, self.cell[kept], self.rows[kept], len(groups), self.top)

    def below(self, who: IntArray, cell: IntArray) -> IntArray:
        """B_cell, for cell = 0..m+1."""
        entries = np.searchsorted(self._keys, who * (self.top + 2) + cell)
        return self._upto[entries] - self._before[who]

    def cell_after(self, who: IntArray, rank: IntArray) -> IntArray:
        """The cell v of the lowest row that has `rank` rows before it; m+1 for rank = n."""
        entry = np.searchsorted(self._upto, self._before[who] + rank, side="right") - 1
        inside = np.minimum(entry, max(len(self.cell) - 1, 0))
        cell = self.cell[inside] if len(self.cell) else np.zeros_like(inside)
        return np.where(rank < self.sizes[who], cell, self.top + 1)

    def lowest(self, who: IntArray, count: IntArray) -> IntArray:
        """Sums of cells say nothing here: means need a grid."""
        raise NotImplementedError

    @cached_property
    def _keys(self) -> IntArray:
        return self.group * (self.top + 2) + self.cell

    @cached_property
    def _upto(self) -> IntArray:
        """Rows of all entries before each one, and of all."""
        return np.concatenate([[0], np.cumsum(self.rows)])

    @cached_property
    def _before(self) -> IntArray:
        """Rows of all groups before each one."""
        return np.cumsum(self.sizes) - self.sizes


AnyHistograms: TypeAlias = Histograms | ValueHistograms


def _running(counts: IntArray) -> IntArray:
    """Sums over the cells below each of the cells 0..m+1."""
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=sums[:, 1:])
    return sums


def decimal(number: Exact, name: str) -> Fraction:
    """A public number as the decimal it is written as.

    Raises:
        ParameterError: if it is no number.
    """
    try:
        check_length(str(number))
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"Expected {name} to be a number, got {name}={shortened(number)}."
        ) from None


BLOCK = 1 << 20
FINEST = 10**6
"""p has at most four decimals, so that ranks times its denominator stay within 64 bits."""


class Statistic(Protocol):
    """A monotone statistic of a group; the reach mechanism answers questions about it.

    Arrays have one entry per question; `who` is the group's row in the histograms.
    """

    def largest(self, top: int) -> int:
        """The largest value that the mirror image subtracts from, for cells 0..top."""
        ...

    def mirrored(self) -> Self:
        """The statistic t with t(mirror image of x) = largest - s(x)."""
        ...

    def value(self, x: AnyHistograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        """s after the `out` lowest rows left and `added` rows came to the top."""
        ...

    def highest(self, x: AnyHistograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        """The largest s(r out, z - r in) over 0 <= r <= most."""
        ...


MIRRORED: dict[str, Literal["middle", "lower", "upper"]] = {
    "middle": "middle",
    "lower": "upper",
    "upper": "lower",
}


@dataclass(frozen=True, slots=True)
class Quantile:
    """The interpolated p-quantile, 0 < p < 1, in units of 1 / `unit` cells.

    **Interpolated quantile**, 0 < p < 1.  The rows of a cell are spread evenly over it.  With v the
    cell of the row of rank ⌈p n'⌉, b rows below it and c in it,

        s = v + (p n' - b) / c,    in (v, v+1);

    where p n' = b + c is the end of cell v, every place up to the next cell u that has rows halves
    them as well, and s = (v + 1 + u) / 2 is in the middle.  So a median of two values is their
    mean, as everybody computes it: the order of s refines the order of ordinary medians, and groups
    whose medians tie are told apart by how far into the cell the median lies.  The mirror image of
    s is the same with 1 - p.

    Let f be the share of a row's cell that lies below τ.  The left end of the places of s is above
    τ if and only if Σ over rows of (f - p) is negative.  A row less in the beginning and one less
    added at the end change that sum by 2p - f - f_m, with f_m = 0 unless τ is in cell m, and f
    falls along the rows: 1 below τ's cell, one value in it, 0 above.  So the best r is 0, or all
    rows below τ's cell, or all up to it, or M if that is less.  If M clears τ's cell, M itself
    pushes s above τ.  Hence **r = 0, r = M and r = B_v with B_v <= M < B_{v+1}** are enough for
    every τ.  They are for a middle as well: if some r has it between two cells, the sum is 0 for
    every τ in between, and not larger for one of these three.  It then is 0 too, and the ends are
    the same two cells (what is left out is below both, but not all of that), or negative, and s is
    not below the upper end.

    **Without a grid** only the order of values may be looked at: where two values halve the rows,
    the middle of their cells would depend on which values other groups have.  The quantile then is
    the lower of the two, at the very end of its cell (`end="lower"`), and its mirror image the
    upper one at the very start.  These are the left and the right end of the places above, for
    which the three r are enough.

    Attributes:
        p: the share of the rows below.
        end: where two values halve the rows: their middle, or one of them.
    """

    p: Fraction
    end: Literal["middle", "lower", "upper"] = "middle"

    @property
    def unit(self) -> int:
        return 2 * self.p.denominator

    def largest(self, top: int) -> int:
        return (top + 1) * self.unit

    def mirrored(self) -> "Quantile":
        return Quantile(1 - self.p, MIRRORED[self.end])

    def value(self, x: AnyHistograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        parts = self.p.denominator
        n = x.sizes[who]
        target = self.p.numerator * (n - out + added)
        cell, following = (
            np.where(rank < n, x.cell_after(who, np.minimum(rank, n)), x.top)
            for rank in (out + (target - 1) // parts, out + target // parts)
        )
        start = np.maximum(x.below(who, cell), out)
        inside = x.below(who, cell + 1) - start + np.where(cell == x.top, added, 0)
        share = Fractions.ratio(2 * (target - parts * (start - out)), np.maximum(inside, 1))
        if self.end == "lower":
            return share.plus(2 * parts * cell)
        if self.end == "upper":
            return share.where(following == cell, 0).plus(2 * parts * following)
        return share.plus((cell + np.maximum(following - 1, cell)) * parts)

    def reaches(self, reached: Fractions, cell: IntArray | int) -> NDArray[np.bool_]:
        """Which quantiles are at least the value of a cell: those above the end of the one before.

        Where the upper of two values is taken, it is at the very start of its cell.
        """
        start = cell * self.unit
        if self.end == "upper":
            return np.asarray(reached.whole >= start)
        return (reached.whole > start) | ((reached.whole == start) & (reached.rest > 0))

    def highest(self, x: AnyHistograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        whole_cells = x.below(who, x.cell_after(who, most))
        out = np.column_stack([np.zeros_like(z), most, whole_cells])
        return self.value(x, who[:, None], out, z[:, None] - out).best()


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean, in cells.

    **Mean**, s = (Σ cells) / n'.  One more row out and one less in raises s(r) if and only if
    cell_{r+1} + m < 2 s(r).  Once that fails it fails for all larger r: cells only grow, s only
    falls.  Within a cell it holds for all rows or for none.  So **the best r is min(M, B_v) with v
    the first cell such that v + m >= 2 s(B_v)**: a bisection over cells.
    """

    def largest(self, top: int) -> int:
        return top

    def mirrored(self) -> "Mean":
        return self

    def value(self, x: AnyHistograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        return _mean_of_ranks(x, who, out, x.sizes[who] + added)

    def highest(self, x: AnyHistograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        """Bisection for the first cell v from which on nothing is gained, or that `most` ends."""
        rows = x.sizes[who] + z
        total = x.lowest(who, x.sizes[who] + z)
        low = np.zeros_like(who)
        high = np.full_like(who, x.top + 1)
        for _ in range((x.top + 1).bit_length()):
            v = (low + high) // 2
            out = x.below(who, v)
            left = total - x.lowest(who, out) - out * x.top
            gains = (out <= most) & ((v + x.top) * (rows - 2 * out) < 2 * left) & (v <= x.top)
            low = np.where(gains, v + 1, low)
            high = np.where(gains, high, v)
        out = np.minimum(most, x.below(who, np.minimum(high, x.top + 1)))
        return self.value(x, who, out, z - out)


@dataclass(frozen=True, slots=True)
class TrimmedMean:
    """The mean without a share α < 1/2 of the rows at each end, in cells.

    **Trimmed mean**: without the ⌊α n'⌋ lowest and the ⌊α n'⌋ highest rows, α < 1/2.  Let
    e_1 <= e_2 <= ... be the rows of x and then z times cell m.  "r out, z - r in" leaves the mean
    of e_{c+1}, ..., e_{n+z-c} with c = r + ⌊α (n+z-2r)⌋, which grows by 0 or 1 with r.  Going from
    c to c+1 raises the mean if and only if e_{c+1} + e_{n+z-c} is below twice the mean; as long as
    neither changes its cell this stays true or stays false.  So **c = B_v, c = n+z-B_v and the ends
    of c's range** are enough.
    """

    alpha: Fraction

    def largest(self, top: int) -> int:
        return top

    def mirrored(self) -> "TrimmedMean":
        return self

    def value(self, x: AnyHistograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        rows = x.sizes[who] + added
        cut = self._cut(rows - out)
        return _mean_of_ranks(x, who, out + cut, rows - cut)

    def highest(self, x: AnyHistograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        """Some questions at a time: each looks at two places per cell."""
        length = max(1, BLOCK // (2 * x.top + 6))
        blocks = (slice(i, i + length) for i in range(0, max(len(who), 1), length))
        return Fractions.joined([self._highest(x, who[b], z[b], most[b]) for b in blocks])

    def _highest(self, x: AnyHistograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        rows = (x.sizes[who] + z)[:, None]
        first = self._cut(rows)
        last = most[:, None] + self._cut(rows - 2 * most[:, None])
        below = x.below(who[:, None], np.arange(x.top + 2))
        c = np.hstack(
            [first, last, np.clip(below, first, last), np.clip(rows - below, first, last)]
        )
        return _mean_of_ranks(x, np.broadcast_to(who[:, None], c.shape), c, rows - c).best()

    def _cut(self, rows: IntArray) -> IntArray:
        return self.alpha.numerator * rows // self.alpha.denominator


def _mean_of_ranks(x: AnyHistograms, who: IntArray, first: IntArray, last: IntArray) -> Fractions:
    """The mean of the rows of rank first + 1 to last."""
    total = x.lowest(who, last) - x.lowest(who, first)
    return Fractions.ratio(total, np.maximum(last - first, 1))


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the values; a mechanism on the sums answers questions about it."""


@dataclass(frozen=True, slots=True)
class Percent:
    """How p is read: in percent, above 0, with at most four decimals.

    Attributes:
        below: what p must be below.
        usual: what p is if it is left out; None if it must be given.
    """

    below: int
    usual: int | None = None

    def share(self, p: Exact | None) -> Fraction:
        """p percent as a fraction.

        Raises:
            ParameterError: if p is missing, or not such a number.
        """
        given = self.usual if p is None else p
        if given is None:
            raise ParameterError(
                f"Expected p=, a percentage below {self.below}, such as p={self.below // 2}."
            )
        value = exact(given, "p")
        if value >= self.below:
            raise ParameterError(f"Expected p < {self.below} (percent), got p={p}.")
        if (value / 100).denominator > FINEST:
            raise ParameterError(f"Expected p with at most four decimals, got p={p}.")
        return value / 100


@dataclass(frozen=True, slots=True)
class NamedStatistic:
    """A statistic as people ask for it.

    Attributes:
        name: the word for it.
        help: what it is, in a few words that go on after a colon.
        make: gives the statistic, of the share that p is if there is a p.  A `Statistic` is
            answered by reach, a `Sum` by a mechanism on the sums.
        percent: how p is read; None if there is no p.
    """

    name: str
    help: str
    make: Callable[..., Statistic | Sum]
    percent: Percent | None = None

    def of(self, p: Exact | None) -> Statistic | Sum:
        """The statistic with that p.

        Raises:
            ParameterError: if p is wrong or does not belong to it.
        """
        if self.percent is not None:
            return self.make(self.percent.share(p))
        if p is not None:
            raise ParameterError(
                f"Expected no p= for the {self.name}, got p={p}. For a quantile pass "
                "statistic='quantile'."
            )
        return self.make()


MEDIAN = NamedStatistic("median", "the value in the middle", lambda: Quantile(Fraction(1, 2)))
QUANTILE = NamedStatistic(
    "quantile", "the value that p percent of the rows are below", Quantile, Percent(below=100)
)
MEAN = NamedStatistic("mean", "the mean of the values", Mean)
TRIMMED_MEAN = NamedStatistic(
    "trimmed-mean",
    "the mean without p percent of the rows at each end",
    TrimmedMean,
    Percent(below=50, usual=10),
)
SUM = NamedStatistic("sum", "the sum of the values", Sum)


LARGEST_EXACT = 2**53
JOINT = Mechanism("joint", Global(), LAPLACE)
"""On the sums as they are, which are exact: other scores would be cut at 2^28 units."""


@dataclass(frozen=True, slots=True, repr=False)
class BySum:
    """The private sums of the groups, ready to be drawn from.

    `BySum` draws by the sums of the groups.  One row more or less changes one group's sum by at
    most Δ = max(|lower|, |upper|), and one replaced value by at most Δ = upper - lower.  Between
    neighbours no two sums move in opposite directions, since only one moves.  That is all that
    permute-and-flip needs to draw with the exponent ε u / Δ, without a factor 1/2; and the vector
    of sums changes by at most Δ in the 1-norm, so that Laplace noise of scale Δ / ε on every sum
    serves any k at once, and may show their order.  Sums are whole numbers of the largest unit that
    divides `lower` and `step`, clamped to ±2^53, where floats are exact; clamping never makes two
    sums differ by more.
    """

    sums: Selection
    selection: str = "pf"

    @classmethod
    def of(cls, x: Histograms, grid: Grid, neighbours: Neighbours, *, smallest: bool) -> "BySum":
        """The sums of counted rows, negated where the smallest is asked for."""
        unit = _unit(grid)
        low = int(grid.lower / unit)
        step = int(grid.step / unit)
        everyone = np.arange(len(x.sizes))
        pairs = zip(x.sizes.tolist(), x.lowest(everyone, x.sizes).tolist(), strict=True)
        sums = [low * n + step * cells for n, cells in pairs]
        sign = -1 if smallest else 1
        inside = [sign * max(-LARGEST_EXACT, min(s, LARGEST_EXACT)) for s in sums]
        return cls(_selection(inside, int(largest_change(grid, neighbours) / unit)))

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        """The probability that a group is the one that `winners` gives for k = 1; not private."""
        return probabilities(self.sums, epsilon=epsilon, mechanism=named(self.selection))

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The set of the k best groups, ascending: ε-DP."""
        return sorted(self.ranking(k, epsilon, entropy))

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first: ε-DP."""
        mechanism = sum_mechanism(k, self.selection)
        return select(self.sums, epsilon=epsilon, mechanism=mechanism, k=k, entropy=entropy)


def sum_mechanism(k: int, selection: str = "pf") -> Mechanism:
    """One draw at its best, several from one noisy vector."""
    return named(selection) if k == 1 else JOINT


def sum_lead(
    grid: Grid, neighbours: Neighbours, mechanism: Mechanism, *, m: int, k: int, epsilon: Fraction
) -> float:
    """The lead at which the sums of k of m groups are the answer with probability 0.9."""
    needed = lead(_selection([0, 0], 1), mechanism, m=m, k=k, epsilon=epsilon)
    assert needed is not None, "the noise of both mechanisms is known"
    return needed * float(largest_change(grid, neighbours))


def largest_change(grid: Grid, neighbours: Neighbours) -> Fraction:
    """Δ: how much one step changes a sum at most."""
    if neighbours == Neighbours.REPLACE_ONE:
        return grid.upper - grid.lower
    return max(abs(grid.lower), abs(grid.upper))


def _unit(grid: Grid) -> Fraction:
    """The largest unit that divides `lower` and `step`."""
    parts = lcm(grid.lower.denominator, grid.step.denominator)
    return Fraction(gcd(int(grid.lower * parts), int(grid.step * parts)), parts)


def _selection(sums: Sequence[int], change: int) -> Selection:
    return Selection(
        sums,
        sensitivity.constant(change),
        separable=True,
        joint={Global(): 1.0, Shifted(): 1.0},
        exact=True,
    )


DRAWS = 3
"""The value and both ends of its interval."""
FARTHEST = 2.0**53
"""Rows off times the denominator of p stay whole as floats."""


@dataclass(frozen=True)
class QuantileMethod:
    """The quantile of every group with an interval, by three draws by rank.

    Three draws by permute-and-flip, each with a third of its ε: the value aims at the rank p n, the
    ends of the interval at p n - B and p n + B.  Of a cell with r rows below it and r' rows up to
    it, an aim t is max(r - t, t - r', 0) rows off, which a row changes by at most h = max(p, 1-p);
    so exp(-ε'/2h) per row off is ε'-DP.  The lower end has one more candidate, "below all cells",
    which is max(t, 0) rows off, and the upper end one above all cells, max(n - t, 0) rows off:
    there always is a candidate that is 0 rows off.  So a draw from m candidates is at least B rows
    off with probability 1 - (1 - exp(-ε' B / 2h))^m at most.

    **Theorem.**  With B such that this is α/2, the interval holds the true quantile x with
    probability 1 - α or more, whatever the data is.  Proof.  At most p n rows are below x and at
    least p n are up to x.  If the lower end L were above x, it would have r >= p n rows below it
    and be at least B rows off from p n - B; if the upper end were below x, it would have r' <= p n
    rows up to it and be at least B rows off from p n + B. ∎

    Attributes:
        value: the column of numbers.
        by: the column of groups.
        groups: which are measured.
        grid: of the values.
        p: which quantile, from 0 to 1.
    """

    value: str
    by: str
    groups: Sequence[Hashable]
    grid: Grid
    p: Fraction

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query="measure",
            mechanism="pf",
            losses=equal_parts(DRAWS, ANY),
        )
        if self.far(cost.epsilon / DRAWS, float(1 - BRACKET) / 2) * self.p.denominator >= FARTHEST:
            raise ParameterError(
                "Expected a larger share of epsilon for the number: its interval would hold more "
                "than 2^53 rows. Raise epsilon or share."
            )
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        off = rounded_up(self.far(epsilon / DRAWS, 1 - CONFIDENCE))
        sentence = (
            f"In at least {10 * CONFIDENCE:.0f} of 10 runs it is a quantile of its group after at "
            f"most {off:,} rows were added or removed."
        )
        return Accuracy(float(off), "rows per group", sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        keyed = Keyed(
            {self.value: self.grid.key}, itemgetter(self.value), ("nearest", self.value, self.grid)
        )
        wanted: dict[str, Kind] = {self.value: "numbers"}
        grouping = Grouping(list(self.groups))
        counts = grouping.counts(source, self.by, wanted, keyed, self.grid.top + 1)
        found = [self.measured(line[:-1], epsilon, entropy) for line in counts]
        numbers = dict(zip(self.groups, found, strict=True))
        values = {name: number["value"] for name, number in numbers.items()}
        return Drawn(values, numbers=numbers, law=BracketLaw())

    def measured(self, counts: IntArray, epsilon: Fraction, entropy: Entropy) -> dict[str, Any]:
        """The quantile of one group, and both ends, from the rows of every cell: ε-DP."""
        each = epsilon / DRAWS
        away = math.ceil(self.far(each, float(1 - BRACKET) / 2))
        place, low, high = (
            self._drawn(self.rows_off(counts, aim), each, entropy) for aim in (0, -away, away)
        )
        top = self.grid.top
        place, low, high = (min(max(cell, 0), top) for cell in (place, low - 1, high))
        ends = min(low, place), max(high, place)
        return {"value": self._told(place), "low": self._told(ends[0]), "high": self._told(ends[1])}

    def rows_off(self, counts: IntArray, aim: int) -> IntArray:
        """How many rows every candidate is off from the rank p n + aim, times the denominator of p.

        One candidate more comes first if the aim is below, last if it is above.
        """
        of = self.p.denominator
        up_to = np.cumsum(counts) * of
        target = self.p.numerator * int(counts.sum()) + aim * of
        off = np.maximum(np.maximum(up_to - counts * of - target, target - up_to), 0)
        if aim < 0:
            return np.r_[max(target, 0), off]
        return np.r_[off, max(int(up_to[-1]) - target, 0)] if aim > 0 else off

    def far(self, epsilon: Fraction, tail: float) -> float:
        """B: a draw is off by as many rows or more with probability `tail` at most."""
        one = -math.expm1(math.log1p(-tail) / (self.grid.top + 2))
        return -math.log(one) * 2 * float(self._step / epsilon)

    def _drawn(self, off: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
        scale = epsilon / (2 * self._step * self.p.denominator)
        [best] = noisy_top(-off.astype(np.float64), scale, EXPONENTIAL, 1, entropy)
        return best

    @property
    def _step(self) -> Fraction:
        """h."""
        return max(self.p, 1 - self.p)

    def _told(self, cell: int) -> int | float:
        value = self.grid.value(Fraction(cell))
        return int(value) if value.denominator == 1 else float(value)
