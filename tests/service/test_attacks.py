"""What must fail: other people's tokens, forged origins, hostile bodies, side doors."""

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from dampen.questions.percentile.question import PercentileQuestion
from dampen.service.middleware import HEADERS, LARGEST_BODY, Pace, Rate
from dampen.service.questions import least_steps

FREQUENT = {"value": "diagnosis", "epsilon": "0.5"}


def test_nothing_without_a_token(running) -> None:
    for path in ("me", "datasets", "budget", "releases", "releases/1-0", "activity"):
        assert running.http.get(f"/v1/{path}").status_code == 401
    for wrong in ("", "Bearer", "Bearer x", "Basic YTpi", "bearer dampen_" + "A" * 43):
        told = running.ask("visits/most-frequent", {"authorization": wrong}, **FREQUENT)
        assert (told.status_code, told.json()["exit_code"]) == (401, 2)
    assert not running.ledger.history("visits")


def test_a_revoked_token_is_refused(running) -> None:
    who = running.token()
    assert running.http.get("/v1/me", who).json() == {"analyst": "ana", "role": "analyst"}
    running.tokens.revoke("ana")
    assert running.http.get("/v1/me", who).status_code == 401


def test_tokens_are_stored_hashed_for_their_owner_alone(running) -> None:
    token = running.token()["authorization"].removeprefix("Bearer ")
    state = running.configuration.settings.state
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    held = b"".join(each.read_bytes() for each in state.parent.glob(state.name + "*"))
    assert b"ana" in held
    assert token.encode() not in held
    assert token.removeprefix("dampen_").encode() not in held


def test_ten_thousand_wrong_tokens_are_limited() -> None:
    rate = Rate(30)
    allowed = sum(rate.allows("10.0.0.9", now=i * 0.001) for i in range(10_000))
    assert 30 <= allowed <= 36
    assert rate.allows("10.0.0.8", now=10.0)


def statuses(running, who: dict[str, str]) -> list[int]:
    """Of requests one after the other, until one is turned away; a bucket fills meanwhile."""
    found: list[int] = []
    while 429 not in found and len(found) < 1000:
        found.append(running.http.get("/v1/me", who).status_code)
    return found


def test_wrong_tokens_are_limited_and_right_ones_are_not(running) -> None:
    who = running.token()
    found = statuses(running, {"authorization": "Bearer wrong"})
    assert len(found) > 30
    assert set(found) == {401, 429}
    assert running.http.get("/v1/me", who).status_code == 200


def test_an_analyst_is_limited(serving) -> None:
    running = serving(settings="\n[service]\nstep = 0.01\nrequests-per-minute = 20\n")
    assert set(statuses(running, running.token())) == {200, 429}
    assert running.http.get("/v1/me", running.token("ben")).status_code == 200


def test_histories_are_ones_own(running) -> None:
    ana, ben = running.token(), running.token("ben")
    charge = running.ask("visits/most-frequent", ana, **FREQUENT).json()["charge"]
    assert [each["charge"] for each in running.http.get("/v1/releases", ana).json()] == [charge]
    assert running.http.get("/v1/releases", ben).json() == []
    other = running.http.get(f"/v1/releases/{charge}", ben)
    never = running.http.get(f"/v1/releases/9-{'0' * 16}", ben)
    assert other.status_code == never.status_code == 404
    assert other.json()["message"].replace(charge, "") == never.json()["message"].replace(
        f"9-{'0' * 16}", ""
    )
    for number in ("x", "..%2f..", "%00", "1-" + "f" * 16):
        assert running.http.get(f"/v1/releases/{number}", ben).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
    ],
)
def test_forms_and_pages_elsewhere_change_nothing(running, headers: dict[str, str]) -> None:
    refused = running.http.post("/v1/datasets/visits/most-frequent", running.token() | headers,
                                FREQUENT)  # fmt: skip
    assert refused.status_code in (403, 415)
    assert not running.ledger.history("visits")
    assert "access-control-allow-origin" not in refused.headers


def test_the_page_itself_may_ask(running) -> None:
    own = {"origin": f"http://127.0.0.1:{running.http.port}", "sec-fetch-site": "same-origin"}
    asked = running.http.post("/v1/datasets/visits/most-frequent", running.token() | own, FREQUENT)
    assert asked.status_code == 200


def test_another_name_leads_nowhere(running) -> None:
    assert running.http.get("/healthz", {"host": "evil.example"}).status_code == 421
    assert running.http.get("/healthz", {"host": "localhost:1"}).status_code == 200


