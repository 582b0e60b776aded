"""Public domains: how a column of a table becomes integer codes.

A domain is public knowledge: it is never read off the data without a `PrivacyLeakWarning`.
Numbers go into bins, and a number beyond the outer edges goes into the end bin.

A missing value is a value of its own where the domain declares it, by `missing="own"` for bins and
by `dampen.MISSING` (or `None`) among categories; values that are not listed are one where
`dampen.OTHER` is among the categories.  When fitting, rows with another value are dropped.  When
predicting, such a category is treated as the *last* one of its domain.
"""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import (
    Lookup,
    as_labels,
    as_number,
    as_numbers,
    finite_range,
    is_missing,
)
from dampen.data.source import Batch, Chunk, Kind
from dampen.errors import DataError, ParameterError, did_you_mean
from dampen.rules import MISSING
from dampen.schema import columns as facts

__all__ = ["Bins", "Categories", "Domain", "bins"]

LEAKED_BINS = 10
MOST_VALUES = 2**15

Missing: TypeAlias = Literal["own"]


@dataclass(frozen=True)
class Bins:
    """Public edges, ascending: bin i is edges[i] <= x < edges[i+1]; the end bins are open outwards.

    With `missing="own"` a missing number has a bin of its own, after all others.

    >>> Bins([0, 18, 65, 120]).encode(np.array([-3, 17.5, 18, 64, 200])).tolist()
    [0, 0, 1, 1, 2]
    """

    edges: Sequence[float]
    missing: Missing | None = None
    ordered: ClassVar[bool] = True
    kind: ClassVar[Kind] = "numbers"

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
    def holds_missing(self) -> bool:
        """Whether a missing value has a code of its own."""
        return self.missing is not None

    def encode(self, column: Chunk, /) -> IntArray:
        """The bin of every number, -1 for one that is missing and may not be."""
        parsed = isinstance(column, np.ndarray) and column.dtype.kind in "bOU"
        numbers = _parsed(column) if parsed else as_numbers(column)
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
        return " or ".join(filter(None, [_span(low, high), absent]))


@dataclass(frozen=True)
class Categories:
    """Public categories, all different; `ordered` ones are cut in two rather than told apart.

    `MISSING`, or `None`, among them stands for a missing value, `OTHER` for all others.
    """

    values: Sequence[Hashable]
    ordered: bool = False

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
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

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
        """The position of every value, -1 for a value that is not listed."""
        return self._lookup.positions(column)

    def describe(self, codes: Sequence[int]) -> str:
        """The categories, or the fewer that are left out."""
        if len(codes) <= max(1, len(self) // 2):
            return " or ".join(str(self.values[code]) for code in codes)
        chosen = set(codes)
        left = [str(value) for code, value in enumerate(self.values) if code not in chosen]
        return f"not {' or '.join(left)}" if left else "any"


Domain: TypeAlias = Bins | Categories


def bins(low: float, high: float, count: int, *, missing: Missing | None = None) -> Bins:
    """`count` bins of equal width between two public numbers.

    Args:
        low: the lower end of the first bin.
        high: the upper end of the last one.
        count: how many.
        missing: "own" gives missing values a bin of their own.

    Returns:
        The bins, as a public domain of a column.

    Raises:
        ParameterError: unless low < high are finite and count is a positive integer.

    >>> bins(0, 100, 4)
    Bins(edges=(0.0, 25.0, 50.0, 75.0, 100.0), missing=None)
    """
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 1 <= count < MOST_VALUES:
        raise ParameterError(
            f"Expected count to be an integer from 1 to {MOST_VALUES - 1}, got count={count!r}."
        )
    return Bins(np.linspace(*finite_range(low, high), int(count) + 1).tolist(), missing)


def as_domain(given: Any, name: str) -> Domain:
    """A domain from what a user writes: a domain, a number of codes, or a list of categories.

    The facts of a column, from a schema, are a domain too.
    """
    if isinstance(given, Bins | Categories):
        return given
    if isinstance(given, facts.Numbers):
        return Bins(given.bin_edges, "own" if given.missing == "own" else None)
    if isinstance(given, facts.Categories):
        return Categories(given.labels)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return Categories(range(int(given)))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return Categories(tuple(given))
    raise ParameterError(
        f"Expected the domain of {name} to be bins, a list of categories or a number of codes, "
        f"got a {type(given).__name__}."
    )


def checked_classes(classes: Any) -> Categories:
    """The public classes, two at least.

    Raises:
        ParameterError: if they are not a list of different classes.
    """
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise ParameterError(
            f"Expected classes to be a list of the public classes, got a {type(classes).__name__}."
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
            f"got a {type(domains).__name__}."
        )
    if len(domains) != len(names):
        raise ParameterError(f"Expected one domain per column ({len(names)}), got {len(domains)}.")
    return [as_domain(d, name) for d, name in zip(domains, names, strict=True)]


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
            raise DataError(f"Expected numbers in {name}; some are missing (NaN).")
        codes[unknown, a] = len(domain) - 1
    return codes


def leaked_domain(chunks: Sequence[Chunk]) -> Domain:
    """A domain read off the data: the categories, or ten bins over the range."""
    labels = as_labels(chunks)
    numbers = _as_numbers(labels)
    if numbers is None:
        return Categories(sorted(set(map(_plain, labels)), key=str))
    if not np.isfinite(numbers).all():
        raise DataError("Expected numbers only; some are NaN or infinite (inf).")
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    # Halves, because the whole range may be beyond all floats; the end bins are open anyway.
    edges = np.unique(2 * np.linspace(low / 2, high / 2, LEAKED_BINS + 1)).tolist()
    return Bins(edges if len(edges) > 1 else [low / 2, low / 2 + max(1.0, abs(low) / 2)])


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


def _span(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "any"
    if low is None:
        return f"< {high:g}"
    return f">= {low:g}" if high is None else f"{low:g} to {high:g}"


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
    codes = np.empty((rows, len(columns)), dtype=np.int16)
    for a, domain in enumerate(domains.values()):
        codes[:, a] = domain.encode(columns[a])
    return codes


def first_codes(domains: Sequence[Domain]) -> IntArray:
    """Where the values of each attribute begin when all are written below each other."""
    return np.array([0, *itertools.accumulate(map(len, domains))], dtype=np.int64)
