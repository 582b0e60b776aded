"""Claims of speed of the ledger, each beside its yardstick in the same run.

    python benchmarks/ledger.py            everything
    python benchmarks/ledger.py charges    one of: charges, rows, long, accounting

- charges: charges per second of 1, 16 and 64 threads and of 4 processes, synchronised to disk,
  against bare INSERTs of one connection, each its own transaction with full synchronisation.
- rows: seconds to open a ledger (from its last checkpoint) and to charge, by its number of entries.
- long: a generated ledger of 10^6 entries: opening it, and 200 old answers, against the same 200 by
  a bare SQLite query on their number.
- accounting: the (ε, δ) of sequences of answers, here, by Google's zCDP accountant (RDP orders) and
  by its numerical composition, which knows each mechanism exactly.  Needs dp-accounting.
"""

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dampen.core.losses import ANY, Loss, composed_epsilon
from dampen.core.noise import GUMBEL
from dampen.core.zcdp import epsilon_at
from dampen.ledger import Ledger, worker
from dampen.ledger.accounts import limit
from dampen.ledger.log import Draft, Kind, Row, stamp
from dampen.ledger.state import CHECKPOINT_EVERY, State
from dampen.ledger.storage import sqlite
from dampen.ledger.storage.head_file import HeadFile
from dampen.ledger.storage.sqlite import write_copy

ROW = {"neighbours": "add-remove-row"}
PROCESS = """
import sys
from dampen.ledger import Ledger
ledger = Ledger(sys.argv[1])
for _ in range(int(sys.argv[2])):
    ledger.charge("b", epsilon="0.001", neighbours="add-remove-row", query="benchmark")
"""


def new_ledger(place: str) -> Ledger:
    ledger = Ledger(Path(place) / "ledger")
    ledger.create("b", epsilon=10**9, **ROW)
    return ledger


def rate(work: Callable[[], int], repeat: int = 3) -> float:
    """The median number of operations per second."""
    rates = []
    for _ in range(repeat):
        start = time.perf_counter()
        done = work()
        rates.append(done / (time.perf_counter() - start))
    return statistics.median(rates)


def bare_inserts(place: str, times: int = 300) -> int:
    connection = sqlite3.connect(Path(place) / "bare", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b TEXT)")
    for _ in range(times):
        connection.execute("INSERT INTO t (b) VALUES (?)", ("x" * 300,))
    connection.close()
    return times


def charge(ledger: Ledger, times: int) -> None:
    for _ in range(times):
        ledger.charge("b", epsilon="0.001", query="benchmark", **ROW)


