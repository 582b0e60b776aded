"""`percentile`: the value at one percentile or several, privately; also of every group."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import floor, isqrt
from operator import itemgetter
from typing import Any, ClassVar, Literal, cast

from dampen.core.mechanisms import EM, MECHANISMS, PF, Mechanism, named
from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours
from dampen.data.cells import ANY_GROUP, LARGEST_TABLE, Grouping, Keyed
from dampen.data.columns import (
    Bound,
    Measure,
    as_bound,
    as_step,
    holds_whole,
    measure_of,
    measured,
    shown_as,
)
from dampen.data.open import open_columns, open_table
from dampen.data.source import Opened, require_numbers
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError, ParameterWarning, warn_caller
from dampen.paper.percentile_selection import Percent, as_fraction, no_values
from dampen.questions.keys import finding_groups
from dampen.questions.percentile import joint_tight
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.methods import (
    Draws,
    EqualShares,
    Together,
    most_ranks,
    value_accuracy,
)
from dampen.questions.percentile.unbounded import (
    Candidates,
    Decimals,
    Moments,
    UnboundedMethod,
    several_draws,
)
from dampen.questions.percentile.values import (
    FINEST,
    LARGEST_GRID,
    ValueGrid,
    grid_size,
    missing_as_lowest,
)
from dampen.releases.accuracy import Accuracy
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price
from dampen.releases.method import Drawn, Finding, InOwnType, Leak, Method
from dampen.releases.question import (
    Fact,
    Shape,
    by_parameter,
    delta_parameter,
    groups_parameter,
    kind_parameter,
    parameter,
    weigh_parameter,
    where_parameter,
)
from dampen.releases.release import Release
from dampen.releases.units import OfUnits, persons, weighed
from dampen.schema.schema import USUAL_ROWS_PER_UNIT, Schema

__all__ = ["LISTS", "PercentileQuestion", "percentile"]

LISTS = {"quartiles": range(25, 100, 25), "deciles": range(10, 100, 10)}
FINEST_OF_UNITS = 10**4
"""p has at most two decimals for persons, whose weights are larger numbers than rows."""
FEW = 5
"""So many percentiles are written out in a few words."""
SINGLE = tuple(each.name for each in MECHANISMS if not each.noise.joint)
"""Mechanisms for one selection."""


@dataclass(frozen=True, kw_only=True)
class PercentileQuestion:
    """What is the value at a percentile, or at several?"""

    value: str = parameter("column", "Column of the numbers.", holds="numbers")
    p: Percent | Sequence[Percent] = parameter(
        "percentiles",
        "Percentile from 0 to 100, a list of them, quartiles or deciles.",
        label="Percentile",
        short="p",
    )
    upper: Bound | None = parameter(
        "exact",
        "Public upper end of the numbers, if you know it.",
        default=None,
        fact=Fact("upper", of="value", optional=True),
    )
    lower: Bound | None = parameter(
        "exact",
        "Public lower end of the numbers, if you know it.",
        default=None,
        fact=Fact("lower", of="value", optional=True),
    )
    step: Bound | None = parameter(
        "exact",
        "Distance of the possible answers, if you know it.",
        default=None,
        fact=Fact("step", of="value", optional=True),
    )
    kind: str | None = kind_parameter()
    by: str | None = by_parameter()
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    mechanism: str | Mechanism | None = parameter(
        "word",
        "Mechanism, with equal shares of ε for several percentiles; the best known one if left "
        "out.",
        default=None,
        choices=SINGLE,
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "percentile"
    title: ClassVar[str] = "Percentile"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen percentile salaries.csv --value salary -p 50 --epsilon 0.5",
        "dampen percentile salaries.csv --value salary -p 50 --upper 500000 --step 1000 "
        "--epsilon 0.5",
        "dampen percentile salaries.csv --value salary -p deciles --upper 500000 --step 1000 "
        "--epsilon 0.5",
        "dampen percentile stays.csv --value days -p 50 --upper 100 --step 1 --by hospital "
        "--groups H1,H2,H3 --epsilon 1",
    )

    def __post_init__(self) -> None:
        warn_of_shares(self.points)

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where, value=self.value)
        opened = measured(opened, self.value, (self.lower, self.upper), self.kind)
        require_numbers(opened, self.value)
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), self.value)
        return opened

    def method(self, source: Opened, schema: Schema, price: Price, /) -> Method:
        """The method on the grid if there is one, else among all decimals; dates among all days."""
        return self._method(source, schema, price, most=schema.rows)

    def _method(self, source: Opened, schema: Schema, price: Price, *, most: int | None) -> Method:
        """The method where there are at most so many rows, if that is stated."""
        measure = measure_of(source, self.value, (self.lower, self.upper), self.kind)
        method = self._of_numbers(source, schema, measure, price, most)
        shown = shown_as(source, self.value, measure)
        if shown is None and self.is_whole(source):
            shown = "whole"
        return method if shown is None else InOwnType(method, shown)

    def is_whole(self, source: Opened) -> bool:
        """Whether the answer is rounded to a whole number: by the type, step and ends.

        Rounding moves no answer farther from its percentile in ranks.  Between the whole numbers m
        and m + 1 lie no values, so L(g) = R(g) = R(m) = L(m + 1), while L(m) <= R(m) and
        L(m + 1) <= R(m + 1): the utility of both is at least that of g.
        """
        stated = (as_bound(end) for end in (self.lower, self.upper) if end is not None)
        return (
            self.step is None
            and all(Fraction(str(end)).denominator == 1 for end in stated)
            and holds_whole(source, self.value)
        )

    def _of_numbers(
        self,
        source: Opened,
        schema: Schema,
        measure: Measure | None,
        price: Price,
        most: int | None,
    ) -> Method:
        relation = self._relation(schema)
        public = relation is Neighbours.REPLACE_ONE
        if public and self.by is None and source.rows == 0:
            raise ParameterError("Expected at least one value, got an empty column.")
        rows = source.rows if public else None
        if self.has_grid:
            return self._on_grid(relation, rows, price)
        unknown = schema.rows is None and schema.relation is not Neighbours.REPLACE_ONE
        candidates = self._candidates(measure)
        method = self._unbounded(relation, rows, candidates, price, unknown=unknown)
        return replace(method, most=most)

    def _candidates(self, measure: Measure | None) -> Candidates:
        """The possible answers, where they are not points of a grid."""
        lower = as_bound(self.lower)
        upper = as_bound(self.upper)
        if measure == "truth":
            return Decimals(0, 1, 1)
        if measure in ("date", "time"):
            if self.step is not None:
                raise ParameterError(
                    "Expected lower= and upper= beside step= in a column of dates, such as "
                    "lower='2000-01-01', upper='2030-12-31'."
                )
            return Moments(lower, upper, seconds=measure == "time")
        return Decimals(lower, upper, as_bound(self.step))

    def _on_grid(self, relation: Neighbours, rows: int | None, price: Price) -> "ValuesMethod":
        """Together where that is possible, unless a mechanism is named; else at equal shares."""
        draws: Draws
        way = self._way(relation) if self.mechanism is None else None
        if way is None:
            mechanism = for_one_selection(self.mechanism or price.selection)
            draws = EqualShares(self.points, self.grid, relation, mechanism)
        else:
            draws = Together(self.points, way)
        return ValuesMethod(self, draws, relation is Neighbours.REPLACE_ONE, rows)

    def _unbounded(
        self,
        relation: Neighbours,
        rows: int | None,
        candidates: Candidates,
        price: Price,
        *,
        unknown: bool,
    ) -> UnboundedMethod:
        mechanism = named(self.mechanism or price.selection)
        if mechanism not in (EM, PF):
            raise ParameterError(
                "Only mechanism='pf' and mechanism='em' answer without a grid. Leave mechanism= "
                "out, or state the possible answers with upper= and step=."
            )
        return UnboundedMethod(
            query=self.name,
            column=self.value,
            by=self.by,
            grouping=self.grouping,
            candidates=candidates,
            draws=several_draws(self.points, candidates, relation, mechanism),
            points=self.points,
            several=self.several,
            neighbours=relation,
            rows=rows,
            counts=unknown and self.by is None and None in (candidates.lower, candidates.upper),
        )

    def rows_in_full(self, price: Price, /) -> int:
        """⌊8 √ε⌋, at least 2 and at most 8: the noise of m rows has the scale m/ε."""
        return min(USUAL_ROWS_PER_UNIT, max(2, isqrt(floor(64 * price.asked()))))

    def unit_method(self, source: Opened, schema: Schema, price: Price, /) -> OfUnits:
        """The method on the weights of persons, because ranks are sums of counts."""
        if max((as_fraction(p) / 100).denominator for p in self.points) > FINEST_OF_UNITS:
            raise ParameterError(
                f"Expected p with at most two decimals where ε protects {schema.protected}."
            )
        width = 0 if self.grouping is None or not self.has_grid else self.grid.size + 1
        # The weights of persons are more than the rows that are stated.
        of_weights = partial(self._method, most=None)
        return weighed(of_weights, source, schema, price, width=width)

    def shown(self) -> Mapping[str, Any]:
        asked = list(self.points) if self.several else self.p
        lower = self.grid.lower if self.has_grid and self.lower is None else self.lower
        known = {"lower": lower, "upper": self.upper, "step": self.step}
        facts = {"p": asked} | {name: fact for name, fact in known.items() if fact is not None}
        if self.groups is not None:
            facts["groups"] = len(self.groups)
        return facts

    def text(self) -> str:
        if isinstance(self.p, str) or not self.several:
            return f"p={self.p} of {self.value}"
        if len(self.points) > FEW:
            return f"{len(self.points)} percentiles of {self.value}"
        return f"p={', '.join(map(str, self.points))} of {self.value}"

    def shape(self) -> Shape:
        return "points" if self.several else "value"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        if self.several:
            return {"p": list(self.points)}
        return {"mechanism": for_one_selection(self.mechanism or price.selection).name}

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists."""
        cells = 2 * (self.grid.size + 1) if self.has_grid else 1
        return finding_groups(self, nothing={}, cells=cells)

    @property
    def several(self) -> bool:
        """Whether the answer is a list."""
        return not _is_one(self.p)

    @cached_property
    def points(self) -> tuple[Percent, ...]:
        """The percentiles that are asked for."""
        if isinstance(self.p, str) and self.p in LISTS:
            return tuple(LISTS[self.p])
        points = tuple(cast("Sequence[Percent]", self.p)) if self.several else (self.p,)
        if not points:
            raise ParameterError("Expected at least one percentile p, got none.")
        return cast("tuple[Percent, ...]", points)

    @cached_property
    def has_grid(self) -> bool:
        """Whether the possible answers are points that can be listed."""
        if self.upper is None or self.step is None:
            return False
        groups = 1 if self.groups is None else max(len(self.groups), 1)
        most = min(LARGEST_GRID, LARGEST_TABLE // (2 * groups))
        return grid_size(*self._ends, self._step) <= most

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends of the grid as numbers; days for dates."""
        return as_bound(0.0 if self.lower is None else self.lower), as_bound(self.upper)

    @property
    def _step(self) -> float:
        """The step of the grid: days where the ends are dates, seconds for durations."""
        step = as_step(self.step, self.lower, self.upper)
        days: float = float(step) if isinstance(step, Fraction) else step
        return days

    @cached_property
    def grid(self) -> ValueGrid:
        """The possible answers, where they can be listed."""
        return ValueGrid(*self._ends, self._step)

    @cached_property
    def grouping(self) -> Grouping | None:
        """The public groups, if an answer is asked for every group."""
        if self.finding is not None:
            return Grouping(ANY_GROUP)
        return None if self.groups is None else Grouping(self.groups)

    def _relation(self, schema: Schema) -> Neighbours:
        """Replacement where it leaves the number of values alone: of all, or of fixed groups.

        A filter may keep a row and leave out what replaces it.
        """
        fixed = self.where is None and (self.by is None or schema.is_fixed(self.by))
        return schema.relation if fixed else Neighbours.ADD_REMOVE_ROW

    def _way(self, relation: Neighbours) -> Any:
        """How different percentiles are drawn together; they have up to four decimals there."""
        shares = tuple(sorted({as_fraction(p) / 100 for p in self.points}))
        if len(shares) == 1 or max(q.denominator for q in shares) > FINEST:
            return None
        return joint_tight.together(shares, relation, len(self.grid.points))


@dataclass(frozen=True)
class ValuesMethod:
    """Values by rank, on the public grid; in every group if there are groups.

    One ε for all groups, by parallel composition: see `dampen.data.cells`.

    Attributes:
        question: what is asked.
        draws: how points are drawn from ranks.
        public: whether the number of values, of every group, is public.
        rows: the number of values, where it is public and known.
    """

    question: PercentileQuestion
    draws: Draws
    public: bool
    rows: int | None

    def cost(self, price: Price, /) -> Cost:
        return self.draws.cost(price, self.question.name)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.rows if self.rows is not None else rows
        points = self.question.points
        most = None if n is None else most_ranks(points, n, public=self.public)
        is_size = self.public and self.question.by is None
        size = n if is_size else None
        return value_accuracy(
            self.draws.farthest(epsilon, size),
            self._subject(),
            epsilon=epsilon,
            most=most,
            together=isinstance(self.draws, Together),
            usual=self.draws.usual(epsilon, size),
        )

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        if self.question.grouping is not None:
            return Drawn(self._of_groups(source, self.question.grouping, epsilon, entropy))
        counts = source.counts(*self._counted())
        if not self.public:
            return Drawn(self._values(counts, epsilon, entropy))
        n = int(counts.sum())
        if n == 0:
            raise no_values()
        values = self._values(counts, epsilon, entropy)
        return Drawn(values, {"n": n}, self.accuracy(epsilon, n))

    def _of_groups(
        self, source: Opened, grouping: Grouping, epsilon: Fraction, entropy: Entropy
    ) -> dict[Hashable, Any]:
        """The values of every group, those without rows included."""
        lines = grouping.counts(source, str(self.question.by), *self._counted())
        return {
            group: self._values(counts, epsilon, entropy)
            for group, counts in zip(grouping.groups, lines, strict=True)
        }

    def _values(self, counts: IntArray, epsilon: Fraction, entropy: Entropy) -> Any:
        """One value per percentile, in their order, none above that of a larger percentile."""
        grid = self.question.grid
        if self.public:
            counts = missing_as_lowest(counts)
        ranks = Ranks(*grid.ranks(counts))
        picked = self.draws.draw(ranks, int(counts[:-1].sum()), epsilon, entropy)
        values = [grid.candidates[i] for i in picked]
        return values if self.question.several else values[0]

    def _counted(self) -> tuple[dict[str, Literal["numbers", "text", "any"]], Keyed, int]:
        """The column to count, its cells and their number."""
        column = self.question.value
        grid = self.question.grid
        of = ("ranks", column, grid)
        return {column: "numbers"}, Keyed({column: grid.key}, itemgetter(column), of), grid.size

    def _subject(self) -> str:
        """The subject of the accuracy: each value alone, or all of them at once."""
        if len(self.question.points) == 1:
            subject = "the value"
        else:
            subject = "every value" if isinstance(self.draws, Together) else "each value"
        return subject if self.question.by is None else f"{subject} of a group"


def warn_of_shares(points: Sequence[Percent]) -> None:
    """Warns where percentiles look like shares, such as 0.5 for the median.

    Raises:
        ParameterError: if one is no percentile.
    """
    exact = [as_fraction(p) for p in points]
    if max(exact) <= 1 and any(0 < p < 1 for p in exact):
        meant = ", ".join(decimal_text(100 * p) if p else "0" for p in exact)
        warn_caller(f"p is in percent: did you mean {meant}?", ParameterWarning)


def for_one_selection(mechanism: str | Mechanism) -> Mechanism:
    """The mechanism of that name.

    Raises:
        ParameterError: if there is none, or it is a joint release.
    """
    chosen = named(mechanism)
    if chosen.noise.joint:
        raise ParameterError(
            f"Expected a mechanism for one selection, got {chosen.name!r}: a joint release is for "
            "counts and nodes."
        )
    return chosen


def _is_one(p: Percent | Sequence[Percent]) -> bool:
    return p not in LISTS if isinstance(p, str) else not hasattr(p, "__len__")


def percentile(
    data: Any,
    value: str | None = None,
    *,
    p: Percent | Sequence[Percent],
    epsilon: Epsilon | None = None,
    upper: Bound | None = None,
    lower: Bound | None = None,
    step: Bound | None = None,
    kind: str | None = None,
    rho: Epsilon | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    mechanism: str | Mechanism | None = None,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The value of the p-th percentile, or of several, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row.  The range, the step and p are public.  Values
    outside the range are clipped, and how many is not shown.  Of a data set whose number of rows is
    public (`dampen.dataset`), ε-DP under replacing one row, and the release shows the number.

    You need no range and no step: possible answers are then all decimal numbers of up to nine
    digits (`dampen.questions.percentile.unbounded`), and rows without a number are skipped.  State
    `lower`, `upper` or `step` if you know them.  With `upper` and `step` the possible answers are
    the points of a grid, as long as it has at most ten million of them; otherwise the range and the
    multiples of the step are what is left of the decimals.

    With `by=` and `groups=` the answer is a dict with the value of every group, for one ε.  Rows of
    groups that are not listed are dropped, and groups without rows have an answer like any other.

    To name the record at a percentile, ask `dampen.percentile_record`.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        p: the percentile, 0 to 100; "quartiles", "deciles" or a list in any order.  The answer is
            then a list in that order, never decreasing in p, for one ε: they are drawn together
            (`dampen.questions.percentile.joint_tight`).
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        upper: public upper end of the values, if you know it.
        lower: public lower end of the values, if you know it; 0 for a grid.
        step: distance of the possible answers, if you know it; on a grid they are lower,
            lower + step, ..., upper.
        kind: what a column without a declared type holds, if not numbers: "date", "time",
            "duration" or "bool".  A list of dates has no declared type, and which type its elements
            have is private; arrays of numpy, frames and databases declare it.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        mechanism: "pf" by default, "em" where `rho` is given; on a grid a name given with a list
            of p asks for equal shares of ε.  Without a grid these two are the only ones.
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
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import dampen
    >>> hours = [35, 38, 40, 40, 40, 41, 45, 50, 60, 38] * 30
    >>> dampen.percentile(hours, p=50, epsilon=2).answer
    40
    >>> dampen.percentile(hours, p=50, epsilon=2, upper=100, step=5).answer
    40
    >>> from datetime import date
    >>> dampen.percentile([date(2024, 5, 1)] * 300, kind="date", p=50, epsilon=2).answer
    datetime.date(2024, 5, 1)
    """
    opened, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = PercentileQuestion(
        value=names["value"],
        p=p,
        upper=upper,
        lower=lower,
        step=step,
        kind=kind,
        by=names.get("by"),
        groups=groups,
        delta=delta,
        mechanism=mechanism,
        where=where,
        weigh=weigh,
    )
    return answer(
        question,
        opened,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=persons(names, rows_per_unit),
    )
