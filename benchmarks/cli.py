"""Claims of speed of the command line, each beside its yardstick in the same run.

    python benchmarks/cli.py            everything; DAMPEN_DATA names the directory of real data
    python benchmarks/cli.py startup    one of: startup, top-k, table

- startup: `dampen --help` against `python -c "import numpy"`: at most 3x.
- top-k: `dampen top-k` on Enron, gzip edge list to answer, against a process that reads it with
  pandas plus one run of egocentric betweenness (without imports, then with): at most 2x.
- table: seconds and peak memory of one column of a large CSV, against pandas.
"""

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

DAMPEN = "from dampen.cli import main; main()"
READ_PANDAS = """
import pandas as pd, sys
pd.read_csv(sys.argv[1], header=None, comment="#", sep="\\t", engine="c")
"""
RUN_EBC = """
import sys, time
import numpy as np
from dampen import graphs
data = np.load(sys.argv[1])
pair, n = (data["src"], data["dst"]), int(data["n"])
graphs.egocentric_betweenness(pair, n=n)  # compile, or load the compiled
start = time.perf_counter()
graphs.egocentric_betweenness(pair, n=n)
print(time.perf_counter() - start)
"""
PEAK = """
import resource, sys, time
start = time.perf_counter()
{body}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def seconds(code: str, *arguments: str, repeat: int = 5) -> float:
    """The median wall time of a Python process."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run(code, *arguments)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def startup() -> None:
    seconds(DAMPEN, "--help", repeat=1)  # byte-compile
    ours, numpy = seconds(DAMPEN, "--help"), seconds("import numpy")
    print(f"startup: dampen --help {ours:.3f} s, import numpy {numpy:.3f} s: {ours / numpy:.2f}x")


def top_k() -> None:
    if "DAMPEN_DATA" not in os.environ:
        print("top-k: skipped, DAMPEN_DATA is not set")
        return
    packed = Path(os.environ["DAMPEN_DATA"]) / "graphs" / "enron.npz"
    data = np.load(packed)
    with tempfile.TemporaryDirectory() as place:
        edges = Path(place) / "enron.txt.gz"
        lines = "".join(f"{a}\t{b}\n" for a, b in zip(data["src"], data["dst"], strict=True))
        edges.write_bytes(gzip.compress(lines.encode()))
        asked = ["top-k", str(edges), "-k", "10", "--epsilon", "0.5", "--n", str(int(data["n"]))]
        run(DAMPEN, *asked)  # compile, or load the compiled
        ours, pandas = seconds(DAMPEN, *asked), seconds(READ_PANDAS, str(edges))
    ebc = float(run(RUN_EBC, str(packed)))
    whole = seconds(RUN_EBC, str(packed), repeat=3) - ebc
    print(
        f"top-k: Enron {ours:.2f} s; pandas {pandas:.2f} s and one EBC run {ebc:.2f} s in process, "
        f"{whole:.2f} s as a process: {ours / (pandas + ebc):.2f}x, {ours / (pandas + whole):.2f}x"
    )


def table() -> None:
    rows = 5_000_000
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "large.csv"
        values = np.arange(rows) % 99_991
        with path.open("w") as file:
            file.write("name,salary,remark\n")
            for start in range(0, rows, 100_000):
                part = values[start : start + 100_000].tolist()
                file.write(
                    "".join(f"person {v},{v}.5,some words that nobody asks for\n" for v in part)
                )
        size = path.stat().st_size / 2**20
        ours = PEAK.format(
            body="from dampen.data.tables import open_table\n"
            "open_table(sys.argv[1]).read({'salary': 'numbers'})"
        )
        pandas = PEAK.format(body="import pandas\npandas.read_csv(sys.argv[1], usecols=['salary'])")
        empty = PEAK.format(body="import pyarrow.csv, dampen")
        for name, code in (("dampen", ours), ("pandas", pandas), ("imports alone", empty)):
            taken, peak = map(float, run(code, str(path)).split())
            print(f"table: {size:.0f} MiB of CSV, {name}: {taken:.2f} s, peak {peak:.0f} MiB")


BENCHMARKS = {"startup": startup, "top-k": top_k, "table": table}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
