"""How many rows: `count` and `histogram`, as noisy whole numbers with exact intervals.

Add/remove one row.  A public function puts every row into one of several public cells, or into
none: rows by group, by category, by bin, or all three at once.  c is the vector of the rows of all
cells.

**Theorem.**  c + Z, with independent integers Z_i, P(z) proportional to exp(-ε |z|), is
ε-differentially private for adding or removing one row, however many cells there are.  Proof.  The
row is in one cell at most, so that neighbours have |c - c'|₁ <= 1.  For every integer vector y,
P(c + Z = y) / P(c' + Z = y) = exp(-ε (|y - c|₁ - |y - c'|₁)) <= exp(ε |c - c'|₁) <= e^ε.  ∎

**In zCDP.**  With P(z) proportional to exp(-z² / (2σ²)), σ² = 1 / (2ρ), c + Z is ρ-zCDP (Canonne,
Kamath and Steinke 2020, Theorem 14, for |c - c'|₂ <= 1).  That is what ρ buys: at the same ρ its
variance is half of that of discrete Laplace noise.  It has no pure ε.

The noise is drawn exactly, as integers, so that no rounding of floats tells anything.  What is done
with the noisy counts afterwards (`nonnegative_counts`) is no further look at the data.

Rows of other groups or categories, and rows without a value, are in no cell: they are left out, and
nobody learns of them.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray, IntArray
from dampen.data.cells import (
    ANY_GROUP,
    GridKey,
    GridSql,
    Grouping,
    Key,
    Keyed,
    LabelKey,
)
from dampen.data.columns import (
    Lookup,
    Measure,
    as_bound,
    finite_range,
    in_own_type,
    measure_of_bounds,
    measured,
)
from dampen.data.memory import is_column
from dampen.data.open import is_engine, open_columns, open_table
from dampen.data.source import Kind, Opened, columns_of, require_labels, require_numbers
from dampen.data.units import UnitTable, quantum_of, unit_kind
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError, a_thing
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.statistics import Exact
from dampen.questions.keys import (
    ByGroup,
    KeysMethod,
    Sharing,
    exact_delta,
    finding_groups,
)
from dampen.releases.accuracy import Accuracy, by_noise, counted_in_part, likely_noise
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price
from dampen.releases.method import Drawn, Finding, Leak, Method
from dampen.releases.numbers import (
    LAPLACE,
    IntegerNoise,
    ShiftLaw,
    check_scale,
    noise_cost,
    noise_for,
    with_noise,
)
from dampen.releases.question import (
    Fact,
    Shape,
    by_parameter,
    delta_parameter,
    groups_parameter,
    parameter,
    weigh_parameter,
    where_parameter,
)
from dampen.releases.release import Release
from dampen.releases.units import persons, weighed
from dampen.schema.schema import Schema

__all__ = ["CountQuestion", "HistogramQuestion", "all_rows", "count", "histogram"]

USUAL_BINS = 10
MOST_BINS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class CountQuestion:
    """How many rows are there, in all or in every group?"""

    by: str | None = by_parameter("number")
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    nonnegative: bool = parameter(
        "flag", "Show counts of at least 0 that add up to the noisy total.", default=False
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "count"
    title: ClassVar[str] = "Number of rows"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen count visits.csv --epsilon 0.5",
        "dampen count stays.csv --by hospital --groups H1,H2,H3 --epsilon 0.5",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where)
        if not opened.fields:
            raise ParameterError(f"Expected a table with columns, {opened.title} has none.")
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), "")
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> "CountsMethod | KeysMethod":
        """Noise on all counts; of groups that nobody lists, those that enough rows have."""
        del schema
        return CountsMethod(self, noise_for(price)) if self.delta is None else self._found(source)

    def unit_method(self, source: Opened, schema: Schema, price: Price, /) -> Method:
        """Persons, or rows with those of heavy users cut; where groups are found, weights."""
        if self.delta is None:
            return counted_people(self, source, schema, price, cells=1)
        weighing = Sharing.of_people if schema.rows_per_unit == 1 else Sharing.of_rows
        return replace(self._found(source), people=weighing(schema))

    def _found(self, source: Opened) -> KeysMethod:
        """The groups come with their counts, so that nothing else is asked."""
        assert self.delta is not None
        columns = columns_of(source, str(self.by))
        return KeysMethod(self.name, columns, exact_delta(self.delta), None, "counts")

    def shown(self) -> Mapping[str, Any]:
        return {} if self.groups is None else {"groups": len(self.groups)}

    def text(self) -> str:
        return "rows" if self.by is None else f"rows by {self.by}"

    def shape(self) -> Shape:
        return "number"

    @cached_property
    def grouping(self) -> Grouping | None:
        """The public groups, if a number is asked for every group."""
        return grouping_of(self, 1)

    @property
    def names(self) -> Sequence[Sequence[Hashable]]:
        """What the numbers are called, from the outside in."""
        return [] if self.grouping is None else [self.grouping.groups]

    def counts(self, source: Opened) -> IntArray:
        """The exact rows of every group, or of all; private."""
        if self.grouping is None:
            return all_rows(source)
        cell_of = Keyed({}, _first_cell, ("rows",))
        counted = self.grouping.counts(source, str(self.by), {}, cell_of, 1)
        return np.asarray(counted[:, 0])


@dataclass(frozen=True, kw_only=True)
class HistogramQuestion:
    """How many rows does every category have, or every bin of numbers?"""

    value: str = parameter("column", "Column that is counted: categories, or numbers.")
    categories: Sequence[Hashable] | None = parameter(
        "labels",
        "Public list of the categories.",
        default=None,
        fact=Fact("values", of="value", either="values"),
    )
    bins: int | Sequence[Exact] | None = parameter(
        "count",
        f"How many bins of equal width, for numbers; {USUAL_BINS} if left out.",
        default=None,
    )
    lower: Exact | None = parameter(
        "exact",
        "Public lower end of the numbers; smaller ones are counted in the first bin.",
        default=None,
        fact=Fact("lower", of="value", either="range"),
    )
    upper: Exact | None = parameter(
        "exact",
        "Public upper end of the numbers; larger ones are counted in the last bin.",
        default=None,
        fact=Fact("upper", of="value", either="range"),
    )
    by: str | None = by_parameter("histogram")
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    nonnegative: bool = parameter(
        "flag", "Show counts of at least 0 that add up to the noisy total.", default=False
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "histogram"
    title: ClassVar[str] = "Histogram"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen histogram visits.csv --value diagnosis --categories flu,cold,covid --epsilon 0.5",
        "dampen histogram stays.csv --value days --lower 0 --upper 100 --bins 5 --epsilon 0.5",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where, value=self.value)
        opened = self.cells.opened(opened, self.value)
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> "CountsMethod":
        del source, schema
        return CountsMethod(self, noise_for(price))

    def unit_method(self, source: Opened, schema: Schema, price: Price, /) -> Method:
        """Persons, or rows with those of heavy users cut."""
        return counted_people(self, source, schema, price, cells=len(self.cells.names))

    def shown(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {"cells": len(self.cells.names)}
        if self.groups is not None:
            facts["groups"] = len(self.groups)
        return facts

    def text(self) -> str:
        return f"of {self.value}" + ("" if self.by is None else f" by {self.by}")

    def shape(self) -> Shape:
        return "number"

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists."""
        return finding_groups(self, nothing={}, cells=len(self.cells.names) + 1)

    @cached_property
    def cells(self) -> "Cells":
        """The public cells.

        Raises:
            ParameterError: unless there are categories, or lower and upper, or a list of edges.
        """
        bounds = self.lower is not None and self.upper is not None
        if self.categories is not None and self.bins is None:
            return Categories(MostFrequent(self.categories))
        if self.categories is None and not isinstance(self.bins, int | None):
            return Bins(_edges(self.bins), tuple(self.bins))
        if self.categories is None and bounds:
            edges = _equal_edges(as_bound(self.lower), as_bound(self.upper), self.bins)
            return Bins(edges, (self.lower, self.upper))
        raise ParameterError(
            "Expected categories=, the public list of them, or for numbers lower= and upper=, "
            "their public ends, with bins=. If nobody can list the categories, ask for the keys of "
            f"{self.value!r} with a delta, such as '1e-6'."
        )

    @cached_property
    def grouping(self) -> Grouping | None:
        """The public groups, if a histogram is asked for every group."""
        return grouping_of(self, len(self.cells.names))

    @property
    def names(self) -> Sequence[Sequence[Hashable]]:
        """What the numbers are called, from the outside in."""
        groups = [] if self.grouping is None else [self.grouping.groups]
        return [*groups, self.cells.names]

    def counts(self, source: Opened) -> IntArray:
        """The exact rows of every cell, of every group; private."""
        wanted = self.cells.wanted(self.value)
        cell_of = self.cells.cell_of(self.value)
        size = len(self.cells.names)
        if self.grouping is None:
            return source.counts(wanted, cell_of, size)[:-1]
        counted = self.grouping.counts(source, str(self.by), wanted, cell_of, size)
        return np.asarray(counted[:, :-1])


