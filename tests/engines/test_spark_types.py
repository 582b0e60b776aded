"""Spark under the contract of all backends: every type that it holds, more than a result may be."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from contracts.test_backends import COLUMNS, as_held, repeated
from dampen.data import open_table
from dampen.data.columns import Lookup, is_missing, joined_numbers
from dampen.data.source import whole_columns
from engines import questions, sparks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing()),
    pytest.mark.filterwarnings(sparks.PANDAS),
    pytest.mark.xdist_group("spark"),
]

UNKNOWN = {
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "largest",
    "coded",
    "null",
    "large_string",
    "time",
}
"""Types of Arrow that Spark has not, or makes others of: a time becomes one of a time zone."""
HELD = {name: column for name, column in COLUMNS.items() if name not in UNKNOWN}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = sparks.start("local[2]", **{"spark.driver.maxResultSize": "1m"})
    yield session
    session.stop()


def test_counts_and_numbers_of_every_type(spark: Any) -> None:
    table = pa.table({name: pa.array(repeated(c), c.type) for name, c in HELD.items()})
    opened = open_table(spark.createDataFrame(table).repartition(2).cache())
    for name, column in HELD.items():
        rows, lookup = repeated(column), Lookup(column.categories)
        counts = opened.counts(
            {name: lookup.kind},
            lambda batch, n=name, at=lookup: at.positions(batch[n]),
            len(lookup),
        )
        expected = [sum(as_held(row, column) == c for row in rows) for c in column.categories]
        assert counts.tolist() == [*expected, len(rows) - sum(expected)], name
        if column.numbers:
            numbers = joined_numbers(whole_columns(opened, {name: "numbers"})[name])
            told = [np.nan if is_missing(row) else float(as_held(row, column)) for row in rows]
            assert np.array_equal(np.sort(numbers), np.sort(told), equal_nan=True), name


def test_rows_beyond_the_largest_result_come_by_partitions(spark: Any) -> None:
    """Two million edges are 32 MB; their two columns meet in every pair: a complete graph."""
    frame = spark.range(0, 2_000_000, 1, 64).selectExpr("id % 34 as a", "id % 33 as b")
    _, neighbours = questions.edges(frame, {})
    assert len(neighbours) == 34 * 33
    with pytest.raises(Exception, match=r"maxResultSize"):
        frame.toArrow()
