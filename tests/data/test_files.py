"""Tables from files: every dialect gives the same columns; nothing is quoted when it fails."""

import bz2
import csv
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dampen
from dampen.data import open_table
from dampen.data.columns import as_labels, joined_numbers
from dampen.data.source import Kind, require, require_labels, require_numbers, whole_columns
from dampen.errors import DataError, ParameterError

NAMES = ["Ada", 'Grace "G" H', "semi;colon, comma", "tab\there", "Zoë", ""]
SALARIES = [100.5, 200.0, -3.0, 1e6, 0.0, 7.0]


def columns_of(path: Path, wanted: dict[str, Kind]) -> dict[str, list[Any]]:
    parts = whole_columns(open_table(path), wanted)
    return {
        name: joined_numbers(parts[name]).tolist() if kind == "numbers" else as_labels(parts[name])
        for name, kind in wanted.items()
    }


def as_text(separator: str, newline: str) -> str:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    rows = [
        [quoted(name), f"{salary:g}", "x"] for name, salary in zip(NAMES, SALARIES, strict=True)
    ]
    lines = [["employee", "salary", '"other, column"'], *rows]
    return newline.join(separator.join(row) for row in lines) + newline


def check(path: Path) -> None:
    assert [field.name for field in open_table(path).fields][:2] == ["employee", "salary"]
    columns = columns_of(path, {"salary": "numbers", "employee": "text"})
    assert columns == {"salary": SALARIES, "employee": NAMES}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress])
def test_every_dialect(
    tmp_path: Path, separator: str, newline: str, mark: str, packed: Any
) -> None:
    path = tmp_path / "salaries"  # the content says what it is, not the name
    path.write_bytes(packed((mark + as_text(separator, newline)).encode()))
    check(path)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_json_lines(tmp_path: Path, packed: Any, mark: str) -> None:
    rows = [
        json.dumps({"employee": name, "salary": salary, "rest": [1]})
        for name, salary in zip(NAMES, SALARIES, strict=True)
    ]
    path = tmp_path / "salaries"
    path.write_bytes(packed((mark + "\n".join(rows)).encode()))
    check(path)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "salaries.parquet"
    table = pa.table({"employee": NAMES, "salary": SALARIES, "other": SALARIES})
    pq.write_table(table, path, row_group_size=2)
    check(path)


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {
                "int": pa.array([1, None], "int32"),
                "decimal": pa.array([Decimal("1.5"), Decimal("2.5")]),
                "flag": [True, False],
                "words": pa.array(["a", "b"]).dictionary_encode(),
                "lists": [[1], [2]],
                "bytes": [b"a", b"b"],
                "pair": [{"x": 1}, {"x": 2}],
                "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            }
        ),
        path,
    )
    table = open_table(path)
    np.testing.assert_array_equal(columns_of(path, {"int": "numbers"})["int"], [1, np.nan])
    assert columns_of(path, {"decimal": "numbers"})["decimal"] == [1.5, 2.5]
    assert columns_of(path, {"words": "text", "int": "text"})["int"] == ["1", None]
    for name in ("flag", "words"):
        with pytest.raises(ParameterError, match=f"Column '{name}' is not numeric"):
            require_numbers(table, name)
    for name in ("lists", "bytes", "pair", "map"):
        with pytest.raises(
            ParameterError, match=f"Column '{name}' holds .* Choose a column of text"
        ):
            require_labels(table, name)


def test_a_directory_and_a_pattern_of_parquet(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "odd.parquet").mkdir()
    for i, folder in enumerate([tmp_path, tmp_path / "inner"]):
        pq.write_table(pa.table({"a": [i]}), folder / f"{i}.parquet")
    assert columns_of(tmp_path, {"a": "numbers"})["a"] == [0, 1]
    assert columns_of(tmp_path / "*.parquet", {"a": "numbers"})["a"] == [0]
    with pytest.raises(ParameterError, match="there are none"):
        open_table(tmp_path / "*.nothing")


def test_newlines_in_quotes_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"two\nlines",1\nplain,2')
    columns = columns_of(path, {"a": "text", "b": "numbers"})
    assert columns == {"a": ["two\nlines", "plain"], "b": [1, 2]}


def test_many_batches(tmp_path: Path) -> None:
    path, n = tmp_path / "t.csv", 300_000
    buffer = io.StringIO("name,value\n")
    buffer.seek(0, io.SEEK_END)
    buffer.writelines(f"person {i % 7},{i}\n" for i in range(n))
    path.write_text(buffer.getvalue())
    columns = columns_of(path, {"value": "numbers", "name": "text"})
    np.testing.assert_array_equal(columns["value"], np.arange(n))
    assert columns["name"][:8] == [f"person {i % 7}" for i in range(8)]


