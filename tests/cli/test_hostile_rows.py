"""Two files that differ by one hostile row: what the command line tells of them is the same.

At this ε the answer is sure, so that exit code, output and messages can be compared byte by byte,
but for noisy numbers such as a lead.
"""

import bz2
import gzip
import json
import sqlite3
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from contracts.test_total import CSV_LINES, JSON_LINES
from dampen import Ledger

ROWS = [(i % 3 + 3 * (i % 2), "ab"[i % 2]) for i in range(40)] + [(4, "b")] * 9
CELLS = [
    b"", b" ", b"\t", b"'", b"\\", b"\\N", b"NULL", b"null", b"None", b"NaN", b"-nan", b"nan(7)",
    b"Infinity", b"-inf", b"1e999", b"-1e999", b"9" * 400, b"-" + b"9" * 400, b"1e-999", b"0x7f",
    b"1_000", b"1.000", b"+5", b"--5", b"5e", b"5.5.5", b"true", b"FALSE", b"2020-01-01",
    b"=cmd|' /C calc'!A0", b"\x00", b"\x00" * 99, b"\x1a", b"\x1b[31m", b"\x7f", b"\x80",
    b"\xc3", b"\xc3\x28", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xff\xfe1\x00",
    b"\xfe\xff", b"\xef\xbb\xbf", b"\xef\xbb\xbf5", b"\xe2\x80\xae5", b"\xc2\xa05", b"\xd9\xa5",
    b"\xe2\x88\x9e", b"a\xcc\x81", b'5"', b'"5"', b'"5', b'5""', b'"5""', b'""', b'"', b'"\n"',
    b'"\r"', b'"\r\n5"', b"a" * 100_000, b'"' + b"a" * 100_000 + b'"', b"{}", b"[]", b'{"a":1}',
    b"<a>", b"%s%n", b"${x}", b"../../x", b"a\x0bb", b"\xe2\x80\xa8", b"\xc2\x85", b"1 2", b"1;2",
]  # fmt: skip
QUESTIONS = {
    "most-frequent": "--value g --categories a,b",
    "top-groups": "--value x --by g --groups a,b --lower 0 --upper 9 --step 1",
    "percentile": "--value x -p 50 --by g --groups a,b --lower 0 --upper 9 --step 1",
}
PACKED = {"gz": gzip.compress, "bz2": bz2.compress}


def csv_lines() -> list[bytes]:
    """One hostile cell at a time, in either column; and hostile lines."""
    lines = [cell + b",a" for cell in CELLS] + [b"3," + cell for cell in CELLS]
    return lines + CSV_LINES + [line + b"\r" for line in CSV_LINES]


def json_lines() -> list[bytes]:
    texts = [json.dumps(cell.decode("latin-1")).encode() for cell in CELLS]
    raw = [b'"' + cell + b'"' for cell in CELLS] + CELLS
    values = [*texts, *raw]
    return [b'{"x": ' + value + b', "g": "a"}' for value in values] + JSON_LINES


def test_there_are_enough() -> None:
    assert len(set(csv_lines())) >= 200
    assert len(set(json_lines())) >= 200


def without_noise(out: str) -> str:
    """The release, but for the noisy numbers: these are drawn anew every time."""
    made = json.loads(out) if out else {}
    noisy = made.keys() & {"numbers", "intervals"}
    return json.dumps(made | dict.fromkeys(noisy))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "csv.bz2", "jsonl", "jsonl.gz"])
def test_a_hostile_row_changes_no_word(dampen, place: Path, suffix: str) -> None:
    """One row of 49 changes neither winner nor median; each line meets one question."""
    is_json = suffix.startswith("jsonl")
    if is_json:
        lines = [json.dumps({"x": x, "g": g}).encode() for x, g in ROWS]
        hostile = json_lines()
        head = []
    else:
        lines = [f"{x},{g}".encode() for x, g in ROWS]
        hostile = csv_lines()
        head = [b"x,g"]
    if suffix == "tsv":
        head, lines, hostile = ([x.replace(b",", b"\t") for x in y] for y in (head, lines, hostile))
    if "." in suffix:
        hostile = hostile[::10]
    file = place / f"rows.{suffix}"

    def asked(name: str, rows: list[bytes]) -> tuple[int, str, str]:
        content = b"\n".join([*head, *rows, b""])
        file.write_bytes(PACKED.get(suffix.rpartition(".")[2], bytes)(content))
        options = QUESTIONS[name].split()
        done = dampen(name, file.name, *options, "--epsilon", "500", "--json")
        return done.code, without_noise(done.out), done.err

    expected = {name: asked(name, lines) for name in QUESTIONS}
    assert all(code == 0 for code, _, _ in expected.values())
    faults = []
    for line, (place_of, name) in zip(
        hostile, cycle((p, n) for n in QUESTIONS for p in (0, 20, 49)), strict=False
    ):
        found = asked(name, [*lines[:place_of], line, *lines[place_of:]])
        if found != expected[name]:
            faults.append((line[:40], place_of, name, found))
    assert faults == []


NUMBERS = [None, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324, -0.0, 2.0**63]
LABELS = [None, *(cell.decode("latin-1") for cell in CELLS)]


def write_parquet(file: Path, rows: list[tuple]) -> None:
    pq.write_table(arrow_table(rows), file)


def write_feather(file: Path, rows: list[tuple]) -> None:
    feather.write_feather(arrow_table(rows), file)


def arrow_table(rows: list[tuple]) -> pa.Table:
    x, g = zip(*rows, strict=True)
    return pa.table({"x": pa.array(x, pa.float64()), "g": pa.array(g, pa.string())})


def write_sqlite(file: Path, rows: list[tuple]) -> None:
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE rows (x REAL, g TEXT)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", rows)


def write_duckdb(file: Path, rows: list[tuple]) -> None:
    duckdb = pytest.importorskip("duckdb")
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.from_arrow(arrow_table(rows)).create("rows")


@pytest.mark.parametrize("write", [write_parquet, write_feather, write_sqlite, write_duckdb])
def test_a_hostile_cell_of_typed_columns_changes_no_word_and_no_entry(
    dampen, place: Path, write
) -> None:
    """Neither what is told nor what the ledger records, ids, times and answers apart."""
    file = place / "rows.data"
    dampen("budget", "create", "b", "--epsilon", "10000000", "--neighbours", "add-remove-row")
    cells = [(x, "a") for x in NUMBERS] + [(3.0, g) for g in LABELS]
    if write is write_sqlite:
        cells += [(value, "a") for value in ("n/a", b"\xff\x00", "5", "")] + [(3, b"\xff"), (3, 7)]

    def asked(name: str, rows: list[tuple]) -> tuple:
        write(file, rows)
        options = (*QUESTIONS[name].split(), "--epsilon", "500", "--budget", "b", "--json")
        done = dampen(name, file.name, *options)
        charge = dampen_ledger(place).history("b")[-1]
        recorded = (charge.query, charge.mechanism, charge.epsilon, charge.rho, charge.leaks)
        told = json.loads(without_noise(done.out))
        del told["charge"], told["budget"]
        return done.code, told, done.err, recorded

    expected = {name: asked(name, ROWS) for name in QUESTIONS}
    faults = []
    for row, name in zip(cells, cycle(QUESTIONS), strict=False):
        found = asked(name, [*ROWS[:20], row, *ROWS[20:]])
        if found != expected[name]:
            faults.append((row, name, found))
    assert faults == []


def dampen_ledger(place: Path) -> Ledger:
    return Ledger(place / "ledger.sqlite3")
