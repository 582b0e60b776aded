"""Warehouses: one GROUP BY, written for six dialects; four of them run it here."""

import sqlite3
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any

import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.warehouse import group_by, warehouse
from dampen.errors import DataError, ParameterError
from engines.holders import postgres_server
from engines.warehouses import DATA, QUESTIONS, ROWS, assert_counts_as_memory, queries

sqlglot = pytest.importorskip("sqlglot")


class Recording:
    """A connection that keeps what it was asked."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.asked: list[str] = []

    def cursor(self) -> Any:
        cursor = self.connection.cursor()

        class Cursor:
            close = cursor.close
            fetchmany = cursor.fetchmany
            fetchall = cursor.fetchall

            def execute(this, asked: str) -> None:
                self.asked.append(asked)
                cursor.execute(asked)

        return Cursor()


CREATE = "create table stays (id integer, ward text, days integer, dose double precision)"


@contextmanager
def _sqlite() -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(CREATE)
        connection.executemany("insert into stays values (?, ?, ?, ?)", ROWS)
        yield connection


@contextmanager
def _duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect()) as connection:
        connection.execute(CREATE)
        connection.executemany("insert into stays values (?, ?, ?, ?)", ROWS)
        yield connection


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_those_of_memory(name: str) -> None:
    question, options = QUESTIONS[name]
    ask = getattr(dampen, question)
    with _duckdb() as connection:
        recording = Recording(connection)
        stays = warehouse(recording, "stays", dialect="duckdb")
        for seed in range(5):
            drawn = {"epsilon": "0.05", "entropy": InsecureEntropy(seed, allow_release=True)}
            assert ask(stays, **options, **drawn).answer == _of_memory(ask, options, seed)
    assert "GROUP BY" in recording.asked[-1]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_one_statement_counts_as_memory_does(dialect: str, name: str, request: Any) -> None:
    assert_counts_as_memory(dialect, name, request.getfixturevalue(f"run_{dialect}"))


@pytest.fixture
def run_sqlite() -> Any:
    with _sqlite() as connection:
        yield lambda asked: connection.execute(asked).fetchall()


@pytest.fixture
def run_duckdb() -> Any:
    with _duckdb() as connection:
        yield lambda asked: connection.execute(asked).fetchall()


@pytest.fixture
def run_postgres() -> Any:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_server().address) as connection:
        connection.execute(CREATE.replace("create table", "create temporary table").encode())
        connection.cursor().executemany("insert into stays values (%s, %s, %s, %s)", ROWS)
        yield lambda asked: connection.execute(asked.encode()).fetchall()


def _of_memory(ask: Any, options: Any, seed: int) -> Any:
    return ask(
        DATA, **options, epsilon="0.05", entropy=InsecureEntropy(seed, allow_release=True)
    ).answer


GOLDEN = {
    "bigquery": """
        SELECT `c0`, `c1`, COUNT(*) AS `n` FROM (SELECT `c0` AS `c0`, `c1` AS `c1` FROM
        (SELECT CAST(CASE WHEN `days` < 0 THEN 0 WHEN `days` > 10 THEN 10 ELSE `days` END AS INT64)
        AS `c0`, `ward` AS `c1` FROM `clinic`.`stays`) AS `r`) AS `k` GROUP BY `c0`, `c1`""",
    "snowflake": """
        SELECT "c0", "c1", COUNT(*) AS "n" FROM (SELECT "c0" AS "c0", "c1" AS "c1" FROM
        (SELECT CAST(CASE WHEN "days" < 0 THEN 0 WHEN "days" > 10 THEN 10 ELSE "days" END AS BIGINT)
        AS "c0", "ward" AS "c1" FROM "clinic"."stays") AS "r") AS "k" GROUP BY "c0", "c1\"""",
}


@pytest.mark.parametrize("dialect", GOLDEN)
def test_text_for_warehouses_that_are_not_here(dialect: str) -> None:
    [(query, *_)] = queries(dialect, "groups")
    written = group_by(query, "clinic.stays", dialect)
    assert written == " ".join(GOLDEN[dialect].split())


class Standing:
    """A stand-in for a connection to a warehouse: what it answers to what it is asked."""

    def __init__(self, *answers: list[tuple[Any, ...]]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def cursor(self) -> "Standing":
        return self

    def execute(self, asked: str) -> None:
        self.asked.append(asked)
        self.left = self.answers.pop(0)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self.left))

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        taken = self.left[:size]
        self.left = self.left[size:]
        return taken

    def close(self) -> None:
        pass


def test_an_imitated_snowflake_connection() -> None:
    columns = [("WARD", "TEXT", None), ("DAYS", "NUMBER", 0), ("PAY", "NUMBER", 2)]
    grouped = [(3, "A", 40), (7, "B", 50), (3, None, 2)]
    straw = Standing(columns, grouped)
    stays = warehouse(straw, "CLINIC.STAYS", dialect="snowflake")
    assert [field.holds for field in stays.fields] == ["labels", "numbers", "numbers"]
    assert [field.type for field in stays.fields] == ["text", "number", "decimal"]
    asked = {"by": "WARD", "groups": ["A", "B"], "lower": 0, "upper": 10, "step": 1}
    assert dampen.top_groups(stays, "DAYS", **asked, epsilon=20).answer == "B"
    assert straw.asked[0] == (
        "SELECT column_name, data_type, numeric_scale FROM information_schema.columns "
        "WHERE table_name = 'STAYS' AND table_schema = 'CLINIC' ORDER BY ordinal_position"
    )


def test_cells_that_group_by_cannot_compute_are_read_in_pieces() -> None:
    columns = [("PAY", "NUMBER", 2)]
    rows = [(Decimal("3.50"),)] * 60 + [(None,)] * 3
    stays = warehouse(Standing(columns, rows), "STAYS", dialect="snowflake")
    found = dampen.percentile(stays, "PAY", p=50, lower=0, upper=10, step=0.5, epsilon=20)
    assert found.answer == 3.5


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'snowflake'"):
        warehouse(None, "stays", dialect="snowflakes")


def test_a_table_that_is_not_there() -> None:
    with _duckdb() as connection, pytest.raises(ParameterError, match="no columns"):
        warehouse(connection, "nothing", dialect="duckdb")


def test_errors_quote_nothing() -> None:
    columns = [("DAYS", "NUMBER", 0)]
    stays = warehouse(Standing(columns), "STAYS", dialect="snowflake")
    with pytest.raises(DataError) as caught:
        dampen.percentile(stays, "DAYS", p=50, lower=0, upper=9, step=1, epsilon=1)
    assert caught.value.__cause__ is None
