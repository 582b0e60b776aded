"""Answers of data sets that protect persons: what they say, and how they are drawn."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import PF, Mechanism, probabilities
from dampen.core.noise import LAPLACE, pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.core.scores import Global
from dampen.data.memory import MemoryTable
from dampen.data.units import KeptRows, Present, Shares, UnitTable
from dampen.errors import BudgetError, ParameterError
from dampen.questions.frequency import MostFrequent, distinct_selection
from dampen.questions.groups.problem import BestGroup
from dampen.questions.percentile.values import PercentileValueOfRows
from dampen.releases.release import Release
from dampen.schema import format_schema, parse_schema
from goodness import assert_draws_follow, counts_of, draw_many

rng = np.random.default_rng(3)
PEOPLE = rng.integers(0, 20, 60)
STAYS = {
    "patient": np.array([f"P{i}" for i in PEOPLE]),
    "ward": rng.choice(["A", "B", "C"], 60),
    "days": rng.integers(0, 6, 60).astype(float),
}
FACTS = {"ward": ["A", "B", "C"], "days": dampen.number(0, 5, step=1)}
DRAWS = {"min-max": 1600}
"""1,500 for the others, which take less time."""


def stays(data=STAYS, **facts):
    return dampen.dataset(data, unit="patient", columns=FACTS, **facts)


def drawn(asked, question, draws, **options):
    entropy = InsecureEntropy(11, allow_release=True)
    return draw_many(lambda: asked.ask(question, entropy=entropy, **options).answer, draws)


PROBLEM = BestGroup(groups=["A", "B", "C"], lower=0, upper=5, step=1, min_rows=840)


def counts(weighing, data=STAYS, problem=PROBLEM):
    opened = UnitTable(MemoryTable(data), "patient", weighing, problem.grid.top + 2)
    return problem.opened_counts(opened, "days", "ward")


def reach_law(epsilon, data=STAYS):
    return PROBLEM.contest(counts(Shares(840), data)).probabilities(Fraction(epsilon) / 840)


def min_max_law(epsilon, data=STAYS):
    weights = counts(Shares(840, within_lines=True), data)
    return PROBLEM.min_max(weights, 840).probabilities(range(3), Fraction(epsilon))


def frequency_law(epsilon, data=STAYS):
    opened = UnitTable(MemoryTable(data), "patient", Present())
    people = MostFrequent(["A", "B", "C"]).opened_counts(opened, "ward")[:-1]
    return probabilities(distinct_selection(people), epsilon=epsilon, mechanism=PF)


def percentile_law(epsilon, data=STAYS):
    asked = PercentileValueOfRows(p=50, upper=5, step=1)
    grid = asked.public_grid
    opened = UnitTable(MemoryTable(data), "patient", Shares(840))
    wanted = {"days": "numbers"}
    cells = opened.counts(wanted, lambda batch: grid.cells(np.asarray(batch["days"])), grid.size)
    selection = asked.selection_of_ranks(*grid.ranks(cells), int(cells.sum()))
    return probabilities(selection, epsilon=Fraction(epsilon) / 840, mechanism=PF)


WARDS = ["A", "B", "C"]
CASES = {
    "reach": ("top-groups", {"value": "days", "by": "ward"}, {}, WARDS, reach_law),
    "min-max": (
        "top-groups", {"value": "days", "by": "ward"}, {"groups_per_unit": 3}, WARDS, min_max_law,
    ),
    "pf": ("most-frequent", {"value": "ward"}, {}, WARDS, frequency_law),
    "percentile": ("percentile", {"value": "days", "p": 50}, {}, list(range(6)), percentile_law),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_answers_are_drawn_as_enumerated(case):
    question, options, facts, outcomes, law = CASES[case]
    made = drawn(stays(**facts), question, DRAWS.get(case, 2700), epsilon=2, **options)
    assert_draws_follow(counts_of(made, outcomes), law(2), law(1))


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_person_changes_no_law_by_more(case):
    """One id with 10^6 rows in all groups, of all values."""
    many = 10**6
    more = {
        "patient": np.array([*STAYS["patient"], *["X"] * many]),
        "ward": np.array([*STAYS["ward"], *np.resize(["A", "B", "C"], many)]),
        "days": np.r_[STAYS["days"], rng.integers(0, 6, many) ** 2],
    }
    law = CASES[case][4]
    assert np.abs(np.log(law(1, more)) - np.log(law(1))).max() <= 1 + 1e-9
    for weighing in (Shares(840), Shares(840, cap=8)):
        moved = counts(weighing, more) - counts(weighing)
        assert moved.min() >= 0
        assert moved.sum() <= 840


@pytest.mark.parametrize("most", [1, 2])
def test_kept_rows_are_few_and_any(most):
    """At most m of every person; each of a person's rows is as likely, with others or without."""
    opened = MemoryTable({"unit": ["x"] * 4 + ["y", None, ""], "row": np.arange(7)})
    entropy = InsecureEntropy(5, allow_release=True)
    seen = np.zeros(7, dtype=np.int64)
    for _ in range(4000):
        view = KeptRows(opened, "unit", most, entropy)
        rows = np.concatenate([batch["row"] for batch in view.batches({"row": "any"})])
        again = np.concatenate([batch["row"] for batch in view.batches({"row": "any"})])
        assert rows.tolist() == again.tolist()
        assert (rows < 4).sum() == most
        seen[rows] += 1
    assert seen[4:].tolist() == [4000, 0, 0]
    assert_draws_follow(seen[:4], np.ones(4), [1.3, 1, 1, 1])


