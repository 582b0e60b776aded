"""Public domains: how a column of a table becomes integer codes.

A domain is public knowledge: it is never read off the data without a `PrivacyLeakWarning`.
Numbers go into bins, and a number beyond the outer edges goes into the end bin.  A category that
is not listed is an error when fitting; when predicting it is treated as the *last* category of its
domain, so that a catch-all such as "other" belongs at the end of the list.
"""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dampen.errors import DataError, ParameterError, did_you_mean, warn_leak
from dampen.selection import FloatArray, IntArray

LEAKED_BINS = 10
MOST_VALUES = 2**15


@dataclass(frozen=True)
class Bins:
    """Public edges, ascending: bin i is edges[i] <= x < edges[i+1]; the end bins are open outwards.

    >>> Bins([0, 18, 65, 120]).encode(np.array([-3, 17.5, 18, 64, 200])).tolist()
    [0, 0, 1, 1, 2]
    """

    edges: Sequence[float]
    ordered = True

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, dtype=np.float64)
        fits = edges.ndim == 1 and 2 <= len(edges) <= MOST_VALUES
        if not (fits and np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise ParameterError("Expected at least two bin edges, finite and ascending.")
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def encode(self, column: Any, /) -> IntArray:
        """The bin of every number."""
        numbers: FloatArray = np.asarray(column).astype(np.float64)
        return np.searchsorted(np.asarray(self.edges[1:-1]), numbers, side="right")

    def describe(self, codes: Sequence[int]) -> str:
        """The numbers in an unbroken run of bins."""
        low = self.edges[codes[0]] if codes[0] > 0 else None
        high = self.edges[codes[-1] + 1] if codes[-1] < len(self) - 1 else None
        if low is None and high is None:
            return "any"
        if low is None:
            return f"< {high:g}"
        return f">= {low:g}" if high is None else f"{low:g} to {high:g}"


@dataclass(frozen=True)
class Categories:
    """Public categories, all different; `ordered` ones are cut in two rather than told apart."""

    values: Sequence[Hashable]
    ordered: bool = False

    def __post_init__(self) -> None:
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in self.values)
        if not 1 <= len(values) <= MOST_VALUES:
            raise ParameterError(f"Expected 1 to {MOST_VALUES} categories, got {len(values)}.")
        if len(set(values)) < len(values):
            raise ParameterError("Expected different categories; some occur twice.")
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, column: Any, /) -> IntArray:
        """The position of every value, -1 for a value that is not listed."""
        array = np.asarray(column)
        if array.dtype.kind in "iub" and self.values == tuple(range(len(self))):
            codes = array.astype(np.int64)
            return np.where((codes >= 0) & (codes < len(self)), codes, -1)
        position = {value: i for i, value in enumerate(self.values)}
        if array.dtype.kind == "O":
            return np.fromiter((position.get(v, -1) for v in array.tolist()), np.int64, len(array))
        seen, inverse = np.unique(array, return_inverse=True)
        known = np.fromiter((position.get(v, -1) for v in seen.tolist()), np.int64, len(seen))
        return known[inverse]

    def describe(self, codes: Sequence[int]) -> str:
        """The categories, or the fewer that are left out."""
        if len(codes) <= max(1, len(self) // 2):
            return " or ".join(str(self.values[c]) for c in codes)
        left = [str(v) for i, v in enumerate(self.values) if i not in set(codes)]
        return f"not {' or '.join(left)}" if left else "any"


Domain: TypeAlias = Bins | Categories


def bins(low: float, high: float, count: int) -> Bins:
    """`count` bins of equal width between two public numbers.

    >>> bins(0, 100, 4)
    Bins(edges=(0.0, 25.0, 50.0, 75.0, 100.0))
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ParameterError(f"Expected count to be an integer >= 1, got count={count!r}.")
    return Bins(np.linspace(low, high, int(count) + 1).tolist())


def as_domain(given: Any, name: str) -> Domain:
    """A domain from what a user writes: a domain, a number of codes, or a list of categories."""
    if isinstance(given, Bins | Categories):
        return given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return Categories(range(int(given)))
    if isinstance(given, Iterable) and not isinstance(given, str):
        return Categories(tuple(given))
    raise ParameterError(
        f"Expected the domain of {name} to be bins, a list of categories or a number of codes, "
        f"got a {type(given).__name__}."
    )


def given_domains(domains: Any, names: Sequence[str]) -> list[Domain | None]:
    """One domain per column, `None` where none was given.

    Raises:
        ParameterError: if the domains do not fit the columns.
    """
    if domains is None:
        return [None] * len(names)
    if isinstance(domains, Mapping):
        return _by_name(domains, names)
    if len(domains) != len(names):
        raise ParameterError(f"Expected one domain per column ({len(names)}), got {len(domains)}.")
    return [as_domain(d, name) for d, name in zip(domains, names, strict=True)]


def encode_rows(columns: Sequence[Any], domains: Sequence[Domain], names: Sequence[str]) -> Any:
    """Codes for fitting, a column of the result per attribute.

    Raises:
        DataError: names the column with a value outside its domain, never the value.
    """
    codes = _encoded(columns, domains, names)
    for a, name in enumerate(names):
        if len(codes) and codes[:, a].min() < 0:
            raise DataError(
                f"Expected only values from the public domain of {name}; there are others. Add "
                "them to its domain if they are public, or map them before the fit."
            )
    return codes


def encode_queries(columns: Sequence[Any], domains: Sequence[Domain], names: Sequence[str]) -> Any:
    """Codes for prediction: a category that is not listed becomes the last one of its domain."""
    codes = _encoded(columns, domains, names)
    for a, domain in enumerate(domains):
        codes[codes[:, a] < 0, a] = len(domain) - 1
    return codes


def leaked_domain(column: Any, name: str) -> Domain:
    """A domain read off the data, with a warning: the categories, or ten bins over the range."""
    warn_leak(
        f"The domain of {name}",
        f"Pass domains={{{name!r}: dampen.bins(low, high, count)}} or a list of categories.",
        stacklevel=6,
    )
    array = np.asarray(column)
    numbers = _as_numbers(array)
    if numbers is None:
        return Categories(sorted(set(array.tolist()), key=str))
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    return bins(low, high, LEAKED_BINS) if low < high else Bins([low, low + max(1.0, abs(low))])


def _as_numbers(array: Any) -> FloatArray | None:
    """The column as numbers, or nothing where it holds text or other objects."""
    if array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.tolist()):
        return None
    if array.dtype.kind not in "iufbO":
        return None
    try:
        numbers: FloatArray = array.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return numbers


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


def _encoded(columns: Sequence[Any], domains: Sequence[Domain], names: Sequence[str]) -> Any:
    rows = len(columns[0]) if columns else 0
    codes = np.empty((rows, len(columns)), dtype=np.int16)
    for a, (column, domain, name) in enumerate(zip(columns, domains, names, strict=True)):
        try:
            codes[:, a] = domain.encode(column)
        except (TypeError, ValueError):
            raise DataError(f"Expected {name} to hold values of its public domain.") from None
    return codes


def first_codes(domains: Sequence[Domain]) -> IntArray:
    """Where the values of each attribute begin when all are written below each other."""
    return np.array([0, *itertools.accumulate(map(len, domains))], dtype=np.int64)
