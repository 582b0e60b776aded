"""Total questions: no content of a row makes a question fail, in any backend.

Every bad row has a public outcome: it is dropped, or it counts as another row.  So with the same
random bits the answer for a table with the bad row is that for a table with its outcome.
"""

import bz2
import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from contracts.backends import BACKENDS
from dampen.errors import DataError
from dampen.paper.id3 import ID3Question
from dampen.paper.percentile_selection import percentile_selection
from dampen.questions.classify.question import (
    BayesQuestion,
    ClassifierQuestion,
    RegressionQuestion,
    TreeQuestion,
)
from dampen.questions.frequency import FrequencyQuestion
from dampen.questions.groups.problem import STATISTICS
from dampen.questions.groups.question import GroupsQuestion
from dampen.questions.percentile.question import PercentileQuestion
from dampen.questions.percentile.record import RecordQuestion
from dampen.releases.answer import answer
from dampen.schema import Schema
from dampen.schema.schema import Categories
from engines.holders import Hold

pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")

Row = tuple[Any, Any, Any]
"""A number x, a group g, a name."""

ROWS: list[Row] = [(float(i % 10), "abc"[i % 3], f"n{i:03}") for i in range(40)]
NAMES = ("x", "g", "name")
NUMBERS = {"lower": 0, "upper": 9, "step": 1}
MODEL = {
    "target": "g",
    "domains": {"x": dampen.bins(0, 9, 3)},
    "classes": ["a", "b"],
    "max_rows": 20,  # fewer than there are
}
PERCENTILE = {"value": "x", "p": 50, **NUMBERS}
BY = {"by": "g", "groups": ["a", "b"]}
ROW_LESS: dict[str, Any] = {
    "most frequent": FrequencyQuestion(value="g", categories=["a", "b"]),
    "most frequent numbers": FrequencyQuestion(value="x", categories=[1, 2.0, 3], k=2),
    "most frequent by group": FrequencyQuestion(value="x", categories=[1, 2], **BY),
    **{
        f"top groups {each.name}": GroupsQuestion(
            value="x", **BY, **NUMBERS, statistic=each.name, p=20 if each.percent else None
        )
        for each in STATISTICS
    },
    "percentile by group": PercentileQuestion(**PERCENTILE, **BY),
    "percentile of rows": PercentileQuestion(**PERCENTILE),
    "percentiles of rows": PercentileQuestion(value="x", p=[25, 50, 75], **NUMBERS),
    "tree": TreeQuestion(**MODEL),
    "tree by levels": TreeQuestion(**MODEL, max_depth=1),
    "regression tree": RegressionQuestion(
        target="x", lower=0, upper=9, domains={"g": ["a", "b"]}, max_rows=20
    ),
    "naive Bayes": BayesQuestion(**MODEL),
    "classifier": ClassifierQuestion(**MODEL),
    "ID3": ID3Question(**MODEL, max_depth=1),
}
"""Questions in which a row without a number, or of no listed group, is dropped."""
LOWEST: dict[str, Any] = {
    "percentile": PercentileQuestion(**PERCENTILE),
    "percentiles": PercentileQuestion(value="x", p=[25, 50, 75], **NUMBERS),
    "top groups of fixed groups": GroupsQuestion(value="x", **BY, **NUMBERS),
    "record": RecordQuestion(value="x", p=50, lower=0, upper=9, labels="name"),
    "records": RecordQuestion(value="x", p=50, lower=0, upper=9, labels="name", k=3),
}
"""Questions in which the number of rows is public: a missing number is the lower end."""
FIXED = {"schema": Schema(units_public=True, columns={"g": Categories(("a", "b"), public=True)})}


def told(question: Any, data: Any, where: dict[str, Any] | None = None, *, seed: int = 1) -> str:
    """The release, in every word, from seeded bits."""
    entropy = dampen.InsecureEntropy(seed, allow_release=True)
    epsilon = Fraction(2)
    made = answer(question, data, epsilon=epsilon, entropy=entropy, **(where or {}))
    return str(made.to_json())


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


def table(rows: Sequence[Row]) -> pa.Table:
    types = zip(NAMES, (pa.float64(), pa.string(), pa.string()), strict=True)
    return pa.table({n: pa.array(columns(rows)[n], t, from_pandas=False) for n, t in types})


def planted(rows: Sequence[Row], *extra: Row) -> list[Row]:
    """With more rows in the middle, where they would shift others."""
    return [*rows[:20], *extra, *rows[20:]]


