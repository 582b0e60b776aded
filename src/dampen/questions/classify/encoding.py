"""Public domains: how a column becomes integer codes, and the candidate splits of the codes.

- `Bins`, `Categories`, `Branches`: the domains.
- `Candidates`: the public candidate splits of a node.

A domain is public knowledge: it is stated, or found privately (`dampen.questions.classify.found`),
and only with `public="data"` read off the data, with a `PrivacyLeakWarning`.
Numbers go into bins, and a number beyond the outer edges goes into the end bin.

A missing value is a value of its own where the domain declares it, by `missing="own"` for bins and
by `dampen.MISSING` (or `None`) among categories; values that are not listed are one where
`dampen.OTHER` is among the categories.  When fitting, rows with another value are dropped.  When
predicting, such a category is treated as the *last* one of its domain.
"""

import itertools
import math
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import (
    Lookup,
    as_labels,
    as_measured,
    as_number,
    as_numbers,
    finite_range,
    is_arrow,
    is_missing,
    parsed_numbers,
)
from dampen.data.source import Batch, Chunk, Kind
from dampen.errors import MISSING, DataError, ParameterError, a_thing, did_you_mean
from dampen.schema import schema as facts

__all__ = [
    "Bins",
    "BoolArray",
    "Branches",
    "Branching",
    "Candidates",
    "Categories",
    "Domain",
    "bins",
    "candidates_of",
]


LEAKED_BINS = 10
COARSEST = 10
"""Bins of naive Bayes, where their number is left to it."""
MOST_VALUES = 2**15
CELLS = 4096
"""Cells of a public hash, which are then put into branches."""
EPOCH = datetime(1970, 1, 1)
MICROSECONDS = 86_400e6
"""Of a day."""

Missing: TypeAlias = Literal["own"]


