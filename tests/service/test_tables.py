"""Data sets that live in servers: tables of PostgreSQL and of Spark."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from service_running import Running, started
from test_running import command, token

import dampen
from dampen.cli.main import run
from dampen.errors import ParameterError
from dampen.ledger import Ledger, worker
from dampen.service.configuration import load_configuration
from dampen.service.workflow import Workflow
from engines import sparks
from engines.holders import postgres_server

CONFIGURATION = """ledger = "ledger.sqlite3"

[[data]]
name = "stays"
budgets = ["stays"]
tables = ["{address}"]
table = "{stays}"
rows = 1000

[data.columns]
hospital = {{ values = ["H1", "H2"] }}
days = {{ lower = 0, upper = 100, step = 1 }}

[[data]]
name = "follows"
budgets = ["follows"]
tables = ["{address}"]
table = "{follows}"

[data.graph]
source = "a"
target = "b"
nodes = 5

[service]
step = 0.02
patience = 600
requests-per-minute = 10000
"""
ROWS = [(f"H{1 + i % 2}", 10 + 50 * (i % 2)) for i in range(400)]
EDGES = [(0, i) for i in range(1, 5)] + [(1, 2)]


def configured(place: Path, **names: str) -> Path:
    ledger = Ledger(place / "ledger.sqlite3")
    ledger.create("stays", epsilon=100, neighbours="add-remove-row")
    ledger.create("follows", epsilon=100, neighbours="add-remove-edge")
    file = place / "dampen.toml"
    file.write_text(CONFIGURATION.format(**names))
    return file


@pytest.fixture
def serving_tables(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    opened: list[Running] = []

    def start(**names: str) -> Running:
        opened.append(started(configured(tmp_path, **names)))
        return opened[-1]

    yield start
    for each in opened:
        each.stop()
    worker.close_all()


@pytest.fixture(scope="module")
def database() -> str:
    """The address of a schema with both tables."""
    psycopg = pytest.importorskip("psycopg")
    address = postgres_server().new_schema()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("create table stays (hospital text, days integer, name text)")
        connection.execute("create table follows (a integer, b integer)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into stays values (%s, %s, 'secret')", ROWS)
            cursor.executemany("insert into follows values (%s, %s)", EDGES)
    return address


def asked_of_everything(running: Running) -> dict[str, object]:
    who = running.token()
    asked = {
        "stays/top-groups": {"value": "days", "by": "hospital", "epsilon": 20},
        "stays/percentile": {"value": "days", "p": 99, "epsilon": 20},
        "stays/most-frequent": {"value": "hospital", "k": 2, "epsilon": 20},
        "stays/tree": {"target": "hospital", "max_depth": 1, "epsilon": 20},
        "follows/top-k": {"k": 1, "epsilon": 20, "metric": "degree"},
    }
    answers = {path: running.ask(path, who, **body) for path, body in asked.items()}
    assert {each.status_code for each in answers.values()} == {200}, answers
    return {path: each.json()["answer"] for path, each in answers.items()}


def assert_right(answers: dict[str, object]) -> None:
    assert answers["stays/top-groups"] == "H2"
    assert answers["stays/percentile"] == 60
    assert sorted(answers["stays/most-frequent"]) == ["H1", "H2"]  # type: ignore[call-overload]
    assert answers["follows/top-k"] == [0]


def test_every_question_of_postgresql(serving_tables, database: str) -> None:
    running = serving_tables(address=database, stays="stays", follows="follows")
    assert_right(asked_of_everything(running))
    facts = running.http.get("/v1/datasets", running.token()).content.decode()
    assert "postgres" not in facts and "secret" not in facts and "name" in facts


def test_check_reads_the_catalogue_alone(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import psycopg

    file = configured(tmp_path, address=database, stays="stays", follows="follows")
    with psycopg.connect(database) as locked:
        locked.execute("lock table stays, follows in access exclusive mode")
        assert run(["serve", str(file), "--check"]) == 0
    assert (
        "stays: most-frequent (add-remove-row), keys (add-remove-row), top-groups (add-remove-row)"
        in capsys.readouterr().out
    )


def test_a_missing_table_is_named(serving_tables, database: str) -> None:
    running = serving_tables(address=database, stays="gone", follows="follows")
    told = running.ask("stays/most-frequent", running.token(), value="hospital", epsilon=1)
    assert told.status_code == 400
    assert "Expected a table 'gone' in stays" in told.json()["message"]
    assert not running.ledger.history("stays")


def test_a_table_that_went_away_costs_nothing(serving_tables, database: str) -> None:
    """Histograms and columns of it are in memory, but there is nothing to ask any more."""
    import psycopg

    running = serving_tables(address=database, stays="stays", follows="follows")
    who, asked = running.token(), {"value": "hospital"}
    assert running.ask("stays/most-frequent", who, **asked, epsilon=1).status_code == 200
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("alter table stays rename to elsewhere")
        assert running.ask("stays/most-frequent", who, **asked, epsilon=2).status_code == 400
        assert running.ask("stays/top-groups", who, value="days", by="hospital",
                           epsilon=1).status_code == 400  # fmt: skip
        connection.execute("alter table elsewhere rename to stays")
    assert len(running.ledger.history("stays")) == 1
    assert running.ask("stays/most-frequent", who, **asked, epsilon=2).status_code == 200


def test_a_server_that_is_down_costs_nothing(serving_tables) -> None:
    address = "postgresql://reader:hush@127.0.0.1:1/staff"
    running = serving_tables(address=address, stays="stays", follows="follows")
    told = running.ask("stays/most-frequent", running.token(), value="hospital", epsilon=1)
    assert told.status_code == 400
    assert not any(word in json.dumps(told.json()) for word in ("hush", "reader", "127.0.0.1"))
    assert not running.ledger.history("stays")


@pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing())
@pytest.mark.filterwarnings(sparks.PANDAS)
@pytest.mark.xdist_group("spark")
def test_every_question_of_spark(serving_tables, tmp_path: Path) -> None:
    session = sparks.start("local[2]")
    try:
        session.createDataFrame(ROWS, "hospital string, days int").createOrReplaceTempView("stays")
        session.createDataFrame(EDGES, "a int, b int").createOrReplaceTempView("follows")
        running = serving_tables(address="local[2]", stays="stays", follows="follows")
        assert_right(asked_of_everything(running))
        wrong = tmp_path / "wrong"
        wrong.mkdir()
        file = configured(wrong, address="local[2]", stays="gone", follows="follows")
        with pytest.raises(ParameterError, match="Cannot open the table 'gone' of Spark"):
            Workflow.of(load_configuration(file)).check()
    finally:
        session.stop()


@contextmanager
def spark_connect(place: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server of Spark Connect as a process of its own, and its address."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 1,
        "spark.sql.warehouse.dir": place / "warehouse",
    }
    given = [part for key, value in options.items() for part in ("--conf", f"{key}={value}")]
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    server = subprocess.Popen(
        [home / "bin" / "spark-submit", "--master", "local[2]", "--class", name, *given,
         "spark-internal"],
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not _listens(port):
            assert server.poll() is None
            time.sleep(0.2)
        yield server, f"sc://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as wire:
        return wire.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.skipif(bool(sparks.missing("grpc", "grpc_status")), reason="needs Spark Connect")
@pytest.mark.xdist_group("spark")
def test_every_question_of_a_live_server_of_spark_connect(tmp_path: Path) -> None:
    """The service as a process of its own, for one process has one Spark; then Spark goes away."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = {"stays": (ROWS, ["hospital", "days"]), "follows": (EDGES, ["a", "b"])}
    for name, (rows, columns) in tables.items():
        pq.write_table(
            pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))),
            tmp_path / f"{name}.parquet",
        )
    places = {name: f"parquet.`{tmp_path / name}.parquet`" for name in tables}
    with spark_connect(tmp_path) as (spark, address):
        config = configured(tmp_path, address=address, **places)
        check = [sys.executable, "-m", "dampen", "serve", str(config), "--check"]
        assert subprocess.run(check, check=False, stdout=subprocess.DEVNULL).returncode == 0
        with command(config) as server:
            service = dampen.connect(server.url, token=token(config))
            made = {
                "stays/top-groups": service.top_groups("stays", "days", by="hospital", epsilon=20),
                "stays/percentile": service.percentile("stays", "days", p=99, epsilon=20),
                "stays/most-frequent": service.most_frequent("stays", "hospital", k=2, epsilon=20),
                "stays/tree": service.tree("stays", target="hospital", max_depth=1, epsilon=20),
                "follows/top-k": service.top_k("follows", k=1, metric="degree", epsilon=20),
            }
            assert_right({path: release.answer for path, release in made.items()})
            before = [each["spent"] for each in service.budget()]
            spark.kill()
            spark.wait()
            for ask in (
                lambda: service.tree("stays", target="hospital", max_depth=1, epsilon=1),
                lambda: service.most_frequent("stays", "hospital", epsilon=1),
                lambda: service.top_k("follows", k=1, metric="degree", epsilon=1),
            ):
                with pytest.raises(ParameterError, match="it does not answer") as told:
                    ask()
                assert "127.0.0.1" not in str(told.value)
            assert [each["spent"] for each in service.budget()] == before
