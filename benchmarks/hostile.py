"""What hostile hands can slow down, fill or measure, each beside its control in the same run.

    python benchmarks/hostile.py         everything
    python benchmarks/hostile.py times   one of times, freeze, connections, answers, refusals, locks

- times: processor time of every class of question on data of one public shape and very different
  content: an answer of a service leaves later than the slowest (`dampen.service.questions`).
- freeze: seconds of a freeze and of `/healthz` alone, and behind 60 graph questions of one analyst.
- connections: seconds of a question alone, and beside 1,060 idle connections to a service with
  1,024 descriptors; tracebacks in its log.
- answers: a ledger of 10^6 entries: opening it against verifying all of it; 200 old answers against
  a bare SQLite query; 50 questions a second with and without pages of old answers beside them.
- refusals: bytes that 2,000 refusals add to a ledger, against 2,000 charges.
- locks: seconds of a charge on PostgreSQL alone, and while another role of an analyst, made as
  docs/postgres.md says, keeps the ledger locked: for ever, and by four sessions in turns.
"""

import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

import dampen
from dampen.cli.demo import write_service
from dampen.ledger import verify, worker
from dampen.service.tokens import Tokens
from ledger import charge, generated, new_ledger

ROWS = 10**6
NODES = 2000
IDLE = 1060
GRAPHS = 60


def processor_time(work: Callable[[], object], repeat: int = 3) -> float:
    """The median, after one run that is not counted."""
    work()
    taken = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "all equal": np.full(ROWS, 500.0),
        "five values": rng.integers(0, 5, ROWS) * 20000.0,
        "no ties": rng.permutation(np.linspace(0, 99999, ROWS)),
        "two ends": np.where(rng.random(ROWS) < 0.5, 0.0, 100000.0),
    }


def table_questions(values: Any) -> dict[str, Callable[[], object]]:
    names = ["a", "b", "c"]
    group = np.array(names)[(values * 7).astype(int) % 3]
    facts = {
        "x": dampen.number(lower=0, upper=100000, step=1),
        "g": dampen.categories(names),
    }
    table = dampen.dataset({"x": values, "g": group}, columns=facts)
    open_ended = dampen.dataset({"x": values}, columns={"x": dampen.number()})
    many = list(range(1, 100))

    def nine(upper: int) -> Callable[[], object]:
        facts = {"x": dampen.number(lower=0, upper=upper, step=1)}
        few = dampen.dataset({"x": values[:10000]}, columns=facts)
        return lambda: few.percentile("x", p=many[9::10], epsilon="0.1")

    return {
        "percentile": lambda: table.percentile("x", p=50, epsilon=1),
        "9 percentiles": lambda: table.percentile("x", p=many[9::10], epsilon=1),
        "9 percentiles of 10^4 rows, 10^6 points": nine(10**6),
        "9 percentiles of 10^4 rows, 10^7 points": nine(10**7 - 1),
        "99 percentiles": lambda: table.percentile("x", p=many, epsilon=1),
        "percentile without bounds": lambda: open_ended.percentile("x", p=50, epsilon=1),
        "most-frequent": lambda: table.most_frequent("g", epsilon=1),
        "mean": lambda: table.mean("x", epsilon=1),
        "histogram": lambda: table.histogram("g", epsilon=1),
        "top-groups": lambda: table.top_groups("x", by="g", epsilon=1),
    }


def graphs() -> dict[str, list[tuple[int, int]]]:
    rng = np.random.default_rng(1)
    ring = [(i, (i + j) % NODES) for j in range(1, 11) for i in range(NODES)]
    return {
        "no edge": [(0, 0)],
        "a star": [(0, i) for i in range(1, NODES)],
        "a ring": ring,
        "a clique": [(i, j) for i in range(200) for j in range(i)],
        "random": [(int(a), int(b)) for a, b in rng.integers(0, NODES, (20000, 2))],
    }


