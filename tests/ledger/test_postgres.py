"""A ledger on a real PostgreSQL: many processes, edits, a server that stops, roles, migration."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Ledger, Status, backup, restore, verify, worker
from dampen.ledger.log import Draft, Kind, Row, sealed
from dampen.ledger.storage import sqlite_errors

psycopg = pytest.importorskip("psycopg")
ONE = "replace-one"


@pytest.fixture
def place(postgresql: Any) -> str:
    return postgresql.new_schema()


@pytest.fixture
def ledger(place: str) -> Ledger:
    ledger = Ledger(place)
    ledger.create("b", epsilon=3, neighbours=ONE)
    return ledger


def charge(ledger: Ledger, epsilon: object = "0.001") -> str:
    return ledger.charge("b", epsilon=epsilon, neighbours=ONE)  # type: ignore[arg-type]


@contextmanager
def connected(ledger: Ledger) -> Iterator[Any]:
    with psycopg.connect(ledger.place, autocommit=True) as connection:
        yield connection


def granted_in_a_child(ledger: Ledger, times: int) -> int:
    granted = 0
    for _ in range(times):
        with suppress(BudgetError):
            charge(ledger, "0.01")
            granted += 1
    return granted


def test_sixteen_processes_never_overspend(ledger: Ledger) -> None:
    with get_context("fork").Pool(16) as pool:
        granted = pool.starmap(granted_in_a_child, [(ledger, 25)] * 16, chunksize=1)
    assert sum(granted) == 300
    assert ledger.remaining("b") == 0
    assert 1 + 300 < verify(ledger).seq < 1 + 300 + 30  # repeated refusals are counted


def created_in_a_child(place: str) -> bool:
    try:
        Ledger(place).create("b", epsilon=1, neighbours=ONE)
    except BudgetError as error:
        if "already has a budget" not in str(error):
            raise
        return False
    return True


def test_processes_that_create_together(place: str) -> None:
    with get_context("fork").Pool(4) as pool:
        assert sum(pool.map(created_in_a_child, [place] * 4)) == 1


CHILD = """
import os, sys
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while True:
    charge = ledger.charge("b", epsilon="0.001", neighbours="replace-one")
    os.write(log, (charge + "\\n").encode())
    os.write(1, b"!")