def test_a_name_can_be_registered(serving) -> None:
    running = serving(settings='\n[service]\nhosts = ["Dampen.example.org"]\n')
    assert running.http.get("/healthz", {"host": "dampen.example.org"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 60_000, 400),
        (b'{"value":' * 5000, 400),
        (b'{"value": "' + b"x" * LARGEST_BODY + b'"}', 413),
        (b'{"value": "diagnosis", "epsilon": ' + b"9" * 5000 + b"}", 400),
        (b'{"value": "diagnosis", "epsilon": 1e999999}', 400),
        (b'{"value": "diagnosis", "epsilon": NaN}', 400),
        (b'{"value": "diagnosis", "epsilon": true}', 400),
        (b'{"value": [["diagnosis"]], "epsilon": 1}', 400),
        (b'{"value": {"diagnosis": 1}, "epsilon": 1}', 400),
        (b'{"value": "diagnosis", "epsilon": 1, "data": "/etc/passwd"}', 400),
        (b'{"value": "diagnosis", "epsilon": 1, "epsilon": 5}', 400),
        (b'{"value": "diagnosis", "epsilon": 1, "\\u0065psilon": 5}', 400),
        (b"\xff\xfe{}", 400),
        (b"", 400),
        (b"null", 400),
    ],
)
def test_hostile_bodies(running, body: bytes, status: int) -> None:
    refused = running.http.post("/v1/datasets/visits/most-frequent", running.token(), body)
    assert refused.status_code == status, refused.content
    assert refused.json()["exit_code"] == 2
    assert not running.ledger.history("visits")


@pytest.mark.parametrize(
    "name",
    [
        'diagnosis"; drop table visits; --',
        "diagnosis' or 1=1",
        "*",
        "../salaries",
        "",
        "\0",
        "day\n",
    ],
)
def test_column_names_are_those_of_the_public_facts(running, name: str) -> None:
    refused = running.ask("visits/most-frequent", running.token(), value=name, epsilon=1)
    assert refused.status_code == 400
    assert not running.ledger.history("visits")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/datasets/..%2f..%2fetc%2fpasswd/most-frequent", "/v1/datasets/../visits.csv",
        "/v1/datasets/visits.csv/most-frequent", "/page/../api.py", "/page.js/../../store.py",
        "/dampen.toml", "/service.sqlite3", "/%2e%2e/dampen.toml",
    ],
)  # fmt: skip
def test_paths_outside_the_registered_ones(running, path: str) -> None:
    for method in ("GET", "POST"):
        answer = running.http.send(
            method, path, {**running.token(), "content-type": "application/json"},
            json.dumps(FREQUENT).encode(),
        )  # fmt: skip
        assert answer.status_code in (400, 404, 405)
        assert answer.json()["exit_code"] == 2


@pytest.mark.parametrize("path", ["/", "/docs", "/page.js", "/page.css", "/healthz"])
def test_the_page_is_what_it_is_whatever_a_link_says(running, path: str) -> None:
    """No part of a request becomes part of the page: a link could steal a token."""
    plain = running.http.get(path)
    for name in ("content", "kind", "name", "path", "media_type", "found"):
        forged = running.http.get(f"{path}?{name}=text/html<script>alert(1)</script>")
        assert (forged.content, forged.headers["content-type"]) == (
            plain.content,
            plain.headers["content-type"],
        )


def test_no_handler_takes_what_it_does_not_describe(running) -> None:
    """Every parameter of every route is in the description, or is the token."""
    described = json.loads(running.http.get("/openapi.json").content)["paths"]
    named = {
        (path, each["name"])
        for path, methods in described.items()
        for operation in methods.values()
        for each in operation.get("parameters", [])
    }
    assert {name for _, name in named} == {"name", "charge", "number", "limit", "skip", "format"}


def test_headers_of_every_response(running) -> None:
    for path in ("/", "/v1/me", "/nothing", "/healthz", "/openapi.json"):
        given = running.http.get(path).headers
        assert {name: given[name] for name in HEADERS} == HEADERS
        assert "set-cookie" not in given


def test_logs_name_no_question_and_no_answer(running) -> None:
    who = running.token()
    running.ask("visits/most-frequent", who, **FREQUENT)
    running.http.get("/v1/releases?limit=7&skip=0&secret=1", who)
    running.http.get("/v1/releases/17-0123456789abcdef", who)
    text = json.dumps(running.log)
    assert running.log[0] == {
        "event": "request", "method": "POST", "route": "/v1/datasets/{name}/most-frequent",
        "status": 200, "who": "ana",
    }  # fmt: skip
    for word in ("diagnosis", "flu", "secret", "0123456789abcdef", "dampen_"):
        assert word not in text


def test_the_administrators_link_works_once(running) -> None:
    code = running.service.open_link()
    assert running.http.post("/v1/login", json={"code": "x" + code}).status_code == 401
    token = running.http.post("/v1/login", json={"code": code}).json()["token"]
    who = {"authorization": f"Bearer {token}"}
    assert running.http.get("/v1/me", who).json()["role"] == "curator"
    spent = running.http.post("/v1/login", json={"code": code})
    assert spent.status_code == 401
    assert "dampen token create NAME --role curator" in spent.json()["message"]
    assert running.service.open_link() is None  # there is a curator now
    assert running.http.get("/v1/me", who).status_code == 200
    running.tokens.revoke("administrator")
    assert running.service.open_link() is not None