@dataclass(frozen=True)
class Bins:
    """Public edges, ascending: bin i is edges[i] <= x < edges[i+1]; the end bins are open outwards.

    With `missing="own"` a missing number has a bin of its own, after all others.  With `days`,
    edges are days since 1970-01-01, and cells are dates or spans of time.  With `free`, a model
    chooses how many bins it has: these are the finest, and neighbours are joined.

    >>> Bins([0, 18, 65, 120]).encode(np.array([-3, 17.5, 18, 64, 200])).tolist()
    [0, 0, 1, 1, 2]
    """

    edges: Sequence[float]
    missing: Missing | None = None
    days: bool = field(default=False, repr=False)
    free: bool = field(default=False, repr=False)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            edges = np.asarray(self.edges, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError("Expected bin edges that are numbers.") from None
        fits = edges.ndim == 1 and 2 <= len(edges) <= MOST_VALUES
        if not (fits and np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise ParameterError(f"Expected 2 to {MOST_VALUES} bin edges, finite and ascending.")
        if self.missing not in (None, "own"):
            raise ParameterError(f"Expected missing='own' or nothing, got {self.missing!r}.")
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    def __len__(self) -> int:
        return len(self.edges) - 1 + self.holds_missing

    @property
    def kind(self) -> Kind:
        return "any" if self.days else "numbers"

    @property
    def holds_missing(self) -> bool:
        """Whether a missing value has a code of its own."""
        return self.missing is not None

    def joined(self, count: int) -> "Bins":
        """So many bins, which has to divide their number, each of as many neighbours."""
        size = (len(self.edges) - 1) // count
        return Bins(self.edges[::size], self.missing, days=self.days)

    def encode(self, column: Chunk, /) -> IntArray:
        """The bin of every number, -1 for one that is missing and may not be."""
        numbers = days_of(column) if self.days else numbers_of(column)
        codes = np.searchsorted(np.asarray(self.edges[1:-1]), numbers, side="right")
        return np.where(np.isnan(numbers), -1 if self.missing is None else len(self) - 1, codes)

    def describe(self, codes: Sequence[int]) -> str:
        """The numbers in an unbroken run of bins."""
        last = len(self.edges) - 2
        present = [code for code in codes if code <= last]
        absent = "missing" if len(present) < len(codes) else ""
        if not present:
            return absent
        low = self.edges[present[0]] if present[0] > 0 else None
        high = self.edges[present[-1] + 1] if present[-1] < last else None
        shown = _as_day if self.days else _as_number
        return " or ".join(filter(None, [_span(low, high, shown), absent]))


@dataclass(frozen=True)
class Categories:
    """Public categories, all different; `ordered` ones are cut in two rather than told apart.

    `MISSING`, or `None`, among them stands for a missing value, `OTHER` for all others.

    Attributes:
        values: the categories.
        ordered: whether they are cut in two.
        branches: values that are not listed share so many codes, after all others, by a hash of
            their text.

    >>> Categories(["red", "blue"], branches=4).encode(["blue", "pink", "pink"]).tolist()
    [1, 4, 4]
    """

    values: Sequence[Hashable]
    ordered: bool = False
    branches: int = 0

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= MOST_VALUES:
            raise ParameterError(f"Expected 1 to {MOST_VALUES} categories, got {len(self.values)}.")
        values = tuple(map(_plain, self.values))
        try:
            different = len(set(values))
        except TypeError:
            raise ParameterError("Expected categories such as text or numbers.") from None
        if different < len(values):
            raise ParameterError("Expected different categories; some occur twice.")
        if not 0 <= self.branches <= MOST_VALUES - len(values):
            raise ParameterError(f"Expected at most {MOST_VALUES} categories and branches.")
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values) + self.branches

    @property
    def holds_missing(self) -> bool:
        """Whether a missing value has a code of its own."""
        return MISSING in self.values

    @property
    def kind(self) -> Kind:
        """In files, text is compared with text, numbers with numbers."""
        return self._lookup.kind

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.values)

    def encode(self, column: Chunk, /) -> IntArray:
        """The position of every value, -1 for a value that is not listed and has no branch."""
        found = self._lookup.positions(column)
        unlisted = np.flatnonzero(found < 0) if self.branches else ()
        if len(unlisted):
            labels = as_labels([column])
            held = [labels[i] for i in unlisted]
            found = found.copy()
            found[unlisted] = len(self.values) + _each(held, partial(branch_of, self.branches))
        return found

    def describe(self, codes: Sequence[int]) -> str:
        """The categories, or the fewer that are left out."""
        others = [f"other {i + 1}/{self.branches}" for i in range(self.branches)]
        return _listed([*map(str, self.values), *others], codes)


@dataclass(frozen=True)
class Branches:
    """Values that nobody listed, in `count` codes by a public hash; a missing one is one of them.

    A value is in one of `CELLS` cells by its text, and the `salt` says in which branch a cell is.
    Each hash of `further` makes one more attribute of a tree, so that it can tell values apart
    that share a branch.

    >>> Branches(4, 5).encode(["red", "blue", None, "red"]).tolist()
    [2, 1, 0, 2]
    """

    count: int
    salt: int
    further: tuple["Branches", ...] = ()
    ordered: ClassVar[bool] = False
    kind: ClassVar[Kind] = "text"
    holds_missing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 1 <= self.count <= CELLS or not 0 <= self.salt < 2**32:
            raise ParameterError(f"Expected 1 to {CELLS} branches, and a salt from 0 to 2^32 - 1.")

    def __len__(self) -> int:
        return self.count

    def encode(self, column: Chunk, /) -> IntArray:
        """The branch of every value."""
        return self.of_cells(cells_of(column))

    def of_cells(self, cells: IntArray) -> IntArray:
        """The branch of every cell."""
        return (mixed(cells, self.salt) % np.uint64(self.count)).astype(np.int64)

    def describe(self, codes: Sequence[int]) -> str:
        """The branches, or the fewer that are left out."""
        return _listed([f"branch {i + 1}/{self.count}" for i in range(self.count)], codes)


