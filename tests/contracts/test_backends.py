"""One contract for all that holds tables: the same rows give the same counts, wherever they lie.

What is expected is counted row by row in Python.  A new engine is one more entry of `HOLDERS`, in
`tests/engines/holders.py`.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dampen
from contracts.backends import BACKENDS
from dampen.data import open_table
from dampen.data.columns import Lookup, as_labels, as_numbers, is_missing, joined_numbers
from dampen.data.source import Opened, whole_columns
from dampen.errors import ParameterError
from dampen.questions.classify.question import TreeQuestion
from dampen.releases.answer import answer
from dampen.releases.units import persons
from engines.holders import Hold

ROWS = 300
TEXT_FILES = {"csv", "csv.gz", "tsv.bz2", "jsonl"}


@dataclass(frozen=True)
class Column:
    """Values of one type that are repeated, and public categories to look for.

    Attributes:
        type: of Arrow.
        values: what the column holds, again and again.
        categories: some of them, and others.
        numbers: whether it can be asked for as numbers.
        lost: the backends in which such values become others before dampen sees them.
    """

    type: Any
    values: Sequence[Any]
    categories: Sequence[Hashable]
    numbers: bool = True
    lost: frozenset[str] = frozenset()


WHOLE = [0, 1, 7, None, 100, 7]
WITHOUT_DECIMALS = frozenset({"sqlite", *TEXT_FILES})
WITHOUT_TIMES = frozenset({"sqlite", *TEXT_FILES})
COLUMNS = {
    **{
        str(kind): Column(kind, WHOLE, [7, 0, 8, 100])
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
                     pa.uint32(), pa.uint64())
    },
    "codes": Column(pa.int64(), [0, 1, 2, 3, -1], [0, 1, 2]),
    "float32": Column(pa.float32(), [0.5, -0.0, 0.0, None, 2.0**20, math.inf], [0.5, 0, math.inf]),
    "float64": Column(
        pa.float64(), [0.1, -0.0, None, math.nan, 2.0**60, -math.inf], [0.1, 0, 2.0**60]
    ),
    "large": Column(pa.int64(), [2**53, 2**53 + 1, -(2**63), 2**63 - 1], [2**53 + 1, 2**63 - 1]),
    "largest": Column(
        pa.uint64(), [2**64 - 1, 2**63, 2**53 + 1, 0], [2**64 - 1, 0],
        lost=frozenset({"sqlite", *TEXT_FILES}),
    ),
    "decimal": Column(
        pa.decimal128(9, 2), [Decimal("1.50"), Decimal("0.10"), None], [Decimal("1.5"), 0.5],
        lost=WITHOUT_DECIMALS,
    ),
    "bool": Column(
        pa.bool_(), [True, False, None, True], [True, False], numbers=False,
        lost=frozenset({"csv", "csv.gz", "tsv.bz2"}),
    ),
    "string": Column(
        pa.string(), ["a", "A", "é", "e\u0301", " a", "a ", "", None, "1", "NULL", "nan"],
        ["a", "é", " a", "1", "NULL", "nan", "zz"], numbers=False,
    ),
    "large_string": Column(pa.large_string(), ["a", "b", None], ["b"], numbers=False),
    "coded": Column(
        pa.dictionary(pa.int8(), pa.string()), ["a", "b", None, "c"], ["b", "c"], numbers=False
    ),
    "date": Column(
        pa.date32(), [date(2020, 1, 31), date(1969, 7, 20), None], [date(1969, 7, 20)],
        numbers=False, lost=WITHOUT_TIMES,
    ),
    "time": Column(
        pa.timestamp("us"), [datetime(2020, 1, 31, 12), datetime(1969, 7, 20, 1, 2, 3, 456789)],
        [datetime(1969, 7, 20, 1, 2, 3, 456789)], numbers=False, lost=WITHOUT_TIMES,
    ),
    "null": Column(pa.null(), [None], ["a"]),
}  # fmt: skip


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def hold(backend: str, tmp_path: Path) -> Iterator[Hold]:
    with BACKENDS[backend](tmp_path) as hold:
        yield hold


def repeated(column: Column, rows: int = ROWS) -> list[Any]:
    return [column.values[i * i % len(column.values)] for i in range(rows)]


def opened(hold: Hold, columns: dict[str, Any]) -> Opened:
    data, where = hold(pa.table(columns))
    return open_table(data, **where)


@pytest.mark.parametrize("name", COLUMNS)
def test_counts_of_every_type(backend: str, hold: Hold, name: str) -> None:
    """Values are told apart by equality in Python; those that are missing are no category."""
    column = COLUMNS[name]
    if backend in column.lost:
        pytest.skip("it cannot hold such values")
    rows = repeated(column)
    table = opened(hold, {"other": range(ROWS), "c": pa.array(rows, column.type)})
    lookup = Lookup(column.categories)
    counts = table.counts(
        {"c": lookup.kind}, lambda batch: lookup.positions(batch["c"]), len(lookup)
    )
    expected = [sum(as_held(row, column) == c for row in rows) for c in column.categories]
    assert counts.tolist() == [*expected, ROWS - sum(expected)]


def as_held(value: Any, column: Column) -> Any:
    return float(np.float32(value)) if value is not None and column.type == pa.float32() else value


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.numbers])
def test_numbers_of_every_type(backend: str, hold: Hold, name: str) -> None:
    """The nearest floats; NaN for one that is missing."""
    column = COLUMNS[name]
    if backend in column.lost:
        pytest.skip("it cannot hold such values")
    rows = repeated(column)
    table = opened(hold, {"other": range(ROWS), "c": pa.array(rows, column.type)})
    chunks = whole_columns(table, {"c": "numbers"})["c"]
    numbers = joined_numbers(chunks)
    expected = np.array([math.nan if is_missing(row) else float(row) for row in rows])
    if column.type == pa.float32():
        expected = expected.astype(np.float32).astype(np.float64)
    if not table.ordered:
        numbers, expected = np.sort(numbers), np.sort(expected)
    assert np.array_equal(numbers, expected, equal_nan=True)


def test_names_and_order_of_columns(hold: Hold) -> None:
    names = ["z", "a b", 'quo"te', "ä", "select", "a,b"]
    table = opened(hold, {name: [i, i + 1] for i, name in enumerate(names)})
    assert [field.name for field in table.fields] == names
    wanted = whole_columns(table, {"ä": "any", 'quo"te': "numbers"})
    assert list(wanted) == ["ä", 'quo"te']
    assert sorted(as_labels(wanted["ä"])) == [3, 4]
    assert sorted(joined_numbers(wanted['quo"te'])) == [2.0, 3.0]


def test_rows_are_whole_and_those_with_an_order_keep_it(hold: Hold) -> None:
    """More rows than any batch; what stands side by side stays so."""
    size = 200_000
    labels = [f"n{i % 1000}" for i in range(size)]
    table = opened(hold, {"i": range(size), "label": labels, "x": np.arange(size) / 8})
    seen = 0
    for batch in table.batches({"label": "text", "i": "numbers", "x": "numbers"}):
        i = as_numbers(batch["i"]).astype(np.int64)
        assert table.ordered <= np.array_equal(i, np.arange(seen, seen + len(i)))
        assert np.array_equal(as_numbers(batch["x"]), i / 8)
        assert as_labels([batch["label"]]) == [labels[j] for j in i]
        seen += len(i)
    assert seen == size


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_rows(backend: str, hold: Hold, rows: int) -> None:
    if rows == 0 and backend in ("pyarrow batch", "jsonl"):
        pytest.skip("it holds one row at least")
    columns = {
        "x": pa.array([1.5] * rows, pa.float64()),
        "label": pa.array(["a"] * rows, pa.string()),
    }
    table = opened(hold, columns)
    lookup = Lookup(["a", "b"])
    counts = table.counts(
        {"label": lookup.kind}, lambda batch: lookup.positions(batch["label"]), len(lookup)
    )
    assert counts.tolist() == [rows, 0, 0]


@pytest.mark.parametrize("rows", [0, 1])
def test_a_model_of_hardly_any_persons(backend: str, hold: Hold, rows: int) -> None:
    """Whether anybody is there is private, so that nobody at all is no error."""
    if rows == 0 and backend in ("pyarrow batch", "jsonl"):
        pytest.skip("it holds one row at least")
    columns = {name: pa.array(["a"] * rows, pa.string()) for name in ("who", "label", "kind")}
    question = TreeQuestion(target="kind", domains={"label": ["a", "b"]}, classes=["a", "b"])
    data, where = hold(pa.table(columns))
    made = answer(question, data, epsilon=1, schema=persons({"unit": "who"}, 2), **where)
    assert made.parameters["kept_rows_per_unit"] == 2


@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")  # of two rows
def test_a_column_that_is_not_there_or_no_numbers(hold: Hold) -> None:
    """By a declared type it is wrong before the charge; else its cells are missing numbers."""
    data, where = hold(pa.table({"word": ["a", "b"], "x": [1, 2]}))
    public = {"p": 50, "upper": 9, "step": 1, "epsilon": 1, **where}
    with pytest.raises(ParameterError, match="Expected a column 'wrod'"):
        dampen.percentile(data, "wrod", **public)
    if open_table(data, **where).fields[0].holds is None:
        assert 0 <= dampen.percentile(data, "word", **public).answer <= 9
    else:
        with pytest.raises(ParameterError, match="is not numeric"):
            dampen.percentile(data, "word", **public)