def test_the_administrators_link_expires(running, monkeypatch: pytest.MonkeyPatch) -> None:
    code = running.service.open_link()
    monkeypatch.setattr("dampen.service.app.SECONDS_OF_LINK", -1)
    assert running.http.post("/v1/login", json={"code": code}).status_code == 401
    monkeypatch.undo()
    assert running.http.post("/v1/login", json={"code": code}).status_code == 401
    assert running.tokens.tokens() == []


def test_only_health_is_public_without_a_token(running) -> None:
    ana, curator = running.token(), running.token("cleo", "curator")
    assert running.http.get("/healthz").json() == {"status": "ok"}
    assert running.http.get("/healthz", ana).json().keys() == {"status", "version"}
    running.config.with_name("ledger.sqlite3-head").unlink()
    told = running.http.get("/healthz")
    assert (told.status_code, told.json()) == (503, {"status": "failing"})
    assert running.http.get("/healthz", ana).json().keys() == {"status", "version"}
    assert "has no valid head file" in running.http.get("/healthz", curator).json()["why"]
    assert running.http.get("/healthz", {"authorization": "Bearer no"}).status_code == 401


def test_analysts_do_not_learn_where_data_lies(running) -> None:
    who, place = running.token(), running.config.with_name("visits.csv")
    for change in (place.unlink, lambda: place.write_text("other,day\nx,1\n")):
        change()
        told = running.ask("visits/most-frequent", who, **FREQUENT)
        assert told.status_code == 400
        assert "visits" in told.json()["message"]
        assert str(running.config.parent) not in told.json()["message"]
    assert not running.ledger.history("visits")


def test_answers_leave_at_public_steps() -> None:
    pace = Pace(0.25)
    assert [pace.steps(t) for t in (0, 0.1, 0.249999, 0.25, 0.250001, 1.1)] == [1, 1, 1, 1, 2, 5]
    assert [pace.steps(t, 4) for t in (0, 0.9, 1, 1.1)] == [4, 4, 4, 5]


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"p": 50, "upper": 10**6, "step": 1}, 1),
        ({"p": [25, 50], "upper": 10**5, "step": 1}, 1),
        ({"p": [25, 50], "upper": 10**6, "step": 1}, 4),
        ({"p": [25, 50], "upper": 1000, "step": "0.001"}, 4),
        ({"p": [25, 50], "upper": 10**7 - 1, "step": 1}, 16),
        ({"p": 50}, 4),
        ({"p": 50, "upper": 10**6}, 4),
    ],
)
def test_the_least_steps_of_a_class_follow_from_public_facts(
    options: dict[str, Any], least: int
) -> None:
    lower = {"lower": 0} if "upper" in options else {}
    assert least_steps(PercentileQuestion(value="salary", **lower, **options)) == least


def test_a_list_on_a_fine_grid_leaves_at_the_step_of_the_slowest_data(serving) -> None:
    """By public facts alone, however fast it was drawn."""
    running = serving(
        lambda text: text.replace("step = 1000", "step = 1"), settings="\n[service]\nstep = 0.2\n"
    )
    start = time.monotonic()
    asked = {"value": "salary", "p": [25, 75], "epsilon": 1}
    assert running.ask("salaries/percentile", running.token(), **asked).status_code == 200
    assert time.monotonic() - start >= 4 * 0.2


def test_data_sets_that_differ_in_one_row_take_the_same_steps(running) -> None:
    """Answers are made in milliseconds and a step is a minute, which nobody waits for here."""
    waited: list[float] = []

    async def no_sleep(seconds: float) -> None:
        waited.append(seconds)

    running.workflow.pace = Pace(60, no_sleep)
    who, rows = running.token(), running.config.with_name("visits.csv").read_text()
    for text in (rows, rows + "cold,3\n"):
        running.config.with_name("visits.csv").write_text(text)
        for _ in range(5):
            asked = {"value": "diagnosis", "epsilon": "0.01", "reuse": False}
            assert running.ask("visits/most-frequent", who, **asked).status_code == 200
    # All ten wait for the end of the first step.
    assert len(waited) == 10
    assert all(0 < seconds < 60 for seconds in waited)


def test_answers_are_held_until_their_step(serving) -> None:
    running = serving(settings="\n[service]\nstep = 0.3\n")
    start = time.monotonic()
    assert running.ask("visits/most-frequent", running.token(), **FREQUENT).status_code == 200
    assert time.monotonic() - start >= 0.3


@pytest.mark.usefixtures("unreadable")
def test_a_failed_question_leaves_at_a_step_too(serving) -> None:
    running = serving(settings="\n[service]\nstep = 0.3\n")
    start = time.monotonic()
    assert running.ask("visits/most-frequent", running.token(), **FREQUENT).status_code == 500
    assert time.monotonic() - start >= 0.3


def test_no_module_of_the_library_imports_the_web() -> None:
    source = Path(__file__).parents[2] / "src" / "dampen"
    outside = [p for p in source.rglob("*.py") if p.relative_to(source).parts[0] != "service"]
    assert outside
    for each in outside:
        text = each.read_text()
        assert "import fastapi" not in text and "from fastapi" not in text, each
        assert "uvicorn" not in text, each
