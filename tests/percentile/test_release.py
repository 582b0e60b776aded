"""`percentile` and `percentile_record`: what goes in, what comes out, and in which order."""

import json
import os
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.errors import BudgetError, ParameterError, ParameterWarning
from dampen.questions.percentile.question import PercentileQuestion, percentile
from dampen.questions.percentile.record import RecordQuestion, percentile_record
from dampen.releases.answer import expect

WAGES = [1.0, 2.0, 3.0, 3.0, 4.0, 50.0]
NAMES = ["ann", "bob", "cid", "dan", "eve", "fay"]


class Account:
    """Remembers charges; refuses above its total."""

    def __init__(self, total="10"):
        self.left, self.charges = Fraction(total), []

    def charge(self, cost, /):
        epsilon, query, mechanism = cost.epsilon, cost.query, cost.mechanism
        neighbours = cost.neighbours
        if epsilon > self.left:
            raise BudgetError("not enough left")
        self.left -= epsilon
        self.charges.append((epsilon, query, mechanism, str(neighbours)))


class Unread(list):
    """Has a length, and must not be looked into."""

    def __iter__(self):
        raise AssertionError("the data was read")

    __array__ = __getitem__ = __iter__


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


COLUMNS = [
    WAGES,
    tuple(WAGES),
    np.array(WAGES),
    np.array(WAGES, dtype=np.float32),
    pd.Series(WAGES),
    pd.Series(WAGES, dtype="Float64"),
    pl.Series(WAGES),
    pa.array(WAGES),
    pa.chunked_array([WAGES[:2], WAGES[2:]]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: type(c).__module__ + type(c).__name__)
def test_every_kind_of_column_gives_the_same_release(column):
    for ask, options in ((percentile_record, {}), (percentile, {"step": 1})):
        one, same = (
            ask(data, p=50, epsilon="10", upper=60, entropy=seeded(), **options).answer
            for data in (column, WAGES)
        )
        assert one == same


@pytest.mark.parametrize(
    "labels",
    [NAMES, np.array(NAMES), pd.Series(NAMES), pl.Series(NAMES), pa.array(NAMES)],
    ids=lambda c: type(c).__module__,
)
def test_labels_come_from_any_column_and_come_back_as_given(labels):
    answer = percentile_record(
        WAGES, p=100, epsilon=10_000, upper=60, labels=labels, entropy=seeded()
    ).answer
    assert answer == "fay"
    assert type(answer) is str


def test_without_labels_the_answer_is_a_position():
    assert percentile_record(WAGES, p=100, epsilon=10_000, upper=60).answer == 5


def test_a_large_epsilon_finds_the_value():
    for p, expected in ((1, 1), (50, 50), (98, 98), (99, 99)):
        release = percentile(range(101), p=p, epsilon=10_000, upper=200, step=1)
        assert release.answer == expected
        assert type(release.answer) is int


def test_a_large_epsilon_finds_the_value_with_a_public_number_of_rows():
    values = dampen.dataset({"v": range(100)}, units_public=True)
    for p, expected in ((0, 0), (50, 50), (98, 98), (100, 99)):
        release = values.percentile("v", p=p, epsilon=10_000, upper=200, step=1)
        assert release.answer == expected
        assert type(release.answer) is int


def test_a_private_number_of_values_leaves_ends_open():
    """Nothing is above a value beyond the largest one: each is a 100th percentile."""
    asked = {"epsilon": 10_000, "lower": -100, "upper": 200, "step": 1}
    assert percentile(range(100), p=100, **asked).answer >= 99
    assert percentile(range(100), p=0, **asked).answer <= 0
    assert percentile(range(100), p=50, **asked).answer in (49, 50)


def test_a_shifted_range_finds_the_label_and_the_value():
    values = np.arange(-50.0, 51.0)
    public = {"p": 50, "epsilon": 10_000, "upper": 60, "lower": -60}
    assert percentile_record(values, **public).answer == 50
    assert percentile(values, **public, step=0.5).answer == 0.0


@pytest.mark.parametrize("mechanism", ["em", "pf", "ld", "sld", "ld-pf", "sld-pf"])
@pytest.mark.parametrize("delta", ["exact", "simple"])
def test_every_mechanism_may_be_asked_for(mechanism, delta):
    release = percentile_record(
        WAGES, p=50, epsilon=5, upper=60, mechanism=mechanism, delta=delta, labels=NAMES
    )
    assert release.answer in NAMES
    assert release.mechanism == mechanism


@pytest.mark.parametrize("delta", ["exact", "simple"])
def test_the_default_mechanism_takes_either_sensitivity(delta):
    public = {"p": 100, "epsilon": 10_000, "upper": 60}
    assert percentile_record(WAGES, **public, delta=delta, labels=NAMES).answer == "fay"


def test_several_percentiles_share_epsilon_and_never_decrease():
    values, p = np.random.default_rng(5).normal(50, 20, 300), [90, 10, 50, 25, "99.5"]
    for seed in range(20):
        account = Account()
        release = percentile(
            values,
            p=p,
            epsilon="0.7",
            upper=100,
            step=1,
            budget=account,
            entropy=seeded(seed),
        )
        by_p = [answer for _, answer in sorted(zip(map(float, p), release.answer, strict=True))]
        assert by_p == sorted(by_p)
        paid = (Fraction(7, 10), "percentile", "joint-percentiles", "add-remove-row")
        assert account.charges == [paid]
        assert release.epsilon == Fraction(7, 10)


def test_a_list_gives_a_list():
    for p in ([50], [50, 50], [50, 50, 50]):
        release = percentile(range(101), p=p, epsilon="3000", upper=100, step=1)
        assert release.answer == [50] * len(p)


def test_the_release_states_public_facts_and_is_json():
    asked = {"p": "50", "upper": 60, "lower": 0, "step": "0.5"}
    release = percentile(WAGES, epsilon=10, **asked)
    shown = json.loads(release.to_json())
    assert shown["epsilon"] == "10"
    assert shown["neighbours"] == "add-remove-row"
    assert shown["parameters"] == asked
    assert release.secure


def test_the_number_of_values_is_shown_where_it_is_public():
    asked = {"p": "50", "upper": 60, "lower": 0, "step": "0.5"}
    staff = dampen.dataset({"wage": WAGES}, units_public=True)
    release = staff.percentile("wage", epsilon=10, **asked)
    shown = json.loads(release.to_json())
    assert shown["neighbours"] == "replace-one"
    assert shown["parameters"] == {"n": 6, **asked}


def test_an_invalid_public_number_of_values_costs_nothing():
    account = Account()
    staff = dampen.dataset({"wage": []}, units_public=True, budget=account)
    with pytest.raises(ParameterError, match="at least one value"):
        staff.percentile("wage", p=50, upper=60, step=1, epsilon=1)
    assert account.charges == []


ALWAYS_WRONG = [
    ({"p": 101}, "0 to 100"),
    ({"upper": 0}, "lower < upper"),
    ({"epsilon": 0}, "epsilon > 0"),
    ({"mechanism": "lld"}, "Did you mean 'ld'"),
    ({"mechanism": "joint"}, "for one selection"),
    ({"data": "123"}, "value="),
    ({"data": np.ones((2, 2))}, "a column"),
    ({"data": iter([1, 2])}, "a column"),
    ({"entropy": InsecureEntropy(1)}, "secure entropy"),
]


def refuses(ask, says, **arguments):
    """Refused before anything is charged or read."""
    account = Account()
    given = {"data": Unread(WAGES), "p": 50, "epsilon": 10, "upper": 60, "budget": account}
    with pytest.raises(ParameterError, match=says):
        ask(**(given | arguments))
    assert account.charges == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        *ALWAYS_WRONG,
        ({"step": 0}, "step > 0"),
        ({"p": []}, "at least one percentile"),
    ],
)
def test_wrong_parameters_of_a_value_cost_nothing(wrong, says):
    refuses(percentile, says, **({"step": 1} | wrong))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        *ALWAYS_WRONG,
        ({"data": []}, "at least one value"),
        ({"p": [50, 60]}, "0 to 100"),
        ({"p": "deciles"}, "0 to 100"),
        ({"labels": NAMES[:5]}, "equal length"),
        ({"labels": [*NAMES[:5], "ann"]}, "occur twice"),
        ({"labels": pd.Series([*NAMES[:5], None])}, "missing"),
        ({"labels": pd.array([*NAMES[:5], pd.NA])}, "missing"),
        ({"delta": "exat"}, "delta='exact'"),
        ({"k": 7}, "k <= 6"),
    ],
)
def test_wrong_parameters_of_a_record_cost_nothing(wrong, says):
    refuses(percentile_record, says, **wrong)


