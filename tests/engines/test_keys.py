"""Counting by keys: the SQL of a grid puts every number where the product's own encoder puts it."""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from operator import itemgetter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dampen.data import open_table
from dampen.data.cells import Keyed, LabelKey, cell_between
from dampen.data.columns import as_numbers
from dampen.data.duckdb import DIALECT
from dampen.data.sql import KeyQuery
from dampen.questions.frequency import MostFrequent
from dampen.questions.percentile.methods import Shares, TwoStages
from dampen.questions.percentile.values import ValueGrid
from engines.nasty import GRIDS, cells_of, numbers_near, points_of, table_of


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with closing(duckdb.connect()) as connection:
        yield connection


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_a_grid_in_sql(grid: Any, connection: Any) -> None:
    table = table_of(numbers_near(points_of(grid)))
    assert grid.key.sql is not None
    assert cells_of(connection.from_arrow(table), grid) == cells_of(table, grid)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.7, 1e6), (0.1, 0.3), (1e-300, 1e300)])
@pytest.mark.parametrize("count", [64, 1000, 2**20])
def test_the_cells_of_two_stages_in_sql(ends: Any, count: int, connection: Any) -> None:
    """Each depends on roots, which IEEE 754 rounds in one way too."""
    shares = Shares.of(Fraction(1))
    cells = TwoStages(n=10**9, p=50, lower=ends[0], upper=ends[1], shares=shares, cells=count)
    table = table_of(numbers_near(np.unique(np.clip(cells.points, *ends))))
    keyed = Keyed({"x": cells.key}, itemgetter("x"))
    for data in (table, connection.from_arrow(table)):
        counts = open_table(data).counts({"x": "numbers"}, keyed, count)
        expected = cells.cells_in(as_numbers(table["x"].combine_chunks()))
        expected = np.bincount(np.where(expected < 0, count, expected), minlength=count + 1)
        assert counts.tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(
    lower=st.decimals(-(10**6), 10**6, places=3),
    step=st.decimals("0.001", 1000, places=3),
    width=st.integers(1, 3000),
    rest=st.decimals(0, 1, places=2),
    seed=st.integers(0, 2**32),
)
def test_any_grid_in_sql(lower, step, width, rest, seed) -> None:
    grid = ValueGrid(float(lower), float(lower + step * width + step * rest), float(step))
    table = table_of(numbers_near(grid.points, seed))
    with closing(duckdb.connect()) as connection:
        assert cells_of(connection.from_arrow(table), grid) == cells_of(table, grid)


def test_a_grid_whose_points_floats_cannot_tell_apart_is_left_to_the_encoder(
    connection: Any,
) -> None:
    assert cell_between(2**48, 1, 1, 5, 2.0**48 + 4) is None
    assert cell_between(2**47, 1, 1, 5, 2.0**47 + 4) is not None
    fine = ValueGrid(1e-20, 1, 0.1)  # its unit is beyond 2^53
    assert fine.key.sql is None
    table = table_of(numbers_near(fine.points))
    assert cells_of(connection.from_arrow(table), fine) == cells_of(table, fine)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.float32()])
def test_numbers_of_other_widths(kind: Any, connection: Any) -> None:
    table = table_of(pa.array([0, 1, 5, 9, 77, 100, None], kind))
    for grid in (ValueGrid(0, 50, 2.5), GRIDS[-1]):
        assert cells_of(connection.from_arrow(table), grid) == cells_of(table, grid)


def test_engines_count_by_keys_or_stream(connection: Any) -> None:
    relation = connection.sql(
        "select 1::bigint a, 1.5::decimal(9,2) b, 'x' c, true d, 0.5::double e, 7::hugeint f"
    )
    fields, grid = open_table(relation).fields, ValueGrid(0, 9, 1).key
    keys = {name: Keyed({name: grid}, lambda keys: keys) for name in "abef"} | {
        name: Keyed({name: LabelKey([1])}, lambda keys: keys) for name in "cd"
    }
    by_keys = [name for name in "abcdef" if KeyQuery.of(keys[name], {name: "any"}, fields, DIALECT)]
    assert by_keys == ["a", "c", "e"]
    assert KeyQuery.of(lambda batch: np.zeros(1), {"a": "any"}, fields, DIALECT) is None


def test_labels_are_grouped_by_bytes(connection: Any) -> None:
    words = ["a", "A", "ä", "a\0b", "", "'; drop", "x" * 300, None, "a"]
    table = pa.table({"w": words})
    connection.execute("create or replace temp table w (w varchar collate nocase)")
    connection.register("words", table)
    connection.execute("insert into w select w from words")
    problem = MostFrequent([word for word in dict.fromkeys(words) if word is not None])
    expected = problem.opened_counts(open_table(table), "w").tolist()
    assert expected == [2, 1, 1, 1, 1, 1, 1, 1]
    assert problem.opened_counts(open_table(connection.table("w")), "w").tolist() == expected
    numbers = connection.sql("select * from (values (1::int), (2), (1), (null)) t(w)")
    for categories in ([1, 2], ["1", "2"], [1.0, 2.0]):
        counts = MostFrequent(categories).opened_counts(open_table(numbers), "w")
        assert counts.tolist() == [2, 1, 1]
