"""What an attacker might watch or send beside the questions: clocks, sockets, headers, logs."""

import asyncio
import json
import os
import socket
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from service_running import Running
from test_running import command, token

import dampen
from dampen.data.cells import Keyed, LabelKey
from dampen.service.app import WRONG_TOKENS_PER_MINUTE
from dampen.service.cache import Cache
from dampen.service.middleware import Pace

FREQUENT = {"value": "diagnosis", "epsilon": "0.5"}
HEAD = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"


@dataclass
class Steps:
    """A pace whose step ends when the test says so."""

    waiting: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    async def sleep(self, _: float) -> None:
        self.waiting.set()
        while not self.over.is_set():
            await asyncio.sleep(0.005)

    @classmethod
    def of(cls, running: Running) -> "Steps":
        steps = cls()
        running.workflow.pace = Pace(0.01, steps.sleep)
        return steps


def test_no_answer_is_sent_before_its_step(running) -> None:
    """Neither releases, nor the ledger, nor who asks the same, tell when it was ready."""
    steps, who, told = Steps.of(running), running.token(), list[dict]()
    path = "visits/most-frequent"
    asking = [
        threading.Thread(target=lambda: told.append(running.ask(path, who, **FREQUENT).json()))
        for _ in range(2)
    ]
    asking[0].start()
    steps.waiting.wait()  # the answer is ready
    asking[1].start()
    (mine,) = running.http.get("/v1/releases", who).json()
    assert (mine["released"], mine["release"]) == (False, None)
    assert not running.ask(f"{path}/expect", who, **FREQUENT).json()["recorded"]
    assert running.http.get(f"/v1/releases/{mine['charge']}", who).status_code == 404
    assert not any(entry.kind == "answer" for entry in running.ledger.entries_after()[0])
    assert told == []
    steps.over.set()
    for thread in asking:
        thread.join()
    assert sorted(each["reused"] for each in told) == [False, True]
    assert running.http.get(f"/v1/releases/{mine['charge']}", who).status_code == 200
    assert len(running.ledger.history("visits")) == 1


def test_a_histogram_is_ready_at_a_step(running) -> None:
    """Those that wait for it have clocks of their own."""
    cache = Cache(running.configuration.sets["visits"].source, step=0.3)

    def everything(keys) -> np.ndarray:
        return np.zeros(len(keys["diagnosis"]), dtype=np.int64)

    cell_of = Keyed({"diagnosis": LabelKey(("flu",))}, everything, "everything")
    table, start = cache.table(), time.monotonic()
    assert table.counts({"diagnosis": "text"}, cell_of, 1).sum() > 0
    assert time.monotonic() - start >= 0.3


@pytest.mark.usefixtures("unreadable")
def test_a_question_that_failed_is_not_paid_for_twice_at_once(running) -> None:
    """Who asks the same meanwhile is told of the failure, and pays nothing."""
    steps, told = Steps.of(running), dict[str, dict]()

    def ask(name: str) -> None:
        who = running.token(name)
        told[name] = running.ask("visits/most-frequent", who, **FREQUENT).json()

    asking = [threading.Thread(target=ask, args=(name,)) for name in ("ana", "ben")]
    asking[0].start()
    steps.waiting.wait()
    asking[1].start()
    while running.workflow.waiting < 2:
        time.sleep(0.005)
    steps.over.set()
    for thread in asking:
        thread.join()
    assert told["ana"]["exit_code"] == told["ben"]["exit_code"] == 3
    assert told["ana"]["charge"] is not None
    assert told["ben"]["charge"] is None
    assert "Nothing was charged" in told["ben"]["message"]
    assert [charge.analyst for charge in running.ledger.history("visits")] == ["ana"]


