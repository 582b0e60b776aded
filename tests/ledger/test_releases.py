"""Every release function with an account of a ledger: paid first, read afterwards."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dampen.core.losses import Loss, composed_epsilon
from dampen.data.memory import MemoryTable
from dampen.errors import BudgetError
from dampen.ledger import Account, Ledger
from dampen.questions.classify import TreeClassifier
from dampen.questions.counts import count
from dampen.questions.frequency import most_frequent
from dampen.questions.means import mean
from dampen.questions.nodes import top_k
from dampen.questions.percentile.question import percentile
from dampen.questions.percentile.record import percentile_record


class Unread(list[int]):
    """A column of three values that must not be looked at."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("the data was read before the charge")

    def __iter__(self) -> Any:
        raise AssertionError("the data was read before the charge")

    def __getitem__(self, i: Any) -> Any:
        raise AssertionError("the data was read before the charge")


pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")  # of three rows
VALUES = [1, 2, 3]


def ask_record(budget: Account, data: list[int]) -> Any:
    return percentile_record(data, p=50, epsilon="0.6", upper=10, budget=budget)


def ask_value(budget: Account, data: list[int]) -> Any:
    return percentile(data, p=50, epsilon="0.6", upper=10, step=1, budget=budget)


def ask_frequent(budget: Account, data: list[int]) -> Any:
    return most_frequent(data, categories=VALUES, epsilon="0.6", budget=budget)


def ask_top_k(budget: Account, data: list[int]) -> Any:
    return top_k((data, data), n=400, k=1, epsilon="0.6", budget=budget)


def ask_tree(budget: Account, data: list[int]) -> Any:
    public = {"domains": {"a": VALUES}, "classes": VALUES, "max_rows": 9}
    tree = TreeClassifier(epsilon="0.6", budget=budget, **public)
    return tree.fit_table(MemoryTable({"a": data, "c": data}), target="c")


RELATIONS: dict[Callable[[Account, Any], Any], str] = {
    ask_record: "replace-one",
    ask_value: "add-remove-row",
    ask_frequent: "add-remove-row",
    ask_top_k: "add-remove-edge",
    ask_tree: "add-remove-row",
}


@pytest.mark.parametrize("ask", RELATIONS)
def test_a_release_is_paid_exactly_once(tmp_path: Path, ask: Any) -> None:
    ledger = Ledger(tmp_path / "ledger")
    account = ledger.create("b", epsilon=1, neighbours=RELATIONS[ask]).by("ana", "d")
    ask(account, VALUES)
    (charge,) = ledger.history("b")
    assert charge.epsilon == Fraction(3, 5)
    assert (charge.analyst, charge.dataset, charge.neighbours) == ("ana", "d", RELATIONS[ask])
    assert charge.query
    assert charge.mechanism


@pytest.mark.parametrize("ask", RELATIONS)
def test_a_refused_release_does_not_look(tmp_path: Path, ask: Any) -> None:
    ledger = Ledger(tmp_path / "ledger")
    account = ledger.create("b", epsilon="0.5", neighbours=RELATIONS[ask])
    with pytest.raises(BudgetError, match="is left"):
        ask(account, Unread(VALUES))
    assert ledger.history("b") == []


@pytest.mark.parametrize("ask", RELATIONS)
def test_another_relation_is_refused(tmp_path: Path, ask: Any) -> None:
    other = "replace-one" if RELATIONS[ask] == "add-remove-edge" else "add-remove-edge"
    account = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours=other)
    with pytest.raises(BudgetError, match="but this release protects"):
        ask(account, Unread(VALUES))
    assert account.spent == 0


def test_a_charge_records_what_its_noise_loses(ledger: Ledger) -> None:
    """Of a mean; a count is randomised response, which goes without saying."""
    account = ledger.create("many", epsilon=2, delta="1e-6", neighbours="add-remove-row")
    for _ in range(2):
        mean({"v": VALUES}, "v", lower=0, upper=10, step=1, epsilon="0.5", budget=account)
    count({"v": VALUES}, epsilon="0.5", budget=account)
    said = (Loss(Fraction("0.5"), 10),)
    assert [each.losses for each in account.history] == [said, said, ()]
    assert "losses" not in account.ledger.entries("many")[-1].details
    delta = Fraction("1e-6")
    stated = composed_epsilon([*said, *said, Loss(Fraction("0.5"))], delta)
    assert account.composed == stated < composed_epsilon([Loss(Fraction("0.5"), times=3)], delta)
