"""Two hundred analysts at once against a real server on this machine; a million rows.

pytest tests/serve/test_load.py -m slow -s        # prints what it measured
"""

import asyncio
import json
import os
import resource
import signal
import statistics
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dampen.ledger import Ledger, verify
from dampen.serve.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from test_running import command

ROWS = 10**6
ANALYSTS = 200
QUESTIONS = 50
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
    ledger.create("values", epsilon=30, neighbours="replace-one")
    ledger.create("rows", epsilon=30, neighbours="add-remove-row")
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


async def analyst(port: int, who: int, token: str, pause: float) -> list[tuple[float, int, str]]:
    """Asks one question after the other, and thinks in between."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    random, seen = np.random.default_rng(who), []
    await asyncio.sleep(random.uniform(0, 2 * pause))
    for i in range(QUESTIONS):
        kind, body = question(who, i)
        start = time.perf_counter()
        status, told = await exchange(reader, writer, f"/v1/datasets/big/{kind}", token, body)
        seen.append((time.perf_counter() - start, status, told["charge"] or ""))
        await asyncio.sleep(random.uniform(0, 2 * pause))
    writer.close()
    return seen


def memory_of(process: int) -> float:
    """MB that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def all_analysts(port: int, tokens: list[str], process: int, pause: float):
    working = [
        asyncio.create_task(analyst(port, i, token, pause)) for i, token in enumerate(tokens)
    ]
    held = []
    while not all(task.done() for task in working):
        held.append(memory_of(process))
        await asyncio.sleep(1)
    return [each for task in working for each in task.result()], held


@pytest.mark.slow
def test_two_hundred_analysts_ask_ten_thousand_questions(tmp_path: Path) -> None:
    """Nobody overspends, no charge is lost; each analyst thinks for three seconds on average.

    The time of answers is printed, and judged by who reads it: other work on the machine counts.
    """
    config = written(tmp_path)
    store = Store(tmp_path.resolve() / "service.sqlite3")
    tokens = [store.create(f"analyst{i}") for i in range(ANALYSTS)]
    with command(config) as server:
        port = int(server.url.rpartition(":")[2])
        asyncio.run(analyst(port, ANALYSTS + 1, tokens[0], 0.0))  # reads the rows, once
        start = time.perf_counter()
        pause = float(os.environ.get("DAMPEN_PAUSE", "3"))
        seen, held = asyncio.run(all_analysts(port, tokens, server.process.pid, pause))
        seconds = time.perf_counter() - start
        assert server.kill(signal.SIGTERM) == 0
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    verify(ledger)
    charges = {c.id: c for name in ("values", "rows") for c in ledger.history(name)}
    granted = [charge for _, status, charge in seen if status == 200]
    assert {status for _, status, _ in seen} == {200, 409}  # the budgets end before the questions
    assert len(set(granted)) == len(granted)
    assert set(granted) <= charges.keys()
    assert len(charges) - len(granted) == QUESTIONS
    for name in ("values", "rows"):
        spent = sum((c.epsilon or Fraction(0) for c in ledger.history(name)), Fraction(0))
        assert ledger.spent(name) == spent <= 30
    answered = sorted(each for each, status, _ in seen if status == 200)
    late = np.array(held[len(held) // 2 :])
    assert late.max() - late.min() < 200
    print(
        f"\n{len(seen)} questions of {ANALYSTS} analysts in {seconds:.0f} s, {len(granted)} "
        f"answered: median {statistics.median(answered):.3f} s, p99 "
        f"{answered[int(len(answered) * 0.99)]:.3f} s, largest {answered[-1]:.3f} s; memory "
        f"{held[0]:.0f} to {held[-1]:.0f} MB"
    )
