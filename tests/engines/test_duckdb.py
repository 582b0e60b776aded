"""DuckDB: nothing runs before the charge, nothing is quoted after it, nothing stays open."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data import edges, open_table
from dampen.data.source import Field
from dampen.errors import BudgetError, DataError, ParameterError
from engines.accounts import TREE, VALUE, Account, ask_all

SECRET = "select case when x >= 0 then error('secret ' || x)::int end as pay, x from range(3) t(x)"


@pytest.fixture
def connection() -> Iterator[Any]:
    with closing(duckdb.connect()) as connection:
        yield connection


def test_no_query_runs_before_the_charge(connection: Any) -> None:
    """The relation fails as soon as it runs, so whoever gets past the refusal has run it."""
    for ask in ask_all(connection.sql(SECRET), Account(refuse=True)):
        with pytest.raises(BudgetError):
            ask()


def test_wrong_parameters_charge_nothing_and_run_nothing(connection: Any) -> None:
    account, relation = Account(), connection.sql(SECRET)
    with pytest.raises(
        ParameterError, match=r"a column 'pya' in the relation\. Did you mean 'pay'"
    ):
        dampen.percentile(relation, "pya", **VALUE, budget=account)
    with pytest.raises(ParameterError, match="Expected value=, the name of a column"):
        dampen.percentile(relation, **VALUE, budget=account)
    with pytest.raises(ParameterError, match="labels=, a column of public names"):
        dampen.percentile_record(relation, "pay", p=50, upper=9, epsilon="1", budget=account)
    with pytest.raises(ParameterError, match="table="):
        dampen.percentile(relation, "pay", **VALUE, table="t", budget=account)
    with pytest.raises(ParameterError, match="name of a column"):
        dampen.top_groups(
            relation, "pay", by=[1, 2, 3], groups=[1], lower=0, upper=9, step=1, epsilon="1",
            budget=account,
        )  # fmt: skip
    assert account.charges == 0


def test_errors_of_the_engine_quote_nothing(connection: Any) -> None:
    for ask in ask_all(connection.sql(SECRET), account := Account()):
        before = account.charges
        with pytest.raises(DataError, match="could not be read") as caught:
            ask()
        assert account.charges == before + 1
        assert "charge of epsilon 1 (c-1) stands" in str(caught.value)
        shown = caught.value
        assert "secret" not in str(shown)
        assert shown.__cause__ is None
        assert shown.__context__ is None


def test_an_error_in_the_middle_of_a_stream_quotes_nothing(connection: Any) -> None:
    late = "select case when x > 900000 then error('secret ' || x)::int else 1 end as pay, x"
    relation = connection.sql(f"{late} from range(1000000) t(x)")
    with pytest.raises(DataError, match="could not be read") as caught:
        dampen.percentile(relation, "pay", **VALUE)
    assert "secret" not in str(caught.value)
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_relation_can_be_asked_again_and_the_connection_stays_usable(connection: Any) -> None:
    relation = connection.sql("select x % 10 as pay, x from range(100) t(x)")
    answers = [dampen.percentile(relation, "pay", **VALUE).answer for _ in range(3)]
    assert all(0 <= answer <= 9 for answer in answers)
    assert dampen.most_frequent(relation, "pay", categories=[1], epsilon="1").answer == 1
    assert connection.sql("select count(*) from range(7)").fetchall() == [(7,)]


def test_types_are_known_without_a_query(connection: Any) -> None:
    relation = connection.sql(
        "select 1::tinyint a, 2::hugeint b, 1.5::decimal(9,2) c, 0.5::double d, 'x' e, true f,"
        " date '2024-01-01' g, [1] h, {'k': 1} i, 'x'::blob j, interval 1 day k,"
        " 'p'::enum('p', 'q') l, uuid() m, timestamp '2024-01-01' n"
    )
    holds = {field.name: field.holds for field in open_table(relation).fields}
    assert [holds[name] for name in "abcd"] == ["numbers"] * 4
    assert [holds[name] for name in "efglmn"] == ["labels"] * 6
    assert [holds[name] for name in "hijk"] == ["other"] * 4
    assert open_table(relation).fields[2] == Field("c", "DECIMAL(9,2)", "numbers")
    for name in "eh":
        with pytest.raises(ParameterError, match=f"Column '{name}' is not numeric"):
            dampen.percentile(relation, name, **VALUE)


@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")  # of five rows
def test_numbers_mean_what_they_mean_in_memory(connection: Any) -> None:
    """NaN is missing, -0.0 is 0, infinities are clipped, decimals and huge integers are numbers."""
    odd = connection.sql(
        "select * from (values (-0.0::double), (0.0), ('inf'), ('-inf'), (2.5), (9.0)) t(pay)"
    )
    memory = {"pay": [-0.0, 0.0, np.inf, -np.inf, 2.5, 9.0]}
    assert values(odd) == values(memory)
    huge = connection.sql("select (x * 2)::hugeint as pay from range(5) t(x)")
    assert values(huge) == values({"pay": [0, 2, 4, 6, 8]})
    money = connection.sql("select (x / 4)::decimal(9, 2) as pay from range(5) t(x)")
    assert values(money) == values({"pay": [0, 0.25, 0.5, 0.75, 1]})


def values(data: Any) -> list[Any]:
    return [
        dampen.percentile(data, "pay", **VALUE, entropy=InsecureEntropy(s, True)).answer
        for s in range(8)
    ]


def test_no_collation_makes_categories_or_nodes_equal(connection: Any) -> None:
    connection.execute("create table t (w varchar collate nocase, v varchar collate nocase)")
    connection.execute("insert into t values ('A', 'b'), ('a', 'B'), ('a', 'b'), ('ä', 'b')")
    words = ["a", "A", "ä", "b", "B"]
    counted = MostFrequentCounts(connection.table("t"), "w", words)
    assert counted == [2, 1, 1, 0, 0, 0]
    from dampen.data import open_edges
    from dampen.questions.nodes.graphs import load_degrees, load_graph

    opened = open_edges(connection.table("t"))
    assert load_degrees(opened, words).degrees.tolist() == [2, 1, 1, 3, 1]
    assert load_graph(opened, words).degrees.tolist() == [2, 1, 1, 3, 1]


def MostFrequentCounts(data: Any, column: str, categories: list[str]) -> list[int]:
    from dampen.questions.frequency import MostFrequent

    return MostFrequent(categories).opened_counts(open_table(data), column).tolist()


def test_names_are_quoted(connection: Any) -> None:
    table = pa.table({'pay "€"; drop': [1, 2, 3], "select": [1, 1, 2]})
    relation = connection.from_arrow(table)
    assert dampen.percentile(relation, 'pay "€"; drop', **VALUE).answer in range(10)
    assert dampen.most_frequent(relation, "select", categories=[1, 2], epsilon="50").answer == 1


def test_no_collation_makes_loops_of_edges(connection: Any) -> None:
    relation = connection.sql("select 'a' collate nocase as a, 'A' collate nocase as b")
    from dampen.data import open_edges
    from dampen.questions.nodes.graphs import load_degrees

    assert load_degrees(open_edges(relation), ["a", "A"]).degrees.tolist() == [1, 1]


def test_more_edges_than_fit_into_memory_are_refused_and_their_degrees_are_counted(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "memory_of_machine", lambda: 1000 * edges.BYTES_PER_EDGE)
    relation = connection.sql("select x % 100 as a, x % 37 as b from range(1001) t(x)")
    with pytest.raises(DataError, match="could not be read"):
        dampen.top_k(relation, n=100, k=3, epsilon="1")
    monkeypatch.setenv("DAMPEN_TRACEBACK", "1")  # for the curator alone
    with pytest.raises(DataError) as caught:
        dampen.top_k(relation, n=100, k=3, epsilon="1")
    assert "edges that fit into memory, at 24 bytes each" in str(caught.value.__cause__)
    monkeypatch.delenv("DAMPEN_TRACEBACK")
    assert len(dampen.top_k(relation, n=100, k=3, metric="degree", epsilon="1").answer) == 3
    assert len(dampen.top_k(relation.limit(1000), n=100, k=3, epsilon="1").answer) == 3


def test_a_table_that_changes_between_levels_is_an_error(connection: Any) -> None:
    relation = connection.sql(
        "select (random() * 9)::int as pay, (random() > 0.5)::int as x from range(1000)"
    )
    tree = dampen.TreeClassifier("1", **(TREE | {"max_rows": 2000}), max_depth=3)
    with pytest.raises(DataError, match="could not be read"):
        tree.fit_table(relation, target="x")


def test_a_database_file_by_its_table(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.data"  # known by its content, not by its name
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create table pay as select x % 10 as pay, x from range(50) t(x)")
        assert dampen.percentile(connection.table("pay"), "pay", **VALUE).answer in range(10)
    assert dampen.percentile(path, "pay", **VALUE).answer in range(10)  # its only table
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create schema hr; create view hr.rich as from pay where pay > 5")
        with pytest.raises(ParameterError, match="open elsewhere"):
            dampen.percentile(path, "pay", **VALUE)
    assert dampen.percentile(path, "pay", **VALUE, table="hr.rich").answer in range(10)
    with pytest.raises(ParameterError, match=r"table=, one of .*: hr\.rich, pay\."):
        dampen.percentile(path, "pay", **VALUE)
    with pytest.raises(ParameterError, match=r"a table 'payy' .* Did you mean 'pay'"):
        dampen.percentile(path, "pay", **VALUE, table="payy")
    assert dampen.top_k(path, table="pay", n=50, epsilon="1").answer in range(50)
    (tmp_path / "t.csv").write_text("pay\n1\n")
    with pytest.raises(ParameterError, match="a DuckDB or SQLite file with table="):
        dampen.percentile(tmp_path / "t.csv", "pay", **VALUE, table="pay")


def test_a_broken_database_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"\0" * 8 + b"DUCK" + b"\x07" * 5000)
    with pytest.raises(ParameterError, match="Cannot open"):
        open_table(path)


def test_nothing_is_printed_at_exit(tmp_path: Path) -> None:
    """Connections that were opened here are closed here: DuckDB tells of others at the end."""
    path = tmp_path / "w.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create table pay as select x % 10 as pay from range(50) t(x)")
    code = (
        "import dampen\nfrom dampen.data import open_table\n"
        f"r = dampen.percentile({str(path)!r}, 'pay', p=50, upper=9, step=1,"
        " epsilon='1')\n"
        f"kept = open_table({str(path)!r})\n"
        "for batch in kept.batches({'pay': 'numbers'}): break\n"
    )
    run = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_file_lists_only_its_own_tables(tmp_path: Path) -> None:
    """A view could name another file, which is other data with a budget of its own."""
    (tmp_path / "other.csv").write_text("pay\n1\n2\n")
    path = tmp_path / "t.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(f"create view far as from read_csv('{tmp_path}/other.csv')")
        connection.execute("create view near as select 3 as pay")
    account = Account()
    with pytest.raises(ParameterError, match="Cannot read the tables"):
        dampen.percentile(path, "pay", **VALUE, table="far", budget=account)
    assert account.charges == 0
    assert dampen.percentile(path, "pay", **VALUE, table="near").answer in range(10)
