"""The brake: a freeze waits for no question, and ends those that wait; analysts take turns."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from service_running import Response, Running

from dampen.service.middleware import Turns

SETTINGS = "\n[service]\nstep = 0.01\nrequests-per-minute = 100000\nworkers = {}\n"
SECONDS = 20
"""For what must not wait: on the other side of the gate it would wait for ever."""


@contextmanager
def held(
    running: Running, monkeypatch: pytest.MonkeyPatch, only: str = ""
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Nothing is drawn, or no graph, until the gate opens; says when the first one is there."""
    gate = threading.Event()
    there = threading.Event()
    draw = running.workflow.draw

    def later(group: Any) -> Any:
        if only in ("", group[0].prepared.asked.question.data):
            there.set()
            gate.wait()
        return draw(group)

    monkeypatch.setattr(running.workflow, "draw", later)
    try:
        yield gate, there
    finally:
        gate.set()


def asking(
    running: Running, pool: ThreadPoolExecutor, who: dict[str, str], count: int, first: int = 1
) -> "list[Future[Response]]":
    """Graph questions of one analyst, all different, once all of them are on their way."""
    before = running.workflow.waiting
    sent = [
        pool.submit(running.ask, "follows/top-k", who, k=1, epsilon=f"0.01{first + i:03d}")
        for i in range(count)
    ]
    while running.workflow.waiting < before + count:
        time.sleep(0.005)
    return sent


def test_one_of_each_then_the_next_of_each() -> None:
    turns: Turns[str] = Turns()
    for thing in ("a1", "a2", "a3", "b1", "c1", "c2"):
        turns.add(thing[0], thing)
    assert len(turns) == 6
    assert turns.take(4) == ["a1", "b1", "c1", "a2"]
    turns.add("b", "b2")
    assert turns.remove(lambda thing: thing == "c2") == ["c2"]
    assert turns.take(9) == ["a3", "b2"]
    assert turns.take(1) == []


def test_a_freeze_waits_for_no_question_and_ends_those_that_wait(
    serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serving(settings=SETTINGS.format(8))
    ana, cleo = running.token(), running.token("cleo", "curator")
    with held(running, monkeypatch) as (gate, there), ThreadPoolExecutor(70) as pool:
        sent = asking(running, pool, ana, 60)
        there.wait()
        control = [
            pool.submit(running.http.get, "/healthz"),
            pool.submit(running.http.get, "/v1/budget", ana),
            pool.submit(running.http.post, "/v1/budgets/follows/freeze", cleo, {"why": "enough"}),
        ]
        try:
            assert [each.result(SECONDS).status_code for each in control] == [200] * 3
        finally:
            gate.set()
        told = [each.result().json() for each in sent]
    refused = [each for each in told if each.get("exit_code") == 2]
    assert {each["message"] for each in refused} == {
        "Budget 'follows' is frozen. Nothing was charged."
    }
    charges = len(running.ledger.history("follows"))
    assert charges == 60 - len(refused) <= 2


def test_light_users_do_not_wait_for_heavy_users(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    running = serving(settings=SETTINGS.format(4))
    ana, ben = running.token(), running.token("ben")
    with held(running, monkeypatch) as (gate, _), ThreadPoolExecutor(40) as pool:
        asking(running, pool, ana, 30)
        asking(running, pool, ben, 2, first=500)
        gate.set()
    order = [charge.analyst for charge in running.ledger.history("follows")]
    assert len(order) == 32
    assert max(i for i, who in enumerate(order) if who == "ben") <= 5


def test_questions_about_tables_wait_for_no_graph(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long questions have a quarter of the workers."""
    running = serving(settings=SETTINGS.format(8))
    ana, ben = running.token(), running.token("ben")
    with held(running, monkeypatch, "edges") as (gate, there), ThreadPoolExecutor(40) as pool:
        asking(running, pool, ana, 30)
        there.wait()
        quick = pool.submit(running.ask, "visits/most-frequent", ben, value="diagnosis", epsilon=1)
        try:
            assert quick.result(SECONDS).status_code == 200
        finally:
            gate.set()


def test_an_analyst_has_so_many_questions_at_a_time(
    serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serving(settings=SETTINGS.format(4) + "waiting-each = 3\n")
    ana, ben = running.token(), running.token("ben")
    with held(running, monkeypatch) as (gate, _), ThreadPoolExecutor(10) as pool:
        sent = asking(running, pool, ana, 3)
        more = running.ask("follows/top-k", ana, k=1, epsilon="0.5")
        assert more.status_code == 429
        assert "Too many of your questions are waiting. Nothing was charged." in str(more.json())
        others = asking(running, pool, ben, 1, first=900)
        gate.set()
        assert {each.result().status_code for each in sent + others} == {200}
    assert running.ask("follows/top-k", ana, k=1, epsilon="0.5").status_code == 200


def test_a_single_question_does_not_wait(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges wait for others to share a transaction, but only if there are others."""
    monkeypatch.setattr("dampen.service.workflow.GATHERING", 10**6)
    running = serving(settings=SETTINGS.format(4))
    asked = {"value": "diagnosis", "epsilon": "0.5"}
    assert running.ask("visits/most-frequent", running.token(), **asked).status_code == 200
