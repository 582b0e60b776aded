"""Counting by keys: what a question needs to know of a row, where an engine can tell it exactly.

A cell is a public function of a row.  Often it is one of *keys*: of a label, and of the cell of a
number on a public grid.  An engine that computes keys by itself groups rows by them, and the
product's own encoders see every different combination once, with its number of rows: one GROUP BY
in place of a stream of all rows.

The counts stay those of memory, by two facts.  A label is grouped by its bytes, or as a whole
number, so that rows of one group are equal to every encoder.  And the SQL of a grid consists of
comparisons, conversions of numbers of 64 bits and +, -, / of floats, each of which IEEE 754 rounds
in one way; a number for which that might not be enough is a key of its own, which the encoder sees.
Columns of other types are streamed.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dampen.data.columns import as_numbers
from dampen.data.opened import Batch, Chunk
from dampen.selection import FloatArray, IntArray

__all__ = ["GridKey", "GridSql", "Key", "Keyed", "LabelKey", "cell_between", "nearest_cell"]


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
        steps: names with expressions.  The first speaks of the column as {x}, a double or null;
            each may speak of those before.
        names: of the steps to group by: the place on the grid, null where SQL leaves a number to
            the encoder; and that number, where SQL ever does.
        cell: the cell of every place.
    """

    steps: Sequence[tuple[str, str]]
    names: tuple[str] | tuple[str, str]
    cell: Callable[[IntArray], IntArray]


Key: TypeAlias = LabelKey | GridKey


@dataclass(frozen=True)
class Keyed:
    """The cells of rows, by way of the keys of columns; a `CellOf`.

    Attributes:
        keys: of the columns by their names.
        cells: of a batch of keys; it may overwrite what it is given.
    """

    keys: Mapping[str, Key]
    cells: Callable[[Mapping[str, Any]], IntArray]

    def __call__(self, batch: Batch) -> IntArray:
        return self.cells({name: key.of(batch[name]) for name, key in self.keys.items()})


def nearest_cell(lower: float, upper: float, step: float, top: int) -> GridSql:
    """The cell nearest to a number: the very operations of `dampen.groups.grid`."""
    place = f"floor((x - {_double(lower)}) / {_double(step)} + {_double(0.5)})"
    steps = [
        ("x", _clipped(lower, upper)),
        ("place", f"case when x is not null then least({place}, {_double(top)}) end"),
    ]
    return GridSql(steps, ("place",), lambda place: place)


def cell_between(first: int, stride: int, unit: int, count: int, last: float) -> GridSql | None:
    """Cell 2i for a number at the i-th point, 2i+1 for one between it and the next.

    The points are (first + i stride) / unit for 0 <= i < count, each the nearest float, and `last`,
    where that is a further one.  Let s = stride / unit and e = 2^-53 max |point|.  A float x
    between two neighbouring points has a quotient (x - first/unit) / s from i - e/s to i + 1 + e/s;
    what SQL computes of it differs by at most e/s + 2^-28, for there are at most 10^7 points.  If
    max |first + i stride| <= 2^31 stride, then 2e/s + 2^-28 < 2^-20.  So i is the floor of a
    quotient that is 2^-20 or more away from whole numbers; others are left to the encoder.  Where
    points lie closer, None.
    """
    highest = first + (count - 1) * stride
    if max(abs(first), abs(highest)) > stride * 2**31 or unit > 2**53:
        return None
    inside = f"q - place between {_double(2.0**-20)} and {_double(1 - 2.0**-20)}"
    if last > highest / unit:
        inside += f" and x < {_double(last)}"
    steps = [
        ("x", _clipped(first / unit, last)),
        ("q", f"(x - {_double(first / unit)}) / {_double(stride / unit)}"),
        ("place", "floor(q)"),
        ("inside", inside),
        ("decided", "case when inside then place end"),
        ("rest", "case when not inside then x end"),
    ]
    return GridSql(steps, ("decided", "rest"), lambda place: 2 * place + 1)


def _clipped(lower: float, upper: float) -> str:
    """The number within its bounds, null if it is missing."""
    low, high = _double(lower), _double(upper)
    return (
        f"case when isnan({{x}}) then null when {{x}} < {low} then {low} "
        f"when {{x}} > {high} then {high} else {{x}} end"
    )


def _double(number: float) -> str:
    """A float as SQL: a bare 0.1 would be a decimal."""
    return f"cast('{float(number)!r}' as double)"
