"""Long ledgers: what is looked up is found without reading them."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dampen.errors import BudgetError
from dampen.ledger import Kind, Ledger, Status, backup, restore, verify, watch, worker
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
    assert ledger.answers(charges) == [f'"{each}"' for each in charges]
    assert read == 0


def test_answers_are_found_by_an_index(ledger: Ledger) -> None:
    answered(ledger, 3)
    with closing(sqlite3.connect(ledger.path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sqlite.ANSWERS}", (2,)).fetchall()
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


@pytest.fixture
def long(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """With a checkpoint every 20 entries: budgets and caps of every kind before the last one."""
    monkeypatch.setattr("dampen.ledger.state.CHECKPOINT_EVERY", 20)
    many = ledger.create("many", epsilon="2.5", delta="1e-6", neighbours=ONE, each=1, largest=1)
    many.cap("0.5", analyst="Ana")
    ledger.create("closed", epsilon="1/3", neighbours=ONE, dataset="d", trial=True).close()
    for i in range(60):
        ledger.charge("payroll", epsilon=f"1/{i + 700}", neighbours=ONE, analyst=f"a{i % 3}")
        ledger.charge("many", rho="0.0001", neighbours=ONE, analyst="ana")
    return ledger


def rows_read_by_opening(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    read = 0
    rows = sqlite._View.rows

    def counted(view: sqlite._View, after: int) -> Iterator[object]:
        nonlocal read
        for row in rows(view, after):
            read += 1
            yield row

    worker.close_all()
    with monkeypatch.context() as patched:
        patched.setattr(sqlite._View, "rows", counted)
        ledger.balance("payroll")
    return read


def test_opening_reads_what_follows_the_last_checkpoint(
    long: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: long.balance(name) for name in long}
    assert rows_read_by_opening(long, monkeypatch) < 20
    assert {name: long.balance(name) for name in long} == before
    assert long["closed"].status is Status.CLOSED
    kinds = [entry.kind for entry in long.entries_after()[0]]
    assert kinds.count(Kind.CHECKPOINT) == 6
    assert Kind.CHECKPOINT not in {entry.kind for entry in long.entries()}
    verify(long)


def test_later_sums_are_those_of_a_process_that_read_everything(
    long: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are rounded: the fold of a checkpoint goes on as the fold of all entries."""
    for i in range(150):
        long.charge("payroll", epsilon=f"1/{10**50 + 2 * i + 1}", neighbours=ONE)
        if i % 40 == 7:
            worker.close_all()
    worker.close_all()
    long.charge("payroll", epsilon="0.01", neighbours=ONE)
    verify(long)


def edit(ledger: Ledger, statement: str) -> None:
    worker.close_all()
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for name in ("entry_keeps_values", "entry_keeps_rows"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        connection.execute(statement)


CHEAPER = "UPDATE entry SET content = replace(content, '1/7', '1/9') WHERE seq = 8"


def test_an_old_entry_that_was_edited_changes_no_total(long: Ledger) -> None:
    spent = long.spent("payroll")
    edit(long, CHEAPER)
    assert long.spent("payroll") == spent
    with pytest.raises(BudgetError, match="entry 8 is missing or was changed"):
        verify(long)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET content = replace(content, 'open', 'open ') WHERE kind = 'checkpoint'",
        "UPDATE entry SET content = '{}' WHERE kind = 'checkpoint'",
        "DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry WHERE kind = 'checkpoint') - 1",
        "DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry WHERE kind = 'checkpoint') + 1",
    ],
)
def test_a_checkpoint_that_was_edited_pays_nothing(long: Ledger, statement: str) -> None:
    edit(long, statement)
    with pytest.raises(BudgetError, match="damaged"):
        long.charge("payroll", epsilon="0.01", neighbours=ONE)


def test_a_lost_checkpoint_gives_nothing_back(long: Ledger) -> None:
    edit(long, "DELETE FROM entry WHERE kind = 'checkpoint'")
    with pytest.raises(BudgetError, match="missing or was changed"):
        long.remaining("payroll")


def test_a_process_that_saw_more_notices_another_log(long: Ledger, tmp_path: Path) -> None:
    """Also if that log has a checkpoint behind what the process saw."""
    worker_of_long = worker.worker_at(long.place)
    head = verify(long)
    other = Ledger(tmp_path / "other" / "ledger")
    other.create("payroll", epsilon=3, neighbours=ONE)
    for _ in range(200):
        other.charge("payroll", epsilon="0.001", neighbours=ONE)
    for each in (long, other):
        worker.worker_at(each.place).close()
    for name in ("ledger", "ledger-head"):
        (long.path.parent / name).write_bytes((other.path.parent / name).read_bytes())
    assert worker.worker_at(long.place) is worker_of_long
    with pytest.raises(BudgetError, match=f"went backwards: entry {head.id}"):
        long.charge("payroll", epsilon="0.01", neighbours=ONE)


def test_a_backup_keeps_checkpoints(long: Ledger, tmp_path: Path) -> None:
    head = backup(long, tmp_path / "copy")
    moved = Ledger(tmp_path / "moved" / "ledger")
    moved.path.parent.mkdir(mode=0o700)
    assert restore(tmp_path / "copy", moved, head=str(head)) is False
    assert moved.balance("many") == long.balance("many")
    verify(moved, str(head))


def test_a_watch_finds_an_old_edit_and_stops_the_process(long: Ledger) -> None:
    watching = watch(long, pause=0.01)
    deadline = time.monotonic() + 30
    while watching.rounds < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    long.charge("payroll", epsilon="0.001", neighbours=ONE)
    watching.stop()
    assert watching.rounds >= 2
    edit(long, CHEAPER)
    long.charge("payroll", epsilon="0.001", neighbours=ONE)
    watching = watch(long, pause=0.01)
    watching._thread.join(30)
    uses: list[Callable[[], object]] = [
        lambda: long.charge("payroll", epsilon="0.001", neighbours=ONE),
        lambda: long.spent("payroll"),
    ]
    for use in uses:
        with pytest.raises(BudgetError, match="entry 8 is missing or was changed"):
            use()
