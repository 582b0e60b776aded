"""The statistics of a group, each with the largest value it can be pushed to.

Notation: a group x has n rows on the cells 0..m, B_v of them below cell v (`Histograms`).  "r out,
a in" is x without its r lowest rows and with a more rows in cell m, hence with n' = n - r + a rows.
Every statistic here is *monotone*: with so many rows removed and so many added none is larger than
after "r out, a in", and one more row in cell m never lowers it.  So the largest value within z rows
of x is

    highest(x, z) = max over r of s(r out, z - r in),    0 <= r <= M,

where M, the most rows that may go, leaves enough of them.  Each class says which r to look at.

**Interpolated quantile**, 0 < p < 1.  The rows of a cell are spread evenly over it.  With v the
cell of the row of rank ⌈p n'⌉, b rows below it and c in it,

    s = v + (p n' - b) / c,    in (v, v+1);

where p n' = b + c is the end of cell v, every place up to the next cell u that has rows halves them
as well, and s = (v + 1 + u) / 2 is in the middle.  So a median of two values is their mean, as
everybody computes it: the order of s refines the order of ordinary medians, and groups whose
medians tie are told apart by how far into the cell the median lies.  The mirror image of s is the
same with 1 - p.

Let f be the share of a row's cell that lies below τ.  The left end of the places of s is above τ if
and only if Σ over rows of (f - p) is negative.  A row less in the beginning and one less added at
the end change that sum by 2p - f - f_m, with f_m = 0 unless τ is in cell m, and f falls along the
rows: 1 below τ's cell, one value in it, 0 above.  So the best r is 0, or all rows below τ's cell,
or all up to it, or M if that is less.  If M clears τ's cell, M itself pushes s above τ.  Hence
**r = 0, r = M and r = B_v with B_v <= M < B_{v+1}** are enough for every τ.  They are for a middle
as well: if some r has it between two cells, the sum is 0 for every τ in between, and not larger for
one of these three.  It then is 0 too, and the ends are the same two cells (what is left out is
below both, but not all of that), or negative, and s is not below the upper end.

**Mean**, s = (Σ cells) / n'.  One more row out and one less in raises s(r) if and only if
cell_{r+1} + m < 2 s(r).  Once that fails it fails for all larger r: cells only grow, s only falls.
Within a cell it holds for all rows or for none.  So **the best r is min(M, B_v) with v the first
cell such that v + m >= 2 s(B_v)**: a bisection over cells.

**Trimmed mean**: without the ⌊α n'⌋ lowest and the ⌊α n'⌋ highest rows, α < 1/2.  Let
e_1 <= e_2 <= ... be the rows of x and then z times cell m.  "r out, z - r in" leaves the mean of
e_{c+1}, ..., e_{n+z-c} with c = r + ⌊α (n+z-2r)⌋, which grows by 0 or 1 with r.  Going from c to
c+1 raises the mean if and only if e_{c+1} + e_{n+z-c} is below twice the mean; as long as neither
changes its cell this stays true or stays false.  So **c = B_v, c = n+z-B_v and the ends of c's
range** are enough.

The **sum** needs no such closed form: see `dampen.questions.groups.sums`.

A new statistic is a file beside this one with a class such as these and its `NamedStatistic`, and a
line in the list `STATISTICS` of `dampen.questions.groups.problem`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from dampen.core.selection import IntArray
from dampen.epsilon import exact
from dampen.errors import ParameterError
from dampen.questions.groups.fractions import Fractions
from dampen.questions.groups.histograms import Exact, Histograms

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

    def value(self, x: Histograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        """s after the `out` lowest rows left and `added` rows came to the top."""
        ...

    def highest(self, x: Histograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        """The largest s(r out, z - r in) over 0 <= r <= most."""
        ...


@dataclass(frozen=True, slots=True)
class Quantile:
    """The interpolated p-quantile, 0 < p < 1, in units of 1 / `unit` cells."""

    p: Fraction

    @property
    def unit(self) -> int:
        return 2 * self.p.denominator

    def largest(self, top: int) -> int:
        return (top + 1) * self.unit

    def mirrored(self) -> "Quantile":
        return Quantile(1 - self.p)

    def value(self, x: Histograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
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
        return share.plus((cell + np.maximum(following - 1, cell)) * parts)

    def highest(self, x: Histograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        whole_cells = x.below(who, x.cell_after(who, most))
        out = np.column_stack([np.zeros_like(z), most, whole_cells])
        return self.value(x, who[:, None], out, z[:, None] - out).best()


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean, in cells."""

    def largest(self, top: int) -> int:
        return top

    def mirrored(self) -> "Mean":
        return self

    def value(self, x: Histograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        return _mean_of_ranks(x, who, out, x.sizes[who] + added)

    def highest(self, x: Histograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
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
    """The mean without a share α < 1/2 of the rows at each end, in cells."""

    alpha: Fraction

    def largest(self, top: int) -> int:
        return top

    def mirrored(self) -> "TrimmedMean":
        return self

    def value(self, x: Histograms, who: IntArray, out: IntArray, added: IntArray) -> Fractions:
        rows = x.sizes[who] + added
        cut = self._cut(rows - out)
        return _mean_of_ranks(x, who, out + cut, rows - cut)

    def highest(self, x: Histograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
        """Some questions at a time: each looks at two places per cell."""
        length = max(1, BLOCK // (2 * x.top + 6))
        blocks = (slice(i, i + length) for i in range(0, max(len(who), 1), length))
        return Fractions.joined([self._highest(x, who[b], z[b], most[b]) for b in blocks])

    def _highest(self, x: Histograms, who: IntArray, z: IntArray, most: IntArray) -> Fractions:
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


def _mean_of_ranks(x: Histograms, who: IntArray, first: IntArray, last: IntArray) -> Fractions:
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
