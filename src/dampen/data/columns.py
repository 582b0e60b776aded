"""One private column of any type, as numbers, as positions among categories or as labels.

A chunk is a piece of a column: a numpy array, an Arrow array, a list.  All functions here act on
each record alone, so that neighbouring databases stay neighbours, and quote nothing.

**Every cell has a public outcome.**  As a number, a cell that is not a number is missing: text,
truth values, dates, objects, whole numbers beyond all floats.  As a label, None, NaN, an empty text
that is not listed, and an object that cannot be compared are missing; any other value that is not
listed is *unlisted*.  Both have no position, unless the list of labels itself says more: `MISSING`
among the labels is the position of missing cells, `OTHER` that of unlisted ones.  As a key that
nobody listed, a cell is written as every other one that equals it (`as_keys`).  A number of more
than 3,000 digits, a moment beyond the calendar of Python and an object of a class of its own are
missing there.

**Dates, times, durations and truth values are numbers**, so that questions about numbers hold them.
A column whose declared type is one of these is read as numbers: days since 1970-01-01 for dates and
times, seconds for durations, 0 and 1 for truth values.  Bounds are written the same way
(`as_bound`).  Where no type is declared, as in CSV, a bound that is a date says that the column
holds dates, in ISO 8601 or as 31.12.2024.  Every cell is read alone, and what is none of these is
missing.
"""

import re
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, Inexact, localcontext
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from math import floor
from numbers import Number, Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.source import (
    Batch,
    CellOf,
    Chunk,
    Field,
    Kind,
    Opened,
    PassedOn,
    has_arrow,
    reading,
)
from dampen.errors import MISSING, OTHER, RULES, ParameterError, a_thing, did_you_mean

__all__ = [
    "CALENDAR",
    "DAY",
    "LARGEST_KEY",
    "MOST_DIGITS",
    "WHOLE",
    "Bound",
    "DatedTable",
    "Lookup",
    "Measure",
    "as_bound",
    "as_keys",
    "as_labels",
    "as_measured",
    "as_names",
    "as_number",
    "as_numbers",
    "as_step",
    "as_written",
    "clipped",
    "dotted_date",
    "finite_range",
    "holds_whole",
    "in_arrow",
    "in_own_type",
    "is_arrow",
    "is_key",
    "is_missing",
    "joined_numbers",
    "measure_of",
    "measure_of_bounds",
    "measured",
    "missing_in",
    "parsed_numbers",
    "public_labels",
    "public_order",
    "shown_as",
    "typed",
    "with_one_zero",
    "without_views",
]

Measure: TypeAlias = Literal["date", "time", "duration", "truth", "decimal", "whole"]
"""What a number of such a column stands for; decimals and whole numbers are read as numbers."""

Bound: TypeAlias = str | float | date | timedelta
"""A public end of the values of a column, or their distance."""

DAY = 86_400
EPOCH = datetime(1970, 1, 1)  # times without a zone are as they are written
DOTTED = re.compile(
    r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T]+(\d{1,2}):(\d\d)(?::(\d\d))?)?", re.ASCII
)
"""Day, month and year with dots between them: nobody writes the month first so."""
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
WHOLE = ("int", "uint", "bigint", "smallint", "tinyint", "hugeint")
"""How the names of types of whole numbers begin, in lower case."""


KINDS: Mapping[str, Measure] = {
    "date": "date",
    "time": "time",
    "duration": "duration",
    "bool": "truth",
}
"""What can be said of a column that has no declared type."""


def measure_of(
    opened: Opened, column: str, bounds: Sequence[Any] = (), kind: str | None = None
) -> Measure | None:
    """What the numbers of a column stand for: by its declared type, by `kind`, by public bounds.

    None for plain numbers.  The values themselves do not tell: what type one row has is private.

    Raises:
        ParameterError: if `kind` is unknown, or not that of the declared type.
    """
    if kind is not None and kind not in KINDS:
        raise ParameterError(
            f"Expected kind to be one of {', '.join(KINDS)}, got {kind!r}."
            f"{did_you_mean(str(kind), KINDS)}"
        )
    if isinstance(opened, MeasuredTable) and opened.column == column:
        return opened.measure
    declared = _of_type(opened, column, bounds)
    _check_bounds(opened, column, bounds, declared)
    if kind is None:
        return declared
    if declared not in (None, KINDS[kind]) or _holds_numbers(opened, column):
        raise ParameterError(
            f"Expected kind= of a column without a declared type; leave it out for {column!r}."
        )
    return KINDS[kind]


