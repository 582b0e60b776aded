"""Dates, times, durations and truth values as numbers, so that questions about numbers hold them.

A column whose declared type is one of these is read as numbers: days since 1970-01-01 for dates and
times, seconds for durations, 0 and 1 for truth values.  Bounds are written the same way
(`as_bound`).  Where no type is declared, as in CSV, a bound that is a date says that the column
holds dates, in ISO 8601.  Every cell is read alone, and what is none of these is missing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.source import Batch, CellOf, Field, Kind, Opened, reading
from dampen.errors import ParameterError

__all__ = ["DAY", "Bound", "Measure", "as_bound", "in_own_type", "measure_of", "measured"]

Measure: TypeAlias = Literal["date", "time", "duration", "truth"]
"""What a number of such a column stands for."""

Bound: TypeAlias = str | float | date | timedelta
"""A public end of the values of a column, or their distance."""

DAY = 86_400
EPOCH = datetime(1970, 1, 1)  # times without a zone are as they are written
ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?:Z|[+-]\d\d:?\d\d)?")
TYPES: tuple[tuple[str, Measure], ...] = (
    ("datetime64[d]", "date"),
    ("datetime", "time"),
    ("timestamp", "time"),
    ("date", "date"),
    ("timedelta", "duration"),
    ("duration", "duration"),
    ("bool", "truth"),
)
"""How the names of types begin, in numpy, pandas, polars, Arrow and databases."""


def measure_of(opened: Opened, column: str, bounds: Sequence[Any] = ()) -> Measure | None:
    """What the numbers of a column stand for, by its declared type, else by public bounds.

    None for plain numbers.
    """
    field = next((each for each in opened.fields if each.name == column), None)
    if field is None or field.holds == "other":
        return None
    if field.type is not None and field.holds is not None:
        found = (kind for start, kind in TYPES if field.type.lower().startswith(start))
        declared = next(found, None)
        if declared is not None or field.holds == "numbers":
            return declared
    return _of_bounds(bounds)


def measured(opened: Opened, column: str, bounds: Sequence[Any] = ()) -> Opened:
    """The table with that column as numbers; as it is, if they are numbers already.

    Args:
        opened: the table; no row is read.
        column: its name.
        bounds: public values of the column, which tell its kind where no type is declared.
    """
    measure = measure_of(opened, column, bounds)
    if measure is None or (isinstance(opened, MeasuredTable) and opened.column == column):
        return opened
    return MeasuredTable(opened, column, measure)


def as_bound(bound: Any) -> Any:
    """A public bound as a number, if it is a date, a time, a duration or a truth value.

    Dates may be written as text, in ISO 8601.  All else is as it is.

    >>> as_bound("1970-01-11"), as_bound(timedelta(minutes=2)), as_bound(12.5)
    (10, 120, 12.5)
    """
    if isinstance(bound, bool | np.bool_):
        return int(bound)
    if isinstance(bound, np.datetime64 | np.timedelta64):
        bound = bound.astype("datetime64[us]" if isinstance(bound, np.datetime64) else "m8[us]")
        bound = bound.item()
    if isinstance(bound, str) and ISO.fullmatch(bound.strip()):
        bound = _parsed(bound.strip())
    if isinstance(bound, timedelta):
        return _plain(Fraction(bound // timedelta(microseconds=1), 10**6))
    if isinstance(bound, date):
        return _plain(_days(bound))
    return bound


def in_own_type(number: float, measure: Measure) -> Any:
    """A number of a column as a date, a datetime, a timedelta or a truth value."""
    if measure == "truth":
        return bool(number >= 0.5)
    if measure == "duration":
        return timedelta(seconds=float(number))
    exact = EPOCH + timedelta(seconds=round(Fraction(number) * DAY))
    return exact.date() if measure == "date" else exact


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeasuredTable:
    """A table in which one column is read as numbers."""

    opened: Opened
    column: str
    measure: Measure

    @property
    def title(self) -> str:
        return self.opened.title

    @property
    def fields(self) -> Sequence[Field]:
        return [
            replace(each, holds="numbers") if each.name == self.column else each
            for each in self.opened.fields
        ]

    @property
    def declared(self) -> bool:
        return self.opened.declared

    @property
    def rows(self) -> int | None:
        return self.opened.rows

    @property
    def ordered(self) -> bool:
        return self.opened.ordered

    @property
    def streams(self) -> bool:
        return self.opened.streams

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        read = _Read(self.column, self.measure)
        with reading(self.opened.batches(self._needed(wanted))) as stream:
            yield from map(read, stream)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        if self.column not in wanted:
            return self.opened.counts(wanted, cell_of, size)
        cells = MeasuredCells(_Read(self.column, self.measure), cell_of)
        return self.opened.counts(self._needed(wanted), cells, size)

    def _needed(self, wanted: Mapping[str, Kind]) -> dict[str, Kind]:
        [field] = [each for each in self.opened.fields if each.name == self.column]
        kind: Kind = "any" if field.type is not None else "text"
        return {name: kind if name == self.column else each for name, each in wanted.items()}


@dataclass(frozen=True, slots=True)
class _Read:
    """A batch with one column as numbers."""

    column: str
    measure: Measure

    def __call__(self, batch: Batch) -> Batch:
        if self.column not in batch:
            return batch
        return {**batch, self.column: as_measured(batch[self.column], self.measure)}


@dataclass(frozen=True, slots=True)
class MeasuredCells:
    """The cells of rows with one column as numbers; a `CellOf`."""

    read: _Read
    cell_of: CellOf

    def __call__(self, batch: Batch) -> IntArray:
        return self.cell_of(self.read(batch))


def as_measured(chunk: Any, measure: Measure) -> FloatArray:
    """A chunk as floats, NaN for a cell that is missing or of another kind."""
    if hasattr(chunk, "to_pylist"):
        chunk = _of_arrow(chunk)
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind in "Mmb":
        return _of_numpy(chunk, measure)
    read = _READERS[measure]
    return np.fromiter((_safely(read, cell) for cell in chunk), dtype=np.float64, count=len(chunk))


def _of_arrow(chunk: Any) -> Any:
    """As an array of numpy where Arrow has one without a loss, else as objects."""
    import pyarrow as pa

    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if pa.types.is_date32(chunk.type) or pa.types.is_date64(chunk.type):
        return chunk.cast(pa.timestamp("s"), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(chunk.type) or pa.types.is_duration(chunk.type):
        return chunk.to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(chunk.type) and chunk.null_count == 0:
        return chunk.to_numpy(zero_copy_only=False)
    return chunk.to_pylist()


def _of_numpy(chunk: Any, measure: Measure) -> FloatArray:
    wanted = {"M": ("date", "time"), "m": ("duration",), "b": ("truth",)}[chunk.dtype.kind]
    if measure not in wanted:
        return np.full(len(chunk), np.nan)
    if chunk.dtype.kind == "b":
        return np.asarray(chunk, dtype=np.float64)
    zero = np.datetime64(0, "s") if chunk.dtype.kind == "M" else np.timedelta64(0, "s")
    with np.errstate(over="ignore"):
        seconds = np.asarray((chunk - zero) / np.timedelta64(1, "s"), dtype=np.float64)
    if measure == "duration":
        return seconds
    return np.floor(seconds / DAY) if measure == "date" else seconds / DAY


def _safely(read: Callable[[Any], float], cell: Any) -> float:
    try:
        return read(cell)
    except Exception:  # whatever an object does, and dates beyond all calendars
        return np.nan


def _day_of(cell: Any) -> float:
    return float(np.floor(_time_of(cell)))


def _time_of(cell: Any) -> float:
    if isinstance(cell, str):
        cell = _parsed(cell.strip())
    return float(_days(cell)) if isinstance(cell, date) else np.nan


def _duration_of(cell: Any) -> float:
    return cell.total_seconds() if isinstance(cell, timedelta) else np.nan


def _truth_of(cell: Any) -> float:
    return float(cell) if isinstance(cell, bool | np.bool_) else np.nan


_READERS: Mapping[Measure, Callable[[Any], float]] = {
    "date": _day_of,
    "time": _time_of,
    "duration": _duration_of,
    "truth": _truth_of,
}


def _parsed(text: str) -> date:
    """A date or time in ISO 8601.

    Raises:
        ValueError: if it is none.
    """
    if not ISO.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


def _days(moment: date) -> Fraction:
    if not isinstance(moment, datetime):
        return Fraction(moment.toordinal() - EPOCH.toordinal())
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return Fraction((moment - EPOCH) // timedelta(microseconds=1), DAY * 10**6)


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)


def _of_bounds(bounds: Sequence[Any]) -> Measure | None:
    """By bounds: dates, if all of them are whole days, else times; or durations."""
    known = [each for each in bounds if each is not None]
    if any(isinstance(each, timedelta | np.timedelta64) for each in known):
        return "duration"
    dates = [each for each in known if as_bound(each) is not each and not isinstance(each, bool)]
    if not dates:
        return None
    if len(dates) < len(known):
        raise ParameterError("Expected lower and upper to be both dates, or both numbers.")
    return "date" if all(isinstance(as_bound(each), int) for each in dates) else "time"