@pytest.mark.parametrize("old", [{"release": "value"}, {"labels": NAMES}, {"k": 2}])
def test_the_record_arguments_of_0_2_are_refused_for_values(old):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        percentile(WAGES, p=50, epsilon=10, upper=60, step=1, **old)


@pytest.mark.parametrize(
    ("p", "meant"),
    [(0.5, "50"), ("0.25", "25"), (Fraction(1, 3), "100/3"), ([0, 0.5, 1], "0, 50, 100")],
)
def test_a_share_in_place_of_a_percentile_causes_a_warning(p, meant):
    with pytest.warns(ParameterWarning, match=f"did you mean {meant}") as caught:
        percentile(WAGES, p=p, epsilon=10_000, upper=60, step=1)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_share_causes_a_warning_for_records_too():
    with pytest.warns(ParameterWarning, match="did you mean 50"):
        percentile_record(WAGES, p=0.5, epsilon=10_000, upper=60)


@pytest.mark.parametrize("p", [0, 1, 100, ["0.1", 50, "99.9"]])
def test_percentiles_cause_no_warning(p):
    percentile(WAGES, p=p, epsilon=10_000, upper=60, step=1)


@pytest.mark.parametrize("ask", [percentile_record, partial(percentile, step=1)])
@pytest.mark.parametrize(
    "column",
    [
        [1, 2, float("nan")],
        [1, None, 3],
        [1, pd.NA, 3],
        ["1", "2", "3"],
        [True, 2, 3],
        pd.Series([1, None, 3], dtype="Int64"),
        np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        pl.Series([1, None, 3]),
        pa.array([1, None, 3]),
    ],
    ids=str,
)
def test_missing_numbers_are_answered(column, ask):
    found = ask(column, p=50, epsilon=20, upper=60)
    assert 0 <= found.answer <= 60
    known = 3 if ask is percentile_record else None  # how many rows there are is else private
    assert found.parameters.get("n") == known


