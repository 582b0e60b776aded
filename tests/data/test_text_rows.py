"""Rows of CSV and JSON lines: Arrow and Python read them alike, and blocks do not matter."""

import csv
import io
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data import files
from dampen.data.columns import as_labels, as_numbers, parsed_numbers
from dampen.data.files import CsvRows, json_rows

NUMBERS = [
    "1", " 1", "1\t", "+1", "-1", ".5", "5.", "1e5", "1E+5", "1e-5", "-5.e3", "01", "inf", "-Inf",
    "+infinity", "INFINITY", "1e400", "-1e400", "1e-400", "9" * 400, "0.1", "123456789.123456789",
    "4.9e-324", "1.7976931348623157e308", "-0", "1e", "nan", "NaN", "-nan", "nan(1)", "1_0", "0x10",
    "1,5", "1d5", "--1", "", "NA", "null", "None", "1\x00", "true", "1f", "-", "e5", ".", "\xa01",
    "1\v", "1 2", "١", "+", "++1", "1e+", "1.5.2", "infx", "in",
]  # fmt: skip


def fast(cell: str) -> float:
    """What Arrow's reader makes of one cell."""
    quoted = '"' + cell + '",x\n'
    table = CsvRows(",", ["a", "b"])._arrow_table(quoted.encode(), {"a": pa.float64()})
    return math.nan if table is None else as_numbers(table["a"])[0]


@pytest.mark.parametrize("cell", NUMBERS, ids=repr)
def test_both_ways_read_the_same_numbers(cell: str) -> None:
    slow = parsed_numbers(pa.array([cell]))
    np.testing.assert_array_equal(slow, [fast(cell)])
    np.testing.assert_array_equal(parsed_numbers([cell]), slow)
    assert np.signbit(parsed_numbers([cell])) == np.signbit(slow) or np.isnan(slow)
    assert not np.signbit(slow[0]) or np.signbit(fast(cell)) or np.isnan(slow[0])


def read(content: bytes, wanted: Any, width: int = 2) -> dict[str, list[Any]]:
    rows = CsvRows(",", [f"c{i}" for i in range(width)])
    batches = list(rows.batches(io.BytesIO(content), wanted))
    return {
        name: as_labels([as_numbers(b[name]) if kind == "numbers" else b[name] for b in batches])
        for name, kind in wanted.items()
    }


TEXT = {"c0": "text", "c1": "text"}
cells = st.text(st.sampled_from('a1",\n\r \t;é\x00'), max_size=4)


@given(st.lists(st.tuples(cells, cells), max_size=8), st.integers(1, 40))
def test_written_rows_are_read_back_in_blocks_of_any_size(
    rows: list[tuple[str, str]], size: int
) -> None:
    """Also next to a line without cells, for which Python reads the block."""
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(rows)
    content = sink.getvalue().encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", max(size, 6))
        found = read(b"c0,c1\n" + content, TEXT)
        assert list(zip(*found.values(), strict=True)) == rows
        found = read(b"c0,c1\nx\n" + content + b"y\n", TEXT)
        assert list(zip(*found.values(), strict=True)) == [(None, None), *rows, (None, None)]


lines = st.lists(
    st.sampled_from(
        [*NUMBERS, '"1,5"', '"a\nb"', "x", "1,2", "1.234,5", " -1.234 ", "1.23,4", ",", '"', ""]
    ),
    max_size=9,
)