"""


def kill_at_random_moments(ledger: Ledger, log: Path, times: int) -> None:
    for i in range(times):
        command = [sys.executable, "-c", CHILD, ledger.place, str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.read(1) == b"!"
            time.sleep(0.007 * (i % 10))
            child.send_signal(signal.SIGKILL)
    released = log.read_text().splitlines()
    charges = {row.id for row in ledger.history("b")}
    assert released
    assert set(released) <= charges
    assert len(charges) - len(released) <= times
    assert ledger.spent("b") == Fraction(len(charges), 1000)
    verify(ledger, released[-1])


def test_killed_releases_have_paid(ledger: Ledger, tmp_path: Path) -> None:
    kill_at_random_moments(ledger, tmp_path / "released", 2)


@pytest.mark.slow
def test_fifty_killed_releases_have_paid(ledger: Ledger, tmp_path: Path) -> None:
    ledger["b"].raise_to(10**6)
    kill_at_random_moments(ledger, tmp_path / "released", 50)


def test_rows_cannot_be_changed(ledger: Ledger) -> None:
    charge(ledger)
    with connected(ledger) as connection:
        for statement in (
            "UPDATE dampen_entry SET content = '{}'",
            "DELETE FROM dampen_entry",
            "TRUNCATE dampen_entry",
            "DELETE FROM dampen_head",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                connection.execute(statement)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE dampen_entry SET content = replace(content, '0.001', '0.0001') WHERE seq = 3",
        "DELETE FROM dampen_entry WHERE seq = 3",
        "DELETE FROM dampen_entry WHERE seq = 5",
        "DELETE FROM dampen_head",
        "UPDATE dampen_head SET seq = 4",
    ],
)
def test_edited_entries_pay_nothing(ledger: Ledger, edit: str) -> None:
    for _ in range(4):
        charge(ledger)
    worker.close_all()
    with connected(ledger) as connection:
        for table in ("dampen_entry", "dampen_head"):
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        connection.execute(edit)
    for use in (charge, lambda ledger: ledger.spent("b")):
        with pytest.raises(BudgetError, match="damaged"):
            use(ledger)


def test_a_server_restored_to_an_earlier_time(ledger: Ledger) -> None:
    """This process remembers; a new one needs a head that was kept elsewhere."""
    charge(ledger)
    kept = verify(ledger)
    with connected(ledger) as connection:
        connection.execute("ALTER TABLE dampen_entry DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM dampen_entry WHERE seq = 2")
        connection.execute(
            "UPDATE dampen_head SET (seq, digest) = (SELECT seq, digest FROM dampen_entry)"
        )
    with pytest.raises(BudgetError, match=f"went backwards: entry {kept.id}"):
        charge(ledger)
    worker.close_all()
    with pytest.raises(BudgetError, match="an older copy was put back"):
        verify(ledger, str(kept))


def test_a_connection_that_broke_while_idle_is_opened_again(ledger: Ledger) -> None:
    charge(ledger)
    with connected(ledger) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    charge(ledger)
    assert ledger.spent("b") == Fraction(2, 1000)


def test_a_server_that_stops_and_comes_back(ledger: Ledger, postgresql: Any) -> None:
    charge(ledger)
    postgresql.stop()
    try:
        with pytest.raises(BudgetError, match=r"server does not answer\. Nothing was charged"):
            charge(ledger)
    finally:
        postgresql.start()
    charge(ledger)
    assert len(ledger.history("b")) == 2


def test_a_server_that_does_not_synchronise_is_refused(ledger: Ledger, postgresql: Any) -> None:
    postgresql.stop()
    postgresql.start("fsync=off")
    try:
        with pytest.raises(BudgetError, match="fsync = off"):
            charge(ledger)
    finally:
        postgresql.stop()
        postgresql.start()
    charge(ledger)


def test_a_role_that_may_only_read(ledger: Ledger) -> None:
    charge(ledger)
    schema = ledger.place.rpartition("%3D")[2]
    with connected(ledger) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        connection.execute("GRANT SELECT ON dampen_entry, dampen_head TO reader")
    reader = Ledger(ledger.place.replace("dampen@", "reader@"))
    assert reader.spent("b") == Fraction(1, 1000)
    with pytest.raises(BudgetError, match=r"it is read-only\. Nothing was charged"):
        charge(reader)
    with connected(ledger) as connection:
        connection.execute("GRANT INSERT ON dampen_entry TO reader")
        connection.execute("GRANT UPDATE ON dampen_head TO reader")
    charge(reader)
    assert ledger.spent("b") == Fraction(2, 1000)
    with connected(ledger) as connection:
        connection.execute("DROP OWNED BY reader")


@pytest.fixture
def analyst(ledger: Ledger) -> Iterator[Ledger]:
    """The ledger as the documented role of analysts has it."""
    schema = ledger.place.rpartition("%3D")[2]
    with connected(ledger) as connection:
        connection.execute("DROP ROLE IF EXISTS analyst")
        connection.execute("CREATE ROLE analyst LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO analyst")
        connection.execute("GRANT SELECT ON dampen_entry, dampen_head TO analyst")
        connection.execute("GRANT EXECUTE ON FUNCTION dampen_lock, dampen_append TO analyst")
    yield Ledger(ledger.place.replace("dampen@", "analyst@"))
    worker.close_all()
    with connected(ledger) as connection:
        connection.execute("DROP OWNED BY analyst")


def test_an_analyst_charges_keeps_and_is_refused(analyst: Ledger, ledger: Ledger) -> None:
    paid = charge(analyst, 1)
    analyst.keep(paid, '{"answer": "é"}')
    assert ledger.answer(paid) == '{"answer": "é"}'
    with pytest.raises(BudgetError, match="2 of 3 is left"):
        charge(analyst, "2.5")
    assert ledger.entries()[-1].kind == "refusal"
    charge(ledger, 1)
    charge(analyst, 1)
    assert ledger.remaining("b") == 0
    verify(ledger)


CURATOR_ACTS: dict[str, Any] = {
    "raise": lambda ledger: ledger["b"].raise_to(1000),
    "cap": lambda ledger: ledger["b"].cap(1000, analyst="eve"),
    "freeze": lambda ledger: ledger["b"].freeze(),
    "thaw": lambda ledger: ledger["b"].thaw(),
    "close": lambda ledger: ledger["b"].close(),
    "create": lambda ledger: ledger.create("own", epsilon=1, neighbours=ONE),
}

STATEMENTS = [
    "INSERT INTO dampen_entry VALUES (99, 'raise', 'b', '{}', 'x')",
    "UPDATE dampen_entry SET content = ''",
    "DELETE FROM dampen_entry",
    "TRUNCATE dampen_entry",
    "DROP TABLE dampen_entry",
    "ALTER TABLE dampen_entry DISABLE TRIGGER ALL",
    "CREATE TRIGGER t BEFORE INSERT ON dampen_entry EXECUTE FUNCTION dampen_append_only()",
    "DROP INDEX dampen_entry_answer",
    "UPDATE dampen_head SET seq = 0",
    "DELETE FROM dampen_head",
    "INSERT INTO dampen_head VALUES (2, 1, 'x')",
    "SELECT * FROM dampen_head FOR UPDATE",
    "SELECT * FROM dampen_entry FOR UPDATE",
    "LOCK TABLE dampen_head IN EXCLUSIVE MODE",
    "LOCK TABLE dampen_entry IN SHARE MODE",
    "DROP FUNCTION dampen_lock",
    "CREATE OR REPLACE FUNCTION dampen_lock() RETURNS void LANGUAGE sql AS ''",
    "ALTER FUNCTION dampen_lock() SECURITY INVOKER",
    "GRANT INSERT ON dampen_entry TO analyst",
    "SET ROLE dampen",
]

CHARGE = {
    "epsilon": "1", "rho": "0.5", "neighbours": ONE, "query": "", "mechanism": "", "analyst": "",
    "dataset": "", "leaks": [], "time": "2026-11-18T00:00:00+00:00", "version": "0.3.0",
}  # fmt: skip

FORGED: dict[str, tuple[str, str, Any]] = {
    "raised": ("raise", "b", {"epsilon": "1000", "delta": "", "rho": ""}),
    "checkpoint": ("checkpoint", "", {"budgets": {}, "witness": "", "origin": ""}),
    "given back": ("charge", "b", CHARGE | {"epsilon": "-1"}),
    "rho given back": ("charge", "b", CHARGE | {"rho": "-1"}),
    "nothing": ("charge", "b", CHARGE | {"epsilon": "0"}),
    "by zero": ("charge", "b", CHARGE | {"epsilon": "1/0"}),
    "no text": ("charge", "b", CHARGE | {"analyst": 7}),
    "no budget": ("charge", "none", CHARGE),
    "no fields": ("refusal", "b", {}),
    "answer to nothing": ("answer", "", {"charge": "1-" + "0" * 16, "answer": "{}"}),
}


def test_the_documented_analyst_can_do_nothing_but_charge(analyst: Ledger, ledger: Ledger) -> None:
    charge(ledger, 1)
    before = verify(ledger)
    for act in CURATOR_ACTS.values():
        with pytest.raises(BudgetError, match="may only charge"):
            act(analyst)
    for statement in STATEMENTS:
        if statement.startswith("GRANT"):  # the server warns, and grants nothing
            with connected(analyst) as connection:
                connection.execute(statement)
            continue
        with connected(analyst) as connection:
            try:
                connection.execute(statement)
            except psycopg.Error:
                continue
        pytest.fail(f"an analyst could: {statement}")
    for kind, budget, details in FORGED.values():
        row = sealed(Draft(Kind(kind), budget, details), before)
        append(analyst, row)
    good = sealed(Draft(Kind.CHARGE, "b", CHARGE), before)
    append(analyst, good._replace(digest="0" * 64))
    append(analyst, good._replace(seq=good.seq + 1))
    assert verify(ledger) == before
    assert len(CURATOR_ACTS) + len(STATEMENTS) + len(FORGED) + 2 >= 30
    charge(analyst, 1)
    assert ledger.remaining("b") == 1


def append(ledger: Ledger, row: Row) -> None:
    columns = [[value] for value in row]
    with connected(ledger) as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT dampen_append(%s::bigint[], %s, %s, %s, %s)", columns)


def test_a_held_ledger_ends_in_one_line(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(ledger)
    monkeypatch.setattr(sqlite_errors, "PATIENCE_SECONDS", 0.2)
    with psycopg.connect(ledger.place) as other:
        other.execute("SELECT * FROM dampen_head FOR UPDATE")
        with pytest.raises(BudgetError, match="another process has held it"):
            charge(ledger)
        assert ledger.spent("b") == Fraction(1, 1000)
    charge(ledger)


def test_from_a_file_to_a_server_and_back(place: str, tmp_path: Path) -> None:
    file = Ledger(tmp_path / "file" / "ledger")
    file.create("b", epsilon=3, neighbours=ONE)
    ids = [charge(file, 1)]
    head = backup(file, tmp_path / "copy")
    moved = Ledger(place)
    assert restore(tmp_path / "copy", moved, head=str(head)) is False
    ids.append(charge(moved, 1))
    verify(moved, str(head))
    last = backup(moved, tmp_path / "second")
    back = Ledger(tmp_path / "back" / "ledger")
    back.path.parent.mkdir(mode=0o700)
    assert restore(tmp_path / "second", back, head=str(last)) is False
    assert [row.id for row in back.history("b")] == ids
    assert back.remaining("b") == 1


def test_a_damaged_server_is_restored_from_a_backup(ledger: Ledger, tmp_path: Path) -> None:
    charge(ledger, 1)
    backup(ledger, tmp_path / "copy")
    with pytest.raises(BudgetError, match="is whole"):
        restore(tmp_path / "copy", ledger)
    with connected(ledger) as connection:
        connection.execute("ALTER TABLE dampen_entry DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM dampen_entry")
    worker.close_all()
    assert restore(tmp_path / "copy", ledger) is True
    assert ledger["b"].status is Status.RESTORED
    ledger["b"].thaw(spent="0.5")
    assert ledger.remaining("b") == Fraction(3, 2)
    with connected(ledger) as connection:
        kept = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'dampen_entry_before_%'"
        ).fetchone()
    assert kept[0] >= 1


def test_no_password_is_shown() -> None:
    ledger = Ledger("postgresql://ana:sesame@nowhere.invalid/books")
    assert str(ledger) == "postgresql://nowhere.invalid/books"
    assert "sesame" not in repr(ledger)
    with pytest.raises(BudgetError) as caught:
        ledger.spent("b")
    assert "sesame" not in str(caught.value)
    with pytest.raises(ParameterError, match="Expected a ledger in a file") as wrong:
        _ = ledger.path
    assert "sesame" not in str(wrong.value)


def test_the_command_line_on_a_server(
    place: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dampen.cli.main import main

    def dampen(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capfd.readouterr()
        assert (ended.value.code or 0, err) == (0, "")
        return out

    secret = place.replace("dampen@", "dampen:sesame@")
    shown = dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row",
                   "--ledger", secret)  # fmt: skip
    assert "postgresql://" in shown
    table = tmp_path / "visits.csv"
    table.write_text("diagnosis\n" + "flu\n" * 9)
    monkeypatch.setenv("DAMPEN_LEDGER", secret)
    shown += dampen("most-frequent", str(table), "--value", "diagnosis", "--categories",
                    "flu,cold", "--epsilon", "0.5", "--budget", "b")  # fmt: skip
    shown += dampen("budget", "verify") + dampen("budget", "show", "b")
    assert "0.5 of 1 left" in shown
    assert "sesame" not in shown
