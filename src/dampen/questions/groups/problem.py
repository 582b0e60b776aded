"""Which group has the largest statistic?  "Which hospital has the longest median stay?"

Rows are (value, group).  The groups, a grid of values `lower, lower + step, ..., upper` and N, the
least number of rows that count, are public; values are moved to the nearest point of the grid; rows
of other groups are dropped.  How many rows a group has is private.

**Without a grid** medians and quantiles are those of the values themselves, and a group can be
pushed to -infinity and +infinity.  The theorem below holds for any statistic in any ordered set, so
that no bound is needed.  The draw looks at nothing but the order of the groups' values, and a
group's own reach depends on its own rows alone (`dampen.questions.groups.statistics`).  Means and
sums need a range: one row could move them without limit.

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

**For ρ** the integers Z_g are discrete Gaussian, P(z) proportional to exp(-z² / (2σ²)).
**Theorem.**
The set is ρ-zCDP with ρ = 1/(2σ²), for every k.  Proof.  Fix the order and the Z of all groups but
h.  The set is one of two: it has h, or it has not.  It has h if Z_h >= j, where j is the least
integer from which R(x_h, j + z0) is large enough; for the neighbour from j-1, j or j+1 on, by the
lemma.  So the two laws are those of [Z_h >= j] and of [Z_h + s >= j] with |s| <= 1, functions of
two discrete Gaussians that are s apart: all their Rényi divergences are at most α s² / (2σ²)
(Canonne, Kamath and Steinke 2020, Theorem 4).  What was fixed has the same law for both, and D_α is
quasi-convex.  ∎  Steps in several groups, or several in one, add up as √ρ does: weights w_g of a
person cost (Σ w_g)² / (2σ²).

With the groups public and fixed, and one *value* replaced, the same holds for the reach of
replacements; a step then concerns one row of one group as well.

The set is all that may be seen.  The order of the noisy R's, or the sets of two different k from
the same Z's, is *not* private: two groups of S then depend on each other's place.  `ordered` asks k
times for one group, at ε/k.

**Caution.**  z0 = -caution / ε, rounded to an integer, judges a group by what it can be pushed
*down* to: with few rows that is not much, so that small groups must prove themselves.  z0 is public
and costs no privacy.

If no caution is stated, it is 1, and for medians and quantiles at an ε it is 1 + `MORE` where a
group has fewer than N' = `FEW` / (ε q) rows: noise of FEW / ε rows can push such a group to any
height.  That is the R' of `dampen.questions.groups.reach` with A = MORE / ε in place of R, for
which the same lemma holds, and so the theorem; no part of ε is spent on the sizes of groups.  One
small group then wins by noise with a probability of at most e^-4 / 2.  FEW was chosen on real
tables (`dampen-studies run caution`).

The sum needs no reach: see `dampen.questions.groups.statistics.BySum`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from math import floor
from operator import itemgetter
from typing import Any

import numpy as np

from dampen.core.sampling import Entropy, random_order
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.data.cells import Grouping, Keyed, ValuesOf
from dampen.data.columns import as_bound, as_step
from dampen.data.memory import MemoryTable
from dampen.data.source import Opened
from dampen.data.units import quantum_of
from dampen.epsilon import Epsilon, exact, root_below
from dampen.errors import ParameterError, did_you_mean
from dampen.questions.groups.reach import (
    ByMinMax,
    Reach,
    Replacements,
    Rows,
    Steps,
    winning_probabilities,
)
from dampen.questions.groups.statistics import (
    MEAN,
    MEDIAN,
    QUANTILE,
    SUM,
    TRIMMED_MEAN,
    AnyHistograms,
    BySum,
    Exact,
    Grid,
    Histograms,
    NamedStatistic,
    Quantile,
    Statistic,
    Sum,
    ValueHistograms,
    decimal,
    usual_step,
)
from dampen.releases.numbers import GAUSSIAN, LAPLACE, IntegerNoise, drawn_noise
from dampen.releases.question import Fact, parameter
from dampen.schema.schema import Schema

__all__ = [
    "RELATIONS",
    "STATISTICS",
    "BestGroup",
    "ByReach",
    "divided",
    "group_step",
    "histograms_of",
    "relation",
    "row_weight",
    "step_of",
]

STATISTICS: tuple[NamedStatistic, ...] = (
    MEDIAN,
    QUANTILE,
    MEAN,
    TRIMMED_MEAN,
    SUM,
)
"""What groups can be compared by: one line each."""

EXTREMES = {"max": 99, "maximum": 99, "min": 1, "minimum": 1}
"""What one row decides, and the quantile to ask for in its place."""

LARGEST_FLOOR = 10**9
FEW = 3
"""A group that so many times 1/ε rows push anywhere is small."""
LARGEST_CAUTION = 1000
MORE = 3
"""How much more caution there is for small groups."""
MOST_WEIGHT = 10**9
SMALLEST_EPSILON = Fraction(1, 10**9)
STEPS: dict[Neighbours, Steps] = {
    Neighbours.ADD_REMOVE_ROW: Rows(),
    Neighbours.REPLACE_ONE: Replacements(),
}
RELATIONS = tuple(str(neighbours) for neighbours in STEPS)


@dataclass(frozen=True, kw_only=True)
class BestGroup:
    """Which of the public groups has the largest statistic?

    Attributes:
        groups: the public list of candidates; rows of other groups are dropped.
        statistic: one of `STATISTICS` by its name.  The default is the quantile if p is given,
            else the median.
        p: in percent, for statistics that have one: which quantile, how much a trimmed mean cuts
            off at each end.  A decimal is taken exactly.
        lower: public lower end of the values; smaller ones count as this.  None for no end, of
            medians and quantiles.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid's points; it divides the range.  None for no grid.
        min_rows: public; a group with fewer rows ranks below all others.
        caution: public; see the module.  None for 1, and more for groups that noise can push
            anywhere.  0 suits groups of like sizes.
        smallest: ask for the smallest statistic instead.  Groups with too few rows still rank last.
        neighbours: add or remove one row; or replace one value, where everyone's group, and so the
            number of rows of every group, is public.
    """

    groups: Sequence[Hashable]
    statistic: str | None = None
    p: Exact | None = None
    lower: Exact | None = None
    upper: Exact | None = None
    step: Exact | None = None
    min_rows: int = 1
    caution: Exact | None = None
    smallest: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW

    def __post_init__(self) -> None:
        if self.has_grid:
            self.grouping.check_size(self.grid.top + 1)
        else:
            self._check_ends()
        _check_min_rows(self.min_rows)
        if self.by_sum and self.min_rows > 1:
            raise ParameterError(
                f"Expected no min_rows= for the {self.named.name}, got min_rows={self.min_rows}: "
                "one row could then bring in a whole group."
            )
        _exact_caution(self.caution)
        relation(self.neighbours)

    @property
    def has_grid(self) -> bool:
        """Whether values are moved to the points of a public grid."""
        return self.step is not None

    @property
    def width(self) -> int:
        """Cells of a group: the points of the grid, and one for no value; 0 without a grid."""
        return self.grid.top + 2 if self.has_grid else 0

    def _check_ends(self) -> None:
        """Checks that, without a grid, only quantiles are asked for and the ends are numbers.

        Raises:
            ParameterError: if a range is needed.
        """
        if not isinstance(self.compared, Quantile):
            raise ParameterError(
                f"The {self.named.name} of groups needs a public range, because one row could move "
                "it without limit. Add lower= and upper=, such as lower=0, upper=100; or compare "
                "medians, statistic='median', which need no range."
            )
        low, high = self._ends
        if low >= high:
            raise ParameterError(
                f"Expected lower < upper, got lower={self.lower}, upper={self.upper}."
            )

    @property
    def _ends(self) -> tuple[float, float]:
        low = -np.inf if self.lower is None else float(decimal(self.lower, "lower"))
        high = np.inf if self.upper is None else float(decimal(self.upper, "upper"))
        return low, high

    @property
    def by_sum(self) -> bool:
        """Whether groups are compared by their sums, which needs no reach."""
        return isinstance(self.compared, Sum)

    @cached_property
    def named(self) -> NamedStatistic:
        """What groups are compared by, as people ask for it."""
        return _named(self.statistic or (MEDIAN if self.p is None else QUANTILE).name)

    @cached_property
    def compared(self) -> Statistic | Sum:
        """What groups are compared by."""
        chosen = self.named.of(self.p)
        if isinstance(chosen, Quantile) and not self.has_grid:
            return replace(chosen, end="lower")
        return chosen

    @property
    def public(self) -> dict[str, Any]:
        """What a release shows of its parameters; of the groups, how many there are."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        del given["neighbours"]  # a release has it already
        if not self.has_grid:
            given = {name: each for name, each in given.items() if each is not None or name == "p"}
        return given | {"groups": len(self.candidates), "statistic": self.named.name}

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.grouping.groups

    @cached_property
    def grouping(self) -> Grouping:
        return Grouping(self.groups)

    @cached_property
    def grid(self) -> Grid:
        assert self.lower is not None, "without a grid there are no cells"
        assert self.upper is not None, "without a grid there are no cells"
        assert self.step is not None, "without a grid there are no cells"
        return Grid.between(self.lower, self.upper, self.step)

    def counts(self, values: Any, by: Any) -> IntArray:
        """Rows by group and cell of the grid, from two columns in memory; see `opened_counts`."""
        return self.opened_counts(MemoryTable({"values": values, "by": by}), "values", "by")

    def look(self, rows: Opened, values: str, by: str) -> AnyHistograms:
        """Rows by group and value: all that is ever asked of the data.

        On the grid if there is one; else the values as they are, within the ends that are public.
        """
        if self.has_grid:
            return Histograms(self.opened_counts(rows, values, by))
        return self.value_histograms(rows, values, by)[0]

    def value_histograms(
        self, rows: Opened, values: str, by: str
    ) -> tuple[ValueHistograms, FloatArray]:
        """Without a grid: rows by group and value, and the values that are the cells from 1 on."""
        found = ValuesOf(values, self.grouping.lookup(rows, by)).of(rows)
        clipped = replace(found, number=np.clip(found.number, *self._ends))
        public = self.neighbours == Neighbours.REPLACE_ONE
        return ValueHistograms.of(clipped.summed(), missing=public)

    def opened_counts(self, rows: Opened, values: str, by: str) -> IntArray:
        """Rows by group and cell of the grid.

        A row without a number is dropped; where the number of rows of a group is public, it counts
        as the lower end.
        """
        cells = self.grid.top + 1
        of = ("nearest", values, self.grid)
        cell_of = Keyed({values: self.grid.key}, itemgetter(values), of)
        counts = self.grouping.counts(rows, by, {values: "numbers"}, cell_of, cells)
        if self.neighbours == Neighbours.REPLACE_ONE:
            counts[:, 0] += counts[:, -1]
        return counts[:, :-1]

    def probabilities(self, values: Any, by: Any, *, epsilon: Epsilon) -> FloatArray:
        """The probability of every group to be the answer, to about 1e-12; not private.

        >>> problem = BestGroup(groups=["a", "b", "c"], lower=0, upper=9, step=1)
        >>> days, ward = [3, 4, 5, 5, 8, 8], ["a", "a", "a", "b", "b", "b"]
        >>> problem.probabilities(days, ward, epsilon=2).round(3)
        array([0.016, 0.968, 0.016])
        """
        table = MemoryTable({"values": values, "by": by})
        contest = self.contest(self.look(table, "values", "by"))
        return contest.probabilities(self.exact_epsilon(epsilon))

    def contest(
        self, counts: IntArray | AnyHistograms, noise: IntegerNoise = LAPLACE
    ) -> "ByReach | BySum":
        """The private counts, one row per group, ready to be drawn from."""
        x = histograms_of(counts)
        if isinstance(self.compared, Sum):
            assert isinstance(x, Histograms)
            sums = BySum.of(x, self.grid, self.neighbours, smallest=self.smallest)
            return replace(sums, selection="pf" if noise == LAPLACE else "em")
        return ByReach(self._reach(x, self.compared), self.caution, noise)

    def min_max(self, counts: IntArray | AnyHistograms, quantum: int) -> ByMinMax:
        """Private weights in which everyone weighs `quantum` in every group they are in."""
        assert not isinstance(self.compared, Sum), "sums are compared by a mechanism on them"
        x = histograms_of(counts)
        return ByMinMax(self._reach(x, self.compared), quantum, self.exact_caution)

    def _reach(self, x: AnyHistograms, chosen: Statistic) -> Reach:
        if self.smallest:
            return Reach(x.mirrored, chosen.mirrored(), STEPS[self.neighbours], self.min_rows)
        return Reach(x, chosen, STEPS[self.neighbours], self.min_rows)

    @property
    def exact_caution(self) -> Fraction:
        """The caution, 1 if none is stated."""
        return _exact_caution(self.caution)

    def offset(self, epsilon: Fraction) -> int:
        """z0, in rows: what caution takes off every group."""
        return _offset(self.exact_caution, epsilon)

    def guard(self, epsilon: Fraction, noise: IntegerNoise = LAPLACE) -> tuple[int, int] | None:
        """N' and A, in rows: which groups are small, and what more caution takes off them."""
        compared = self.compared
        if isinstance(compared, Sum):
            return None
        statistic = compared.mirrored() if self.smallest else compared
        return _guard(self.caution, statistic, STEPS[self.neighbours], epsilon, noise)

    def exact_epsilon(self, epsilon: Epsilon) -> Fraction:
        """ε as a fraction; noise of a scale beyond 10^9 rows is refused."""
        value = exact(epsilon)
        if value < SMALLEST_EPSILON:
            raise ParameterError(f"Expected epsilon >= 1e-9, got epsilon={epsilon}.")
        return value


