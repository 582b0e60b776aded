"""The command line, each claim beside its yardstick in the same run.

    python benchmarks/cli.py            everything; DAMPEN_DATA names the directory of real data
    python benchmarks/cli.py startup    one of: startup, top-k, table, ledger

- startup: `dampen --help` against `python -c "import numpy"`.
- top-k: `dampen top-k` on Enron, gzip edge list to answer, against a process that reads it with
  pandas and runs egocentric betweenness once.
- table: one column of a large CSV against pandas, with peak memory.
- ledger: charges per second, one process, synchronised to disk.
"""

import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from timing import compare

DAMPEN = "from dampen.cli.main import main; main()"
READ_AND_RUN = """
import pandas, sys
from dampen import egocentric_betweenness
edges = pandas.read_csv(sys.argv[1], header=None, sep="\\t").to_numpy()
egocentric_betweenness((edges[:, 0], edges[:, 1]), n=int(sys.argv[2]))
"""
OURS = (
    "from dampen.data import open_table; from dampen.data.source import whole_columns; "
    "whole_columns(open_table({0!r}), {{'salary': 'numbers'}})"
)
THEIRS = "import pandas; pandas.read_csv({0!r}, usecols=['salary'])"
PEAK = "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"


def process(code: str, *arguments: str) -> Callable[[], str]:
    """A task: one fresh Python process."""
    call = [sys.executable, "-c", code, *arguments]
    return lambda: subprocess.run(call, check=True, capture_output=True, text=True).stdout


def startup() -> None:
    tasks = {"import numpy": process("import numpy"), "dampen --help": process(DAMPEN, "--help")}
    compare("startup", tasks, "import numpy")


def top_k() -> None:
    if "DAMPEN_DATA" not in os.environ:
        print("top-k: skipped, DAMPEN_DATA is not set")
        return
    data = np.load(Path(os.environ["DAMPEN_DATA"]) / "graphs" / "enron.npz")
    n = str(int(data["n"]))
    with tempfile.TemporaryDirectory() as place:
        edges = str(Path(place) / "enron.txt.gz")
        lines = "".join(f"{a}\t{b}\n" for a, b in zip(data["src"], data["dst"], strict=True))
        Path(edges).write_bytes(gzip.compress(lines.encode()))
        asked = ["top-k", edges, "-k", "10", "--epsilon", "0.5", "--n", n]
        tasks = {
            "pandas and one EBC": process(READ_AND_RUN, edges, n),
            "dampen top-k": process(DAMPEN, *asked),
        }
        compare("Enron, file to answer", tasks, "pandas and one EBC", rounds=5)


def table(rows: int = 5_000_000) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "large.csv"
        with path.open("w") as file:
            file.write("name,salary,remark\n")
            for v in range(rows):
                file.write(f"person {v},{v % 99_991}.5,some words that nobody asks for\n")
        tasks = {
            "pandas": process(THEIRS.format(str(path)) + PEAK),
            "dampen": process(OURS.format(str(path)) + PEAK),
        }
        compare(f"{path.stat().st_size >> 20} MiB of CSV", tasks, "pandas", rounds=3)
        for name, task in tasks.items():
            print(f"peak memory of {name}: {task().strip()} MiB")


def ledger(charges: int = 500) -> None:
    from dampen.ledger import Ledger

    with tempfile.TemporaryDirectory() as place:
        book = Ledger(Path(place) / "ledger.sqlite3")
        book.create("b", epsilon=10, neighbours="replace-one")
        start = time.perf_counter()
        for _ in range(charges):
            book.charge("b", epsilon="0.001", neighbours="replace-one")
        print(f"ledger: {charges / (time.perf_counter() - start):.0f} charges per second")


BENCHMARKS = {"startup": startup, "top-k": top_k, "table": table, "ledger": ledger}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
