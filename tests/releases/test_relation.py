"""The relation follows from the facts: exact losses under it, and attacks that once worked."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dampen
from dampen import testing
from dampen.core.mechanisms import probabilities
from dampen.core.selection import Neighbours
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Ledger
from dampen.problems import BestGroup
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.reach import _levels, _support
from dampen.releases.answer import Planned
from dampen.releases.method import Drawn, Replacing
from goodness import assert_draws_follow, counts_of

pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")

GROUPS = ["a", "b", "c"]
COLUMNS = {"g": GROUPS, "v": dampen.number(0, 2, step=1)}


def epsilon_drawn_at(plan: Planned) -> Fraction:
    """The ε at which a plan really draws, whatever it says that it costs."""
    seen: list[Fraction] = []

    class Noted:
        def draw(self, source: Any, epsilon: Fraction, entropy: Any, /) -> Drawn:
            seen.append(epsilon)
            return Drawn(None)

    assert isinstance(plan.method, Replacing)
    replace(plan.method, method=Noted()).draw(plan.source, plan.cost.epsilon, None)  # type: ignore[arg-type]
    return seen[0]


def is_private(law: Callable[[Any], Any], universe: Any, epsilon: Any) -> testing.Verdict:
    return testing.law_loss(law, universe, epsilon=epsilon)


@pytest.mark.parametrize("mechanism", ["em", "pf"])
def test_the_most_frequent_value_under_replacement(mechanism: str) -> None:
    """Halved it is ε-DP, and reaches ε but for rounding; the twin at the whole ε is rejected."""
    values = ["x", "y", "z"]
    held = dampen.dataset({"v": []}, units_public=True, columns={"v": values})
    plan = held.expect("most-frequent", value="v", mechanism=mechanism, epsilon=2)
    assert (plan.cost.epsilon, plan.cost.neighbours) == (2, Neighbours.REPLACE_ONE)
    problem = MostFrequent(values)
    universe = testing.Universe.replace_one(values, 4)

    def law_at(epsilon: Fraction) -> Callable[[Any], Any]:
        return lambda x: probabilities(problem.selection(x), epsilon=epsilon, mechanism=mechanism)

    found = is_private(law_at(epsilon_drawn_at(plan)), universe, 2)
    assert found, found
    assert found.value > 1.5
    assert is_private(law_at(plan.cost.epsilon), universe, 2).fails


@pytest.mark.parametrize(
    "options", [{}, {"statistic": "mean"}, {"min_rows": 2, "caution": 0}], ids=str
)
def test_the_best_group_under_replacement(options: Mapping[str, Any]) -> None:
    """A replaced row may change its group too, unless the column is public and fixed."""
    held = dampen.dataset({"v": [], "g": []}, units_public=True, columns=COLUMNS)
    plan = held.expect("top-groups", value="v", by="g", epsilon=2, **options)
    assert (plan.cost.epsilon, plan.cost.neighbours) == (2, Neighbours.REPLACE_ONE)
    problem = plan.question.problem
    assert problem.neighbours is Neighbours.ADD_REMOVE_ROW
    universe = testing.Universe.replace_one([(g, v) for g in "ab" for v in (0, 1, 2)], 3)

    def law_at(epsilon: Fraction) -> Callable[[Any], Any]:
        return lambda rows: problem.probabilities(
            [v for _, v in rows], [g for g, _ in rows], epsilon=epsilon
        )

    found = is_private(law_at(epsilon_drawn_at(plan)), universe, 2)
    assert found, found
    assert is_private(law_at(plan.cost.epsilon), universe, 2).fails


def test_a_fixed_group_is_private_at_the_whole_epsilon_for_replaced_values_alone() -> None:
    fixed = {**COLUMNS, "g": dampen.categories(GROUPS, public=True)}
    held = dampen.dataset({"v": [], "g": []}, units_public=True, columns=fixed)
    plan = held.expect("top-groups", value="v", by="g", epsilon=1)
    assert not isinstance(plan.method, Replacing)
    assert (plan.cost.epsilon, plan.cost.neighbours) == (1, Neighbours.REPLACE_ONE)
    problem = plan.method.problem

    def law(rows: Any) -> Any:
        return problem.probabilities([v for _, v in rows], [g for g, _ in rows], epsilon=1)

    rows = [tuple(zip("aab", v, strict=True)) for v in product((0, 1, 2), repeat=3)]
    values = testing.Universe.of(
        rows, lambda x, y: sum(a != b for a, b in zip(x, y, strict=True)) == 1
    )
    assert is_private(law, values, 1)
    all_rows = testing.Universe.replace_one([(g, v) for g in "ab" for v in (0, 1, 2)], 3)
    assert is_private(law, all_rows, 1).fails


@pytest.mark.parametrize(("price", "halved"), [({"epsilon": 1}, "1/2"), ({"rho": "0.08"}, "2/5")])
def test_half_an_epsilon_is_a_quarter_of_rho(price: Mapping[str, Any], halved: str) -> None:
    """ρ = ε²/8 at both: between neighbours √ρ adds up, so that two steps are four times ρ."""
    held = dampen.dataset({"v": []}, units_public=True, columns={"v": GROUPS})
    plan = held.expect("most-frequent", value="v", mechanism="em", **price)
    assert epsilon_drawn_at(plan) == Fraction(halved)
    assert plan.cost.epsilon == 2 * Fraction(halved)
    assert plan.cost.rho == 4 * Fraction(halved) ** 2 / 8
    assert "rho" not in price or plan.cost.rho == Fraction(price["rho"])


def test_answers_under_replacement_have_the_law_of_half_epsilon() -> None:
    """Chi-square of 3,000 draws, which rejects an ε that is 30 % off; false alarms: 1e-7."""
    rows = ["x"] * 5 + ["y"] * 3 + ["z"]
    held = dampen.dataset({"v": rows}, units_public=True, columns={"v": ["x", "y", "z"]})
    entropy = dampen.InsecureEntropy(5, allow_release=True)
    drawn = [held.most_frequent("v", epsilon=1, entropy=entropy).answer for _ in range(3100)]
    selection = MostFrequent(["x", "y", "z"]).selection(rows)
    right, wrong = (probabilities(selection, epsilon=e, mechanism="pf") for e in ("0.5", "0.65"))
    assert_draws_follow(counts_of(drawn, ["x", "y", "z"]), right, wrong)


# The number of rows


def numbers(n: int) -> dict[str, list[int]]:
    return {"v": [3] * n}


ASKED = {"p": 50, "upper": 9, "step": 1, "epsilon": 5}


def public_part(made: dampen.Release) -> dict[str, Any]:
    """All that a release shows besides what was drawn."""
    shown = json.loads(made.to_json())
    return {name: shown[name] for name in shown.keys() - {"answer", "charge"}}


@pytest.mark.parametrize("p", [50, "deciles"])
def test_the_number_of_rows_is_shown_only_where_it_is_public(p: Any) -> None:
    asked = {**ASKED, "p": p}
    private, more = (dampen.dataset(numbers(n)).percentile("v", **asked) for n in (7, 8))
    assert public_part(private) == public_part(more)
    assert "n" not in private.parameters
    public = dampen.dataset(numbers(7), units_public=True).percentile("v", **asked)
    assert public.parameters["n"] == 7
    alone = dampen.percentile(numbers(7)["v"], **asked)
    assert "n" not in alone.parameters


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.parametrize("k", [None, 5, 99])
def test_a_record_is_refused_before_the_charge_and_before_the_header(
    tmp_path: Path, rows: int, k: int | None
) -> None:
    """The footer of Parquet states the number of rows, and `k <= 4` would repeat it."""
    pq.write_table(pa.table(numbers(rows)), tmp_path / "v.parquet")
    budget = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours="replace-one")
    for data in (tmp_path / "v.parquet", numbers(rows)):
        held = dampen.dataset(data, budget=budget)
        for ask in (held.percentile_record, partial(held.expect, "percentile-record")):
            with pytest.raises(ParameterError) as caught:
                ask(value="v", p=50, upper=9, k=k, epsilon=1)
            assert str(caught.value) == (
                "Record at a percentile: this question shows the number of rows, which this data "
                "set keeps private. If the number is public, the curator can state it: "
                "units_public=True in Python, units-public = true in dampen.toml."
            )
    assert budget.ledger.history("b") == []


# The bisection attack: k = 2 of 3 groups, min_rows bisected, caution varied, ε = 10^-9 each


def loser_law(problem: BestGroup, rows: Any, epsilon: Fraction) -> list[float]:
    """P(the answer for k = 2 leaves out group i), by enumeration; ties are broken evenly."""
    counts = problem.counts([v for _, v in rows], [g for g, _ in rows])
    reach = problem.contest(counts).reach  # type: ignore[union-attr]
    who, w, mass = _support(reach, float(epsilon), problem.offset(epsilon))
    level = _levels(reach.at(who, w))
    law = [0.0] * len(problem.candidates)
    each = [
        list(zip(level[who == i].tolist(), mass[who == i].tolist(), strict=True)) for i in range(3)
    ]
    for drawn in product(*each):
        least = min(place for place, _ in drawn)
        last = [i for i, (place, _) in enumerate(drawn) if place == least]
        for i in last:
            law[i] += math.prod(p for _, p in drawn) / len(last)
    return law


def hospital(size: int) -> list[tuple[str, int]]:
    """Two large groups, and one whose size the attacker wants to know."""
    return [("a", 1)] * 12 + [("b", 1)] * 12 + [("c", 2)] * size


BISECTED = [(n, caution) for n in (8, 4, 6, 5, 7) for caution in (0, 1, 20)]
TINY = Fraction(1, 10**9)


def attack(relation: Neighbours, size: int, min_rows: int, caution: int) -> list[float]:
    problem = BestGroup(
        groups=GROUPS, lower=0, upper=2, step=1, min_rows=min_rows, caution=caution,
        neighbours=relation,
    )  # fmt: skip
    return loser_law(problem, hospital(size), TINY)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_bisection_learns_nothing(size: int) -> None:
    """All 15 answers together: neighbours differ by at most e^(15 · 10^-9), for every outcome."""
    total = 0.0
    for min_rows, caution in BISECTED:
        x, y = (attack(Neighbours.ADD_REMOVE_ROW, n, min_rows, caution) for n in (size, size + 1))
        assert sum(x) == pytest.approx(1)
        assert min(x) > 0
        loss = float(np.abs(np.log(x) - np.log(y)).max())
        assert loss <= float(TINY) + 1e-12
        total += loss
    assert total <= 15 * float(TINY) + 1e-11


def test_bisection_read_the_size_where_groups_counted_as_fixed() -> None:
    """The twin that rejects: with the relation of 0.2 one answer tells a size, for certain."""
    x, y = (attack(Neighbours.REPLACE_ONE, n, 6, 20) for n in (5, 6))
    with np.errstate(divide="ignore"):
        loss = np.abs(np.log(np.maximum(x, 1e-300)) - np.log(np.maximum(y, 1e-300))).max()
    assert loss > 0.1


def test_a_data_set_draws_by_the_relation_that_bisection_does_not_break() -> None:
    """Nothing that can be asked leads to the other one: private groups are never fixed."""
    for public in (False, True):
        held = dampen.dataset({"v": [], "g": []}, units_public=public, columns=COLUMNS)
        for min_rows, caution in BISECTED:
            plan = held.expect(
                "top-groups", value="v", by="g", k=2, min_rows=min_rows, caution=caution,
                epsilon=2 * TINY,
            )  # fmt: skip
            method = plan.method.method if public else plan.method  # type: ignore[attr-defined]
            assert method.problem.neighbours is Neighbours.ADD_REMOVE_ROW
            assert plan.cost.epsilon == 2 * TINY
    with pytest.raises(ParameterError, match="no parameter neighbours"):
        held.ask("top-groups", value="v", by="g", neighbours="replace-one", epsilon=1)


# The two-budget attack: a replace-one budget that publishes n, beside one for rows


def test_a_second_budget_shows_no_more(tmp_path: Path) -> None:
    """Whatever pays, releases of neighbouring data sets show the same but for the draw."""
    ledger = Ledger(tmp_path / "ledger")
    for relation in ("add-remove-row", "replace-one"):
        ledger.create(relation, epsilon=100, neighbours=relation)
        fewer, more = (
            dampen.dataset(numbers(n), budget=ledger[relation]).percentile("v", **ASKED)
            for n in (7, 8)
        )
        assert public_part(fewer) == public_part(more)
        assert str(fewer.neighbours) == "add-remove-row"
    # A replaced row is a removed and an added one: the budget for replacements pays twice.
    assert ledger.spent("add-remove-row") == 2 * 5
    assert ledger.spent("replace-one") == 2 * 2 * 5


def test_a_budget_for_rows_pays_for_nothing_that_shows_their_number(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours="add-remove-row")
    public = dampen.dataset(numbers(7), units_public=True, budget=account)
    asks = [
        lambda: public.percentile("v", **ASKED),
        lambda: dampen.percentile_record([1, 2, 3], p=50, upper=9, epsilon=1, budget=account),
    ]
    for ask in asks:
        with pytest.raises(BudgetError, match="add-remove-row"):
            ask()
    assert account.ledger.history("b") == []