class Cells(Protocol):
    """The public cells of a histogram."""

    @property
    def names(self) -> Sequence[Hashable]: ...

    def opened(self, opened: Opened, column: str, /) -> Opened:
        """Checks that the column can hold such values; dates are read as days."""
        ...

    def wanted(self, column: str, /) -> dict[str, Kind]: ...

    def cell_of(self, column: str, /) -> Keyed: ...


@dataclass(frozen=True)
class Categories:
    """One cell for every category."""

    problem: MostFrequent

    @property
    def names(self) -> Sequence[Hashable]:
        return self.problem.categories

    def opened(self, opened: Opened, column: str, /) -> Opened:
        require_labels(opened, column)
        return opened

    def wanted(self, column: str, /) -> dict[str, Kind]:
        return {column: Lookup(self.names).kind}

    def cell_of(self, column: str, /) -> Keyed:
        lookup = Lookup(self.names)
        return Keyed(
            {column: LabelKey(self.names)},
            lambda keys: lookup.positions(keys[column]),
            ("categories", column, tuple(self.names)),
        )


@dataclass(frozen=True)
class Bins:
    """Cell i from edge i up to, but not with, edge i+1; the last one with its end.

    Attributes:
        edges: ascending numbers; days of dates, seconds of durations.
        stated: the ends or edges as they were stated; dates tell what the column holds.
    """

    edges: tuple[Fraction, ...]
    stated: Sequence[Any] = ()

    @cached_property
    def names(self) -> Sequence[Hashable]:
        measure = measure_of_bounds(self.stated)
        ends = [_edge_text(edge, measure) for edge in self.edges]
        return [f"{low} to {high}" for low, high in pairwise(ends)]

    def opened(self, opened: Opened, column: str, /) -> Opened:
        opened = measured(opened, column, self.stated)
        require_numbers(opened, column)
        return opened

    def wanted(self, column: str, /) -> dict[str, Kind]:
        return {column: "numbers"}

    def cell_of(self, column: str, /) -> Keyed:
        ends = float(self.edges[0]), float(self.edges[-1])
        key = GridKey(self.places, ends, None)
        return Keyed({column: key}, lambda keys: keys[column], ("bins", column, self.edges))

    def places(self, values: FloatArray) -> IntArray:
        """The bin of every value, -1 for one that is missing."""
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        cells = np.searchsorted(inner, values, side="right").astype(np.int64)
        cells[np.isnan(values)] = -1
        return cells