def test_missing_numbers_are_among_the_public_number_of_rows():
    known = dampen.dataset({"v": [1, None, 3]}, units_public=True)
    for grid in ({}, {"step": 1}):
        found = known.percentile("v", p=50, lower=-9, upper=60, epsilon=80, **grid)
        assert -9 <= found.answer <= 60
        assert found.parameters["n"] == 3


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b", "c"]),
        pd.Series(["a", "b", "c"], dtype="category"),
        np.array(["1", "2", "3"]),
        np.array([1j, 2, 3]),
        pl.Series(["a", "b", "c"]),
        pl.Series([[1], [2], [3]]),
        pl.Series([1, 2, 3], dtype=pl.Int128),
        pa.array(["a", "b", "c"]),
    ],
    ids=lambda c: f"{type(c).__module__} {c.type if hasattr(c, 'type') else c.dtype}",
)
def test_a_declared_type_that_holds_no_numbers_costs_nothing(column):
    account = Account()
    with pytest.raises(ParameterError, match="is not numeric"):
        percentile(column, p=50, epsilon=1, upper=60, step=1, budget=account)
    assert account.charges == []


def test_heavy_ties_survive():
    if "DAMPEN_DATA" not in os.environ:
        pytest.skip("DAMPEN_DATA does not say where the paper's data is")
    table = Path(os.environ["DAMPEN_DATA"]) / "tables" / "adult.csv.gz"
    hours = pd.read_csv(table)["hours-per-week"]
    assert percentile(hours, p=50, epsilon=1, upper=100, step=1).answer == 40


@pytest.mark.parametrize(
    ("question", "text", "shape"),
    [
        (PercentileQuestion(value="v", p=50, upper=9, step=1), "p=50 of v", "value"),
        (PercentileQuestion(value="v", p="deciles", upper=9, step=1), "p=deciles of v", "points"),
        (PercentileQuestion(value="v", p=[25, "75"], upper=9, step=1), "p=25, 75 of v", "points"),
        (
            PercentileQuestion(value="v", p=range(1, 100), upper=9, step=1),
            "99 percentiles of v",
            "points",
        ),
        (RecordQuestion(value="v", p=50, upper=9), "p=50, k=1 of v", "name"),
        (RecordQuestion(value="v", p=50, upper=9, k=3), "p=50, k=3 of v", "set"),
    ],
)
def test_questions_in_a_few_words(question, text, shape):
    assert question.text() == text
    assert question.shape() == shape


@pytest.mark.parametrize("ask", [percentile_record, partial(percentile, step=1)])
def test_expect_reads_no_row(ask):
    question = (
        RecordQuestion(value="values", p=50, upper=60)
        if ask is percentile_record
        else PercentileQuestion(value="values", p=50, upper=60, step=1)
    )
    account = Account()
    plan = expect(question, {"values": Unread(WAGES)}, epsilon=9)
    made = ask(WAGES, p=50, epsilon=9, upper=60, budget=account)
    cost = plan.cost
    assert account.charges == [(cost.epsilon, cost.query, cost.mechanism, str(cost.neighbours))]
    assert plan.accuracy == made.accuracy
