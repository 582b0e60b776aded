"""`groups_above`: which groups have a median, quantile or mean of at least a public threshold?

**Theorem.**  For every group g draw an independent integer Z_g with P(z) proportional to
exp(-ε |z|), and call g above if its reach R(x_g, Z_g) (`dampen.questions.groups.reach`) is at least
the threshold.  The list of all groups above is ε-DP for adding or removing one row: ε once, however
many groups there are.  Proof.  The row is in one group h; the bits of the others do not change.
R(x_h, w) never decreases in w, so h is above exactly if Z_h >= w_h, for the smallest w_h at which
R(x_h, w_h) passes.  By the lemma of `reach`, w_h changes by at most 1, and so does each end of the
half-lines {Z >= w_h} and {Z < w_h}: their probabilities change by a factor of at most e^ε.  ∎

For ρ the Z_g are discrete Gaussian of variance 1/(2ρ), and the list is ρ-zCDP: the bit of h is a
function of Z_h that moves by at most 1 with it, as in `dampen.questions.groups.problem`.

**How often it is wrong.**  With q = e^-ε, a group that is above is called so unless Z < w, and one
that is not is called above if Z >= w.  Both have probability q^(d+1) / (1+q), where d rows may be
added or removed, whichever they are, without bringing the group to the other side (d = -w or
w - 1).  No ε-DP bit has a better exponent.

No numbers come with the answer: those of reach are not private.  A quantile is at least the
threshold if the row at its rank is (a median of two values, if their mean is); the threshold is
moved up to the next point of the grid for it.  Without a grid the values themselves are compared,
and the lower of two decides.  A group with fewer than `min_rows` rows is never
above.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray
from dampen.data.cells import ANY_GROUP
from dampen.data.columns import as_bound, measured
from dampen.data.open import open_columns, open_table
from dampen.data.source import Opened, require_numbers
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.questions.groups.problem import (
    STATISTICS,
    BestGroup,
    group_step,
    histograms_of,
    row_weight,
    step_of,
)
from dampen.questions.groups.reach import Reach, Rows
from dampen.questions.groups.statistics import (
    AnyHistograms,
    Exact,
    Fractions,
    Quantile,
    Sum,
    decimal,
)
from dampen.questions.keys import finding_groups
from dampen.releases.accuracy import Accuracy, by_sides, likely_side
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price
from dampen.releases.method import Drawn, Finding, Leak, Method
from dampen.releases.numbers import (
    LAPLACE,
    IntegerNoise,
    drawn_noise,
    noise_cost,
    noise_for,
)
from dampen.releases.question import (
    Shape,
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
from dampen.releases.units import persons, weighed
from dampen.schema.schema import Schema

__all__ = ["AboveQuestion", "groups_above"]

KNOWN = tuple(known for known in STATISTICS if known.name != "sum")


@dataclass(frozen=True, kw_only=True)
class AboveQuestion:
    """Which groups have a statistic of at least a threshold?"""

    value: str = parameter("column", "Column of the private numbers.", holds="numbers")
    by: str = parameter(
        "column",
        "Column of the groups; several with commas.",
        label="Group by",
        holds="categories",
        several=True,
    )
    threshold: Exact = parameter("exact", "Number that the statistic must reach.", label="At least")
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    statistic: str | None = parameter(
        "word",
        "What is compared; the median if left out, the quantile if p is given. "
        + " ".join(f"{known.name}: {known.help}." for known in KNOWN),
        default=None,
        choices=tuple(known.name for known in KNOWN),
        label="Statistic",
    )
    p: Exact | None = parameter(
        "exact",
        f"Percentage, for {' and '.join(each.name for each in KNOWN if each.percent)}.",
        default=None,
        label="Percent",
        short="p",
    )
    lower: Exact | None = lower_parameter(optional=True)
    upper: Exact | None = upper_parameter(optional=True)
    step: Exact | None = group_step()
    kind: str | None = kind_parameter()
    min_rows: int = parameter("count", "Groups with fewer rows are never above.", default=1)
    strict: bool = parameter(
        "flag", "The statistic must exceed the threshold, not just reach it.", default=False
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "groups-above"
    title: ClassVar[str] = "Groups above a threshold"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen groups-above stays.csv --value days --by hospital --threshold 6 "
        "--groups H1,H2,H3 --epsilon 0.3",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where, value=self.value)
        opened = measured(opened, self.value, (self.lower, self.upper, self.threshold), self.kind)
        require_numbers(opened, self.value)
        self.finding  # noqa: B018  # groups that are neither listed nor found are refused here
        self.problem.grouping.check_column(opened, self.by, self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> "AboveMethod":
        del source, schema
        if self.problem.by_sum:
            raise ParameterError(
                "Expected another statistic than the sum. Ask for the totals themselves, with "
                "dampen.total, and compare them."
            )
        return AboveMethod(self, noise_for(price))

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """The weights of persons, shared by all their groups."""
        row = row_weight(self.min_rows, schema)
        scaled = replace(self, min_rows=self.min_rows * row)
        return weighed(scaled.method, source, schema, price, width=self.problem.width)

    def shown(self) -> Mapping[str, Any]:
        public = self.problem.public
        kept = ("groups", "statistic", "p", "lower", "upper", "step", "min_rows")
        shown = {name: public[name] for name in kept if name in public}
        return {"threshold": self.threshold, "strict": self.strict} | shown

    def text(self) -> str:
        compared = ">" if self.strict else ">="
        return f"{self.problem.named.name} of {self.value} by {self.by} {compared} {self.threshold}"

    def shape(self) -> Shape:
        return "set"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        del price
        return {"statistic": self.problem.named.name}

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists."""
        if self.groups is not None and self.delta is None:
            return None
        return finding_groups(self, nothing=[], cells=self.problem.width or 1)

    @cached_property
    def problem(self) -> BestGroup:
        """Groups, grid and statistic, checked.

        Raises:
            ParameterError: if a public parameter is wrong.
        """
        return BestGroup(
            groups=ANY_GROUP if self.groups is None else self.groups,
            statistic=self.statistic,
            p=self.p,
            lower=as_bound(self.lower),
            upper=as_bound(self.upper),
            step=step_of(self.lower, self.upper, self.step),
            min_rows=self.min_rows,
            caution=0,
        )

    @cached_property
    def level(self) -> Fraction:
        """The threshold as a number.

        Raises:
            ParameterError: if it is none.
        """
        return decimal(as_bound(self.threshold), "threshold")

    def above(self, source: Opened, noise: IntArray) -> NDArray[np.bool_]:
        """Which groups reach the threshold within so many rows; private."""
        problem = self.problem
        who = np.arange(len(noise))
        if problem.has_grid:
            counts = problem.opened_counts(source, self.value, self.by)
            return self.passes(self.reach(counts).at(who, noise), self.cells)
        x, numbers = problem.value_histograms(source, self.value, self.by)
        side: Literal["left", "right"] = "right" if self.strict else "left"
        first = 1 + int(np.searchsorted(numbers, float(self.level), side))
        assert isinstance(problem.compared, Quantile), "only ranks are told without a grid"
        reached = self.reach(x).at(who, noise)
        return (reached.whole >= 0) & problem.compared.reaches(reached, first)

    def reach(self, counts: IntArray | AnyHistograms) -> Reach:
        """The reach of every group, from rows by group and cell; private."""
        compared = self.problem.compared
        assert not isinstance(compared, Sum)
        return Reach(histograms_of(counts), compared, Rows(), self.min_rows)

    @property
    def cells(self) -> Fraction:
        """The threshold, in cells of the grid."""
        grid = self.problem.grid
        return (self.level - grid.lower) / grid.step

    def passes(self, reached: Fractions, level: Fraction) -> NDArray[np.bool_]:
        """Which statistics are at least the threshold, in cells; or above it, if strict.

        A quantile is counted in 1/unit cells, and lies above its cell's lower end: see
        `dampen.questions.groups.statistics`.
        """
        known = reached.whole >= 0
        compared = self.problem.compared
        if isinstance(compared, Quantile):
            return known & compared.reaches(
                reached, floor(level) + 1 if self.strict else ceil(level)
            )
        whole = level.numerator // level.denominator
        rest = level - whole
        beyond = reached.rest.astype(object) * rest.denominator
        needed = reached.of.astype(object) * rest.numerator
        equal = (beyond > needed if self.strict else beyond >= needed).astype(np.bool_)
        return known & ((reached.whole > whole) | ((reached.whole == whole) & equal))