def by_threads(ledger: Ledger, threads: int, times: int) -> int:
    running = [threading.Thread(target=charge, args=(ledger, times)) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return threads * times


def by_processes(ledger: Ledger, processes: int, times: int) -> int:
    command = [sys.executable, "-c", PROCESS, ledger.place, str(times)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    for process in running:
        process.wait()
    return processes * times


def charges() -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger = new_ledger(place)
        bare = rate(lambda: bare_inserts(place))
        print(f"bare INSERT, one connection: {bare:.0f} per second")
        for threads, times in ((1, 300), (16, 100), (64, 60)):
            found = rate(lambda n=threads, m=times: by_threads(ledger, n, m))
            print(f"charges, {threads} threads: {found:.0f} per second, {found / bare:.1f} x bare")
        found = rate(lambda: by_processes(ledger, 4, 500), repeat=1)
        print(f"charges, 4 processes with their start: {found:.0f} per second")
        again = rate(lambda: bare_inserts(place))
        print(f"bare INSERT, again: {again:.0f} per second")


def rows() -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger = new_ledger(place)
        written = 0
        for entries in (1_000, 10_000, 100_000):
            written += by_threads(ledger, 200, (entries - written) // 200)
            worker.close_all()
            start = time.perf_counter()
            ledger.spent("b")
            opened = time.perf_counter() - start
            one = 1 / rate(lambda: charge(ledger, 100) or 100)
            print(f"{entries} entries: open {opened:.2f} s, then {one * 1000:.1f} ms per charge")


def generated(place: str, entries: int) -> tuple[Ledger, list[tuple[str, int]]]:
    """A ledger of charges and answers in turn; the ids of the charges and numbers of answers."""
    state = State()
    made = []

    def rows() -> Iterator[Row]:
        created = {"name": "b", **limit(10**9, None), "neighbours": "add-remove-row"}
        yield state.append(
            Draft(
                Kind.CREATE,
                "b",
                {**created, "dataset": "", "location": "", "largest": "", "each": None},
            )
        )
        cost = {"epsilon": "0.001", "rho": "0.0000005", "neighbours": "add-remove-row"}
        note = {"query": "q", "mechanism": "em", "analyst": "ana", "dataset": "", "leaks": []}
        while state.head.seq < entries:
            yield state.append(Draft(Kind.CHARGE, "b", {**cost, **note, **stamp()}))
            charge = state.head.id
            yield state.append(Draft(Kind.ANSWER, "", {"charge": charge, "answer": "x" * 400}))
            made.append((charge, state.head.seq))
            due = state.checkpoint_due()
            if due is not None and state.head.seq < entries - CHECKPOINT_EVERY:
                yield state.append(due)

    path = Path(place) / "ledger"
    head = write_copy(path, rows())
    with closing(HeadFile(sqlite.head_path(path), create=True)) as head_file:
        head_file.reset(head)
    return Ledger(path), made


def long(entries: int = 10**6) -> None:
    with tempfile.TemporaryDirectory() as place:
        ledger, made = generated(place, entries)
        page = made[:: len(made) // 200][:200]
        opened = []
        for _ in range(5):
            worker.close_all()
            start = time.perf_counter()
            ledger.spent("b")
            opened.append(time.perf_counter() - start)
        worker.close_all()
        ledger.spent("b")
        charges = [charge for charge, _ in page]
        found = 1 / rate(lambda: len(ledger.answers(charges)) // 200)
        singly = 1 / rate(lambda: len([ledger.answer(charge) for charge in charges]) // 200)
        with closing(sqlite3.connect(ledger.path)) as connection:
            query = "SELECT content FROM entry WHERE seq = ?"

            def bare() -> int:
                return sum(1 for _, n in page if connection.execute(query, (n,)).fetchone()) // 200

            yardstick = 1 / rate(bare)
        print(
            f"{entries} entries: open {statistics.median(opened) * 1000:.0f} ms "
            f"(worst {max(opened) * 1000:.0f}); 200 old answers {found * 1000:.1f} ms, "
            f"one by one {singly * 1000:.1f} ms, bare SQLite {yardstick * 1000:.1f} ms"
        )


@dataclass(frozen=True)
class Answers:
    """A sequence of answers.

    Attributes:
        name: of the line.
        losses: of answers with Laplace noise.
        others: the ρ of the others.
        exact: the ε at a δ by Google's numerical composition, which has no exponential mechanism.
    """

    name: str
    losses: tuple[Loss, ...] = ()
    others: Fraction = Fraction(0)
    exact: Callable[[float], float] | None = None

    @property
    def rho(self) -> Fraction:
        return sum((each.rho for each in self.losses), self.others)


def sequences() -> list[Answers]:
    """The sequences of docs/lab-budgets.md."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    e = Fraction("0.2")
    noise = {"value_discretization_interval": 1e-3}
    count = pld.from_discrete_laplace_mechanism(float(e), 1, **noise).self_compose(50)
    mean = pld.from_discrete_laplace_mechanism(float(e) / 10, 10, **noise).self_compose(50)
    laplace = pld.from_laplace_mechanism(1 / float(e), **noise).self_compose(50)
    gaussian = pld.from_gaussian_mechanism(5.0, **noise).self_compose(25)
    both = count.compose(gaussian).get_epsilon_for_delta
    counts = (Loss(e, 1, 50),)
    return [
        Answers("100 x em at 0.1", others=100 * GUMBEL.rho(Fraction("0.1"))),
        Answers("1000 x em at 0.01", others=1000 * GUMBEL.rho(Fraction("0.01"))),
        Answers("50 x count at 0.2", counts, exact=count.get_epsilon_for_delta),
        Answers("50 x mean at 0.2, 10 steps", (Loss(e, 10, 50),), exact=mean.get_epsilon_for_delta),
        Answers("50 x laplace at 0.2", (Loss(e, ANY, 50),), exact=laplace.get_epsilon_for_delta),
        Answers("50 x count, 25 x rho 0.02", counts, 25 * Fraction("0.02"), both),
    ]


def accounting() -> None:
    import dp_accounting

    delta = Fraction("1e-6")
    print("answers                       spent  composed  zCDP accountant  numerical")
    for answers in sequences():
        spent = epsilon_at(answers.rho, delta)
        composed = min(spent, composed_epsilon(answers.losses, delta, answers.others))
        accountant = dp_accounting.rdp.RdpAccountant()
        accountant.compose(dp_accounting.ZCDpEvent(rho=float(answers.rho)))
        exact = "" if answers.exact is None else f"{answers.exact(float(delta)):.3f}"
        print(
            f"{answers.name:<27} {float(spent):>7.3f} {float(composed):>9.3f} "
            f"{accountant.get_epsilon(float(delta)):>16.3f} {exact:>10}"
        )


BENCHMARKS = {"charges": charges, "rows": rows, "long": long, "accounting": accounting}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
