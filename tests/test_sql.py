"""Statements of SQL: each is one question, or is refused before anything is charged."""

import random
import sys
from fractions import Fraction

import pandas as pd
import pytest

import dampen
from dampen.cli.main import run
from dampen.errors import DampenError, ParameterError
from dampen.sql import parse

pytest.importorskip("sqlglot")

STAYS = {
    "Hospital": ["Ash", "Birch", "Oak"] * 200,
    "days": [3, 4, 9, 2, 5, 8] * 100,
    "sex": ["f", None] * 300,
}
GROUPED = "FROM stays GROUP BY hospital"


class Till:
    """A budget that remembers what it was asked for."""

    def __init__(self):
        self.charges = []

    def charge(self, cost):
        self.charges.append(cost)
        return


@pytest.fixture
def stays():
    columns = {
        "Hospital": ["Ash", "Birch", "Oak"],
        "days": dampen.number(0, 90, step=1),
        "sex": ["f", "m"],
    }
    return dampen.dataset(STAYS, columns=columns, budget=Till())


@pytest.mark.parametrize(
    ("statement", "question", "stated"),
    [
        (f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days) DESC LIMIT 1", "top-groups",
         {"value": "days", "by": "hospital", "statistic": "median"}),
        (f"select hospital {GROUPED} order by avg(days) limit 2", "top-groups",
         {"value": "days", "by": "hospital", "statistic": "mean", "smallest": True, "k": 2}),
        (f"SELECT hospital {GROUPED} ORDER BY QUANTILE_CONT(days, 0.9) DESC LIMIT 2", "top-groups",
         {"value": "days", "by": "hospital", "p": "90", "k": 2}),
        (f"SELECT hospital, COUNT(*) AS n {GROUPED} ORDER BY n DESC LIMIT 3", "most-frequent",
         {"value": "hospital", "k": 3}),
        ("SELECT sex FROM stays GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1", "most-frequent",
         {"value": "sex"}),
        ("SELECT PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY days) FROM stays", "percentile",
         {"value": "days", "p": "95"}),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY days DESC), MEDIAN(days) FROM stays",
         "percentile", {"value": "days", "p": ["75", "50"]}),
        (f"SELECT hospital, MEDIAN(days) {GROUPED}", "percentile",
         {"value": "days", "p": "50", "by": "hospital"}),
        (f"SELECT hospital {GROUPED} HAVING MEDIAN(days) >= 6", "groups-above",
         {"value": "days", "by": "hospital", "threshold": "6", "statistic": "median"}),
        (f"SELECT hospital {GROUPED} HAVING AVG(days) > 6", "groups-above",
         {"value": "days", "by": "hospital", "threshold": "6", "statistic": "mean",
          "strict": True}),
        ("SELECT COUNT(*) FROM stays", "count", {}),
        (f"SELECT hospital, COUNT(*) {GROUPED}", "count", {"by": "hospital"}),
        ("SELECT SUM(days) FROM stays", "total", {"value": "days"}),
        (f"SELECT hospital, AVG(days) {GROUPED}", "mean", {"value": "days", "by": "hospital"}),
        ("SELECT COUNT(DISTINCT patient) FROM stays", "count", {"weigh": "people"}),
        ("SELECT AVG(out - came) FROM stays", "mean", {"value": "(out - came)"}),
        ("SELECT COUNT(days) FROM stays", "count", {"where": "(not (days is missing))"}),
        ("SELECT AVG(CASE WHEN back = 'yes' THEN 1 ELSE 0 END) FROM stays", "mean",
         {"value": "(back == 'yes')"}),
        ("SELECT SUM(CASE WHEN days > 7 THEN 1 END) FROM stays WHERE old", "count",
         {"where": "((old == true) and (days > 7))"}),
        ("SELECT MEDIAN(days) FILTER (WHERE NOT old) FROM stays", "percentile",
         {"value": "days", "p": "50", "where": "(old == false)"}),
    ],
)  # fmt: skip
def test_a_statement_is_one_question(statement, question, stated):
    asked = parse(statement)
    assert (asked.dataset, asked.question, dict(asked.stated)) == ("stays", question, stated)


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("age >= 65 AND ward = 'A'", "((age >= 65) and (ward == 'A'))"),
        (
            "NOT (age < 65 OR ward = 'A')",
            "((age >= 65) and (not (ward is missing) and ward != 'A'))",
        ),
        ("age NOT BETWEEN 3 AND 4", "(age < 3 or age > 4)"),
        ("ward NOT IN ('A', 'B')", "(not (ward is missing) and ward != 'A' and ward != 'B')"),
        ("age IS NOT NULL", "(not (age is missing))"),
        ("last - first > -2 * 3", "((last - first) > ((-2) * 3))"),
        ("name = 'it''s'", r"(name == 'it\'s')"),
        ("came >= DATE '2024-12-31'", "(came >= '2024-12-31')"),
        ("came < CAST('2024-12-31 08:00' AS TIMESTAMP)", "(came < '2024-12-31 08:00')"),
    ],
)
def test_not_stands_at_no_comparison(where, meant):
    assert parse(f"SELECT COUNT(*) FROM stays WHERE {where}").stated["where"] == meant


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM stays", r"\* cannot be asked"),
        ("SELECT days FROM stays", "would show rows"),
        ("SELECT days, COUNT(*) FROM stays", "would show rows"),
        ("DROP TABLE stays", "Expected a SELECT statement, got DROP"),
        ("SELEC ward", "Expected a SELECT statement. Ask for"),
        ("SELECT MAX(days) FROM stays", r"PERCENTILE_CONT\(0.99\) WITHIN GROUP \(ORDER BY days\)"),
        ("SELECT MIN(days) FROM stays", r"One row decides MIN\(days\).*PERCENTILE_CONT\(0.01\)"),
        ("SELECT COUNT(*) FROM stays; DROP TABLE stays", "one statement, got 2"),
        ("SELECT COUNT(*) FROM stays JOIN b USING (x)", "JOIN"),
        ("SELECT COUNT(*) FROM stays, b", "JOIN"),
        ("WITH b AS (SELECT 1) SELECT COUNT(*) FROM b", "WITH"),
        ("SELECT DISTINCT sex FROM stays", "DISTINCT"),
        ("SELECT COUNT(*) FROM (SELECT * FROM stays)", "name of one data set"),
        ("SELECT COUNT(*) FROM read_csv('stays.csv')", "name of one data set"),
        ("SELECT COUNT(DISTINCT sex, days) FROM stays", "COUNT.DISTINCT .* cannot be"),
        ("SELECT COUNT(*), SUM(days) FROM stays", "one aggregate"),
        (f"SELECT hospital {GROUPED} ORDER BY COUNT(*) LIMIT 1", "not the rarest"),
        (
            "SELECT hospital, sex FROM stays GROUP BY ALL ORDER BY COUNT(*) DESC LIMIT 1",
            "one column in GROUP BY",
        ),
        (
            f"SELECT hospital, MEDIAN(days) {GROUPED} ORDER BY 2 DESC LIMIT 1",
            "SELECT hospital, the group alone",
        ),
        (f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days)", "ORDER BY with LIMIT"),
        (f"SELECT hospital, COUNT(*) AS n {GROUPED} ORDER BY n DESC", "leave it out, and sort"),
        (f"SELECT hospital, COUNT(*) {GROUPED} ORDER BY hospital", "leave it out, and sort"),
        (f"SELECT hospital, COUNT(*) {GROUPED} HAVING COUNT(*) > 9", "For counts leave HAVING out"),
        ("SELECT DATE_TRUNC('month', came), COUNT(*) FROM stays GROUP BY 1", "as bins="),
        ("SELECT EXTRACT(year FROM came) AS y, COUNT(*) FROM stays GROUP BY y", "as bins="),
        ("SELECT ROUND(AVG(days), 2) FROM stays", r"Ask for AVG\(days\), and calculate"),
        ("SELECT COUNT(*) FILTER (WHERE old) * 2 FROM stays", r"Ask for COUNT\(\*\)"),
        ("SELECT AVG(CASE WHEN old THEN 1 END) FROM stays", "name of a column"),
        ("SELECT COUNT(CASE WHEN old THEN 1 ELSE 0 END) FROM stays", "cannot be asked"),
        (
            f"SELECT hospital, COUNT_IF(old) {GROUPED} ORDER BY COUNT(*) DESC LIMIT 1",
            r"SELECT with COUNT\(\*\) at most",
        ),
        (f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days) LIMIT 1 OFFSET 1", "OFFSET"),
        (f"SELECT hospital {GROUPED} HAVING MEDIAN(days) < 6", "HAVING with > or >="),
        ("SELECT COUNT(*) FROM stays WHERE sex LIKE 'f%'", "WHERE cannot hold"),
        ("SELECT COUNT(*) FROM stays WHERE (SELECT 1) = 1", "WHERE cannot hold"),
        ("SELECT COUNT(*) FROM stays OPTIONS(epsilon=0.5, kappa=3)", "no 'kappa'"),
        ("SELECT COUNT(*) OVER () FROM stays", "cannot be asked"),
        ("", "Expected a statement"),
        ("SELECT '", "cannot be read"),
        ("SELECT COUNT(*) FROM stays WHERE " + "(" * 5000 + "1" + ")" * 5000, "10,000|cannot be"),
    ],
)
def test_refused_parts_are_named(statement, says):
    with pytest.raises(dampen.ParameterError, match=says):
        parse(statement)


