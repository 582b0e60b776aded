"""Two hundred analysts at once against a real server on this machine; a million rows.

pytest tests/service/test_load.py -m slow -s        # prints what it measured
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dampen
from dampen.ledger import Charge, Ledger, verify
from dampen.service.tokens import Tokens

sys.path.insert(0, str(Path(__file__).parent))
from test_running import Process, command

ROWS = 10**6
ANALYSTS = 200
QUESTIONS = 50
BUDGET = 49
"""Enough for nearly all questions, of about a hundredth each."""
CONFIGURATION = """ledger = "ledger.sqlite3"

[[data]]
name = "big"
budgets = ["values", "rows"]
files = ["big.parquet"]
questions = ["percentile", "most-frequent"]

[data.columns]
pay = { lower = 0, upper = 10000, step = 10 }
ward = { values = ["A", "B", "C", "D", "E"] }

[service]
requests-per-minute = 100000
workers = 16
"""


def written(place: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    table = pa.table({
        "pay": random.integers(0, 10_000, ROWS),
        "ward": np.array(["A", "B", "C", "D", "E"])[random.integers(0, 5, ROWS)],
    })  # fmt: skip
    pq.write_table(table, place / "big.parquet")
    ledger = Ledger(place / "ledger.sqlite3")
    ledger.create("values", epsilon=BUDGET, neighbours="replace-one")
    ledger.create("rows", epsilon=BUDGET, neighbours="add-remove-row")
    config = place / "dampen.toml"
    config.write_text(CONFIGURATION)
    return config


def question(who: int, i: int) -> tuple[str, dict]:
    """Different ones, so that none is answered from the record."""
    epsilon = str(Fraction(1, 100) + Fraction(who * QUESTIONS + i, 10**9))
    if i % 2:
        return "most-frequent", {"value": "ward", "epsilon": epsilon}
    return "percentile", {"value": "pay", "p": 1 + (who + i) % 99, "epsilon": epsilon}


@dataclass(frozen=True, slots=True)
class Reply:
    """What an analyst got, and how long it took."""

    seconds: float
    status: int
    body: bytes

    @property
    def told(self) -> dict:
        return json.loads(self.body)

    @property
    def charge(self) -> str:
        return self.told["charge"] or ""


class Analyst(asyncio.Protocol):
    """Asks one question after the other on one connection, until nobody answers.

    Requests are made before, and replies are read after all was asked: what the analysts do counts
    against the server, on whose processors they run.
    """

    def __init__(self, who: int, token: str, pause: float, seen: list[Reply]) -> None:
        self.requests = [request(who, i, token) for i in range(QUESTIONS)][::-1]
        self.thought = np.random.default_rng(who).uniform(0, 2 * pause, QUESTIONS).tolist()
        self.seen, self.got, self.start = seen, b"", 0.0
        self.loop = asyncio.get_running_loop()
        self.over = self.loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.think()

    def think(self) -> None:
        if not self.requests:
            self.transport.close()
        elif pause := self.thought.pop():
            self.loop.call_later(pause, self.ask)
        else:
            self.ask()

    def ask(self) -> None:
        self.start = time.perf_counter()
        self.transport.write(self.requests.pop())

    def data_received(self, data: bytes) -> None:
        self.got += data
        head, end, body = self.got.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.partition(b"content-length: ")[2].partition(b"\r")[0]):
            self.seen.append(Reply(time.perf_counter() - self.start, int(head[9:12]), body))
            self.got = b""
            self.think()

    def connection_lost(self, _: Exception | None) -> None:
        self.over.set_result(None)


def request(who: int, i: int, token: str) -> bytes:
    kind, body = question(who, i)
    content = json.dumps(body)
    return (
        f"POST /v1/datasets/big/{kind} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n{content}"
    ).encode()


async def analyst(port: int, who: int, token: str, pause: float, seen: list[Reply]) -> None:
    loop = asyncio.get_running_loop()
    _, one = await loop.create_connection(
        lambda: Analyst(who, token, pause, seen), "127.0.0.1", port
    )
    await one.over


def memory_of(process: int) -> float:
    """MB that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def seconds_of_cpu(process: int) -> float:
    """That a process has used."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


async def all_analysts(
    server: Process, tokens: list[str], pause: float, kill_after: int | None = None
) -> tuple[list[Reply], list[float]]:
    """What all of them got, and the memory of the server meanwhile."""
    seen: list[Reply] = []
    held: list[float] = []
    asking = [analyst(port_of(server), i, t, pause, seen) for i, t in enumerate(tokens)]
    working = asyncio.gather(*asking)
    while not working.done():
        if kill_after is not None and len(seen) >= kill_after:
            server.kill(signal.SIGKILL)
            break
        held.append(memory_of(server.process.pid))
        await asyncio.sleep(0.2 if kill_after else 1)
    await working
    return seen, held


def port_of(server: Process) -> int:
    return int(server.url.rpartition(":")[2])


def warmed(server: Process, token: str) -> int:
    """Has the rows read, once; gives the number of charges that this took."""
    seen: list[Reply] = []
    asyncio.run(analyst(port_of(server), ANALYSTS + 1, token, 0.0, seen))
    assert {reply.status for reply in seen} == {200}
    return len(seen)


def tokens_at(place: Path) -> list[str]:
    store = Tokens(place.resolve() / "service.sqlite3")
    return [store.create(f"analyst{i}") for i in range(ANALYSTS)]


def charges_of(ledger: Ledger) -> dict[str, Charge]:
    """Every charge; nobody overspent, and the chain is whole."""
    verify(ledger)
    found: dict[str, Charge] = {}
    for name in ("values", "rows"):
        history = ledger.history(name)
        found |= {charge.id: charge for charge in history}
        spent = sum((charge.epsilon or Fraction(0) for charge in history), Fraction(0))
        assert ledger.spent(name) == spent <= BUDGET
    return found


@pytest.mark.slow
def test_two_hundred_analysts_ask_ten_thousand_questions(tmp_path: Path) -> None:
    """Nobody overspends, no charge is lost, memory is steady.

    Each waits for an answer and asks on at once; $DAMPEN_PAUSE seconds of thought may be given to
    them.  The time of answers is printed, and judged by who reads it: other work on the machine
    counts.
    """
    config, tokens = written(tmp_path), tokens_at(tmp_path)
    with command(config) as server:
        before = warmed(server, tokens[0])
        start, busy = time.perf_counter(), seconds_of_cpu(server.process.pid)
        mine = time.process_time()
        pause = float(os.environ.get("DAMPEN_PAUSE", "0"))
        seen, held = asyncio.run(all_analysts(server, tokens, pause))
        seconds, mine = time.perf_counter() - start, time.process_time() - mine
        busy = seconds_of_cpu(server.process.pid) - busy
        assert server.kill(signal.SIGTERM) == 0
    charges = charges_of(Ledger(tmp_path / "ledger.sqlite3"))
    granted = [reply.charge for reply in seen if reply.status == 200]
    assert len(seen) == ANALYSTS * QUESTIONS
    assert {reply.status for reply in seen} == {200, 409}  # the budgets end before the questions
    assert len(set(granted)) == len(granted)
    assert set(granted) <= charges.keys()
    assert len(charges) - len(granted) == before
    late = np.array(held[len(held) // 2 :])
    assert late.max() - late.min() < 50
    times = np.sort([reply.seconds for reply in seen if reply.status == 200])
    print(
        f"\n{len(seen)} questions of {ANALYSTS} analysts in {seconds:.0f} s, {len(granted)} "
        f"answered: median {np.median(times):.3f} s, p99 {times[int(len(times) * 0.99)]:.3f} s, "
        f"largest {times[-1]:.3f} s; {1000 * busy / len(seen):.2f} ms of the server's processors a "
        f"question, {1000 * mine / len(seen):.2f} ms of the analysts'; "
        f"memory {held[0]:.0f} to {held[-1]:.0f} MB"
    )


@pytest.mark.slow
def test_a_kill_among_two_hundred_analysts_loses_no_charge(tmp_path: Path) -> None:
    """Every answer that was sent was paid for, and the ledger gives the same answer again."""
    config, tokens = written(tmp_path), tokens_at(tmp_path)
    with command(config) as server:
        warmed(server, tokens[0])
        seen, _ = asyncio.run(all_analysts(server, tokens, 0.0, kill_after=3000))
    assert 3000 <= len(seen) < ANALYSTS * QUESTIONS
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    charges = charges_of(ledger)
    sent = {reply.charge: reply.told for reply in seen if reply.status == 200}
    assert sent.keys() <= charges.keys()
    with command(config) as server:
        for i in range(0, ANALYSTS, 20):
            service = dampen.connect(server.url, token=tokens[i])
            mine = {each["charge"]: each["release"] for each in service.releases(limit=200)}
            own = {c for c in sent if charges[c].analyst == f"analyst{i}"}
            assert own <= mine.keys()
            assert all(mine[c]["answer"] == sent[c]["answer"] for c in own)
    print(f"\nkilled after {len(seen)} replies: {len(charges) - len(sent)} charges had no reader")