@dataclass(frozen=True, slots=True, repr=False)
class ByReach:
    """The private reach of every group, ready to be drawn from."""

    reach: Reach
    caution: Exact | None
    noise: IntegerNoise = LAPLACE

    def probabilities(self, epsilon: Fraction) -> FloatArray:
        """The probability that a group is the one that `winners` gives for k = 1; not private."""
        return winning_probabilities(self.guarded(epsilon), epsilon, self._offset(epsilon))

    def winners(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The set of the k best groups, ascending: ε-DP, or ε²/2-zCDP with Gaussian noise."""
        groups = len(self.reach.x.sizes)
        noise = drawn_noise(self.noise, 1 / epsilon, groups, entropy)
        w = noise + self._offset(epsilon)
        whole, high, low = self.guarded(epsilon).at(np.arange(groups), w).ordinals()
        order = np.lexsort((random_order(groups, entropy), low, high, whole))
        return sorted(order[groups - k :].tolist())

    def ranking(self, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best groups, best first, one at a time, each with its share: ε-DP, or ε²/2-zCDP."""
        share = divided(epsilon, k, self.noise)
        left = list(range(len(self.reach.x.sizes)))
        best = []
        for _ in range(k):
            [place] = self._among(left).winners(1, share, entropy)
            best.append(left.pop(place))
        return best

    def guarded(self, epsilon: Fraction) -> Reach:
        """R, or R' where more caution is due for small groups."""
        reach = self.reach
        guard = _guard(self.caution, reach.statistic, reach.steps, epsilon, self.noise)
        return replace(reach, guard=guard)

    def _offset(self, epsilon: Fraction) -> int:
        return _offset(_exact_caution(self.caution), epsilon)

    def _among(self, groups: list[int]) -> "ByReach":
        among = replace(self.reach, x=self.reach.x.among(groups))
        return ByReach(among, self.caution, self.noise)


def divided(epsilon: Fraction, draws: int, noise: IntegerNoise) -> Fraction:
    """The ε of one of so many draws; for Gaussian noise ρ = ε²/2 is divided."""
    if noise == GAUSSIAN:
        return root_below(epsilon**2 / draws)
    return epsilon / draws


def row_weight(min_rows: int, schema: Schema) -> int:
    """The weight of one row that counts in full, where persons have weights.

    Raises:
        ParameterError: if `min_rows` rows weigh more than fits.
    """
    quantum = quantum_of(schema.rows_per_unit)
    if min_rows * quantum > MOST_WEIGHT:
        raise ParameterError(
            f"Expected min_rows <= {MOST_WEIGHT // quantum:,} where ε protects "
            f"{schema.protected}, got min_rows={min_rows}."
        )
    return quantum // schema.rows_per_unit


def group_step() -> Any:
    """The field `step` of a question that compares groups."""
    return parameter(
        "exact",
        "Public distance of the grid to which values are rounded; it divides the range. If left "
        "out, a range is cut into at least 1,000 equal steps.",
        default=None,
        fact=Fact("step", of="value", optional=True),
    )


def step_of(lower: Any, upper: Any, step: Any) -> Exact | None:
    """The step of the grid: as stated, the usual one of a range; None where there is no range."""
    low = as_bound(lower)
    high = as_bound(upper)
    if low is None or high is None:
        return None
    if step is None:
        return usual_step(low, high)
    distance: Exact = as_step(step, lower, upper)
    return distance


def histograms_of(counts: IntArray | AnyHistograms) -> AnyHistograms:
    """Counts by group and cell as histograms; histograms as they are."""
    if isinstance(counts, np.ndarray):
        return Histograms(np.asarray(counts, dtype=np.int64))
    return counts


def relation(name: Neighbours | str) -> Neighbours:
    """The neighbour relation of that name, among those that groups know.

    Raises:
        ParameterError: if there is none.
    """
    if str(name) in RELATIONS:
        return Neighbours(str(name))
    raise ParameterError(
        f"Expected neighbours to be one of {', '.join(RELATIONS)}, got {name!r}."
        f"{did_you_mean(str(name), RELATIONS)}"
    )


def _check_min_rows(min_rows: int) -> None:
    whole = isinstance(min_rows, int | np.integer) and not isinstance(min_rows, bool)
    if not whole or not 1 <= min_rows <= LARGEST_FLOOR:
        raise ParameterError(f"Expected min_rows to be an integer >= 1, got min_rows={min_rows!r}.")


def _exact_caution(caution: Exact | None) -> Fraction:
    """A number >= 0: 0 or an exact positive one; 1 if none is stated."""
    if caution is None:
        return Fraction(1)
    if caution in (0, "0"):
        return Fraction(0)
    try:
        value = exact(caution, "caution")
    except ParameterError:
        raise ParameterError(f"Expected caution >= 0, got caution={caution!r}.") from None
    if value > LARGEST_CAUTION:
        raise ParameterError(
            f"Expected caution of at most {LARGEST_CAUTION:,}, got caution={caution!r}. Noise is "
            "never that large; min_rows ranks small groups last."
        )
    return value


def _offset(caution: Fraction, epsilon: Fraction) -> int:
    """z0: -caution / ε, to the nearest integer."""
    return -floor(caution / epsilon + Fraction(1, 2))


def _guard(
    caution: Exact | None,
    statistic: Statistic,
    steps: Steps,
    epsilon: Fraction,
    noise: IntegerNoise,
) -> tuple[int, int] | None:
    """N' and A where no caution is stated; None for means, and for Gaussian noise."""
    if caution is not None or noise == GAUSSIAN or not isinstance(statistic, Quantile):
        return None
    small = floor(FEW / (epsilon * steps.pushed_share(statistic.p)))
    return small, -_offset(Fraction(MORE), epsilon)


def _named(name: str) -> NamedStatistic:
    for known in STATISTICS:
        if known.name == name:
            return known
    if str(name) in EXTREMES:
        raise ParameterError(
            f"Expected another statistic than the {name}: one row decides it, so that a private "
            "answer is little better than a guess. Ask for the quantile next to it: "
            f"statistic='quantile', p={EXTREMES[name]}."
        )
    names = [known.name for known in STATISTICS]
    raise ParameterError(
        f"Expected a statistic, one of {', '.join(names)}, got {name!r}."
        f"{did_you_mean(str(name), names)}"
    )