@given(lines, st.sampled_from(["\n", "\r", "\r\n"]), st.sampled_from([".", ","]))
def test_answers_do_not_depend_on_the_reader(words: list[str], end: str, decimal: str) -> None:
    """Arrow, and Python's own reader: every kind of cell of whatever lines there are."""
    wanted: Any = {"c0": "text", "c1": "numbers", "c2": "any"}
    content = end.join(["c0;c1;c2", *(f"{a};{b};{a}" for a in words for b in words), *words])
    rows = CsvRows(";", list(wanted), decimal)
    both = []
    for found in (find_spec, lambda name: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dampen.data.source.find_spec", found)
            batches = list(rows.batches(io.BytesIO(content.encode()), wanted))
        both.append({name: repr(as_labels(batch[name] for batch in batches)) for name in wanted})
    assert both[0] == both[1]


@pytest.mark.parametrize("quoted", ["", '"'])
def test_points_between_thousands_are_read_beside_a_decimal_comma(quoted: str) -> None:
    """1.234 was 1.234 and 1.234,5 missing, in files whose numbers have a comma."""
    cells = ["1.234,5", "1.234.567", " -12.345 ", "0,5", "1.23,4", "1234.5", "1.2345", "7"]
    content = "c0;c1\n" + "".join(f"x;{quoted}{cell}{quoted}\n" for cell in cells)
    rows = CsvRows(";", ["c0", "c1"], ",")
    for found in (find_spec, lambda name: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dampen.data.source.find_spec", found)
            batches = list(rows.batches(io.BytesIO(content.encode()), {"c1": "numbers"}))
        read = [number for batch in batches for number in as_numbers(batch["c1"]).tolist()]
        told = [None if np.isnan(each) else each for each in read]
        assert told == [1234.5, 1234567, -12345, 0.5, None, 1234.5, 1.2345, 7]


@given(st.binary(max_size=60), st.integers(1, 70))
def test_any_bytes_are_rows_whatever_the_blocks(content: bytes, size: int) -> None:
    for tail in (content, content.replace(b"\x00", b'"').replace(b"\x01", b",")):
        whole = read(b"c0,c1\n" + tail, TEXT)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "BLOCK_BYTES", max(size, 6))
            assert read(b"c0,c1\n" + tail, TEXT) == whole
            objects = json_rows(io.BytesIO(tail), {"a": "numbers", "b": "text", "c": "any"})
            assert all(len(set(map(len, batch.values()))) == 1 for batch in objects)


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (b"1,2\n", [("1", "2")]),
        (b'5" pipe,2\n', [('5" pipe', "2")]),
        (b'"a" ,2\n', [("a ", "2")]),
        (b'"a"b,2\n3,4\n', [(None, None), ("3", "4")]),
        (b'"a,2\n3,4\n', [(None, None), ("3", "4")]),
        (b'"a,2\n"3","4"\n', [(None, None), ("3", "4")]),
        (b'"a\nb",2\n', [("a\nb", "2")]),
        (b"1,2\n\n3,4", [("1", "2"), ("3", "4")]),
        (b"1\n1,2,3\n", [(None, None)] * 2),
        (b'"' + b"a" * (1 << 20) + b'",2\n3,4\n', [("a" * (1 << 20), "2"), ("3", "4")]),
        (b'"' + b"a" * ((1 << 20) + 1) + b'",2\n3,4\n', [(None, None), ("3", "4")]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_rows_with_broken_quotes(line: bytes, rows: list[Any]) -> None:
    for middle in (b"", b"x,y\n" * 9):
        found = read(b"c0,c1\n" + middle + line, TEXT)
        assert list(zip(*found.values(), strict=True))[middle.count(b"\n") :] == rows


def test_a_quote_that_stays_open_over_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 1 << 11
    monkeypatch.setattr(files, "MOST_QUOTED", lines)
    content = b'"' + b"a\n" * lines + b'3,"4"\n'
    test_rows_with_broken_quotes(content, [(None, None)] * lines + [("3", "4")])


def test_an_empty_line_of_one_column_is_a_missing_cell() -> None:
    assert read(b"c0\n1\n\n3\n", {"c0": "text"}, 1) == {"c0": ["1", "", "3"]}
    found = read(b"c0\n1\n\nx\n3\n", {"c0": "numbers"}, 1)["c0"]
    assert [None if math.isnan(x) else x for x in found] == [1, None, None, 3]


def test_undeclared_cells_do_not_depend_on_other_rows(tmp_path: Path) -> None:
    for more in (b"", b"z,z\n", b"z\n"):
        found = read(b"c0,c1\n7,1.5\n" + more, {"c0": "any", "c1": "any"})
        assert [found["c0"][0], found["c1"][0]] == [7, 1.5]


JSON = b'{"a": 1, "b": "x", "c": 2}\n{"a": 1e3, "b": "y", "c": "z"}\n{"b": "w"}\n{"a": -0.5}\n'


@pytest.mark.parametrize(
    "more", [b"x\n", b"[]\n", b'{"a": "1"}\n', b'{"a": 1e999}\n', b'{"a": 1, "a": 2}\n', b"{}{}\n"]
)
def test_lines_of_json_do_not_depend_on_other_lines(more: bytes) -> None:
    wanted: Any = {"a": "numbers", "b": "text", "c": "any"}
    [alone] = json_rows(io.BytesIO(JSON), wanted)
    [beside] = json_rows(io.BytesIO(JSON + more), wanted)
    np.testing.assert_array_equal(as_numbers(alone["a"]), as_numbers(beside["a"])[:4])
    for name in "bc":
        assert as_labels([alone[name]]) == as_labels([beside[name]])[:4]
        assert len(beside[name]) == 5


TEXTS = {"days": ["1", " 2 ", 9, "n/a", None, "9e0"] * 500, "ward": list("AABBBB") * 500}


@pytest.mark.parametrize("held", [list, lambda values: np.array(values, dtype=object)])
def test_text_that_reads_as_a_number_counts_in_python_objects(held):
    """As in a file, in every question; noise is off by 100 with probability below e^-40."""
    table = {name: held(values) for name, values in TEXTS.items()}
    ask = {"epsilon": 1, "entropy": InsecureEntropy(5, allow_release=True)}
    wards = {"by": "ward", "groups": ["A", "B"]}
    assert abs(dampen.count(table, where="days >= 1", **ask).answer - 2000) < 100
    assert dampen.top_groups(table, "days", **wards, **ask).answer == "B"
    assert dampen.percentile(table, "days", p=75, **ask).answer == 9
    assert abs(dampen.total(table, "days", lower=0, upper=10, **ask).answer - 10_500) < 1000
    assert abs(dampen.mean(table, "days", lower=0, upper=10, **ask).answer - 5.25) < 0.5
    above = dampen.groups_above(table, "days", threshold=5, **wards, **ask)
    assert above.answer == ["B"]
