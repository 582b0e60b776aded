"""Long ledgers: what is looked up is found without reading them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dampen.errors import BudgetError
from dampen.ledger import Ledger, worker
from dampen.ledger.storage import sqlite

ONE = "replace-one"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "place" / "ledger")
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    return ledger


def answered(ledger: Ledger, times: int) -> list[str]:
    account = ledger["payroll"]
    charges = [ledger.charge("payroll", epsilon="0.001", neighbours=ONE) for _ in range(times)]
    account.ledger.keep_all([(charge, f'"{charge}"') for charge in charges])
    return charges


def test_one_old_answer_does_not_read_the_whole_ledger(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charges = answered(ledger, 50)
    ledger.balance("payroll")
    read = 0

    def counted(view: sqlite._View, after: int) -> Iterator[object]:
        nonlocal read
        for row in rows(view, after):
            read += 1
            yield row

    rows = sqlite._View.rows
    monkeypatch.setattr(sqlite._View, "rows", counted)
    assert [ledger.answer(charge) for charge in charges] == [f'"{each}"' for each in charges]
    assert read == 0


def test_answers_are_found_by_an_index(ledger: Ledger) -> None:
    answered(ledger, 3)
    with closing(sqlite3.connect(ledger.path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sqlite.files.ANSWERS}", (2,)).fetchall()
    assert "USING INDEX entry_answer" in plan[0][-1]


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE entry SET content = replace(content, '-', '+') WHERE kind = 'answer'",
        "UPDATE entry SET digest = replace(digest, '0', '1') WHERE kind = 'answer'",
        "DELETE FROM entry WHERE kind = 'charge'",
    ],
)
def test_an_edited_answer_is_not_given(ledger: Ledger, edit: str) -> None:
    (charge,) = answered(ledger, 1)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for name in ("entry_keeps_values", "entry_keeps_rows"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(edit)
    with pytest.raises(BudgetError):
        ledger.answer(charge)
    worker.close_all()
    with pytest.raises(BudgetError):
        ledger.answer(charge)
