"""Groups that nobody listed, several columns of groups, and keys of persons, in all questions."""

import json
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pytest

import dampen
from dampen import InsecureEntropy, Ledger
from dampen.core.thresholds import Threshold
from dampen.data.cells import Grouping
from dampen.data.open import open_table
from dampen.data.units import Shares, weights_by_key
from dampen.errors import ParameterError
from dampen.questions.keys import tally
from dampen.releases.numbers import ThresholdLaw
from dampen.schema.grammar import format_schema, parse_schema

WARDS = [w for w, rows in (("A", 600), ("B", 400), ("C", 300), ("rare", 2)) for _ in range(rows)]
STAYS = {
    "ward": WARDS,
    "year": [2020 + i % 2 for i in range(len(WARDS))],
    "days": [{"A": 3, "B": 9, "C": 5, "rare": 29}[w] for w in WARDS],
    "sex": ["f" if i % 3 else "m" for i in range(len(WARDS))],
    "patient": [i // 2 for i in range(len(WARDS))],
}
PRICE = {"epsilon": 5, "delta": "1e-6"}
RANGE = {"lower": 0, "upper": 30}
QUESTIONS = {
    "count": ((), {}),
    "mean": (("days",), RANGE),
    "total": (("days",), RANGE),
    "percentile": (("days",), {"p": 50}),
    "most_frequent": (("sex",), {"categories": ["f", "m"]}),
    "histogram": (("sex",), {"categories": ["f", "m"]}),
}


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


@pytest.mark.parametrize("unit", ["row", "patient"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_finds_its_groups(name, unit, tmp_path):
    budget = Ledger(tmp_path / "ledger").create(
        "b", epsilon=9, delta="1e-5", neighbours=f"add-remove-{'row' if unit == 'row' else 'unit'}"
    )
    given, options = QUESTIONS[name]
    data = dampen.dataset(STAYS, unit=unit, budget=budget)
    made = data.ask(
        name, **dict(zip(("value",), given, strict=False)), **options, by="ward", **PRICE
    )
    assert set(made.answer) == {"A", "B", "C"}
    assert (made.epsilon, made.delta) == (5, Fraction(1, 10**6))
    assert budget.ledger.balance("b").spent.delta == Fraction(1, 10**6)
    assert made.leaks == ()


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "count"])
def test_where_no_group_is_found_the_rest_is_not_charged(name, tmp_path):
    """Of two groups of one row each none is found, but with a probability of 2e-6 or less."""
    given, options = QUESTIONS[name]
    few = {"ward": ["A", "B"], "days": [1, 2], "sex": ["f", "m"]}
    budget = Ledger(tmp_path / "ledger").create(
        "b", epsilon=9, delta="1e-5", neighbours="add-remove-row"
    )
    ask = getattr(dampen, name)
    bits = seeded()
    nothing = ask(few, *given, by="ward", **options, **PRICE, budget=budget, entropy=bits)
    assert nothing.answer == {}
    assert (nothing.epsilon, nothing.delta) == (Fraction(5, 2), Fraction(1, 10**6))
    assert budget.ledger.balance("b").spent.epsilon == Fraction(5, 2)
    found = ask(STAYS, *given, by="ward", **options, **PRICE, budget=budget, entropy=bits)
    assert set(found.answer) == {"A", "B", "C"}
    assert found.epsilon == 5
    spent = budget.ledger.balance("b").spent
    assert (spent.epsilon, spent.delta) == (Fraction(15, 2), Fraction(2, 10**6))


def test_groups_are_compared_among_those_that_were_found():
    ask = {"by": "ward", **RANGE, **PRICE}
    assert dampen.top_groups(STAYS, "days", **ask).answer == "B"
    assert set(dampen.top_groups(STAYS, "days", k=9, **ask).answer) == {"A", "B", "C"}
    assert dampen.groups_above(STAYS, "days", threshold=5, **ask).answer == ["B", "C"]
    made = dampen.top_groups(STAYS, "days", **ask)
    assert made.parameters["groups"] == 3
    assert made.parameters["epsilon_for_groups"] == "2.5"
    assert "a group with" in made.accuracy.sentence


def test_a_release_without_groups_is_empty():
    few = {"ward": ["A", "B"], "days": [1, 2], "sex": ["f", "m"]}
    for name, (given, options) in QUESTIONS.items():
        assert getattr(dampen, name)(few, *given, by="ward", **options, **PRICE).answer == {}
    assert dampen.top_groups(few, "days", by="ward", **RANGE, **PRICE).answer is None
    assert dampen.top_groups(few, "days", by="ward", k=2, **RANGE, **PRICE).answer == []
    assert dampen.groups_above(few, "days", by="ward", threshold=1, **RANGE, **PRICE).answer == []


def test_where_no_group_is_found_the_accuracy_speaks_of_groups():
    """With either way of sharing the weights of persons, which a noisy look chooses."""
    few = {name: column[:12] for name, column in STAYS.items()}
    for _ in range(8):
        made = dampen.top_groups(
            few, "days", by="ward", unit="patient", epsilon="0.5", delta="1e-6"
        )
        assert made.answer is None
        assert "a group with" in made.accuracy.sentence
        assert made.accuracy.sentence.endswith(" people or more is found.")


def test_zcdp_adds_up():
    made = dampen.mean(STAYS, "days", by="ward", rho="0.5", delta="1e-6", **RANGE)
    assert 0.499 < made.rho <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": "ward"}, "groups=, the public list of groups; or"),
        ({"by": "ward", "groups": ["A"], "delta": "1e-6"}, "either groups= or delta="),
        ({"delta": "1e-6"}, "by=, the column of groups"),
        ({"by": "ward", "delta": 2}, "delta"),
        ({"by": ["ward", "year"], "groups": ["A"]}, "one value of each"),
        ({"by": "ward,town", "delta": "1e-6"}, "town"),
        ({"by": "days", "delta": "1e-6"}, "beside"),
    ],
)
def test_wrong_parameters_are_refused_before_the_charge(options, says):
    with pytest.raises(ParameterError, match=says):
        dampen.mean(STAYS, "days", epsilon=1, **RANGE, **options)


