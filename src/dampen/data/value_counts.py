"""Rows by group and number, where no grid says which numbers there are.

Questions about ranks need the order of the numbers and how often each occurs, nothing else.  Memory
and files are counted batch by batch, so that only different numbers are kept; engines group rows by
themselves; of persons (`dampen.data.units`) the weights are counted.  A number is the nearest float
of its cell; rows of groups that are not listed are dropped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.cells import GroupLookup, Keyed, NumberKey
from dampen.data.source import Batch, CountsValues, Kind, Opened, reading

__all__ = ["ValueCounts", "ValuesOf"]

HELD = 1 << 21
"""Entries that are gathered before equal ones are added up."""
FEW_GROUPS = 64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueCounts:
    """Every group and number once, by group, then number; private.

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
    """By group, then number."""
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
