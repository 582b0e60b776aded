"""Backups of a ledger in use, and what a restore gives back: nothing that was spent."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Kind, Ledger, Status, backup, restore, verify, worker

ONE = "replace-one"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "place" / "ledger")
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    ledger.create("closed", epsilon=3, neighbours=ONE).close()
    charge(ledger, 1)
    return ledger


def charge(ledger: Ledger, epsilon: object) -> str:
    return ledger.charge("payroll", epsilon=epsilon, neighbours=ONE)  # type: ignore[arg-type]


def break_it(ledger: Ledger) -> None:
    worker.close_all()
    ledger.path.write_bytes(ledger.path.read_bytes()[:5000])


def test_a_backup_is_one_file_with_every_charge(ledger: Ledger, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    head = backup(ledger, copy)
    assert head == verify(ledger)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "place"]
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (head.seq,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_backup_pays_nothing_before_it_is_restored(ledger: Ledger, tmp_path: Path) -> None:
    backup(ledger, tmp_path / "copy")
    for use in (lambda ledger: charge(ledger, 1), lambda ledger: ledger.spent("payroll")):
        with pytest.raises(BudgetError, match="no valid head file"):
            use(Ledger(tmp_path / "copy"))
    with pytest.raises(BudgetError, match="no valid head file"):
        Ledger(tmp_path / "copy").create("new", epsilon=1, neighbours=ONE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "place"]


def test_a_backup_overwrites_nothing(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("precious")
    with pytest.raises(BudgetError, match=r"There is a file .* already"):
        backup(ledger, tmp_path / "copy")
    with pytest.raises(BudgetError, match="Cannot write"):
        backup(ledger, tmp_path / "none" / "copy")
    assert (tmp_path / "copy").read_text() == "precious"


def test_a_backup_of_a_damaged_ledger_is_not_made(ledger: Ledger, tmp_path: Path) -> None:
    break_it(ledger)
    with pytest.raises(BudgetError):
        backup(ledger, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_complete_backup_is_restored_as_it_was(ledger: Ledger, tmp_path: Path) -> None:
    backup(ledger, tmp_path / "copy")
    break_it(ledger)
    assert restore(tmp_path / "copy", ledger) is False
    assert ledger.remaining("payroll") == 2
    charge(ledger, 2)
    verify(ledger)
    kept = [path.name for path in ledger.path.parent.iterdir() if ".before-" in path.name]
    assert len(kept) == 2  # the damaged file and its head


def test_a_backup_that_misses_charges_freezes_every_budget(ledger: Ledger, tmp_path: Path) -> None:
    backup(ledger, tmp_path / "copy")
    charge(ledger, "1.5")
    break_it(ledger)
    assert restore(tmp_path / "copy", ledger, who="ana") is True
    account = ledger["payroll"]
    assert account.status is Status.RESTORED
    assert ledger["closed"].status is Status.CLOSED
    with pytest.raises(BudgetError, match="restored from a backup that misses charges"):
        charge(ledger, "0.1")
    with pytest.raises(ParameterError, match="Pass spent="):
        account.thaw()
    account.thaw(spent="1.5")
    assert account.remaining == 0.5
    with pytest.raises(BudgetError, match=r"0\.5 of 3 is left"):
        charge(ledger, 1)
    (entry,) = [entry for entry in ledger.entries() if entry.kind is Kind.RESTORE]
    assert (entry.details["who"], entry.details["lost"]) == ("ana", True)


def test_a_restored_budget_cannot_be_frozen_and_thawed_without_what_was_spent(
    ledger: Ledger, tmp_path: Path
) -> None:
    backup(ledger, tmp_path / "copy")
    charge(ledger, 2)
    break_it(ledger)
    assert restore(tmp_path / "copy", ledger) is True
    account = ledger["payroll"]
    with pytest.raises(BudgetError, match="pays nothing until you state what was spent"):
        account.freeze(why="audit")
    with pytest.raises(ParameterError, match="Pass spent="):
        account.thaw()
    account.thaw(spent=2)
    assert account.remaining == 0
    account.freeze()
    assert account.status is Status.FROZEN


def test_caps_survive_a_restore(ledger: Ledger, tmp_path: Path) -> None:
    """What was lost counts against every analyst: any of them may have spent it."""
    account = ledger["payroll"]
    account.cap(1)
    account.cap(2, analyst="ben")
    backup(ledger, tmp_path / "copy")
    ledger.charge("payroll", epsilon=1, neighbours=ONE, analyst="ana")
    break_it(ledger)
    assert restore(tmp_path / "copy", ledger) is True
    account.thaw(spent=1)
    with pytest.raises(BudgetError, match=r"for 'ana': 0 of 1 is left for this analyst"):
        ledger.charge("payroll", epsilon="0.1", neighbours=ONE, analyst="ana")
    account.freeze()
    account.thaw()
    with pytest.raises(BudgetError, match="0 of 1 is left for this analyst"):
        ledger.charge("payroll", epsilon="0.1", neighbours=ONE, analyst="ana")
    ledger.charge("payroll", epsilon="0.5", neighbours=ONE, analyst="ben")
    account.cap("1.5", analyst="ana")
    ledger.charge("payroll", epsilon="0.5", neighbours=ONE, analyst="ana")
    assert ledger.remaining("payroll") == 0


def test_more_can_be_lost_than_there_was(ledger: Ledger, tmp_path: Path) -> None:
    backup(ledger, tmp_path / "copy")
    ledger.path.unlink()
    with pytest.raises(BudgetError, match="is gone, but its head file is still there"):
        charge(ledger, 1)
    restore(tmp_path / "copy", ledger, head="99-" + "0" * 64)
    ledger["payroll"].thaw(spent=5)
    assert ledger.remaining("payroll") == -3
    with pytest.raises(BudgetError, match="-3 of 3 is left"):
        charge(ledger, "0.1")
    ledger["payroll"].raise_to(7)
    charge(ledger, 1)


def test_a_copy_on_another_machine_counts_if_its_head_is_known(
    ledger: Ledger, tmp_path: Path
) -> None:
    head = backup(ledger, tmp_path / "copy")
    for known, lost in (
        (None, True),
        (str(head), False),
        (head.id, False),
        ("9-" + "0" * 64, True),
    ):
        moved = Ledger(tmp_path / f"to {known}" / "ledger")
        moved.path.parent.mkdir(mode=0o700)
        assert restore(tmp_path / "copy", moved, head=known) is lost
        assert moved["payroll"].status is (Status.RESTORED if lost else Status.OPEN)
        assert moved.remaining("payroll") == 2


def test_an_older_head_does_not_override_the_head_file(ledger: Ledger, tmp_path: Path) -> None:
    old = backup(ledger, tmp_path / "copy")
    charge(ledger, 2)
    break_it(ledger)
    assert restore(tmp_path / "copy", ledger, head=str(old)) is True
    with pytest.raises(BudgetError, match="restored from a backup that misses charges"):
        charge(ledger, 2)


def test_a_later_head_counts_beside_an_older_head_file(ledger: Ledger, tmp_path: Path) -> None:
    older = ledger.path.with_name("ledger-head").read_bytes()
    backup(ledger, tmp_path / "copy")
    charge(ledger, 2)
    newest = verify(ledger)
    break_it(ledger)
    ledger.path.with_name("ledger-head").write_bytes(older)
    assert restore(tmp_path / "copy", ledger, head=str(newest)) is True


def test_a_process_stops_charging_when_its_head_file_is_gone(ledger: Ledger) -> None:
    head = ledger.path.with_name("ledger-head")
    charge(ledger, "0.1")
    head.rename(head.with_name("elsewhere"))
    for _ in range(2):
        with pytest.raises(BudgetError, match="no valid head file"):
            charge(ledger, "0.1")
    head.with_name("elsewhere").rename(head)
    charge(ledger, "0.1")
    assert ledger.remaining("payroll") == Fraction(9, 5)


def test_the_file_at_the_place_can_be_adopted(ledger: Ledger) -> None:
    worker.close_all()
    ledger.path.with_name("ledger-head").unlink()
    with pytest.raises(BudgetError, match="no valid head file"):
        charge(ledger, 1)
    assert restore(ledger.path, ledger) is True
    ledger["payroll"].thaw(spent=0)
    assert ledger.remaining("payroll") == 2


def test_a_whole_ledger_is_not_replaced(ledger: Ledger, tmp_path: Path) -> None:
    backup(ledger, tmp_path / "copy")
    charge(ledger, 1)
    with pytest.raises(BudgetError, match="There is nothing to restore"):
        restore(tmp_path / "copy", ledger)
    assert ledger.remaining("payroll") == 1


def test_a_damaged_backup_is_not_restored(ledger: Ledger, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    backup(ledger, copy)
    break_it(ledger)
    before = ledger.path.read_bytes()
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER entry_keeps_rows")
        connection.execute("DELETE FROM entry WHERE seq = 4")
    with pytest.raises(BudgetError, match="damaged"):
        restore(copy, ledger)
    copy.write_text("no ledger " * 1000)
    with pytest.raises(BudgetError, match="not a ledger"):
        restore(copy, ledger)
    with pytest.raises(BudgetError, match="There is no file"):
        restore(tmp_path / "none", ledger)
    assert ledger.path.read_bytes() == before


def test_verify_knows_a_head_that_was_kept(ledger: Ledger, tmp_path: Path) -> None:
    kept = verify(ledger)
    charge(ledger, "0.1")
    assert verify(ledger, str(kept)).seq == kept.seq + 1
    assert verify(ledger, kept.id).seq == kept.seq + 1
    with pytest.raises(BudgetError, match="an older copy was put back"):
        verify(ledger, f"{kept.seq + 5}-{'0' * 64}")
    with pytest.raises(BudgetError, match="it was edited, or is another one"):
        verify(ledger, f"{kept.seq}-{'0' * 64}")
    with pytest.raises(ParameterError, match="Expected a head"):
        verify(ledger, "today")


def test_verify_finds_a_forged_chain(ledger: Ledger, tmp_path: Path) -> None:
    """Whoever may write the file can make a new chain; a head that was kept shows it."""
    kept = verify(ledger)
    forged = Ledger(tmp_path / "forged" / "ledger")
    forged.create("payroll", epsilon=3, neighbours=ONE)
    for _ in range(5):
        charge(forged, "0.001")
    worker.close_all()
    for name in ("ledger", "ledger-head"):
        (ledger.path.parent / name).write_bytes((forged.path.parent / name).read_bytes())
    verify(ledger)
    with pytest.raises(BudgetError, match="it was edited, or is another one"):
        verify(ledger, str(kept))