def _check_bounds(
    opened: Opened, column: str, bounds: Sequence[Any], declared: Measure | None
) -> None:
    """Refuses public values of another type than the declared one of the column.

    Raises:
        ParameterError: if there is one.
    """
    plain = [each for each in bounds if each is not None and as_bound(each) is each]
    stated = measure_of_bounds([each for each in bounds if as_bound(each) is not each])
    if declared in ("date", "time") and (plain or stated == "duration"):
        raise ParameterError(
            f"Column {column!r} holds dates. State its ends and thresholds as dates, such as "
            "'2019-01-31'."
        )
    if declared == "duration" and stated in ("date", "time"):
        raise ParameterError(
            f"Column {column!r} holds durations. State its ends and thresholds in seconds, or as "
            "durations, such as datetime.timedelta(hours=1)."
        )
    if declared is None and stated is not None and _holds_numbers(opened, column):
        raise ParameterError(
            f"Column {column!r} holds numbers. State its ends and thresholds as numbers."
        )


def shown_as(opened: Opened, column: str, measure: Measure | None) -> Measure | None:
    """The type of an answer that is a value of the column: decimals stay decimals.

    Args:
        opened: the table; no row is read.
        column: its name.
        measure: what the numbers of the column stand for.
    """
    exact = _declared(opened, column).startswith(("decimal", "numeric"))
    return "decimal" if measure is None and exact else measure


def holds_whole(opened: Opened, column: str) -> bool:
    """Whether a column is declared as whole numbers; no row is read."""
    return _holds_numbers(opened, column) and _declared(opened, column).startswith(WHOLE)


def _declared(opened: Opened, column: str) -> str:
    declared = next((each.type for each in opened.fields if each.name == column), None)
    return (declared or "").lower()


def _holds_numbers(opened: Opened, column: str) -> bool:
    """Whether a column is declared as numbers."""
    return any(each.name == column and each.holds == "numbers" for each in opened.fields)


def _of_type(opened: Opened, column: str, bounds: Sequence[Any]) -> Measure | None:
    field = next((each for each in opened.fields if each.name == column), None)
    if field is None or field.holds == "other":
        return None
    if field.type is not None and field.holds is not None:
        found = (kind for start, kind in TYPES if field.type.lower().startswith(start))
        declared = next(found, None)
        if declared is not None or field.holds == "numbers":
            return declared
    return measure_of_bounds(bounds)


def measured(
    opened: Opened, column: str, bounds: Sequence[Any] = (), kind: str | None = None
) -> Opened:
    """The table with that column as numbers; as it is, if they are numbers already.

    Args:
        opened: the table; no row is read.
        column: its name.
        bounds: public values of the column, which tell its kind where no type is declared.
        kind: the same, stated.
    """
    measure = measure_of(opened, column, bounds, kind)
    if measure is None or (isinstance(opened, MeasuredTable) and opened.column == column):
        return opened
    return MeasuredTable(opened, column, measure)


