"""Every kind of bad row, in everything that holds edges: it is as if the row were not there.

The same graph, the same degrees and, for equal bits, the same answers, with the bad row at the
beginning, in the middle or at the end in turn; nothing raises or warns.
"""

import bz2
import gzip
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.edges import open_edges
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.nodes.graphs import load_degrees, load_graph

N = 6
GOOD = [(0, 1), (1, 2), (2, 0), (2, 0), (3, 3), (4, 1), (5, 0), (0, 5)]
"""With a repeated edge, one that is turned round and a loop."""
NAMES = ["ann", "bo", "cy", "dee", "eve", "flo"]
NODES: dict[str, Any] = {"integers": range(N), "listed": [3, 1, 4, 0, 5, 2], "text": NAMES}
PLACES = (0, 4, len(GOOD))

Row = tuple[Any, Any]
Rows = list[Any]
Hold = Callable[[Rows, Path], tuple[Any, dict[str, Any]]]

WHOLE: list[Row] = [(6, 0), (0, 2**31), (1, 2**32 + 1), (-1, 2), (0, -(2**63)), (2, 2**63 - 1)]
MISSING: list[Row] = [(None, 0), (1, None), (None, None)]
NAMELESS: list[Row] = [(None, "ann"), ("bo", None), (None, None)]
FRACTIONS: list[Row] = [(0.5, 1), (1, float("nan")), (float("inf"), 2), (0, 1e300)]
TEXT: list[Row] = [("nobody", "ann"), ("bo", ""), ("Ann", "bo"), ("ann ", "cy"), ("0", "1")]
MIXED: list[Row] = [
    (True, 2), (0, False), ("x", 1), (b"0", 1), ("1.5", 2), ("", 0), ("\udcff", 1), ("9" * 30, 1),
]  # fmt: skip
OBJECTS: list[Row] = [
    ([0], 1), ({}, 1), (0, {"a": 1}), (pd.NA, 1), (np.nan, 2), (Decimal("sNaN"), 1), (1j, 2),
    (2**80, 1), (np.bool_(True), 2), (object(), 1), (np.datetime64("NaT"), 1),
]  # fmt: skip


def graph_and_answers(data: Any, where: dict[str, Any], nodes: Any) -> Any:
    """All that a release learns from edges, and two releases."""
    given = {"n": N} if isinstance(nodes, range) else {"nodes": nodes}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AccuracyWarning)
        graph = load_graph(open_edges(data, **where), nodes)
        degrees = load_degrees(open_edges(data, **where), nodes).degrees.tolist()
        drawn = [
            dampen.top_k(data, k=3, epsilon=8, entropy=seeded(), metric=metric, **given, **where)
            for metric in ("degree", "betweenness")
        ]
    return graph.first.tolist(), graph.to.tolist(), degrees, [repr(made) for made in drawn]


def seeded() -> InsecureEntropy:
    return InsecureEntropy(7, allow_release=True)


def named(row: Row) -> Row:
    """A good row by the names of its nodes."""
    return NAMES[row[0]], NAMES[row[1]]


def columns(rows: Rows) -> tuple[list[Any], list[Any]]:
    return [a for a, _ in rows], [b for _, b in rows]