@dataclass(frozen=True)
class AboveMethod:
    """One bit for every group, with the theorem of this module."""

    question: AboveQuestion
    noise: IntegerNoise = LAPLACE

    def cost(self, price: Price, /) -> Cost:
        cost = noise_cost(price, self.question.name, self.noise)
        cost = replace(cost, mechanism="reach")
        self.question.problem.exact_epsilon(cost.epsilon)
        self.question.level  # noqa: B018  # a threshold that is no number is refused here
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """Groups that more than B rows decide are right, all of them with probability 0.9.

        A group is on the wrong side only if its Z pushes it towards the threshold, one direction
        for each group, by as many rows as decide.
        """
        groups = len(self.question.problem.candidates)
        return by_sides(likely_side(epsilon, groups, self.noise), epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        candidates = self.question.problem.candidates
        noise = drawn_noise(self.noise, 1 / epsilon, len(candidates), entropy)
        above = self.question.above(source, noise)
        return Drawn([candidates[i] for i in np.flatnonzero(above).tolist()])


def groups_above(
    data: Any,
    value: str | None = None,
    *,
    by: Any,
    threshold: Exact,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    statistic: str | None = None,
    p: Exact | None = None,
    lower: Exact | None = None,
    upper: Exact | None = None,
    step: Exact | None = None,
    kind: str | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    min_rows: int = 1,
    strict: bool = False,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The groups whose median, quantile or mean is at least a threshold, with ε-DP.

    Guarantee: ε-DP under adding or removing one row, once for all groups.  How many rows a group
    has, and whether there are rows of groups that are not listed, stays private.

    A group is on the wrong side with probability q^(d+1) / (1+q), q = e^-ε, where d rows may be
    added or removed without bringing it to the other side.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        threshold: public; what the statistic must reach.
        groups: the public list of groups; rows of other groups are dropped.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        statistic: "median", "quantile" (with p), "mean" or "trimmed-mean"; the median by default,
            the quantile if p is given.
        p: in percent, for statistics that have one.
        lower: public lower end of the values; smaller ones count as this.  Medians and quantiles
            need none; means and sums need both ends.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid to which values are rounded; it divides the range.
        kind: what a column without a declared type holds, if not numbers: "date", "time",
            "duration" or "bool", as for a Python list or a text file.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        min_rows: public; groups with fewer rows are never above.
        strict: whether the statistic must exceed the threshold, not just reach it.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer is the list of groups above, in the order of `groups`.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import dampen
    >>> stays = {"days": [2, 3, 4] * 40 + [5, 6, 9] * 40, "ward": ["A"] * 120 + ["B"] * 120}
    >>> dampen.groups_above(
    ...     stays, "days", by="ward", threshold=5, groups=["A", "B"], epsilon="0.5"
    ... ).answer
    ['B']
    """
    if by is None:
        raise ParameterError("Expected by=, the column of groups, got None.")
    source, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = AboveQuestion(
        value=names["value"],
        by=names["by"],
        threshold=threshold,
        groups=groups,
        delta=delta,
        statistic=statistic,
        p=p,
        lower=lower,
        upper=upper,
        step=step,
        kind=kind,
        min_rows=min_rows,
        strict=strict,
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