class Counted(Protocol):
    """A question whose answer is a table of counts."""

    @property
    def name(self) -> str: ...
    @property
    def nonnegative(self) -> bool: ...
    @property
    def names(self) -> Sequence[Sequence[Hashable]]: ...

    def counts(self, source: Opened, /) -> IntArray: ...


@dataclass(frozen=True)
class CountsMethod:
    """Integer noise on all counts, with the theorem of this module.

    Attributes:
        question: what is counted.
        noise: the law of the noise.
        steps: of the counts that one row, or one person, is worth; noise protects one step.
        in_full: in how many groups a person counts in full, where that is not in all of them.
    """

    question: Counted
    noise: IntegerNoise = LAPLACE
    steps: int = 1
    in_full: int | None = None

    def cost(self, price: Price, /) -> Cost:
        cost = noise_cost(price, self.question.name, self.noise)
        check_scale(self.scale(cost.epsilon))
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        noise = likely_noise(epsilon, self._numbers, self.noise)
        told = by_noise(noise, "rows", numbers=self._numbers, epsilon=epsilon, most=rows)
        if self.in_full is None:
            return told
        what = "value" if self.question.name == "histogram" else "group"
        return counted_in_part(told, self.in_full, what)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        scale = self.scale(epsilon)
        noisy = with_noise(self.question.counts(source), self.noise, scale, entropy)
        whole: IntArray = (2 * noisy + self.steps) // (2 * self.steps)
        shown = nonnegative_counts(whole) if self.question.nonnegative else whole
        names = self.question.names
        numbers = noisy if self.steps == 1 else noisy / self.steps
        law = ShiftLaw(scale, Fraction(1, self.steps), least=0, noise=self.noise)
        return Drawn(named(shown, names), numbers=named(numbers, names), law=law)

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in steps."""
        return 1 / epsilon

    @property
    def _numbers(self) -> int:
        return int(np.prod([len(each) for each in self.question.names], dtype=np.int64))


def counted_people(
    question: "CountQuestion | HistogramQuestion",
    source: Opened,
    schema: Schema,
    price: Price,
    *,
    cells: int,
) -> Method:
    """Counts of persons, or of rows where up to m rows of a person count in full.

    Persons are counted once in every cell, in up to `groups_per_unit` cells in full (one if nobody
    said); those in more cells share so many among them.  Both are the theorem of
    `dampen.data.units`.  Of one cell alone all weights are whole: there everyone counts 1, or up
    to m.  Others are shares of 1/840 or finer, and answers are rounded to whole numbers.

    Args:
        question: what is counted.
        source: the opened data.
        schema: its public facts, with the column of persons.
        price: of the whole.
        cells: that a group has.
    """
    size = int(np.prod([len(each) for each in question.names], dtype=np.int64))
    several = size > 1
    people = several and schema.rows_per_unit == 1
    cap = min(schema.groups_per_unit or 1, size) if people else schema.rows_per_unit
    quantum = quantum_of(cap) if several else cap
    in_full = cap if people and cap < size else None
    return weighed(
        lambda _, __, step: CountsMethod(question, noise_for(step), quantum // cap, in_full),
        source,
        schema,
        price,
        width=0 if question.grouping is None else cells + 1,
        distinct=cap if people else 0,
        quantum=quantum,
    )


def nonnegative_counts(noisy: IntArray) -> IntArray:
    """The nearest whole numbers >= 0 that add up to the noisy total, or to 0 if that is below.

    They are max(c - τ, 0) for the τ at which these add up, the nearest point with that sum; what
    rounding down leaves goes to the largest fractions, in public order where they are equal.  It
    looks at noisy counts alone, and so costs nothing.

    >>> nonnegative_counts(np.array([5, -3, 2, 0])).tolist()
    [4, 0, 0, 0]
    """
    counts = noisy.ravel().tolist()
    total = sum(counts)
    if total <= 0:
        return np.zeros_like(noisy)
    running = 0
    above = 0
    of = 1
    for size, count in enumerate(sorted(counts, reverse=True), start=1):
        running += count
        if count * size > running - total:
            above = running - total  # τ is above / of
            of = size
    parts = [max(count * of - above, 0) for count in counts]
    whole = [part // of for part in parts]
    left = total - sum(whole)
    for i in sorted(range(len(parts)), key=lambda i: -(parts[i] % of))[:left]:
        whole[i] += 1
    return np.array(whole, dtype=np.int64).reshape(noisy.shape)


def grouping_of(asked: ByGroup, cells: int) -> Grouping | None:
    """The public groups, None if there are none; a place holder for groups that are to be found.

    Raises:
        ParameterError: if the parameters do not fit together, or the groups are no list.
    """
    if finding_groups(asked, nothing={}) is not None:
        return Grouping(ANY_GROUP)
    if asked.groups is None:
        return None
    grouping = Grouping(asked.groups)
    grouping.check_size(cells)
    return grouping


def named(numbers: Any, names: Sequence[Sequence[Hashable]]) -> Any:
    """Numbers by name, from the outside in; a bare number if there are no names."""
    if not names:
        return np.asarray(numbers).reshape(()).item()
    return {name: named(each, names[1:]) for name, each in zip(names[0], numbers, strict=True)}


def open_counted(
    data: Any, *, by: Any, unit: Any = None, header: bool, table: str | None
) -> tuple[Opened, dict[str, str]]:
    """Opens what is counted, a table or a column, and finds the columns of groups and persons."""
    if not is_engine(data) and is_column(data):
        return open_columns(data, value=None, by=by, unit=unit)
    opened = open_table(data, header=header, table=table)
    roles = {role: name for role, name in (("by", by), ("unit", unit)) if name is not None}
    if all(isinstance(name, str) for name in roles.values()):
        return opened, roles
    first = opened.fields[0].name if opened.fields else ""
    return open_columns(opened, value=first, **roles)


def all_rows(source: Opened) -> IntArray:
    """The number of all rows, by the column that is the cheapest to read; or of persons."""
    if source.rows is not None:
        return np.array([source.rows])
    if isinstance(source, UnitTable):
        of_person = {source.unit: unit_kind(source.opened, source.unit)}
        keyed = Keyed({source.unit: LabelKey(())}, _first_cell, ("rows", source.unit))
        return source.counts(of_person, keyed, 1)[:1]
    numeric = [field.name for field in source.fields if field.holds == "numbers"]
    column = (numeric or [field.name for field in source.fields])[0]
    constant = GridSql("cast('0.0' as double)", "0")
    key: Key = GridKey(_first_cells, (0.0, 0.0), constant) if numeric else LabelKey(())
    kind: Kind = "numbers" if numeric else "text"
    counted = source.counts({column: kind}, Keyed({column: key}, _first_cell, ("rows", column)), 1)
    return counted[:1]


def _first_cell(keys: Mapping[str, Any]) -> IntArray:
    """All rows are in cell 0."""
    return np.zeros(len(next(iter(keys.values()))), dtype=np.int64)


def _first_cells(values: FloatArray) -> IntArray:
    return np.zeros(len(values), dtype=np.int64)


def _edge_text(edge: Fraction, measure: Measure | None) -> str:
    """The decimal where it ends, else ten digits of it; a date, or a duration."""
    if measure == "duration":
        return str(in_own_type(float(edge), measure))
    if measure is not None:
        return str(in_own_type(float(edge), "date" if edge.denominator == 1 else "time"))
    text = decimal_text(edge)
    return f"{float(edge):.10g}" if "/" in text else text


def _equal_edges(lower: Any, upper: Any, bins: Any) -> tuple[Fraction, ...]:
    size = USUAL_BINS if bins is None else bins
    if isinstance(size, bool) or not 1 <= size <= MOST_BINS:
        raise ParameterError(f"Expected bins from 1 to {MOST_BINS:,}, got bins={bins!r}.")
    finite_range(lower, upper)
    low, high = Fraction(str(lower)), Fraction(str(upper))
    return tuple(low + (high - low) * i / size for i in range(size + 1))


def _edges(given: Any) -> tuple[Fraction, ...]:
    """A list of edges, ascending."""
    wanted = "Expected bins= to be a number of bins, or a list of ascending edges"
    if isinstance(given, str | bytes | Mapping):
        raise ParameterError(f"{wanted}, got {a_thing(given)}.")
    try:
        edges = tuple(Fraction(str(as_bound(edge))) for edge in given)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(f"{wanted} that are numbers.") from None
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        raise ParameterError(f"{wanted}, at least two.")
    finite_range(float(edges[0]), float(edges[-1]))
    return edges


def count(
    data: Any,
    *,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    nonnegative: bool = False,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    groups_per_unit: int | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The number of rows, in all or of every group, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row, once for all groups, since a row is in one of
    them.  Rows of groups that are not listed are left out.

    The numbers are integers with exact discrete Laplace noise of scale 1/ε; for ρ with discrete
    Gaussian noise of variance 1/(2ρ).  `Release.interval` tells where the true ones lie.

    Args:
        data: a table, a column, or the path of a file (see `dampen.data`).
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        nonnegative: show counts of at least 0 that add up to the noisy number of all rows.
            `Release.numbers` has them as they were drawn.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        groups_per_unit: in how many groups or categories a person counts in full; one if left out.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer is a number, or a dict by group.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> visits = {"ward": ["A"] * 600 + ["B"] * 200}
    >>> made = dampen.count(visits, by="ward", groups=["A", "B"], epsilon="20")
    >>> made.answer, made.interval(0.95)
    ({'A': 600, 'B': 200}, {'A': (600, 600), 'B': (200, 200)})
    """
    source, names = open_counted(data, by=by, unit=unit, header=header, table=table)
    question = CountQuestion(
        by=names.get("by"),
        groups=groups,
        delta=delta,
        nonnegative=nonnegative,
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
        schema=persons(names, rows_per_unit, groups_per_unit),
    )