def test_several_columns_make_a_group():
    groups = [("B", 2021), ("A", 2020), ("A", 1999)]
    made = dampen.count(STAYS, by=["ward", "year"], groups=groups, epsilon=50)
    assert made.answer == {("B", 2021): 200, ("A", 2020): 300, ("A", 1999): 0}
    assert json.loads(made.to_json())["answer"] == {
        '["B", 2021]': 200, '["A", 2020]': 300, '["A", 1999]': 0,
    }  # fmt: skip
    best = dampen.top_groups(STAYS, "days", by=["ward", "year"], groups=groups, **RANGE, epsilon=5)
    assert best.answer == ("B", 2021)
    assert json.loads(best.to_json())["answer"] == ["B", 2021]


def test_groups_of_several_columns_are_found():
    made = dampen.percentile(STAYS, "days", p=50, by=["ward", "year"], **PRICE)
    assert made.answer == {
        (w, y): d for w, d in (("A", 3), ("B", 9), ("C", 5)) for y in (2020, 2021)
    }
    assert set(dampen.keys(STAYS, ["ward", "year"], **PRICE).answer) == set(made.answer)


def test_combinations_of_listed_values_are_groups():
    facts = {"ward": ["A", "B"], "year": ["2020", "2021"]}
    text = {**STAYS, "year": [str(y) for y in STAYS["year"]]}
    data = dampen.dataset(text, columns=facts)
    assert data.count(by=["ward", "year"], epsilon=50).answer == {
        ("A", "2020"): 300, ("A", "2021"): 300, ("B", "2020"): 200, ("B", "2021"): 200,
    }  # fmt: skip


def test_positions_of_several_columns_are_those_of_a_loop():
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 5, 500) for name in "abc"}
    groups = list(dict.fromkeys(map(tuple, rng.integers(0, 5, (40, 3)).tolist())))
    lookup = Grouping(groups).lookup(open_table(columns), "a,b,c")
    rows = zip(*(columns[name].tolist() for name in "abc"), strict=True)
    right = [groups.index(row) if row in groups else -1 for row in rows]
    assert lookup.positions(columns).tolist() == right


def test_an_engine_groups_by_several_columns(tmp_path):
    path = tmp_path / "stays.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table stays (ward text, year integer, days integer)")
        rows = list(zip(STAYS["ward"], STAYS["year"], STAYS["days"], strict=True))
        connection.executemany("insert into stays values (?, ?, ?)", rows)
    for options in ({"groups": [("A", 2020), ("C", 2021)]}, {"delta": "1e-6"}):
        made = [
            dampen.count(data, by="ward,year", **options, epsilon=50, entropy=seeded()).answer
            for data in (path, STAYS)
        ]
        assert made[0] == made[1]


def test_the_command_line_takes_several_columns(tmp_path, capsys):
    from dampen.cli.main import main

    path = tmp_path / "stays.csv"
    names = ("ward", "year", "days")
    rows = zip(*(STAYS[name] for name in names), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]))
    for more in (("--groups", "A,2020;B,2021"), ("--delta", "1e-6")):
        given = ["count", str(path), "--by", "ward,year", *more, "--epsilon", "50", "--json"]
        with pytest.raises(SystemExit) as done:
            main(given)
        assert done.value.code in (0, None)
        answer = json.loads(capsys.readouterr().out)["answer"]
        assert 300 in answer.values()


# ---- persons -------------------------------------------------------------------------------------


def law_of_person(threshold, counts):
    """The joint law of several keys, each independent."""
    laws = [threshold.law(count) for count in counts]
    return {
        tuple(shown for shown, _ in outcome): float(np.prod([p for _, p in outcome]))
        for outcome in product(*(law.items() for law in laws))
    }


