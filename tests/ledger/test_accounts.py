"""The ledger in one process: exact sums, refusals that change nothing, rows that stay."""

import pickle
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Ledger, default_path, storage
from dampen.selection import Neighbours


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "new" / "ledger.sqlite3")
    ledger.create("payroll", epsilon="3", neighbours="replace-one")
    return ledger


def test_a_charge_records_everything(ledger: Ledger) -> None:
    ledger.charge(
        "payroll",
        "0.5",
        query="percentile p=95",
        mechanism="ld",
        neighbours=Neighbours.REPLACE_ONE,
        analyst="audit",
        dataset="salaries",
    )
    (row,) = ledger.history("payroll")
    assert (row.epsilon, row.rho) == (Fraction(1, 2), Fraction(1, 8))
    assert (row.query, row.mechanism, row.analyst) == ("percentile p=95", "ld", "audit")
    assert (row.dataset, row.neighbours) == ("salaries", Neighbours.REPLACE_ONE)
    assert row.time.utcoffset() is not None
    assert row.version
    assert ledger.remaining("payroll") == Fraction(5, 2)


def test_three_tenths_are_three_tenths(ledger: Ledger) -> None:
    ledger.create("exact", epsilon="0.3", neighbours="replace-one")
    for epsilon in (0.1, "0.1", Fraction(1, 10)):
        ledger.charge("exact", epsilon)
    assert ledger.spent("exact") == ledger.total("exact")
    with pytest.raises(BudgetError, match=r"0 of 0\.3 is left"):
        ledger.charge("exact", "1e-30")


@settings(max_examples=15, deadline=None)
@given(st.lists(st.fractions(Fraction(1, 1000), 2), min_size=1, max_size=8))
def test_sums_are_exact(tmp_path_factory: pytest.TempPathFactory, costs: list[Fraction]) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l")
    ledger.create("b", epsilon=sum(costs), neighbours="add-remove-row")
    for cost in costs:
        ledger.charge("b", cost)
    assert ledger.remaining("b") == 0
    assert [row.epsilon for row in ledger.history("b")] == costs


def test_a_refusal_changes_nothing(ledger: Ledger) -> None:
    ledger.charge("payroll", "2.9")
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetError, match=r"cannot pay epsilon 0\.2: 0\.1 of 3 is left"):
        ledger.charge("payroll", "0.2")
    assert ledger.path.read_bytes() == before
    ledger.charge("payroll", "0.1")


def test_one_budget_one_relation(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match=r"for replace-one neighbours.*add-remove-edge"):
        ledger.charge("payroll", 1, neighbours="add-remove-edge")
    assert ledger.spent("payroll") == 0


def test_unknown_budget_suggests_a_known_one(ledger: Ledger) -> None:
    for use in (ledger.spent, ledger.history, ledger.__getitem__, lambda n: ledger.charge(n, 1)):
        with pytest.raises(BudgetError, match=r"no budget 'payrol'. Did you mean 'payroll'"):
            use("payrol")


def test_a_name_is_used_once(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="already has a budget 'payroll'"):
        ledger.create("payroll", epsilon=100, neighbours="replace-one")
    assert ledger.total("payroll") == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": " "}, "a name"),
        ({"name": "a\nb"}, "a name"),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"epsilon": "abc"}, "positive number"),
        ({"neighbours": "replace"}, "Did you mean 'replace-one'"),
    ],
)
def test_bad_parameters_create_no_file(tmp_path: Path, change: dict, message: str) -> None:
    wanted = {"name": "b", "epsilon": 1, "neighbours": "replace-one"} | change
    ledger = Ledger(tmp_path / "l")
    with pytest.raises(ParameterError, match=message):
        ledger.create(wanted.pop("name"), **wanted)
    assert not ledger.path.exists()


@pytest.mark.parametrize("epsilon", [0, -1, "abc", float("nan"), True])
def test_bad_epsilon_is_not_charged(ledger: Ledger, epsilon: object) -> None:
    with pytest.raises(ParameterError):
        ledger.charge("payroll", epsilon)  # type: ignore[arg-type]
    assert ledger.history("payroll") == []


