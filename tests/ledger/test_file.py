"""A ledger in a file: its place, its permissions, its handles, and files that are none."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import warnings
from fractions import Fraction
from pathlib import Path

import pytest

from dampen.errors import BudgetError
from dampen.ledger import ExposedLedgerWarning, Ledger, default_place, storage, worker

ONE = "replace-one"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "new" / "ledger.sqlite3")
    ledger.create("payroll", epsilon="3", neighbours=ONE)
    return ledger


def charge(ledger: Ledger, epsilon: object = 1, **note: str) -> str:
    return ledger.charge("payroll", epsilon=epsilon, neighbours=ONE, **note)  # type: ignore[arg-type]


def test_rows_cannot_be_changed(ledger: Ledger) -> None:
    charge(ledger)
    connection = sqlite3.connect(ledger.path)
    for statement in (
        "UPDATE entry SET content = '{}'",
        "DELETE FROM entry",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()
    assert ledger.remaining("payroll") == 2


@pytest.mark.parametrize("content", [b"name,salary\n" * 500, b"\x00\xff" * 3000, b"x", b""])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "salaries.csv"
    path.write_bytes(content)
    with pytest.raises(BudgetError, match="not a ledger"):
        charge(Ledger(path))
    if content:
        with pytest.raises(BudgetError, match="not a ledger"):
            Ledger(path).create("b", epsilon=1, neighbours=ONE)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["salaries.csv"]


def test_a_database_of_another_program_stays_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(path).create("b", epsilon=1, neighbours=ONE)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(ledger: Ledger) -> None:
    worker.close_all()
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(BudgetError, match=r"another version of dampen \(format 9\)"):
        ledger.spent("payroll")


def test_directories_and_impossible_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "ledger"):
        with pytest.raises(BudgetError, match=r"directory|Cannot create"):
            Ledger(path).create("b", epsilon=1, neighbours=ONE)


def test_impossible_names(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / ("x" * 5000))
    with pytest.raises(BudgetError, match="File name too long"):
        ledger.create("b", epsilon=1, neighbours=ONE)
    with pytest.raises(BudgetError, match="File name too long"):
        ledger.spent("b")


def test_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    ledger = Ledger(
        os.fsencode(tmp_path).decode() + b"/caf\xe9%20?.db".decode("utf-8", "surrogateescape")
    )
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    charge(ledger)
    worker.close_all()
    assert ledger.spent("payroll") == 1
    worker.close_all()
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"caf\xe9%20?.db", b"caf\xe9%20?.db-head"]


def test_the_place_is_fixed_when_a_ledger_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "a", "b":
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    ledger = Ledger("relative")
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    monkeypatch.chdir(tmp_path / "b")
    charge(ledger, 3)
    with pytest.raises(BudgetError, match="no ledger"):
        Ledger("relative").spent("payroll")
    (tmp_path / "link").symlink_to(tmp_path / "a" / "relative")
    assert Ledger(tmp_path / "link").spent("payroll") == 3


def test_only_the_owner_may_read_or_write(ledger: Ledger) -> None:
    charge(ledger)
    place = ledger.path.parent
    assert place.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in place.iterdir()}
    assert len(modes) == 4
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("file", "directory", "wrong"),
    [(0o660, 0o700, "file"), (0o602, 0o700, "file"), (0o600, 0o770, "directory")],
)
def test_a_ledger_that_others_may_write_warns(
    ledger: Ledger, file: int, directory: int, wrong: str
) -> None:
    worker.close_all()
    ledger.path.chmod(file)
    ledger.path.parent.chmod(directory)
    with pytest.warns(ExposedLedgerWarning, match=f"Other users may write the {wrong}"):
        charge(ledger)
    charge(ledger)  # once is enough
    worker.close_all()
    ledger.path.chmod(0o600)
    ledger.path.parent.chmod(0o1777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        charge(ledger)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_failed_charges_leak_no_descriptors(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no ledger" * 1000)
    charge(ledger, 3)
    before = descriptors()
    for _ in range(30):
        for failing in (ledger, Ledger(tmp_path / "text"), Ledger(tmp_path / "none")):
            with pytest.raises(BudgetError):
                charge(failing)
    assert descriptors() == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_few_ledgers_are_open_at_a_time(tmp_path: Path) -> None:
    before = descriptors()
    for i in range(3 * worker.OPEN_WORKERS):
        ledger = Ledger(tmp_path / f"ledger{i}")
        ledger.create("payroll", epsilon=1, neighbours=ONE)
        charge(ledger)
    assert descriptors() - before <= 4 * worker.OPEN_WORKERS


def test_a_held_ledger_ends_in_one_line(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.close_all()
    monkeypatch.setattr(storage, "PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BudgetError, match="another process has held it"):
        charge(ledger)
    assert ledger.spent("payroll") == 0  # readers never wait for a writer
    other.execute("ROLLBACK")
    other.close()
    charge(ledger)


def test_a_file_replaced_while_open_is_noticed(ledger: Ledger, tmp_path: Path) -> None:
    charge(ledger, "0.5")
    ledger.path.rename(tmp_path / "elsewhere")
    with pytest.raises(BudgetError, match="is gone, but its head file is still there"):
        charge(ledger, "0.5")
    (tmp_path / "elsewhere").rename(ledger.path)
    charge(ledger, "0.5")
    assert ledger.spent("payroll") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_shares_no_connection(ledger: Ledger) -> None:
    charge(ledger, "0.5")
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            charge(ledger, "0.001")

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork: the point
                child = os.fork()
            if child == 0:
                code = 1
                try:
                    charge(ledger, "0.1")
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        busy.join()
    epsilons = [str(row.epsilon) for row in ledger.history("payroll")]
    assert epsilons.count("1/10") == 5
    assert ledger.spent("payroll") == 1 + Fraction(epsilons.count("1/1000"), 1000)


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAMPEN_LEDGER", str(tmp_path / "mine"))
    assert default_place() == str(tmp_path / "mine")
    monkeypatch.delenv("DAMPEN_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_place() == str(tmp_path / "dampen" / "ledger.sqlite3")


ELSEWHERE = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
place = sys.argv[1]
for act in (lambda: os.listdir(place), lambda: open(place + "/ledger", "ab"),
            lambda: open(place + "/ledger")):
    try:
        act()
    except PermissionError:
        continue
    sys.exit(1)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two accounts")
def test_another_account_neither_reads_nor_writes() -> None:
    """On SQLite the account is the only power there is."""
    with tempfile.TemporaryDirectory(dir="/tmp") as shared:
        os.chmod(shared, 0o777)
        Ledger(Path(shared) / "own" / "ledger").create("b", epsilon=1, neighbours=ONE)
        command = [sys.executable, "-I", "-S", "-c", ELSEWHERE, f"{shared}/own"]
        assert subprocess.run(command, check=False).returncode == 0
