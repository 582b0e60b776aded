"""`dampen check`: exact counts for the curator, before the first question.

**Not private.**  It reads every row and shows counts of them as they are.  It is for the person who
may see the data, before any charge.  A service runs it for a curator on its own machine alone,
unless its operator allows more (`show-check`).

What it counts is what the questions do with each cell: rows that a missing or unlisted cell leaves
out, numbers that are moved to the end of their range, listed values that no row has.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import Lookup, as_labels, as_number, as_numbers, is_missing, measured
from dampen.data.files import COMMA, LIKELY, TextFile, with_point
from dampen.data.open import located, open_table
from dampen.data.source import Chunk, Kind, Opened, reading, require_labels
from dampen.data.units import unit_codes, unit_kind, without_id
from dampen.errors import ParameterError
from dampen.printing import printable
from dampen.schema import Categories, Column, Numbers, Schema

if TYPE_CHECKING:
    from dampen.datasets import Dataset

__all__ = ["HEADING", "Check", "ColumnCheck", "UnitCheck", "check"]

HEADING = "NOT PRIVATE: exact counts of the data, for its curator alone. Do not publish them."
PIECE = 1 << 20
SPECIAL = 0.5
"""Rows without a unit whose shares of values differ by more are special."""
FEWEST = 5
"""Rows without a unit of which something can be said; one alone differs from all others."""
SPACED = re.compile(r"[+-]?[0-9]{1,3}(?:[.,' \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?")
"""A number with signs between its thousands."""


@dataclass(slots=True)
class ColumnCheck:
    """What the cells of one column are.

    Attributes:
        kind: numbers, dates or categories.
        missing: cells that are empty or cannot be read.
        unlisted: cells that are none of the listed values.
        below: numbers below the lower end, which count as that end.
        above: numbers above the upper end, likewise.
        empty: listed values that no row has.
    """

    kind: str
    missing: int = 0
    unlisted: int = 0
    below: int = 0
    above: int = 0
    empty: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class UnitCheck:
    """How many rows each person has, where a column names the person.

    Attributes:
        unit: the column.
        units: how many different ones there are.
        rows_per_unit: the median, the 90th and 99th percentile and the largest number of rows.
        without: rows that belong to nobody; questions leave them out.
        largest: those who have a tenth of all rows or more, with their rows.
        alike: how many names differ from another one in capitals and blanks alone.
    """

    unit: str
    units: int
    rows_per_unit: tuple[int, int, int, int]
    without: int
    largest: Mapping[str, int]
    alike: int = 0

    def __str__(self) -> str:
        middle, most, nearly_all, largest = self.rows_per_unit
        return (
            f"{self.unit}: {self.units:,} units; rows per unit: median {middle:,}, 90 % at most "
            f"{most:,}, 99 % at most {nearly_all:,}, largest {largest:,}; "
            f"{_rows(self.without)} without a unit"
        )


@dataclass(frozen=True, slots=True)
class Check:
    """Exact counts of a data set; **not private**.

    Attributes:
        rows: how many there are.
        columns: what the cells of every declared column are.
        advice: what the curator may want to change, one sentence each.
        units: who the rows belong to, where a column names the person.
    """

    rows: int
    columns: Mapping[str, ColumnCheck]
    advice: Sequence[str] = field(default_factory=tuple)
    units: UnitCheck | None = None

    def __str__(self) -> str:
        lines = [HEADING, f"rows: {self.rows:,}"]
        lines += [] if self.units is None else [str(self.units)]
        lines += [f"{name}: {_told(each, self.rows)}" for name, each in self.columns.items()]
        return "\n".join(printable(line) for line in [*lines, *self.advice])

    def to_dict(self) -> dict[str, Any]:
        """As JSON, with the warning first."""
        columns = {
            name: {key: getattr(each, key) for key in ColumnCheck.__slots__}
            for name, each in self.columns.items()
        }
        told: dict[str, Any] = {"warning": HEADING, "rows": self.rows, "columns": columns}
        if self.units is not None:
            told["units"] = {key: getattr(self.units, key) for key in UnitCheck.__slots__}
        return told | {"advice": list(self.advice)}


def check(asked: "Dataset") -> Check:
    """Looks at all rows of a data set and counts what questions would make of its cells.

    Raises:
        ParameterError: if it is a graph, or a declared column does not exist.
    """
    if asked.schema.graph is not None and not asked.schema.columns:
        raise ParameterError("Expected a table to check, got a graph.")
    facts = asked.schema
    data = located(asked.data, header=asked.header, encoding=facts.encoding, decimal=facts.decimal)
    opened = open_table(data, header=asked.header, table=asked.table)
    columns = {name: each for name, each in asked.schema.columns.items() if each.kind != "names"}
    _require(opened, columns)
    rows, counted = _counted(opened, columns)
    advice = [*_advice(asked.schema, rows, counted), *_text_advice(opened, rows, columns)]
    if asked.schema.people is None:
        return Check(rows, counted, advice)
    require_labels(opened, asked.schema.people)
    units, special = _units(opened, asked.schema.people, columns)
    return Check(rows, counted, [*_unit_advice(units, special, rows), *advice], units)


def _units(
    opened: Opened, unit: str, columns: Mapping[str, Column]
) -> tuple[UnitCheck, dict[str, float]]:
    """The rows of each unit, and how much rows without a unit differ from others, by column."""
    codes, known, names = unit_codes(opened, unit)
    rows = np.bincount(codes)
    quantiles = np.quantile(rows, [0.5, 0.9, 0.99, 1], method="inverted_cdf") if len(rows) else ()
    large = np.flatnonzero(rows * 10 >= len(known)) if len(rows) else ()
    found = UnitCheck(
        unit,
        len(rows),
        tuple(map(int, quantiles)) or (0, 0, 0, 0),  # type: ignore[arg-type]
        int((~known).sum()),
        {str(names[int(i)]): int(rows[i]) for i in large},
        len(rows) - len({_bare(names[i]) for i in range(len(rows))}),
    )
    special = {}
    if FEWEST <= found.without < len(known):
        special = {
            name: _difference(opened, name, column, unit)
            for name, column in columns.items()
            if name != unit
        }
    return found, special


def _bare(name: Any) -> Any:
    """A name without what people write differently: capitals and blanks."""
    return "".join(name.split()).casefold() if isinstance(name, str) else name


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _difference(opened: Opened, name: str, column: Column, unit: str) -> float:
    """How far the shares of values of rows with and without a unit differ, from 0 to 1."""
    lookup = Lookup(column.values) if isinstance(column, Categories) else None
    wanted: dict[str, Kind] = {name: lookup.kind if lookup else "numbers"}
    cells = [np.empty(0, dtype=np.int64)]
    without = [np.empty(0, dtype=np.bool_)]
    with reading(opened.batches({**wanted, unit: unit_kind(opened, unit)})) as batches:
        for batch in batches:
            chunk = batch[name]
            cells.append(lookup.positions(chunk) + 1 if lookup else _tenths(chunk, column))
            without.append(without_id(batch[unit]))
    cell = np.concatenate(cells)
    nobody = np.concatenate(without)
    size = int(cell.max(initial=0)) + 1
    with_unit, bare = (np.bincount(cell[each], minlength=size) for each in (~nobody, nobody))
    return float(np.abs(with_unit / with_unit.sum() - bare / bare.sum()).sum() / 2)


def _tenths(chunk: Chunk, column: Column) -> IntArray:
    """0 for a missing number, else one of ten equal parts of the range; 1 where it has none."""
    numbers = as_numbers(chunk)
    lower, upper = getattr(column, "lower", np.nan), getattr(column, "upper", np.nan)
    place = np.clip(10 * (numbers - lower) / (upper - lower), 0, 9)
    part = np.where(np.isnan(place), 0, place).astype(np.int64) + 1
    return np.where(np.isnan(numbers), 0, part)


def _unit_advice(units: UnitCheck, special: Mapping[str, float], rows: int) -> Iterator[str]:
    for name, share in special.items():
        if share > SPECIAL:
            yield (
                f"The {_rows(units.without)} without a {units.unit} "
                f"{'is' if units.without == 1 else 'are'} special: {name} differs from that of "
                "other rows. Questions leave such rows out."
            )
    if units.alike:
        yield (
            f"{units.alike:,} of the {units.units:,} names in {units.unit} differ from another one "
            "in capitals or blanks alone. Each counts as a person of its own, so that epsilon "
            "protects a person of two names less. Write them alike before you ask."
        )
    for name, count in units.largest.items():
        yield (
            f"{name} has {count / rows:.0%} of all rows. If it is not one {units.unit} but a mark "
            "for unknown ones, make it a missing value."
        )


def _require(opened: Opened, columns: Mapping[str, Column]) -> None:
    known = [each.name for each in opened.fields]
    for name in columns:
        if name not in known:
            raise ParameterError(
                f"The facts state a column {name!r}, which {opened.title} does not have. It has "
                f"{', '.join(known)}."
            )


def _counted(opened: Opened, columns: Mapping[str, Column]) -> tuple[int, dict[str, ColumnCheck]]:
    """The number of rows, and what the cells of every column are."""
    found = {name: ColumnCheck(_kind_of(each)) for name, each in columns.items()}
    lookups = {
        name: Lookup(each.values) for name, each in columns.items() if isinstance(each, Categories)
    }
    seen = {name: np.zeros(len(lookup), dtype=np.int64) for name, lookup in lookups.items()}
    wanted: dict[str, Kind] = {
        name: lookups[name].kind if name in lookups else "numbers" for name in columns
    }
    for name, each in columns.items():
        if isinstance(each, Numbers) and each.dates:
            opened = measured(opened, name, (date.min,))
    rows = 0
    with reading(opened.batches(wanted or _any_column(opened))) as batches:
        for batch in batches:
            rows += len(next(iter(batch.values())))
            for name, column in columns.items():
                if isinstance(column, Numbers):
                    _count_numbers(found[name], column, as_numbers(batch[name]))
                else:
                    _count_labels(found[name], batch[name], lookups[name], seen[name])
    for name, lookup in lookups.items():
        if not lookup.categories:  # nobody lists its values
            found[name].unlisted = 0
        found[name].empty = [lookup.categories[i] for i in np.flatnonzero(seen[name] == 0)]
    return rows, found


def _kind_of(column: Column) -> str:
    """What a column holds, as the curator declared it."""
    return "dates" if isinstance(column, Numbers) and column.dates else column.kind


def _any_column(opened: Opened) -> dict[str, Kind]:
    return {opened.fields[0].name: "any"}


def _count_numbers(found: ColumnCheck, column: Numbers, numbers: FloatArray) -> None:
    found.missing += int(np.isnan(numbers).sum())
    found.below += int((numbers < column.lower).sum())
    found.above += int((numbers > column.upper).sum())


def _count_labels(found: ColumnCheck, chunk: Chunk, lookup: Lookup, seen: IntArray) -> None:
    positions = lookup.positions(chunk)
    others = np.flatnonzero(positions < 0)
    missing = _missing_at(chunk, others)
    found.missing += missing
    found.unlisted += len(others) - missing
    np.add.at(seen, positions[positions >= 0], 1)


def _missing_at(chunk: Chunk, places: IntArray) -> int:
    labels = as_labels([chunk])
    return sum(1 for i in places.tolist() if is_missing(labels[i]) or labels[i] == "")


def _told(column: ColumnCheck, rows: int) -> str:
    """The counts of a column that are not zero, with their share of all rows."""
    counts = {
        "missing": column.missing,
        "not listed": column.unlisted,
        "below the range": column.below,
        "above the range": column.above,
    }
    told = [f"{n:,} {what} ({n / rows:.1%})" for what, n in counts.items() if n]
    if column.empty:
        some = ", ".join(map(str, column.empty[:5])) + (", ..." if len(column.empty) > 5 else "")
        told.append(f"{len(column.empty)} listed values without rows ({some})")
    return f"{column.kind}; " + ("; ".join(told) or "all cells are as stated")


def _advice(schema: Schema, rows: int, counted: Mapping[str, ColumnCheck]) -> Iterator[str]:
    if schema.rows is not None and rows > schema.rows:
        yield f"There are more rows than rows = {schema.rows:,} states. Raise it."
    for name, column in counted.items():
        if rows and 2 * (column.missing + column.unlisted) > rows:
            yield (
                f"More than half of the rows have no usable {name}. Check its kind and its listed "
                "values: text is compared letter by letter."
            )
        if rows and 10 * max(column.below, column.above) > rows:
            yield f"More than a tenth of {name} lies beyond its range. Widen lower or upper."


def _text_advice(opened: Opened, rows: int, columns: Mapping[str, Column]) -> Iterator[str]:
    """Advice from the bytes of a text file: its encoding, unreadable lines, how numbers stand."""
    if not isinstance(opened, TextFile) or not opened.separator:
        return
    text = io.StringIO()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="strict")
    with opened.bytes.open() as stream:
        content = stream.read()
    try:
        text.write(decoder.decode(content, final=True))
    except UnicodeDecodeError:
        yield (
            f"The file is not UTF-8. If its letters look right as {LIKELY}, state encoding = "
            f'"{LIKELY}" (encoding="{LIKELY}" in Python); undecodable cells match no listed value.'
        )
        text.write(content.decode(LIKELY, errors="replace"))
    text.seek(0)
    records = [record for record in csv.reader(text, delimiter=opened.separator) if record]
    lines = len(records) - 1
    if lines > rows:
        yield f"{lines - rows:,} lines could not be read as rows; questions leave them out."
    for place, header in enumerate(opened.fields):
        column = columns.get(header.name)
        if isinstance(column, Numbers) and not column.dates:
            cells = [record[place].strip() for record in records[1:] if place < len(record)]
            yield from _number_advice(header.name, cells, opened.decimal)


def _number_advice(name: str, cells: Sequence[str], decimal: str) -> Iterator[str]:
    """Advice about numbers that are written in a way that is not read."""
    commas = sum(1 for cell in cells if COMMA.fullmatch(cell))
    if decimal == "." and commas:
        yield (
            f"Cells of {name} with a decimal comma are not read: {commas:,}. State decimal = "
            '"," (decimal="," in Python).'
        )
    spaced = sum(1 for cell in cells if SPACED.fullmatch(cell) and not _is_read(cell, decimal))
    if spaced and (decimal != "." or not commas):
        yield (
            f"Cells of {name} with a sign between thousands are not read: {spaced:,}. "
            "Write such numbers without it."
        )


def _is_read(cell: str, decimal: str) -> bool:
    return not np.isnan(as_number(with_point(cell, decimal)))