TYPED: dict[str, tuple[Row, Row | None, Row]] = {
    "no number": ((None, "a", "q"), None, (0.0, "a", "q")),
    "not a number": ((float("nan"), "a", "q"), None, (0.0, "a", "q")),
    "no group": ((3.0, None, "q"), None, (3.0, None, "q")),
    "empty group": ((3.0, "", "q"), None, (3.0, None, "q")),
    "unlisted group": ((3.0, "zz", "q"), None, (3.0, "zz", "q")),
    "nothing": ((None, None, None), None, (0.0, None, "(missing)")),
    "no name": ((3.0, "a", None), (3.0, "a", "q"), (3.0, "a", "(missing)")),
    "infinite": ((float("inf"), "a", "q"), (9.0, "a", "q"), (9.0, "a", "q")),
    "below": ((-1e300, "b", "q"), (0.0, "b", "q"), (0.0, "b", "q")),
}
"""Bad rows of declared types; what each is where rows are dropped, and where n is public."""


@pytest.fixture(params=BACKENDS)
def hold(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hold]:
    with BACKENDS[request.param](tmp_path) as hold:
        yield hold


def test_bad_rows_in_every_backend(hold: Hold) -> None:
    """All kinds of bad rows at once, for every question; one kind each where it is quick."""
    bad = [row for row, _, _ in TYPED.values()]
    dropped = [row for _, row, _ in TYPED.values() if row is not None]
    lowest = [row for _, _, row in TYPED.values()]
    assert_same(hold, bad, dropped, lowest)
    if "in_memory" in hold.__qualname__:
        for row, less, low in TYPED.values():
            assert_same(hold, [row], [] if less is None else [less], [low])


def assert_same(hold: Hold, bad: list[Row], dropped: list[Row], lowest: list[Row]) -> None:
    in_groups = [row for row in bad if row[1] in ("a", "b")]
    numbers = [*dropped, *[row for row in bad if row in OUTSIDE]]
    held: dict[str, Any] = {}

    def ask(question: Any, *rows: Row, **facts: Any) -> str:
        key = repr(rows)
        if key not in held or "in_memory" in hold.__qualname__:
            held[key] = hold(table(planted(ROWS, *rows)))
        data, where = held[key]
        return told(question, data, {**where, **facts})

    for name, question in ROW_LESS.items():
        others = dropped
        if name == "most frequent":
            others = in_groups
        elif name in ("percentile of rows", "percentiles of rows", "most frequent numbers"):
            others = numbers
        assert ask(question, *bad) == ask(question, *others), name
    for name, question in LOWEST.items():
        if name.startswith("record") and opened_by_place(hold(table(ROWS))):
            continue  # its names are checked before the charge, for they are at hand
        assert ask(question, *bad, **FIXED) == ask(question, *lowest, **FIXED), name


OUTSIDE = [row for row, less, _ in TYPED.values() if less is None and row[0] == 3.0]
"""Rows of no listed group that have a number."""


def opened_by_place(given: tuple[Any, dict[str, Any]]) -> bool:
    from dampen.data import open_table

    return open_table(given[0], **given[1]).rows is not None


