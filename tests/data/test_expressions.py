"""Conditions and formulas: what is read, what is refused, and which rows are kept."""

import random
import re
from datetime import date, datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dampen
from dampen.data.expressions import FilteredTable, filtered, parse_condition, parse_formula
from dampen.data.memory import MemoryTable
from dampen.data.open import open_table
from dampen.errors import ParameterError

ROWS = 60


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    numbers = rng.integers(-3, 8, (2, ROWS)).astype(float)
    numbers[0, ::7] = np.nan
    words = rng.choice(["A", "B", "b", "", "Ä"], ROWS).astype(object)
    wards = rng.choice(["A", "B", "C"], ROWS).astype(object)
    wards[::5] = None
    return pd.DataFrame(
        {
            "age": numbers[0],
            "pay": numbers[1],
            "size": rng.integers(0, 5, ROWS),
            "ward": wards,
            "word": words,
            "two words": rng.integers(0, 3, ROWS),
        }
    )


def kept(frame, condition):
    """The positions of the rows that are kept."""
    opened = MemoryTable({name: frame[name] for name in frame.columns})
    expression = parse_condition(condition).fitted(opened)
    batch = {name: opened.columns[name].to_numpy() for name in expression.wanted}
    return np.flatnonzero(expression.keeps(batch)).tolist()