def as_bound(bound: Any) -> Any:
    """A public bound as a number, if it is a date, a time, a duration or a truth value.

    Dates may be written as text, in ISO 8601 or as 31.12.2024.  All else is as it is.

    >>> as_bound("1970-01-11"), as_bound(timedelta(minutes=2)), as_bound(12.5)
    (10, 120, 12.5)
    """
    if isinstance(bound, bool | np.bool_):
        return int(bound)
    if isinstance(bound, np.datetime64 | np.timedelta64):
        bound = bound.astype("datetime64[us]" if isinstance(bound, np.datetime64) else "m8[us]")
        bound = bound.item()
    if isinstance(bound, str) and (ISO.fullmatch(bound.strip()) or DOTTED.fullmatch(bound.strip())):
        bound = _parsed(bound.strip())
    if isinstance(bound, timedelta):
        return _plain(Fraction(bound // timedelta(microseconds=1), 10**6))
    if isinstance(bound, date):
        return _plain(_days(bound))
    return bound


def as_step(step: Any, *ends: Any) -> Any:
    """A distance of points: in days where one of the ends is a date, in seconds for durations.

    >>> as_step(timedelta(days=7), date(2019, 1, 1)), as_step(timedelta(hours=1), timedelta(0))
    (Fraction(7, 1), 3600)
    """
    number = as_bound(step)
    if isinstance(step, timedelta) and measure_of_bounds(ends) in ("date", "time"):
        return Fraction(str(number)) / DAY
    return number


MOST_SECONDS = timedelta.max.days * DAY
CALENDAR = (
    (datetime.min - EPOCH).days * DAY,
    (datetime.max - EPOCH).days * DAY + DAY - 1,
)
"""The seconds from 1970 on that Python has dates for."""


def in_own_type(number: float | Fraction, measure: Measure) -> Any:
    """A number of a column as a date, a datetime, a timedelta, a truth value or a decimal.

    Noise may lead beyond all dates and durations of Python: then it is the last one.
    """
    if measure == "decimal":
        return Decimal(str(number))
    if measure == "whole":
        return floor(Fraction(number) + Fraction(1, 2))
    if measure == "truth":
        return bool(number >= 0.5)
    if measure == "duration":
        return timedelta(seconds=float(min(max(number, -MOST_SECONDS), MOST_SECONDS)))
    first, last = CALENDAR
    exact = EPOCH + timedelta(seconds=min(max(round(Fraction(number) * DAY), first), last))
    return exact.date() if measure == "date" else exact


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeasuredTable:
    """A table in which one column is read as numbers."""

    opened: Opened
    column: str
    measure: Measure

    title = PassedOn[str]()

    @property
    def fields(self) -> Sequence[Field]:
        return [
            replace(each, holds="numbers") if each.name == self.column else each
            for each in self.opened.fields
        ]

    declared = PassedOn[bool]()
    rows = PassedOn[int | None]()
    ordered = PassedOn[bool]()
    streams = PassedOn[bool]()

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DatedTable:
    """A table of which public facts say that some columns hold dates.  Cells are as they are."""

    opened: Opened
    dated: frozenset[str]

    title = PassedOn[str]()
    declared = PassedOn[bool]()
    rows = PassedOn[int | None]()
    ordered = PassedOn[bool]()
    streams = PassedOn[bool]()

    @property
    def fields(self) -> Sequence[Field]:
        return [
            replace(each, dates=each.name in self.dated and each.holds != "numbers")
            for each in self.opened.fields
        ]

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        return self.opened.batches(wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return self.opened.counts(wanted, cell_of, size)


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
    if is_arrow(chunk):
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
    return _objects(chunk)


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
    if isinstance(cell, str):
        return TRUTHS.get(cell.strip().lower(), np.nan)
    return float(cell) if isinstance(cell, bool | np.bool_) else np.nan


TRUTHS: Mapping[str, float] = {"true": 1.0, "false": 0.0}
"""How files of text write truth values, in any case."""

_READERS: Mapping[Measure, Callable[[Any], float]] = {
    "date": _day_of,
    "time": _time_of,
    "duration": _duration_of,
    "truth": _truth_of,
}


def dotted_date(text: str) -> date | None:
    """A date such as 31.12.2024, or a time such as 31.12.2024 14:05; None of any other text.

    Raises:
        ValueError: if the calendar has no such day.
    """
    found = DOTTED.fullmatch(text)
    if found is None:
        return None
    day, month, year, hour, minute, second = (int(each or 0) for each in found.groups())
    if found[4] is None:
        return date(year, month, day)
    return datetime(year, month, day, hour, minute, second)


def _parsed(text: str) -> date:
    """A date or time in ISO 8601, or with dots.

    Raises:
        ValueError: if it is none.
    """
    dotted = dotted_date(text)
    if dotted is not None:
        return dotted
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


def measure_of_bounds(bounds: Sequence[Any]) -> Measure | None:
    """The measure by bounds: dates, if all of them are whole days, else times; or durations."""
    known = [each for each in bounds if each is not None]
    if any(isinstance(each, timedelta | np.timedelta64) for each in known):
        return "duration"
    dates = [each for each in known if as_bound(each) is not each and not isinstance(each, bool)]
    if not dates:
        return None
    if len(dates) < len(known):
        raise ParameterError("Expected all of lower, upper and threshold to be dates, or none.")
    return "date" if all(isinstance(as_bound(each), int) for each in dates) else "time"


FLOAT = r"[+-]?(?i:[0-9]+\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?|inf|infinity)"
IS_FLOAT = re.compile(FLOAT, re.ASCII)
DIGITS = re.compile(r"[0-9.eE+-]*")
"""Of which Python and Arrow read the same texts as numbers."""
SMALLEST_RANGE = 2.0**-900
"""Below it floats lose digits; no measured quantity is that small."""


def as_numbers(chunk: Chunk) -> FloatArray:
    """A chunk as floats, NaN where a number is missing.

    Whole numbers above 2^53 become the nearest float.  Python's objects may be texts of numbers.
    """
    return _arrow_numbers(chunk) if is_arrow(chunk) else _numpy_numbers(chunk)


def joined_numbers(chunks: Sequence[Chunk]) -> FloatArray:
    """The chunks of a column as one array of floats."""
    parts = [as_numbers(chunk) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])


def clipped(numbers: FloatArray, lower: float, upper: float) -> FloatArray:
    """The numbers clipped to the public range.  How many were clipped stays private.

    A missing number counts as the lower end.
    """
    return np.clip(np.where(np.isnan(numbers), lower, numbers), lower, upper)


def parsed_numbers(texts: Any) -> FloatArray:
    """Text as floats, NaN where a text is not a number; an Arrow array of floats as it is.

    The grammar is that of Arrow's reader of CSV, whose numbers come as floats.
    """
    if not is_arrow(texts):
        return _python_numbers(texts)
    import pyarrow as pa
    import pyarrow.compute as pc

    if texts.type != pa.float64():
        bare = pc.ascii_trim(texts, " \t")
        texts = pc.if_else(pc.match_substring_regex(bare, f"^{FLOAT}$"), bare, None).cast(
            pa.float64()
        )
    numbers: FloatArray = texts.to_numpy(zero_copy_only=False)
    return numbers


def _python_numbers(texts: Sequence[str | None]) -> FloatArray:
    """`parsed_numbers` of Python's own texts: all at once where they hold nothing but digits."""
    try:
        if DIGITS.fullmatch("".join(texts)):  # type: ignore[arg-type]
            return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    return np.fromiter(map(_python_number, texts), dtype=np.float64, count=len(texts))


def _python_number(text: str | None) -> float:
    bare = "" if text is None else text.strip(" \t")
    return float(bare) if IS_FLOAT.fullmatch(bare) else np.nan


def finite_range(lower: Any, upper: Any) -> tuple[float, float]:
    """The public range [lower, upper] as floats.

    Raises:
        ParameterError: if it is not two finite numbers with lower < upper.
    """
    try:
        low = float(lower)
        high = float(upper)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"Expected lower and upper to be numbers, got lower={lower!r}, upper={upper!r}."
        ) from None
    if not (np.isfinite(high - low) and high - low > SMALLEST_RANGE):
        raise ParameterError(
            f"Expected lower < upper, both finite and public, got lower={low:g}, upper={high:g}."
        )
    return low, high


def as_labels(chunks: Iterable[Chunk]) -> list[Hashable]:
    """The chunks of a column as Python objects; what cannot be compared is missing.

    Whole numbers of numpy, which some other numbers cannot be compared with, are Python's.
    """
    return [
        cell if type(cell) is str else _as_label(cell)
        for chunk in chunks
        for cell in _objects(chunk)
    ]


def _as_label(cell: Any) -> Hashable:
    if isinstance(cell, np.integer) and cell.dtype.kind != "m":  # a span of time is one to numpy
        return int(cell)
    return cell if _is_hashable(cell) else None


def as_names(chunks: Iterable[Chunk]) -> list[Hashable]:
    """The chunks of a column of public names as Python objects, `MISSING` where there is none."""
    return [MISSING if is_missing(label) else label for label in as_labels(chunks)]


def is_missing(value: Any) -> bool:
    """Whether one record is missing: None, NaN, NaT, or pandas' NA, which equals nothing."""
    if value is None:
        return True
    try:
        same = value == value  # noqa: PLR0124
    except Exception:  # whatever an object does
        return True
    if isinstance(same, bool | np.bool_):
        return not same
    return type(value).__name__ == "NAType" or not _is_hashable(value)


MOST_LISTED = 10**7
"""Labels of a range: more of them would not fit into memory."""


def public_labels(labels: Any, what: str) -> tuple[Hashable, ...]:
    """A public list of groups or categories in its order, numpy's scalars as plain ones.

    Args:
        labels: the list.
        what: it lists, for errors: "groups", "categories".

    Raises:
        ParameterError: if it is no list, is empty, names one twice, or holds a missing value.
    """
    if isinstance(labels, str | bytes | Set | Mapping) or not isinstance(labels, Collection):
        raise ParameterError(
            f"Expected {what}= to be a list, such as ['A', 'B'], got {a_thing(labels)}."
        )
    if isinstance(labels, range) and abs(labels.stop - labels.start) > MOST_LISTED:
        raise ParameterError(
            f"Expected a list of at most {MOST_LISTED:,} {what}, got a longer range. The most "
            "frequent of so many whole numbers need no list: pass "
            f"categories=dampen.universe(integers=({labels.start}, {labels.stop - 1}))."
        )
    listed = tuple(labels.tolist() if hasattr(labels, "tolist") else labels)
    if not listed:
        raise ParameterError(f"Expected a list of {what}, got an empty one.")
    try:
        different = len(set(listed))
    except TypeError:
        raise ParameterError(f"Expected {what} such as text or whole numbers.") from None
    if different < len(listed):
        raise ParameterError(f"Expected different {what}; some occur twice.")
    if not {*map(type, listed)} <= {str, int, bool} and any(map(_has_missing, listed)):
        raise ParameterError(
            f"Expected {what} without None and NaN. To count rows without a value, list "
            "dampen.MISSING."
        )
    return listed


def _has_missing(label: Any) -> bool:
    return any(map(is_missing, label if isinstance(label, tuple) else (label,)))


def is_key(value: Any) -> bool:
    """Whether a value, or a tuple of several, can be released as one that rows have."""
    if isinstance(value, tuple):
        return all(map(is_key, value))
    return not is_missing(value) and not (isinstance(value, str) and len(value) == 0)


def public_order(key: Hashable) -> tuple[str, str]:
    """What keys are sorted by: of two of them it does not depend on any other."""
    kinds = key if isinstance(key, tuple) else (key,)
    try:
        text = str(key)
    except Exception:  # whatever an object does
        text = ""
    return text, " ".join(type(each).__name__ for each in kinds)


LARGEST_KEY = 10**3000
"""Python writes whole numbers of up to 4,300 digits."""
MOST_DIGITS = 4000
"""Of a decimal that equals a fraction."""


def as_keys(labels: Iterable[Hashable], *, declared: bool = False) -> list[Hashable]:
    """Labels as they are published: a function of the label alone, and of equal ones the same.

    1, 1.0 and True are one key, and so are 0.0 and -0.0: were it written as in the first of its
    rows, it would tell what one row holds.  Whole numbers are written as such, truth values among
    them, other numbers as floats where they are equal to one, else as decimals or fractions, and
    times of any zone in UTC.  Text, bytes, dates, durations and tuples lose any class of their
    own.  Enums, UUIDs and addresses of the internet stay; other objects may be equal and be written
    differently, and are missing.

    Args:
        labels: from `as_labels`.
        declared: whether the column declares their type, which they keep.
    """
    if declared:
        return [each if type(each) is str else _in_its_type(each) for each in labels]
    return [each if type(each) is str else _as_key(each) for each in labels]


def as_written(chunk: Chunk, *, declared: bool) -> Chunk:
    """A chunk in which cells are equal that are published as the same key.

    Args:
        chunk: of a column of keys.
        declared: whether the column declares their type.
    """
    if is_arrow(chunk):
        return with_one_zero(chunk)
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return chunk + 0.0 if chunk.dtype.kind == "f" else chunk
    return as_keys(as_labels([chunk]), declared=declared)


def with_one_zero(chunk: Any) -> Any:
    """An Arrow array without a dictionary, in which -0.0 is 0.0, as it is to Python."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
    if not pa.types.is_floating(plain.type):
        return plain
    wide = plain.cast(pa.float32()) if pa.types.is_float16(plain.type) else plain
    return pc.add(wide, pa.scalar(0.0, wide.type))


def _in_its_type(label: Hashable) -> Hashable:
    """A label of a declared column: of a decimal any number of zeros at the end may be stored."""
    if isinstance(label, float) and label == 0:
        return 0.0
    if isinstance(label, Decimal) and label.is_finite():
        return None if abs(label) >= LARGEST_KEY else _decimal_key(label)
    return label


def _as_key(label: Any) -> Hashable:
    """One label; None for one that is missing, or cannot be written."""
    try:
        return _written(label)
    except Exception:  # whatever an object does
        return None


def _written(label: Any) -> Hashable:
    match label:
        case tuple():
            return tuple(map(_as_key, label))
        case str():
            return str.__str__(label)
        case bytes() | memoryview():
            return bytes(label)
        case np.datetime64() | np.timedelta64():
            [moment] = _objects(np.array([label]))
            return _object_key(moment)
        case Number() | np.number() | np.bool_():
            return _number_key(label)
    return _object_key(label)


def _object_key(label: Any) -> Hashable:
    """A date, a time or a duration without a class of its own, or an object of one form."""
    match label:
        case datetime():
            return _datetime_key(label)
        case date():
            return date(label.year, label.month, label.day)
        case time():
            return _time_key(label)
        case timedelta():
            fine = getattr(label, "nanoseconds", 0)
            return label if fine else timedelta(label.days, label.seconds, label.microseconds)
    return label if _has_one_form(label) else None


ONE_FORM = (
    ("ipaddress", "IPv4Address"),
    ("ipaddress", "IPv6Address"),
    ("uuid", "UUID"),
)
"""Types of which equal objects read alike; by name, as `uuid` draws, which only `sampling` may."""


def _has_one_form(label: Any) -> bool:
    """Whether nothing is equal to an object, or all that is reads as it does."""
    if isinstance(label, Enum):
        return type(label).__eq__ is object.__eq__ and bool(str(label))
    return (type(label).__module__, type(label).__qualname__) in ONE_FORM


def _number_key(label: Any) -> Hashable:
    number = label.item() if isinstance(label, np.generic) else label
    if isinstance(number, int):
        number = int.__index__(number)  # whatever its own class says
    if isinstance(number, complex):
        # -0.0 + 0.0 is 0.0
        return number + 0.0 if number.imag else _number_key(number.real)
    if isinstance(number, float):
        return int(number) if number.is_integer() else float(number)
    if isinstance(number, Decimal) and not number.is_finite():
        return float(number)
    return None if abs(number) >= LARGEST_KEY else _exact_key(number)


def _exact_key(number: Any) -> Hashable:
    if number == int(number):
        return int(number)
    near = float(number)
    if near == number:
        return near
    if isinstance(number, Decimal):
        return _decimal_key(number)
    return _fraction_key(Fraction(number.numerator, number.denominator))


def _fraction_key(number: Fraction) -> Hashable:
    """A fraction as the decimal that equals it, if one does."""
    if number.denominator >= LARGEST_KEY:
        return None
    with localcontext(prec=MOST_DIGITS) as context:
        context.traps[Inexact] = True
        try:
            return _decimal_key(Decimal(number.numerator) / Decimal(number.denominator))
        except Inexact:
            return number


def _decimal_key(number: Decimal) -> Decimal:
    """Without zeros at the end of its decimals; `Decimal.normalize` would round it as well."""
    sign, digits, exponent = number.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0")
    if not kept:
        return Decimal(0)
    least = min(int(exponent) + len(digits) - len(kept), 0)
    if least < 0:
        return Decimal((sign, digits[: len(kept)], least))
    return Decimal((sign, (*digits, *(0,) * int(exponent))[: len(digits) + int(exponent)], 0))


def _datetime_key(moment: datetime) -> Hashable:
    """In UTC if it has a zone; a nanosecond, which only pandas has, is kept with its class."""
    if getattr(moment, "nanosecond", 0):
        plain = moment
    else:
        day = (moment.year, moment.month, moment.day)
        clock = (moment.hour, moment.minute, moment.second, moment.microsecond)
        plain = datetime(*day, *clock, moment.tzinfo, fold=moment.fold)
    if plain.utcoffset() is None:
        return plain.replace(tzinfo=None, fold=0)
    return plain.astimezone(UTC).replace(fold=0)


def _time_key(moment: time) -> time:
    """In UTC if it has a zone, on whichever day."""
    plain = time(moment.hour, moment.minute, moment.second, moment.microsecond)
    offset = moment.utcoffset()
    if offset is None:
        return plain
    return (datetime.combine(date(2000, 1, 2), plain) - offset).time().replace(tzinfo=UTC)


def missing_in(chunk: Chunk) -> NDArray[np.bool_]:
    """Which records are missing, or cannot be compared with labels."""
    if is_arrow(chunk):
        plain: Any = chunk.dictionary_decode() if hasattr(chunk, "dictionary") else chunk  # type: ignore[union-attr]
        nulls: NDArray[np.bool_] = plain.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        return nulls
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return np.asarray(chunk != chunk)  # noqa: PLR0124
    missing = (is_missing(value) or not _is_hashable(value) for value in chunk)
    return np.fromiter(missing, dtype=np.bool_, count=len(chunk))


def typed(column: Any, kind: Kind) -> Any:
    """A column of an engine as the wanted kind; other kinds than text are as declared."""
    if not is_arrow(column):
        return column if kind != "text" else [None if v is None else str(v) for v in column]
    import pyarrow as pa

    if kind != "text" or column.type == pa.string():
        return without_views(column)
    try:
        return column.cast(pa.string())
    except pa.ArrowException:  # such as a date beyond all calendars
        texts = [None if value is None else str(value) for value in _objects(column)]
        return pa.array(texts, pa.string())


def without_views(array: Any) -> Any:
    """An Arrow array of views of text as one of texts: Arrow cannot take rows of views."""
    import pyarrow as pa

    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


EXACT = 2**53
"""Whole numbers up to here lose nothing as floats."""


class Lookup:
    """The position of values among public labels, -1 for a cell that has none.

    Values match by equality, as in a dict: 1 and 1.0 are the same category, 1 and "1" are not.
    Where all labels are truth values, the texts "True" and "true" of a file match them too.
    `MISSING` and `OTHER` among the labels take the cells that are missing, and those that are not
    listed; see the module.
    """

    def __init__(self, categories: Sequence[Hashable]) -> None:
        self.categories = tuple(categories)
        self.listed = self.categories
        if MISSING in self.categories or OTHER in self.categories:
            self.listed = tuple(label for label in self.categories if label not in RULES)
        self.types = {*map(type, self.listed)}

    def __len__(self) -> int:
        return len(self.categories)

    @property
    def kind(self) -> Kind:
        """How to read a column of a file that is to be compared with the categories."""
        if all(issubclass(each, str) for each in self.types):
            return "text"
        if self.types == {int}:
            numbers: Any = self.listed
            least, most = min(numbers), max(numbers)
            return "numbers" if least >= -EXACT and most <= EXACT else "any"
        return "numbers" if all(map(_is_exact_number, self.listed)) else "any"

    def positions(self, chunk: Chunk) -> IntArray:
        """One position per record."""
        found = self._found(chunk)
        if len(self.listed) == len(self):
            return found
        found = np.where(found < 0, self._position.get(OTHER, -1), found)
        missing = missing_in(chunk)
        if "" not in self._position:
            missing = missing | (_EMPTY.positions(chunk) == 0)
        return np.where(missing, self._position.get(MISSING, -1), found)

    def _found(self, chunk: Chunk) -> IntArray:
        """The position of every value that is listed, else -1."""
        if is_arrow(chunk):
            return self._arrow_positions(chunk)
        if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
            return self._numpy_positions(chunk)
        return self._python_positions(chunk.tolist() if isinstance(chunk, np.ndarray) else chunk)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        places: dict[Hashable, int] = {label: i for i, label in enumerate(self.categories)}
        if self.types == {bool}:
            places |= {text: places[truth] for truth in self.listed for text in _spellings(truth)}
        return places

    @cached_property
    def _value_set(self) -> Any:
        """The categories as an Arrow array where all are text or all are whole numbers."""
        import pyarrow as pa

        first = self.categories[: len(self.listed)]
        for kind, arrow, values in (
            (str, pa.string(), self.categories),
            (int, pa.int64(), self.listed if self.listed == first else ()),
        ):
            if values and {*map(type, values)} == {kind}:
                try:
                    return pa.array(values, type=arrow)
                except (pa.ArrowException, OverflowError, UnicodeError):
                    return None
        return None

    @cached_property
    def _are_codes(self) -> bool:
        """Whether the listed categories are 0, 1, ..., each its own position."""
        return self.categories[: len(self.listed)] == tuple(range(len(self.listed)))

    def _arrow_positions(self, chunk: Any) -> IntArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(chunk.type):
            return _taken(self._arrow_positions(chunk.dictionary), chunk.indices)
        values = self._value_set
        kinds = pa.types
        text = kinds.is_string(chunk.type) or kinds.is_large_string(chunk.type)
        if values is not None and (
            (text and values.type == pa.string()) or chunk.type == values.type
        ):
            found = pc.index_in(chunk, value_set=values.cast(chunk.type), skip_nulls=True)
            return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        seen = chunk.dictionary_encode()
        if not pa.types.is_dictionary(seen.type):  # nested types
            return self._python_positions(_objects(chunk))
        return _taken(self._python_positions(_objects(seen.dictionary)), seen.indices)

    def _numpy_positions(self, chunk: Any) -> IntArray:
        if chunk.dtype.kind in "iu" and self._are_codes:
            codes = np.ascontiguousarray(chunk, dtype=np.int64)
            inside = codes.view(np.uint64) < len(self.listed)  # what is below 0 is very large here
            return codes if inside.all() else np.where(inside, codes, -1)
        if chunk.dtype.kind in "buf" or (chunk.dtype.kind == "i" and not has_arrow()):
            seen, inverse = np.unique(chunk, return_inverse=True)
            return self._python_positions(seen.tolist())[inverse]
        as_arrow = in_arrow(chunk) if chunk.dtype.kind in "iUMm" else None
        if as_arrow is None:
            return self._python_positions(_objects(chunk))
        return self._arrow_positions(as_arrow)

    def _python_positions(self, values: Iterable[Any]) -> IntArray:
        listed = list(values)
        try:
            return np.fromiter(map(self._position.get, listed, repeat(-1)), dtype=np.int64)
        except Exception:  # whatever an object does when it is compared
            return np.fromiter(map(self._position_of, listed), dtype=np.int64)

    def _position_of(self, value: Any) -> int:
        try:
            return self._position.get(value, -1)
        except Exception:
            return -1


_EMPTY = Lookup([""])


def _spellings(truth: Hashable) -> tuple[str, str, str]:
    """How files of text write a truth value."""
    text = str(truth)
    return text, text.lower(), text.upper()


def _is_exact_number(value: Any) -> bool:
    """Whether a number loses nothing as a float."""
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (
        isinstance(value, int | np.integer) and -EXACT <= int(value) <= EXACT
    )


def is_arrow(chunk: Any) -> bool:
    """Whether a chunk is an Arrow array."""
    return hasattr(chunk, "to_pylist")


def in_arrow(chunk: NDArray[Any]) -> Any:
    """An array of numpy as one of Arrow.

    None for text or times that Arrow does not hold, and where it is not installed.
    """
    if not has_arrow():
        return None
    import pyarrow as pa

    try:
        return pa.array(chunk)
    except (pa.ArrowException, UnicodeError):
        return None


def _objects(chunk: Chunk) -> list[Any]:
    """A chunk as Python objects, None where there is none for a cell."""
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind in "Mm":
        # numpy turns times with nanoseconds into bare numbers; Arrow does not.
        as_arrow = in_arrow(chunk)
        chunk = _moments(chunk) if as_arrow is None else as_arrow
    if not is_arrow(chunk):
        return chunk.tolist() if isinstance(chunk, np.ndarray) else list(chunk)
    try:
        objects: list[Any] = chunk.to_pylist()  # type: ignore[union-attr]
    except Exception:  # one cell is enough
        objects = [_object(cell) for cell in chunk]
    return objects


def _moments(chunk: NDArray[Any]) -> NDArray[Any]:
    """Times or spans as Python's, None for those that it has no object for."""
    fine = np.datetime_data(chunk.dtype)[0] in ("ns", "ps", "fs", "as")
    coarse = chunk.astype(f"{chunk.dtype.kind}8[us]") if fine else chunk
    objects = coarse.astype(object)
    known = (isinstance(each, date | timedelta) for each in objects)
    objects[~(np.fromiter(known, np.bool_, len(chunk)) & (coarse == chunk))] = None
    return objects


def _object(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # such as a time beyond all calendars
        return None


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True


def _taken(positions: IntArray, indices: Any) -> IntArray:
    """The positions of a dictionary's words for every record, -1 for one that is missing."""
    # Indices may be unsigned, which cannot hold -1.
    at = indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(positions, -1)[at]


def _arrow_numbers(chunk: Any) -> FloatArray:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if not (
        kinds.is_integer(chunk.type)
        or kinds.is_floating(chunk.type)
        or kinds.is_decimal(chunk.type)
    ):
        return np.full(len(chunk), np.nan)
    numbers: FloatArray = chunk.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _numpy_numbers(chunk: Any) -> FloatArray:
    array = chunk if isinstance(chunk, np.ndarray) else _array_of_numbers(chunk)
    if array is not None and array.ndim == 1 and array.dtype.kind in "iuf":
        numbers: FloatArray = array.astype(np.float64, copy=False)
        return numbers
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return np.full(len(chunk), np.nan)
    return np.fromiter(map(as_number, chunk), dtype=np.float64, count=len(chunk))


def _array_of_numbers(values: Sequence[Any]) -> NDArray[Any] | None:
    """All at once, where all of them are Python's plain numbers."""
    if {*map(type, values)} <= {int, float}:
        with suppress(OverflowError):
            return np.asarray(values)
    return None


def as_number(value: Any) -> float:
    """A Python number of any kind, such as Decimal, or a text of one, as a float; else NaN.

    Text is read as in a file (`parsed_numbers`).  Each cell is read by itself.
    """
    if isinstance(value, str):
        return _python_number(value)
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, Real | Decimal):
        return np.nan
    try:
        return float(value)
    except Exception:  # too large, or whatever an object does
        return np.nan
