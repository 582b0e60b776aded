"""Which group has the largest statistic?  "Which hospital has the longest median stay?"

Rows are (value, group).  The groups, a grid of values `lower, lower + step, ..., upper` and N, the
least number of rows that count, are public; values are moved to the nearest point of the grid; rows
of other groups are dropped.  How many rows a group has is private.

**The reach mechanism.**  R(x, w) is the largest statistic that a group x can reach within w rows,
for w < 0 the smallest (`dampen.questions.groups.reach`).  Draw for every group g an independent
integer Z_g with P(z) proportional to exp(-ε |z|), and release the *set* of the k groups with the
largest R(x_g, Z_g + z0), ties by a random order.

**Theorem.**  This is ε-differentially private for adding or removing one row, for every k, every
public integer z0 and every statistic.  Proof.  Fix the random order and the Z of all groups but h,
the one whose row came or went.  Whether the set is S depends on R_h alone, and monotonically: if h
is in S, on R_h being large enough; if not, on its being small enough.  R(x_h, w) never decreases in
w, so the event is a half-line of integers, {Z_h >= j} or {Z_h <= j}.  By the lemma of
`dampen.questions.groups.reach` the event for the neighbour lies between the half-lines from j+1 and
from j-1, and moving the end of a half-line by 1 changes its probability by a factor of at most e^ε.
∎

With the groups public and fixed, and one *value* replaced, the same holds for the reach of
replacements; a step then concerns one row of one group as well.

The set is all that may be seen.  The order of the noisy R's, or the sets of two different k from
the same Z's, is *not* private: two groups of S then depend on each other's place.  `ordered` asks k
times for one group, at ε/k.

**Caution.**  z0 = -caution / ε, rounded to an integer, judges a group by what it can be pushed
*down* to: with few rows that is not much, so that small groups must prove themselves.  z0 is public
and costs no privacy.

The sum needs no reach: see `dampen.questions.groups.draws`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.cells import Keyed
from dampen.data.grouping import Grouping
from dampen.data.memory import MemoryTable
from dampen.data.source import Opened
from dampen.epsilon import Epsilon, exact
from dampen.errors import DataError, ParameterError, did_you_mean
from dampen.questions.groups.draws import ByReach, BySum, Contest, public_offset
from dampen.questions.groups.grid import Exact, Grid
from dampen.questions.groups.histograms import Histograms
from dampen.questions.groups.reach import Reach, Replacements, Rows, Steps
from dampen.questions.groups.statistic_names import Sum, measure

LARGEST_FLOOR = 10**9
SMALLEST_EPSILON = Fraction(1, 10**9)
STEPS: dict[Neighbours, Steps] = {
    Neighbours.ADD_REMOVE_ROW: Rows(),
    Neighbours.REPLACE_ONE: Replacements(),
}


@dataclass(frozen=True, kw_only=True)
class BestGroup:
    """Which of the public groups has the largest statistic?

    Attributes:
        groups: the public list of candidates; rows of other groups are dropped.
        statistic: "median", "quantile" (with p), "mean", "trimmed-mean" or "sum".  The default is
            the quantile if p is given, else the median.
        p: for the quantile which one, for the trimmed mean how much is cut off at each end (10 by
            default); in percent, a decimal is taken exactly.
        lower: public lower end of the values; smaller ones count as this.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid's points; it divides the range.
        min_rows: public; a group with fewer rows ranks below all others.
        caution: public; see above.  1 suits groups of different sizes, 0 groups of like sizes.
        smallest: ask for the smallest statistic instead.  Groups with too few rows still rank last.
        neighbours: add or remove one row; or replace one value, where everyone's group, and so the
            number of rows of every group, is public.
    """

    groups: Sequence[Hashable]
    statistic: str | None = None
    p: Exact | None = None
    lower: Exact
    upper: Exact
    step: Exact
    min_rows: int = 1
    caution: Exact = 1
    smallest: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW

    def __post_init__(self) -> None:
        self.grouping.check_size(self.grid.top + 1)
        chosen = measure(self.statistic, self.p)
        _check_min_rows(self.min_rows)
        if isinstance(chosen, Sum) and self.min_rows > 1:
            raise ParameterError(
                f"Expected no min_rows= for the sum, got min_rows={self.min_rows}: one row could "
                "then bring in a whole group."
            )
        _exact_caution(self.caution)
        relation(self.neighbours)

    @property
    def by_sum(self) -> bool:
        """Whether groups are compared by their sums, which needs no reach."""
        return isinstance(measure(self.statistic, self.p), Sum)

    @property
    def public(self) -> dict[str, Any]:
        """What a release shows of its parameters; of the groups, how many there are."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        name = "median" if self.p is None else "quantile"
        return given | {"groups": len(self.candidates), "statistic": self.statistic or name}

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.grouping.groups

    @cached_property
    def grouping(self) -> Grouping:
        return Grouping(self.groups)

    @cached_property
    def grid(self) -> Grid:
        return Grid.between(self.lower, self.upper, self.step)

    def counts(self, values: Any, by: Any) -> IntArray:
        """Rows by group and cell of the grid, from two columns in memory; see `opened_counts`."""
        return self.opened_counts(MemoryTable({"values": values, "by": by}), "values", "by")

    def opened_counts(self, rows: Opened, values: str, by: str) -> IntArray:
        """Rows by group and cell of the grid: all that is ever asked of the data.

        Raises:
            DataError: if a row of one of the groups has no number for a value.
        """
        cells = self.grid.top + 1
        cell_of = Keyed({values: self.grid.key}, itemgetter(values))
        counts = self.grouping.counts(rows, by, {values: "numbers"}, cell_of, cells)
        if counts[:, -1].any():
            raise DataError(
                "Expected numbers only; some are missing (NaN or null). Fill or drop them first, "
                "by a rule that looks at each record alone."
            )
        return counts[:, :-1]

    def probabilities(self, values: Any, by: Any, *, epsilon: Epsilon) -> FloatArray:
        """The probability of every group to be the answer, to about 1e-12; not private.

        >>> problem = BestGroup(groups=["a", "b", "c"], lower=0, upper=9, step=1)
        >>> days, ward = [3, 4, 5, 5, 8, 8], ["a", "a", "a", "b", "b", "b"]
        >>> problem.probabilities(days, ward, epsilon=2).round(3)
        array([0.016, 0.968, 0.016])
        """
        return self.contest(self.counts(values, by)).probabilities(self.exact_epsilon(epsilon))

    def contest(self, counts: IntArray) -> Contest:
        """The private counts, one row per group, ready to be drawn from."""
        chosen = measure(self.statistic, self.p)
        x = Histograms(np.asarray(counts, dtype=np.int64))
        if isinstance(chosen, Sum):
            return BySum.of(x, self.grid, self.neighbours, smallest=self.smallest)
        if self.smallest:
            chosen = chosen.mirrored()
            x = x.mirrored
        reach = Reach(x, chosen, STEPS[self.neighbours], self.min_rows)
        return ByReach(reach, _exact_caution(self.caution))

    def offset(self, epsilon: Fraction) -> int:
        """z0, in rows: what caution takes off every group."""
        return public_offset(_exact_caution(self.caution), epsilon)

    def exact_epsilon(self, epsilon: Epsilon) -> Fraction:
        """ε as a fraction; noise of a scale beyond 10^9 rows is refused."""
        value = exact(epsilon)
        if value < SMALLEST_EPSILON:
            raise ParameterError(f"Expected epsilon >= 1e-9, got epsilon={epsilon}.")
        return value


def relation(name: Neighbours | str) -> Neighbours:
    """The neighbour relation of that name, among those that groups know.

    Raises:
        ParameterError: if there is none.
    """
    known = {str(neighbours): neighbours for neighbours in STEPS}
    if str(name) in known:
        return known[str(name)]
    raise ParameterError(
        f"Expected neighbours to be one of {', '.join(known)}, got {name!r}."
        f"{did_you_mean(str(name), known)}"
    )


def _check_min_rows(min_rows: int) -> None:
    whole = isinstance(min_rows, int | np.integer) and not isinstance(min_rows, bool)
    if not whole or not 1 <= min_rows <= LARGEST_FLOOR:
        raise ParameterError(f"Expected min_rows to be an integer >= 1, got min_rows={min_rows!r}.")


def _exact_caution(caution: Exact) -> Fraction:
    """A number >= 0: 0 or an exact positive one."""
    if caution in (0, "0"):
        return Fraction(0)
    try:
        return exact(caution, "caution")
    except ParameterError:
        raise ParameterError(f"Expected caution >= 0, got caution={caution!r}.") from None