@pytest.mark.parametrize("end", ["\n", ""])
def test_no_rows(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,b{end}")
    assert columns_of(path, {"a": "numbers", "b": "text"}) == {"a": [], "b": []}


def test_missing_numbers_are_nan(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n,y\nNA,z\n")
    np.testing.assert_array_equal(columns_of(path, {"a": "numbers"})["a"], [1, np.nan, np.nan])


def test_text_stays_text(tmp_path: Path) -> None:
    """Dates and numbers that are asked for as text are not made into anything else."""
    path = tmp_path / "t.csv"
    path.write_text("a\n2020-01-01\n007\n")
    assert columns_of(path, {"a": "text"})["a"] == ["2020-01-01", "007"]
    path.write_text('{"a": "2020-01-01"}\n{"a": "2021-01-01"}\n')
    for kind in ("text", "any"):
        assert columns_of(path, {"a": kind})["a"] == ["2020-01-01", "2021-01-01"]  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("1 -2 03", [1, -2, 3]),
        ("1 2.5 1e3", [1, 2.5, 1000.0]),
        ("1 x 3", [1, "x", 3]),
        ("1_0 2_0", ["1_0", "2_0"]),
        ("+1 inf", ["+1", "inf"]),
        ("9223372036854775808 1", [9223372036854775808, 1]),
    ],
)
def test_undeclared_cells_are_what_they_look_like(
    tmp_path: Path, cells: str, expected: list[Any]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a", *cells.split()]))
    read = columns_of(path, {"a": "any"})["a"]
    assert read == expected
    assert [type(value) for value in read] == [type(value) for value in expected]


def test_an_unused_json_column_may_change_its_type(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"a": i, "note": None} for i in range(90_000)] + [{"a": 1, "note": "x"}, {"a": 2}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert len(columns_of(path, {"a": "numbers"})["a"]) == len(rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n\n", "a header"),
        (b"\xff\xfe\x00\x01" * 100, "Expected CSV, TSV or JSON lines in UTF-8, Parquet or Feather"),
        (bytes(range(256)) * 400, "Expected CSV, TSV or JSON lines in UTF-8, Parquet or Feather"),
        (b'a,"Ada\nb"\n1,2\n', "Expected CSV, TSV or JSON lines in UTF-8, Parquet or Feather"),
        (b"PAR1 and nothing else", "not a whole Parquet file"),
        (b"ARROW1 and nothing else", "not a whole Feather file"),
        (b"\x1f\x8b\x08 and nothing else", "Cannot read"),
        (b"BZh and nothing else", "Cannot read"),
        (
            b"PK\x03\x04\x14\x00\x06\x00",
            "Expected CSV, TSV or JSON lines in UTF-8, Parquet or Feather",
        ),
        (b'{"a": 1, \n', "one JSON object in every line"),
        (b"{}\n", "one JSON object in every line"),
        (b'{"a":' * 100_000, "one JSON object in every line"),
    ],
)
def test_files_without_a_table_are_refused_before_reading(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=message) as caught:
        open_table(path)
    assert "Ada" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("content", ["17,Adam\n18,Bob\n", '{"Adam": 17}\n{"Bob": 18}\n'])
def test_names_are_quoted_only_where_they_are_declared(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t"
    path.write_text(content)
    with pytest.raises(ParameterError, match="header=True") as caught:
        require(open_table(path), "Ada")
    assert "Adam" not in str(caught.value)
    with pytest.raises(ParameterError, match="Did you mean 'Adam'"):
        require(open_table(path, header=True), "Ada")


def test_numbers_as_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name,2025,2026\nAda,1,2\n")
    assert columns_of(path, {"2026": "numbers"})["2026"] == [2]


@pytest.mark.parametrize("name", ["none.csv", "", "x" * 5000, "nul\0byte", "no/such/place.csv"])
def test_paths_that_lead_nowhere(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name) if name else ""
    with pytest.raises(ParameterError, match=r"Cannot read|there are none"):
        open_table(path)


def test_a_directory_without_tables(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there are none"):
        open_table(tmp_path)


def test_wrong_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("salary,a,a\n1,2,3\n")
    table = open_table(path, header=True)
    with pytest.raises(ParameterError, match=r"a column 'salry'.*Did you mean 'salary'"):
        require(table, "salry")
    with pytest.raises(ParameterError, match="got several"):
        require(table, "a")


def test_a_torn_gzip_is_a_data_error(tmp_path: Path) -> None:
    digits = np.random.default_rng(1).integers(10**9, size=400_000)
    content = gzip.compress(("a,b\n" + "".join(f"{d},x\n" for d in digits)).encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="to its end"):
        columns_of(path, {"a": "numbers"})


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(cells, st.floats(-1e9, 1e9)), max_size=6),
    separator=st.sampled_from(",;\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_output_of_the_csv_module_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float]],
    separator: str,
    newline: str,
) -> None:
    path = tmp_path_factory.getbasetemp() / "twin.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        dialect: Any = {"lineterminator": newline, "quoting": csv.QUOTE_NONNUMERIC}
        writer = csv.writer(file, delimiter=separator, **dialect)
        writer.writerows([("name", "value"), *rows])
    columns = columns_of(path, {"name": "text", "value": "numbers"})
    assert columns["name"] == [name for name, _ in rows]
    assert columns["value"] == [value for _, value in rows]


@pytest.mark.parametrize("spelt", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_truth_values_of_text_files_are_found(tmp_path, spelt):
    yes, no = spelt
    path = tmp_path / "stays.csv"
    path.write_text("\n".join(["back,days", *[f"{yes},3"] * 30, *[f"{no},5"] * 60, ",1", "x,1"]))
    sure = {"epsilon": "1000000"}
    assert dampen.count(path, by="back", groups=[True, False], **sure).answer == {
        True: 30,
        False: 60,
    }
    assert dampen.most_frequent(path, "back", categories=[True, False], **sure).answer is False
    mean = dampen.mean(path, "back", kind="bool", lower=0, upper=1, **sure)
    assert abs(mean.answer - 1 / 3) < 0.01


def test_text_is_no_group_of_truth_values():
    with pytest.raises(ParameterError, match=r"holds truth values. Expected groups=\[True, False"):
        dampen.count({"b": np.array([True])}, by="b", groups=["True", "False"], epsilon=1)
