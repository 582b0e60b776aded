"""What is counted of rows: cells by keys, by public groups and by numbers, and positions of labels.

- `Keyed`: counting by keys: the part of a row that a question needs, as an engine can compute it.
- `Grouping`: rows split by public groups: counts by group and cell, one pass over the data.
- `ValueCounts`, `ValueCells`: rows by group and number, where no grid says which numbers there are.
- `Numbering`: labels of nodes: one column of them as an array, and their positions in a public node
  set.
"""

import math
import re
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import (
    LARGEST_KEY,
    MOST_DIGITS,
    Lookup,
    as_numbers,
    is_arrow,
    is_missing,
    public_labels,
)
from dampen.data.memory import MemoryTable, StreamTable
from dampen.data.source import (
    Batch,
    Chunk,
    CountsValues,
    Field,
    Kind,
    Opened,
    columns_of,
    reading,
    require_labels,
)
from dampen.errors import RULES, ParameterError

__all__ = [
    "ANY_GROUP",
    "INTEGER",
    "LARGEST_TABLE",
    "GridKey",
    "GridSql",
    "GroupLookup",
    "Grouping",
    "Key",
    "Keyed",
    "LabelKey",
    "Labels",
    "NumberKey",
    "Numbering",
    "ValueCounts",
    "ValuesOf",
    "as_labels",
    "cell_between",
    "check_labels",
    "distinct",
    "end_cell",
    "is_label",
    "joined",
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

    A cell is a public function of a row.  Often it is one of *keys*: of a label, and of the cell of
    a number on a public grid.  An engine that computes keys by itself groups rows by them, and the
    product's own encoders see every different combination once, with its number of rows: one GROUP
    BY in place of a stream of all rows.

    The counts stay those of memory, by two facts.  A label is grouped by its bytes, or as a whole
    number, so that rows of one group are equal to every encoder.  And the SQL of a grid consists of
    comparisons, conversions of numbers of 64 bits and +, -, *, / and roots of floats, each of which
    IEEE 754 rounds in one way.  Columns of other types are streamed.

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
    """One of `count` cells, narrow at both ends, as in `percentile.methods.TwoStages`."""
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
    """The public list of groups; rows of other groups are dropped silently.

    `MISSING` and `OTHER` among them are groups of rows without a group, and of all other groups.
    Where several columns make a group, each group is a tuple with one label of each.

    **Parallel composition.**  A row belongs to one group at most, so adding or removing one changes
    the counts of one group.  If every group's counts go through an ε-DP release of their own, all
    of them together are ε-DP under add/remove-row.  Where everyone's group is public and fixed and
    one value is replaced, again one group changes: ε-DP under replace-one, with releases that are
    so.  A replacement that may change the group as well is a row less in one group and one more in
    another: 2ε.

    Raises:
        ParameterError: if it is no list, is empty or names a group twice.
    """

    groups: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", public_labels(self.groups, "groups"))

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
    """The place of a prefix of groups among the listed ones, -1 if it is not listed."""
    coded = prefix * labels + place
    found = np.minimum(np.searchsorted(codes, coded), len(codes) - 1)
    return np.where((prefix >= 0) & (place >= 0) & (codes[found] == coded), found, -1)


def _check_labels(opened: Opened, by: str, groups: Sequence[Hashable]) -> None:
    """Checks that a column can hold these groups, by its declared type."""
    [field] = [field for field in opened.fields if field.name == by]
    in_memory = isinstance(opened, MemoryTable | StreamTable)  # of files numbers become text
    told = f"{field.type}" if opened.declared else "another type"
    where = f"in column {by!r}, which holds {told}"
    check_labels(field, groups, "groups", where=where, in_memory=in_memory)


def check_labels(
    field: Field, labels: Sequence[Hashable], what: str, *, where: str, in_memory: bool = True
) -> None:
    """Checks that public labels are of the declared type of their column.

    Args:
        field: the column.
        labels: the list.
        what: it lists, for errors: "groups", "classes".
        where: they stand, for errors.
        in_memory: whether numbers are numbers there; of files they may become text.

    Raises:
        ParameterError: if they are of another type.
    """
    listed = [label for label in labels if label not in RULES]
    text = bool(listed) and all(isinstance(label, str) for label in listed)
    truths = text and in_memory and (field.type or "").lower().startswith("bool")
    if truths:
        raise ParameterError(
            f"Column {field.name!r} holds truth values. Expected {what}=[True, False], got text."
        )
    numbers = bool(listed) and all(isinstance(label, Number) for label in listed)
    if (text and in_memory and field.holds == "numbers") or (numbers and _is_text(field)):
        got = "text" if text else "numbers"
        raise ParameterError(f"Expected {what} as they stand {where}; got {got}.")


def _is_text(field: Field) -> bool:
    name = field.type or ""
    return name.lower().startswith(("str", "large_str", "utf8")) or name.startswith(("<U", ">U"))


HELD = 1 << 21
"""Entries that are gathered before equal ones are added up."""
FEW_GROUPS = 64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueCounts:
    """Every group and number once, by group, then number; private.

    Questions about ranks need the order of the numbers and how often each occurs, nothing else.
    Memory and files are counted batch by batch, so that only different numbers are kept; engines
    group rows by themselves; of persons (`dampen.data.units`) the weights are counted.  A number is
    the nearest float of its cell; rows of groups that are not listed are dropped.

    Attributes:
        group: the place of the group in the public list; 0 if there are no groups.
        number: which rows of the group have.
        rows: how many have it.
        missing: rows without a number, one entry per group.
    """

    group: IntArray
    number: FloatArray
    rows: IntArray
    missing: IntArray

    def summed(self) -> "ValueCounts":
        """Every group and number once again, where numbers became equal."""
        total = _summed(self.group, self.number, self.rows, len(self.missing))
        return replace(total, missing=self.missing)

    def parts(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """The numbers and rows of every group."""
        ends = np.searchsorted(self.group, np.arange(len(self.missing) + 1))
        for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            yield self.number[first:last], self.rows[first:last]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueCells:
    """Every group and number of some rows once, by group, then number; private.

    Attributes:
        group: of the cell.
        number: of the cell.
        of_row: the cell of every row.
    """

    group: IntArray
    number: FloatArray
    of_row: IntArray


@dataclass(frozen=True)
class ValuesOf:
    """Which numbers are counted; public.

    Attributes:
        value: the column of numbers.
        groups: the public groups by their columns, if there are groups.
    """

    value: str
    groups: GroupLookup | None = None

    def of(self, opened: Opened) -> ValueCounts:
        """The counts of an opened table; its rows are read."""
        if isinstance(opened, CountsValues):
            return opened.value_counts(self)
        return self.counted(opened.batches(self.wanted))

    @cached_property
    def wanted(self) -> dict[str, Kind]:
        """The columns that are read."""
        wanted: dict[str, Kind] = {self.value: "numbers"}
        return wanted if self.groups is None else {**wanted, **self.groups.wanted}

    @cached_property
    def keys(self) -> Keyed:
        """The keys by which an engine groups rows."""
        labels = {} if self.groups is None else self.groups.keys
        return Keyed({self.value: NumberKey(), **labels}, self._places)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return 1 if self.groups is None else len(self.groups.groups)

    def counted(self, batches: Iterator[Batch]) -> ValueCounts:
        """The counts of rows that come in batches."""
        with reading(batches) as stream:
            return self.merged((self.keyed(batch), None) for batch in stream)

    def keyed(self, batch: Batch) -> dict[str, Any]:
        """The numbers and labels of a batch."""
        return {name: key.of(batch[name]) for name, key in self.keys.keys.items()}

    def merged(self, pieces: Iterable[tuple[Mapping[str, Any], IntArray | None]]) -> ValueCounts:
        """The counts of pieces that come as keys, once each or with their rows."""
        total = _nothing(self.size)
        held = [total]
        fresh = 0
        for keys, rows in pieces:
            place = self._places(keys)
            kept = place >= 0
            each = np.ones(len(place), dtype=np.int64) if rows is None else rows.ravel()
            numbers = keys[self.value]
            held.append(_summed(place[kept], numbers[kept], each[kept], self.size))
            fresh += len(held[-1].rows)
            if fresh > max(HELD, len(total.rows)):
                total = _joined(held, self.size)
                held = [total]
                fresh = 0
        return _joined(held, self.size)

    def places(self, batch: Batch) -> tuple[IntArray, FloatArray]:
        """The group and the number of every row, -1 for a row of no group or without a number."""
        keys = self.keyed(batch)
        numbers = keys[self.value]
        return np.where(np.isnan(numbers), -1, self._places(keys)), numbers

    def cells(self, group: IntArray, number: FloatArray) -> "ValueCells":
        """The cells of rows that have a group and a number."""
        order = _order(group, number, self.size)
        new = _changes(group[order], number[order])
        of_row = np.empty(len(order), dtype=np.int64)
        of_row[order] = np.cumsum(new) - 1
        first = order[new]
        return ValueCells(group[first], number[first], of_row)

    def _places(self, keys: Mapping[str, Any]) -> IntArray:
        if self.groups is None:
            return np.zeros(len(keys[self.value]), dtype=np.int64)
        return self.groups.positions(keys)


def _nothing(size: int) -> ValueCounts:
    none = np.empty(0, dtype=np.int64)
    return ValueCounts(none, np.empty(0), none, np.zeros(size, dtype=np.int64))


def _joined(parts: Sequence[ValueCounts], size: int) -> ValueCounts:
    if len(parts) == 2 and not len(parts[0].rows) + parts[0].missing.sum():
        return parts[1]
    group = np.concatenate([part.group for part in parts])
    number = np.concatenate([part.number for part in parts])
    total = _summed(group, number, np.concatenate([part.rows for part in parts]), size)
    missing = np.sum([part.missing for part in parts], axis=0)
    return ValueCounts(total.group, total.number, total.rows, missing)


def _summed(group: IntArray, number: FloatArray, rows: IntArray, size: int) -> ValueCounts:
    """Every group and number once."""
    nothing = np.isnan(number)
    missing = np.zeros(size, dtype=np.int64)
    np.add.at(missing, group[nothing], rows[nothing])
    held = np.flatnonzero(~nothing)
    if len(held) == 0:
        return replace(_nothing(size), missing=missing)
    order = held[_order(group[held], number[held], size)]
    group = group[order]
    number = number[order]
    rows = rows[order]
    first = np.flatnonzero(_changes(group, number))
    return ValueCounts(group[first], number[first], np.add.reduceat(rows, first), missing)


def _changes(group: IntArray, number: FloatArray) -> NDArray[np.bool_]:
    """Where a group or number differs from the one before."""
    new = np.ones(len(group), dtype=np.bool_)
    new[1:] = (number[1:] != number[:-1]) | (group[1:] != group[:-1])
    return new


def _order(group: IntArray, number: FloatArray, size: int) -> IntArray:
    """The order by group, then by number."""
    if size == 1:
        return np.argsort(number)
    if size > FEW_GROUPS:
        return np.lexsort((number, group))
    order = np.argsort(group.astype(np.uint8), kind="stable")
    ends = np.searchsorted(group[order], np.arange(size + 1))
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        part = order[first:last]
        order[first:last] = part[np.argsort(number[part])]
    return order


Labels: TypeAlias = NDArray[Any]

INTEGER = re.compile("[+-]?[0-9]{1,19}")
"""Text that reads as a whole number."""
NOBODY = -1
"""The position of what is no node."""
WORD = 2.0**63


def as_labels(chunk: Chunk) -> Labels:
    """One column of labels: integers where all are, else floats or objects, unchanged."""
    array = _array(chunk)
    if array.dtype.kind == "u" or (array.dtype.kind == "O" and all(map(_is_integer, array))):
        array = _integers(array)
    if len(array) == 0:
        return array.astype(np.int64)
    return array if array.dtype.kind in "ifOU" else _objects(array.tolist())


def is_label(label: Any) -> bool:
    """Whether a label may name a node: it is not missing, no fraction, not True or False."""
    try:
        hash(label)
        if isinstance(label, bool | np.bool_) or is_missing(label):
            return False
        return not isinstance(label, Number) or _whole(label) is not None
    except Exception:  # whatever an object raises that cannot be compared
        return False


def _whole(number: Any) -> int | None:
    """A number as the whole number that it is; None for a fraction, and beyond 3,000 digits.

    A decimal of few characters may have so many that writing them out would take forever.
    """
    if isinstance(number, Decimal) and number.adjusted() >= MOST_DIGITS:
        return None
    whole = int(number)
    return whole if whole == number and abs(whole) < LARGEST_KEY else None


def distinct(src: Labels, dst: Labels) -> Sequence[Hashable]:
    """The labels that occur: integers sorted, others in the order in which they occur."""
    if src.dtype.kind in "iu" and dst.dtype.kind in "iu":
        labels: list[Hashable] = np.unique(np.concatenate([src, dst])).tolist()
        return labels
    return list(dict.fromkeys(src.tolist()) | dict.fromkeys(dst.tolist()))


def joined(pieces: Sequence[Labels]) -> Labels:
    """Pieces of a column as one array."""
    parts = [piece for piece in pieces if len(piece)]
    if not parts:
        return np.empty(0, dtype=np.int64)
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """The position of labels in `nodes`, for one column after another.

    Every label has a public outcome.  It means the node that it equals; or else, text that reads as
    a whole number means that number (`"007"` the node 7), and a whole number the node that is its
    text (7 the node `"7"`).  Whatever else there is means no node: what is missing, a fraction,
    True and False, text that cannot be decoded, a label that is not among the nodes.  Nothing here
    raises an error.
    """

    nodes: Sequence[Hashable]

    @cached_property
    def as_text(self) -> bool:
        """Whether a text file is to be read as text: some nodes are not whole numbers."""
        return not self._is_range and not all(map(_is_integer, self.nodes))

    @cached_property
    def all_text(self) -> bool:
        """Whether all nodes are text, so that different text means different nodes."""
        return not self._is_range and all(isinstance(node, str) for node in self.nodes)

    def positions(self, labels: Labels) -> NDArray[np.int32]:
        """One position per label, or -1 where it names no node.

        Guarantee: a position depends on its label and on the nodes alone.  Where labels are their
        own positions they are returned as they are.
        """
        if not (self._is_range or self._ids.dtype.kind == "i"):
            return self._looked_up(labels)
        if labels.dtype.kind == "i":
            return self._found(labels)
        numbers, whole = _whole_numbers(labels)
        found = self._found(numbers)
        return np.where(whole, found, np.int32(NOBODY))

    def _found(self, numbers: IntArray) -> NDArray[np.int32]:
        if not len(numbers):
            return numbers.astype(np.int32)
        if not self._is_range:
            return self._search(numbers)
        n = len(self.nodes)
        if numbers.min() >= 0 and numbers.max() < n:
            return numbers.astype(np.int32, copy=False)
        inside = (numbers >= 0) & (numbers < n)
        return np.where(inside, numbers, NOBODY).astype(np.int32)

    def _search(self, numbers: IntArray) -> NDArray[np.int32]:
        place = np.searchsorted(self._ids, numbers, sorter=self._order)
        found = self._order[np.minimum(place, len(self._ids) - 1)]
        missed = self._ids[found] != numbers
        if missed.any():
            found = np.where(missed, NOBODY, found)
        return found.astype(np.int32)

    def _looked_up(self, labels: Labels) -> NDArray[np.int32]:
        words = labels.tolist()
        try:
            found = np.fromiter(map(self._number.get, words, repeat(NOBODY)), np.int32, len(words))
        except Exception:  # whatever a label raises that cannot be compared
            found = np.fromiter(map(self._equal, words), np.int32, len(words))
        for i in np.flatnonzero(found < 0):
            found[i] = self._position(words[i])
        for place in self._doubtful(words):
            found[place] = NOBODY
        return found

    def _equal(self, label: Any) -> int:
        try:
            return self._number.get(label, NOBODY)
        except Exception:  # as above
            return NOBODY

    def _doubtful(self, words: Sequence[Any]) -> list[int]:
        """The positions of True and False, which Python treats as 1 and 0."""
        if self.all_text:
            return []
        return [i for i, word in enumerate(words) if isinstance(word, bool | np.bool_)]

    def _position(self, label: Any) -> int:
        number = self._number
        if not is_label(label):
            return NOBODY
        if label in number:
            return number[label]
        if isinstance(label, str):
            return number.get(int(label), NOBODY) if INTEGER.fullmatch(label) else NOBODY
        return number.get(str(_whole(label)), NOBODY) if isinstance(label, Number) else NOBODY

    @cached_property
    def _is_range(self) -> bool:
        return isinstance(self.nodes, range) and self.nodes == range(len(self.nodes))

    @cached_property
    def _ids(self) -> Labels:
        return as_labels(list(self.nodes))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._ids, kind="stable")

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {label: i for i, label in enumerate(self._ids.tolist())}


def _whole_numbers(labels: Labels) -> tuple[IntArray, NDArray[np.bool_]]:
    """Labels as whole numbers of 64 bits, and which of them are."""
    if labels.dtype.kind == "f":
        wide = labels.astype(np.float64, copy=False)
        whole = (np.trunc(wide) == wide) & (wide >= -WORD) & (wide < WORD)
        return np.where(whole, wide, 0).astype(np.int64), whole
    read = [_whole_number(label) for label in labels.tolist()]
    whole = np.fromiter((number is not None for number in read), np.bool_, len(read))
    return np.fromiter((number or 0 for number in read), np.int64, len(read)), whole


def _whole_number(label: Any) -> int | None:
    try:
        if isinstance(label, str):
            number = int(label) if INTEGER.fullmatch(label) else None
        else:
            number = _whole(label) if isinstance(label, Number) and is_label(label) else None
    except Exception:  # whatever an object raises that cannot be compared
        return None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _array(chunk: Any) -> Labels:
    if isinstance(chunk, np.ndarray):
        return chunk
    if not is_arrow(chunk):
        return _objects(chunk)
    import pyarrow.types as kinds

    if kinds.is_integer(chunk.type) and not chunk.null_count:
        integers: Labels = chunk.to_numpy(zero_copy_only=False)
        return integers
    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    coded = chunk.dictionary_encode()
    words = _objects([*_values(coded.dictionary), None])
    labels: Labels = words[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return labels


def _values(array: Any) -> list[Any]:
    """The values of an Arrow array; None for text that cannot be decoded and the like."""
    try:
        values: list[Any] = array.to_pylist()
    except Exception:  # Arrow raises errors of many kinds
        return [_value(cell) for cell in array]
    return values


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # as above
        return None


def _objects(values: Iterable[Any]) -> Labels:
    return np.fromiter(values, dtype=object)


def _integers(array: Labels) -> Labels:
    """Signed integers of 64 bits where they fit: numpy compares others with them as floats."""
    try:
        if len(array) and (
            array.max() > np.iinfo(np.int64).max or array.min() < np.iinfo(np.int64).min
        ):
            return array.astype(object)
        return array.astype(np.int64)
    except Exception:  # whatever an integer of a class of its own does
        return array.astype(object)


def _is_integer(label: Any) -> bool:
    """Whether it is a whole number; to numpy a span of time is one too."""
    whole = isinstance(label, int | np.integer)
    return whole and not isinstance(label, bool | np.timedelta64)
