"""Twenty questions by every door: Python, SQL, HTTP and agents give the same release."""

import asyncio
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("sqlglot")

from mcp import Client
from service_running import Running

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.service import agents, workflow

BY = "FROM stays GROUP BY hospital"
TOP = {"value": "days", "by": "hospital"}
QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    (f"SELECT hospital {BY} ORDER BY MEDIAN(days) DESC LIMIT 1", "top-groups", TOP),
    (f"SELECT hospital {BY} ORDER BY AVG(days) DESC LIMIT 1", "top-groups",
     {**TOP, "statistic": "mean"}),
    (f"SELECT hospital {BY} ORDER BY SUM(days) DESC LIMIT 1", "top-groups",
     {**TOP, "statistic": "sum"}),
    (f"SELECT hospital {BY} ORDER BY MEDIAN(days) LIMIT 2", "top-groups",
     {**TOP, "smallest": True, "k": 2}),
    (f"SELECT hospital {BY} ORDER BY QUANTILE_CONT(days, 0.9) DESC LIMIT 2", "top-groups",
     {**TOP, "p": "90", "k": 2}),
    ("SELECT hospital FROM stays WHERE days < 20 GROUP BY hospital ORDER BY MEDIAN(days) DESC "
     "LIMIT 1", "top-groups", {**TOP, "where": "(days < 20)"}),
    (f"SELECT hospital {BY} HAVING MEDIAN(days) >= 6", "groups-above", {**TOP, "threshold": "6"}),
    (f"SELECT hospital {BY} HAVING AVG(days) >= 7", "groups-above",
     {**TOP, "threshold": "7", "statistic": "mean"}),
    (f"SELECT hospital {BY} ORDER BY COUNT(*) DESC LIMIT 1", "most-frequent",
     {"value": "hospital"}),
    (f"SELECT hospital, COUNT(*) {BY} ORDER BY 2 DESC LIMIT 3", "most-frequent",
     {"value": "hospital", "k": 3}),
    ("SELECT MEDIAN(days) FROM stays", "percentile", {"value": "days", "p": 50}),
    ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY days) FROM stays", "percentile",
     {"value": "days", "p": 90}),
    ("SELECT QUANTILE_CONT(days, 0.25), MEDIAN(days) FROM stays", "percentile",
     {"value": "days", "p": [25, 50]}),
    (f"SELECT hospital, MEDIAN(days) {BY}", "percentile",
     {"value": "days", "p": 50, "by": "hospital"}),
    ("SELECT COUNT(*) FROM stays", "count", {}),
    ("SELECT COUNT(*) FROM stays WHERE hospital = 'H1'", "count",
     {"where": "(hospital == 'H1')"}),
    (f"SELECT hospital, COUNT(*) {BY}", "count", {"by": "hospital"}),
    ("SELECT SUM(days) FROM stays", "total", {"value": "days"}),
    ("SELECT AVG(days) FROM stays", "mean", {"value": "days"}),
    (f"SELECT hospital, AVG(days) {BY}", "mean", {"value": "days", "by": "hospital"}),
]  # fmt: skip
SMALL = "0.05"


def _seeded() -> InsecureEntropy:
    return InsecureEntropy(5, allow_release=True)


def test_twenty_questions_through_every_interface(
    serving: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "SystemEntropy", _seeded)
    running = serving()
    stays = dampen.dataset("stays", config=running.config)
    headers = running.token()
    asked_by_agents = _asked_by_agents(running)
    assert len(QUESTIONS) == 20
    for (statement, question, stated), by_agent in zip(QUESTIONS, asked_by_agents, strict=True):
        price = {"epsilon": SMALL, "entropy": _seeded()}
        wanted = json.loads(stays.ask(question, **stated, **price).to_json())["answer"]
        by_sql = stays.sql(statement, epsilon=SMALL, entropy=_seeded())
        assert json.loads(by_sql.to_json())["answer"] == wanted, statement
        body = {"epsilon": SMALL, "reuse": False}
        by_name = running.ask(f"stays/{question}", headers, **stated, **body)
        assert by_name.json()["answer"] == wanted, statement
        over_http = running.http.post("/v1/sql", headers, {"statement": statement, **body})
        assert over_http.json()["answer"] == wanted, statement
        assert [each["answer"] for each in by_agent] == [wanted, wanted], statement


