"""The public facts of a data set, stated once: what Python, command line, service and models use.

Write them from what is known without looking at the data: whatever stands in a schema is shown.

**The public facts of one column** (`Numbers`, `Categories`, `Names`): numbers in a range, listed
values, or public names of the rows.

    days = { lower = 0, upper = 90, step = 1, bins = 10 }
    age = { edges = [0, 18, 65, 120] }
    admitted = { lower = 2015-01-01, upper = 2025-12-31 }
    born = { dates = true }                            # dates, without a range
    hospital = ["Ash", "Birch"]                        # short for { values = ["Ash", "Birch"] }
    ward = { values = ["A", "B"], public = true }      # everyone's ward is known and never changes
    query = []                                         # nobody lists them: ask with a δ
    employee = { names = true }

`missing` and `unlisted` say what happens to a row whose cell is missing, or is none of the listed
values: "drop" leaves the row out, "own" makes it a category of its own, `dampen.MISSING` or
`dampen.OTHER` among the values.  Where a column does not say, the rule of its data set holds.

A missing *number* is a bin of its own in models, where the rule is "own".  Elsewhere its row is
left out in any case; where the number of rows is public, it counts as the lower end.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import sha256
from itertools import pairwise, product
from typing import Any, ClassVar, Literal, NewType, TypeAlias

from dampen.core.selection import Neighbours
from dampen.data.source import named_columns
from dampen.errors import MISSING, OTHER, ParameterError, did_you_mean

__all__ = [
    "Categories",
    "Column",
    "Graph",
    "Names",
    "Numbers",
    "Rule",
    "Schema",
    "Word",
]


Rule: TypeAlias = Literal["drop", "own"]

Word = NewType("Word", str)
"""A text; in TOML also a whole number, which is taken as its text."""

FINEST_BINS = 160
"""Of equal width, where a model chooses how many it has."""
MOST_BINS = 2**15 - 1
LARGEST = sys.float_info.max
FIRST_DAY = date(1900, 1, 1)
"""The lower end of dates where nobody states one: it says that a column holds dates."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers; one beyond a public bound is moved to it.  A bound that is not stated is NaN.

    Attributes:
        lower: the smallest number, if it is stated; with `edges` the first of them.
        upper: the largest number, if it is stated; with `edges` the last of them.
        step: the distance of the public grid of possible values, if there is one.
        bins: how many bins of equal width a model sorts the numbers into; its own rule if None.
        edges: the ends of bins one by one, ascending, in place of `bins`.
        missing: what happens to a row without a number.
        public: whether everyone's number is known and does not change.
        dates: whether the numbers are dates, as days since 1970-01-01; ends that are dates say so.
    """

    lower: float = math.nan
    upper: float = math.nan
    step: float | None = None
    bins: int | None = None
    edges: tuple[float, ...] = ()
    missing: Rule | None = None
    public: bool = False
    dates: bool = False
    kind: ClassVar[str] = "numbers"

    def __post_init__(self) -> None:
        self._read_dates()
        if self.edges:
            self._check_edges()
            object.__setattr__(self, "lower", self.edges[0])
            object.__setattr__(self, "upper", self.edges[-1])
            object.__setattr__(self, "bins", len(self.edges) - 1)
        if math.isinf(self.lower) or math.isinf(self.upper) or not self._ascends:
            raise ParameterError("Expected lower < upper, both finite.")
        if self.step is not None and not 0 < self.step <= LARGEST:
            raise ParameterError("Expected step to be a number above 0.")
        if self.bins is not None and not 1 <= self.bins <= MOST_BINS:
            raise ParameterError(f"Expected bins to be a whole number from 1 to {MOST_BINS}.")

    def _read_dates(self) -> None:
        """Ends that are dates, as days since 1970-01-01."""
        if all(isinstance(each, int | float) for each in (self.lower, self.upper)):
            return
        from dampen.data.columns import as_bound, measure_of_bounds

        for name in ("lower", "upper"):
            stated = getattr(self, name)
            try:
                object.__setattr__(self, name, float(as_bound(stated)))
            except (TypeError, ValueError, OverflowError):
                raise ParameterError(
                    f"Expected {name} to be a number or a date such as '2024-12-31', got "
                    f"{stated!r}."
                ) from None
            if measure_of_bounds([stated]) in ("date", "time"):
                object.__setattr__(self, "dates", True)

    def end(self, name: Literal["lower", "upper"]) -> Any:
        """An end as questions take it: a number, a date, or None if it is not stated.

        Dates without a lower end begin in 1900, as the possible answers do.
        """
        number: float = getattr(self, name)
        if not self.dates:
            return None if math.isnan(number) else number
        from dampen.data.columns import in_own_type

        if math.isnan(number):
            return FIRST_DAY if name == "lower" else None
        return in_own_type(number, "date" if number == int(number) else "time")

    @property
    def bounded(self) -> bool:
        """Whether both ends are stated."""
        return not (math.isnan(self.lower) or math.isnan(self.upper))

    @property
    def _ascends(self) -> bool:
        return not self.bounded or 0 < self.upper - self.lower <= LARGEST

    def _check_edges(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.edges))
        if not (2 <= len(self.edges) <= MOST_BINS + 1 and ascending):
            raise ParameterError(f"Expected 2 to {MOST_BINS + 1} ascending, finite edges.")
        for given, end in ((self.lower, self.edges[0]), (self.upper, self.edges[-1])):
            if not math.isnan(given) and given != end:
                raise ParameterError("Expected edges alone, or edges from lower to upper.")

    @property
    def bin_edges(self) -> tuple[float, ...]:
        """The ends of all bins, ascending; of the finest ones where no number is stated."""
        if self.edges:
            return tuple(map(float, self.edges))
        import numpy as np

        ends: list[float] = np.linspace(
            float(self.lower), float(self.upper), (self.bins or FINEST_BINS) + 1
        ).tolist()
        return tuple(ends)

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        stated = {"lower": self.end("lower"), "upper": self.end("upper"), "step": self.step}
        known = {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in stated.items()
            if value is not None
        }
        return {"kind": self.kind, **known, **({"bins": self.bins} if self.bins else {})}


@dataclass(frozen=True, slots=True)
class Categories:
    """Text, one of public values; or text that nobody lists.

    Attributes:
        values: all of them, different; none where nobody lists them.
        missing: what happens to a row without a value.
        unlisted: what happens to a row with another value.
        public: whether everyone's value is known and does not change.
    """

    values: tuple[Word, ...]
    missing: Rule | None = None
    unlisted: Rule | None = None
    public: bool = False
    kind: ClassVar[str] = "categories"

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise ParameterError("Expected values that are all different.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The values, then the labels of missing and of unlisted cells that are their own."""
        if not self.values:
            return ()
        own = ((MISSING, self.missing), (OTHER, self.unlisted))
        rules = (label for label, rule in own if rule == "own" and label not in self.values)
        return (*self.values, *rules)

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {"kind": self.kind, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Names:
    """Public names of the rows."""

    names: bool = True
    kind: ClassVar[str] = "names"

    def __post_init__(self) -> None:
        if self.names is not True:
            raise ParameterError("Expected names = true.")

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {"kind": self.kind}


Column: TypeAlias = Numbers | Categories | Names


MOST_ROWS = 2**52
MOST_ROWS_PER_UNIT = 1000
MOST_GROUPS_PER_UNIT = 10_000
"""Weights of persons are at least as many steps; with those of all rows they fit into 64 bits."""
USUAL_ROWS_PER_UNIT = 8
"""Where the statistic of the rows is meant and nobody states how many of a person count."""
MOST_COMBINATIONS = 10**6
"""Of listed values of several columns."""
RESERVED = ("row", "edge", "source")
"""Units that are no columns."""
PROTECTED = {
    Neighbours.ADD_REMOVE_EDGE: "one edge",
    Neighbours.ADD_REMOVE_ROW: "one row",
    Neighbours.ADD_REMOVE_UNIT: "one person, with all their rows",
    Neighbours.REPLACE_ONE: "what one row says",
}
"""Whom ε protects, in words."""


def protected(relation: Neighbours, unit: str = "") -> str:
    """Whom ε protects, in words, where it is known what a unit is called.

    >>> protected(Neighbours.ADD_REMOVE_UNIT, "patient")
    'one patient, with all their rows'
    """
    if relation is not Neighbours.ADD_REMOVE_UNIT or not unit:
        return PROTECTED.get(relation, f"one step of {relation}")
    return f"one {unit}, with all {'its edges' if unit == 'source' else 'their rows'}"


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges in two columns, or an edge list; the nodes are public.

    Attributes:
        nodes: how many, named 0, 1, ...; or their names; or, before it was read, a file of names.
        source: the column of one end of each edge.
        target: the column of the other end.
        max_degree: a public bound on the number of neighbours of a node, if there is one that
            surely holds; see `dampen.problems.InfluentialNode`.
    """

    nodes: int | str | tuple[Word, ...]
    source: str | None = None
    target: str | None = None
    max_degree: int | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ParameterError("Expected nodes, at least one: a number, a list or a file.")
        if isinstance(self.nodes, tuple) and len(set(self.nodes)) < self.size:
            raise ParameterError("Expected nodes that are all different.")

    @property
    def size(self) -> int:
        return self.nodes if isinstance(self.nodes, int) else len(self.nodes)

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        some = {"first": list(self.nodes[:20])} if isinstance(self.nodes, tuple) else {}
        return {"nodes": self.size, **some}


@dataclass(frozen=True, slots=True)
class Schema:
    """What is public about one data set.

    Attributes:
        unit: what one person or thing contributes: "row", the name of a column whose value names
            the person, "edge", or "source" for all edges of one source.  By default an edge of a
            graph without columns, else a row.
        units_public: whether the number of units is public.  If rows are the units, ε then protects
            a replaced row; where a column names the person, it protects that they are there at all
            in any case.
        rows_per_unit: where a column names the person, how many rows of one person count in full;
            a person with more rows has their weight shared by all of them.  Noise grows with it.
        groups_per_unit: in how many groups or categories a person usually is.  A hint: a wrong one
            costs accuracy, never privacy.
        rows: a public bound on the number of rows, or the number to expect.
        max_delta: the largest δ of one question; None for any.
        columns: the columns that may be asked about, by name.
        graph: of edges, the nodes and the columns of their ends.
        title: for people.
        version: a new version makes every question a new one.
        missing: what happens to a row whose cell is missing, where its column does not say.
        unlisted: the same for a cell that is none of the listed values.
        encoding: of a text file that is not UTF-8, such as "cp1252".
        decimal: the point of numbers in CSV, "." or ",".
    """

    unit: str = ""
    units_public: bool = False
    rows_per_unit: int = 1
    groups_per_unit: int | None = None
    rows: int | None = None
    max_delta: float | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    graph: Graph | None = None
    title: str = ""
    version: str = ""
    missing: Rule = "drop"
    unlisted: Rule = "drop"
    encoding: str = ""
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError("Expected decimal to be '.' or ','.")
        if self.rows is not None and not 1 <= self.rows <= MOST_ROWS:
            raise ParameterError("Expected rows to be a whole number above 0, at most 2^52.")
        if self.max_delta is not None and not 0 <= self.max_delta < 1:
            raise ParameterError("Expected max_delta from 0 to 1, such as 1e-6.")
        if not self.unit:
            edges = self.graph is not None and not self.columns
            object.__setattr__(self, "unit", "edge" if edges else "row")
        self._check_units()

    def _check_units(self) -> None:
        if not 1 <= self.rows_per_unit <= MOST_ROWS_PER_UNIT:
            raise ParameterError(
                f"Expected rows_per_unit from 1 to {MOST_ROWS_PER_UNIT:,}, got "
                f"rows_per_unit={self.rows_per_unit}."
            )
        if self.groups_per_unit is not None and self.groups_per_unit < 1:
            raise ParameterError("Expected groups_per_unit to be a whole number above 0.")
        if (self.groups_per_unit or 0) > MOST_GROUPS_PER_UNIT:
            raise ParameterError(
                f"Expected groups_per_unit of at most {MOST_GROUPS_PER_UNIT:,}, got "
                f"groups_per_unit={self.groups_per_unit}. It is a hint: leave it out."
            )
        if self.people is None and (self.rows_per_unit > 1 or self.groups_per_unit is not None):
            raise ParameterError(
                "rows_per_unit and groups_per_unit need unit=, the column that names the person a "
                "row belongs to."
            )

    @property
    def people(self) -> str | None:
        """The column that names the person a row belongs to, if ε protects persons."""
        if self.unit != "source":
            return None if self.unit in RESERVED else self.unit
        return "source" if self.graph is None else self.graph.source or "source"

    def weighing(self, weigh: str | None, usual: int = USUAL_ROWS_PER_UNIT) -> "Schema":
        """The same facts for a question that says whose statistic is meant.

        Args:
            weigh: "people", "rows", or None for people unless `rows_per_unit` says otherwise.
            usual: the rows of a person that count in full where nobody states it.

        Raises:
            ParameterError: if it is another word, or no column names the person.
        """
        if weigh not in (None, "people", "rows"):
            raise ParameterError(f"Expected weigh to be people or rows, got {weigh!r}.")
        if weigh == "people" and self.people is None:
            raise ParameterError(
                "weigh='people' needs unit=, the column that names the person a row belongs to."
            )
        if weigh is None or self.people is None:
            return self
        stated = self.rows_per_unit if self.rows_per_unit > 1 else usual
        return replace(self, rows_per_unit=1 if weigh == "people" else stated)

    def of_rows(self) -> "Schema":
        """The same facts where every row is a unit of its own."""
        return replace(self, unit="row", rows_per_unit=1, groups_per_unit=None)

    @property
    def unit_name(self) -> str:
        """What is protected with all its rows or edges, such as "patient"; empty if nothing is."""
        return "source" if self.unit == "source" else (self.people or "").rstrip("=")

    @property
    def protected(self) -> str:
        """Whom ε protects, in words."""
        return protected(self.relation, self.unit_name)

    @property
    def relation(self) -> Neighbours:
        """What two neighbouring data sets differ in: it follows from the facts alone.

        One edge of a graph, or all edges of a source; all rows of one person where a column names
        the person; else one row more or less, or one replaced row if their number is public.
        """
        if self.unit == "edge":
            return Neighbours.ADD_REMOVE_EDGE
        if self.unit != "row":
            return Neighbours.ADD_REMOVE_UNIT
        return Neighbours.REPLACE_ONE if self.units_public else Neighbours.ADD_REMOVE_ROW

    def is_fixed(self, name: str | None) -> bool:
        """Whether everyone's value of a column is public and does not change."""
        columns = () if name is None else named_columns(name, self.columns)
        return bool(columns) and all(
            getattr(self.columns.get(each), "public", False) for each in columns
        )

    def of_kind(self, kind: type[Column]) -> list[str]:
        """The names of the columns of one kind, in the order of the file."""
        return [name for name, column in self.columns.items() if isinstance(column, kind)]

    def column(self, name: str) -> Column:
        """The facts of a column, with the rules of the data set where it has none of its own.

        Raises:
            ParameterError: if the schema has no such column.
        """
        if name not in self.columns:
            raise ParameterError(
                f"Expected a public column, one of {', '.join(self.columns) or 'none'}, got "
                f"{name!r}.{did_you_mean(name, self.columns)}"
            )
        column = self.columns[name]
        match column:
            case Numbers():
                return replace(column, missing=column.missing or self.missing)
            case Categories():
                return replace(
                    column,
                    missing=column.missing or self.missing,
                    unlisted=column.unlisted or self.unlisted,
                )
        return column

    def fact(self, name: str, column: str | None = None) -> Any:
        """One public fact, by the name that `releases.question.Fact` gives it.

        Args:
            name: of a column `values` (or `classes`), `lower`, `upper`, `step`, `missing`; of the
                data set `rows`, `nodes`, `n`, `source`, `target`, `names` (the column of public
                names) and `domains` (the facts of all columns that a model can use).
            column: the column that the fact is about, if one was named.

        Returns:
            The fact; None where the schema leaves it open, or no column was named.

        Raises:
            ParameterError: if there is no such column, or it is of another kind.
        """
        if name in _OF_DATA_SETS:
            return _OF_DATA_SETS[name](self)
        if name in _OF_COLUMNS:
            return None if column is None else _OF_COLUMNS[name](self, column)
        known = [*_OF_COLUMNS, *_OF_DATA_SETS]
        raise ParameterError(f"A schema has no fact {name!r}.{did_you_mean(name, known)}")

    def fact_if_any(self, name: str, column: str) -> Any:
        """A fact of a column, None where its kind of column has none of that name.

        Raises:
            ParameterError: if there is no such column.
        """
        self.column(column)
        try:
            return self.fact(name, column)
        except ParameterError:
            return None

    def digest(self) -> str:
        """Another one for other facts or another version; the title does not count."""
        named = replace(self, title="", columns=dict(self.columns))
        return sha256(repr(named).encode("utf-8", "surrogatepass")).hexdigest()

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {
            "title": self.title,
            "version": self.version,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "protects": self.protected,
            "rows": self.rows,
            "max_delta": self.max_delta,
            "columns": {name: column.shown() for name, column in self.columns.items()},
            "graph": None if self.graph is None else self.graph.shown(),
        }


def persons(
    names: Mapping[str, str], rows_per_unit: int = 1, groups_per_unit: int | None = None
) -> Schema | None:
    """The facts of data without a name, of which a column may be known that names the person.

    Args:
        names: of columns, by what they are for: that of the person is the `unit`.
        rows_per_unit: see `Schema`.
        groups_per_unit: see `Schema`.

    Returns:
        The facts; None where every row is a person of its own.

    Raises:
        ParameterError: if they do not fit together.
    """
    unit = names.get("unit")
    if unit is None and rows_per_unit == 1 and groups_per_unit is None:
        return None
    if unit in ("", "row", "edge"):
        raise ParameterError(
            f"A unit cannot be the column {unit!r}: rename the column. To protect rows, leave "
            "unit= out."
        )
    return Schema(unit=unit or "", rows_per_unit=rows_per_unit, groups_per_unit=groups_per_unit)


def _numbers(schema: Schema, name: str) -> Numbers:
    column = schema.column(name)
    if isinstance(column, Numbers):
        return column
    raise ParameterError(
        f"Column {name!r} is not numeric. {_choice(schema, Numbers, 'a numeric column')}"
    )


def _categories(schema: Schema, name: str) -> Categories:
    column = schema.column(name)
    if isinstance(column, Categories):
        return column
    if isinstance(column, Names):
        raise ParameterError(
            f"Column {name!r} is stated to hold the names of rows, dampen.names(), of which there "
            "is no list. To count its values, list them, or leave it out of columns= and pass "
            "delta=."
        )
    raise ParameterError(
        f"Column {name!r} has no public list of values. "
        f"{_choice(schema, Categories, 'a column with listed values')}"
    )


def _values(schema: Schema, name: str) -> Sequence[Any] | None:
    """The listed values of a column, all combinations of several; None where nobody lists them."""
    columns = named_columns(name, schema.columns)
    listed = [_categories(schema, each).labels for each in columns]
    if math.prod(map(len, listed)) > MOST_COMBINATIONS or not all(listed):
        return None
    return listed[0] if len(listed) == 1 else tuple(product(*listed))


def _choice(schema: Schema, kind: type[Column], what: str) -> str:
    names = schema.of_kind(kind)
    return f"Choose {what}: {', '.join(names)}." if names else f"The data set has no {what[2:]}."


def _domains(schema: Schema) -> dict[str, Column]:
    """Plain facts; a model makes bins and codes of them."""
    columns = {name: schema.column(name) for name in schema.columns}
    return {name: each for name, each in columns.items() if isinstance(each, Numbers | Categories)}


def _nodes(schema: Schema) -> tuple[Word, ...] | None:
    nodes = None if schema.graph is None else schema.graph.nodes
    return nodes if isinstance(nodes, tuple) else None


def _number_of_nodes(schema: Schema) -> int | None:
    nodes = None if schema.graph is None else schema.graph.nodes
    return nodes if isinstance(nodes, int) else None


def _names(schema: Schema) -> str | None:
    names = schema.of_kind(Names)
    return names[0] if len(names) == 1 else None


_OF_COLUMNS: Mapping[str, Callable[[Schema, str], Any]] = {
    "values": _values,
    "classes": lambda schema, name: _categories(schema, name).labels,
    "lower": lambda schema, name: _numbers(schema, name).end("lower"),
    "upper": lambda schema, name: _numbers(schema, name).end("upper"),
    "step": lambda schema, name: _numbers(schema, name).step,
    "missing": lambda schema, name: getattr(schema.column(name), "missing", schema.missing),
}

_OF_DATA_SETS: Mapping[str, Callable[[Schema], Any]] = {
    "rows": lambda schema: schema.rows,
    "domains": _domains,
    "names": _names,
    "nodes": _nodes,
    "n": _number_of_nodes,
    "source": lambda schema: None if schema.graph is None else schema.graph.source,
    "target": lambda schema: None if schema.graph is None else schema.graph.target,
    "max_degree": lambda schema: None if schema.graph is None else schema.graph.max_degree,
}
