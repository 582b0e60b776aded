"""Ledgers of 0.1 and 0.2 are read without losing a charge; entries are written as they were."""

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dampen.errors import BudgetError
from dampen.ledger import Ledger, Status, restore, verify, worker
from dampen.ledger.log import Draft, Head, Kind, Row, sealed
from dampen.ledger.state import State
from dampen.ledger.storage import sqlite
from dampen.ledger.storage.head_file import HeadFile
from dampen.ledger.storage.sqlite import write_copy

ONE = "replace-one"
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
    with closing(HeadFile(sqlite.head_path(path), create=True)) as head_file:
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
        assert connection.execute("PRAGMA user_version").fetchone() == (sqlite.FORMAT,)
        stored = connection.execute("SELECT * FROM entry WHERE seq <= ?", (before.seq,)).fetchall()
    assert [Row._make(each) for each in stored] == ROWS


def ledger_of_0_1(path: Path) -> Ledger:
    """A file of format 1, written by the code of 0.1: no log, no head."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(Path(__file__).with_name("ledger-0.1.sql").read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return Ledger(path)


SPENT_IN_0_1 = {
    "payroll": (Fraction(3), Fraction(7, 5)),
    "Payroll (2)": (Fraction(1, 3), Fraction(1, 7)),
    "graph": (Fraction(7, 10), Fraction(7, 10)),
}


def spent(ledger: Ledger) -> dict[str, tuple[Fraction, Fraction]]:
    return {name: (ledger.total(name), ledger.spent(name)) for name in ledger}


def test_a_file_of_0_1_is_migrated_without_losing_a_charge(tmp_path: Path) -> None:
    ledger = ledger_of_0_1(tmp_path / "ledger")
    assert spent(ledger) == SPENT_IN_0_1
    assert verify(ledger).seq == 7
    first, second = ledger.history("payroll")
    assert (first.query, first.analyst, first.version) == ("percentile-label p=50", "ana", "0.1.0")
    assert (second.epsilon, second.rho) == (Fraction(13, 10), Fraction(1, 5))
    with pytest.raises(BudgetError, match=r"0 of 0\.7 is left"):
        ledger.charge("graph", epsilon="0.1", neighbours="add-remove-edge")
    ledger.charge("payroll", epsilon="1.6", neighbours="replace-one")
    assert ledger.remaining("payroll") == 0
    with closing(sqlite3.connect(ledger.path)) as connection:
        assert connection.execute("SELECT count(*) FROM charge").fetchone() == (4,)
        with pytest.raises(sqlite3.IntegrityError, match="brought up to date"):
            connection.execute("INSERT INTO charge SELECT 9, budget, epsilon, rho, query, "
                               "mechanism, neighbours, analyst, dataset, time, version "
                               "FROM charge WHERE id = 1")  # fmt: skip


def test_a_file_of_0_1_takes_a_new_budget_first(tmp_path: Path) -> None:
    ledger = ledger_of_0_1(tmp_path / "ledger")
    ledger.create("new", epsilon=1, neighbours="replace-one")
    assert spent(ledger) == SPENT_IN_0_1 | {"new": (Fraction(1), Fraction(0))}


def test_a_copy_of_0_1_is_restored(tmp_path: Path) -> None:
    ledger_of_0_1(tmp_path / "copy")
    ledger = Ledger(tmp_path / "ledger")
    assert restore(tmp_path / "copy", ledger) is True
    assert spent(ledger) == SPENT_IN_0_1
    assert ledger["graph"].status is Status.RESTORED


def test_an_old_file_of_0_1_put_back_pays_nothing(tmp_path: Path) -> None:
    ledger = ledger_of_0_1(tmp_path / "ledger")
    ledger.charge("payroll", epsilon=1, neighbours="replace-one")
    worker.close_all()
    for name in ("ledger", "ledger-wal", "ledger-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    ledger_of_0_1(tmp_path / "ledger")
    for use in (ledger.spent, lambda name: ledger.charge(name, epsilon=1, neighbours=ONE)):
        with pytest.raises(BudgetError, match="no valid head file"):
            use("payroll")


def test_a_killed_migration_of_0_1_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_of_0_1(tmp_path / "ledger")
    reset = HeadFile.reset

    def killed(self: HeadFile, head: Head) -> None:
        reset(self, head)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HeadFile, "reset", killed)
        with pytest.raises(KeyboardInterrupt):
            ledger.spent("payroll")
    assert spent(ledger) == SPENT_IN_0_1


def test_a_server_of_0_2_is_migrated_without_losing_a_charge(postgresql: Any) -> None:
    """Its tables had no roles, indexes, view or functions."""
    psycopg = pytest.importorskip("psycopg")
    place = postgresql.new_schema()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(TABLES_OF_0_2)
        for row in ROWS:
            connection.execute("INSERT INTO dampen_entry VALUES (%s, %s, %s, %s, %s)", row)
        connection.execute(
            "INSERT INTO dampen_head VALUES (1, %s, %s)", (ROWS[-1].seq, ROWS[-1].digest)
        )
    ledger = Ledger(place)
    before = Head(ROWS[-1].seq, ROWS[-1].digest)
    assert verify(ledger) == before
    assert ledger.spent("payroll") == 1
    ledger.create("new", epsilon=1, neighbours=ONE)
    charge = ledger.charge("new", epsilon="0.5", neighbours=ONE)
    ledger.keep(charge, "{}")
    assert verify(ledger, str(before)).seq == before.seq + 3
    with psycopg.connect(place, autocommit=True) as connection:
        found = connection.execute("SELECT budget, open, epsilon, spent_epsilon FROM dampen_budget")
        sums = {name: rest for name, *rest in found}
    assert sums["payroll"] == [True, Decimal("3.5"), 1]
    assert sums["new"] == [True, 1, Decimal("0.5")]
    assert sums["many"][0] is False


TABLES_OF_0_2 = """
CREATE TABLE dampen_entry (
  seq bigint PRIMARY KEY, kind text NOT NULL, budget text NOT NULL, content text NOT NULL,
  digest text NOT NULL
);
CREATE TABLE dampen_head (
  one integer PRIMARY KEY CHECK (one = 1), seq bigint NOT NULL, digest text NOT NULL
);
"""