def _asked_by_agents(running: Running) -> list[list[dict[str, Any]]]:
    token = running.tokens.create("agent")

    async def walk() -> list[list[dict[str, Any]]]:
        async with Client(agents.server(running.service, token)) as client:
            return [await _both(client, *each) for each in QUESTIONS]

    return asyncio.run(walk())


async def _both(
    client: Client, statement: str, question: str, stated: dict[str, Any]
) -> list[dict[str, Any]]:
    price = {"epsilon": SMALL, "reuse": False}
    given = {"dataset": "stays", "question": question, "parameters": stated, **price}
    by_name = await client.call_tool("ask", given)
    by_sql = await client.call_tool("ask_sql", {"statement": statement, **price})
    return [by_name.structured_content, by_sql.structured_content]


def test_a_statement_over_http_is_expected_asked_and_refused(running: Running) -> None:
    service = dampen.connect(
        f"http://127.0.0.1:{running.http.port}", token=running.tokens.create("ana")
    )
    headers = running.token("ben")
    statement = "SELECT COUNT(*) FROM stays"
    told = running.http.post("/v1/sql/expect", headers, {"statement": statement, "epsilon": "0.1"})
    assert told.json()["charged"] == "0.1"
    assert service.sql(statement, epsilon="0.1").accuracy.sentence
    assert (
        service.sql(statement, epsilon="0.1").answer
        == service.sql(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1) COUNT(*) FROM stays"
        ).answer
    )
    with pytest.raises(dampen.errors.ParameterError, match="JOIN"):
        service.sql("SELECT COUNT(*) FROM stays JOIN visits USING (x)", epsilon="0.1")
    assert running.http.post("/v1/sql", {}, {"statement": statement}).status_code == 401
    unknown = {"statement": "SELECT COUNT(*) FROM nothing", "epsilon": "0.1"}
    assert running.http.post("/v1/sql", headers, unknown).status_code == 404


SCRAPS = (
    "SELECT FROM WHERE GROUP BY ORDER LIMIT HAVING COUNT(*) MEDIAN(days) hospital days , ( ) * "
    "= >= < AND OR NOT IN NULL IS BETWEEN 1 0.5 1e99999 'H1' ; -- /* */ OPTIONS(epsilon=1) UNION "
    'JOIN WITH AS DISTINCT stays visits follows " ` é \u202e \0 ALL CASE WHEN END :: [ ] { } $1 '
    "DROP read_csv('/etc/passwd') pg_sleep(9) COPY ATTACH INTO TABLE"
)


def mutated(rng: random.Random) -> str:
    """A statement of which some words are missing, and among which are others."""
    words = rng.choice(QUESTIONS)[0].split(" ")
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(words) + 1)
        if words and rng.random() < 0.4:
            del words[min(place, len(words) - 1)]
        else:
            words.insert(place, rng.choice(SCRAPS.split(" ")))
    return " ".join(words)


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fuzzed_statements_over_http_are_refused_or_answered(
    serving: Callable[..., Running], count: int
) -> None:
    """No error of the service; a charge for every answer that was not recorded, and no other."""
    running = serving()
    running.ledger["stays"].raise_to(10_000)
    headers = running.token()
    rng = random.Random(count)
    answered = charged = 0
    for _ in range(count):
        asked = {"statement": mutated(rng), "epsilon": "0.01"}
        told = running.http.post("/v1/sql", headers, asked)
        assert told.status_code in (200, 400, 404), (asked, told.content)
        if told.status_code == 200:
            answered += 1
            charged += not told.json()["reused"]
        else:
            assert told.json()["exit_code"] == 2
            assert "Traceback" not in told.json()["message"]
        ledger = running.ledger
        assert sum(ledger.balance(name).spent.charges for name in ledger) == charged
    assert answered > count / 200
    assert not any(each["event"] == "error" for each in running.log)


def test_a_service_without_sql_says_so(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.setitem(sys.modules, "sqlglot.tokens", None)
    monkeypatch.setitem(sys.modules, "sqlglot.errors", None)
    asked = {"statement": "SELECT COUNT(*) FROM stays", "epsilon": "0.1"}
    told = running.http.post("/v1/sql", running.token(), asked)
    assert (told.status_code, "dampen[sql]" in told.json()["message"]) == (400, True)
