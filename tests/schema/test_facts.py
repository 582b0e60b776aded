"""Facts of a schema, by the names that questions give them, and the domains of models."""

import pytest

from dampen import MISSING
from dampen.errors import ParameterError
from dampen.questions import QUESTIONS, question_type
from dampen.questions.classify import Bins, bins
from dampen.questions.classify import Categories as Values
from dampen.questions.classify.encoding import given_domains
from dampen.releases.question import parameters
from dampen.schema import Schema, parse_schema
from dampen.schema.schema import _OF_COLUMNS, _OF_DATA_SETS

TEXT = """
[[data]]
name = "stays"
rows = 500
missing = "own"
[data.columns]
hospital = ["Ash", "Birch"]
days = { lower = 0, upper = 90, step = 1 }
age = { edges = [0, 18, 65], missing = "drop" }
sex = { values = ["f", "m"], missing = "drop" }
employee = { names = true }
"""


@pytest.fixture
def schema() -> Schema:
    return parse_schema(TEXT)


def test_facts_of_columns(schema: Schema) -> None:
    assert schema.fact("values", "hospital") == schema.fact("classes", "hospital")
    assert schema.fact("values", "hospital") == ("Ash", "Birch", MISSING)
    assert [schema.fact(name, "days") for name in ("lower", "upper", "step")] == [0, 90, 1]
    assert schema.fact("step", "age") is schema.fact("values", None) is None
    assert [schema.fact("missing", name) for name in ("days", "age")] == ["own", "drop"]


def test_facts_of_the_data_set(schema: Schema) -> None:
    assert (schema.fact("rows"), schema.fact("names")) == (500, "employee")
    assert [schema.fact(name) for name in ("nodes", "n", "source", "target")] == [None] * 4
    graph = parse_schema("[[data]]\nname = 'a'\ngraph = { nodes = ['x', 'y'], source = 's' }")
    assert (graph.fact("nodes"), graph.fact("n"), graph.fact("source")) == (("x", "y"), None, "s")
    assert parse_schema("[[data]]\nname = 'a'\ngraph.nodes = 4").fact("n") == 4


def test_domains(schema: Schema) -> None:
    names = ["hospital", "days", "age", "sex"]
    assert list(schema.fact("domains")) == names
    assert given_domains(schema.fact("domains"), names) == [
        Values(("Ash", "Birch", MISSING)),
        bins(0, 90, missing="own"),
        Bins((0, 18, 65)),
        Values(("f", "m")),
    ]


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("values", "hospitl", "Expected a public column, one of hospital.*mean 'hospital'"),
        ("values", "days", "no public list of values. Choose .*: hospital, sex"),
        ("lower", "sex", "'sex' is not numeric. Choose a numeric column: days, age"),
        ("lowr", "days", "no fact 'lowr'. Did you mean 'lower'"),
    ],
)
def test_missing_facts_of_a_schema(schema: Schema, name, column, message) -> None:
    with pytest.raises(ParameterError, match=message):
        schema.fact(name, column)


def test_every_fact_of_every_question_is_known() -> None:
    for name in QUESTIONS:
        for each in parameters(question_type(name)):
            if each.fact is not None:
                assert each.fact.name in (_OF_COLUMNS if each.fact.of else _OF_DATA_SETS)


def test_the_digest_is_of_the_facts_alone(schema: Schema) -> None:
    def digest(old: str = "", new: str = "") -> str:
        return parse_schema(TEXT.replace(old, new, 1)).digest()

    assert digest() == schema.digest() == digest("rows", "title = 'Stays'\nrows")
    changes = [
        ("500", "501"),
        ('"f"', '"w"'),
        ("rows", "version = 'May'\nrows"),
        ('"own"', '"drop"'),
    ]
    assert len({digest(*change) for change in changes} | {schema.digest()}) == 5