class Odd:
    """An object that fails at whatever it is asked."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("3.14")

    def __hash__(self) -> int:
        raise RuntimeError("3.14")

    def __float__(self) -> float:
        raise RuntimeError("3.14")

    def __len__(self) -> int:
        raise RuntimeError("3.14")


UNREADABLE: list[Any] = [
    None, float("nan"), "many", "", "3 d", b"3", True, 10**400, 3 + 1j, [3], [3, 4], {"a": 3}, {3},
    (), date(2020, 1, 1), np.datetime64("2020-01-01"), np.timedelta64(3), np.array([3.0]), pd.NA,
    pd.NaT, Decimal("NaN"), Decimal("sNaN"), Odd(), "\ud800", object(),
]  # fmt: skip
"""Cells that are no numbers."""
HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda cells: np.fromiter(cells, dtype=object, count=len(cells)),
    "pandas": lambda cells: pd.Series(cells, dtype=object),
}


@pytest.mark.parametrize("held", HOLDERS)
def test_bad_objects_in_memory(held: str, arrow: bool) -> None:
    """Numbers that are none, groups that cannot be compared; lists of rows for estimators."""
    for cell in UNREADABLE if arrow else UNREADABLE[::4]:
        rows = planted(ROWS, (cell, "a", "q"))
        given = {name: HOLDERS[held](column) for name, column in columns(rows).items()}
        names = [name for name in ROW_LESS if name != "most frequent"]
        for name in names:
            if held != "list" and name in MODELS and isinstance(cell, str | bytes | bool):
                continue  # in arrays of objects a model reads numbers from text
            is_one = cell is True and name.startswith("most frequent")  # as a value, True equals 1
            meant = planted(ROWS, (1, "a", "q")) if is_one else ROWS
            assert told(ROW_LESS[name], given) == told(ROW_LESS[name], columns(meant)), name
        same = columns(planted(ROWS, (0.0, "a", "q")))
        for name, question in LOWEST.items():
            assert told(question, given, FIXED) == told(question, same, FIXED), name
        if not isinstance(cell, str):
            rows = planted(ROWS, (3.0, cell, "q"))
            given = {name: HOLDERS[held](column) for name, column in columns(rows).items()}
            question = ROW_LESS["top groups median"]
            assert told(question, given) == told(question, columns(ROWS))


@pytest.mark.parametrize("held", HOLDERS)
@pytest.mark.parametrize("text", ["3", " 3.0", "3e0"])
def test_text_that_reads_as_a_number_is_one(held: str, text: str) -> None:
    """As in a file, in every question about numbers."""
    rows, meant = (planted(ROWS, (cell, "a", "q")) for cell in (text, 3.0))
    given = {name: HOLDERS[held](column) for name, column in columns(rows).items()}
    for name, question in ROW_LESS.items():
        if name.startswith("most frequent") or (held == "list" and name in MODELS):
            continue  # values are labels there; a model's rows come as arrays
        assert told(question, given) == told(question, columns(meant)), name


MODELS = ("tree", "tree by levels", "regression tree", "naive Bayes", "classifier", "ID3")


def test_rows_of_estimators() -> None:
    """Rows of another length, nested values, classes that are not listed: each is dropped."""
    X = [[float(i % 3), i % 2] for i in range(20)]
    y = ["ab"[i % 2] for i in range(20)]
    given = {"domains": [dampen.bins(0, 3, 3), 2], "classes": ["a", "b"], "max_rows": 9}
    for row, label in (([1.0], "a"), ([1.0, 1, 2], "a"), (3, "a"), ([[1], 0], "a"), ([1.0, 0], "z"),
                       ([1.0, None], "b"), ([1.0, 7], "b"), ([1.0, 0], None)):  # fmt: skip
        for kind in (dampen.TreeClassifier, dampen.NaiveBayesClassifier):
            models = [
                kind(2, **given, entropy=dampen.InsecureEntropy(1, allow_release=True)).fit(*rows)
                for rows in ((X, y), ([*X[:9], row, *X[9:]], [*y[:9], label, *y[9:]]))
            ]
            assert models[0].to_json() == models[1].to_json()


def test_the_paper_s_percentile_selection() -> None:
    for cell in UNREADABLE:
        found = [
            percentile_selection(
                [1, 2, value, 4], p=50, upper=9, epsilon=2,
                entropy=dampen.InsecureEntropy(3, allow_release=True),
            ).answer
            for value in (cell, 0)
        ]  # fmt: skip
        assert found[0] == found[1]


def csv_of(rows: Sequence[Row], separator: str = ",") -> list[bytes]:
    return [separator.join(map(str, row)).encode() for row in rows]


CSV_LINES = [
    b"1,a", b"1,a,q,r", b"one,a,q", b"1;a;q", b"'", b'"', b'1,"a,q', b'"1,a,q', b'1,"a"b,q',
    b'1,"a""b,q', b"\x00", b"1\x00,a,q", b"\xff\xfe,a,q", b"1,\xff\xfea,q", b"1,\xc3,q", b"1_0,a,q",
    b"0x1,a,q", b"NULL,a,q", b",,", b"nan,a,q", b"1,a,q" + b"," * 1000, b"1,zz,q", b"1.2.3,a,q",
    b"--1,a,q", b"\xd9\xa1,a,q", b"\xef\xbb\xbf1,a,q", b"1e,a,q", b'"\n",a,q', b"\x1a,a,q", b"  ",
    b"1" * 100 + b"x,a,q", b"=1+1,a,q", b"TRUE,a,q", b"1,a\x00,q", b'"1""",a,q', b"\xa01,a,q",
]  # fmt: skip
JSON_LINES = [
    b'{"x": 1, "g": "a"', b'[1, 2]', b'1', b'null', b'"a"', b'{}', b'{', b'}',
    b'{"x": "1", "g": "a"}', b'{"x": true, "g": "a"}', b'{"x": [1], "g": "a"}',
    b'{"x": {"y": 1}, "g": "a"}', b'{"x": 1, "g": ["a"]}', b'{"x": 1, "g": {"a": 1}}',
    b'{"x": null, "g": "a"}', b'{"x": 1, "g": null}', b'{"x": 1, "g": 7}', b'{"x": 1, "g": 1.5}',
    b'{"x": 1, "g": true}', b'{"x": NaN, "g": "a"}', b'{"x": 01, "g": "a"}',
    b'{"x": 1, "g": "\\ud800"}', b'{"x": 1, "g": "\xff"}', b'{"x": 1, "g": "a"} {"x": 1, "g": "a"}',
    b'{"x": 1, "g": "a"},', b'\x00', b'{"x": 1, "g": "\x01"}', b'{"x": Inf, "g": "a"}',
    b'{"g": "a"}', b'{"x": 1}', b'// x', b'{"x": 1, "g": "a\\u0000"}', b"[" * 100_000,
    b'{"a":' * 10_000, b'{"x": 1, "g": "zz"}', b'\xef\xbb\xbf{}', b"{'x': 1}",
    b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
]  # fmt: skip
END = {
    "csv": lambda data: data,
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
}
DROPPED = [name for name in ROW_LESS if not name.startswith(("most frequent", "percentile"))]