def divergence(threshold, before, after, epsilon):
    left, right = (law_of_person(threshold, counts) for counts in (before, after))
    gaps = [
        sum(max(p - np.exp(epsilon) * b.get(o, 0.0), 0) for o, p in a.items())
        for a, b in ((left, right), (right, left))
    ]
    return max(gaps)


SPLITS = [(6,), (3, 3), (5, 1), (2, 2, 2), (4, 2), (1, 2, 3)]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, "1/20"), (0.5, "1/50"), (3.0, "1/10")])
def test_however_a_person_shares_their_weight_the_true_delta_is_at_most_the_stated_one(
    epsilon, delta
):
    steps = 6
    threshold = Threshold.of(Fraction(epsilon) / steps, Fraction(delta), steps)
    worst = 0.0
    for split in SPLITS:
        starts = [(0,) * len(split), (1,) * len(split), (threshold.high - 2,) * len(split)]
        starts.append((2 * threshold.high - 1,) * len(split))
        for start in starts if len(split) < 3 else starts[:1]:
            after = tuple(c + w for c, w in zip(start, split, strict=True))
            worst = max(worst, divergence(threshold, start, after, epsilon))
    assert worst <= float(Fraction(delta)) * (1 + 1e-9)
    assert worst > 0.99 * float(Fraction(delta))
    twin = Threshold(threshold.epsilon, threshold.delta, threshold.high - 2, 0, steps)
    assert divergence(twin, (0,), (6,), epsilon) > 1.01 * float(Fraction(delta))


def test_weights_of_keys_add_up_to_one_person_each():
    rng = np.random.default_rng(5)
    table = {"who": rng.integers(0, 40, 600), "key": rng.integers(0, 30, 600)}
    opened = open_table(table)
    found = weights_by_key(opened, "who", ("key",), Shares(840, 1, distinct=True))
    assert sum(found.values()) == 40 * 840
    without = {name: column[table["who"] != 7] for name, column in table.items()}
    less = weights_by_key(open_table(without), "who", ("key",), Shares(840, 1, distinct=True))
    moved = {key: found.get(key, 0) - less.get(key, 0) for key in found}
    assert min(moved.values()) >= 0
    assert sum(moved.values()) == 840


def test_keys_of_persons_count_persons():
    visits = {"who": [i // 3 for i in range(900)], "what": ["flu"] * 600 + ["cold"] * 300}
    made = dampen.dataset(visits, unit="who").keys("what", epsilon=20, delta="1e-6")
    assert made.answer == pytest.approx({"flu": 200, "cold": 100}, abs=2)
    assert made.delta == Fraction(1, 10**6)
    both = dampen.dataset(visits, unit="who").most_frequent("what", k=5, epsilon=20, delta="1e-6")
    assert both.answer == ["flu", "cold"]


@pytest.mark.parametrize("epsilon", ["1", "1/10"])
def test_intervals_hold_given_that_a_key_is_published(epsilon):
    threshold = Threshold.of(Fraction(epsilon), Fraction(1, 10**6))
    law = ThresholdLaw(threshold.epsilon, threshold.high, threshold.coin)
    tail = Fraction(1, 20)
    for count in (1, threshold.high // 2, threshold.high, threshold.high + 3, 3 * threshold.high):
        shown = {y: p for y, p in threshold.law(count).items() if y is not None}
        held = sum(
            p for y, p in shown.items()
            if law.interval(y, tail)[0] <= count <= law.interval(y, tail)[1]
        )  # fmt: skip
        assert held / sum(shown.values()) >= 0.95
        assert law.seen(count) == pytest.approx(sum(shown.values()), rel=1e-9)
    made = dampen.keys(["a"] * 300, epsilon=epsilon, delta="1e-6")
    assert dampen.Release.from_json(made.to_json()).interval() == made.interval()


def test_empty_texts_are_not_keys():
    assert tally(open_table({"v": ["", "a", None, "a"]}), "v") == {"a": 2}


def test_a_data_set_limits_the_delta_of_a_question():
    data = dampen.dataset(STAYS, max_delta=1e-7)
    for ask in (
        lambda: data.keys("ward", **PRICE),
        lambda: data.mean("days", by="ward", **RANGE, **PRICE),
    ):
        with pytest.raises(ParameterError, match="allows a delta of at most 1e-07"):
            ask()
    assert data.keys("ward", epsilon=5, delta="1e-7").delta == Fraction(1, 10**7)
    with pytest.raises(ParameterError, match="max_delta from 0 to 1"):
        dampen.dataset(STAYS, max_delta=2)
    text = "data = [{ name = 'a', max-delta = 1e-6, columns = { ward = [] } }]"
    schema = parse_schema(text)
    assert schema.max_delta == 1e-6
    assert parse_schema(format_schema(schema, name="a")) == schema
