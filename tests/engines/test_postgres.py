"""PostgreSQL: names and types from the catalogue, rows after the charge, errors that quote nothing.

That counts and answers are those of memory is the contract's (`tests/contracts/test_backends.py`,
`test_same_answers.py`).
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dampen
from dampen.cli.main import run
from dampen.data import open_table
from dampen.errors import DataError, ParameterError
from dampen.ledger import Ledger
from dampen.questions.frequency import MostFrequent
from engines.holders import postgres_server

psycopg = pytest.importorskip("psycopg")

VALUE = {"p": 50, "lower": 0, "upper": 9, "step": 1, "epsilon": "5"}
TABLES = """
create type mood as enum ('glad', 'sad');
create domain pay as integer check (value >= 0);
create table people (pay pay, code char(5), mood mood, id uuid, notes json, born date, r real,
                     dropped text, ok boolean);
alter table people drop column dropped;
insert into people select i % 10, 'c' || i % 2, (array['glad', 'sad'])[1 + i % 2]::mood,
  gen_random_uuid(), '{"secret": 1}', '2000-01-01', 0.1, i % 3 = 0 from generate_series(0, 99) i;
create view "Odd; drop table people" as select pay from people where pay % 2 = 1;
create view broken as select 1 / (pay - 3) as pay, 'secret' as word from people;
create table gaps (pay double precision);
insert into gaps values (1), (null);
create table numbers (pay numeric);
insert into numbers values (1.5), ('NaN');
create schema apart;
create table apart.people (pay integer);
create materialized view kept as select pay from people;
create role poor login;
grant usage on schema apart to poor;
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A database of its own, for its tables are those that errors list."""
    server = postgres_server().address
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("create database hospital")
    own = server.replace("/postgres?", "/hospital?")
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute(TABLES)
    yield own
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database hospital with (force)")
        connection.execute("drop role poor")


def test_types_are_public_and_known_without_rows(address: str) -> None:
    table = open_table(address, table="people")
    assert {field.name: (field.type, field.holds) for field in table.fields} == {
        "pay": ("pay", "numbers"), "code": ("character(5)", "labels"), "mood": ("mood", "labels"),
        "id": ("uuid", "labels"), "notes": ("json", "other"), "born": ("date", "labels"),
        "r": ("real", "numbers"), "ok": ("boolean", "labels"),
    }  # fmt: skip
    with pytest.raises(ParameterError, match="Column 'mood' is not numeric"):
        dampen.percentile(address, "mood", **VALUE, table="people")
    with pytest.raises(ParameterError, match="holds json"):
        dampen.most_frequent(address, "notes", categories=["a", "b"], epsilon=1, table="people")


def test_opening_runs_nothing_on_the_table(address: str) -> None:
    assert [field.name for field in open_table(address, table="broken").fields] == ["pay", "word"]
    with psycopg.connect(address) as locked:
        locked.execute("lock table people in access exclusive mode")
        assert open_table(address, table="people").rows is None


def test_words_are_those_of_the_column(address: str) -> None:
    """A char(5) without its blanks, an enum by its name, a short float as the number that it is."""
    table = open_table(address, table="people")
    for column, categories in {"code": ["c0", "c1"], "mood": ["glad", "sad"]}.items():
        counts = MostFrequent(categories).opened_counts(table, column)
        assert counts.tolist() == [50, 50, 0]
    (first, *_) = table.batches({"r": "numbers"})
    assert first["r"][0].as_py() == float(np.float32(0.1)) != 0.1


def test_views_and_tables_elsewhere(address: str) -> None:
    odd = "Odd; drop table people"
    assert dampen.percentile(address, "pay", **VALUE, table=odd).answer in range(10)
    assert dampen.percentile(address, "pay", **VALUE, table="kept").answer in range(10)
    assert open_table(address, table="apart.people").title.startswith("apart.people of postgresql:")
    with pytest.raises(ParameterError, match=r"Expected a table 'peple'.*people"):
        open_table(address, table="peple")
    with pytest.raises(ParameterError, match=r"Expected table=, one of the tables.*gaps, kept"):
        open_table(address)
    with pytest.raises(ParameterError, match="Expected a table 'pg_authid'"):
        open_table(address, table="pg_authid")


@pytest.mark.parametrize("table", ["broken"])
def test_a_failure_after_the_charge_quotes_nothing(address: str, table: str, tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("b", epsilon=9, neighbours="add-remove-row")
    with pytest.raises(DataError) as caught:
        dampen.percentile(address, "pay", **VALUE, table=table, budget=ledger["b"])
    told = str(caught.value)
    assert not any(word in told for word in ("division", "secret", "1.5", "dampen@"))
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert len(ledger.history("b")) == 1


def test_a_failure_of_weights_quotes_nothing(address: str, capfd: Any) -> None:
    with pytest.raises(DataError) as caught:
        dampen.count(address, by="pay", groups=[0, 1], unit="word", table="broken", epsilon=1)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert capfd.readouterr() == ("", "")


def test_a_server_that_is_not_there_costs_nothing(address: str) -> None:
    nobody = address.replace("dampen@", "nobody:hush@")
    for wrong in ("postgresql://127.0.0.1:1/x", nobody, "postgresql://h/d?no=1"):
        with pytest.raises(ParameterError) as caught:
            open_table(wrong, table="people")
        assert "hush" not in str(caught.value)
        assert caught.value.__context__ is None


def test_tables_without_permission_are_not_found(address: str) -> None:
    poor = address.replace("dampen@", "poor@")
    for table in ("people", "apart.people"):
        with pytest.raises(ParameterError, match=f"Expected a table '{table}'"):
            open_table(poor, table=table)


def test_rows_are_those_of_one_moment(address: str) -> None:
    """A change between two batches is not seen, and a reader does not write."""
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("create table moment as select i as x from generate_series(1, 40000) i")
        batches = open_table(address, table="moment").batches({"x": "numbers"})
        seen = len(next(batches)["x"])
        other.execute("delete from moment where x > 100")
        other.execute("insert into moment values (0)")
        assert seen + sum(len(batch["x"]) for batch in batches) == 40_000
        other.execute("create function spent() returns integer language sql as "
                      "'delete from moment returning 1'")  # fmt: skip
        other.execute("create view writing as select spent() as x")
        with pytest.raises(DataError):
            list(open_table(address, table="writing").batches({"x": "numbers"}))
        assert other.execute("select count(*) from moment").fetchone() == (101,)
        other.execute("drop view writing; drop function spent; drop table moment")


def connections(address: str) -> int:
    with psycopg.connect(address) as other:
        found = other.execute("select count(*) from pg_stat_activity where datname = 'hospital'")
        return found.fetchone()[0] - 1


def test_a_reader_that_stops_gives_its_connection_back(address: str) -> None:
    before = connections(address)
    batches = open_table(address, table="people").batches({"pay": "numbers"})
    next(batches)
    assert connections(address) == before + 1
    batches.close()  # type: ignore[attr-defined]
    threading.Event().wait(0.2)
    assert connections(address) == before


def test_from_the_command_line(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("staff", epsilon=9, neighbours="add-remove-row")
    secret = address.replace("dampen@", "dampen:hush@")
    asked = ["percentile", secret, "--table", "people", "--value", "pay", "-p", "50",
             "--lower", "0", "--upper", "9", "--step", "1", "--epsilon", "5",
             "--budget", "staff", "--ledger", str(ledger.place)]  # fmt: skip
    assert run(asked) == 0
    (charge,) = ledger.history("staff")
    assert charge.dataset.endswith("/hospital")
    assert "hush" not in capsys.readouterr().out + charge.dataset
    (tmp_path / "dampen.toml").write_text(
        f'[[data]]\nname = "staff"\nbudgets = ["other"]\ntables = ["{secret}"]\n'
    )
    assert run(asked) == 2
    assert "can only be asked with the budget 'other'" in capsys.readouterr().err


def test_a_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ParameterError, match=r"dampen\[postgres\]"):
        open_table("postgresql://h/d", table="x")
