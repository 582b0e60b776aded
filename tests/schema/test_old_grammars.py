"""The two grammars of 0.2 mean what they meant, and a warning says what to write."""

from pathlib import Path

import pytest

from dampen.errors import OldGrammarWarning, ParameterError
from dampen.schema import Categories, Graph, Names, Numbers, Schema, parse_schema
from dampen.schema.grammar import load_file
from dampen.schema.schema import Word

SCHEMA = """
rows = 50_000
[columns.age]
bins = [17, 90, 10]
missing = "own"
[columns.income]
edges = [0, 1, 2]
[columns."marital status"]
values = ["Single", "Married", 3]
[target]
classes = ["<=50K", ">50K"]
"""
PUBLIC = """
[[data]]
name = "pay"
budgets = ["pay"]
files = ["pay.csv"]
[data.public]
title = "Pay"
rows = 9
analysts = ["ana"]
[data.public.columns]
pay = { lower = 0, upper = 9, step = 1 }
sex = { values = ["f", "m"] }
name = { label = true }
[data.public.graph]
nodes = 3
"""


def test_a_schema_of_models() -> None:
    with pytest.warns(OldGrammarWarning, match=r"Write it as \[\[data\]\] with") as warned:
        schema = parse_schema(SCHEMA, "old.toml", target="class")
    assert warned[0].filename == __file__
    assert schema == Schema(
        rows=50_000,
        columns={
            "age": Numbers(17, 90, bins=10, missing="own"),
            "income": Numbers(edges=(0, 1, 2)),
            "marital status": Categories((Word("Single"), Word("Married"), Word("3"))),
            "class": Categories((Word("<=50K"), Word(">50K"))),
        },
    )


def test_public_facts_of_a_service(tmp_path: Path) -> None:
    path = tmp_path / "dampen.toml"
    path.write_text(PUBLIC)
    with pytest.warns(OldGrammarWarning, match=r"\[data.public.columns\] becomes \[data.columns\]"):
        (data,) = load_file(path).data
    assert (data.name, data.budgets, data.analysts) == ("pay", ("pay",), ("ana",))
    assert data.schema == Schema(
        title="Pay",
        rows=9,
        columns={
            "pay": Numbers(0, 9, 1),
            "sex": Categories((Word("f"), Word("m"))),
            "name": Names(),
        },
        graph=Graph(3),
    )


@pytest.mark.filterwarnings("ignore::dampen.errors.OldGrammarWarning")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCHEMA.replace("[17, 90, 10]", "[17, 90]"), r"bins = \[lower, upper, count\]"),
        (SCHEMA.replace("[17, 90, 10]", "[90, 17, 10]"), "lower < upper"),
        (SCHEMA.replace("[17, 90, 10]", "[17, 90, 1.5]"), "whole number"),
        (SCHEMA.replace("edges", "bins = [1, 2, 3]\nedges"), "either bins, edges or values"),
        (SCHEMA.replace("classes", "class"), "Expected classes alone in"),
        (SCHEMA.replace("rows", "row"), "Did you mean 'rows'"),
        (SCHEMA.replace("columns.income", "columns.class"), "no .* of the target"),
        (SCHEMA.replace('">50K"', '"<=50K"'), "all different"),
        ("columns = 3", r"Expected \[columns.NAME\]"),
        (PUBLIC.replace("[data.public]", "rows = 3\n[data.public]"), "Expected rows once"),
        ("[[data]]\nname = 'a'\npublic = 3", r"a table \[data.public\]"),
        (PUBLIC.replace("label", "lable"), "Unknown key 'lable'"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_schema(text, target="class")


@pytest.mark.filterwarnings("ignore::dampen.errors.OldGrammarWarning")
def test_other_questions_need_no_target() -> None:
    assert list(parse_schema(SCHEMA).columns) == ["age", "income", "marital status"]
