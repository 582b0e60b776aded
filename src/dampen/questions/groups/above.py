"""`groups_above`: which groups have a median, quantile or mean of at least a public threshold?

**Theorem.**  For every group g draw an independent integer Z_g with P(z) proportional to
exp(-ε |z|), and call g above if its reach R(x_g, Z_g) (`dampen.questions.groups.reach`) is at least
the threshold.  The list of all groups above is ε-DP for adding or removing one row: ε once, however
many groups there are.  Proof.  The row is in one group h; the bits of the others do not change.
R(x_h, w) never decreases in w, so h is above exactly if Z_h >= w_h, for the smallest w_h at which
R(x_h, w_h) passes.  By the lemma of `reach`, w_h changes by at most 1, and so does each end of the
half-lines {Z >= w_h} and {Z < w_h}: their probabilities change by a factor of at most e^ε.  ∎

**How often it is wrong.**  With q = e^-ε, a group that is above is called so unless Z < w, and one
that is not is called above if Z >= w.  Both have probability q^(d+1) / (1+q), where d rows may be
added or removed, whichever they are, without bringing the group to the other side (d = -w or
w - 1).  No ε-DP bit has a better exponent.

No numbers come with the answer: those of reach are not private.  A quantile is at least the
threshold if the row at its rank is (a median of two values, if their mean is); the threshold is
moved up to the next point of the grid for it.  A group with fewer than `min_rows` rows is never
above.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import Entropy, discrete_laplace
from dampen.core.selection import IntArray, Neighbours
from dampen.data.open import open_columns, open_table
from dampen.data.source import Opened, require_numbers
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.questions.groups.fractions import Fractions
from dampen.questions.groups.histograms import Exact, Histograms, decimal, usual_step
from dampen.questions.groups.problem import STATISTICS, BestGroup
from dampen.questions.groups.reach import Reach, Rows
from dampen.questions.groups.statistics import Quantile, Sum
from dampen.releases.accuracy import Accuracy, by_sides, likely_noise
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.question import Fact, Shape, parameter, where_parameter
from dampen.releases.release import Release
from dampen.schema.schema import Schema

__all__ = ["AboveQuestion", "groups_above"]

KNOWN = tuple(known for known in STATISTICS if known.name != "sum")


@dataclass(frozen=True, kw_only=True)
class AboveQuestion:
    """Which groups have a statistic of at least a threshold?"""

    value: str = parameter("column", "Column of the private numbers.", holds="numbers")
    by: str = parameter("column", "Column of the groups.", label="Group by", holds="categories")
    threshold: Exact = parameter("exact", "What the statistic must reach.", label="At least")
    groups: Sequence[Hashable] = parameter(
        "labels",
        "Public list of the groups; rows of other groups are dropped.",
        fact=Fact("values", of="by"),
    )
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
    lower: Exact = parameter(
        "exact",
        "Public lower end of the values; smaller ones count as this.",
        fact=Fact("lower", of="value"),
    )
    upper: Exact = parameter(
        "exact",
        "Public upper end of the values; larger ones count as this.",
        fact=Fact("upper", of="value"),
    )
    step: Exact | None = parameter(
        "exact",
        "Public distance of the grid to which values are rounded; it divides the range. If left "
        "out, the range is cut into at least 1,000 equal steps.",
        default=None,
        fact=Fact("step", of="value", optional=True),
    )
    min_rows: int = parameter("count", "Groups with fewer rows are never above.", default=1)
    where: str | None = where_parameter()
    name: ClassVar[str] = "groups-above"
    title: ClassVar[str] = "Groups above a threshold"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen groups-above stays.csv --value days --by hospital --threshold 6 "
        "--groups H1,H2,H3 --lower 0 --upper 100 --step 1 --epsilon 0.3",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        where, value = self.where, self.value
        opened = open_table(data, header=header, table=table, where=where, value=value)
        require_numbers(opened, self.value)
        self.problem.grouping.check_column(opened, self.by, self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> "AboveMethod":
        del source, schema, price
        if self.problem.by_sum:
            raise ParameterError(
                "Expected another statistic than the sum. Ask for the totals themselves, with "
                "dampen.total, and compare them."
            )
        return AboveMethod(self)

    def shown(self) -> Mapping[str, Any]:
        public = self.problem.public
        kept = ("groups", "statistic", "p", "lower", "upper", "step", "min_rows")
        return {"threshold": self.threshold} | {name: public[name] for name in kept}

    def text(self) -> str:
        return f"{self.problem.named.name} of {self.value} by {self.by} >= {self.threshold}"

    def shape(self) -> Shape:
        return "set"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        del price
        return {"statistic": self.problem.named.name}

    @cached_property
    def problem(self) -> BestGroup:
        """Groups, grid and statistic, checked.

        Raises:
            ParameterError: if a public parameter is wrong.
        """
        return BestGroup(
            groups=self.groups,
            statistic=self.statistic,
            p=self.p,
            lower=self.lower,
            upper=self.upper,
            step=usual_step(self.lower, self.upper) if self.step is None else self.step,
            min_rows=self.min_rows,
            caution=0,
        )

    @cached_property
    def cells(self) -> Fraction:
        """The threshold, in cells of the grid."""
        grid = self.problem.grid
        return (decimal(self.threshold, "threshold") - grid.lower) / grid.step

    def reach(self, counts: IntArray) -> Reach:
        """The reach of every group, from rows by group and cell; private."""
        compared = self.problem.compared
        assert not isinstance(compared, Sum)
        return Reach(Histograms(counts), compared, Rows(), self.min_rows)

    def passes(self, reached: Fractions) -> NDArray[np.bool_]:
        """Which statistics are at least the threshold.

        A quantile is counted in 1/unit cells, and lies above its cell's lower end: see
        `dampen.questions.groups.statistics`.
        """
        compared = self.problem.compared
        if isinstance(compared, Quantile):
            limit = ceil(self.cells) * compared.unit
            above = (reached.whole > limit) | ((reached.whole == limit) & (reached.rest > 0))
            return above & (reached.whole >= 0)
        whole = self.cells.numerator // self.cells.denominator
        rest = self.cells - whole
        beyond = reached.rest.astype(object) * rest.denominator
        equal = beyond >= reached.of.astype(object) * rest.numerator
        above = (reached.whole > whole) | ((reached.whole == whole) & equal.astype(np.bool_))
        return above & (reached.whole >= 0)


@dataclass(frozen=True)
class AboveMethod:
    """One bit for every group, with the theorem of this module."""

    question: AboveQuestion

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW, price, query=self.question.name, mechanism="reach"
        )
        self.question.problem.exact_epsilon(cost.epsilon)
        self.question.cells  # noqa: B018  # a threshold that is no number is refused here
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """All |Z_g| are at most B with probability 0.9: groups that more rows decide are right."""
        groups = len(self.question.problem.candidates)
        return by_sides(likely_noise(epsilon, groups), epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        question = self.question
        problem = question.problem
        reach = question.reach(problem.opened_counts(source, question.value, question.by))
        who = np.arange(len(problem.candidates))
        noise = discrete_laplace(1 / epsilon, len(who), entropy)
        above = question.passes(reach.at(who, noise))
        return Drawn([problem.candidates[i] for i in np.flatnonzero(above).tolist()])


def groups_above(
    data: Any,
    value: str | None = None,
    *,
    by: Any,
    threshold: Exact,
    groups: Sequence[Hashable],
    statistic: str | None = None,
    p: Exact | None = None,
    lower: Exact,
    upper: Exact,
    step: Exact | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    min_rows: int = 1,
    where: str | None = None,
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
        by: the column of groups, or its name.
        threshold: public; what the statistic must reach.
        groups: the public list of groups; rows of other groups are dropped.
        statistic: "median", "quantile" (with p), "mean" or "trimmed-mean"; the median by default,
            the quantile if p is given.
        p: in percent, for statistics that have one.
        lower: public lower end of the values; smaller ones count as this.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid to which values are rounded; it divides the range.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        min_rows: public; groups with fewer rows are never above.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
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
    ...     stays, "days", by="ward", threshold=5, groups=["A", "B"], lower=0, upper=30, step=1,
    ...     epsilon="0.5",
    ... ).answer
    ['B']
    """
    if by is None:
        raise ParameterError("Expected by=, the column of groups, got None.")
    source, names = open_columns(data, value=value, by=by, header=header, table=table)
    question = AboveQuestion(
        value=names["value"],
        by=names["by"],
        threshold=threshold,
        groups=groups,
        statistic=statistic,
        p=p,
        lower=lower,
        upper=upper,
        step=step,
        min_rows=min_rows,
        where=where,
    )
    return answer(question, source, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
