"""A witness: of several copies of a ledger only one pays."""

import shutil
from collections.abc import Callable
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Kind, Ledger, Status, backup, restore, verify, worker

ONE = "replace-one"


@pytest.fixture(params=["file", "append", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql").new_schema())
    (tmp_path / "other").mkdir()
    return ("append:" if request.param == "append" else "") + str(tmp_path / "other" / "witness")


@pytest.fixture
def ledger(tmp_path: Path, place: str) -> Ledger:
    ledger = Ledger(tmp_path / "place" / "ledger")
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    ledger.set_witness(place, who="ana")
    return ledger


def charge(ledger: Ledger, epsilon: object = 1) -> str:
    return ledger.charge("payroll", epsilon=epsilon, neighbours=ONE)  # type: ignore[arg-type]


def copied(ledger: Ledger, name: str) -> Ledger:
    """`cp -r`: all files, with the head."""
    worker.close_all()
    target = ledger.path.parent.with_name(name)
    shutil.copytree(ledger.path.parent, target)
    return Ledger(target / "ledger")


def test_a_witness_is_recorded_and_followed(ledger: Ledger, place: str) -> None:
    assert ledger.witness == place
    assert [entry.kind for entry in ledger.entries()] == [Kind.CREATE, Kind.WITNESS]
    for _ in range(2):
        charge(ledger)
        worker.close_all()
    assert ledger.remaining("payroll") == 1
    verify(ledger)


def test_only_one_of_two_copies_pays(ledger: Ledger) -> None:
    copy = copied(ledger, "copy")
    charge(ledger)
    uses: list[Callable[[], object]] = [
        lambda: charge(copy),
        lambda: copy.spent("payroll"),
        lambda: verify(copy),
    ]
    for use in uses:
        with pytest.raises(BudgetError, match="a copy, and another copy was charged"):
            use()
    charge(ledger)


def test_a_snapshot_put_back_pays_nothing(ledger: Ledger) -> None:
    snapshot = copied(ledger, "snapshot")
    charge(ledger, 2)
    worker.close_all()
    shutil.rmtree(ledger.path.parent)
    shutil.copytree(snapshot.path.parent, ledger.path.parent)
    with pytest.raises(BudgetError, match="an older state"):
        charge(ledger, 2)
    assert restore(snapshot.path, ledger) is True
    assert ledger["payroll"].status is Status.RESTORED
    ledger["payroll"].thaw(spent=2)
    charge(ledger)
    assert ledger.remaining("payroll") == 0


def test_a_complete_backup_goes_on_with_its_witness(ledger: Ledger, tmp_path: Path) -> None:
    charge(ledger)
    backup(ledger, tmp_path / "copy")
    worker.close_all()
    shutil.rmtree(ledger.path.parent)
    ledger.path.parent.mkdir(mode=0o700)
    assert restore(tmp_path / "copy", ledger) is False
    charge(ledger)
    assert ledger.remaining("payroll") == 1


def test_a_witness_that_lags_behind_is_moved_on(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a process dies after its commit."""

    def dies(*_: object) -> bool:
        raise BudgetError("killed")

    with monkeypatch.context() as patched:
        patched.setattr("dampen.ledger.storage.head_file._File.advance", dies)
        patched.setattr("dampen.ledger.storage.head_file._AppendedFile.advance", dies)
        patched.setattr("dampen.ledger.storage.postgres.PostgresWitness.advance", dies)
        with pytest.raises(BudgetError, match="killed"):
            charge(ledger)
    assert ledger.remaining("payroll") == 2
    charge(ledger)
    assert ledger.remaining("payroll") == 1


def test_copies_that_charge_at_the_same_time(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second to move the witness finds it elsewhere, before it looks at data."""
    copy = copied(ledger, "copy")
    check = worker._check_witness

    def late(*arguments: Any) -> None:
        check(*arguments)
        monkeypatch.setattr(worker, "_check_witness", check)
        charge(ledger)

    monkeypatch.setattr(worker, "_check_witness", late)
    with pytest.raises(BudgetError, match="moved by another copy"):
        charge(copy, "0.5")
    charge(ledger)
    with pytest.raises(BudgetError, match="a copy, and another copy was charged"):
        charge(copy)


def charged_in_a_child(ledger: Ledger, times: int) -> int:
    for _ in range(times):
        charge(ledger, "0.01")
        assert ledger.spent("payroll") > 0
    return times


def test_processes_that_share_a_ledger_share_its_witness(ledger: Ledger) -> None:
    with get_context("fork").Pool(6) as pool:
        assert sum(pool.starmap(charged_in_a_child, [(ledger, 10)] * 6, chunksize=1)) == 60
    assert ledger.spent("payroll") == Fraction(3, 5)


def test_a_checkpoint_remembers_the_witness(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dampen.ledger.state.CHECKPOINT_EVERY", 5)
    for _ in range(10):
        charge(ledger, "0.1")
    copy = copied(ledger, "copy")
    assert copy.witness == ledger.witness
    charge(copy)
    with pytest.raises(BudgetError, match="another copy was charged"):
        charge(ledger)


def test_a_lost_witness_stops_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "place" / "ledger")
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    ledger.set_witness(tmp_path / "witness")
    charge(ledger)
    (tmp_path / "witness").unlink()
    with pytest.raises(BudgetError, match="has no head, or is gone"):
        charge(ledger)
    assert restore(ledger.path, ledger) is True
    ledger["payroll"].thaw(spent="0.5")
    charge(ledger)
    assert ledger.remaining("payroll") == Fraction(1, 2)


def test_a_place_for_a_witness(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path / name / "ledger") for name in "ab"]
    for ledger in ledgers:
        ledger.create("payroll", epsilon=3, neighbours=ONE)
    assert ledgers[0].witness == ""
    ledgers[0].set_witness(tmp_path / "witness")
    with pytest.raises(BudgetError, match="belongs to another ledger"):
        ledgers[1].set_witness(tmp_path / "witness")
    with pytest.raises(BudgetError, match=r"witness .* cannot be used"):
        ledgers[1].set_witness(tmp_path / "none" / "witness")
    with pytest.raises(ParameterError, match="without a password") as caught:
        ledgers[1].set_witness("postgresql://ana:sesame@nowhere.invalid/books")
    assert "sesame" not in str(caught.value)
    ledgers[0].set_witness(tmp_path / "moved")
    charge(ledgers[0])
    charge(ledgers[1])
