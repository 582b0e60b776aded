"""Engines that count rows by SQL, so that dampen need not read them.

What engines have in common is here: the query that groups rows by keys, in the SQL that DuckDB and
Spark speak, the query that adds up the weights of persons, and what to say when they fail.

**Weights of persons** (`UnitQuery`).  A first query asks which keys there are; the product's own
encoders number their cells.  The second joins rows with these numbers, counts the rows of every
person and cell, and adds up, by a window over the cells of each person in their order, the weights
that `dampen.data.units` defines: the same whole numbers as in memory.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.cells import GridKey, Key, Keyed, LabelKey, NumberKey
from dampen.data.columns import as_numbers, is_arrow, typed
from dampen.data.source import CellOf, Field, Kind, has_arrow
from dampen.data.units import People, Present
from dampen.errors import DataError

__all__ = ["MOST_KEYS", "Dialect", "KeyQuery", "UnitQuery", "asked_weights", "failed"]


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
        literal: the SQL of a text that equals such a label, with {x} for its bytes in hexadecimal.
        quotient: the SQL of a whole quotient of whole numbers {a} and {b}, rounded down.
        larger: the name of the function that gives the largest of its arguments.
        smaller: of the one that gives the smallest.
    """

    text: frozenset[str]
    whole: frozenset[str]
    floats: frozenset[str]
    label: str
    nearest: str
    literal: str = ""
    quotient: str = ""
    larger: str = "greatest"
    smaller: str = "least"


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
        """The key of a column, or None where SQL cannot compute it."""
        whole = field.type in dialect.whole
        if isinstance(key, LabelKey):
            if not whole and field.type not in dialect.text:
                return None
            return cls("cast({x} as bigint)" if whole else dialect.label, key)
        if isinstance(key, NumberKey):
            known = whole or field.type in dialect.floats
            return cls("cast({x} as bigint)" if whole else "{x}", key) if known else None
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

    @classmethod
    def added(cls, key: GridKey, field: Field, dialect: Dialect) -> "KeyColumn | None":
        """A column whose cells are added up; None where SQL could not tell them."""
        whole = field.type in dialect.whole
        if key.sql is None or key.sql.quotient or not (whole or field.type in dialect.floats):
            return None
        if whole and key.sql.whole:
            return cls(f"cast({key.sql.whole} as bigint)", key)
        source = key.sql.number.replace("{x}", "cast({x} as double)")
        return cls(source, key, f"cast({key.sql.cell} as bigint)")

    def read(self, column: Any, kind: Kind) -> Any:
        """The key of every group, from its column of the answer."""
        if isinstance(self.key, LabelKey):
            return typed(column, kind)
        numbers = as_numbers(column)
        if isinstance(self.key, NumberKey):
            return numbers
        if not self.cell:
            return self.key.cells(numbers)
        return np.where(np.isnan(numbers), -1, numbers).astype(np.int64)


@dataclass(frozen=True)
class KeyQuery:
    """A GROUP BY of the columns c0, c1, ..., and the rows of every key; or, of the last column, how
    many cells every key has and their sum.
    """

    cell_of: Keyed
    wanted: Mapping[str, Kind]
    columns: Sequence[KeyColumn]
    adds: bool = False

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

    @classmethod
    def of_sums(
        cls,
        group_of: CellOf,
        wanted: Mapping[str, Kind],
        fields: Sequence[Field],
        dialect: Dialect,
        *,
        value: str,
        key: GridKey,
    ) -> "KeyQuery | None":
        """The query for `AddsCells.sums`, None where SQL could not tell groups or cells."""
        groups = cls.of(group_of, wanted, fields, dialect)
        [field] = [field for field in fields if field.name == value]
        added = KeyColumn.added(key, field, dialect)
        if groups is None or added is None:
            return None
        columns = [*groups.columns, added]
        return cls(groups.cell_of, {**wanted, value: "numbers"}, columns, adds=True)

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
        return [f"c{i}" for i in range(len(self.columns) - self.adds)]

    @property
    def numbers(self) -> list[str]:
        """The aggregates beside the keys."""
        if not self.adds:
            return ["count(*) as n"]
        cell = f"c{len(self.columns) - 1}"
        return [f"count({cell}) as n", f"cast(coalesce(sum({cell}), 0) as bigint) as s"]

    def read(self, columns: Sequence[Any]) -> dict[str, Any]:
        """The keys by the names of their columns, as `Keyed.cells` takes them."""
        return {
            name: column.read(chunk, kind)
            for (name, kind), column, chunk in zip(
                self.wanted.items(), self.columns, columns, strict=False
            )
        }

    def counted(self, batches: Iterable[Sequence[Any]], size: int) -> IntArray:
        """`Opened.counts` from the columns of the answer: the keys, then the rows."""
        return self.added(batches, size)[:, 0]

    def added(self, batches: Iterable[Sequence[Any]], size: int) -> IntArray:
        """All numbers of every public cell, one line each, in one more line those of no cell."""
        total = np.zeros((size + 1, len(self.numbers)), dtype=np.int64)
        for keys, numbers in self.keyed(batches):
            cells = self.cell_of.cells(keys) if keys else np.zeros(len(numbers), dtype=np.int64)
            np.add.at(total, np.where(cells < 0, size, cells), numbers)
        return total

    def keyed(self, batches: Iterable[Sequence[Any]]) -> Iterator[tuple[dict[str, Any], IntArray]]:
        """The keys and the numbers of every group, from the columns of the answer."""
        grouped = len(self.keys)
        for batch in batches:
            keys = self.read(batch[:grouped])
            yield keys, np.stack([np.asarray(each) for each in batch[grouped:]], axis=1)