def test_kept_rows_of_many_batches():
    """What is let go on the way is never among the kept."""
    unit = np.arange(500_000) % 1000
    entropy = InsecureEntropy(5, allow_release=True)
    view = KeptRows(MemoryTable({"unit": unit, "row": np.arange(len(unit))}), "unit", 3, entropy)
    rows = np.concatenate([batch["row"] for batch in view.batches({"row": "any"})])
    assert (np.bincount(unit[rows]) == 3).all()
    assert rows.max() > 400_000 and rows.min() < 100_000


@pytest.mark.parametrize("question", ["tree", "naive-bayes", "classifier"])
@pytest.mark.parametrize("most", [1, 2])
def test_models_see_kept_rows(question, most):
    asked = stays(rows=100, rows_per_unit=most)
    made = asked.ask(question, target="ward", epsilon=1)
    assert made.neighbours == "add-remove-unit"
    assert made.parameters["kept_rows_per_unit"] == most
    assert made.epsilon == 1


def test_a_release_says_whom_it_protects():
    asked = stays()
    made = asked.top_groups("days", by="ward", epsilon="0.5")
    assert made.epsilon == Fraction(1, 2)
    assert made.rho == pure_rho(Fraction(1, 2))
    assert made.neighbours == "add-remove-unit"
    assert made.parameters["unit"] == "patient"
    assert "protects: one patient, with all their rows" in str(made)
    assert "one patient, with all their rows" in repr(asked)
    assert Release.from_json(made.to_json()).neighbours == made.neighbours
    assert made.accuracy.unit == "people"


def test_a_price_in_zcdp():
    made = stays().percentile("days", p=[25, 50, 75], rho="0.1")
    assert Fraction("0.09999") < made.rho <= Fraction(1, 10)


