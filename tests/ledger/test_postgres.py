"""A ledger on a real PostgreSQL: many processes, edits, a server that stops, roles, migration."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import ANY, Ledger, Loss, Status, backup, restore, storage, verify, worker
from dampen.ledger.log import Draft, Head, Kind, Row, digest_of, sealed, stamp

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


def documented() -> list[str]:
    """The blocks of SQL in docs/postgres.md: for the curator's role, and for those of analysts."""
    text = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text("utf-8")
    return [block.replace("\n  ", "\n") for block in re.findall(r"```sql\n(.*?)```", text, re.S)]


@dataclass(frozen=True)
class Ledgers:
    """One ledger as its curator, and as two analysts have it."""

    curator: Ledger
    ana: Ledger
    eve: Ledger


@pytest.fixture
def roles(postgresql: Any) -> Iterator[Ledgers]:
    """Exactly the documented roles; the curator is no superuser."""
    place = postgresql.new_schema()
    schema = place.rpartition("%3D")[2]
    powers, analysts = documented()
    with psycopg.connect(place, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS curator, analyst, ana, eve")
        admin.execute("CREATE ROLE curator LOGIN")
        admin.execute(f"GRANT ALL ON SCHEMA {schema} TO curator")
        admin.execute(powers)
        curator = Ledger(place.replace("dampen@", "curator@"))
        curator.create("b", epsilon=3, neighbours=ONE)
        admin.execute(analysts)
        for line in analysts.splitlines():
            if re.search(r"ROLE ana\b", line):
                admin.execute(line.replace("ROLE ana ", "ROLE eve "))
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO analyst")
        yield Ledgers(
            curator, *(Ledger(place.replace("dampen@", f"{who}@")) for who in ("ana", "eve"))
        )
        worker.close_all()
        admin.execute(f"DROP SCHEMA {schema} CASCADE")
        admin.execute("DROP OWNED BY curator, analyst, ana, eve")
        admin.execute("DROP ROLE curator, analyst, ana, eve")


def test_analysts_charge_keep_and_are_refused(roles: Ledgers) -> None:
    paid = charge(roles.ana, 1)
    roles.ana.keep(paid, '{"answer": "é"}')
    assert roles.curator.answer(paid) == roles.ana.answer(paid) == '{"answer": "é"}'
    with pytest.raises(BudgetError, match="2 of 3 is left"):
        charge(roles.eve, "2.5")
    assert roles.curator.entries()[-1].kind == "refusal"
    charge(roles.curator, 1)
    charge(roles.eve, "1/3")
    charge(roles.ana, "2/3")
    assert roles.eve.remaining("b") == roles.curator.remaining("b") == 0
    assert verify(roles.eve) == verify(roles.ana) == verify(roles.curator)


def test_budgets_with_a_delta_pay_analysts_as_they_pay_curators(roles: Ledgers) -> None:
    roles.curator.create("d", epsilon="2.5", delta="1e-6", neighbours=ONE)
    for who in (roles.ana, roles.eve, roles.curator) * 20:
        who.charge("d", epsilon="0.1", rho="0.00125", neighbours=ONE)
    with pytest.raises(BudgetError, match="cannot pay"):
        roles.ana.charge("d", epsilon=3, neighbours=ONE)
    assert len(roles.curator.history("d")) == 60


def test_analysts_state_what_their_charges_lose(roles: Ledgers) -> None:
    roles.curator.create("d", epsilon="2.5", delta="1e-6", neighbours=ONE)
    said = [Loss(Fraction("0.1"), ANY)]
    roles.ana.charge("d", epsilon="0.1", losses=said, neighbours=ONE)
    assert roles.curator.history("d")[0].losses == tuple(said)
    assert roles.eve.composed("d") <= Fraction("0.1")


def test_an_answer_is_for_its_owner_and_the_curator(roles: Ledgers, tmp_path: Path) -> None:
    paid = charge(roles.ana, 1)
    roles.ana.keep(paid, '{"answer": "SECRET"}')
    own = charge(roles.eve, 1)
    roles.eve.keep(own, '{"answer": "own"}')
    assert roles.eve.answer(own) == '{"answer": "own"}'
    with pytest.raises(BudgetError, match="belongs to another role"):
        roles.eve.answer(paid)
    entries, head = roles.eve.entries_after()
    assert "SECRET" not in str(entries)
    assert head == verify(roles.eve)
    with pytest.raises(BudgetError, match="does not see all answers"):
        backup(roles.eve, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_digest_does_not_confirm_a_guessed_answer(roles: Ledgers) -> None:
    paid = charge(roles.ana, 1)
    roles.ana.keep(paid, "guessed")
    with connected(roles.eve) as connection:
        found = connection.execute("SELECT seq, digest FROM dampen_log ORDER BY seq").fetchall()
    before, last = found[-2:]
    guess = Draft(Kind.ANSWER, "", {"charge": paid, "answer": "guessed"})
    assert sealed(guess, Head(*before)).digest != last[1]


@contextmanager
def holding(ledger: Ledger, statement: str, parameters: list[Any]) -> Iterator[None]:
    """A session that keeps the ledger locked, with timeouts that it lifted itself."""
    connection = psycopg.connect(ledger.place)
    try:
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("SET statement_timeout = 0")
        connection.commit()
        connection.execute(statement, parameters)
        yield
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    finally:
        connection.close()


def test_a_session_that_keeps_the_ledger_locked_is_ended(
    roles: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A charge of others waits a few seconds, and nothing of the session is charged."""
    monkeypatch.setattr("dampen.ledger.storage.postgres.SECONDS_OF_LOCK", 0.5)
    (row,) = forged(Kind.CHARGE, "b", now(CHARGE), verify(roles.curator))
    columns = [[value] for value in row]
    append = "SELECT dampen_append(%s::bigint[], %s, %s, %s, %s)"
    with holding(roles.eve, append, columns):
        charge(roles.ana, 1)
    assert roles.curator.remaining("b") == 2
    # An advisory lock stops nobody.
    with psycopg.connect(roles.eve.place) as other:
        other.execute("SELECT pg_advisory_lock(x) FROM unnest(ARRAY[0, 1, 1684106608]) AS x")
        roles.curator.create("c", epsilon=1, neighbours=ONE)


def test_a_curator_is_not_evicted(roles: Ledgers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "PATIENCE_SECONDS", 6.0)
    monkeypatch.setattr("dampen.ledger.storage.postgres.SECONDS_OF_LOCK", 0.5)
    with psycopg.connect(roles.curator.place) as other:
        other.execute("SELECT * FROM dampen_head FOR UPDATE")
        with pytest.raises(BudgetError, match="another process has held it"):
            charge(roles.eve)
        other.execute("SELECT 1")


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
    "INSERT INTO dampen_log VALUES (99, 'raise', 'b', '{}', 'x')",
    "UPDATE dampen_entry SET content = ''",
    "UPDATE dampen_log SET budget = ''",
    "DELETE FROM dampen_entry",
    "DELETE FROM dampen_log",
    "TRUNCATE dampen_entry",
    "DROP TABLE dampen_entry",
    "ALTER TABLE dampen_entry DISABLE TRIGGER ALL",
    "CREATE TRIGGER t BEFORE INSERT ON dampen_entry EXECUTE FUNCTION dampen_append_only()",
    "DROP INDEX dampen_entry_answer",
    "UPDATE dampen_head SET seq = 0",
    "DELETE FROM dampen_head",
    "INSERT INTO dampen_head VALUES (2, 1, 'x')",
    "UPDATE dampen_budget SET epsilon = 1000",
    "SELECT * FROM dampen_budget",
    "DELETE FROM dampen_refused",
    "SELECT dampen_add_up('raise', 'b', '{\"epsilon\": \"1000\"}')",
    "SELECT dampen_pays('b', '{}')",
    "SELECT content FROM dampen_entry",
    "SELECT role FROM dampen_entry",
    "SELECT * FROM dampen_head FOR UPDATE",
    "SELECT * FROM dampen_head FOR SHARE",
    "SELECT * FROM dampen_entry FOR UPDATE",
    "SELECT * FROM dampen_log FOR UPDATE",
    "LOCK TABLE dampen_head IN EXCLUSIVE MODE",
    "LOCK TABLE dampen_entry IN SHARE MODE",
    "LOCK TABLE dampen_log IN ACCESS EXCLUSIVE MODE",
    "DROP VIEW dampen_log",
    "CREATE OR REPLACE VIEW dampen_log AS SELECT 1",
    "DROP FUNCTION dampen_lock",
    "CREATE OR REPLACE FUNCTION dampen_lock() RETURNS void LANGUAGE sql AS ''",
    "ALTER FUNCTION dampen_lock() SECURITY INVOKER",
    "CREATE FUNCTION sha256(text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$",
    "CREATE TABLE dampen_mine (a text)",
    "SET ROLE curator",
    "SET SESSION AUTHORIZATION ana",
    "ALTER ROLE eve CONNECTION LIMIT 100",
    "GRANT curator TO eve",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ana'",
]

CHARGE = {
    "epsilon": "1", "rho": "0.5", "neighbours": ONE, "query": "", "mechanism": "", "analyst": "",
    "dataset": "", "leaks": [], "time": "", "version": "0.3.0",
}  # fmt: skip

FORGED: dict[str, tuple[str, str, Any]] = {
    "raised": ("raise", "b", {"epsilon": "1000", "delta": "", "rho": ""}),
    "checkpoint": ("checkpoint", "", {"budgets": {}, "witness": "", "origin": ""}),
    "witness": ("witness", "", {"place": "/tmp/own"}),
    "given back": ("charge", "b", {"epsilon": "-1"}),
    "rho given back": ("charge", "b", {"rho": "-1"}),
    "nothing": ("charge", "b", {"epsilon": "0"}),
    "by zero": ("charge", "b", {"epsilon": "1/0"}),
    "no fraction": ("charge", "b", {"epsilon": "0.1/3"}),
    "more than there is": ("charge", "b", {"epsilon": "900"}),
    "more than is left": ("charge", "b", {"epsilon": "2.000000000000000000000000001"}),
    "no epsilon": ("charge", "b", {"epsilon": ""}),
    "a delta": ("charge", "b", {"delta": "0.1"}),
    "an unreadable delta": ("charge", "b", {"delta": "x"}),
    "a frozen budget": ("charge", "frozen", {"epsilon": "0.1"}),
    "too large": ("charge", "small", {"epsilon": "0.2"}),
    "no text": ("charge", "b", {"analyst": 7}),
    "losses that are no text": ("charge", "b", {"losses": ["0.1 in any steps"]}),
    "long losses": ("charge", "b", {"losses": "x" * 10**4}),
    "no member": ("charge", "b", {"analyst": None}),
    "another member": ("charge", "b", {"who": "curator"}),
    "deep": ("charge", "b", {"leaks": [[[["x"]]]]}),
    "no Unicode": ("charge", "b", {"query": "\ud800"}),
    "another time": ("charge", "b", {"time": "9999-12-31T00:00:00+00:00"}),
    "no time": ("charge", "b", {"time": "infinity"}),
    "no relation": ("charge", "b", {"neighbours": "none"}),
    "long": ("charge", "b", {"query": "x" * 10**5}),
    "a service's question": ("charge", "b", {"query": f"most-frequent #{'0f' * 16}"}),
    "no budget": ("charge", "none", {}),
    "endless repeats": ("refusal", "b", {"repeats": 10**12}),
}


def now(details: dict[str, Any]) -> dict[str, Any]:
    return details | {"time": details["time"] or stamp()["time"]}


def test_the_documented_analyst_can_do_nothing_but_charge(roles: Ledgers) -> None:
    curator = roles.curator
    for name, more in (("frozen", {}), ("small", {"largest": "0.1"})):
        curator.create(name, epsilon=3, neighbours=ONE, **more)
    curator["frozen"].freeze()
    paid = charge(roles.ana, 1)
    before = verify(curator)
    acts = 0
    for act in CURATOR_ACTS.values():
        with pytest.raises(BudgetError, match="may only charge"):
            act(roles.eve)
        acts += 1
    for statement in STATEMENTS:
        with connected(roles.eve) as connection, suppress(psycopg.Error):
            connection.execute(statement)
            pytest.fail(f"an analyst could: {statement}")
        acts += 1
    for name, (kind, budget, details) in FORGED.items():
        whole = now(CHARGE | details) if kind in ("charge", "refusal") else details
        refuses(roles.eve, forged(Kind(kind), budget, whole, before), name)
        acts += 1
    answers = {"to another's charge": paid, "to nothing": "9-" + "0" * 16, "to no charge": "1-x"}
    for name, id in answers.items():
        answer = forged(Kind.ANSWER, "", {"charge": id, "answer": "false"}, before)
        refuses(roles.eve, answer, name)
        acts += 1
    good = sealed(Draft(Kind.CHARGE, "b", now(CHARGE)), before)
    refuses(roles.eve, [good._replace(digest="0" * 64)], "digest")
    refuses(roles.eve, [good._replace(seq=good.seq + 1)], "number")
    twice = [good, sealed(Draft(Kind.CHARGE, "b", now(CHARGE)), Head(good.seq, good.digest))]
    more = sealed(Draft(Kind.CHARGE, "b", now(CHARGE)), Head(twice[1].seq, twice[1].digest))
    refuses(roles.eve, [*twice, more], "the third of three that are too many")
    assert acts + 3 >= 60
    assert verify(curator) == before
    charge(roles.eve, 1)
    assert curator.remaining("b") == 1


def test_refusals_of_a_role_are_bounded(roles: Ledgers) -> None:
    with connected(roles.curator) as connection:
        connection.execute("INSERT INTO dampen_refused VALUES ('eve', current_date, 2000)")
    head = verify(roles.curator)
    refuses(roles.eve, forged(Kind.REFUSAL, "b", now(CHARGE), head), "a refusal")
    charge(roles.eve, 1)


def forged(kind: Kind, budget: str, details: dict[str, Any], before: Head) -> list[Row]:
    shown = {key: value for key, value in details.items() if value is not None}
    content = json.dumps(shown, separators=(",", ":"))
    digest = digest_of(before.digest, before.seq + 1, kind, budget, content)
    return [Row(before.seq + 1, kind, budget, content, digest)]


def refuses(ledger: Ledger, rows: list[Row], name: str) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connected(ledger) as connection, suppress(psycopg.Error):
        connection.execute("SELECT dampen_append(%s::bigint[], %s, %s, %s, %s)", columns)
        pytest.fail(f"an analyst could append: {name}")


def test_a_held_ledger_ends_in_one_line(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(ledger)
    monkeypatch.setattr(storage, "PATIENCE_SECONDS", 0.2)
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
    with pytest.raises(BudgetError, match="is intact"):
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
