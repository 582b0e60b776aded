"""What a curator does to a budget, each with who and when, and what budgets then refuse."""

from fractions import Fraction

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Kind, Ledger, Status

ONE = "replace-one"


def charge(ledger: Ledger, epsilon: object, **note: str) -> str:
    return ledger.charge("payroll", epsilon=epsilon, neighbours=ONE, **note)  # type: ignore[arg-type]


def test_a_budget_is_raised_and_never_lowered(ledger: Ledger) -> None:
    account = ledger["payroll"]
    charge(ledger, 3)
    account.raise_to("3.5", who="curator")
    charge(ledger, "0.5")
    assert (account.total, account.remaining) == (Fraction(7, 2), 0)
    with pytest.raises(ParameterError, match=r"Expected epsilon >= 3\.5"):
        account.raise_to(3)
    act = ledger.entries("payroll")[2]
    assert (act.kind, act.details["who"], act.details["epsilon"]) == (Kind.RAISE, "curator", "3.5")
    assert act.details["time"]


def test_freeze_thaw_close(ledger: Ledger) -> None:
    account = ledger["payroll"]
    account.freeze(why="audit")
    with pytest.raises(BudgetError, match=r"Budget 'payroll' is frozen\. Nothing was charged"):
        charge(ledger, 1)
    with pytest.raises(ParameterError, match="Expected no spent"):
        account.thaw(spent=1)
    account.thaw()
    charge(ledger, 1)
    account.close(why="data deleted", who="ana")
    assert account.status is Status.CLOSED
    with pytest.raises(BudgetError, match="is closed"):
        charge(ledger, 1)
    for act in (account.thaw, account.freeze, lambda: account.raise_to(9), lambda: account.cap(1)):
        with pytest.raises(BudgetError, match="is closed"):
            act()
    assert account.spent == 1
    kinds = [entry.kind for entry in ledger.entries("payroll")]
    assert kinds == ["create", "freeze", "refusal", "thaw", "charge", "close", "refusal"]


def test_analysts_have_caps_of_their_own(ledger: Ledger) -> None:
    account = ledger["payroll"]
    account.cap("0.5")
    account.cap(2, analyst="Ana")
    charge(ledger, "0.5", analyst="bob")
    with pytest.raises(BudgetError, match=r"for 'bob': 0 of 0\.5 is left for this analyst"):
        charge(ledger, "0.1", analyst="bob")
    with pytest.raises(BudgetError, match="for 'BOB ': 0"):
        charge(ledger, "0.1", analyst="BOB ")
    charge(ledger, 2, analyst="ana")
    with pytest.raises(BudgetError, match="for 'ana'"):
        charge(ledger, "0.1", analyst="ana")
    charge(ledger, "0.5", analyst="eve")
    with pytest.raises(BudgetError, match=r"cannot pay epsilon 0\.1: 0 of 3 is left"):
        charge(ledger, "0.1", analyst="fred")
    assert account.balance.by("ana").epsilon == 2


def test_caps_and_a_largest_question_from_the_start(ledger: Ledger) -> None:
    ledger.create("b", epsilon=3, neighbours=ONE, largest=1, each="1.5")
    with pytest.raises(BudgetError, match="at most epsilon 1 a question, not epsilon 1000000000"):
        ledger.charge("b", epsilon=10**9, neighbours=ONE)
    ledger.charge("b", epsilon=1, neighbours=ONE, analyst="a")
    with pytest.raises(BudgetError, match=r"0\.5 of 1\.5 is left for this analyst"):
        ledger.charge("b", epsilon=1, neighbours=ONE, analyst="a")


def test_the_largest_question_is_compared_after_conversion(ledger: Ledger) -> None:
    account = ledger.create("b", epsilon=3, neighbours=ONE, largest=1)
    with pytest.raises(BudgetError, match="at most epsilon 1 a question, not epsilon 2"):
        ledger.charge("b", epsilon=1, neighbours="add-remove-row")
    with pytest.raises(BudgetError, match="at most epsilon 1 a question, not rho 2"):
        ledger.charge("b", rho="1/2", neighbours="add-remove-row")
    assert account.spent == 0
    ledger.charge("b", epsilon="1/2", neighbours="add-remove-row")
    assert account.spent == 1


def test_a_budget_of_a_data_set_pays_for_no_other(ledger: Ledger) -> None:
    ledger.create("b", epsilon=3, neighbours=ONE, dataset="salaries", location="/data/salaries.csv")

    def ask(dataset: str, location: str = "/data/salaries.csv") -> None:
        ledger.charge("b", epsilon=1, neighbours=ONE, dataset=dataset, location=location)

    with pytest.raises(BudgetError, match="for the data set 'salaries', not for 'visits'"):
        ask("visits")
    with pytest.raises(BudgetError, match="for a data set at another place"):
        ask("salaries", "/data/other.csv")
    with pytest.raises(BudgetError, match="at another place"):
        ask("salaries", "")
    ask("salaries")
    assert not any("/data" in str(entry.details) for entry in ledger.entries("b"))


def test_rows_added_and_removed_charge_a_budget_of_rows_replaced_twice(ledger: Ledger) -> None:
    ledger.charge("payroll", epsilon=1, rho=Fraction(1, 8), neighbours="add-remove-row")
    (row,) = ledger.history("payroll")
    assert (row.epsilon, row.rho) == (2, Fraction(1, 2))
    assert "charged 2 times, rho 4 times" in row.converted
    with pytest.raises(BudgetError, match="cannot pay epsilon 2: 1 of 3"):
        ledger.charge("payroll", epsilon=1, neighbours="add-remove-row")


@pytest.mark.parametrize(
    ("own", "asked"),
    [
        ("add-remove-row", "replace-one"),
        ("add-remove-row", "add-remove-edge"),
        ("add-remove-edge", "add-remove-row"),
        ("replace-one", "add-remove-edge"),
    ],
)
def test_relations_without_a_conversion_are_refused(ledger: Ledger, own: str, asked: str) -> None:
    ledger.create("b", epsilon=9, neighbours=own)
    with pytest.raises(BudgetError, match="but this release protects"):
        ledger.charge("b", epsilon=1, neighbours=asked)
    assert ledger.spent("b") == 0
