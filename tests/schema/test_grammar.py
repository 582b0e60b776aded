"""The grammar of data sets: what is read is what was meant; what is wrong is said in one line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dampen.errors import ParameterError
from dampen.schema import (
    Categories,
    Graph,
    Names,
    Numbers,
    Schema,
    format_schema,
    load_schema,
    parse_schema,
)
from dampen.schema.grammar import load_file
from dampen.schema.schema import Word

TEXT = """
[[data]]
name = "stays"
files = ["stays.parquet"]
budgets = ["stays"]
unit = "patient"
units-public = true
rows = 50_000
unlisted = "own"
[data.columns]
days = { lower = 0, upper = 90, step = 1, bins = 9, missing = "own" }
age = { edges = [0, 18, 65.5] }
"marital status" = ["Single", "Married", 3]
ward = { values = ["A", "B"], public = true }
employee = { names = true }
[data.graph]
nodes = 40
source = "from"
target = "to"
"""


def test_a_schema_is_read() -> None:
    schema = parse_schema(TEXT)
    assert schema == Schema(
        unit="patient",
        units_public=True,
        rows=50_000,
        columns={
            "days": Numbers(0, 90, 1, 9, missing="own"),
            "age": Numbers(edges=(0, 18, 65.5)),
            "marital status": Categories((Word("Single"), Word("Married"), Word("3"))),
            "ward": Categories((Word("A"), Word("B")), public=True),
            "employee": Names(),
        },
        graph=Graph(40, "from", "to"),
        unlisted="own",
    )
    assert list(schema.columns) == ["days", "age", "marital status", "ward", "employee"]


def test_all_that_a_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "dampen.toml"
    path.write_text('ledger = "l"\nregistered-only = true\n' + TEXT + "[service]\nany = 1\n")
    file = load_file(path)
    assert (file.ledger, file.registered_only, file.service) == ("l", True, {"any": 1})
    (data,) = file.data
    assert (data.name, data.files, data.budgets) == ("stays", ("stays.parquet",), ("stays",))


def test_defaults() -> None:
    empty = parse_schema("[[data]]\nname = 'a'")
    assert empty == Schema(unit="row", missing="drop", unlisted="drop")
    assert parse_schema("[[data]]\nname = 'a'\ngraph.nodes = 4").unit == "edge"


def test_nodes_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("ann\nbob\n")
    path = tmp_path / "dampen.toml"
    path.write_text("[[data]]\nname = 'a'\ngraph.nodes = 'nodes.txt'")
    assert load_schema(path).fact("nodes") == ("ann", "bob")
    assert load_file(path).data[0].schema.graph == Graph("nodes.txt")  # not read before it is used


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows = 50_000", "rows = 0", "Expected rows to be a whole number above 0"),
        ("rows = 50_000", f"rows = {'9' * 20}", r"at most 2\^52, in \[data\] of 'stays' in the"),
        ("rows = 50_000", "rows = true", "Expected rows to be a whole number in .*, got True"),
        ("rows = 50_000", "row = 5", r"Unknown key 'row' in \[data\] of 'stays'.* mean 'rows'"),
        ("rows = 50_000", "qqq = 5", "Known keys are name, files"),
        ("rows = 50_000", "rows = [", "not valid TOML"),
        ("rows = 50_000", f"rows = {'9' * 5000}", "not valid TOML"),
        ("rows = 50_000", f"rows = 0x{'f' * 5000}", "at most 2"),
        ("rows = 50_000", f"title = 0x{'f' * 5000}", "a number that is too long"),
        ("rows = 50_000", f"rows = {'[' * 5000}{']' * 5000}", "not valid TOML"),
        ('name = "stays"', "", r"Expected name, text, in \[data\] of the schema"),
        ('name = "stays"', "name = ' '", "not empty"),
        ("[data.columns]", "[data.colums]", "Did you mean 'columns'"),
        ("lower = 0", "lower = 'a'", r"lower to be a number in \[data.columns.days\] of 'stays'"),
        ("lower = 0", "lower = 100", "lower < upper"),
        ("lower = 0, ", "lower = nan, ", "lower to be a number"),
        ("upper = 90", "upper = inf", "upper to be a number"),
        ("upper = 90", f"upper = 1{'0' * 400}", "upper to be a number"),
        ("step = 1", "step = 0", "step to be a number above 0"),
        ("bins = 9", "bins = 1.5", "bins to be a whole number"),
        ("bins = 9", "bins = 1_000_000_000", "whole number from 1 to 32767"),
        ("bins = 9", "bin = 9", "Did you mean 'bins'"),
        ('missing = "own"', 'missing = "mine"', "missing to be 'drop' or 'own'"),
        ("[0, 18, 65.5]", "[1]", "ascending, finite edges"),
        ("[0, 18, 65.5]", "[1, 1]", "ascending, finite edges"),
        ("[0, 18, 65.5]", "[0, 'a']", "edges to be a list of numbers"),
        ("[0, 18, 65.5]", "[0, 18], upper = 9", "edges alone"),
        ('"Married", 3', '"Single", 3', "all different"),
        ('"Married", 3', "1.5", "a list of texts or whole numbers"),
        ('["Single", "Married", 3]', "3", "marital status to be a table"),
        ("values =", "value =", "Did you mean 'values'"),
        ("names = true", "names = false", "names = true"),
        ("names = true", "names = true, lower = 0", "Unknown key"),
        ("nodes = 40", "nodes = 0", "at least one"),
        ("nodes = 40", "nodes = ['a', 'a']", "all different"),
        ("nodes = 40", "nodes = 1.5", "nodes to be a whole number or text or a list"),
        ("nodes = 40", "", "Expected nodes"),
        ("[[data]]", "[[data]]\nname = 'other'\n[[data]]", "Expected one .*, got 2"),
        (TEXT, "", "Expected one .*, got 0"),
        (TEXT, "data = 3", "Expected data to be an array of tables"),
        (TEXT, "data = [3]", "Expected a table"),
    ],
)
def test_a_mistake_is_one_line(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ParameterError, match=message) as caught:
        parse_schema(TEXT.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="No such file"):
        load_schema(tmp_path / "none.toml")
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="not UTF-8"):
        load_schema(path)
    path.write_text("#" * (2**24 + 1))
    with pytest.raises(ParameterError, match="at most 16 MB"):
        load_schema(path)
    path.write_text(TEXT)
    assert load_schema(path) == parse_schema(TEXT)


texts = st.text(st.characters(codec="utf-8"), max_size=8)
words = st.lists(texts, min_size=1, max_size=4, unique=True).map(tuple)
rules = st.sampled_from([None, "drop", "own"])
numbers = st.floats(-1e6, 1e6)
column = st.one_of(
    st.builds(
        lambda a, width, step, n, missing, public: Numbers(
            a, a + width, step, n, (), missing, public
        ),
        numbers,
        st.floats(1e-3, 1e6),
        st.none() | st.floats(1e-3, 10),
        st.integers(1, 100),
        rules,
        st.booleans(),
    ),
    st.builds(
        lambda edges, missing: Numbers(edges=tuple(sorted(edges)), missing=missing),
        st.sets(numbers, min_size=2, max_size=9),
        rules,
    ),
    st.builds(Numbers, lower=numbers, public=st.booleans()),
    st.builds(Numbers, upper=numbers, missing=rules),
    st.builds(Numbers, step=st.none() | st.floats(1e-3, 10)),
    st.builds(Categories, words, rules, rules, st.booleans()),
    st.just(Names()),
)
graphs = st.builds(Graph, st.integers(1, 10**9) | words, st.none() | texts, st.none() | texts)


@given(
    st.builds(
        Schema,
        unit=texts,
        units_public=st.booleans(),
        rows=st.none() | st.integers(1, 10**9),
        columns=st.dictionaries(texts, column, max_size=4),
        graph=st.none() | graphs,
        title=texts,
        version=texts,
        missing=st.sampled_from(["drop", "own"]),
        unlisted=st.sampled_from(["drop", "own"]),
    ),
    texts.filter(str.strip),
)
def test_written_schemas_are_read_back(schema: Schema, name: str) -> None:
    assert parse_schema(format_schema(schema, name=name)) == schema
