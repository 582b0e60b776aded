"""What an error says about columns that are not there, and about data of a kind that is unknown."""

import pandas as pd
import pytest

import dampen
from dampen import ParameterError

FRAME = pd.DataFrame(
    {"ward": ["A", "B"] * 50, "year": [2020, 2021] * 50, "days": ["3", "4"] * 50, 7: range(100)}
)


@pytest.mark.parametrize("by", [["ward", "yaer"], ("ward", "yaer")])
def test_a_mistake_in_a_list_of_columns_is_named(by):
    told = "Expected a column 'yaer' in the data. Did you mean 'year'?"
    with pytest.raises(ParameterError) as caught:
        dampen.count(FRAME, by=by, epsilon=1, delta="1e-6")
    assert str(caught.value) == told


def test_a_list_as_long_as_the_data_is_a_column():
    data = {"ward": ["A", "B"], "year": [2020, 2021]}
    made = dampen.count(data, by=["ward", "A"], groups=["ward", "A"], epsilon=50)
    assert made.answer == {"ward": 1, "A": 1}


def test_a_column_in_the_index_of_pandas_is_found_by_resetting_it():
    told = (
        r"Expected a column 'ward' in the data\. It is in the index: pass data\.reset_index\(\)\."
    )
    with pytest.raises(ParameterError, match=told):
        dampen.count(FRAME.set_index("ward"), by="ward", groups=["A"], epsilon=1)


def test_a_name_that_is_a_number_is_written_as_text():
    with pytest.raises(ParameterError, match=r"got an int\. Write it as text, '7'\."):
        dampen.percentile(FRAME, 7, p=50, epsilon=1)
    assert dampen.percentile(FRAME, "7", p=50, epsilon=50).answer is not None


def test_numbers_as_text_are_to_be_converted():
    with pytest.raises(ParameterError, match="or convert it if it holds numbers as text"):
        dampen.percentile(FRAME, "days", p=50, epsilon=1)


def test_a_connection_is_not_a_table():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection, pytest.raises(ParameterError) as caught:
        dampen.count(connection, epsilon=1)
    assert "pass a relation, such as connection.table('name')" in str(caught.value)


def test_a_range_too_long_to_list_is_a_universe():
    told = r"pass categories=dampen\.universe\(integers=\(0, 999999999999\)\)"
    with pytest.raises(ParameterError, match=told):
        dampen.most_frequent(FRAME, "year", categories=range(10**12), epsilon=1)
    with pytest.raises(ParameterError, match="at most 10,000,000 groups"):
        dampen.count(FRAME, by="year", groups=range(10**30), epsilon=1)
    universe = dampen.universe(integers=(0, 999_999_999_999))
    assert dampen.most_frequent(FRAME, "year", categories=universe, epsilon=50).answer in (
        2020,
        2021,
    )
