"""`dampen.dataset`: facts stated once, a method for every question, one relation."""

import inspect
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dampen
from dampen.core.selection import Neighbours
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Ledger
from dampen.questions import QUESTIONS

STAYS = {
    "hospital": ["Ash", "Birch", "Oak"] * 80,
    "days": [2, 9, 4] * 80,
}
COLUMNS = {"hospital": ["Ash", "Birch", "Oak"], "days": dampen.number(0, 90)}


def stays(**facts: Any) -> Any:
    return dampen.dataset(STAYS, **{"columns": COLUMNS, **facts})


class Unread(list[Any]):
    """Has a length, and must not be looked into."""

    def __iter__(self) -> Any:
        raise AssertionError("the data was read")

    __array__ = __getitem__ = __iter__  # type: ignore[assignment]


def test_facts_are_stated_once() -> None:
    held = stays()
    assert held.top_groups("days", by="hospital", epsilon=5).answer == "Birch"
    assert 8 <= held.percentile("days", p=95, step=1, epsilon=20).answer <= 10
    by = held.percentile("days", p=50, by="hospital", step=1, epsilon=50).answer
    assert list(by) == ["Ash", "Birch", "Oak"]
    assert held.most_frequent("hospital", epsilon=5).answer in COLUMNS["hospital"]


def test_typed_parameters_override_stated_facts() -> None:
    made = stays().top_groups("days", by="hospital", groups=["Ash", "Oak"], upper=10, epsilon=5)
    assert made.answer == "Oak"
    assert made.parameters["upper"] == 10


@pytest.mark.parametrize(
    ("facts", "relation", "words"),
    [
        ({}, Neighbours.ADD_REMOVE_ROW, "one row"),
        ({"units_public": True}, Neighbours.REPLACE_ONE, "what one row says"),
        (
            {"unit": "hospital", "columns": {}},
            Neighbours.ADD_REMOVE_UNIT,
            "one hospital, with all their rows",
        ),
        ({"columns": {}, "nodes": 9}, Neighbours.ADD_REMOVE_EDGE, "one edge"),
    ],
)
def test_the_relation_follows_from_the_facts(facts: Any, relation: Neighbours, words: str) -> None:
    held = stays(**facts)
    assert held.relation is relation
    assert repr(held).endswith(f"protects {words}>")


def test_every_release_has_the_relation_of_its_data_set() -> None:
    for public, relation in ((False, "add-remove-row"), (True, "replace-one")):
        held = stays(units_public=public, rows=300)
        for made in (
            held.top_groups("days", by="hospital", epsilon=5),
            held.percentile("days", p=50, step=1, epsilon=5),
            held.percentile("days", p=50, step=1, by="hospital", epsilon=5),
            held.most_frequent("hospital", epsilon=5),
            held.tree(target="hospital", epsilon=5),
        ):
            assert (str(made.neighbours), made.epsilon) == (relation, 5)


def test_a_graph_is_a_data_set() -> None:
    edges = dampen.dataset(([0, 0, 0, 1], [1, 2, 3, 2]), nodes=9)
    made = edges.top_k(k=1, metric="degree", epsilon=90)
    assert made.answer == [0]
    assert str(made.neighbours) == "add-remove-edge"


def test_opening_and_expecting_look_at_no_row() -> None:
    unread = {name: Unread(column) for name, column in STAYS.items()}
    held = dampen.dataset(unread, columns=COLUMNS)
    repr(held)
    plan = held.expect("top-groups", value="days", by="hospital", epsilon="0.3")
    made = stays().top_groups("days", by="hospital", epsilon="0.3")
    assert (plan.cost.epsilon, plan.accuracy) == (Fraction(3, 10), made.accuracy)


