"""Counting by keys: what a question needs to know of a row, where an engine can tell it exactly.

A cell is a public function of a row.  Often it is one of *keys*: of a label, and of the cell of a
number on a public grid.  An engine that computes keys by itself groups rows by them, and the
product's own encoders see every different combination once, with its number of rows: one GROUP BY
in place of a stream of all rows.

The counts stay those of memory, by two facts.  A label is grouped by its bytes, or as a whole
number, so that rows of one group are equal to every encoder.  And the SQL of a grid consists of
comparisons, conversions of numbers of 64 bits and +, -, *, / and roots of floats, each of which
IEEE 754 rounds in one way.  Columns of other types are streamed.

**Groups.**  Rows are split by public groups: counts by group and cell, one pass over the data.

**Parallel composition.**  A row belongs to one group at most, so adding or removing one changes the
counts of one group.  If every group's counts go through an ε-DP release of their own, all of them
together are ε-DP under add/remove-row.  Where everyone's group is public and fixed and one value is
replaced, again one group changes: ε-DP under replace-one, with releases that are so.  A replacement
that may change the group as well is a row less in one group and one more in another: 2ε.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import Lookup, as_numbers
from dampen.data.memory import MemoryTable, StreamTable
from dampen.data.source import Batch, Chunk, Field, Kind, Opened, columns_of, require_labels
from dampen.errors import RULES, ParameterError

__all__ = [
    "ANY_GROUP",
    "LARGEST_TABLE",
    "GridKey",
    "GridSql",
    "GroupLookup",
    "Grouping",
    "Key",
    "Keyed",
    "LabelKey",
    "NumberKey",
    "cell_between",
    "end_cell",
    "nearest_cell",
]


@dataclass(frozen=True)
class LabelKey:
    """A column that is compared with public labels; its key is the value itself."""

    listed: Sequence[Hashable]

    def of(self, chunk: Chunk) -> Chunk:
        return chunk


@dataclass(frozen=True)
class GridKey:
    """A column of numbers on a public grid; its key is the cell, -1 for a number that is missing.

    Attributes:
        cells: of floats, NaN where one is missing; what is beyond an end belongs to that end.
        ends: of the grid.
        sql: the cells in SQL, or None where SQL could not tell.
    """

    cells: Callable[[FloatArray], IntArray]
    ends: tuple[float, float]
    sql: "GridSql | None"

    def of(self, chunk: Chunk) -> IntArray:
        return self.cells(as_numbers(chunk))


@dataclass(frozen=True)
class GridSql:
    """The cell of a number, as SQL.

    Attributes:
        number: of the column {x}, a double or null: the number within the ends, null if missing.
        cell: of that number {x} and its {place}: a whole number, null where {x} is.
        quotient: of that number {x}; the place is the whole number nearest to it.
        whole: the cell of a column {x} of whole numbers, where arithmetic of those is enough.
    """

    number: str
    cell: str
    quotient: str = ""
    whole: str = ""


@dataclass(frozen=True)
class NumberKey:
    """A column of numbers as they are; its key is the float, NaN where a number is missing."""

    def of(self, chunk: Chunk) -> FloatArray:
        return as_numbers(chunk)


Key: TypeAlias = LabelKey | GridKey | NumberKey


@dataclass(frozen=True)
class Keyed:
    """The cells of rows, by way of the keys of columns; a `CellOf`.

    Attributes:
        keys: of the columns by their names.
        cells: of a batch of keys; it may overwrite what it is given.
        of: the public parameters that the cells are a function of.  Two with equal `of` give every
            row the same cell, so that their counts can be kept.  None where that is not promised.
    """

    keys: Mapping[str, Key]
    cells: Callable[[Mapping[str, Any]], IntArray]
    of: Hashable = None

    def __call__(self, batch: Batch) -> IntArray:
        return self.cells({name: key.of(batch[name]) for name, key in self.keys.items()})


def nearest_cell(lower: float, upper: float, step: float, top: int) -> GridSql:
    """The cell nearest to a number: the very operations of `dampen.questions.groups.statistics`.

    Operations that change no number are left out: of 0, by 1, and the comparison with the top where
    the upper end is not above it, for each operation keeps the order of numbers.
    """
    distance = f"({{x}} - {_double(lower)})" if lower else "{x}"
    share = f"{distance} / {_double(step)}" if step != 1 else distance
    cell = place = f"floor({share} + {_double(0.5)})"
    if math.floor((upper - lower) / step + 0.5) > top:
        cell = f"case when {place} > {_double(top)} then {_double(top)} else {place} end"
    whole = ""
    if step == 1 and lower.is_integer() and max(abs(lower), abs(upper)) < 2**52:
        low = int(lower)
        high = int(upper)
        whole = (
            f"case when {{x}} < {low} then 0 when {{x}} > {high} then {top} else {{x}} - {low} end"
        )
    return GridSql(_clipped(lower, upper), cell, whole=whole)


def cell_between(first: int, stride: int, unit: int, count: int, last: float) -> GridSql | None:
    """Cell 2i for a number at the i-th point, 2i+1 for one between it and the next.

    The points are (first + i stride) / unit for 0 <= i < count, each the nearest float, and `last`,
    where that is a further one.  None where points are so close, or so large, that floats would not
    do.  Else let s = stride / unit and e = 2^-53 max |point| <= s/32.  A float x from one point
    to the next, i to i+1, has a quotient (x - first/unit) / s from i - e/s to i + 1 + e/s, and at
    the point i from i - e/s to i + e/s; what SQL computes of it differs by at most e/s + 2^-28, for
    there are at most 10^7 points.  So the whole number r nearest to it is i or i+1, and at the
    point i it is i.  SQL computes the r-th point as it is defined, by one division of whole
    numbers that floats hold; the sign of its difference from x is exact: 2r + sign is the cell.
    The point after the largest lies at or beyond `last`, so that a float below `last` is below it.
    """
    highest = first + (count - 1) * stride
    largest = max(abs(first), abs(highest) + stride)
    if largest > min(2**48 * stride, 2**52) or unit > 2**52:
        return None
    point = f"({_double(first)} + {{place}} * {_double(stride)}) / {_double(unit)}"
    cell = f"2 * {{place}} + sign({{x}} - {point})"
    if last > highest / unit:
        cell = f"case when {{x}} = {_double(last)} then {2 * count} else {cell} end"
    quotient = f"({{x}} - {_double(first / unit)}) / {_double(stride / unit)}"
    return GridSql(_clipped(first / unit, last), cell, quotient)


def end_cell(lower: float, upper: float, count: int) -> GridSql:
    """One of `count` cells, narrow at both ends: the operations of `percentiles.two_stages`."""
    share = f"({{x}} - {_double(lower)}) / {_double(upper - lower)}"
    r = f"sqrt(sqrt({share}))"
    rest = f"sqrt(sqrt({_double(1)} - {share}))"
    place = f"floor({_double(count)} * ({r} / ({r} + {rest})))"
    last = _double(count - 1)
    cell = f"case when {place} > {last} then {last} else {place} end"
    return GridSql(_clipped(lower, upper), cell)


def _clipped(lower: float, upper: float) -> str:
    """The number within its bounds, null if it is missing; NaN is the largest to both engines."""
    low = _double(lower)
    high = _double(upper)
    return (
        f"case when {{x}} < {low} then {low} when {{x}} <= {high} then {{x}} "
        f"when {{x}} > {high} and not isnan({{x}}) then {high} end"
    )


def _double(number: float) -> str:
    """A float as SQL: a bare 0.1 would be a decimal."""
    return f"cast('{float(number)!r}' as double)"


LARGEST_TABLE = 50_000_000
ANY_GROUP: tuple[Hashable, ...] = (("",),)
"""In the place of groups that are not known yet: no column holds such a value."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The public list of groups; rows of other groups are dropped, and nobody learns of them.

    `MISSING` and `OTHER` among them are groups of rows without a group, and of all other groups.
    Where several columns make a group, each group is a tuple with one label of each.

    Raises:
        ParameterError: if it is no list, is empty or names a group twice.
    """

    groups: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _listed(self.groups))
        try:
            different = len(set(self.groups))
        except TypeError:
            raise ParameterError("Expected groups such as text or whole numbers.") from None
        if different < len(self.groups):
            raise ParameterError("Expected different groups; some occur twice.")

    def check_column(self, opened: Opened, by: str, values: str) -> None:
        """Checks that the columns of groups exist, and by their types can hold these groups.

        Rows of other groups are dropped silently, so numbers that never equal a text would show in
        nothing but a random answer.

        Raises:
            ParameterError: if they do not, or one is the column of the values.
        """
        columns = columns_of(opened, by)
        if values in columns:
            raise ParameterError("Expected by=, the column of groups, beside that of the values.")
        require_labels(opened, *columns)
        for column, groups in zip(columns, self._parts(len(columns)), strict=True):
            _check_labels(opened, column, groups)

    def check_size(self, cells: int) -> None:
        """Refuses more counts than fit into memory."""
        if len(self.groups) * cells > LARGEST_TABLE:
            raise ParameterError(
                f"Expected at most {LARGEST_TABLE:,} counts, groups times cells, got "
                f"{len(self.groups)} times {cells:,}. Take a larger step, or fewer groups."
            )

    def counts(
        self, rows: Opened, by: str, wanted: Mapping[str, Kind], cell_of: Keyed, cells: int
    ) -> IntArray:
        """Rows by group, one line each, and cell; in one more column at the end those of no cell.

        Args:
            rows: the opened data.
            by: the name of the column of groups.
            wanted: the columns that `cell_of` looks at.
            cell_of: as in `Opened.counts`, within a group.
            cells: how many cells a group has.
        """
        lookup = self.lookup(rows, by)
        width = cells + 1

        def place_of(keys: Mapping[str, Any]) -> IntArray:
            group = lookup.positions(keys)
            place = cell_of.cells(keys)
            place[place < 0] = cells
            place += group * width
            place[group < 0] = -1
            return place

        needed: dict[str, Kind] = {**wanted, **lookup.wanted}
        of = None if cell_of.of is None else (cell_of.of, by, self.groups, cells)
        keyed = Keyed({**cell_of.keys, **lookup.keys}, place_of, of)
        total = rows.counts(needed, keyed, len(self.groups) * width)
        return np.asarray(total[:-1].reshape(len(self.groups), width))

    def lookup(self, rows: Opened, by: str) -> "GroupLookup":
        """How the group of a row is found.

        Args:
            rows: the opened data.
            by: the name of the column of groups, or several with commas.
        """
        columns = columns_of(rows, by)
        parts = self._parts(len(columns))
        lookups = {name: Lookup(labels) for name, labels in zip(columns, parts, strict=True)}
        return GroupLookup(lookups, self.groups)

    def _parts(self, columns: int) -> list[tuple[Hashable, ...]]:
        """The different labels of every column of groups.

        Raises:
            ParameterError: if there are several columns, and a group has not one label of each.
        """
        if columns == 1 or self.groups == ANY_GROUP:
            return [tuple(self.groups)] * columns
        if not all(isinstance(group, tuple) and len(group) == columns for group in self.groups):
            raise ParameterError(
                f"Expected groups with one value of each of the {columns} columns, such as "
                "('A', 2020)."
            )
        return [
            tuple(dict.fromkeys(group[i] for group in self.groups))  # type: ignore[index]
            for i in range(columns)
        ]


@dataclass(frozen=True)
class GroupLookup:
    """The position of rows among public groups, by the labels of one or several columns.

    Attributes:
        lookups: of every column.
        groups: the public groups; tuples of labels where there are several columns.
    """

    lookups: Mapping[str, Lookup]
    groups: Sequence[Hashable]

    @property
    def wanted(self) -> dict[str, Kind]:
        return {name: lookup.kind for name, lookup in self.lookups.items()}

    @property
    def keys(self) -> dict[str, Key]:
        return {name: LabelKey(lookup.categories) for name, lookup in self.lookups.items()}

    def positions(self, batch: Mapping[str, Any]) -> IntArray:
        """One position per row, -1 for one of no listed group."""
        if len(self.lookups) == 1:
            [(name, lookup)] = self.lookups.items()
            return lookup.positions(batch[name])
        levels, position = self._listed
        prefix = np.zeros(1, dtype=np.int64)
        for (name, lookup), codes in zip(self.lookups.items(), levels, strict=True):
            prefix = _place_in(codes, prefix, lookup.positions(batch[name]), len(lookup))
        return position[prefix]

    @cached_property
    def _listed(self) -> tuple[list[IntArray], IntArray]:
        """Of every column, the codes of the beginnings of groups up to it; and whose they are.

        A code is the place of the beginning before the column, times its labels, plus its label.
        Codes ascend; the last ones are those of whole groups, and have positions, -1 for none.
        """
        levels = []
        prefix = np.zeros(1, dtype=np.int64)
        for i, lookup in enumerate(self.lookups.values()):
            place = lookup.positions([group[i] for group in self.groups])  # type: ignore[index]
            levels.append(np.unique(prefix * len(lookup) + place))
            prefix = _place_in(levels[-1], prefix, place, len(lookup))
        return levels, np.append(np.argsort(prefix), -1)


def _place_in(codes: IntArray, prefix: IntArray, place: IntArray, labels: int) -> IntArray:
    """The place of a beginning of groups among the listed ones, -1 if it is none of them."""
    coded = prefix * labels + place
    found = np.minimum(np.searchsorted(codes, coded), len(codes) - 1)
    return np.where((prefix >= 0) & (place >= 0) & (codes[found] == coded), found, -1)


def _check_labels(opened: Opened, by: str, groups: Sequence[Hashable]) -> None:
    """Checks that a column can hold these labels, by its declared type."""
    [field] = [field for field in opened.fields if field.name == by]
    in_memory = isinstance(opened, MemoryTable | StreamTable)  # of files numbers become text
    listed = [group for group in groups if group not in RULES]
    text = bool(listed) and all(isinstance(group, str) for group in listed)
    numbers = bool(listed) and all(isinstance(group, Number) for group in listed)
    told = f"{field.type}" if opened.declared else "another type"
    if (text and in_memory and field.holds == "numbers") or (numbers and _is_text(field)):
        got = "text" if text else "numbers"
        raise ParameterError(
            f"Expected groups as they stand in column {by!r}, which holds {told}; got {got}."
        )


def _listed(groups: Any) -> tuple[Hashable, ...]:
    """The groups in their public order, numpy's scalars as plain ones."""
    if isinstance(groups, str | bytes | Set | Mapping) or not isinstance(groups, Collection):
        raise ParameterError(
            f"Expected groups, a public list of them, got {type(groups).__name__}."
        )
    listed = tuple(groups.tolist() if hasattr(groups, "tolist") else groups)
    if not listed:
        raise ParameterError("Expected groups, a public list of them, got none.")
    return listed


def _is_text(field: Field) -> bool:
    return field.type is not None and field.type.lower().startswith(("str", "large_str", "utf8"))