MOST_KEYS = 1 << 15
"""Different keys of rows that are written into a query, with the cell of each."""


REPLACED = "\ufffd"
"""In the place of bytes that are not UTF-8."""


@dataclass(frozen=True)
class UnitQuery:
    """The weights of persons in every cell, in two queries.

    Attributes:
        keys: of the cells.
        unit: the SQL of the id, c0, c1, ... are those of the keys.
        known: the SQL of whether there is an id.
        people: who they are and what they add.
        dialect: of the engine.
    """

    keys: KeyQuery
    unit: str
    known: str
    people: People
    dialect: Dialect

    @classmethod
    def of(
        cls,
        keys: KeyQuery | None,
        fields: Sequence[Field],
        dialect: Dialect,
        people: People,
        quoted: Callable[[str], str],
    ) -> "UnitQuery | None":
        """The query, or None where SQL cannot compute the cells or the persons as memory does."""
        [field] = [each for each in fields if each.name == people.unit]
        whole = field.type in dialect.whole
        if keys is None or not (whole or field.type in dialect.text):
            return None
        column = ("cast({x} as bigint)" if whole else dialect.label).format(x=quoted(people.unit))
        known = f"{quoted(people.unit)} is not null"
        if not whole:
            known = f"({known} and {column} <> {dialect.literal.format(x='')})"
        return cls(keys, column, known, people, dialect)

    def listed(self, batches: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]] | None:
        """The keys of the public cells, each with its cell; None if SQL cannot tell them apart.

        Args:
            batches: columns of the different keys, as the first query gives them.
        """
        found = list[tuple[Any, ...]]()
        for columns in batches:
            keys = self.keys.read(columns)
            cells = self.keys.cell_of.cells(keys)
            inside = cells >= 0
            if self.people.width:
                inside &= cells % self.people.width != self.people.width - 1
            values = [each.to_pylist() if is_arrow(each) else list(each) for each in columns]
            for i in np.flatnonzero(inside).tolist():
                key = tuple(column[i] for column in values)
                if any(each is None or REPLACED in str(each) for each in key):
                    # A missing label that is a cell of its own, or text that could not be decoded:
                    # several texts read alike then, and equal none of the engine's.
                    return None
                found.append((*key, int(cells[i])))
        return found

    def listed_sql(self, listed: Sequence[tuple[Any, ...]]) -> str:
        """The keys and their cells as the rows of a VALUES."""
        return ", ".join(f"({', '.join(map(self._literal, each))})" for each in listed)

    def statement(self, rows: str, listed: str) -> str:
        """The whole second query: the weight of every cell that has one.

        Args:
            rows: SQL of a table of the columns u, c0, c1, ...
            listed: SQL of a table of the columns k0, k1, ..., cell.
        """
        return (
            f"with r as ({rows}), m as ({listed}), p as ({self.pairs('r', 'm')}), "
            f"w as ({self.windows('p')}) {self.weights('w')}"
        )

    def pairs(self, rows: str, listed: str) -> str:
        """The rows of every person and cell: u, cell, n."""
        same = " and ".join(f"{rows}.{key} = {listed}.k{key[1:]}" for key in self.keys.keys)
        counted = "1" if getattr(self.people.weighing, "distinct", True) else "count(*)"
        return (
            f"select u, cell, cast({counted} as bigint) as n from {rows} join {listed} on {same} "
            f"group by u, cell"
        )

    def windows(self, pairs: str) -> str:
        """The rows of the person up to the cell, c, and those that share the quantum, r."""
        weighing = self.people.weighing
        if isinstance(weighing, Present):
            return f"select cell, 1 as v from {pairs}"
        person = "partition by u"
        if weighing.within_lines:
            person += f", {self._quotient('cell', str(self.people.width))}"
        up_to = f"{person} order by cell rows between unbounded preceding and current row"
        own = f"cast(sum(n) over ({person}) as bigint)"
        if weighing.shared_by is not None:
            own = f"{self.dialect.smaller}({own}, {weighing.shared_by})"
        return (
            f"select cell, n, cast(sum(n) over ({up_to}) as bigint) as c, "
            f"{self.dialect.larger}({own}, {weighing.cap}) as r from {pairs}"
        )

    def weights(self, windows: str) -> str:
        """The weight of every cell: cell, weight."""
        return f"select cell, cast(sum({self.weight}) as bigint) as n from {windows} group by cell"

    @property
    def weight(self) -> str:
        """The weight of one person in one cell."""
        if isinstance(self.people.weighing, Present):
            return "v"
        up_to, before = (
            self._quotient(f"{self.people.weighing.quantum} * {rows}", "r")
            for rows in ("c", "(c - n)")
        )
        return f"{up_to} - {before}"

    def counted(self, batches: Iterable[Sequence[Any]], size: int) -> IntArray:
        """The counts from the columns of the answer: cell and weight."""
        total = np.zeros(size + 1, dtype=np.int64)
        for cells, weights in batches:
            total[np.asarray(cells, dtype=np.int64)] += np.asarray(weights, dtype=np.int64)
        return total

    def _quotient(self, a: str, b: str) -> str:
        return f"({self.dialect.quotient.format(a=a, b=b)})"

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            return self.dialect.literal.format(x=value.encode("utf-8").hex())
        return str(int(value))


