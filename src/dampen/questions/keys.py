"""`keys`: which values do enough rows have, and how many rows?  Nobody needs to list the values.

Add/remove one row.  Every value that occurs is a key with a count.  Its count gets truncated noise,
and it is published if the noisy count exceeds a threshold: (ε, δ)-DP, by the theorem in
`dampen.core.truncated`, since a row has one key.  Values that no row has are never published, and
the noise of a key does not depend on the others, so that the possible values need not be known.

The published keys with their noisy counts are the release.  Sorting them, with equal counts in the
order of their text, and keeping the largest k is post-processing.  Rows without a value, and with
one that cannot be compared, have no key.

**Counts near the threshold are biased upwards**: a key of few rows is published only if its noise
is large.  What always holds: |noisy count - count| <= T.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray, Neighbours
from dampen.core.truncated import Threshold
from dampen.data.columns import is_missing
from dampen.data.open import open_columns, open_table
from dampen.data.source import Chunk, Opened, is_opened, reading, require_labels
from dampen.epsilon import Epsilon, exact
from dampen.errors import ParameterError
from dampen.releases.accuracy import Accuracy, by_threshold
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.question import Shape, parameter
from dampen.releases.release import Release
from dampen.schema.schema import Schema

__all__ = ["KeysMethod", "KeysQuestion", "exact_delta", "given_counts", "keys", "tally"]

MOST_ROWS = 2**53


@dataclass(frozen=True, kw_only=True)
class KeysQuestion:
    """Which values do enough rows have, and how many?"""

    value: str = parameter("column", "Column of the values.", holds="categories")
    delta: Epsilon = parameter("exact", "Probability δ of a failure of ε, such as 1e-6.", label="δ")
    k: int | None = parameter(
        "count", "At most so many values, those with the most rows.", default=None, short="k"
    )
    name: ClassVar[str] = "keys"
    title: ClassVar[str] = "Values and their counts"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen keys visits.csv --value diagnosis --epsilon 0.5 --delta 1e-6",
        "dampen keys visits.csv --value diagnosis -k 2 --epsilon 0.5 --delta 1e-6",
    )

    def __post_init__(self) -> None:
        exact_delta(self.delta)
        if self.k is not None:
            check_most(self.k)

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table)
        require_labels(opened, self.value)
        return opened

    def method(self, source: Opened, schema: Schema, price: Price, /) -> "KeysMethod":
        del source, schema, price
        return KeysMethod(self.name, self.value, exact_delta(self.delta), self.k, "counts")

    def shown(self) -> Mapping[str, Any]:
        return {} if self.k is None else {"k": self.k}

    def text(self) -> str:
        return f"values of {self.value}"

    def shape(self) -> Shape:
        return "value"


@dataclass(frozen=True)
class KeysMethod:
    """Truncated noise and a threshold.

    Attributes:
        query: what is asked, for the ledger.
        column: of the values.
        delta: the exact δ.
        k: how many at most; None for all.
        wanted: "counts" for a dict, "ranking" for a list, "name" for the first or None.
    """

    query: str
    column: str
    delta: Fraction
    k: int | None
    wanted: Literal["counts", "ranking", "name"]

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query=self.query,
            mechanism="threshold",
            delta=self.delta,
        )
        Threshold.of(cost.epsilon, self.delta)
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        threshold = Threshold.of(epsilon, self.delta)
        return by_threshold(
            _surely_found(threshold), threshold.high, epsilon=epsilon, delta=self.delta, rows=rows
        )

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        found = tally(source, self.column) if is_opened(source) else given_counts(source)
        return Drawn(self.of_counts(found, epsilon, entropy))

    def of_counts(self, found: Mapping[Hashable, int], epsilon: Fraction, entropy: Entropy) -> Any:
        """The answer, from the keys and their counts."""
        counts: IntArray = np.fromiter(found.values(), dtype=np.int64, count=len(found))
        shown, noisy = Threshold.of(epsilon, self.delta).published(counts, entropy)
        names = list(found)
        published = [(names[i], int(noisy[i])) for i in np.flatnonzero(shown)]
        # The order of the data is private, so equal counts need another one.
        published.sort(key=lambda pair: (-pair[1], str(pair[0])))
        best = published[: self.k]
        if self.wanted == "counts":
            return dict(best)
        ranking = [key for key, _ in best]
        return ranking if self.wanted == "ranking" else next(iter(ranking), None)


def exact_delta(delta: Epsilon) -> Fraction:
    """δ as an exact number.

    Raises:
        ParameterError: unless it is above 0 and below 1.
    """
    value = exact(delta, "delta")
    if value >= 1:
        raise ParameterError(f"Expected delta below 1, such as '1e-6', got delta={delta}.")
    return value


def check_most(k: int) -> None:
    """Checks how many keys are asked for.

    Raises:
        ParameterError: if it is no whole number above 0.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"Expected k to be an integer >= 1, got k={k!r}.")