def test_a_missing_library_is_named_with_its_command(monkeypatch, capsys):
    """The command line told of an ImportError alone."""
    for name in [each for each in sys.modules if each.split(".")[0] == "sqlglot"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sqlglot.errors", None)
    assert run(["sql", "SELECT COUNT(*) FROM stays", "--epsilon", "1"]) == 2
    assert "pip install 'dampen[sql]'" in capsys.readouterr().err


def test_the_answer_is_the_one_of_the_question(stays):
    entropy = dampen.InsecureEntropy(7, allow_release=True)
    again = dampen.InsecureEntropy(7, allow_release=True)
    statement = "SELECT HOSPITAL FROM stays GROUP BY hospital ORDER BY MEDIAN(DAYS) DESC LIMIT 2"
    by_sql = stays.sql(statement, epsilon=0.3, entropy=entropy)
    asked = stays.top_groups(
        "days", by="Hospital", statistic="median", k=2, epsilon=0.3, entropy=again
    )
    assert by_sql == asked
    assert len(stays.budget.charges) == 2


@pytest.mark.parametrize("grouped", ["COUNT(*)", "COUNT(DISTINCT patient)", "AVG(days)"])
def test_delta_finds_groups_without_a_list(grouped):
    rows = {
        "patient": [str(i) for i in range(3000)],
        "ward": ["A", "B", "B"] * 1000,
        "days": [3, 4, 5] * 1000,
    }
    columns = {"days": dampen.number(0, 90)}
    facts = {"unit": "patient", "groups_per_unit": 1}
    stays = dampen.dataset(rows, columns=columns, **facts)
    statement = f"SELECT ward, {grouped} FROM stays GROUP BY ward"
    beside = stays.sql(statement, epsilon=2, delta="1e-6")
    inside = stays.sql(f"{statement} OPTIONS(epsilon=2, delta=0.000001)")
    assert set(beside.answer) == set(inside.answer) == {"A", "B"}
    shorter = stays.sql(f"{statement} OPTIONS(epsilon=.5, delta=1e-6)")
    assert beside.delta == inside.delta == shorter.delta == Fraction(1, 10**6)
    with pytest.raises(dampen.ParameterError, match="delta once"):
        stays.sql(f"{statement} OPTIONS(epsilon=2, delta=0.000001)", delta="1e-6")
    with pytest.raises(dampen.ParameterError, match=r"groups=.*delta="):
        stays.sql(statement, epsilon=2)
    known = dampen.dataset(rows, columns={**columns, "ward": []}, **facts)
    with pytest.raises(dampen.ParameterError, match=r"values of ward\. Pass delta="):
        known.sql(statement, epsilon=2)
    assert set(known.sql(statement, epsilon=2, delta="1e-6").answer) == {"A", "B"}


def test_delta_is_left_alone_where_groups_are_listed(stays):
    assert stays.sql(f"SELECT hospital, COUNT(*) {GROUPED}", epsilon=1, delta="1e-6").delta == 0


def test_distinct_counts_those_whom_epsilon_protects(stays):
    with pytest.raises(dampen.ParameterError, match=r"DISTINCT counts the persons .* one row"):
        stays.sql("SELECT COUNT(DISTINCT sex) FROM stays", epsilon=1)


def test_epsilon_is_stated_once(stays):
    statement = "SELECT MEDIAN(days) FROM stays OPTIONS(epsilon=0.5)"
    assert str(stays.sql(statement).epsilon) == "1/2"
    with pytest.raises(dampen.ParameterError, match="epsilon once"):
        stays.sql(statement, epsilon=1)
    bigquery = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) MEDIAN(days) FROM stays"
    assert str(stays.sql(bigquery).epsilon) == "1/2"
    with pytest.raises(dampen.ParameterError, match="protects one row"):
        stays.sql(bigquery.replace("0.5)", "0.5, privacy_unit_column=patient)"))
    assert len(stays.budget.charges) == 2


