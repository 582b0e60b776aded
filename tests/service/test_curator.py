"""What curators do over HTTP: whom it is refused to, what it writes, what the audit says of it."""

import csv
import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

import dampen
from dampen.ledger import verify
from dampen.schema import Schema
from dampen.service.curator import declared_facts

PATIENTS = "patient,ward,days\n" + "".join(
    f"p{i % 40},{'AB'[i % 2]},{3 * i % 17}\n" for i in range(200)
)
FACTS: dict[str, Any] = {
    "unit": "patient",
    "rows": 500,
    "title": "Stays on two wards",
    "columns": {"ward": ["A", "B"], "days": {"lower": 0, "upper": 30, "step": 1}},
}
NEW: dict[str, Any] = {
    "name": "wards", "file": "wards.csv", "facts": FACTS, "budget": "wards",
    "limits": {"epsilon": "3", "largest": "1", "each": "2"},
}  # fmt: skip
OPEN = "register-from = ['new']\n"
ACTS: dict[str, dict[str, Any]] = {
    "budgets": {"name": "more", "dataset": "visits", "epsilon": "1"},
    "budgets/visits/raise": {"epsilon": "20"},
    "budgets/visits/cap": {"epsilon": "1", "analyst": "ana"},
    "budgets/visits/freeze": {"why": "audit"},
    "budgets/visits/thaw": {},
    "budgets/visits/close": {},
    "tokens": {"analyst": "mallory", "role": "curator"},
    "tokens/00000000/revoke": {},
    "registration": NEW,
    "registration/columns": {"file": "wards.csv"},
    "registration/check": NEW,
}
LOOKS = ("activity", "audit", "audit/download", "budgets", "tokens", "registration", "incidents/0")