def written(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def of_arrow(rows: Rows) -> pa.Table:
    return pa.table(dict(zip("ab", map(pa.array, columns(rows)), strict=True)))


def in_parquet(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    pq.write_table(of_arrow(rows), folder / "edges.parquet", row_group_size=3)
    return folder / "edges.parquet", {}


def in_feather(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    feather.write_feather(of_arrow(rows), str(folder / "edges.feather"))
    return folder / "edges.feather", {}


def in_npz(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    src, dst = map(np.array, columns(rows))
    np.savez(folder / "edges.npz", src=src, dst=dst, n=N)
    return folder / "edges.npz", {}


def in_duckdb(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    import duckdb

    path = folder / "edges.duckdb"
    path.unlink(missing_ok=True)
    with closing(duckdb.connect(str(path))) as connection:
        connection.from_arrow(of_arrow(rows)).create("edges")
    return path, {"table": "edges"}


def in_sqlite(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    path = folder / "edges.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table edges (a, b)")
        for a, b in rows:
            how = ["cast(? as text)" if isinstance(x, bytes) else "?" for x in (a, b)]
            connection.execute(f"insert into edges values ({how[0]}, {how[1]})", (a, b))
    return path, {"table": "edges"}


def in_json(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    lines = [
        row if isinstance(row, bytes) else json.dumps({"source": row[0], "target": row[1]}).encode()
        for row in rows
    ]
    return written(folder, "edges.jsonl", b"\n".join(lines)), {}


def text_with(separator: str, header: str = "") -> Hold:
    def hold(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
        lines = [
            row if isinstance(row, bytes) else f"{row[0]}{separator}{row[1]}".encode()
            for row in rows
        ]
        return written(folder, "edges.txt", b"\n".join([header.encode(), *lines])), {}

    return hold


def packed(by: Callable[[bytes], bytes]) -> Hold:
    def hold(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
        path, where = text_with(",", "source,target")(rows, folder)
        return written(folder, "edges.csv.gz", by(path.read_bytes())), where

    return hold


def named_columns(rows: Rows, folder: Path) -> tuple[Any, dict[str, Any]]:
    path, _ = text_with(",", "a,b")(rows, folder)
    return path, {"source": "a", "target": "b"}


ANY_OBJECT: dict[str, Hold] = {
    "pairs": lambda rows, _: (list(rows), {}),
    "lists": lambda rows, _: (columns(rows), {}),
    "tuples": lambda rows, _: (tuple(map(tuple, columns(rows))), {}),
    "array of objects": lambda rows, _: (
        tuple(np.fromiter(column, dtype=object) for column in columns(rows)),
        {},
    ),
    "pandas": lambda rows, _: (
        pd.DataFrame(dict(zip("ab", map(as_series, columns(rows)), strict=True))),
        {},
    ),
}
"""Holders of anything at all."""


def as_series(column: list[Any]) -> pd.Series:
    return pd.Series(np.fromiter(column, dtype=object), dtype=object)


ARRAYS: dict[str, Hold] = {
    "arrays": lambda rows, _: (tuple(map(np.array, columns(rows))), {}),
    "one array": lambda rows, _: (np.array(rows), {}),
    "arrow": lambda rows, _: (of_arrow(rows), {}),
    "polars": lambda rows, _: (pl.DataFrame(of_arrow(rows)), {}),
    "parquet": in_parquet,
    "feather": in_feather,
    "duckdb": in_duckdb,
}
"""Holders of one type a column."""
TEXTS: dict[str, Hold] = {
    "csv": text_with(",", "source,target"),
    "csv without header": text_with(","),
    "tsv": text_with("\t"),
    "blanks": text_with(" "),
    "semicolons": text_with(";", "# a comment"),
    "named columns": named_columns,
    "gzip": packed(gzip.compress),
    "bz2": packed(bz2.compress),
}

BAD_LINES = [
    b"0", b"0,", b",1", b"0,1,2", b"0.5,1", b"nan,1", b"x,y", b"\xff\xfe,1", b"0,\x00", b'"0,1',
    b"0\r1", b"-1,2", b"7,0", b"99999999999999999999,1", b"0," + b"1" * 200_000, b"z" * 3_000_000,
    b"{}", b"[0, 1]", b"0x1,2", b"1_0,2", b"\xc2\xa0", b"source,target", b"True,1", b"1e0,2",
    b"\\N,1", b"'0','1'",
]  # fmt: skip
BAD_JSON = [
    b"{", b"[0, 1]", b"0", b"null", b"{}", b'{"source": 0}', b'{"source": 0, "target": null}',
    b'{"source": [0], "target": 1}', b'{"source": 0.5, "target": 1}',
    b'{"source": true, "target": 1}', b'{"source": 0, "target": "9.5"}',
    b'{"source": "x", "target": 1}', b'{"source": 9, "target": 1}', b'{"source": NaN, "target": 1}',
    b'{"source": "\xff", "target": 1}', b"[" * 100_000,
    b'{"source": ' + b"9" * 5000 + b', "target": 1}',
    b'{"source": "\\ud800", "target": 1}', b'{"weight": 1, "a": 2, "b": 3}', b"z" * 3_000_000,
]  # fmt: skip


NO_PAIRS = [(0,), (0, 1, 2), None, 5, "01", {0: 1}, np.zeros((2, 2)), iter([0, 1])]
AMONG_NAMES = [(True, "bo"), (0.5, "ann"), (7, "ann"), (b"\xff", "bo")]
TYPED = [*WHOLE, *FRACTIONS]
STORED = [("x", 1), (b"\xff", 1), (0, ""), (b"\xff\xfe", b"\xff")]


def cases() -> Iterator[tuple[str, Hold, str, list[Any]]]:
    """The name of a holder, the holder, the kind of nodes, bad rows."""
    for name, hold in ANY_OBJECT.items():
        yield name, hold, "integers", [*TYPED, *MISSING, *MIXED, *OBJECTS]
        yield name, hold, "text", [*NAMELESS, *TEXT, *AMONG_NAMES, ([], "bo")]
        yield name, hold, "listed", [(7, 0), (-1, 0), (None, 1), ("x", 0)]
    yield "no pairs", ANY_OBJECT["pairs"], "integers", NO_PAIRS
    for name, hold in ARRAYS.items():
        missing = [] if name in ("arrays", "one array") else MISSING
        yield name, hold, "integers", [*TYPED, *missing]
        yield name, hold, "text", [*TEXT, *(NAMELESS if missing else [])]
        yield name, hold, "listed", [(7, 0), (-1, 0)]
    yield "npz", in_npz, "integers", TYPED
    yield "sqlite", in_sqlite, "integers", [*TYPED, *MISSING, *STORED]
    yield "sqlite", in_sqlite, "text", [*NAMELESS, *TEXT, *AMONG_NAMES]
    for kind in NODES:
        yield "json", in_json, kind, BAD_JSON
        for name, hold in TEXTS.items():
            separator = {"tsv": b"\t", "blanks": b" ", "semicolons": b";"}.get(name, b",")
            yield name, hold, kind, [line.replace(b",", separator) for line in BAD_LINES]


CASES = {f"{name}-{kind}": (hold, kind, bad) for name, hold, kind, bad in cases()}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_row_is_as_if_it_were_not_there(case: str, tmp_path: Path) -> None:
    hold, kind, all_bad = CASES[case]
    good: Rows = [named(row) for row in GOOD] if kind == "text" else list(GOOD)
    nodes = NODES[kind]
    expected = graph_and_answers(*hold(good, tmp_path), nodes)
    first = list(NODES).index(kind)  # so that kinds together try a row at all places
    for bad, place in zip(all_bad, cycle(PLACES[first:] + PLACES[:first]), strict=False):
        rows = [*good[:place], bad, *good[place:]]
        assert graph_and_answers(*hold(rows, tmp_path), nodes) == expected, (bad, place)


def test_ends_of_unequal_number_are_refused_before_they_are_looked_at() -> None:
    with pytest.raises(ParameterError, match="as many sources as targets"):
        open_edges(([0, 1], [1]))


UNDECODABLE = [pa.string(), pa.large_string()]


@pytest.mark.parametrize("hold", [in_parquet, in_feather])
@pytest.mark.parametrize("kind", UNDECODABLE, ids=str)
@pytest.mark.parametrize("coded", [False, True])
def test_text_of_columnar_files_that_cannot_be_decoded(
    hold: Hold, kind: pa.DataType, coded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [named(row) for row in GOOD]
    expected = graph_and_answers(*hold(good, tmp_path), NAMES)

    def undecoded(rows: Rows) -> pa.Table:
        stored = [pa.array([x.encode() for x in column], pa.binary()) for column in columns(rows)]
        stored[0] = pa.array([*stored[0].to_pylist()[:-1], b"\xff\xfe"], pa.binary())
        wide = pa.large_binary() if kind == pa.large_string() else pa.binary()
        text = [column.cast(wide).view(kind) for column in stored]
        return pa.table({"a": text[0].dictionary_encode() if coded else text[0], "b": text[1]})

    monkeypatch.setattr(f"{__name__}.of_arrow", undecoded)
    assert graph_and_answers(*hold([*good, ("cut", "bo")], tmp_path), NAMES) == expected


def test_a_missing_cell_does_not_change_what_other_rows_mean() -> None:
    """pandas makes floats of a column of integers for it."""
    expected = graph_and_answers(columns(GOOD), {}, range(N))
    frame = pd.DataFrame([*GOOD, (None, 1)], columns=["a", "b"])
    assert frame["a"].dtype == np.float64
    assert graph_and_answers(frame, {}, range(N)) == expected
    assert graph_and_answers(frame.astype("Int64"), {}, range(N)) == expected
    as_text = [str(i) for i in range(N)]
    whole = load_graph(open_edges(columns(GOOD)), as_text)
    assert load_graph(open_edges(frame), as_text).to.tolist() == whole.to.tolist()


@pytest.mark.parametrize("hold", [*ARRAYS.values(), ANY_OBJECT["pandas"], in_sqlite, in_json])
def test_whole_numbers_and_their_text_name_the_same_nodes(hold: Hold, tmp_path: Path) -> None:
    """Whatever a holder makes of "7": the nodes decide."""
    expected = graph_and_answers(columns(GOOD), {}, range(N))
    as_text = [(str(a), str(b)) for a, b in GOOD]
    assert graph_and_answers(*hold(as_text, tmp_path), range(N)) == expected
    nodes = [str(i) for i in range(N)]
    assert graph_and_answers(*hold(list(GOOD), tmp_path), nodes)[:3] == expected[:3]
