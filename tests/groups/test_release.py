"""`dampen.top_groups`: what goes in, what comes out, in which order things happen."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dampen
from dampen.core.noise import pure_rho
from dampen.errors import BudgetError, ParameterError

WARDS = ["A", "B", "C"]
GIVEN = {"groups": WARDS, "lower": 0, "upper": 30, "step": 1, "epsilon": "20"}
STAYS = {
    "days": [2, 3, 4] * 40 + [5, 6, 9] * 40 + [25, 3, 3] * 20 + [30] * 9,
    "ward": ["A"] * 120 + ["B"] * 120 + ["C"] * 60 + ["unlisted"] * 9,
}


class Account:
    """Remembers charges; refuses above its total."""

    def __init__(self, total="100"):
        self.left, self.costs = Fraction(total), []

    def charge(self, cost, /):
        if cost.epsilon > self.left:
            raise BudgetError("not enough left")
        self.left -= cost.epsilon
        self.costs.append(cost)
        return f"charge {len(self.costs)}"


def ask(data=STAYS, value="days", *, by="ward", **options):
    return dampen.top_groups(data, value, by=by, **(GIVEN | options))


TABLES = [
    STAYS,
    pd.DataFrame(STAYS),
    pd.DataFrame(STAYS).astype({"ward": "category", "days": "Float64"}),
    pl.DataFrame(STAYS),
    pl.DataFrame(STAYS).lazy(),
    pa.table(STAYS),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda t: type(t).__module__ + type(t).__name__)
def test_every_kind_of_table_is_taken(table):
    assert ask(table).answer == "B"


def test_columns_are_taken_as_they_are_or_by_name():
    frame = pd.DataFrame(STAYS)
    assert ask(frame["days"], None, by=frame["ward"]).answer == "B"
    assert ask(frame, "days", by=STAYS["ward"]).answer == "B"
    assert ask(np.array(STAYS["days"]), None, by=np.array(STAYS["ward"])).answer == "B"


def test_files_are_taken(tmp_path):
    pd.DataFrame(STAYS).to_csv(tmp_path / "stays.csv", index=False)
    pq.write_table(pa.table(STAYS), tmp_path / "stays.parquet")
    for name in ("stays.csv", "stays.parquet"):
        assert ask(tmp_path / name).answer == "B"


def test_groups_of_a_file_are_text_where_the_list_says_so(tmp_path):
    days = [1, 9, 2, 8, 2, 9] * 30
    pd.DataFrame({"days": days, "ward": ["007", "7"] * 90}).to_csv(tmp_path / "a.csv", index=False)
    assert ask(tmp_path / "a.csv", groups=["007", "7"]).answer == "7"


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({}, "B"),
        ({"statistic": "median"}, "B"),
        ({"smallest": True}, "A"),
        ({"p": 90}, "C"),
        ({"statistic": "quantile", "p": "10"}, "B"),
        ({"statistic": "mean"}, "C"),
        ({"statistic": "mean", "smallest": True}, "A"),
        ({"statistic": "trimmed-mean", "p": 40}, "B"),
        ({"statistic": "sum"}, "B"),
        ({"statistic": "sum", "smallest": True}, "A"),
        ({"k": 1}, ["B"]),
        ({"k": 2}, ["B", "C"]),
        ({"k": 2, "groups": ["C", "A", "B"]}, ["C", "B"]),
        ({"p": 90, "k": 2}, ["B", "C"]),
        ({"p": 90, "k": 2, "ordered": True, "epsilon": 80}, ["C", "B"]),
        ({"statistic": "sum", "k": 3, "ordered": True}, ["B", "C", "A"]),
        ({"statistic": "sum", "k": 2}, ["B", "C"]),
        ({"min_rows": 61}, "B"),
        ({"p": 90, "min_rows": 100}, "B"),
    ],
)
def test_the_answer_is_right_at_a_large_epsilon(options, answer):
    """At ε = 20 a wrong answer has a probability below 1e-8."""
    assert ask(**options).answer == answer


@pytest.mark.parametrize("statistic", ["median", "sum"])
def test_public_groups_allow_replacement_at_the_whole_epsilon(statistic):
    wards = {"ward": dampen.categories(WARDS, public=True)}
    asked = {name: value for name, value in GIVEN.items() if name != "groups"}
    made = dampen.dataset(STAYS, units_public=True, columns=wards).top_groups(
        "days", by="ward", statistic=statistic, **asked
    )
    assert (made.answer, made.epsilon) == ("B", 20)
    assert str(made.neighbours) == "replace-one"
    assert not set(made.parameters) & {"n", "rows", "counts", "sizes"}


def test_an_empty_table_gives_an_answer():
    assert ask({"days": [], "ward": []}).answer in WARDS


def test_a_release_shows_public_facts_only():
    account = Account()
    made = ask(p=90, k=2, epsilon="0.3", budget=account)
    assert (made.epsilon, made.mechanism, str(made.neighbours)) == (
        Fraction(3, 10),
        "reach",
        "add-remove-row",
    )
    assert made.charge == "charge 1"
    shown = json.loads(made.to_json())["parameters"]
    assert shown["groups"] == 3 and shown["p"] == 90 and shown["k"] == 2
    assert not set(shown) & {"n", "rows", "counts", "sizes"}


@pytest.mark.parametrize(
    ("options", "draws"),
    [({}, 1), ({"k": 2}, 1), ({"k": 2, "ordered": True}, 2)],
)
def test_one_charge_for_any_k(options, draws):
    account = Account()
    ask(**options, epsilon=1, budget=account)
    [cost] = account.costs
    assert (cost.epsilon, cost.query) == (1, "top-groups")
    assert cost.rho == draws * pure_rho(Fraction(1, draws))


def test_an_ordered_release_says_what_each_place_gets():
    assert ask(k=2, ordered=True, epsilon="0.3").parameters["epsilon_each"] == "0.15"
    assert "epsilon_each" not in ask(k=2, epsilon="0.3").parameters
    assert "epsilon_each" not in ask(k=2, ordered=True, statistic="sum").parameters


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 4}, "k <= 3"),
        ({"k": 0}, "k to be an integer"),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"epsilon": "1e-12"}, "epsilon >= 1e-9"),
        ({"statistic": "max"}, "p=99"),
        ({"groups": []}, "groups"),
        ({"step": 7}, "divides"),
        ({"by": "wards"}, "Did you mean 'ward'"),
        ({"value": "day"}, "Did you mean 'days'"),
        ({"by": "days"}, "beside that"),
        ({"by": None}, "by="),
        ({"value": "ward", "by": "days"}, "Column 'ward' is not numeric"),
        ({"groups": [1, 2, 3]}, "groups as they stand in column 'ward'"),
        ({"entropy": dampen.InsecureEntropy(1)}, "secure entropy"),
    ],
)
def test_wrong_parameters_cost_nothing(options, says):
    account = Account()
    with pytest.raises(ParameterError, match=says):
        ask(pd.DataFrame(STAYS).astype({"ward": "string"}), budget=account, **options)
    assert account.costs == []


def test_text_never_equals_numbers():
    """Rows of other groups are dropped silently, so this would show in nothing."""
    table = {"days": np.arange(4), "ward": np.array([1, 1, 2, 2])}
    with pytest.raises(ParameterError, match="groups as they stand"):
        ask(table, groups=["1", "2"])
    assert ask(table, groups=[1, 2]).answer in (1, 2)


def test_a_refused_charge_reads_nothing(tmp_path):
    class Unread(list):
        def __iter__(self):
            raise AssertionError("the data was read")

    table = {"days": Unread([1, 2]), "ward": Unread(["A", "B"])}
    with pytest.raises(BudgetError):
        ask(table, budget=Account("1"))


@pytest.mark.parametrize(
    "days",
    [[1, float("nan"), 3], [1, None, 3], ["1", "many", "3"]],
    ids=["nan", "null", "text"],
)
def test_rows_without_a_number_are_answered(days):
    assert ask({"days": days, "ward": ["A", "B", "C"]}).answer in ("A", "B", "C")


def test_rows_of_other_groups_change_nothing():
    """Not even where their value is missing."""
    more = {"days": [*STAYS["days"], None, 30], "ward": [*STAYS["ward"], "none", None]}
    assert ask(more).answer == "B"
