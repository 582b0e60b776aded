"""Readers of private data, fuzzed: a release, or one sentence on the right side of the charge."""

import bz2
import gzip
import io
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dampen
from broken_files import columns, csv_of, edges, feather_of, json_of, npz_of, parquet_of
from dampen.errors import DataError, ParameterError
from dampen.questions.classify import bins
from engines.holders import sqlite_file
from fuzz.damage import damaged, examples, fuzz
from leaks import listening, secrets_in


class Recorder:
    """A budget that counts its charges."""

    def __init__(self) -> None:
        self.charges = 0

    def charge(self, _: Any, /) -> str:
        self.charges += 1
        return "id"


def count(path: Any, budget: Recorder) -> None:
    categories = ["flu", "cold"]
    dampen.most_frequent(path, "diagnosis", categories=categories, epsilon=1, budget=budget)


def value(path: Any, budget: Recorder) -> None:
    public = {"p": 10, "step": 1000, "upper": 10**6}
    dampen.percentile(path, "salary", epsilon=1, budget=budget, **public)


def who(path: Any, budget: Recorder) -> None:
    public = {"p": 10, "upper": 10**6, "labels": "badge"}
    dampen.percentile_record(path, "salary", epsilon=1, budget=budget, **public)


def tree(path: Any, budget: Recorder) -> None:
    dampen.TreeClassifier(
        epsilon=1, domains={"salary": bins(0, 60000, 6)}, classes=["low", "high"], max_rows=1000,
        max_depth=1, budget=budget,
    ).fit_table(path, target="income")  # fmt: skip


def nodes(path: Any, budget: Recorder) -> None:
    dampen.top_k(path, n=40, k=2, epsilon=1, budget=budget)


def is_honest(ask: Callable[[Any, Recorder], None], path: Any) -> None:
    """No other error, no secret, and charged if and only if data was looked at."""
    budget = Recorder()
    with listening(ParameterError, DataError) as ears:
        ask(path, budget)
    assert secrets_in(ears.text()) == []
    assert budget.charges == (not isinstance(ears.error, ParameterError))
    assert ears.error is None or ears.error.__context__ is None
    assert ears.heard == []


TABLES = {
    ".csv": csv_of(columns()),
    ".csv.gz": gzip.compress(csv_of(columns()), mtime=0),
    ".csv.bz2": bz2.compress(csv_of(columns())),
    ".tsv": csv_of(columns(), "\t"),
    ".jsonl": json_of(columns()),
    ".parquet": parquet_of(columns()),
    ".feather": feather_of(columns()),
}
GRAPHS = {
    ".txt": csv_of(edges(), " "),
    ".csv": csv_of(edges()),
    ".csv.gz": gzip.compress(csv_of(edges()), mtime=0),
    ".jsonl": json_of(edges()),
    ".parquet": parquet_of(edges()),
    ".npz": npz_of(src=np.array(edges()["source"]), dst=np.array(edges()["target"]), n=40),
}


@examples
@pytest.mark.parametrize("ask", [count, value, who, tree], ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("suffix", TABLES)
def test_tables(tmp_path: Path, suffix: str, ask: Any, examples: int) -> None:
    path = tmp_path / f"table{suffix}"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        is_honest(ask, path)

    fuzz(examples, damaged(TABLES[suffix]), check)


@examples
@pytest.mark.parametrize("suffix", GRAPHS)
def test_edges(tmp_path: Path, suffix: str, examples: int) -> None:
    path = tmp_path / f"edges{suffix}"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        is_honest(nodes, path)

    fuzz(examples, damaged(GRAPHS[suffix]), check)


@examples
def test_directories(tmp_path: Path, examples: int) -> None:
    """Of Parquet files, one of which is broken."""
    (tmp_path / "1.parquet").write_bytes(TABLES[".parquet"])

    def check(content: bytes) -> None:
        (tmp_path / "2.parquet").write_bytes(content)
        is_honest(value, tmp_path)

    fuzz(examples, damaged(TABLES[".parquet"]), check)


@examples
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, suffix: str, examples: int) -> None:
    def check(content: bytes) -> None:
        for ask in (count, nodes):
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
                is_honest(ask, "-")

    fuzz(examples, damaged(TABLES[suffix]), check)


def in_sqlite(folder: Path) -> bytes:
    with sqlite_file(folder) as hold:
        path, _ = hold(pa.table(columns()))
        return path.read_bytes()


def in_duckdb(folder: Path) -> bytes:
    path = folder / "whole.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.from_arrow(pa.table(columns())).create("rows")
    return path.read_bytes()


@examples
@pytest.mark.parametrize("holder", [in_sqlite, in_duckdb], ids=lambda holder: holder.__name__)
def test_databases(tmp_path: Path, holder: Callable[[Path], bytes], examples: int) -> None:
    whole = holder(tmp_path)
    path = tmp_path / "broken.db"

    def ask(path: Any, budget: Recorder) -> None:
        public = {"p": 10, "step": 1000, "upper": 10**6, "table": "rows"}
        dampen.percentile(path, "salary", epsilon=1, budget=budget, **public)

    def check(content: bytes) -> None:
        path.write_bytes(content)
        is_honest(ask, path)

    fuzz(examples, damaged(whole), check)
