"""Two hundred analysts at once against a real server on this machine; a million rows.

pytest tests/serve/test_load.py -m slow -s        # prints what it measured
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dampen
from dampen.ledger import Charge, Ledger, verify
from dampen.serve.store import Store

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

[data.public]
questions = ["percentile", "most-frequent"]

[data.public.columns]
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
        return "most-frequent", {"column": "ward", "epsilon": epsilon}
    return "percentile", {"column": "pay", "p": 1 + (who + i) % 99, "epsilon": epsilon}


async def exchange(reader, writer, path: str, token: str, body: dict) -> tuple[int, dict]:
    """One request on a connection that stays open."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    writer.write(head.encode() + content)
    await writer.drain()
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := await reader.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return status, json.loads(await reader.readexactly(length))


@dataclass(frozen=True)
class Reply:
    """What an analyst got, and how long it took."""

    seconds: float
    status: int
    told: dict

    @property
    def charge(self) -> str:
        return self.told["charge"] or ""


async def analyst(port: int, who: int, token: str, pause: float, seen: list[Reply]) -> None:
    """Asks one question after the other, and thinks in between, until nobody answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    random = np.random.default_rng(who)
    with suppress(ConnectionError, asyncio.IncompleteReadError, IndexError):
        for i in range(QUESTIONS):
            await asyncio.sleep(random.uniform(0, 2 * pause))
            kind, body = question(who, i)
            start = time.perf_counter()
            status, told = await exchange(reader, writer, f"/v1/datasets/big/{kind}", token, body)
            seen.append(Reply(time.perf_counter() - start, status, told))
    writer.close()


def memory_of(process: int) -> float:
    """MB that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def seconds_of_cpu(process: int) -> float:
    """That a process has used, its start and its compilation included."""
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
    store = Store(place.resolve() / "service.sqlite3")
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
        start = time.perf_counter()
        pause = float(os.environ.get("DAMPEN_PAUSE", "0"))
        seen, held = asyncio.run(all_analysts(server, tokens, pause))
        seconds = time.perf_counter() - start
        busy = seconds_of_cpu(server.process.pid)
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
        f"largest {times[-1]:.3f} s; {1000 * busy / len(seen):.1f} ms of the server's processors a "
        f"question; memory {held[0]:.0f} to {held[-1]:.0f} MB"
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