def asked_weights(
    query: UnitQuery,
    table: str,
    quoted: Callable[[str], str],
    size: int,
    execute: Callable[[str], Any],
) -> IntArray | None:
    """The weights by a connection that runs statements and gives rows.

    Args:
        query: what is asked.
        table: what follows FROM: the table and its WHERE.
        quoted: writes the name of a column.
        size: of the public cells.
        execute: runs a statement.

    Returns:
        The counts of a `UnitTable`; None where there are too many keys.
    """
    keys = query.keys
    first = ", ".join([f"{query.unit} as u", *keys.sources(quoted)])
    rows = f"select u, {', '.join(keys.cells)} from (select {first} from {table}"
    names = ", ".join(f"c{i}" for i in range(len(keys.columns)))
    asked = f"select distinct {names} from ({rows}) as s) as d limit {MOST_KEYS + 1}"
    found = execute(asked).fetchall()
    listed = query.listed(_columns(found))
    if listed is None or len(found) > MOST_KEYS:
        return None
    if not listed:
        return np.zeros(size + 1, dtype=np.int64)
    columns = [f"column{i + 1} as {name}" for i, name in enumerate(_mapped(len(keys.columns)))]
    mapped = f"select {', '.join(columns)} from (values {query.listed_sql(listed)}) as v"
    answered = execute(query.statement(f"{rows} and {query.known}) as s", mapped)).fetchall()
    return query.counted(_columns(answered), size)


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows of text and whole numbers as one batch of columns; none of no rows."""
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    if not has_arrow():
        return [columns]
    import pyarrow as pa

    return [[pa.array(each, pa.string() if _is_text(each) else pa.int64()) for each in columns]]


def _is_text(column: Sequence[Any]) -> bool:
    return any(isinstance(each, str) for each in column)


def _mapped(keys: int) -> list[str]:
    return [*(f"k{i}" for i in range(keys)), "cell"]


def failed(title: str) -> DataError:
    """The error of an engine that failed; its own message may quote rows."""
    return DataError(
        f"Expected {title} to be read to its end; the engine failed. Run the query by itself to "
        "see why; its message may show private data."
    )
