"""`keys`, and `most_frequent` without categories: who is released, in which order, at what cost."""

import datetime as dt
import json
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from dampen import InsecureEntropy, Ledger
from dampen.core.noise import pure_rho
from dampen.core.thresholds import Threshold
from dampen.data.open import open_table
from dampen.errors import AccuracyWarning, BudgetError, ParameterError
from dampen.questions.keys import KeysMethod, KeysQuestion, tally
from dampen.releases.answer import answer, expect
from dampen.schema import Schema
from dampen.testing import Universe

WORDS = ["weather"] * 400 + ["news"] * 90 + ["maps"] * 60 + [f"name {i}" for i in range(300)]
GIVEN = {"epsilon": 1, "delta": "1e-6"}


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


def law_of(threshold, rows, keys):
    """The law of all outcomes of a database: every key independently."""
    laws = [threshold.law(rows.count(key)) for key in keys]
    total = Counter()
    for outcome in product(*(law.items() for law in laws)):
        total[tuple(shown for shown, _ in outcome)] += float(np.prod([p for _, p in outcome]))
    return total


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/20"), ("1/2", "1/10"), ("3", "1/100")])
def test_the_whole_release_is_private_on_a_small_universe(epsilon, delta):
    """All databases of up to four rows with three keys; the twin has a threshold that is lower."""
    e, d = Fraction(epsilon), Fraction(delta)
    threshold = Threshold.of(e, d)
    keys = "abc"
    universe = Universe.add_remove_row(keys, max_rows=4)

    def divergence(used):
        laws = [law_of(used, "".join(x), keys) for x in universe.databases]
        return max(
            sum(max(p - np.exp(float(e)) * laws[b][o], 0) for o, p in laws[a].items())
            for i, j in universe.neighbours
            for a, b in ((i, j), (j, i))
        )

    assert divergence(threshold) <= float(d) * (1 + 1e-9)
    assert divergence(threshold) > 0.99 * float(d)
    twin = Threshold(e, d, max(threshold.high - 1, 1), 0)
    assert divergence(twin) > 1.01 * float(d)


def test_values_that_many_rows_have_are_released_with_their_counts():
    made = dampen.keys(WORDS, **GIVEN)
    assert list(made.answer) == ["weather", "news", "maps"]  # false alarms: below 1e-5
    high = Threshold.of(Fraction(1), Fraction(1, 10**6)).high
    assert abs(made.answer["weather"] - 400) <= high
    assert (made.epsilon, made.delta) == (1, Fraction(1, 10**6))
    assert made.rho == pure_rho(Fraction(1))
    assert made.mechanism == "threshold"
    assert made.leaks == ()


def test_a_release_keeps_its_delta_as_json():
    made = dampen.keys(WORDS, **GIVEN)
    assert json.loads(made.to_json())["delta"] == "0.000001"
    assert dampen.Release.from_json(made.to_json()) == made
    assert "delta: 0.000001" in str(made)
    assert "delta=0.000001" in repr(made)
    old = json.loads(made.to_json())
    del old["delta"]
    assert dampen.Release.from_json(json.dumps(old)).delta == 0


def test_no_more_than_k():
    assert list(dampen.keys(WORDS, k=2, **GIVEN).answer) == ["weather", "news"]


def test_most_frequent_without_categories():
    assert dampen.most_frequent(WORDS, **GIVEN).answer == "weather"
    assert dampen.most_frequent(WORDS, k=10, **GIVEN).answer == ["weather", "news", "maps"]
    assert dampen.most_frequent(["a", "b"], **GIVEN).answer is None
    assert dampen.most_frequent(["a", "b"], k=3, **GIVEN).answer == []
    assert dampen.most_frequent(Counter(WORDS), **GIVEN).answer == "weather"
    assert dampen.most_frequent(Counter(WORDS), **GIVEN).delta == Fraction(1, 10**6)