SCRAPS = (
    "SELECT FROM WHERE GROUP BY ORDER LIMIT HAVING COUNT(*) MEDIAN(days) hospital days sex , ( ) * "
    "= >= < AND OR NOT IN NULL IS BETWEEN 1 0.5 'a' ; -- /* */ OPTIONS(epsilon=1) UNION JOIN DESC "
    'WITH AS DISTINCT stays " ` é \0 PERCENTILE_CONT(0.5) WITHIN ALL CASE WHEN END :: [ ] { } $1'
)
WHOLE = [
    f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days) DESC LIMIT 1",
    "SELECT COUNT(*) FROM stays WHERE days >= 3 AND NOT (sex = 'f')",
    f"SELECT hospital, MEDIAN(days) {GROUPED}",
]


def mutated(rng):
    words = rng.choice(WHOLE).split(" ")
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(words) + 1)
        if rng.random() < 0.4 and words:
            del words[min(place, len(words) - 1)]
        else:
            words.insert(place, rng.choice(SCRAPS.split(" ")))
    return " ".join(words)


@pytest.mark.parametrize("count", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_statements_are_refused_or_answered(stays, count):
    """No traceback, and no charge without an answer."""
    rng = random.Random(count)
    answered = 0
    for _ in range(count):
        statement = mutated(rng)
        before = len(stays.budget.charges)
        try:
            asked = stays.statement(statement)
            stays.expect(asked.question, epsilon=1, **asked.stated)
            answered += 1
        except DampenError:
            pass
        assert len(stays.budget.charges) == before
    assert answered > count / 200


@pytest.mark.parametrize(
    "where",
    [
        "sex = 'f'", "sex <> 'f'", "NOT (sex = 'f')", "NOT (sex <> 'm' OR days < 4)",
        "days NOT BETWEEN 3 AND 5", "sex NOT IN ('m')", "sex IS NULL OR days * 2 > 9",
        "NOT (sex IS NOT NULL)", "days - 2 <> 1 AND sex IN ('f', 'm')",
    ],
)  # fmt: skip
def test_where_keeps_the_rows_that_sql_keeps(where):
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame({"sex": ["f", "m", None] * 40, "days": [3, 4, None, 9, 2, 5] * 20})
    kept = duckdb.sql(f"SELECT COUNT(*) FROM frame WHERE {where}").fetchall()[0][0]
    asked = dampen.dataset(frame, columns={"sex": ["f", "m"], "days": dampen.number(0, 9)})
    counted = asked.sql(f"SELECT COUNT(*) FROM frame WHERE {where}", epsilon=1000)
    assert counted.answer == kept


@pytest.mark.parametrize(
    "aggregate",
    [
        "COUNT(days)", "COUNT(*) FILTER (WHERE days > 3)", "COUNT_IF(sex = 'f' OR days < 4)",
        "SUM(CASE WHEN NOT (sex = 'f') THEN 1 ELSE 0 END)",
        "COUNT(CASE WHEN sex <> 'm' THEN 1 END)",
        "AVG(CASE WHEN sex = 'f' THEN 1 ELSE 0 END)", "COUNT(*) FILTER (WHERE back)",
        "AVG(CASE WHEN NOT back THEN 1 ELSE 0 END)", "COUNT(*) FILTER (WHERE back IS NOT TRUE)",
        "AVG(days * 2 - 1)", "SUM(days) FILTER (WHERE sex = 'f')",
    ],
)  # fmt: skip
def test_aggregates_of_some_rows_are_those_of_sql(aggregate):
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame(
        {
            "sex": ["f", "m", None] * 400,
            "days": [3, 4, None, 9, 2, 5] * 200,
            "back": pd.array([True, None, False, True] * 300, dtype="boolean"),
        }
    )
    columns = {"sex": ["f", "m"], "days": dampen.number(0, 9)}
    for statement in (
        f"SELECT {aggregate} FROM frame",
        f"SELECT {aggregate} FROM frame WHERE days < 9",
    ):
        [(true,)] = duckdb.sql(statement).fetchall()
        answer = dampen.dataset(frame, columns=columns).sql(statement, epsilon=1000).answer
        assert answer == pytest.approx(float(true), rel=0.01)


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT hospital {GROUPED} ORDER BY COUNT(*) DESC LIMIT 50 PERCENT",
        f"SELECT hospital {GROUPED} ORDER BY COUNT(*) DESC LIMIT 50%",
        f"SELECT hospital {GROUPED} ORDER BY COUNT(*) DESC LIMIT 2 BY hospital",
        "SELECT SUM(days) FROM stays AS s(days, hospital, sex)",
        "SELECT COUNT(*) FROM stays WHERE days BETWEEN SYMMETRIC 5 AND 1",
        'SELECT COUNT(*) FROM stays WHERE "days` == 1 or `days" = 1',
        f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days) DESC NULLS FIRST LIMIT 1",
        f"SELECT hospital {GROUPED} ORDER BY MEDIAN(days) DESC WITH FILL LIMIT 1",
        "SELECT COUNT(*) FROM stays WHERE visits.days > 3",
        "SELECT SUM(visits.days) FROM stays",
        "SELECT COUNT(*) FROM stays GROUP BY ALL hospital",
        "SELECT COUNT(*) FROM stays WHERE day = CAST('2024-12-31 23:00' AS DATE)",
        "SELECT COUNT(*) FROM stays OPTIONS(epsilon=1 0)",
        "SELECT COUNT(*) FROM stays OPTIONS(epsilon=1, EPSILON=2)",
    ],
)
def test_words_that_change_what_is_asked_are_refused(statement):
    """They were left out: the answer was about other rows, groups or columns."""
    with pytest.raises(ParameterError):
        parse(statement)