def _listed(names: Sequence[str], codes: Sequence[int]) -> str:
    """The names of codes, or the fewer that are left out."""
    if len(codes) <= max(1, len(names) // 2):
        return " or ".join(names[code] for code in codes)
    chosen = set(codes)
    left = [name for code, name in enumerate(names) if code not in chosen]
    return f"not {' or '.join(left)}" if left else "any"


Domain: TypeAlias = Bins | Categories | Branches
Classes: TypeAlias = Sequence[Hashable] | Bins
"""What a model predicts: one of several classes, or a number between the ends of equal steps."""


def bins(
    low: float, high: float, count: int | None = None, *, missing: Missing | None = None
) -> Bins:
    """`count` bins of equal width between two public numbers.

    Args:
        low: the lower end of the first bin.
        high: the upper end of the last one.
        count: how many; if left out, a tree has 10 to 160 by a public rule, and naive Bayes 10.
        missing: "own" gives missing values a bin of their own.

    Returns:
        The bins, as a public domain of a column.

    Raises:
        ParameterError: unless low < high are finite and count is a positive integer.

    >>> bins(0, 100, 4)
    Bins(edges=(0.0, 25.0, 50.0, 75.0, 100.0), missing=None)
    """
    if count is None:
        edges = np.linspace(*finite_range(low, high), facts.FINEST_BINS + 1).tolist()
        return Bins(edges, missing, free=True)
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 1 <= count < MOST_VALUES:
        raise ParameterError(
            f"Expected count to be an integer from 1 to {MOST_VALUES - 1}, got count={count!r}."
        )
    return Bins(np.linspace(*finite_range(low, high), int(count) + 1).tolist(), missing)


def as_domain(given: Any, name: str) -> Domain | None:
    """A domain from what a user writes: a domain, a number of codes, or a list of categories.

    The facts of a column, from a schema, are a domain too; None where they state no range and no
    values.
    """
    if isinstance(given, Bins | Categories | Branches):
        return given
    if isinstance(given, facts.Numbers):
        own: Missing | None = "own" if given.missing == "own" else None
        if not given.bounded:
            return None
        return Bins(given.bin_edges, own, days=given.dates, free=given.bins is None)
    if isinstance(given, facts.Categories):
        return Categories(given.labels) if given.labels else None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return Categories(range(int(given)))
    if isinstance(given, tuple):
        _check_no_range(given, name)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return Categories(tuple(given))
    raise ParameterError(
        f"Expected the domain of {name} to be bins, a list of categories or a number of codes, "
        f"got {a_thing(given)}."
    )


def _check_no_range(given: tuple[Any, ...], name: str) -> None:
    """Refuses a pair of numbers, which may be meant as a range or as two categories."""
    if len(given) != 2 or not all(map(_is_finite, given)) or given[0] == given[1]:
        return
    low, high = sorted(given)
    raise ParameterError(
        f"Expected the domain of {name} to be bins or a list of categories, got a pair of numbers, "
        f"which can mean either. Write dampen.bins({low}, {high}) for the numbers from {low} to "
        f"{high}, or the list [{given[0]}, {given[1]}] for two categories."
    )


def _is_finite(value: Any) -> bool:
    """Whether a value is a number with a place on a line; a truth value is none."""
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def fixed(domain: Domain, count: int) -> Domain:
    """A domain with so many bins where their number is left to the model."""
    return domain.joined(count) if isinstance(domain, Bins) and domain.free else domain


def merged_codes(domain: Domain, most: int = COARSEST) -> IntArray:
    """For every code, that of so many bins; the codes themselves where there are no more.

    >>> merged_codes(bins(0, 1, 20, missing="own"))[[0, 1, 2, 19, 20]].tolist()
    [0, 0, 1, 9, 10]
    >>> merged_codes(bins(0, 1, 13)).tolist()
    [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9]
    """
    codes = np.arange(len(domain))
    size = len(domain.edges) - 1 if isinstance(domain, Bins) else 0
    return codes * most // size if size > most else codes


def merged_values(domains: Sequence[Domain], most: int = COARSEST) -> tuple[IntArray, IntArray]:
    """Where the merged values of each attribute begin, and for every value the merged one."""
    each = [merged_codes(domain, most) for domain in domains]
    first = np.cumsum([0, *(codes[-1] + 1 for codes in each)], dtype=np.int64)
    return first, np.concatenate([codes + begin for codes, begin in zip(each, first, strict=False)])


def checked_classes(classes: Any) -> Categories:
    """The public classes, two at least.

    Raises:
        ParameterError: if they are not a list of different classes.
    """
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise ParameterError(
            f"Expected classes to be a list of the public classes, got {a_thing(classes)}."
        )
    given = Categories(tuple(classes))
    if len(given) < 2:
        raise ParameterError("Expected at least two classes, got one.")
    return given


def class_array(classes: Sequence[Any]) -> NDArray[Any]:
    """The classes in one dimension, each as it is: numpy would turn numbers beside text to text."""
    plain = np.asarray(classes) if len({type(c) for c in classes}) == 1 else None
    if plain is None or plain.ndim > 1 or plain.dtype.kind not in "biufU":
        return np.fromiter(classes, dtype=object, count=len(classes))
    return plain


def given_domains(domains: Any, names: Sequence[str]) -> list[Domain | None]:
    """One domain per column, `None` where none was given.

    Raises:
        ParameterError: if the domains do not fit the columns.
    """
    if domains is None:
        return [None] * len(names)
    if isinstance(domains, Mapping):
        return _by_name(domains, names)
    if isinstance(domains, str) or not hasattr(domains, "__len__"):
        raise ParameterError(
            "Expected domains to be a list with one domain per column, or a mapping from names, "
            f"got {a_thing(domains)}."
        )
    if len(domains) != len(names):
        raise ParameterError(f"Expected one domain per column ({len(names)}), got {len(domains)}.")
    return [as_domain(d, name) for d, name in zip(domains, names, strict=True)]


def further_of(domain: Domain) -> tuple[Branches, ...]:
    """The attributes that a tree has of a column besides its own."""
    return domain.further if isinstance(domain, Branches) else ()


def with_one_hash(domain: Domain) -> Domain:
    """A domain as naive Bayes has it, which looks at a column once."""
    return replace(domain, further=()) if isinstance(domain, Branches) else domain


def attributes_of(domains: Sequence[Domain]) -> list[Domain]:
    """The attributes of a tree: the columns, and after them their further hashes."""
    return [*domains, *itertools.chain.from_iterable(map(further_of, domains))]


def columns_of(domains: Sequence[Domain]) -> list[int]:
    """The column of every attribute of a tree.

    >>> columns_of([Categories("ab"), Branches(4, 0, (Branches(4, 1), Branches(8, 2)))])
    [0, 1, 1, 1]
    """
    further = [[column] * len(further_of(domain)) for column, domain in enumerate(domains)]
    return [*range(len(domains)), *itertools.chain.from_iterable(further)]


def encode_batch(batch: Batch, domains: Mapping[str, Domain]) -> IntArray:
    """Codes for fitting, a column of the result per attribute, -1 for a value without one."""
    return _encoded([batch[name] for name in domains], domains)


def encode_queries(columns: Sequence[Chunk], domains: Mapping[str, Domain]) -> IntArray:
    """Codes for prediction: a value that is not listed becomes the last one of its domain.

    Raises:
        DataError: if a number is missing where that was not declared.
    """
    codes = _encoded(columns, domains)
    for a, (name, domain) in enumerate(domains.items()):
        unknown = codes[:, a] < 0
        if isinstance(domain, Bins) and unknown.any():
            raise DataError(
                f"Expected a number in every cell of {name!r}; some are missing (empty, NaN or "
                "text), and the model was released without a place for missing values. Fill them "
                "before you predict; or release a model that has a place for them, with "
                f"dampen.bins({domain.edges[0]:.15g}, {domain.edges[-1]:.15g}, missing='own') as "
                f'the domain of {name!r}, or with missing = "own" in the facts of the column.'
            )
        codes[unknown, a] = len(domain) - 1
    return codes


def leaked_domain(chunks: Sequence[Chunk]) -> Domain:
    """A domain read off the data: the categories, or ten bins over the range."""
    labels = as_labels(chunks)
    numbers = _as_numbers(labels)
    if numbers is None:
        return Categories(sorted(set(map(_plain, labels)), key=str))
    if not np.isfinite(numbers).all():
        raise DataError(
            "Expected numbers only where public='data' reads the range; some are NaN or infinite "
            "(inf). Leave out public='data', or pass domains= such as dampen.bins(0, 90, "
            "missing='own')."
        )
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    # Halves, because the whole range may be beyond all floats; the end bins are open anyway.
    edges = np.unique(2 * np.linspace(low / 2, high / 2, LEAKED_BINS + 1)).tolist()
    return Bins(edges if len(edges) > 1 else [low / 2, low / 2 + max(1.0, abs(low) / 2)])


def numbers_of(chunk: Chunk) -> FloatArray:
    """A chunk as floats: text that is a number, flags, and dates in days since 1970 as well.

    NaN for every other cell.
    """
    if is_arrow(chunk):
        chunk = _plain_arrow(chunk)
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind in "Mm":
        microseconds = chunk.astype("M8[us]" if chunk.dtype.kind == "M" else "m8[us]")
        days = microseconds.astype(np.int64) / MICROSECONDS
        return np.where(np.isnat(chunk), np.nan, days)
    if is_arrow(chunk) and str(chunk.type) in ("string", "large_string"):  # type: ignore[union-attr]
        return parsed_numbers(chunk)
    parsed = isinstance(chunk, np.ndarray) and chunk.dtype.kind in "bOU"
    return _parsed(chunk) if parsed else as_numbers(chunk)


def days_of(chunk: Chunk) -> FloatArray:
    """A chunk of a column of dates, or of spans of time, in days; dates may be text in ISO 8601.

    Numbers are no dates, whatever the type of the column is.
    """
    declared = str(getattr(chunk, "type", ""))
    kind = getattr(getattr(chunk, "dtype", None), "kind", "")
    moments = kind in ("M", "m") or declared.startswith(("date", "timestamp", "duration"))
    return numbers_of(chunk) if moments else as_measured(chunk, "time")


def _plain_arrow(chunk: Any) -> Any:
    """An Arrow array without a dictionary; flags and times as numpy holds them."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if kinds.is_date(chunk.type) or kinds.is_timestamp(chunk.type) or kinds.is_duration(chunk.type):
        return chunk.to_numpy(zero_copy_only=False)
    return chunk.cast("float64") if kinds.is_boolean(chunk.type) else chunk


def branch_of(branches: int, label: Hashable) -> int:
    """The public branch of a value; the same for 1, 1.0 and "1"."""
    try:
        whole = isinstance(label, float) and label.is_integer()
        text = str(int(label) if whole else label)  # type: ignore[call-overload]
        return zlib.crc32(text.encode("utf-8", "surrogatepass")) % branches
    except Exception:  # whatever an object does
        return 0


def is_text(label: Hashable) -> bool:
    """Whether a cell without a number holds something."""
    return not is_missing(label) and not (isinstance(label, str) and len(label) == 0)


def cell_of(label: Hashable) -> int:
    """The public cell of a value: from 1 to `CELLS` by its text, 0 if it is missing."""
    return 1 + branch_of(CELLS, label) if is_text(label) else 0


def cells_of(column: Chunk) -> IntArray:
    """The public cell of every value of a column.

    >>> cells_of([1, "1", 1.0, "", None]).tolist()
    [4024, 4024, 4024, 0, 0]
    """
    return _each(as_labels([column]), cell_of)


def _each(labels: Sequence[Hashable], number_of: Callable[[Hashable], int]) -> IntArray:
    """A public number of every label, by its text; of equal plain ones of a type it is found once.

    Not of all equal labels: 1 is equal to True, and an hour to that of another time zone, and their
    texts differ.  One row would then decide for all rows that are equal to it.
    """
    known: dict[type, dict[Hashable, int]] = {kind: {} for kind in (str, int, float, bool)}

    def found(label: Hashable) -> int:
        alike = known.get(type(label))
        if alike is None:
            return number_of(label)
        if label not in alike:
            alike[label] = number_of(label)
        return alike[label]

    return np.fromiter(map(found, labels), dtype=np.int64, count=len(labels))


def mixed(cells: IntArray, salt: int | IntArray) -> NDArray[np.uint64]:
    """A number of 64 bits for every cell and salt, by the finaliser of SplitMix64."""
    word = cells.astype(np.uint64) + np.asarray(salt, dtype=np.uint64) * np.uint64(CELLS + 1)
    word = word * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


def _plain(value: Any) -> Any:
    """A category as plain Python, `MISSING` where it is missing."""
    plain = value.item() if isinstance(value, np.generic) else value
    return MISSING if is_missing(plain) else plain


def _parsed(array: Any) -> FloatArray:
    """An array that holds text besides may hold its numbers as text; flags are numbers as well."""
    return np.fromiter(map(_float, array), dtype=np.float64, count=len(array))


def _float(value: Any) -> float:
    if not isinstance(value, str | bytes | bool | np.bool_):
        return as_number(value)
    try:
        return float(value)
    except ValueError:
        return np.nan


def _span(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    if low is None:
        return "any" if high is None else f"< {shown(high)}"
    return f">= {shown(low)}" if high is None else f"{shown(low)} to {shown(high)}"


def _as_number(edge: float) -> str:
    return f"{edge:g}"


def _as_day(edge: float) -> str:
    try:
        day = EPOCH + timedelta(days=edge)
    except OverflowError:
        return f"day {edge:g}"
    return day.date().isoformat() if edge == int(edge) else day.isoformat(sep=" ")


def _as_numbers(labels: Sequence[Hashable]) -> FloatArray | None:
    """The column as numbers, or nothing where it holds text or other objects."""
    if any(isinstance(label, str | bytes) for label in labels):
        return None
    try:
        return np.array([np.nan if v is None else v for v in labels], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _by_name(domains: Mapping[Any, Any], names: Sequence[str]) -> list[Domain | None]:
    positions = {name: i for i, name in enumerate(names)}
    result: list[Domain | None] = [None] * len(names)
    for key, given in domains.items():
        if isinstance(key, int) and 0 <= key < len(names):
            result[key] = as_domain(given, names[key])
        elif key in positions:
            result[positions[key]] = as_domain(given, str(key))
        else:
            hint = did_you_mean(str(key), names)
            raise ParameterError(f"Expected domains of columns, got one of {key!r}.{hint}")
    return result


def _encoded(columns: Sequence[Chunk], domains: Mapping[str, Domain]) -> Any:
    rows = len(columns[0]) if columns else 0
    codes = np.empty((rows, len(attributes_of(list(domains.values())))), dtype=np.int16)
    after = len(domains)
    for a, domain in enumerate(domains.values()):
        if not isinstance(domain, Branches):
            codes[:, a] = domain.encode(columns[a])
            continue
        cells = cells_of(columns[a])
        codes[:, a] = domain.of_cells(cells)
        for each in domain.further:
            codes[:, after] = each.of_cells(cells)
            after += 1
    return codes


def first_codes(domains: Sequence[Domain]) -> IntArray:
    """Where the values of each attribute begin when all are written below each other."""
    return np.array([0, *itertools.accumulate(map(len, domains))], dtype=np.int64)


BoolArray = NDArray[np.bool_]
Branching: TypeAlias = Literal["binary", "multiway"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The public splits.  Codes low .. high-1 of an attribute go left, the others right.

    With one branch per value (`multiway`) a candidate is an attribute, and low, high are unused.
    Those of a `column` follow each other: a random split is one of a random column.
    Splits of the attribute `late`, if there is one, are for the release that ends a tree.

    With two branches (`binary`) an ordered attribute is cut between two of its values, and of an
    unordered one each value in turn is set apart from the others.  With one branch per value
    (`multiway`, ID3) the candidates are the attributes.  Either way a candidate is a function of
    one row, so that `dampen.questions.classify.splits` covers both.
    """

    branching: Branching
    first: IntArray
    attribute: IntArray
    low: IntArray
    high: IntArray
    column: IntArray
    late: int = -1

    def __len__(self) -> int:
        return len(self.attribute)

    def possible(self, allowed: BoolArray) -> BoolArray:
        """Which candidates can still tell rows apart, given the values a node's path allows."""
        below = np.concatenate([[0], np.cumsum(allowed)])
        all_values = below[self.first[self.attribute + 1]] - below[self.first[self.attribute]]
        if self.branching == "multiway":
            return np.asarray(all_values >= 2)
        left = below[self.high] - below[self.low]
        return np.asarray((left > 0) & (left < all_values))

    def tables(self, base: IntArray) -> IntArray:
        """Counts (node, candidate, side, class) of two-way splits, from (node, value, class)."""
        zero = np.zeros((len(base), 1, base.shape[2]), dtype=np.int64)
        below = np.concatenate([zero, np.cumsum(base, axis=1)], axis=1)
        left = below[:, self.high] - below[:, self.low]
        begin = self.first[self.attribute]
        end = self.first[self.attribute + 1]
        return np.stack([left, below[:, end] - below[:, begin] - left], axis=2)

    def codes(self, chosen: int) -> tuple[int, int, int]:
        """The attribute of a two-way split, and the codes low .. high - 1 that go left."""
        attribute = int(self.attribute[chosen])
        begin = int(self.first[attribute])
        return attribute, int(self.low[chosen]) - begin, int(self.high[chosen]) - begin

    def branches(self, chosen: int) -> list[list[int]]:
        """The codes that go to each child."""
        a = self.attribute[chosen]
        size = int(self.first[a + 1] - self.first[a])
        if self.branching == "multiway":
            return [[code] for code in range(size)]
        low = self.low[chosen] - self.first[a]
        high = self.high[chosen] - self.first[a]
        left = list(range(int(low), int(high)))
        return [left, [code for code in range(size) if not low <= code < high]]


def candidates_of(
    domains: Sequence[Domain], branching: Branching = "binary", late: Domain | None = None
) -> Candidates:
    """All splits: ordered values are cut in two; of unordered ones each is set apart in turn.

    A `late` domain is that of one more attribute, after all others.
    """
    every = attributes_of(domains)
    column = columns_of(domains)
    if late is not None:
        every.append(late)
        column.append(len(domains))
    first = first_codes(every)
    found: list[tuple[int, int, int]] = []
    for a in sorted(range(len(every)), key=column.__getitem__):
        domain = every[a]
        size = len(domain)
        begin = int(first[a])
        if branching == "multiway":
            found.append((a, begin, begin + size))
        elif domain.ordered or size == 2:
            found += [(a, begin, begin + cut) for cut in range(1, size)]
        else:
            found += [
                (a, begin + code, begin + code + 1) for code in range(size if size > 2 else 0)
            ]
    attribute, low, high = np.array(found, dtype=np.int64).reshape(-1, 3).T
    of_column = np.array(column, dtype=np.int64)[attribute]
    last = -1 if late is None else len(every) - 1
    return Candidates(branching, first, attribute, low, high, of_column, last)