HOLDERS = {
    "list": list,
    "numpy": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "category": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunks": lambda values: pa.chunked_array([values[:100], values[100:]]),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize(
    "values", [WORDS, [1, 2, 2] * 50, [dt.date(2020, 1, 1)] * 60], ids=["text", "numbers", "dates"]
)
def test_every_kind_of_column_has_the_same_counts(hold, values):
    assert tally(open_table({"v": hold(values)}), "v") == Counter(values)


def test_missing_and_incomparable_values_have_no_key():
    values = ["a", None, float("nan"), pd.NA, ["list"], {"dict": 1}, "a"]
    assert tally(open_table({"v": values}), "v") == {"a": 2}


def test_batches_are_added_up():
    values = np.arange(400_000) % 5
    assert tally(open_table({"v": values}), "v") == dict.fromkeys(range(5), 80_000)


def test_files(tmp_path):
    path = tmp_path / "searches.csv"
    path.write_text("query\n" + "\n".join(WORDS))
    made = dampen.keys(path, "query", header=True, **GIVEN)
    assert list(made.answer) == ["weather", "news", "maps"]


def test_equal_counts_stand_in_an_order_that_does_not_depend_on_rows():
    method = KeysMethod("keys", ("v",), Fraction(1, 10**6), None, "counts")
    for names in (("x", "y", "z"), ("z", "x", "y")):
        for seed in range(20):
            made = method.of_counts(dict.fromkeys(names, 50), Fraction(50), seeded(seed)).answer
            assert list(made) == sorted(made, key=lambda key: (-made[key], key))


def test_a_pure_budget_refuses_a_delta_and_says_why(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    pure = ledger.create("pure", epsilon=9, neighbours="add-remove-row")
    mixed = ledger.create("mixed", epsilon=9, delta="1e-5", neighbours="add-remove-row")
    with pytest.raises(BudgetError, match=r"is pure: it has no delta.*Nothing was charged"):
        dampen.keys(WORDS, budget=pure, **GIVEN)
    dampen.keys(WORDS, budget=mixed, **GIVEN)
    assert (ledger.spent("pure"), ledger.balance("mixed").spent.delta) == (0, Fraction(1, 10**6))


def test_the_accuracy_is_known_before_the_charge():
    question = KeysQuestion(value="v", delta="1e-6")
    plan = expect(question, {"v": WORDS}, epsilon=1)
    assert plan.cost.delta == Fraction(1, 10**6)
    assert plan.accuracy.error == 16
    assert "16 rows or more" in plan.accuracy.sentence
    assert expect(question, {"v": WORDS}, epsilon=1, schema=Schema(rows=10)).accuracy.chance


def test_the_stated_rows_are_released_nine_times_in_ten():
    question = KeysQuestion(value="v", delta="1e-3")
    for epsilon in ("0.1", "1", "3"):
        rows = int(expect(question, {"v": WORDS}, epsilon=epsilon).accuracy.error)
        threshold = Threshold.of(Fraction(epsilon), Fraction(1, 1000))
        assert threshold.chance(rows) >= 0.9 > threshold.chance(rows - 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delta": 0}, "delta > 0"),
        ({"delta": 1}, "delta below 1"),
        ({"delta": "x"}, "delta to be a positive number"),
        ({"k": 0}, "k to be an integer >= 1"),
        ({"epsilon": Fraction(1, 2**41)}, "at least 2\\^-40"),
    ],
)
def test_wrong_parameters_cost_nothing(options, says):
    with pytest.raises(ParameterError, match=says):
        dampen.keys(WORDS, **(GIVEN | options))


@pytest.mark.parametrize("other", [{"categories": ["a"]}, {"mechanism": "pf"}])
def test_a_delta_takes_the_place_of_categories(other):
    with pytest.raises(ParameterError, match="takes the place of public categories"):
        dampen.most_frequent(WORDS, **GIVEN, **other)


def test_too_few_rows_cause_a_warning():
    question = KeysQuestion(value="v", delta="1e-6")
    with pytest.warns(AccuracyWarning, match="too small for 10 rows"):
        answer(question, {"v": ["a"] * 10}, epsilon=1, schema=Schema(rows=10))