def test_rows_cannot_be_changed(ledger: Ledger) -> None:
    ledger.charge("payroll", 1)
    connection = sqlite3.connect(ledger.path)
    for statement in (
        "UPDATE charge SET epsilon = '0'",
        "DELETE FROM charge",
        "INSERT OR REPLACE INTO charge SELECT * FROM charge",
        "UPDATE budget SET epsilon = '100'",
        "DELETE FROM budget",
        "INSERT OR REPLACE INTO budget SELECT 9, name, '9', neighbours, time, version FROM budget",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()
    assert ledger.remaining("payroll") == 2


def test_an_account_is_a_budget_for_releases(ledger: Ledger) -> None:
    account = pickle.loads(pickle.dumps(ledger["payroll"].by(analyst="audit", dataset="s.csv")))
    account.charge(Fraction(1, 4), query="q", mechanism="pf", neighbours=Neighbours.REPLACE_ONE)
    assert (account.spent, account.remaining) == (Fraction(1, 4), Fraction(11, 4))
    assert (account.total, account.neighbours) == (3, Neighbours.REPLACE_ONE)
    assert [(row.analyst, row.dataset) for row in account.history] == [("audit", "s.csv")]
    assert account.by(analyst="other").dataset == "s.csv"
    assert list(ledger) == ["payroll"]


def test_no_file_is_made_by_a_charge(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none")
    for use in (ledger.spent, lambda n: ledger.charge(n, 1), lambda _: list(ledger)):
        with pytest.raises(BudgetError, match=r"There is no ledger.*Create a budget first"):
            use("b")
    assert not ledger.path.exists()


@pytest.mark.parametrize("content", [b"name,salary\n" * 500, b"\x00\xff" * 3000, b"x", b""])
def test_a_file_that_is_no_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "salaries.csv"
    path.write_bytes(content)
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(path).charge("b", 1)
    assert path.read_bytes() == content


def test_a_database_of_another_program_stays_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(path).create("b", epsilon=1, neighbours="replace-one")
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(BudgetError, match=r"another version of dampen \(format 2\)"):
        ledger.spent("payroll")


def test_directories_and_impossible_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "ledger"):
        with pytest.raises(BudgetError, match=r"directory|Cannot create"):
            Ledger(path).create("b", epsilon=1, neighbours="replace-one")


def test_impossible_names(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / ("x" * 5000))
    with pytest.raises(BudgetError, match="File name too long"):
        ledger.create("b", epsilon=1, neighbours="replace-one")
    with pytest.raises(BudgetError, match="File name too long"):
        ledger.spent("b")


def test_damage_is_one_line(ledger: Ledger) -> None:
    for _ in range(40):
        ledger.charge("payroll", "0.001", query="q" * 500)
    content = bytearray(ledger.path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    ledger.path.write_bytes(content)
    with pytest.raises(BudgetError, match="damaged") as caught:
        ledger.spent("payroll")
    assert "\n" not in str(caught.value)


def test_a_full_disk_refuses_the_charge(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sqlite3.connect

    def nearly_full(*args: object, **options: object) -> sqlite3.Connection:
        connection = whole(*args, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")  # as full as the file is now
        return connection

    monkeypatch.setattr(storage.sqlite3, "connect", nearly_full)
    with pytest.raises(BudgetError, match=r"the disk is full\. Nothing was charged"):
        ledger.charge("payroll", 1, query="q" * 100_000)
    monkeypatch.undo()
    assert ledger.history("payroll") == []
    ledger.charge("payroll", 3)


def test_a_held_ledger_ends_in_one_line(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BudgetError, match="another process has held it"):
        ledger.charge("payroll", 1)
    assert ledger.spent("payroll") == 0  # readers never wait for a writer
    other.execute("ROLLBACK")
    other.close()
    ledger.charge("payroll", 1)


def test_default_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAMPEN_LEDGER", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine"
    monkeypatch.delenv("DAMPEN_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path().name == "ledger.sqlite3"