class Writer:
    """Random conditions, in this language and in that of pandas."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, depth):
        kind = self.random.randrange(3 if depth <= 0 else 6)
        if kind == 0:
            return self.random.choice(["0", "1", "2.5", "3", "-1", "1e1", ".5"])
        if kind <= 2:
            return self.random.choice(["age", "pay", "size", "`two words`"])
        if kind == 3:
            return f"({self.number(depth - 1)})"
        if kind == 4:
            return f"-{self.number(0)}".replace("--", "- -")
        symbol = self.random.choice("+-*/")
        return f"{self.number(depth - 1)} {symbol} {self.number(depth - 1)}"

    def text(self):
        return self.random.choice(["'A'", '"B"', "'b'", "''", "'Ä'", "'x y'"])

    def comparison(self, depth):
        kind = self.random.randrange(7)
        symbol = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        if kind <= 2:
            one = ""
            while not re.search("[a-z]{2}", one):  # pandas takes not of a constant for ~
                one = f"{self.number(depth)} {symbol} {self.number(depth)}"
        elif kind == 3:
            symbol = self.random.choice(["==", "!="])
            one = f"{self.random.choice(['ward', 'word'])} {symbol} {self.text()}"
        elif kind == 4:
            word = self.random.choice(["in", "not in"])
            listed = ", ".join({self.text() for _ in range(self.random.randrange(1, 4))})
            one = f"{self.random.choice(['ward', 'word'])} {word} [{listed}]"
        elif kind == 5:
            word = self.random.choice(["in", "not in"])
            listed = ", ".join(self.random.choice(["1", "2", "3", "-1", "2.5"]) for _ in range(3))
            one = f"{self.random.choice(['age', 'size'])} {word} [{listed}]"
        else:
            word = self.random.choice(["is missing", "is not missing"])
            column = self.random.choice(["age", "ward", "pay"])
            called = {"is missing": ".isnull()", "is not missing": ".notnull()"}[word]
            return f"{column} {word}", f"{column}{called}"
        return one, one

    def condition(self, depth):
        """One in this language, and the same in that of pandas."""
        kind = self.random.randrange(2 if depth <= 0 else 6)
        if kind <= 1:
            return self.comparison(depth)
        ours, theirs = self.condition(depth - 1)
        if kind == 2:
            return f"({ours})", f"({theirs})"
        if kind == 3:
            return f"not ({ours})", f"not ({theirs})"
        word = self.random.choice(["and", "or"])
        more, also = self.condition(depth - 1)
        return f"({ours}) {word} ({more})", f"({theirs}) {word} ({also})"

    def damaged(self, text):
        """A condition with a character changed, dropped or doubled."""
        place = self.random.randrange(len(text))
        more = self.random.choice(["", text[place] * 2, *"&|=!()'\"`[],.;@#$%^~{}:\\x9 \n\0"])
        return text[:place] + more + text[place + 1 :]


def fuzz(seed, times):
    """Compares random conditions with pandas, and damages them: refused in a sentence, or read."""
    frame = people().astype({"size": float, "two words": float})
    writer = Writer(seed)
    read = 0
    for _ in range(times):
        ours, theirs = writer.condition(3)
        expected = selected(frame, theirs)
        if expected is not None and len(ours) < 2000:
            read += 1
            assert kept(frame, ours) == expected, ours
        if told := refusal(frame, writer.damaged(ours)):
            assert "at character" in told or "Expected a column" in told, told
    return read


def selected(frame, condition):
    """What pandas selects; None where it cannot, such as 1 / 0 of two numbers."""
    with np.errstate(all="ignore"):
        try:
            found = frame.eval(condition, engine="python")
        except (ZeroDivisionError, KeyError, TypeError, AttributeError):
            return None
    return np.flatnonzero(np.broadcast_to(np.asarray(found, dtype=bool), len(frame))).tolist()


def refusal(frame, condition):
    """What is said against a condition; nothing else may happen to it."""
    try:
        kept(frame, condition)
    except ParameterError as error:
        return str(error)
    return ""


def test_random_conditions_keep_the_rows_that_pandas_selects():
    assert fuzz(0, 1000) > 600


@pytest.mark.slow
def test_many_random_conditions_keep_the_rows_that_pandas_selects():
    assert fuzz(1, 50_000) > 30_000


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("age >", "got the end at character 6"),
        ("age = 5", "got '=' at character 5. Write =="),
        ("age > 5 & pay > 1", "got '&' at character 9. Write and"),
        ("age > 5 || pay > 1", r"got '\|\|' at character 9. Write or"),
        ("age > 5 and", "got the end at character 12"),
        ("(age > 5", r"Expected '\)' in where='\(age > 5', got the end at character 9"),
        ("age > 5)", r"got '\)' at character 8"),
        ("age", "not only a value"),
        ("age + 1", "not only a value"),
        ("ward == 5", "Column 'ward' holds str|numbers on both sides|holds"),
        ("age == 'x' and age > 3", "numbers on both sides"),
        ("size == 'x'", "Column 'size' holds numbers"),
        ("age > 'x'", "holds numbers, in where=\"age > 'x'\" at character 1"),
        ("1 + (age > 5) > 2", "a number or a column"),
        ("age in [1, 'x']", "a list of numbers or a list of texts"),
        ("age in 5", r"Expected '\['"),
        ("age in [pay]", "a number or a text in the list"),
        ("5 is missing", "a column before"),
        ("age is 5", "'missing'"),
        ("aeg > 5", "Did you mean 'age'"),
        ("ward == A", r"Expected a column 'A' in .*\. If it is a text, write 'A'\.$"),
        ("ward is null", "For missing cells write: ward is missing"),
        ("ward == None", "For missing cells write: ward is missing"),
        ("ward.isna()", "A condition cannot call methods of columns. For missing cells write"),
        ("age between 60 and 70", "Write: 60 <= age <= 70"),
        ("ward like 'A%'", "Write a list of values"),
        ("home town == 'x'", "backticks around a name with blanks"),
        ("age > 2024-10-12", "a date in quotes .* got '2024-10-12' at character 7"),
        ("'a' == 'b'", "it names none"),
        ("__import__('os').system('ls') == 1", r"got '\.' at character 17"),
        ("age > 1e999", "below 1e308"),
        ("age.real > 1", r"got '\.' at character 4"),
        ("(" * 60 + "age > 1" + ")" * 60, "at most 50 nested"),
        ("", "got none"),
        ("   ", "got none"),
        ("age > 5 " + "or age > 5 " * 200, "at most 2,000 characters"),
        (5, "to be a text"),
    ],
)
def test_mistakes_are_located_before_the_charge(condition, says):
    class Refusing:
        def charge(self, cost, /):
            raise AssertionError

    frame = people().astype({"ward": "string"})
    with pytest.raises(ParameterError, match=says):
        dampen.count(frame, where=condition, epsilon=1, budget=Refusing())


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("v > 2", [2]),
        ("v != 2", [0, 2, 3, 4]),
        ("not v > 2", [0, 1, 3, 4]),
        ("0 < v <= 2", [0, 1]),
        ("v is missing", [3, 4]),
        ("v is missing or v == 1", [0, 3, 4]),
        ("v / 0 > 5", [0, 1, 2]),
        ("v IN [1, 3] AND NOT v == 3", [0]),
        ("v == w", [0]),
        ("v < w", [1]),
        ("w is not missing", [0, 1, 2]),
        ("v in []", []),
    ],
)
def test_missing_and_unreadable_cells_make_comparisons_false(condition, rows):
    frame = pd.DataFrame({"v": [1, 2, 3, None, "x"], "w": [1, "a", "b", "", None]}, dtype=object)
    if condition in ("v == w", "v < w"):
        frame["v"] = [1, "Z", 3, None, "x"]
    found = kept(frame, condition)
    assert found == rows if "v is missing" not in condition else set(found) <= {0, 3, 4}


def test_a_cell_without_a_number_is_missing_among_numbers():
    frame = pd.DataFrame({"v": [1, "x", None]}, dtype=object)
    assert kept(frame, "v > 0 or v <= 0") == [0]


def test_text_is_compared_by_code_points():
    frame = pd.DataFrame({"t": pd.Series(["a", "B", "ä", None, "\ud800"], dtype=object)})
    assert kept(frame, "t < 'b'") == [0, 1, 4]  # half a character becomes a question mark
    assert kept(frame, "t >= 'a'") == [0, 2]


def test_dates_are_compared_with_texts_and_subtracted():
    days = [datetime(2024, 1, 1), datetime(2024, 3, 1, 12), None]
    table = pa.table({"came": pa.array(days), "left": pa.array([date(2024, 1, 4)] * 3)})
    opened = open_table(table)
    view = filtered(opened, "came < '2024-02-01'")
    assert [len(batch["came"]) for batch in view.batches({"came": "any"})] == [1]
    formula = parse_formula("left - came").fitted(opened)
    [batch] = opened.batches(formula.wanted)
    assert formula.numbers(batch)[:2].tolist() == [3, -57.5]
    with pytest.raises(ParameterError, match="a date, such as"):
        filtered(opened, "came < 'soon'")
    for wrong in ("came > 2024", "came in [2024]"):
        with pytest.raises(ParameterError, match="a date in quotes, such as"):
            filtered(opened, wrong)
    later = filtered(opened, "came + 2 < left")
    assert [len(batch["came"]) for batch in later.batches({"came": "any"})] == [1]
    frame = table.to_pandas()
    assert dampen.count(frame, where="came >= '2024-01-02'", epsilon="1000000").answer == 1


def test_names_with_blanks_stand_in_backquotes():
    frame = people()
    assert kept(frame, "`two words` == 1") == frame.index[frame["two words"] == 1].tolist()


def test_a_filtered_table_hides_how_many_rows_it_has():
    view = filtered(open_table({"v": [1, 2, 3]}), "v > 1")
    assert isinstance(view, FilteredTable)
    assert view.rows is None


def test_lists_tuples_arrow_and_numpy_are_filtered_alike():
    columns = {"v": [1.0, 2.0, None, 4.0], "w": ["a", "b", "a", "a"]}
    for table in [columns, pa.table(columns), pd.DataFrame(columns)]:
        view = filtered(open_table(table), "v >= 2 and w == 'a'")
        [batch] = view.batches({"w": "text", "v": "numbers"})
        assert list(batch) == ["w", "v"]
        assert [str(each) for each in batch["w"]] == ["a"]


ENGINE = [
    "age > 2", "age != 2", "not (age >= 2)", "age == pay", "age in [1, 2.5, 3]", "ward == 'A'",
    "ward != 'A'", "ward in ['A', 'B']", "ward not in ['A']", "ward < 'B'", "word >= 'b'",
    "age is missing", "ward is missing", "word is missing", "not (ward is missing) and pay <= 3",
    "ward == word", 'word == "it\'s"', "size > 2 or age < 0",
]  # fmt: skip


@pytest.mark.parametrize("condition", [*ENGINE, "age + 1 > pay", "age / size > 1"])
def test_duckdb_keeps_the_same_rows(condition):
    frame = people()
    expected = dampen.data.open_table(pa.Table.from_pandas(frame))
    table = pa.Table.from_pandas(frame)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(table)
        view = filtered(open_table(relation), condition)
        assert isinstance(view, FilteredTable) == ("/" in condition or "+" in condition)
        got = [each for batch in view.batches({"pay": "any"}) for each in batch["pay"].to_pylist()]
    right = [
        each
        for batch in filtered(expected, condition).batches({"pay": "any"})
        for each in batch["pay"].to_pylist()
    ]
    assert sorted(got) == sorted(right)


@pytest.mark.parametrize("condition", [*ENGINE, "age + 1 > pay"])
def test_sqlite_keeps_the_same_rows(condition, tmp_path):
    import sqlite3

    frame = people()
    path = tmp_path / "people.sqlite3"
    with sqlite3.connect(path) as connection:
        frame.to_sql("people", connection, index=False)
    given = {"by": "size", "groups": [*range(5)], "epsilon": "1000000", "where": condition}
    assert dampen.count(path, **given).answer == dampen.count(frame, **given).answer


def test_every_table_question_takes_a_filter():
    frame = pd.DataFrame(
        {"v": [3, 2, 4, 9] * 50, "g": ["a", "b", "a", "b"] * 50, "c": [0, 0, 0, 1] * 50}
    )
    sure = {"where": "v < 9", "epsilon": "1000"}
    on_grid = {"lower": 0, "upper": 9, "step": 1}
    assert dampen.count(frame, **sure).answer == 150
    assert dampen.histogram(frame, "g", categories=["a", "b"], **sure).answer == {"a": 100, "b": 50}
    assert dampen.most_frequent(frame, "g", categories=["a", "b"], **sure).answer == "a"
    best = dampen.top_groups(frame, "v", by="g", groups=["a", "b"], p=90, **on_grid, **sure)
    assert best.answer == "a"
    made = dampen.percentile(frame, "v", p=90, **on_grid, **sure)
    assert (made.answer, str(made.neighbours)) == (4, "add-remove-row")
    assert made.parameters["where"] == "v < 9"
    assert dampen.mean(frame, "v", **on_grid, **sure).answer == pytest.approx(3, abs=0.01)
    model = dampen.NaiveBayesClassifier(
        epsilon="1000", classes=[0, 1], domains={"g": ["a", "b"]}, max_rows=200
    ).fit_table(frame, target="c", columns=["g"], where="v < 9")
    assert model.predict_table(frame).tolist() == [0] * 200


@pytest.mark.parametrize("ask", ["percentile", "top-groups"])
def test_a_replaced_value_may_enter_or_leave_what_a_filter_keeps(ask):
    """So that a filtered release under replacement is one for a row more or less, at half ε."""
    table = {"v": [1, 2] * 50, "g": ["a", "b"] * 50}
    columns = {"v": dampen.number(0, 9, step=1), "g": dampen.categories(["a", "b"], public=True)}
    asked = {"value": "v", "by": "g", **({"p": 50} if ask == "percentile" else {})}
    fixed = dampen.dataset(table, units_public=True, columns=columns)
    free = dampen.dataset(table, columns=columns)
    plan = fixed.expect(ask, where="v > 1", epsilon=2, **asked)
    assert (str(plan.cost.neighbours), plan.cost.epsilon) == ("replace-one", 2)
    half = free.expect(ask, where="v > 1", epsilon=1, **asked)
    assert plan.accuracy == half.accuracy
    assert plan.accuracy != free.expect(ask, where="v > 1", epsilon=2, **asked).accuracy


@pytest.mark.parametrize(
    ("value", "share"),
    [("pay > 2", 0.4), ("size in ['big', 'old']", 0.4), ("pay is missing", 0.2),
     ("not (size == 'big')", 0.8), ("size != 'big' and pay >= 1", 0.6)],
)  # fmt: skip
def test_the_mean_of_a_condition_is_its_share(value, share, tmp_path):
    """Rows whose cell is missing do not hold it, as in pandas."""
    sizes = ["big", "old", "new", None, "new"] * 200
    pays = [1, 2, 3, None, 4] * 200
    path = tmp_path / "rows.csv"
    rows = [
        "size,pay",
        *(f"{a or ''},{'' if b is None else b}" for a, b in zip(sizes, pays, strict=True)),
    ]
    path.write_text("\n".join(rows))
    for data in (path, {"size": sizes, "pay": pays}, pd.DataFrame({"size": sizes, "pay": pays})):
        found = dampen.mean(data, value, epsilon=1000)
        assert found.answer == pytest.approx(share, abs=0.001)
        assert dampen.total(data, value, epsilon=1000).answer == pytest.approx(1000 * share, abs=1)
    grouped = dampen.mean(path, value, by="size", groups=["new", "big"], epsilon=1000).answer
    assert all(0 <= each <= 1 for each in grouped.values())


def test_a_single_equal_sign_is_corrected():
    with pytest.raises(ParameterError, match="Write =="):
        dampen.mean({"size": ["big"]}, "size = 'big'", epsilon=1)


def test_a_value_may_be_a_formula():
    stays = {"came": [1, 2, 3, None], "left": [4, 6, 5, 9], "g": ["a", "a", "b", "b"]}
    given = {"lower": 0, "upper": 10, "step": 1, "epsilon": "100000"}
    assert dampen.total(stays, "left - came", **given).answer == 9
    by = dampen.total(
        stays, "left - came", by="g", groups=["a", "b"], where="left - came > 2", **given
    )
    assert by.answer == {"a": 7, "b": 0}
    whole = {"came": [1, 2, 3], "left": [4, 6, 5]}
    assert dampen.percentile(whole, "(left - came) * 2", p=50, **given).answer == 6
    with pytest.raises(ParameterError, match="at character 8"):
        dampen.total(stays, "left - ", **given)


@pytest.mark.parametrize("where", ["x > 5", "x * 1 > 5"])
def test_numbers_are_read_alike_where_a_question_wants_the_text(tmp_path: Path, where: str) -> None:
    """By the grammar of files, not by that of Python, in which 1_0 is ten."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n7,a\n1_0,b\n٧,c\n nan ,d\n 8 ,e\n")
    for kind in ("numbers", "text", "any"):
        batches = filtered(open_table(path), where).batches({"y": "text", "x": kind})
        assert [str(cell) for batch in batches for cell in batch["y"]] == ["a", "e"]