def test_a_public_rule_chooses_the_method():
    def mechanism(question, facts, epsilon="1", **options):
        many = {"columns": {**FACTS, "ward": [f"W{i}" for i in range(40)]}}
        asked = dampen.dataset(STAYS, unit="patient", **{**many, **facts})
        return asked.expect(question, epsilon=epsilon, **options).cost.mechanism

    groups = {"value": "days", "by": "ward"}
    assert mechanism("top-groups", {}, **groups) == "reach"
    assert mechanism("top-groups", {"groups_per_unit": 2}, **groups) == "reach"
    assert mechanism("top-groups", {"groups_per_unit": 3}, **groups) == "min-max"
    by_rho = {"epsilon": None, "rho": "0.1", **groups}
    assert mechanism("top-groups", {"groups_per_unit": 3}, **by_rho) == "min-max-em"
    assert mechanism("top-groups", {"groups_per_unit": 3}, statistic="sum", **groups) == "pf"
    assert mechanism("most-frequent", {}, value="ward") == "pf"
    assert mechanism("most-frequent", {}, value="ward", k=2) == "pf"
    assert mechanism("most-frequent", {}, value="ward", k=12) == "ranking"
    assert mechanism("most-frequent", {"groups_per_unit": 2}, value="ward", k=12) == "pf"
    assert mechanism("most-frequent", {"groups_per_unit": 1}, value="ward", k=3) == "joint"
    assert mechanism("most-frequent", {"groups_per_unit": 1}, value="ward", k=2) == "pf"
    assert mechanism("most-frequent", {"rows_per_unit": 4}, value="ward", k=2) == "joint"


def test_many_persons_are_counted_exactly():
    """Weights beyond 2^28, where other scores are cut off, still tell sums and counts apart."""
    n = 700_000
    data = {
        "patient": np.arange(n),
        "ward": np.where(np.arange(n) < 349_900, "A", "B"),
        "days": np.full(n, 5.0),
    }
    asked = stays(data, rows_per_unit=2)
    assert asked.most_frequent("ward", k=2, epsilon=2).answer == ["B", "A"]
    made = asked.top_groups("days", by="ward", statistic="sum", k=2, ordered=True, epsilon=2)
    assert made.answer[:2] == ["B", "A"]


def test_questions_that_persons_cannot_be_asked():
    asked = stays()
    with pytest.raises(ParameterError, match="names single rows"):
        asked.ask("percentile-record", value="days", p=50, upper=5, epsilon=1)
    with pytest.raises(ParameterError, match="two decimals"):
        asked.percentile("days", p="99.999", epsilon=1)
    with pytest.raises(ParameterError, match="patients"):
        dampen.dataset(STAYS, unit="patients", columns=FACTS).percentile("days", p=50, epsilon=1)
    with pytest.raises(ParameterError, match="min_rows"):
        asked.top_groups("days", by="ward", min_rows=10**7, epsilon=1)
    with pytest.raises(ParameterError, match="unit="):
        dampen.dataset(STAYS, columns=FACTS, rows_per_unit=3)
    with pytest.raises(ParameterError, match="rows_per_unit"):
        stays(rows_per_unit=0)
    with pytest.raises(ParameterError, match="groups_per_unit of at most 10,000"):
        stays(groups_per_unit=10**9)
    own = Mechanism("mine", Global(), LAPLACE)
    with pytest.raises(ParameterError, match="1-norm"):  # it failed after the charge
        asked.most_frequent("ward", mechanism=own, epsilon=1)
    edges = dampen.dataset(np.array([[0, 1], [1, 2]]), unit="source", nodes=3)
    with pytest.raises(ParameterError, match="one source, with all its edges"):
        edges.ask("top-k", k=1, epsilon=1)


def test_distinct_sources_of_a_target():
    """In-degrees of a table of edges: a source that calls one target often counts once."""
    calls = {
        "from": np.r_[np.arange(60), np.zeros(500, dtype=int)],
        "to": ["many"] * 60 + ["often"] * 500,
    }
    asked = dampen.dataset(calls, unit="from", columns={"to": ["many", "often"]})
    assert asked.most_frequent("to", epsilon=2).answer == "many"


def test_facts_are_read_and_written():
    text = 'data = [{ name = "a", unit = "patient", rows-per-unit = 4, groups-per-unit = 3 }]'
    schema = parse_schema(text)
    assert (schema.people, schema.rows_per_unit, schema.groups_per_unit) == ("patient", 4, 3)
    assert parse_schema(format_schema(schema, name="a")) == schema
    assert schema.relation == "add-remove-unit"
    assert schema.of_rows().relation == "add-remove-row"
    assert schema.shown()["protects"] == "one patient, with all their rows"