@pytest.mark.parametrize("name", ["true", "False", "missing", "not", "null", "None"])
def test_a_column_may_be_named_as_a_word_of_conditions(name):
    """ "true" was the number 1 beside another column, other words were refused."""
    asked = dampen.dataset({name: [0, 0, 5] * 100, "days": [1] * 300})
    statement = f'SELECT COUNT(*) FROM stays WHERE "{name}" >= 1 AND days > 0'
    assert asked.sql(statement, epsilon=1000).answer == 100


def test_of_columns_that_differ_in_capitals_the_named_one_is_asked():
    numbers = {name: dampen.number(0, 10) for name in ("days", "Days")}
    asked = dampen.dataset({"days": [9] * 500, "Days": [1] * 500}, columns=numbers)
    means = [asked.sql(f"SELECT AVG({each}) FROM stays", epsilon=100).answer for each in numbers]
    assert means == [pytest.approx(9, abs=0.5), pytest.approx(1, abs=0.5)]


def test_persons_once_in_every_group_need_to_be_stated_in_how_many():
    rows = {"patient": [str(i % 900) for i in range(1800)], "ward": ["A"] * 900 + ["B"] * 900}
    statement = "SELECT COUNT(DISTINCT patient) FROM stays GROUP BY ward"
    facts = {"unit": "patient", "columns": {"ward": ["A", "B"]}}
    with pytest.raises(dampen.ParameterError, match="State groups_per_unit"):
        dampen.dataset(rows, **facts).sql(statement, epsilon=9)
    told = dampen.dataset(rows, groups_per_unit=2, **facts).sql(statement, epsilon=100)
    assert told.answer == {"A": 900, "B": 900}


