"""Ledgers of 0.2 are read as they were written, and entries are written as they were."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dampen.ledger import Ledger, Status, verify
from dampen.ledger.log import Draft, Head, Kind, Row, sealed
from dampen.ledger.state import State
from dampen.ledger.storage import files
from dampen.ledger.storage.copies import write_copy
from dampen.ledger.storage.head_file import HeadFile

ROWS = [
    Row(*json.loads(line))
    for line in Path(__file__).with_name("ledger-0.2.jsonl").read_text("utf-8").splitlines()
]


def test_a_ledger_of_0_2_is_read() -> None:
    state = State()
    for row in ROWS:
        state.apply(row)
    payroll = state.budgets["payroll"]
    assert (payroll.limit.epsilon, payroll.spent.epsilon, payroll.largest) == (Fraction(7, 2), 1, 2)
    assert (payroll.status, payroll.cap("ben").epsilon) == (Status.OPEN, 1)  # type: ignore[union-attr]
    many = state.budgets["many"]
    assert (many.spent.epsilon, many.spent.rho) == (None, Fraction(1, 800))
    assert (many.status, many.trial) == (Status.CLOSED, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.seq}-{row.kind}")
def test_an_entry_has_the_same_digest_today(row: Row) -> None:
    state = State()
    for before in ROWS[: row.seq - 1]:
        state.apply(before)
    draft = Draft(Kind(row.kind), row.budget, json.loads(row.content))
    assert sealed(draft, state.head) == row


def ledger_of_0_2(path: Path) -> Ledger:
    """A file of format 2: the same tables without indexes."""
    write_copy(path, ROWS)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        ).fetchall():
            connection.execute(f"DROP INDEX {name}")
        connection.execute("PRAGMA user_version = 2")
    with closing(HeadFile(files.head_path(path), create=True)) as head_file:
        head_file.reset(Head(ROWS[-1].seq, ROWS[-1].digest))
    return Ledger(path)


def test_a_file_of_0_2_is_migrated_without_losing_a_charge(tmp_path: Path) -> None:
    ledger = ledger_of_0_2(tmp_path / "ledger")
    before = Head(ROWS[-1].seq, ROWS[-1].digest)
    assert verify(ledger) == before
    assert ledger.spent("payroll") == 1
    ledger.create("new", epsilon=1, neighbours="replace-one")
    charge = ledger.charge("new", epsilon="0.5", neighbours="replace-one")
    ledger.keep(charge, "{}")
    assert ledger.answer(charge) == "{}"
    assert verify(ledger, str(before)).seq == before.seq + 3
    with closing(sqlite3.connect(ledger.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (files.FORMAT,)
        stored = connection.execute("SELECT * FROM entry WHERE seq <= ?", (before.seq,)).fetchall()
    assert [Row._make(each) for each in stored] == ROWS
