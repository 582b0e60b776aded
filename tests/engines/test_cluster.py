"""A real cluster of Spark: a master and two workers, one of which is killed during a release."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pyarrow as pa
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from engines import questions, sparks
from engines.accounts import Account

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing()),
    pytest.mark.filterwarnings(sparks.PANDAS),
    pytest.mark.xdist_group("spark"),
]

PARTS = 12
SECONDS = 1.0


@contextmanager
def running(folder: Path, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Spark in a group of its own, with the executors that it starts."""
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), *words]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=os.environ | {"SPARK_HOME": str(home), "SPARK_NO_DAEMONIZE": "1"},
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(process: subprocess.Popen[bytes], log: Path, pattern: str, times: int) -> None:
    while len(re.findall(pattern, log.read_text())) < times:
        assert process.poll() is None, log.read_text()
        time.sleep(0.2)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[Any, list[subprocess.Popen[bytes]]]]:
    """A session on a master with two workers of one core each, and the workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    deploy, here = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    small = ["--cores", "1", "--memory", "600m", "--work-dir", str(tmp_path)]
    url, log = f"spark://127.0.0.1:{port}", tmp_path / "master.log"
    with ExitStack() as stack:
        master = stack.enter_context(
            running(tmp_path, "master", f"{deploy}.master.Master", *here, "--port", str(port))
        )
        wait_for(master, log, "I have been elected leader", 1)
        workers = [
            stack.enter_context(
                running(tmp_path, name, f"{deploy}.worker.Worker", *here, *small, url)
            )
            for name in ("one", "two")
        ]
        wait_for(master, log, "Registering worker", 2)
        session = sparks.start(url, **{"spark.executor.memory": "500m"})
        stack.callback(session.stop)
        yield session, workers


def test_a_worker_is_killed_during_a_release(cluster: Any) -> None:
    """Spark runs its tasks again elsewhere: the answer is that of memory, the charge is one."""
    session, workers = cluster

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        time.sleep(SECONDS)
        yield from batches

    wine = questions.wine()
    frame = session.createDataFrame(wine).repartition(PARTS)
    slow = frame.mapInArrow(slowly, frame.schema)
    assert questions.group_counts(frame, {}) == questions.group_counts(wine, {})
    tree = {"domains": {"proline": dampen.bins(250, 1700, 7)}, "classes": [0, 1, 2]}

    def grown(data: Any, budget: Account | None = None) -> Any:
        made = dampen.TreeClassifier(
            "2", **tree, max_rows=300, max_depth=2, budget=budget,
            entropy=InsecureEntropy(1, allow_release=True),
        )  # fmt: skip
        return made.fit_table(data, target="cultivar").to_json()

    account = Account()
    timer = Timer(PARTS * SECONDS / 4, kill, [workers[0]])  # the first level takes longer
    timer.start()
    answer = grown(slow, account)
    assert timer.finished.is_set()
    assert workers[0].poll() is not None
    assert account.charges == 1
    assert answer == grown(wine, Account())