def test_groups_with_the_most_persons_are_those_of_distinct_persons():
    """With rows_per_unit above 1 it ranked by rows."""
    rows = {
        "patient": [*map(str, range(900)), *(str(i) for i in range(900, 1200) for _ in range(5))],
        "ward": ["A"] * 900 + ["B"] * 1500,
    }
    asked = dampen.dataset(rows, unit="patient", rows_per_unit=5, columns={"ward": ["A", "B"]})
    first = "SELECT ward FROM stays GROUP BY ward ORDER BY {} DESC LIMIT 1"
    answers = [
        asked.sql(first.format(count), epsilon=100).answer
        for count in ("COUNT(*)", "COUNT(DISTINCT patient)")
    ]
    assert answers == ["B", "A"]
    own = asked.sql(
        "SELECT COUNT(*) FROM stays s WHERE s.ward = 'A' OR stays.ward = 'B'", epsilon=9
    )
    assert own.answer > 1000


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT PERCENTILE_CONT(0.1, 0.2) WITHIN GROUP (ORDER BY days) FROM stays", "Expected"),
        ("SELECT COUNT(1, days) FROM stays", "cannot be asked"),
        ("SELECT COUNT(NULL) FROM stays", "cannot be asked"),
        ("SELECT COUNT(*) FROM stays WHERE a > TIMESTAMP '2020-02-01 10:00+05'", "without a zone"),
        ("SELECT COUNT(*) FROM stays WHERE at > '2020-02-01T10:00:00-05:30'", "without a zone"),
    ],
)  # fmt: skip
def test_statements_that_could_mean_something_else_are_refused(statement: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse(statement)


def test_rows_may_be_counted_by_a_constant(stays):
    assert parse("SELECT COUNT(1) FROM stays") == parse("SELECT COUNT(*) FROM stays")
    zoned = parse("SELECT COUNT(*) FROM stays WHERE at > TIMESTAMPTZ '2020-02-01 10:00+05'")
    assert zoned.stated["where"] == "(at > '2020-02-01 10:00+05')"


def test_a_name_that_a_column_has_is_not_grouped_by(stays):
    """SQL takes the column in GROUP BY, and refuses the statement; the alias was grouped by."""
    with pytest.raises(ParameterError, match="can mean the column 'sex', or 'hospital'"):
        stays.sql("SELECT hospital AS sex, COUNT(*) FROM stays GROUP BY sex", epsilon=1)
    for name in ("h", "hospital", "HOSPITAL"):
        named = f"SELECT hospital AS {name}, COUNT(*) FROM stays GROUP BY {name}"
        assert stays.statement(named).stated == {"by": "Hospital"}