def asked_of_lines(
    path: Path, head: list[bytes], lines: list[bytes], end: bytes = b"\n"
) -> list[str]:
    packed = (
        END["csv.gz"]
        if path.suffix == ".gz"
        else END["csv.bz2"]
        if path.suffix == ".bz2"
        else bytes
    )
    path.write_bytes(packed(end.join([*head, *lines, b""])))
    return [told(ROW_LESS[name], path) for name in DROPPED] + [
        told(ROW_LESS["percentile by group"], path)
    ]


def beside(lines: list[bytes], line: bytes, i: int) -> list[bytes]:
    """One line more: first, among the others and last in turn."""
    place = (0, 7, len(lines))[i % 3]
    return [*lines[:place], line, *lines[place:]]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "csv.bz2"])
def test_bad_lines_of_csv(tmp_path: Path, suffix: str, arrow: bool) -> None:
    """The answers are those of numpy arrays, whichever library reads the lines."""
    separator = "\t" if suffix == "tsv" else ","
    lines = [line.replace(b",", separator.encode()) for line in csv_of(ROWS)]
    head = [separator.join(NAMES).encode()]
    path = tmp_path / f"t.{suffix}"
    expected = asked_of_lines(path, head, lines)
    assert expected[0] == told(ROW_LESS[DROPPED[0]], columns(ROWS))
    everything = [line.replace(b",", separator.encode()) for line in CSV_LINES]
    for end in (b"\n", b"\r\n", b"\r") if suffix == "csv" else (b"\n",):
        shown = [line.replace(b"\n", end) for line in everything]
        assert asked_of_lines(path, head, planted(lines, *shown), end) == expected  # type: ignore[arg-type]
    if suffix == "csv" and arrow:
        for i, line in enumerate(everything):
            assert asked_of_lines(path, head, beside(lines, line, i)) == expected, line


def json_of(rows: Sequence[Row]) -> list[bytes]:
    return [json.dumps(dict(zip(NAMES, row, strict=True))).encode() for row in rows]


def test_bad_lines_of_json(tmp_path: Path, arrow: bool) -> None:
    path = tmp_path / "t.jsonl"
    lines = json_of(ROWS)
    expected = asked_of_lines(path, [], lines)
    for i, line in enumerate(JSON_LINES if arrow else ()):
        assert asked_of_lines(path, [], beside(lines, line, i)) == expected, line[:99]
    assert asked_of_lines(path, [], planted(lines, *JSON_LINES), b"\r\n") == expected  # type: ignore[arg-type]


def test_malformed_lines_keep_their_places(tmp_path: Path) -> None:
    """Where n is public a line without cells is a row at the lower end, and names stay in place."""
    path = tmp_path / "t.csv"
    question = RecordQuestion(value="x", p=50, lower=0, upper=9)
    found = []
    for line in (b"x", b"0,a,q"):
        path.write_bytes(b"\n".join([b"x,g,name", *planted(csv_of(ROWS), line), b""]))  # type: ignore[arg-type]
        found.append([told(each, path, FIXED) for each in (question, *list(LOWEST.values())[:2])])
    assert found[0] == found[1]