TRUTHS = ["True", "false", "TRUE", "", "yes", "1", "0"]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("back == true", [0, 2, 5]),
        ("back == false", [1, 6]),
        ("not (back == true)", [1, 3, 4, 6]),
        ("back in [true]", [0, 2, 5]),
        ("back == true or number > 5", [0, 2, 5, 6]),
    ],
)
def test_texts_of_truth_values_are_compared_with_truth_values(
    tmp_path: Path, condition: str, kept: list[int]
) -> None:
    """They were missing, so that nothing was true."""
    numbers = list(range(len(TRUTHS)))
    path = tmp_path / "visits.csv"
    path.write_text(
        "back,number\n" + "".join(f"{b},{n}\n" for b, n in zip(TRUTHS, numbers, strict=True))
    )
    for table in (path, {"back": TRUTHS, "number": numbers}):
        found = filtered(open_table(table), condition).batches({"number": "numbers"})
        assert [int(n) for batch in found for n in batch["number"]] == kept


def test_objects_that_are_truth_values_are_compared_as_before() -> None:
    table = {"back": [True, np.False_, 1, 0.0, None, "true", object()]}
    for condition, count in (("back == true", 3), ("back == false", 2), ("back > 0", 2)):
        assert dampen.count(table, where=condition, epsilon=50).answer == count