def tally(opened: Opened, name: str) -> dict[Hashable, int]:
    """The different values of a column and how many rows have each; private.

    Missing values, and values that cannot be compared, are left out.
    """
    found: Counter[Hashable] = Counter()
    columnar: list[Any] = []
    with reading(opened.batches({name: "any"})) as stream:
        for batch in stream:
            arrow = _as_arrow(batch[name])
            if arrow is None:
                found.update(_hashable(batch[name]))
            else:
                columnar.append(arrow.value_counts())
    for values, counts in _merged(columnar):
        for value, count in zip(values, counts, strict=True):
            if not is_missing(value):
                found[value] += count
    return dict(found)


def given_counts(counts: Mapping[Hashable, Any]) -> dict[Hashable, int]:
    """Counts that come as a mapping; what is no count of rows is left out."""
    whole = (int, np.integer)
    return {
        key: int(count)
        for key, count in counts.items()
        if isinstance(count, whole) and 0 < count < MOST_ROWS and not is_missing(key)
    }


def _as_arrow(chunk: Chunk) -> Any:
    """The chunk as an Arrow array where that keeps its values, else None."""
    import pyarrow as pa

    if hasattr(chunk, "to_pylist"):
        dictionary = pa.types.is_dictionary(chunk.type)  # type: ignore[union-attr]
        return chunk.dictionary_decode() if dictionary else chunk  # type: ignore[union-attr]
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind in "iuUMmb":
        return pa.array(chunk)
    return None


def _merged(parts: list[Any]) -> list[tuple[list[Any], list[int]]]:
    """Counts of batches, added up where their values have one type."""
    import pyarrow as pa

    if len(parts) > 1 and len({part.type for part in parts}) == 1:
        whole = pa.chunked_array(parts).combine_chunks()
        table = pa.table({"key": whole.field("values"), "rows": whole.field("counts")})
        added = table.group_by("key").aggregate([("rows", "sum")])
        return [(added["key"].to_pylist(), added["rows_sum"].to_pylist())]
    return [(each.field("values").to_pylist(), each.field("counts").to_pylist()) for each in parts]


def _hashable(chunk: Any) -> list[Hashable]:
    """The values of Python objects that a dict can hold."""
    values = chunk.tolist() if isinstance(chunk, np.ndarray) else chunk
    return [value for value in values if not is_missing(value) and _has_hash(value)]


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _surely_found(threshold: Threshold) -> int:
    """The fewest rows of a key that is published in 9 of 10 runs."""
    low = 0
    high = 2 * threshold.high + 1
    while high - low > 1:
        middle = (low + high) // 2
        if threshold.chance(middle) >= 0.9:
            high = middle
        else:
            low = middle
    return high


def keys(
    data: Any,
    value: str | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: Epsilon,
    rho: Epsilon | None = None,
    k: int | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The values that enough rows have, with noisy counts, and (ε, δ)-differential privacy.

    Guarantee: (ε, δ)-DP under adding or removing one row.  Nobody needs to know which values are
    possible.  Values of few rows are not released; `Release.accuracy` says how many rows are
    enough.  A released count is never farther from the true one than the accuracy says.

    Args:
        data: a column, a table or the path of a file (see `dampen.data`).
        value: in a table, the name of the column.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        delta: the probability with which ε may fail, exact: well below 1 / rows, such as "1e-6".
        rho: in place of ε, the privacy parameter of zCDP.
        k: at most so many values, those with the largest noisy counts; None for all.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε and δ; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release` whose answer is a dict from values to noisy counts, largest first.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> searches = ["weather"] * 400 + ["news"] * 90 + ["my own name"]
    >>> list(dampen.keys(searches, epsilon=1, delta="1e-6").answer)
    ['weather', 'news']
    """
    opened, names = open_columns(data, value=value, header=header, table=table)
    question = KeysQuestion(value=names["value"], delta=delta, k=k)
    return answer(question, opened, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