def test_bad_lines_of_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    found = []
    for lines in (csv_of(ROWS), planted(csv_of(ROWS), *CSV_LINES)):  # type: ignore[arg-type]
        os.mkfifo(path)
        content = b"\n".join([b"x,g,name", *lines, b""])  # type: ignore[list-item]
        writer = Thread(target=path.write_bytes, args=(content,))
        writer.start()
        found.append(told(ROW_LESS["tree"], path))
        writer.join()
        path.unlink()
    assert found[0] == found[1]


@pytest.mark.parametrize("declared", ["x, g, name", "x integer, g text, name text"])
def test_bad_cells_of_sqlite(tmp_path: Path, declared: str) -> None:
    def held(rows: Sequence[Row], name: str) -> Path:
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"create table rows ({declared})")
            connection.executemany("insert into rows values (?, ?, ?)", rows)
            connection.execute("insert into rows values ('many', cast(x'ff61' as text), 'q')")
            connection.execute("insert into rows values (1, cast(x'ff61' as text), 'q')")
        return path

    bad = [("many", "a", "q"), (b"3", "a", "q"), (3, b"a", "q"), (None, None, None)]
    paths = held(ROWS, "a.db"), held(planted(ROWS, *bad), "b.db")
    for name in DROPPED:
        assert told(ROW_LESS[name], paths[0]) == told(ROW_LESS[name], paths[1]), name


def test_text_that_is_not_utf8_in_columnar_files(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    bad = pa.array([b"\xff\xfea"], pa.binary()).view(pa.string())
    good = table(ROWS)
    row = pa.table({"x": [1.0], "g": bad, "name": bad})
    for name, write in (("t.parquet", pq.write_table), ("t.feather", pa.feather.write_feather)):
        found = []
        for each in (good, pa.concat_tables([good, row])):
            write(each, str(tmp_path / name))
            found.append([told(ROW_LESS[question], tmp_path / name) for question in DROPPED])
        assert found[0] == found[1]


def test_labels_carry_the_rule(hold: Hold) -> None:
    """`MISSING` and `OTHER` among the labels count the cells that would be dropped."""
    facts = Schema(columns={"g": Categories(("a", "b"), missing="own", unlisted="own")})
    labels = facts.fact("values", "g")
    assert labels == ("a", "b", dampen.MISSING, dampen.OTHER)
    bad = [(3.0, None, "q"), (3.0, "", "q"), (3.0, "zz", "q"), (3.0, "a", "q")]
    own = [(3.0, dampen.MISSING, "q")] * 2 + [(3.0, dampen.OTHER, "q"), (3.0, "a", "q")]
    others = [(x, dampen.OTHER if g == "c" else g, n) for x, g, n in ROWS]
    for question in (
        FrequencyQuestion(value="g", categories=labels),
        GroupsQuestion(value="x", by="g", groups=labels, **NUMBERS),
        PercentileQuestion(**PERCENTILE, by="g", groups=labels),
        TreeQuestion(**{**MODEL, "classes": labels}),
        BayesQuestion(target="name", domains={"g": facts.columns["g"]}, classes=["q", "n001"]),
    ):
        given = told(question, *hold(table(planted(ROWS, *bad))))
        assert given == told(question, *hold(table(planted(others, *own))))
    numbers = FrequencyQuestion(value="x", categories=[1, 2, dampen.MISSING, dampen.OTHER])
    counts = numbers.problem.opened_counts  # type: ignore[union-attr]
    from dampen.data import open_table

    data, where = hold(table([(1.0, "a", "q"), (None, "a", "q"), (7.0, "a", "q"), (7.5, "a", "q")]))
    assert counts(open_table(data, **where), "x").tolist() == [1, 0, 1, 2, 0]


def test_failures_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dampen.data import open_table
    from dampen.releases.answer import UNREADABLE

    path = tmp_path / "t.csv"
    path.write_bytes(b"\n".join([b"x,g,name", *csv_of(ROWS)]))
    source = open_table(path)
    path.unlink()
    with pytest.raises(DataError) as caught:
        told(LOWEST["percentile"], source, FIXED)
    assert str(caught.value) == UNREADABLE
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    monkeypatch.setenv("DAMPEN_TRACEBACK", "1")
    with pytest.raises(DataError) as caught:
        told(LOWEST["percentile"], source, FIXED)
    assert caught.value.__cause__ is not None


def test_polars_and_lazy_frames_are_asked_alike() -> None:
    rows = planted(ROWS, (None, "a", "q"), (1.0, "zz", "q"))
    frame = pl.DataFrame(columns(rows))
    for name in DROPPED:
        expected = told(ROW_LESS[name], columns(ROWS))
        assert told(ROW_LESS[name], frame) == told(ROW_LESS[name], frame.lazy()) == expected