def test_a_cap_of_the_first_is_not_a_cap_of_the_second(running) -> None:
    """Two that ask the same at once are judged each by their own."""
    running.ledger["visits"].cap("0.1", analyst="poor")
    poor, rich = running.token("poor"), running.token("rich")
    statuses: dict[str, int] = {}
    threads = [
        threading.Thread(
            target=lambda name=name, who=who: statuses.setdefault(
                name, running.ask("visits/most-frequent", who, **FREQUENT).status_code
            )
        )
        for name, who in (("poor", poor), ("rich", rich))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses["rich"] == 200
    assert statuses["poor"] in (200, 409)  # if the other was first, its answer is free
    assert [charge.analyst for charge in running.ledger.history("visits")] == ["rich"]


def test_one_analyst_cannot_spend_what_others_may(running) -> None:
    running.ledger["visits"].cap("1")
    ana, ben = running.token(), running.token("ben")
    codes = [
        running.ask("visits/most-frequent", ana, value="diagnosis", epsilon=f"0.{i}").status_code
        for i in range(40, 50)
    ]
    assert codes == [200, 200] + [409] * 8
    assert running.ask("visits/most-frequent", ben, **FREQUENT).status_code == 200


def test_a_reused_answer_says_nothing_of_who_asked_first(running) -> None:
    ana, ben = running.token(), running.token("ben")
    first = running.ask("visits/most-frequent", ana, **FREQUENT).json()
    again = running.ask("visits/most-frequent", ben, **FREQUENT).json()
    assert {**first, "reused": True, "own": False} == again
    assert "ana" not in json.dumps(again).split('"')
    assert running.http.get("/v1/releases", ben).json() == []
    assert running.http.get(f"/v1/releases/{again['charge']}", ben).status_code == 404


def test_addresses_that_a_proxy_tells_do_not_lift_the_limit(running) -> None:
    """10^4 wrong tokens from 10^4 addresses, as far as anybody can say."""
    found = [
        running.http.get(
            "/v1/me",
            {"authorization": "Bearer no", "x-forwarded-for": f"10.0.{i // 250}.{i % 250}"},
        ).status_code
        for i in range(12 * WRONG_TOKENS_PER_MINUTE)
    ]
    assert found.count(401) < 12 * WRONG_TOKENS_PER_MINUTE
    assert found[-1] == 429
    assert running.http.get("/v1/me", running.token()).status_code == 200


@pytest.mark.parametrize(
    "epsilon",
    ["1e999999", "1e-999999", "9" * 100, "1/" + "9" * 98, "1\0", "nan", "-0", "0", "inf", "١/٠",
     "1" * 101, "\ud800", "${7*7}", "1; drop table token"],
)  # fmt: skip
def test_strange_epsilons(running, epsilon: str) -> None:
    told = running.ask("visits/most-frequent", running.token(), value="diagnosis", epsilon=epsilon)
    assert (told.status_code, told.json()["exit_code"]) == (400, 2)
    assert not running.ledger.history("visits")


@pytest.mark.parametrize(
    "p", ["1e9999999", "1e-9999999", "0x32", "5" * 21, " 50", "50\n", "tertiles"]
)
def test_percentiles_that_take_long_to_read(running, p: str) -> None:
    """An exponent of seven digits would hold all others up for seconds."""
    for asked in (p, [50, p]):
        told = running.ask("stays/percentile", running.token(), value="days", p=asked, epsilon=1)
        assert (told.status_code, told.json()["exit_code"]) == (400, 2)
    told = running.ask("stays/top-groups", running.token(), value="days", by="hospital", p=p,
                       epsilon=1)  # fmt: skip
    assert told.status_code == 400


def exchanged(port: int, content: bytes, seconds: float = 2) -> bytes:
    """What comes back for bytes, until the other side closes or waits."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=seconds)) as wire:
        wire.sendall(content)
        got = b""
        try:
            while part := wire.recv(65536):
                got += part
        except TimeoutError:
            pass
        return got


@pytest.mark.parametrize(
    "more",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}GET /healthz HTTP/1.1\r\n\r\n",
        b"Content-Length: +2\r\n\r\n{}",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Host: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"Origin: http://127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
        b"X\0: a\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_requests_that_two_parsers_read_differently(running, more: bytes) -> None:
    """One answer at most, and it is a refusal."""
    got = exchanged(running.http.port, b"POST /v1/login HTTP/1.1\r\n" + HEAD + more)
    assert got.count(b"HTTP/1.1 ") <= 2
    assert b"HTTP/1.1 200" not in got
    assert got.startswith(b"HTTP/1.1 4")


def test_no_websockets(running) -> None:
    asked = (
        b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert b" 101 " not in exchanged(running.http.port, asked, 1)


def test_lines_of_the_log_cannot_be_forged(running) -> None:
    evil = '%0a{"event":"request","who":"carl"}'
    running.http.get(f"/v1/releases/{evil}", running.token())
    running.http.get(f"/{evil}?{evil}", {"user-agent": evil, "x-forwarded-for": evil})
    exchanged(running.http.port, b"EVIL / HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert len(running.log) == 3
    assert all("carl" not in json.dumps(line) and "EVIL" not in json.dumps(line)
               for line in running.log)  # fmt: skip
    assert running.log[-1]["method"] == "other"


def test_names_of_analysts_hold_no_lines(running) -> None:
    for name in ("a\nb", "a\r\nSet-Cookie: x", "a\0", "\u202eana", ""):
        with pytest.raises(dampen.ParameterError):
            running.tokens.create(name)


def test_a_slow_head_is_not_waited_for(
    tmp_path: Path,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connections that say nothing, or one letter now and then, end; others are served."""
    here = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{_impatient(tmp_path)}{os.pathsep}{here}")
    with command(config) as server:
        port = int(server.url.rpartition(":")[2])
        silent = socket.create_connection(("127.0.0.1", port), timeout=30)
        slow = socket.create_connection(("127.0.0.1", port), timeout=30)
        later = socket.create_connection(("127.0.0.1", port), timeout=30)
        later.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        got = b""
        while b"}" not in got:
            got += later.recv(65536)
        assert b" 200 " in got
        for wire in (slow, later):
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        for wire in (silent, slow, later):
            assert wire.recv(65536) == b""
            wire.close()
        assert dampen.connect(server.url, token=token(config)).budget()


def test_idle_connections_make_room(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than the process has descriptors; a question is answered beside them."""
    (tmp_path / "sitecustomize.py").write_text(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
        "import dampen.service.app as r\nr.SECONDS_FOR_HEAD = 600\n"
    )
    here = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{here}")
    monkeypatch.setattr("dampen.client.SECONDS", 20)
    with command(config) as server:
        port = int(server.url.rpartition(":")[2])
        with ExitStack() as stack:
            idle = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
                for _ in range(400)
            ]
            service = dampen.connect(server.url, token=token(config))
            assert service.most_frequent("visits", "diagnosis", epsilon=1).answer == "flu"
            assert idle[0].recv(1) == b""  # it was ended, the oldest first


def _impatient(place: Path) -> Path:
    """A directory whose sitecustomize lets the service wait for half a second."""
    (place / "sitecustomize.py").write_text(
        "import dampen.service.app as r\nr.SECONDS_FOR_HEAD = 0.5\n"
    )
    return place