def test_methods_can_be_found() -> None:
    held = stays()
    for name in QUESTIONS:
        method = name.replace("-", "_")
        assert method in dir(held)
        assert getattr(held, method).__doc__
    assert {"ask", "expect", "relation", "schema"} <= set(dir(held))
    with pytest.raises(AttributeError, match="Did you mean 'top_groups'"):
        held.top_group  # noqa: B018
    assert not hasattr(held, "__len__")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"columns": ["days"]}, r"columns= to map names .* got a list"),
        ({"columns": {"days": (0, 90)}}, r"Write dampen.number\(0, 90\), or \[0, 90\]"),
        ({"columns": {"days": {"lower": 0}}}, r"dampen.number\(lower, upper\) .* got a dict"),
        ({"columns": {"dasy": dampen.number(0, 90)}}, "column 'dasy', .* Did you mean 'days'"),
        ({"unit": ["hospital"]}, "name of one column, got a list"),
    ],
)
def test_facts_that_cannot_be_meant_are_refused(facts: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dampen.dataset(STAYS, **facts)


def test_ends_that_are_dates_may_be_text() -> None:
    assert dampen.number("2024-01-01", "2025-12-31") == dampen.number(
        date(2024, 1, 1), date(2025, 12, 31)
    )
    assert dampen.number("1.1.2024") == dampen.number(date(2024, 1, 1))
    with pytest.raises(ParameterError, match=r"a date such as '2024-12-31', got '1/1/2024'"):
        dampen.number("1/1/2024")


@pytest.mark.parametrize(
    ("name", "says"),
    [("median", "percentile with p = 50"), ("sum", "total"), ("cuont", "Did you mean 'count'")],
)
def test_other_names_of_questions_lead_to_them(name: str, says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        getattr(stays(), name)
    with pytest.raises(ParameterError, match=says):
        stays().expect(name, epsilon=1)


def test_a_method_has_the_signature_of_its_question() -> None:
    signature = inspect.signature(stays().top_groups)
    first, *others = signature.parameters.values()
    assert (first.name, first.kind) == ("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert {each.kind for each in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert {"by", "k", "min_rows", "epsilon", "rho", "budget"} <= {each.name for each in others}
    assert "neighbours" not in signature.parameters


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda held: held.top_groups("days", "hospital", epsilon=1), "too many positional"),
        (lambda held: held.top_groups("days", b="hospital", epsilon=1), "unexpected keyword"),
        (lambda held: held.top_groups("days", by="hospital"), "epsilon"),
        (lambda held: held.top_groups("days", by="town", epsilon=1), "groups=, the public list"),
        (lambda held: held.percentile("age", p=50, epsilon=1), "Expected a column 'age'"),
        (lambda held: held.total("age", epsilon=1), "Expected a column 'age'"),
        (lambda held: held.percentile("hospital", p=50, epsilon=1), "not numeric"),
        (lambda held: held.top_groups("hospital", by="days", epsilon=1), "Column"),
        (lambda held: held.most_frequent("days", epsilon=1), "no public list of values"),
        (lambda held: held.ask("top-group", epsilon=1), "Did you mean 'top-groups'"),
        (lambda held: held.ask("percentile", vaule="days", epsilon=1), "Did you mean 'value'"),
        (lambda held: held.top_k(k=1, n=5, epsilon=1), "protects add-remove-edge"),
    ],
)
def test_mistakes_cost_nothing(ask: Any, says: str, tmp_path: Path) -> None:
    budget = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours="add-remove-row")
    unread = {name: Unread(column) for name, column in STAYS.items()}
    with pytest.raises(ParameterError, match=says):
        ask(dampen.dataset(unread, columns=COLUMNS, budget=budget))
    assert budget.ledger.history("b") == []


@pytest.mark.parametrize(
    "columns",
    [{"a": "text"}, {"a": 3}, {"a": ["x", "x"]}, {"a": None}],
    ids=str,
)
def test_invalid_facts_are_refused(columns: Any) -> None:
    with pytest.raises(ParameterError):
        dampen.dataset(STAYS, columns=columns)


def test_a_budget_pays_unless_another_is_named(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    own, other = (ledger.create(n, epsilon=1, neighbours="add-remove-row") for n in ("a", "b"))
    held = stays(budget=own)
    held.most_frequent("hospital", epsilon="0.25")
    held.most_frequent("hospital", epsilon="0.5", budget=other)
    assert (ledger.spent("a"), ledger.spent("b")) == (Fraction(1, 4), Fraction(1, 2))
    with pytest.raises(BudgetError):
        held.most_frequent("hospital", epsilon=1)


CONFIG = """
ledger = "books.sqlite3"

[[data]]
name = "stays"
files = ["stays.csv"]
budgets = ["stays"]
{more}
[data.columns]
hospital = ["Ash", "Birch", "Oak"]
days = {{ lower = 0, upper = 90 }}
"""


def registered(place: Path, more: str = "", relation: str = "add-remove-row") -> Path:
    lines = [f"{h},{d}\n" for h, d in zip(STAYS["hospital"], STAYS["days"], strict=True)]
    (place / "stays.csv").write_text("hospital,days\n" + "".join(lines))
    Ledger(place / "books.sqlite3").create("stays", epsilon=100, neighbours=relation)
    (place / "dampen.toml").write_text(CONFIG.format(more=more))
    return place / "dampen.toml"


def test_the_curators_file_holds_facts_and_budget(tmp_path: Path) -> None:
    held = dampen.dataset("stays", config=registered(tmp_path))
    assert held.top_groups("days", by="hospital", epsilon=5).answer == "Birch"
    [charge] = Ledger(tmp_path / "books.sqlite3").history("stays")
    assert (charge.epsilon, str(charge.neighbours)) == (5, "add-remove-row")
    with pytest.raises(ParameterError, match="Did you mean 'stays'"):
        dampen.dataset("stay", config=tmp_path / "dampen.toml")


def test_the_curators_file_decides_the_relation(tmp_path: Path) -> None:
    file = registered(tmp_path, "units-public = true", "replace-one")
    made = dampen.dataset("stays", config=file).percentile("days", p=50, step=1, epsilon=5)
    assert str(made.neighbours) == "replace-one"
    assert made.parameters["n"] == 240


def test_what_to_expect_reads_well_at_a_prompt() -> None:
    expected = stays().expect("keys", value="hospital", delta="1e-6", epsilon=1)
    told = "In at least 9 of 10 runs a value with 16 rows or more is released."
    assert repr(expected).startswith(f"Planned(epsilon=1, delta=0.000001, accuracy='{told}")
    assert str(expected).startswith(f"cost: epsilon 1\naccuracy: {told}")


def test_a_unit_that_is_not_a_column_of_the_data_is_refused():
    told = r"or a column of the data, got 'patent'\. Did you mean 'patient'\?"
    with pytest.raises(ParameterError, match=told):
        dampen.dataset({"patient": ["a"], "days": [1]}, unit="patent")
