"""Tables from files: every dialect gives the same columns; nothing is quoted when it fails."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dampen.data.tables import open_table
from hypothesis import given, settings
from hypothesis import strategies as st

from dampen.errors import DataError, ParameterError

NAMES = ["Ada", 'Grace "G" H', "semi;colon, comma", "tab\there", "Zoë", ""]
SALARIES = [100.5, 200.0, -3.0, 1e6, 0.0, 7.0]


def as_text(separator: str, newline: str) -> str:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    rows = [
        [quoted(name), f"{salary:g}", "x"] for name, salary in zip(NAMES, SALARIES, strict=True)
    ]
    lines = [["employee", "salary", '"other, column"'], *rows]
    return newline.join(separator.join(row) for row in lines) + newline


def check(path: Path) -> None:
    table = open_table(path)
    assert table.columns[:2] == ("employee", "salary")
    columns = table.read({"salary": "numbers", "employee": "text"})
    assert columns["salary"].tolist() == SALARIES
    assert columns["employee"].tolist() == NAMES


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("compressed", [False, True])
def test_every_dialect(
    tmp_path: Path, separator: str, newline: str, mark: str, compressed: bool
) -> None:
    content = (mark + as_text(separator, newline)).encode()
    path = tmp_path / "salaries"  # the content says what it is, not the name
    path.write_bytes(gzip.compress(content) if compressed else content)
    check(path)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "salaries.parquet"
    table = pa.table({"employee": [*NAMES[:-1], None], "salary": SALARIES, "other": SALARIES})
    pq.write_table(table, path, row_group_size=2)
    check(path)


def test_parquet_types(tmp_path: Path) -> None:
    from decimal import Decimal

    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {
                "int": pa.array([1, None], "int32"),
                "decimal": pa.array([Decimal("1.5"), Decimal("2.5")]),
                "flag": [True, False],
                "words": pa.array(["a", "b"]).dictionary_encode(),
            }
        ),
        path,
    )
    table = open_table(path)
    np.testing.assert_array_equal(table.read({"int": "numbers"})["int"], [1, np.nan])
    assert table.read({"decimal": "numbers"})["decimal"].tolist() == [1.5, 2.5]
    assert table.read({"words": "text", "int": "text"})["int"].tolist() == ["1", ""]
    for name in ("flag", "words"):
        with pytest.raises(ParameterError, match=f"Expected numbers in column '{name}'"):
            table.require_numbers(name)


def test_newlines_in_quotes_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"two\nlines",1\nplain,2')
    columns = open_table(path).read({"a": "text", "b": "numbers"})
    assert columns["a"].tolist() == ["two\nlines", "plain"]
    assert columns["b"].tolist() == [1, 2]


def test_many_batches(tmp_path: Path) -> None:
    path, n = tmp_path / "t.csv", 300_000
    buffer = io.StringIO("name,value\n")
    buffer.seek(0, io.SEEK_END)
    buffer.writelines(f"person {i % 7},{i}\n" for i in range(n))
    path.write_text(buffer.getvalue())
    columns = open_table(path).read({"value": "numbers", "name": "text"})
    np.testing.assert_array_equal(columns["value"], np.arange(n))
    assert columns["name"][:8].tolist() == [f"person {i % 7}" for i in range(8)]


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    columns = open_table(path).read({"a": "numbers", "b": "text"})
    assert [len(column) for column in columns.values()] == [0, 0]


def test_missing_numbers_are_nan(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n,y\nNA,z\n")
    np.testing.assert_array_equal(open_table(path).read({"a": "numbers"})["a"], [1, np.nan, np.nan])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "a header"),
        (b"\xff\xfe\x00\x01" * 100, "Expected CSV, TSV or Parquet"),
        (bytes(range(256)) * 400, "Expected CSV, TSV or Parquet"),
        (b"x" * 100_000, "Expected CSV, TSV or Parquet"),
        (b"PAR1 and nothing else", "not a whole Parquet file"),
        (b"\x1f\x8b\x08 and nothing else", "not a whole gzip file"),
        (b"PK\x03\x04\x14\x00\x06\x00", "Expected CSV, TSV or Parquet"),
    ],
)
def test_what_is_no_table_is_refused_before_reading(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=message) as caught:
        open_table(path)
    assert "Ada" not in str(caught.value)


def test_a_file_without_a_header_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("17,Adam\n18,Bob\n")
    with pytest.raises(ParameterError, match="looks like data") as caught:
        open_table(path).require("Ada")
    assert "Adam" not in str(caught.value)
    path.write_text("name,2025,2026\nAda,1,2\n")
    assert open_table(path).read({"2026": "numbers"})["2026"].tolist() == [2]


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="No such file"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(ParameterError, match="directory"):
        open_table(tmp_path)


def test_wrong_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("salary,a,a\n1,2,3\n")
    table = open_table(path)
    with pytest.raises(ParameterError, match=r"a column 'salry'.*Did you mean 'salary'"):
        table.require("salry")
    with pytest.raises(ParameterError, match="got several"):
        table.require("a")


@pytest.mark.parametrize(
    "rows", ["1,SECRET\nSECRET,2\n", "1,2\nSECRET\n", "1,2\nSECRET,3,4\n", '1,2\n"SECRET']
)
def test_bad_rows_are_not_quoted(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + rows)
    with pytest.raises(DataError, match="numbers in 'a'") as caught:
        open_table(path).read({"a": "numbers"})
    shown = caught.value
    assert "SECRET" not in str(shown)
    assert shown.__cause__ is None
    assert shown.__suppress_context__


def test_a_torn_gzip_is_a_data_error(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i % 7919}\n" for i in range(100_000))
    content = gzip.compress(("a,b\n" + rows).encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"to its end|header"):
        open_table(path).read({"a": "numbers"})


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(cells, st.floats(-1e9, 1e9)), max_size=6),
    separator=st.sampled_from(",;\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float]],
    separator: str,
    newline: str,
) -> None:
    path = tmp_path_factory.getbasetemp() / "twin.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        dialect = {"lineterminator": newline, "quoting": csv.QUOTE_NONNUMERIC}
        writer = csv.writer(file, delimiter=separator, **dialect)
        writer.writerows([("name", "value"), *rows])
    columns = open_table(path).read({"name": "text", "value": "numbers"})
    assert columns["name"].tolist() == [name for name, _ in rows]
    assert columns["value"].tolist() == [value for _, value in rows]
