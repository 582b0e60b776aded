"""Engines: where tables may live that are asked, not read.

What DuckDB and Spark have in common is here: the query that groups rows by keys, in the SQL that
both speak, and what to say when they fail.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen.data.columns import as_numbers, typed
from dampen.data.keys import GridKey, Key, Keyed, LabelKey
from dampen.data.opened import CellOf, Field, Kind
from dampen.errors import DataError
from dampen.selection import IntArray

__all__ = ["Dialect", "KeyQuery", "failed"]


MOST_WHOLE = 1 << 16
"""Whole numbers of a range that are grouped as they are: no arithmetic is cheaper."""


@dataclass(frozen=True)
class Dialect:
    """How an engine names the types whose values SQL and Python see alike.

    Attributes:
        text: of text.
        whole: of whole numbers that fit into 64 bits.
        floats: of floats of 32 and 64 bits.
        label: the SQL of a text that is grouped by its bytes, whatever the collation.
    """

    text: frozenset[str]
    whole: frozenset[str]
    floats: frozenset[str]
    label: str


@dataclass(frozen=True)
class KeyColumn:
    """How a column enters a GROUP BY, and how its key is read from the answer.

    Attributes:
        source: the SQL of the column, with {} for its name.
        steps: names and SQL of further columns, each from those before it, {x} being the column.
        names: of the steps to group by; empty for the column itself.
        key: what is read.
    """

    source: str
    key: Key
    steps: Sequence[tuple[str, str]] = ()
    names: Sequence[str] = ()

    @classmethod
    def of(cls, key: Key, field: Field, dialect: Dialect) -> "KeyColumn | None":
        """None where SQL could not tell the key."""
        whole = field.type in dialect.whole
        if isinstance(key, LabelKey):
            if not whole and field.type not in dialect.text:
                return None
            return cls("cast({} as bigint)" if whole else dialect.label, key)
        low, high = math.floor(key.ends[0]), math.ceil(key.ends[1])
        if whole and high - low < MOST_WHOLE:
            clipped = (
                f"case when {{x}} < {low} then {low} when {{x}} > {high} then {high} else {{x}} end"
            )
            return cls("cast({} as bigint)", key, [("rest", clipped)], ["rest"])
        if key.sql is None or not (whole or field.type in dialect.floats):
            return None
        return cls("cast({} as double)", key, key.sql.steps, key.sql.names)

    def read(self, columns: Iterator[Any], kind: Kind) -> Any:
        """The key of every group, from the next columns of the answer."""
        if isinstance(self.key, LabelKey):
            return typed(next(columns), kind)
        cells = None if self.names[0] == "rest" else self._cells_of_places(next(columns))
        if self.names[-1] != "rest":
            return cells
        rest = self.key.cells(as_numbers(next(columns)))
        return rest if cells is None else np.where(cells < 0, rest, cells)

    def _cells_of_places(self, column: Any) -> IntArray:
        assert isinstance(self.key, GridKey)
        assert self.key.sql is not None
        place = as_numbers(column)
        left = np.isnan(place)
        return np.where(left, -1, self.key.sql.cell(np.where(left, 0, place).astype(np.int64)))


@dataclass(frozen=True)
class KeyQuery:
    """A GROUP BY: columns c0, c1, ..., then further ones, then the rows of every key."""

    cell_of: Keyed
    wanted: Mapping[str, Kind]
    columns: Sequence[KeyColumn]

    @classmethod
    def of(
        cls,
        cell_of: CellOf,
        wanted: Mapping[str, Kind],
        fields: Sequence[Field],
        dialect: Dialect,
    ) -> "KeyQuery | None":
        """The query for a question, None where it is not by keys or SQL could not tell them."""
        if not isinstance(cell_of, Keyed):
            return None
        known = {field.name: field for field in fields}
        made = [KeyColumn.of(cell_of.keys[name], known[name], dialect) for name in wanted]
        columns = [column for column in made if column is not None]
        return cls(cell_of, wanted, columns) if len(columns) == len(made) else None

    @property
    def steps(self) -> Iterator[tuple[str, str]]:
        """Names and SQL.  There is one grid at most, so that names are different."""
        for i, column in enumerate(self.columns):
            for name, sql in column.steps:
                yield name, sql.format(x=f"c{i}")

    @property
    def keys(self) -> list[str]:
        """The columns to group by."""
        return [name for i, column in enumerate(self.columns) for name in column.names or [f"c{i}"]]

    def counted(self, batches: Iterable[Sequence[Any]], size: int) -> IntArray:
        """`Opened.counts` from the columns of the answer: the keys, then the rows."""
        total = np.zeros(size + 1, dtype=np.int64)
        for *columns, rows in batches:
            left, keys = iter(columns), dict[str, Any]()
            for (name, kind), column in zip(self.wanted.items(), self.columns, strict=True):
                keys[name] = column.read(left, kind)
            cells = self.cell_of.cells(keys)
            np.add.at(total, np.where(cells < 0, size, cells), np.asarray(rows))
        return total


def failed(title: str) -> DataError:
    """What to say when an engine fails: its own words may quote rows."""
    return DataError(
        f"Expected {title} to be read to its end; the engine failed. Run the query by itself to "
        "see why; its message may show private data."
    )