@pytest.fixture
def running(serving, tmp_path: Path) -> Running:
    """A service whose curators may register files of one directory."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "wards.csv").write_text(PATIENTS)
    settings = f"\n# why it is so\n[service]\nstep = 0.02\nrequests-per-minute = 10000\n{OPEN}"
    return serving(settings=settings)


@pytest.fixture
def carl(running: Running) -> dict[str, str]:
    return running.token("carl", "curator")


def act(running: Running, who: dict[str, str], path: str, **body: Any) -> Any:
    return running.http.post(f"/v1/{path}", who, body)


def test_acts_are_for_curators(running: Running) -> None:
    before = (running.config.read_bytes(), verify(running.ledger))
    for path, body in ACTS.items():
        assert act(running, {}, path, **body).status_code == 401, path
        told = act(running, running.token(), path, **body)
        assert (told.status_code, told.json()["message"]) == (403, "Only curators may do this."), (
            path
        )
    for path in LOOKS:
        assert running.http.get(f"/v1/{path}", running.token()).status_code == 403, path
    assert (running.config.read_bytes(), verify(running.ledger)) == before
    assert not any(each.analyst == "mallory" for each in running.tokens.tokens())


def test_acts_of_other_pages_change_nothing(running: Running, carl) -> None:
    before = (running.config.read_bytes(), verify(running.ledger))
    for path, body in ACTS.items():
        for header, value, status in (
            ("origin", "http://evil.example", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("content-type", "text/plain", 415),
        ):
            told = running.http.post(f"/v1/{path}", carl | {header: value}, body)
            assert told.status_code == status, (path, header)
    assert (running.config.read_bytes(), verify(running.ledger)) == before


def test_budgets_are_raised_capped_frozen_and_closed(running: Running, carl) -> None:
    said = act(running, carl, "budgets/visits/raise", epsilon="20").json()
    assert (said["epsilon"], said["protects"], said["dataset"]) == ("20", "one row", "visits")
    said = act(running, carl, "budgets/visits/cap", epsilon="1", analyst="ana").json()
    assert said["caps"] == {"ana": "1"}
    assert act(running, carl, "budgets/visits/cap", epsilon="2").json()["caps"]["*"] == "2"
    asked = {"value": "diagnosis", "epsilon": "1.5"}
    assert running.ask("visits/most-frequent", running.token(), **asked).status_code == 409
    for what, status in (("freeze", "frozen"), ("thaw", "open"), ("close", "closed")):
        assert act(running, carl, f"budgets/visits/{what}").json()["status"] == status
    assert act(running, carl, "budgets/visits/thaw").status_code == 409
    assert act(running, carl, "budgets/visits/raise", epsilon="1").status_code == 409
    assert act(running, carl, "budgets/nobody/freeze").status_code == 404
    kinds = [(e.kind, e.details.get("who")) for e in running.ledger.entries("visits")[1:]]
    acts = [kind for kind, who in kinds if who == "carl"]
    assert acts == ["raise", "cap", "cap", "freeze", "thaw", "close"]


@pytest.mark.parametrize("epsilon", ["0", "-1", "x", "1e999999", "", None, [], 0])
def test_a_wrong_amount_changes_no_budget(running: Running, carl, epsilon: Any) -> None:
    before = verify(running.ledger)
    for path in ("budgets/visits/raise", "budgets/visits/cap"):
        assert act(running, carl, path, epsilon=epsilon).status_code == 400
    new = {"name": "more", "dataset": "visits", "epsilon": epsilon}
    assert act(running, carl, "budgets", **new).status_code == 400
    assert verify(running.ledger) == before


def test_a_new_budget_pays_from_then_on(running: Running, carl) -> None:
    act(running, carl, "budgets/visits/close")
    asked = {"value": "diagnosis", "epsilon": "0.5"}
    assert running.ask("visits/most-frequent", running.token(), **asked).status_code == 409
    text = running.config.read_text()
    made = act(running, carl, "budgets", name="visits-2", dataset="visits", epsilon="1", each="0.7")
    assert made.status_code == 200, made.json()
    assert made.json()["caps"] == {"*": "0.7"}
    changed = running.config.read_text()
    assert changed == text.replace('budgets = ["visits"]', 'budgets = ["visits-2", "visits"]')
    assert running.ask("visits/most-frequent", running.token(), **asked).status_code == 200
    assert running.ledger.spent("visits-2") == 0.5
    assert str(running.ledger.neighbours("visits-2")) == "add-remove-row"
    again = act(running, carl, "budgets", name="Visits-2", dataset="visits", epsilon="1")
    assert again.status_code == 409
    assert running.config.read_text() == changed
    assert act(running, carl, "budgets", name="x", dataset="none", epsilon="1").status_code == 404


def test_a_budget_that_dampen_toml_has_no_safe_place_for(running: Running, carl) -> None:
    text = running.config.read_text()
    running.config.write_text(text.replace('budgets = ["visits"]', '"budgets" = ["visits"]'))
    told = act(running, carl, "budgets", name="more", dataset="visits", epsilon="1")
    assert told.status_code == 400
    assert "Cannot add the budget to dampen.toml" in told.json()["message"]
    assert "more" not in list(running.ledger)


def test_tokens_are_made_shown_once_and_revoked(running: Running, carl) -> None:
    made = act(running, carl, "tokens", analyst="ben").json()
    ben = {"authorization": f"Bearer {made['token']}"}
    assert running.http.get("/v1/me", ben).json() == {"analyst": "ben", "role": "analyst"}
    listed = running.http.get("/v1/tokens", carl)
    assert made["token"].encode() not in listed.content
    (number,) = [each["id"] for each in listed.json() if each["analyst"] == "ben"]
    assert act(running, carl, f"tokens/{number}/revoke", why="left").json()["analyst"] == "ben"
    assert running.http.get("/v1/me", ben).status_code == 401
    assert act(running, carl, f"tokens/{number}/revoke").status_code == 404
    (own,) = [each["id"] for each in listed.json() if each["analyst"] == "carl"]
    assert act(running, carl, f"tokens/{own}/revoke").status_code == 400
    notes = [e.details for e in running.ledger.entries() if e.kind == "note"]
    assert [(n["what"], n["analyst"], n["who"]) for n in notes] == [
        ("create token", "ben", "carl"), ("revoke token", "ben", "carl")
    ]  # fmt: skip
    assert made["token"] not in json.dumps(notes)
    for wrong in ("", " ", "a\nb", "x" * 101):
        assert act(running, carl, "tokens", analyst=wrong).status_code == 400


def test_a_data_set_is_registered_and_asked_at_once(running: Running, carl) -> None:
    text = running.config.read_text()
    mode = stat.S_IMODE(running.config.stat().st_mode)
    told = act(running, carl, "registration", **NEW)
    assert told.status_code == 200, told.json()
    assert told.json()["protects"] == "one patient, with all their rows"
    assert told.json()["budget"]["protects"] == "one patient, with all their rows"
    ana = running.token()
    asked = {"value": "days", "by": "ward", "epsilon": "1"}
    answer = running.ask("wards/top-groups", ana, **asked)
    assert answer.status_code == 200, answer.json()
    assert answer.json()["protects"] == "one patient, with all their rows"
    assert "wards" in [each["name"] for each in running.http.get("/v1/datasets", ana).json()]
    changed = running.config.read_text()
    assert changed.startswith(text.rstrip())  # comments and all
    assert stat.S_IMODE(running.config.stat().st_mode) == mode
    assert [each.name for each in running.config.parent.glob(".dampen*")] == []
    asked_again = dampen.dataset("wards", config=running.config)
    assert asked_again.schema.protected == "one patient, with all their rows"
    balance = running.ledger.balance("wards")
    assert (str(balance.neighbours), balance.dataset) == ("add-remove-unit", "wards")
    (note,) = [e.details for e in running.ledger.entries() if e.kind == "note"]
    assert (note["what"], note["dataset"], note["who"]) == ("register", "wards", "carl")
    assert act(running, carl, "registration", **NEW).status_code == 400  # the name is taken


def test_a_registered_data_set_is_for_its_analysts(running: Running, carl) -> None:
    new = NEW | {"analysts": ["ana"]}
    assert act(running, carl, "registration", **new).status_code == 200
    asked = {"value": "days", "p": 50, "epsilon": "1"}
    assert running.ask("wards/percentile", running.token("ben"), **asked).status_code == 404
    assert running.ask("wards/percentile", running.token("ana"), **asked).status_code == 200


@pytest.mark.parametrize(
    "file",
    ["../stays.csv", "/etc/passwd", "../ledger.sqlite3", "missing.csv", "link.csv", "up/stays.csv",
     "a\0b", ".", "..", ""],
)  # fmt: skip
def test_files_elsewhere_cannot_be_registered(running: Running, carl, file: str) -> None:
    new = running.config.parent / "new"
    (new / "link.csv").symlink_to(running.config.parent / "stays.csv")
    (new / "up").symlink_to(running.config.parent)
    before = (running.config.read_bytes(), verify(running.ledger))
    bodies = {"registration": NEW | {"file": file}, "registration/columns": {"file": file},
              "registration/check": NEW | {"file": file}}  # fmt: skip
    for path, body in bodies.items():
        told = act(running, carl, path, **body)
        assert told.status_code == 400
        assert str(running.config.parent) not in told.json()["message"]
    assert (running.config.read_bytes(), verify(running.ledger)) == before
    listed = running.http.get("/v1/registration", carl).json()["files"]
    assert listed == ["wards.csv"]


def test_no_file_of_the_service_itself_is_registered(serving, tmp_path: Path) -> None:
    running = serving(settings="\n[service]\nstep = 0.02\nregister-from = ['.']\n")
    carl = running.token("carl", "curator")
    listed = running.http.get("/v1/registration", carl).json()["files"]
    assert "stays.csv" in listed
    for own in ("ledger.sqlite3", "service.sqlite3", "dampen.toml"):
        assert (tmp_path / own).exists()
        assert own not in listed
        told = act(running, carl, "registration/columns", file=own)
        assert (told.status_code, "register-from" in told.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    "change",
    [
        {"facts": {}},
        {"facts": {"columns": {"ward": ["A", "A"]}}},
        {"facts": {"columns": {"nothing": ["A"]}}},
        {"facts": {"columns": {"days": {"lower": 9, "upper": 1}}}},
        {"facts": {"ledger": "elsewhere"}},
        {"facts": FACTS | {"unit": "nobody"}},
        {"facts": {"graph": {"nodes": "/etc/passwd"}}},
        {"name": "stays"},
        {"name": "a/b"},
        {"budget": "stays"},
        {"limits": None},
        {"limits": {"epsilon": "-1"}},
        {"limits": {"epsilon": "1", "neighbours": "add-remove-edge"}},
    ],
)  # fmt: skip
def test_wrong_facts_write_nothing(running: Running, carl, change: dict[str, Any]) -> None:
    before = (running.config.read_bytes(), verify(running.ledger))
    told = act(running, carl, "registration", **NEW | change)
    assert told.status_code in (400, 409), told.json()
    assert (running.config.read_bytes(), verify(running.ledger)) == before
    assert "wards" not in running.configuration.sets


def test_rows_that_are_registered_keep_their_relation(serving, tmp_path: Path) -> None:
    running = serving(settings="\n[service]\nstep = 0.02\nregister-from = ['.']\n")
    carl = running.token("carl", "curator")
    facts = {"units-public": True, "columns": {"hospital": ["H1"]}}
    new = NEW | {"file": "stays.csv", "facts": facts}
    told = act(running, carl, "registration", **new)
    assert told.status_code == 400
    assert "The same rows need one relation" in told.json()["message"]


def test_a_file_that_may_not_be_written_costs_nothing(running: Running, carl, monkeypatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    before = (running.config.read_bytes(), verify(running.ledger))
    monkeypatch.setattr("dampen.service.curator._write_copy", refuse)
    told = act(running, carl, "registration", **NEW)
    assert told.status_code == 400
    assert "Cannot write dampen.toml: Permission denied" in told.json()["message"]
    assert (running.config.read_bytes(), verify(running.ledger)) == before


def test_a_file_that_was_edited_meanwhile_is_kept(running: Running, carl, monkeypatch) -> None:
    from dampen.service.curator import Curating

    create = Curating._create

    def edit_and_create(*given: Any) -> Any:
        running.config.write_text(running.config.read_text() + "\n# by hand\n")
        return create(*given)

    monkeypatch.setattr(Curating, "_create", edit_and_create)
    told = act(running, carl, "registration", **NEW)
    assert (told.status_code, "changed meanwhile" in told.json()["message"]) == (400, True)
    assert running.config.read_text().endswith("# by hand\n")
    monkeypatch.undo()
    assert act(running, carl, "registration", **NEW).status_code == 200  # the budget waits


def test_columns_come_from_the_header(running: Running, carl) -> None:
    told = act(running, carl, "registration/columns", file="wards.csv").json()
    assert [each["name"] for each in told] == ["patient", "ward", "days"]


def test_exact_counts_are_shown_on_the_servers_own_machine(running: Running, carl) -> None:
    told = act(running, carl, "registration/check", **NEW).json()
    assert (told["rows"], told["units"]["units"]) == (200, 40)
    assert told["warning"].startswith("NOT PRIVATE")
    for header in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
        away = running.http.post("/v1/registration/check", carl | {header: "10.0.0.1"}, NEW)
        assert away.status_code == 403
        assert b"200" not in away.content
    notes = [e.details["what"] for e in running.ledger.entries() if e.kind == "note"]
    assert notes == ["check"]
    assert running.http.get("/v1/registration", carl).json()["check"] is True
    assert not running.ledger.history("stays")


@pytest.mark.parametrize(("rule", "status"), [("always", 200), ("never", 403), ("local", 403)])
def test_who_sees_exact_counts_is_a_setting(serving, tmp_path, rule: str, status: int) -> None:
    (tmp_path / "wards.csv").write_text(PATIENTS)
    settings = f"\n[service]\nregister-from = ['.']\nshow-check = '{rule}'\n"
    running = serving(settings=settings)
    carl = running.token("carl", "curator")
    away = carl | ({} if rule == "never" else {"x-forwarded-for": "10.0.0.1"})
    assert running.http.post("/v1/registration/check", away, NEW).status_code == status


def test_the_audit_is_whole_and_downloaded(running: Running, carl) -> None:
    ana = running.token("=cmd()")
    running.ask("visits/most-frequent", ana, value="diagnosis", epsilon="0.5")
    running.ask("visits/most-frequent", ana, value="diagnosis", epsilon="7")
    act(running, carl, "budgets/visits/freeze", why="an audit")
    told = running.http.get("/v1/audit?limit=3", carl).json()
    assert [each["kind"] for each in told["entries"]] == ["freeze", "refusal", "charge"]
    assert told["all"] == len(running.ledger.entries())
    assert running.http.get("/v1/audit?limit=1&skip=1", carl).json()["entries"][0]["rule"] == (
        "largest"
    )
    got = running.http.get("/v1/audit/download", carl)
    assert got.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(got.content.decode())))
    assert len(rows) == told["all"]
    assert {row["analyst"] for row in rows if row["kind"] == "charge"} == {"'=cmd()"}
    lines = running.http.get("/v1/audit/download?format=jsonl", carl).content.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in rows]
    assert not any(b'"answer"' in line for line in lines)


def test_expect_says_that_the_budget_would_refuse(running: Running) -> None:
    ana = running.token()
    asked = {"value": "diagnosis", "epsilon": "6"}
    before = verify(running.ledger)
    told = running.ask("visits/most-frequent/expect", ana, **asked).json()
    assert "pays at most epsilon 5 a question" in told["refusal"]
    told = running.ask("visits/most-frequent/expect", ana, **asked | {"epsilon": "5"}).json()
    assert told["refusal"] is None
    assert verify(running.ledger) == before  # it was not recorded


def test_the_form_has_every_declared_fact(running: Running, carl) -> None:
    form = running.http.get("/v1/registration", carl).json()
    assert [each["name"].replace("-", "_") for each in form["facts"]] == list(
        Schema.__dataclass_fields__
    )
    assert all(each["help"] for each in form["facts"])
    assert {each["name"]: each["kind"] for each in declared_facts(Schema)}["units-public"] == "flag"
    assert list(form["columns"]) == ["numbers", "categories", "names"]
    assert os.fspath(running.config.parent) not in json.dumps(form)


def test_a_service_begins_without_data_sets(tmp_path: Path) -> None:
    from service_running import started

    config = tmp_path / "dampen.toml"
    config.write_text("ledger = 'ledger.sqlite3'\n[service]\nregister-from = ['new']\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "wards.csv").write_text(PATIENTS)
    running = started(config)
    try:
        carl = running.token("carl", "curator")
        assert running.http.get("/v1/datasets", carl).json() == []
        assert act(running, carl, "registration", **NEW).status_code == 200
        assert running.http.get("/v1/budgets", carl).json()["budgets"][0]["name"] == "wards"
    finally:
        running.stop()
