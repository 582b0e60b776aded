"""The public facts of a data set, stated once: what Python, command line, service and models use.

Write them from what is known without looking at the data: whatever stands in a schema is shown.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from dampen.core.selection import Neighbours
from dampen.errors import ParameterError, did_you_mean
from dampen.schema.columns import Categories, Column, Names, Numbers, Rule, Word

__all__ = ["Graph", "Schema"]

MOST_ROWS = 2**52
MOST_ROWS_PER_UNIT = 1000
RESERVED = ("row", "edge", "source")
"""Units that are no columns."""
WORDS = {
    Neighbours.ADD_REMOVE_EDGE: "one edge",
    Neighbours.ADD_REMOVE_ROW: "one row",
    Neighbours.REPLACE_ONE: "what one row says",
}
"""Whom ε protects, in words."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges in two columns, or an edge list; the nodes are public.

    Attributes:
        nodes: how many, named 0, 1, ...; or their names; or, before it was read, a file of names.
        source: the column of one end of each edge.
        target: the column of the other end.
        max_degree: a public bound on the number of neighbours of a node, if there is one.
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
        columns: the columns that may be asked about, by name.
        graph: of edges, the nodes and the columns of their ends.
        title: for people.
        version: a new version makes every question a new one.
        missing: what happens to a row whose cell is missing, where its column does not say.
        unlisted: the same for a cell that is none of the listed values.
    """

    unit: str = ""
    units_public: bool = False
    rows_per_unit: int = 1
    groups_per_unit: int | None = None
    rows: int | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    graph: Graph | None = None
    title: str = ""
    version: str = ""
    missing: Rule = "drop"
    unlisted: Rule = "drop"

    def __post_init__(self) -> None:
        if self.rows is not None and not 1 <= self.rows <= MOST_ROWS:
            raise ParameterError("Expected rows to be a whole number above 0, at most 2^52.")
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
        if self.people is None and (self.rows_per_unit > 1 or self.groups_per_unit is not None):
            raise ParameterError(
                "rows_per_unit and groups_per_unit need unit=, the column that names the person a "
                "row belongs to."
            )

    @property
    def people(self) -> str | None:
        """The column that names the person a row belongs to, if ε protects persons."""
        return None if self.unit in RESERVED else self.unit

    def of_rows(self) -> "Schema":
        """The same facts where every row is a unit of its own."""
        return replace(self, unit="row", rows_per_unit=1, groups_per_unit=None)

    @property
    def protected(self) -> str:
        """Whom ε protects, in words."""
        if self.unit == "source":
            return "one source, with all its edges"
        if self.people is not None:
            return f"one {self.people}, with all their rows"
        return WORDS[self.relation]

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
        column = None if name is None else self.columns.get(name)
        return bool(getattr(column, "public", False))

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
            "columns": {name: column.shown() for name, column in self.columns.items()},
            "graph": None if self.graph is None else self.graph.shown(),
        }


def _numbers(schema: Schema, name: str) -> Numbers:
    column = schema.column(name)
    if isinstance(column, Numbers):
        return column
    raise ParameterError(
        f"Column {name!r} is not numeric. {_choice(schema, Numbers, 'a numeric column')}"
    )


def _stated(end: float) -> float | None:
    return None if math.isnan(end) else end


def _categories(schema: Schema, name: str) -> Categories:
    column = schema.column(name)
    if isinstance(column, Categories):
        return column
    raise ParameterError(
        f"Column {name!r} has no public list of values. "
        f"{_choice(schema, Categories, 'a column with listed values')}"
    )


def _choice(schema: Schema, kind: type[Column], what: str) -> str:
    names = schema.of_kind(kind)
    return f"Choose {what}: {', '.join(names)}." if names else f"The data set has no {what[2:]}."


def _domains(schema: Schema) -> dict[str, Column]:
    """Plain facts; a model makes bins and codes of them."""
    columns = {name: schema.column(name) for name in schema.columns}
    return {name: each for name, each in columns.items() if _splits(each)}


def _splits(column: Column) -> bool:
    """Whether a model can use it."""
    return column.bounded if isinstance(column, Numbers) else isinstance(column, Categories)


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
    "values": lambda schema, name: _categories(schema, name).values,
    "classes": lambda schema, name: _categories(schema, name).values,
    "lower": lambda schema, name: _stated(_numbers(schema, name).lower),
    "upper": lambda schema, name: _stated(_numbers(schema, name).upper),
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