def test_budgets_bind_to_persons(tmp_path):
    ledger = dampen.Ledger(tmp_path / "ledger.sqlite3")
    people = ledger.create("people", epsilon=1, neighbours="add-remove-unit")
    rows = ledger.create("rows", epsilon=1, neighbours="add-remove-row")
    asked = stays()
    asked.percentile("days", p=50, epsilon="0.25", budget=people)
    assert people.balance.spent.epsilon == Fraction(1, 4)
    asked.percentile("days", p=50, epsilon="0.25", budget=rows)
    assert rows.balance.spent.epsilon == Fraction(1, 2), "a row is a person less and a person more"
    plain = dampen.dataset(STAYS, columns=FACTS)
    with pytest.raises(BudgetError):
        plain.percentile("days", p=50, epsilon="0.25", budget=people)


def test_a_budget_is_for_one_unit(tmp_path):
    """A patient and a doctor do not share a budget, whether it was named or its first charge is."""
    ledger = dampen.Ledger(tmp_path / "ledger.sqlite3")
    named = ledger.create("named", epsilon=2, neighbours="add-remove-unit", unit="patient")
    first = ledger.create("first", epsilon=2, neighbours="add-remove-unit")
    assert (named.balance.protects, first.balance.protects) == (
        "one patient, with all their rows",
        "one person, with all their rows",
    )
    doctors = dampen.dataset({**STAYS, "doctor": STAYS["patient"]}, unit="doctor", columns=FACTS)
    for budget in (named, first):
        made = stays().count(epsilon="0.25", budget=budget)
        assert made.protects == budget.balance.protects == "one patient, with all their rows"
        assert budget.history[-1].unit == "patient"
        with pytest.raises(BudgetError, match=r"one doctor, with all their rows.*--unit doctor"):
            doctors.count(epsilon="0.25", budget=budget)
        with pytest.raises(BudgetError, match="unit="):
            ledger.charge(budget.name, epsilon="0.25", neighbours="add-remove-unit")
        ledger.charge(budget.name, epsilon="0.25", neighbours="add-remove-unit", unit="patient")
        assert budget.balance.spent.epsilon == Fraction(1, 2)
    rows = ledger.create("rows", epsilon=2, neighbours="add-remove-row")
    stays().count(epsilon="0.25", budget=rows)
    doctors.count(epsilon="0.25", budget=rows)
    assert rows.balance.spent.epsilon == 1, "to add a row is to remove a unit and to add it again"
    with pytest.raises(ParameterError, match="add-remove-unit"):
        ledger.create("wrong", epsilon=2, neighbours="add-remove-row", unit="patient")
    again = dampen.Ledger(tmp_path / "ledger.sqlite3")
    assert again.balance("first").unit == "patient"


def test_a_ledger_without_names_of_units_opens():
    """Entries and checkpoints of earlier versions have none, and their summaries stay equal."""
    from dampen.ledger.state import Balance, Limit, loaded, saved

    old = {"people": Balance("people", dampen.Neighbours.ADD_REMOVE_UNIT, Limit(Fraction(1)))}
    assert "unit" not in saved(old)["people"]
    assert loaded(saved(old))["people"].unit == ""
    old["people"].unit = "patient"
    assert loaded(saved(old))["people"].unit == "patient"


@pytest.mark.parametrize(("epsilon", "rows"), [("0.01", 2), ("0.3", 4), ("1", 8), ("2", 8)])
def test_rows_of_a_person_that_count_in_full_in_percentiles(epsilon, rows):
    """By ε alone, unless it is stated; other questions have 8."""
    who = np.repeat(np.arange(40), 5)
    asked = {"unit": who, "weigh": "rows", "lower": 0, "upper": 9, "step": 1, "epsilon": epsilon}
    made = dampen.percentile(who % 10, p=50, **asked)
    assert made.parameters["rows_per_unit"] == rows
    stated = dampen.percentile(who % 10, p=50, rows_per_unit=3, **asked)
    assert stated.parameters["rows_per_unit"] == 3
