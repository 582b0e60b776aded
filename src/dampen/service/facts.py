"""Public facts about a data set: all that an analyst is shown, and all that questions use.

    [data.public]
    title = "Salaries of 2026"
    version = "May"                # a new version makes every question a new one
    rows = 5000                    # a public bound on the number of rows; trees need it
    questions = ["percentile"]     # default: all that the columns allow
    analysts = ["ana", "ben"]      # default: everyone with a token
    sample = "made-up.csv"         # a public file of the same shape, to see what to expect
    table = "salaries"             # of a database file

    [data.public.columns]
    salary = { lower = 0, upper = 500000, step = 1000, bins = 20 }
    ward = { values = ["A", "B"] }
    employee = { label = true }    # public names of the rows

    [data.public.graph]
    source = "from"
    target = "to"
    nodes = 40                     # 0 to 39; or a list; or "nodes.txt", one per line

Write them from what is known without looking at the data: whatever stands here is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from dampen.errors import ParameterError, did_you_mean

__all__ = [
    "Categories",
    "Column",
    "Facts",
    "Graph",
    "Labels",
    "Numbers",
    "parse_facts",
]

DEFAULT_BINS = 10


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers between public bounds, on a public grid."""

    lower: float
    upper: float
    step: float | None = None
    bins: int = DEFAULT_BINS

    def shown(self) -> dict[str, Any]:
        grid = {} if self.step is None else {"step": self.step}
        return {"kind": "numbers", "lower": self.lower, "upper": self.upper, **grid} | {
            "bins": self.bins
        }


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of text, one of public values."""

    values: tuple[str, ...]

    def shown(self) -> dict[str, Any]:
        return {"kind": "categories", "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Labels:
    """A column of public names of the rows."""

    def shown(self) -> dict[str, Any]:
        return {"kind": "labels"}


Column: TypeAlias = Numbers | Categories | Labels


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges in two columns; the nodes are public.  Without columns, an edge list."""

    nodes: int | tuple[str, ...]
    source: str | None = None
    target: str | None = None

    @property
    def size(self) -> int:
        return self.nodes if isinstance(self.nodes, int) else len(self.nodes)

    def shown(self) -> dict[str, Any]:
        some = {} if isinstance(self.nodes, int) else {"first": list(self.nodes[:20])}
        return {"nodes": self.size, **some}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is public about one data set."""

    title: str = ""
    version: str = ""
    rows: int | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    graph: Graph | None = None
    questions: tuple[str, ...] = ()
    analysts: tuple[str, ...] | None = None
    sample: Path | None = None
    table: str | None = None

    def of_kind(self, kind: type[Column]) -> list[str]:
        """The columns of one kind, in the order of the file."""
        return [name for name, column in self.columns.items() if isinstance(column, kind)]

    def digest(self) -> str:
        """Another one for other bounds, values, nodes, rows or another version."""
        named = (self.version, self.rows, dict(self.columns), self.graph)
        return sha256(repr(named).encode("utf-8", "surrogatepass")).hexdigest()

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {
            "title": self.title,
            "version": self.version,
            "rows": self.rows,
            "columns": {name: column.shown() for name, column in self.columns.items()},
            "graph": None if self.graph is None else self.graph.shown(),
            "questions": list(self.questions),
            "sample": self.sample is not None,
        }


def parse_facts(content: object, base: Path, where: str) -> Facts:
    """Public facts from TOML.

    Args:
        content: what `[data.public]` holds.
        base: the directory that paths are relative to.
        where: what errors call the place.

    Raises:
        ParameterError: if it says what no facts can say.
    """
    table = _table(content, where)
    known = {"title", "version", "rows", "columns", "graph", "questions", "analysts", "sample",
             "table"}  # fmt: skip
    _check_keys(table, known, where)
    columns = {
        name: _column(entry, f"columns.{name} of {where}")
        for name, entry in _table(table.get("columns", {}), f"columns of {where}").items()
    }
    graph = None if "graph" not in table else _graph(table["graph"], base, f"graph of {where}")
    if not columns and graph is None:
        raise ParameterError(f"Expected columns or a graph in {where}.")
    sample = _text(table, "sample", where)
    return Facts(
        title=_text(table, "title", where),
        version=_text(table, "version", where),
        rows=_whole(table, "rows", where),
        columns=columns,
        graph=graph,
        analysts=None if "analysts" not in table else _texts(table["analysts"], "analysts", where),
        sample=base / sample if sample else None,
        table=_text(table, "table", where) or None,
        questions=()
        if "questions" not in table
        else _texts(table["questions"], "questions", where),
    )


def _column(content: object, where: str) -> Column:
    entry = _table(content, where)
    if "values" in entry:
        _check_keys(entry, {"values"}, where)
        return Categories(_texts(entry["values"], "values", where))
    if "label" in entry:
        _check_keys(entry, {"label"}, where)
        if entry["label"] is not True:
            raise ParameterError(f"Expected label = true in {where}.")
        return Labels()
    _check_keys(entry, {"lower", "upper", "step", "bins"}, where)
    if not {"lower", "upper"} <= entry.keys():
        raise ParameterError(f"Expected lower and upper, values, or label in {where}.")
    numbers = {key: _number(entry, key, where) for key in entry.keys() - {"bins"}}
    return Numbers(**numbers, bins=_whole(entry, "bins", where) or DEFAULT_BINS)


def _graph(content: object, base: Path, where: str) -> Graph:
    entry = _table(content, where)
    _check_keys(entry, {"nodes", "source", "target"}, where)
    source, target = (_text(entry, key, where) or None for key in ("source", "target"))
    nodes: Any = entry.get("nodes")
    if isinstance(nodes, str):
        from dampen.data.edge_files import read_nodes

        return Graph(tuple(map(str, read_nodes(base / nodes))), source, target)
    if isinstance(nodes, list):
        return Graph(_texts(nodes, "nodes", where), source, target)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise ParameterError(f"Expected nodes in {where}: a number, a list or a file.")
    return Graph(nodes, source, target)


def _table(content: object, where: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise ParameterError(f"Expected a table, such as [{where.partition(' ')[0]}], in {where}.")
    return content


def _check_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise ParameterError(f"Unknown key {key!r} in {where}.{did_you_mean(key, known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ParameterError(f"Expected {key} to be text in {where}.")
    return value


def _texts(value: object, key: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ParameterError(f"Expected {key} to be a list of texts in {where}.")
    if len(set(value)) < len(value) or not value:
        raise ParameterError(f"Expected {key} to be different, and at least one, in {where}.")
    return tuple(value)


def _whole(table: Mapping[str, Any], key: str, where: str) -> int | None:
    value = table.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ParameterError(f"Expected {key} to be a whole number above 0 in {where}.")
    return value


def _number(table: Mapping[str, Any], key: str, where: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ParameterError(f"Expected {key} to be a number in {where}.")
    return value
