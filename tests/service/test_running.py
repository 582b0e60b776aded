"""The command itself, the client, several servers, SIGTERM and SIGKILL."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import dampen
from conftest import started
from dampen import BudgetError, DataError, ParameterError
from dampen.cli.demo import RELATIONS
from dampen.client import ServiceError
from dampen.ledger import Ledger, verify
from dampen.service.tokens import Tokens
from engines.holders import postgres_server


@dataclass
class Process:
    """`dampen serve` as a process of its own."""

    process: subprocess.Popen[str]
    url: str
    link: str

    def kill(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait()


@contextmanager
def command(config: Path) -> Iterator[Process]:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    asked = [sys.executable, "-m", "dampen", "serve", str(config), "--port", "0"]
    process = subprocess.Popen(
        asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        url = re.search(r"http://\S+:\d+", process.stdout.readline())
        link = re.search(r"login=(\S+)", process.stdout.readline())
        assert url and link
        yield Process(process, url[0], link[1])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def token(config: Path, analyst: str = "ana") -> str:
    return Tokens(config.resolve().parent / "service.sqlite3").create(analyst)


def test_the_client_in_three_lines(running, request: pytest.FixtureRequest) -> None:
    url = f"http://127.0.0.1:{running.http.port}"
    service = dampen.connect(url, token=running.token()["authorization"].split()[1])
    made = service.percentile("salaries", "salary", p=50, epsilon="1/3")
    assert made.epsilon == Fraction(1, 3)
    assert 10_000 < made.answer < 200_000
    assert made.charge == running.ledger.history("salaries")[0].id
    frequent = service.most_frequent("visits", "diagnosis", epsilon=5)
    assert frequent.answer == "flu"
    assert (frequent.accuracy.unit, frequent.accuracy.chance) == ("rows", False)
    assert frequent.accuracy.error == 1
    assert service.top_groups("stays", "days", by="hospital", epsilon=5).answer == "H2"
    assert service.top_k("follows", k=1, epsilon=5).answer == [0]
    tree = service.tree("census", target="income", epsilon=5, max_depth=2)
    person = {"age": [30], "workclass": ["?"]}
    assert dampen.TreeClassifier.from_json(tree.to_json()).predict_table(person)[0] == "<=50K"
    assert len(service.releases()) == 5
    assert service.expect("visits", "most-frequent", value="diagnosis", epsilon=5)["recorded"]
    assert {each["name"] for each in service.budget()} == {s["name"] for s in service.datasets()}
    with pytest.raises(ParameterError, match="no public column"):
        service.most_frequent("visits", "x", epsilon=1)
    with pytest.raises(BudgetError, match="at most epsilon 5"):
        service.most_frequent("visits", "diagnosis", epsilon=6)
    running.config.with_name("visits.csv").write_text("diagnosis,day\nx,1\n")
    assert service.most_frequent("visits", "diagnosis", epsilon="0.2").answer in ("flu", "cold")
    request.getfixturevalue("unreadable")
    with pytest.raises(DataError, match="Ask the curator to look up"):
        service.most_frequent("visits", "diagnosis", epsilon="0.1")
    assert "dampen_" not in repr(service)


def test_the_client_keeps_tokens_from_the_clear() -> None:
    for url in ("http://dampen.example.org", "ftp://x", "dampen"):
        with pytest.raises(ParameterError, match="https://"):
            dampen.connect(url, token="t")
    with pytest.raises(ServiceError, match="did not answer"):
        dampen.connect("http://127.0.0.1:9", token="t")


def test_a_stop_finishes_what_was_begun(config: Path) -> None:
    config.write_text(config.read_text().replace("step = 0.02", "step = 1"))
    with command(config) as server:
        service = dampen.connect(server.url, token=token(config))
        answers: list[object] = []

        def ask() -> None:
            answers.append(service.most_frequent("visits", "diagnosis", epsilon=1).charge)

        thread = threading.Thread(target=ask)
        thread.start()
        ledger = Ledger(config.parent / "ledger.sqlite3")
        while not ledger.history("visits"):
            time.sleep(0.01)
        assert server.kill(signal.SIGTERM) == 0
        thread.join()
        assert answers == [ledger.history("visits")[0].id]


def ask_for_ever(url: str, secret: str, who: int, answered: list[str]) -> None:
    """Asks one question after the other until nobody answers."""
    try:
        service = dampen.connect(url, token=secret)
        for i in range(10_000):
            made = service.most_frequent(
                "visits", "diagnosis", epsilon=Fraction(1, 10**6 + who * 10_000 + i)
            )
            answered.append(str(made.charge))
    except (ServiceError, json.JSONDecodeError, ConnectionError):
        return


def kill_in_the_middle(config: Path, analysts: int, seconds: float) -> int:
    """After SIGKILL the ledger holds every charge whose answer was sent, and is whole."""
    answered: list[str] = []
    secrets = [token(config, f"a{i}") for i in range(analysts)]
    with command(config) as server:
        threads = [
            threading.Thread(target=ask_for_ever, args=(server.url, secret, i, answered))
            for i, secret in enumerate(secrets)
        ]
        for thread in threads:
            thread.start()
        while len(answered) < analysts:
            time.sleep(0.01)
        time.sleep(seconds)
        server.kill(signal.SIGKILL)
        for thread in threads:
            thread.join()
    ledger = Ledger(config.parent / "ledger.sqlite3")
    verify(ledger)
    assert set(answered) <= {charge.id for charge in ledger.history("visits")}
    with command(config) as server:
        service = dampen.connect(server.url, token=secrets[0])
        mine = {each["charge"] for each in service.releases(limit=200)}
        assert mine <= {charge.id for charge in ledger.history("visits")}
        assert service.most_frequent("visits", "diagnosis", epsilon=1).answer == "flu"
    return len(answered)


def test_after_a_kill_every_answer_was_paid_for(config: Path) -> None:
    assert kill_in_the_middle(config, 4, 0.3) >= 4


def test_several_servers_on_one_ledger_never_overspend(config: Path) -> None:
    servers = [started(config) for _ in range(2)]
    try:
        who = servers[0].token()
        statuses: list[int] = []

        def ask(which: int, first: int) -> None:
            for i in range(first, first + 30):
                epsilon = f"{2000 + i}/10000"
                asked = servers[which].ask("visits/most-frequent", who, value="diagnosis",
                                           epsilon=epsilon)  # fmt: skip
                statuses.append(asked.status_code)

        threads = [threading.Thread(target=ask, args=(i % 2, 30 * i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger = servers[0].ledger
        assert set(statuses) == {200, 409}
        assert statuses.count(200) == len(ledger.history("visits"))
        assert ledger.spent("visits") <= 10
        # What one server released, the other gives again.
        again = ledger.history("visits")[0]
        for server in servers:
            asked = server.ask("visits/most-frequent", who, value="diagnosis",
                               epsilon=str(again.epsilon)).json()  # fmt: skip
            assert (asked["charge"], asked["reused"]) == (again.id, True)
    finally:
        for server in servers:
            server.stop()


def test_two_servers_on_one_postgresql_never_overspend(
    config: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two processes, each with its own tokens, and one budget between them."""
    address = postgres_server().new_schema()
    ledger = Ledger(address)
    for name, relation in RELATIONS.items():
        ledger.create(name, epsilon=10, neighbours=relation, dataset=name)
    config.write_text(config.read_text().replace('"ledger.sqlite3"', json.dumps(address)))
    configs = [
        shutil.copytree(config.parent, tmp_path_factory.mktemp("server"), dirs_exist_ok=True)
        / config.name
        for _ in range(2)
    ]
    paid: list[list[str]] = [[], []]

    def ask(which: int, url: str, secret: str) -> None:
        service = dampen.connect(url, token=secret)
        for i in range(40 * which, 40 * which + 40):
            with suppress(BudgetError):
                made = service.most_frequent("visits", "diagnosis", epsilon=f"{2000 + i}/10000")
                paid[which].append(str(made.charge))

    with command(configs[0]) as one, command(configs[1]) as two:
        threads = [
            threading.Thread(target=ask, args=(i, server.url, token(its)))
            for i, (server, its) in enumerate([(one, configs[0]), (two, configs[1])])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(0 < len(each) < 40 for each in paid)
    assert sorted(paid[0] + paid[1]) == sorted(charge.id for charge in ledger.history("visits"))
    assert 9 < ledger.spent("visits") <= 10


def test_a_long_answer_is_fetched_later(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    running = serving(settings="\n[service]\nstep = 0.01\npatience = 0.2\n")
    slow = running.workflow._caches["visits"]
    original, gate = slow.table, threading.Event()

    def held() -> object:
        gate.wait()
        return original()

    monkeypatch.setattr(slow, "table", held)
    who = running.token()
    late = running.ask("visits/most-frequent", who, value="diagnosis", epsilon=1)
    assert (late.status_code, late.json()["exit_code"]) == (504, 1)
    gate.set()
    while not running.http.get("/v1/releases", who).json():
        time.sleep(0.01)
    (mine,) = running.http.get("/v1/releases", who).json()
    assert running.http.get(f"/v1/releases/{mine['charge']}", who).status_code in (200, 404)


def test_too_many_questions_are_turned_away(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    running = serving(settings="\n[service]\nwaiting = 2\npatience = 0.1\n")
    gate = threading.Event()
    draw = running.workflow.draw
    monkeypatch.setattr(running.workflow, "draw", lambda group: draw(group) if gate.wait() else [])
    who = running.token()
    codes = [
        running.ask("visits/most-frequent", who, value="diagnosis", epsilon=i).status_code
        for i in range(1, 5)
    ]
    gate.set()
    assert codes == [504, 504, 503, 503]
