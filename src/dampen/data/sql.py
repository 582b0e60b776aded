"""Engines: where tables may live that are asked, not read.

What DuckDB and Spark have in common is here: the query that groups rows by keys, in the SQL that
both speak, and what to say when they fail.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.cells import Key, Keyed, LabelKey
from dampen.data.columns import as_numbers, typed
from dampen.data.source import CellOf, Field, Kind
from dampen.errors import DataError

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
        nearest: the SQL of the whole number nearest to a double; which, in the middle, is free.
    """

    text: frozenset[str]
    whole: frozenset[str]
    floats: frozenset[str]
    label: str
    nearest: str


@dataclass(frozen=True)
class KeyColumn:
    """How a column enters a GROUP BY, and how its key is read from the answer.

    Attributes:
        source: the SQL of the column, with {x} for its name.
        key: what is read.
        cell: the SQL of its cell, with {x} for the source; empty to group by the source.
    """

    source: str
    key: Key
    cell: str = ""

    @classmethod
    def of(cls, key: Key, field: Field, dialect: Dialect) -> "KeyColumn | None":
        """None where SQL could not tell the key."""
        whole = field.type in dialect.whole
        if isinstance(key, LabelKey):
            if not whole and field.type not in dialect.text:
                return None
            return cls("cast({x} as bigint)" if whole else dialect.label, key)
        low = math.floor(key.ends[0])
        high = math.ceil(key.ends[1])
        if whole and high - low < MOST_WHOLE:
            clipped = "case when {x} < low then low when {x} > high then high else {x} end"
            clipped = clipped.replace("low", str(low)).replace("high", str(high))
            return cls(f"cast({clipped} as bigint)", key)
        if key.sql is None or not (whole or field.type in dialect.floats):
            return None
        place = dialect.nearest.format(key.sql.quotient)
        cell = key.sql.cell.replace("{place}", place)
        source = key.sql.number.replace("{x}", "cast({x} as double)")
        return cls(source, key, f"cast({cell} as bigint)")

    def read(self, column: Any, kind: Kind) -> Any:
        """The key of every group, from its column of the answer."""
        if isinstance(self.key, LabelKey):
            return typed(column, kind)
        numbers = as_numbers(column)
        if not self.cell:
            return self.key.cells(numbers)
        return np.where(np.isnan(numbers), -1, numbers).astype(np.int64)


@dataclass(frozen=True)
class KeyQuery:
    """A GROUP BY of the columns c0, c1, ..., and the rows of every key."""

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

    def sources(self, quoted: Callable[[str], str]) -> list[str]:
        """The first columns c0, c1, ... of the query, from those of the table."""
        return [
            f"{column.source.format(x=quoted(name))} as c{i}"
            for i, (name, column) in enumerate(zip(self.wanted, self.columns, strict=True))
        ]

    @property
    def cells(self) -> list[str]:
        """The columns to group by, from the first ones; their names stay."""
        return [
            f"{(column.cell or '{x}').format(x=f'c{i}')} as c{i}"
            for i, column in enumerate(self.columns)
        ]

    @property
    def keys(self) -> list[str]:
        """The names of the columns to group by."""
        return [f"c{i}" for i in range(len(self.columns))]

    def counted(self, batches: Iterable[Sequence[Any]], size: int) -> IntArray:
        """`Opened.counts` from the columns of the answer: the keys, then the rows."""
        total = np.zeros(size + 1, dtype=np.int64)
        for *columns, rows in batches:
            keys = {
                name: column.read(chunk, kind)
                for (name, kind), column, chunk in zip(
                    self.wanted.items(), self.columns, columns, strict=True
                )
            }
            cells = self.cell_of.cells(keys)
            np.add.at(total, np.where(cells < 0, size, cells), np.asarray(rows))
        return total


def failed(title: str) -> DataError:
    """What to say when an engine fails: its own words may quote rows."""
    return DataError(
        f"Expected {title} to be read to its end; the engine failed. Run the query by itself to "
        "see why; its message may show private data."
    )