def times() -> None:
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, float]] = {}
    for content, values in columns().items():
        for name, ask in table_questions(values).items():
            found.setdefault(name, {})[content] = processor_time(ask)
    for content, edges in graphs().items():
        pairs = np.array(edges)
        ends = (pairs[:, 0], pairs[:, 1])
        for metric in ("betweenness", "pagerank"):

            def ask(ends: Any = ends, metric: str = metric) -> object:
                return dampen.top_k(ends, nodes=list(range(NODES)), k=10, metric=metric, epsilon=5)

            found.setdefault(f"top-k, {metric}", {})[content] = processor_time(ask)
    rng = np.random.default_rng(2)
    features = rng.integers(0, 4, (20000, 8))
    for content, classes in {
        "one class": np.zeros(20000, int),
        "by chance": rng.integers(0, 2, 20000),
        "by a column": (features[:, 0] > 1).astype(int),
    }.items():

        def fit(classes: Any = classes) -> object:
            domains = [4] * 8
            return dampen.TreeClassifier(1, domains=domains, classes=[0, 1], max_rows=20000).fit(
                features, classes
            )

        found.setdefault("tree", {})[content] = processor_time(fit)
    print("| question | least, s | most, s | on which content |")
    print("|---|---|---|---|")
    for name, by_content in found.items():
        least = min(by_content.values())
        worst = max(by_content, key=lambda each: by_content[each])
        print(f"| {name} | {least:.3f} | {by_content[worst]:.3f} | {worst} |")


