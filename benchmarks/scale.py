"""Cost and memory against size, for memory, DuckDB and Spark.

    python benchmarks/scale.py growth --most 1e7             # rows, edges, candidates, groups
    python benchmarks/scale.py overhead --rows 1e7           # against the bare GROUP BY
    python benchmarks/scale.py large --rows 1e8              # a table of 5 GB, DuckDB with 1 GB
    python benchmarks/scale.py cluster --rows 1e7            # a model of m workers
    python benchmarks/scale.py growth --most 1e8 --engines duckdb,spark      # optional, long

Tables are made by DuckDB from hashes of row numbers, as Parquet, in --folder (kept there).  Every
measurement of growth is a process of its own: seconds of the release by the clock and of all
processors, the most memory that the process took beyond what it had before the release, and the
most that it took at all.  DuckDB runs with a memory limit of 1 GB, Spark as local[2] with a driver
of 1 GB and after one release that is not counted; its memory is that of Python alone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import scale_tasks as tasks
from timing import compare

ENGINES = ("memory", "duckdb", "spark")
SPARK = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def duckdb_holder() -> Iterator[tasks.Hold]:
    import duckdb

    with closing(duckdb.connect()) as connection:
        connection.execute("set memory_limit = '1GB'")
        connection.execute("set enable_progress_bar = false")
        yield lambda path: connection.sql(f"from '{path}'")


@contextmanager
def spark_holder(master: str = "local[2]") -> Iterator[tasks.Hold]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    for name, value in SPARK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield lambda path: session.read.parquet(str(path))
    finally:
        session.stop()


@contextmanager
def memory_holder() -> Iterator[tasks.Hold]:
    import pyarrow.parquet as pq

    yield pq.read_table


HOLDERS: dict[str, Callable[[], Any]] = {
    "memory": memory_holder,
    "duckdb": duckdb_holder,
    "spark": spark_holder,
}


def measure_here(
    engine: str, task: str, size: int, folder: Path, table: str | None = None
) -> dict[str, float]:
    """One release in this process, after a small one that compiles and warms up."""
    ask = tasks.TASKS[task]
    path, small = (tasks.made(table or task, rows, folder) for rows in (size, 1000))
    with HOLDERS[engine]() as hold:
        ask(hold(small), 1000)
        data = hold(path)
        before = memory_now()
        start = time.perf_counter()
        used = time.process_time()
        with PeakMemory() as peak:
            ask(data, size)
        return {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - used,
            "mb": peak.most - before,
            "whole": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        }


def measure(
    engine: str, task: str, size: int, folder: Path, *table: str
) -> dict[str, float] | None:
    """The same in a process of its own; None where it failed."""
    one = [engine, task, str(size), *table]
    command = [sys.executable, __file__, "one", *one, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{engine} {task} {size}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def memory_now() -> float:
    """MB that this process holds."""
    with Path("/proc/self/status").open() as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return float(line.split()[1]) / 1000


class PeakMemory:
    """The most MB that this process holds while the block runs, looked at every 20 ms."""

    def __enter__(self) -> "PeakMemory":
        from threading import Event, Thread

        self.most, self._done = memory_now(), Event()
        self._watch = Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._done.wait(0.02):
            self.most = max(self.most, memory_now())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()


def growth(engines: list[str], most: int, folder: Path, only: list[str]) -> None:
    """Seconds and memory of every task and size, and the exponent between the two largest sizes."""
    print("| task | engine | size | seconds | CPU seconds | extra MB | exponent |")
    print("|---|---|---|---|---|---|---|")
    for task in only:
        for engine in engines:
            last: tuple[int, float] | None = None
            for size in tasks.sizes(task, most):
                found = measure(engine, task, size, folder)
                if found is None:
                    print(f"| {task} | {engine} | {size:.0e} | failed | | | |", flush=True)
                    break
                seconds = found["seconds"]
                cpu = found["cpu"]
                mb = found["mb"]
                slope = "" if last is None else f"{exponent(last, (size, seconds)):.2f}"
                print(
                    f"| {task} | {engine} | {size:.0e} | {seconds:.2f} | {cpu:.2f} | {mb:.0f} "
                    f"| {slope} |",
                    flush=True,
                )
                last = size, seconds


def large(rows: int, folder: Path, only: list[str]) -> None:
    """Every question about a table that is larger than the memory of DuckDB."""
    command = [sys.executable, __file__, "make", "wide", str(rows), "--folder", str(folder)]
    subprocess.run(command, check=True)
    size = tasks.made("wide", rows, folder).stat().st_size
    print(f"{rows:,} rows, {size / 1e9:.1f} GB of Parquet; DuckDB with a memory limit of 1 GB\n")
    print("| task | seconds | CPU seconds | extra MB | whole process, MB |\n|---|---|---|---|---|")
    for task in only:
        found = measure("duckdb", task, rows, folder, "wide")
        if found is None:
            print(f"| {task} | failed | | | |", flush=True)
            continue
        seconds, cpu, mb, whole = (found[name] for name in ("seconds", "cpu", "mb", "whole"))
        print(f"| {task} | {seconds:.1f} | {cpu:.1f} | {mb:.0f} | {whole:.0f} |", flush=True)


def exponent(one: tuple[int, float], other: tuple[int, float]) -> float:
    return float(np.log(other[1] / one[1]) / np.log(other[0] / one[0]))


def overhead(engines: list[str], rows: int, folder: Path, rounds: int) -> None:
    """Releases against the bare GROUP BY of the same engine on the same Parquet file."""
    path = tasks.made("percentile value", rows, folder)
    for engine in engines:
        with HOLDERS[engine]() as hold:
            data = hold(path)
            for task, bare in tasks.bare(engine, data).items():
                ours = partial(tasks.TASKS[task], data, rows)
                title = f"{engine}, {rows:,} rows, {task}"
                found = compare(title, {"GROUP BY": bare, "dampen": ours}, "GROUP BY", rounds)
                if engine == "duckdb":  # the processors of Spark are used by other processes
                    ratio = found["dampen"].cpu / found["GROUP BY"].cpu
                    print(f"\nProcessor time, times GROUP BY: {ratio:.2f}")


def cluster(rows: int, folder: Path, only: list[str]) -> None:
    """seconds = a + b / m, fitted to one and two local workers: a model, not a measurement."""
    for task in only:
        path = tasks.made(task, rows, folder)
        seconds = {}
        for workers in (1, 2):
            with spark_holder(f"local[{workers}]") as hold:
                data = hold(path)
                tasks.TASKS[task](data, rows)
                start = time.perf_counter()
                tasks.TASKS[task](data, rows)
                seconds[workers] = time.perf_counter() - start
        b = max(0.0, 2 * (seconds[1] - seconds[2]))
        a = seconds[1] - b
        line = ", ".join(f"{m} workers {a + b / m:.1f} s" for m in (4, 8, 16, 64))
        print(f"{task}: measured {seconds[1]:.1f} and {seconds[2]:.1f} s; model: {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["growth", "overhead", "large", "cluster", "one", "make"])
    parser.add_argument("one", nargs="*")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--most", type=float, default=1e6)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=None)
    parser.add_argument("--folder", type=Path, default=Path("scale-data"))
    given = parser.parse_args()
    engines = given.engines.split(",")
    given.folder.mkdir(exist_ok=True)
    if given.what == "one":
        engine, task, size, *table = given.one
        print(json.dumps(measure_here(engine, task, int(size), given.folder, *table)))
    elif given.what == "make":
        table, size = given.one
        tasks.made(table, int(size), given.folder)
    elif given.what == "growth":
        growth(engines, int(given.most), given.folder, given.tasks or [*tasks.TASKS])
    elif given.what == "large":
        large(int(given.rows), given.folder, given.tasks or [*tasks.LARGE])
    elif given.what == "overhead":
        overhead(engines, int(given.rows), given.folder, given.rounds)
    else:
        asked = given.tasks or ["percentile value", "top groups", "tree"]
        cluster(int(given.rows), given.folder, asked)


if __name__ == "__main__":
    main()