def histogram(
    data: Any,
    value: str | None = None,
    *,
    categories: Sequence[Hashable] | None = None,
    bins: int | Sequence[Exact] | None = None,
    lower: Exact | None = None,
    upper: Exact | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    nonnegative: bool = False,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    groups_per_unit: int | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The number of rows of every category, or of every bin of numbers, with ε-DP.

    Guarantee: ε-DP under adding or removing one row, once for all cells and groups, since a row is
    in one of them.  Rows of no listed category or group, and rows without a value, are left out.

    The numbers are integers with exact discrete Laplace noise of scale 1/ε; for ρ with discrete
    Gaussian noise of variance 1/(2ρ).  `Release.interval` tells where the true ones lie.

    Args:
        data: a column, a table or the path of a file (see `dampen.data`).
        value: in a table, the name of the column that is counted.
        categories: the public list of categories.
        bins: for numbers, how many bins of equal width; in Python also a list of ascending edges.
        lower: public lower end of the numbers; smaller ones are counted in the first bin.
        upper: public upper end of the numbers; larger ones are counted in the last bin.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        nonnegative: show counts of at least 0 that add up to the noisy number of all rows.
            `Release.numbers` has them as they were drawn.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        groups_per_unit: in how many groups or categories a person counts in full; one if left out.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer is a dict by category or bin; with groups, a dict of them.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> days = [1] * 300 + [4] * 200 + [9] * 100
    >>> dampen.histogram(days, lower=0, upper=10, bins=2, epsilon="20").answer
    {'0 to 5': 500, '5 to 10': 100}
    """
    source, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = HistogramQuestion(
        value=names["value"],
        categories=categories,
        bins=bins,
        lower=lower,
        upper=upper,
        by=names.get("by"),
        groups=groups,
        delta=delta,
        nonnegative=nonnegative,
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
        schema=persons(names, rows_per_unit, groups_per_unit),
    )