@dataclass(frozen=True)
class Server:
    """`dampen serve` on the demo's data, as a process of its own."""

    port: int
    directory: Path
    log: Path

    def token(self, analyst: str, role: str = "analyst") -> str:
        return Tokens(self.directory / "service.sqlite3").create(analyst, role)

    def send(
        self, path: str, token: str = "", body: dict[str, Any] | None = None
    ) -> tuple[float, int]:
        """Seconds, and the status."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        start = time.perf_counter()
        connection.request(
            "GET" if body is None else "POST", path, json.dumps(body) if body else None, headers
        )
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return time.perf_counter() - start, answer.status


@contextmanager
def serving(step: float = 0.05, descriptors: int | None = None) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as place:
        config = write_service(Path(place))
        settings = f"\n[service]\nstep = {step}\nrequests-per-minute = 100000\n"
        config.write_text(config.read_text() + settings)
        log = Path(place) / "log"
        command = [sys.executable, "-m", "dampen", "serve", str(config), "--port", "0"]
        if descriptors is not None:
            command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]

        with log.open("w") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found is not None
            yield Server(int(found[1]), Path(place), log)
        finally:
            process.kill()
            process.wait()


def freeze() -> None:
    with serving() as server, ThreadPoolExecutor(GRAPHS + 10) as pool:
        curator, ana = server.token("cleo", "curator"), server.token("ana")
        why = {"why": "a test"}
        alone, _ = server.send("/v1/budgets/follows/freeze", curator, why)
        server.send("/v1/budgets/follows/thaw", curator, why)
        healthy, _ = server.send("/healthz")
        asked = [
            pool.submit(
                server.send, "/v1/datasets/follows/top-k", ana, {"k": 1, "epsilon": f"0.0{i:03d}1"}
            )
            for i in range(1, GRAPHS + 1)
        ]
        time.sleep(0.2)
        behind = pool.submit(server.send, "/v1/budgets/follows/freeze", curator, why)
        health, _ = server.send("/healthz")
        seconds, _ = behind.result()
        answered = sum(each.result()[1] == 200 for each in asked)
    print(
        f"freeze: alone {alone:.3f} s, behind {GRAPHS} graph questions {seconds:.3f} s, of which "
        f"{answered} were answered and {GRAPHS - answered} refused; /healthz {healthy:.3f} s and "
        f"{health:.3f} s"
    )


def connections() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    with serving(descriptors=1024) as server, ExitStack() as stack:
        ana = server.token("ana")

        def ask(epsilon: str) -> float:
            body = {"value": "diagnosis", "epsilon": epsilon}
            seconds, status = server.send("/v1/datasets/visits/most-frequent", ana, body)
            assert status == 200, status
            return seconds

        ask("0.01")
        alone = statistics.median(ask(f"0.011{i}") for i in range(9))
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            for _ in range(IDLE)
        ]
        beside = statistics.median(ask(f"0.012{i}") for i in range(9))
        tracebacks = server.log.read_text().count("Traceback")
        ended = 0
        for each in idle:
            each.setblocking(False)
            with suppress(BlockingIOError):
                ended += each.recv(1) == b""
    print(
        f"connections: a question alone {alone:.3f} s, beside {IDLE} idle connections {beside:.3f} "
        f"s; {ended} of them were ended to make room; {tracebacks} tracebacks"
    )


def answers(entries: int = 10**6) -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger, made = generated(place, entries)
        charges = [each for each, _ in made[:: len(made) // 200][:200]]
        openings = []
        for _ in range(9):
            worker.close_all()
            start = time.perf_counter()
            ledger.spent("b")
            openings.append(time.perf_counter() - start)
        opened = statistics.median(openings)
        start = time.perf_counter()
        verify(ledger)
        verified = time.perf_counter() - start
        pages_alone = []
        for _ in range(9):
            start = time.perf_counter()
            ledger.answers(charges)
            pages_alone.append(time.perf_counter() - start)
        page = statistics.median(pages_alone)

        def charged() -> list[float]:
            """Fifty charges a second, for four seconds."""
            taken = []
            for _ in range(200):
                start = time.perf_counter()
                charge(ledger, 1)
                taken.append(time.perf_counter() - start)
                time.sleep(max(0.0, 0.02 - taken[-1]))
            return taken

        alone = charged() + charged()
        stopped = threading.Event()
        pages = 0

        def read() -> None:
            nonlocal pages
            while not stopped.wait(0.25):
                ledger.answers(charges)
                pages += 1

        reader = threading.Thread(target=read)
        reader.start()
        beside = charged() + charged()
        stopped.set()
        reader.join()
    print(
        f"answers: {entries} entries open in {opened * 1000:.0f} ms and are verified in "
        f"{verified:.1f} s; 200 old answers {page * 1000:.0f} ms "
        f"(at first {pages_alone[0] * 1000:.0f}); a charge "
        f"{statistics.median(alone) * 1000:.1f} ms (p99 {np.quantile(alone, 0.99) * 1000:.1f}), "
        f"beside {pages} pages of answers {statistics.median(beside) * 1000:.1f} ms "
        f"(p99 {np.quantile(beside, 0.99) * 1000:.1f})"
    )


def refusals(times: int = 2000) -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger = new_ledger(place)
        ledger.create("empty", epsilon="0.001", neighbours="add-remove-row")

        def size() -> int:
            worker.close_all()
            return sum(each.stat().st_size for each in Path(place).iterdir())

        before = size()
        charge(ledger, times)
        charged = size()
        for _ in range(times):
            with suppress(dampen.BudgetError):
                ledger.charge("empty", epsilon=1, neighbours="add-remove-row", query="benchmark")
        refused = size()
    print(
        f"refusals: {times} charges add {(charged - before) / times:.0f} bytes each, {times} "
        f"refusals {(refused - charged) / times:.0f}"
    )


def locks() -> None:
    import psycopg

    root = Path(__file__).parents[1]
    sys.path.insert(0, str(root / "tests" / "ledger"))
    import servers

    text = (root / "docs" / "postgres.md").read_text("utf-8")
    powers, roles = re.findall(r"```sql\n(.*?)```", text, re.S)
    with servers.running() as server:
        place = server.new_schema()
        schema = place.rpartition("%3D")[2]
        address = {who: place.replace("dampen@", f"{who}@") for who in ("curator", "ana", "eve")}
        with psycopg.connect(place, autocommit=True) as admin:
            admin.execute("CREATE ROLE curator LOGIN")
            admin.execute(f"GRANT ALL ON SCHEMA {schema} TO curator")
            admin.execute(powers)
            curator = dampen.Ledger(address["curator"])
            curator.create("b", epsilon=10**9, neighbours="add-remove-row")
            admin.execute(roles)
            admin.execute("CREATE ROLE eve LOGIN CONNECTION LIMIT 4 IN ROLE analyst")
            admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO analyst")
        ana = dampen.Ledger(address["ana"])

        def seconds() -> float:
            start = time.perf_counter()
            charge(ana, 1)
            return time.perf_counter() - start

        seconds()
        alone = statistics.median(seconds() for _ in range(20))
        with suppress(psycopg.Error), psycopg.connect(address["eve"]) as held:
            held.execute("SELECT dampen_lock()")
            for_ever = seconds()
        stopped = threading.Event()

        def take_turns() -> None:
            while not stopped.is_set():
                with suppress(psycopg.Error), psycopg.connect(address["eve"]) as held:
                    while not stopped.is_set():
                        held.execute("SELECT dampen_lock(), pg_sleep(1.1)")
                        held.rollback()
                time.sleep(0.05)

        with ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(take_turns)
            time.sleep(3)
            in_turns = max(seconds() for _ in range(5))
            stopped.set()
        worker.close_all()
    print(
        f"locks: a charge alone {alone:.4f} s, beside a session that keeps the ledger locked "
        f"{for_ever:.1f} s, beside four that take turns at most {in_turns:.1f} s"
    )


BENCHMARKS = {
    "times": times,
    "freeze": freeze,
    "connections": connections,
    "answers": answers,
    "refusals": refusals,
    "locks": locks,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
