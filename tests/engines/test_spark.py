"""Spark: the same answers as in memory, nothing before the charge, nothing quoted after it.

One session for all, which takes most of the time.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import dampen
from dampen.data import open_edges, open_table
from dampen.data import spark as spark_tables
from dampen.data.source import Field
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.questions.nodes.graphs import load_degrees, load_graph
from engines import questions, sparks
from engines.accounts import Account, ask_all
from engines.nasty import GRIDS, cells_of, numbers_near, points_of, table_of
from engines.warehouses import QUESTIONS, ROWS, assert_counts_as_memory

pytestmark = [
    pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing()),
    pytest.mark.filterwarnings(sparks.PANDAS),
    pytest.mark.xdist_group("spark"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = sparks.start("local[2]")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "SEEDS", range(1))
    monkeypatch.setattr(questions, "TREES", questions.TREES[:2])


def test_every_application_gives_the_answers_of_memory(spark: Any) -> None:
    """After `repartition` rows have no order; the draw of a label needs that of memory."""
    wine, friends = questions.wine(), questions.friends()
    for questions_, table in (
        (questions.ABOUT_WINE, wine),
        (questions.ABOUT_FRIENDS, friends),
        ([questions.degrees_of_names], questions.named_friends()),
    ):
        frame = spark.createDataFrame(table).repartition(2).cache()
        for question in questions_:
            inside = (
                spark.createDataFrame(table) if question is questions.percentile_label else frame
            )
            assert question(inside, {}) == question(table, {}), question.__name__
    many = questions.many_wines()
    assert questions.percentile_of_many(spark.createDataFrame(many), {}) == (
        questions.percentile_of_many(many, {})
    )
    assert questions.degrees_as_text(spark.createDataFrame(friends), {}) == (
        questions.degrees_of_names(questions.named_friends(), {})
    )


def test_nothing_runs_before_the_charge_and_nothing_is_quoted_after_it(spark: Any) -> None:
    """The query fails as soon as it runs, so whoever gets past the refusal has run it."""
    frame = spark.range(3).selectExpr(*sparks.SECRET)
    for ask in ask_all(frame, Account(refuse=True)):
        with pytest.raises(BudgetError):
            ask()
    for ask in ask_all(frame, account := Account()):
        before = account.charges
        with pytest.raises(DataError, match="could not be read") as caught:
            ask()
        assert account.charges == before + 1
        shown = caught.value
        assert "secret" not in str(shown)
        assert shown.__cause__ is None
        assert shown.__context__ is None


def test_bad_rows_are_rows_less(spark: Any) -> None:
    """As in memory, counted by one query and by executors."""
    rows = {"pay": [1.0, None, 3.0, 2.0], "y": [0, 1, 1, None], "who": ["a", "zz", "b", "a"]}
    frame = spark.createDataFrame(pa.table(rows))
    bits = {"epsilon": 2}
    for ask in (
        lambda data, **more: dampen.percentile(data, "pay", p=50, upper=9, step=1, **bits, **more),
        lambda data, **more: dampen.most_frequent(data, "who", categories=["a"], **bits, **more),
        lambda data, **more: dampen.TreeClassifier(
            2, domains={"who": ["a", "b"]}, classes=[0, 1], max_rows=2, **more
        ).fit_table(data, target="y").release_,
    ):  # fmt: skip
        entropies = (dampen.InsecureEntropy(1, allow_release=True) for _ in range(2))
        found = [ask(data, entropy=next(entropies)).answer for data in (frame, rows)]
        assert str(found[0]) == str(found[1])


@pytest.mark.parametrize("grid", [GRIDS[2], GRIDS[8], GRIDS[-2]], ids=repr)
def test_a_grid_in_sql(grid: Any, spark: Any) -> None:
    table = table_of(numbers_near(points_of(grid)))
    assert cells_of(spark.createDataFrame(table), grid) == cells_of(table, grid)


def test_labels_that_are_not_listed_may_be_many(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what the driver would take as groups, executors count the public cells alone."""
    table = pa.table({"proline": [400.0] * 50, "region": [f"n{i}" for i in range(49)] + ["west"]})
    frame, expected = spark.createDataFrame(table), questions.group_counts(table, {})
    for most in (10, 1000):
        monkeypatch.setattr(spark_tables, "MOST_OTHERS", most)
        assert questions.group_counts(frame, {}) == expected


def test_types_streams_and_names(spark: Any) -> None:
    frame = spark.range(4).selectExpr(
        "id", "cast(id as decimal(9, 2)) as money", "'x' as word", "array(id) as `a list`",
        "cast(id % 2 as int) as `odd.name ``quoted`",
    )  # fmt: skip
    fields = open_table(frame).fields
    assert [field.holds for field in fields] == ["numbers", "numbers", "labels", "other", "numbers"]
    assert fields[1] == Field("money", "decimal(9,2)", "numbers")
    odd = "odd.name `quoted"
    assert dampen.most_frequent(frame, odd, categories=[0, 1], epsilon="1").answer in (0, 1)
    with pytest.raises(ParameterError, match="labels=, a column of public names"):
        dampen.percentile_record(frame, "id", p=50, upper=9, epsilon="1")
    with pytest.raises(ParameterError, match="got a stream of Spark"):
        open_table(spark.readStream.format("rate").load())


def test_no_collation_makes_nodes_equal_and_missing_ends_are_dropped(spark: Any) -> None:
    rows = [("A", "b"), ("a", "B"), ("a", "b"), ("ä", "b")]
    frame = spark.createDataFrame(rows, "w string, v string")
    folded = frame.selectExpr("w collate UTF8_LCASE as w", "v collate UTF8_LCASE as v")
    words = ["a", "A", "ä", "b", "B"]
    for edges in (frame, folded):
        opened = open_edges(edges)
        assert load_degrees(opened, words).degrees.tolist() == [2, 1, 1, 3, 1]
        assert load_graph(opened, words).degrees.tolist() == [2, 1, 1, 3, 1]
    gap = open_edges(spark.createDataFrame([(0, 1), (2, None), (7, 0), (-1, 1)], "a int, b int"))
    for nodes in (range(3), [0, 1, 2], ["0", "1", "2"]):
        assert load_degrees(gap, nodes).degrees.tolist() == [1, 1, 0]
        assert load_graph(gap, nodes).degrees.tolist() == [1, 1, 0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_statement_of_a_warehouse_counts_as_memory_does(spark: Any, name: str) -> None:
    frame = spark.createDataFrame(ROWS, "id int, ward string, days int, dose double")
    frame.createOrReplaceTempView("stays")
    assert_counts_as_memory("spark", name, lambda asked: spark.sql(asked).collect())
    spark.catalog.dropTempView("stays")
