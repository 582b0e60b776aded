"""What every ledger promises, whatever it is stored in: exact sums, refusals that take nothing."""

import json
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dampen.core.noise import pure_rho
from dampen.core.selection import Neighbours
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Entry, Head, Kind, Ledger, verify, worker
from dampen.releases.cost import Cost

ONE = "replace-one"
ROW = "add-remove-row"


def cost(epsilon: Fraction, neighbours: str = ONE) -> Cost:
    return Cost(epsilon, epsilon**2 / 8, "q", "em", Neighbours(neighbours), ("upper",))


def test_a_charge_records_everything(ledger: Ledger) -> None:
    given = ledger.charge(
        "payroll",
        epsilon="0.5",
        query="percentile p=95",
        mechanism="ld",
        neighbours=Neighbours.REPLACE_ONE,
        analyst="audit",
        dataset="salaries",
        leaks=("upper",),
    )
    (row,) = ledger.history("payroll")
    assert row.id == given
    assert (row.epsilon, row.rho) == (Fraction(1, 2), pure_rho(Fraction(1, 2)))
    assert (row.query, row.mechanism, row.analyst) == ("percentile p=95", "ld", "audit")
    assert (row.dataset, row.neighbours) == ("salaries", Neighbours.REPLACE_ONE)
    assert (row.leaks, row.converted) == (("upper",), "")
    assert row.time.utcoffset() is not None
    assert row.version
    assert ledger.remaining("payroll") == Fraction(5, 2)


def test_three_tenths_are_three_tenths(ledger: Ledger) -> None:
    ledger.create("exact", epsilon="0.3", neighbours=ONE)
    for epsilon in (0.1, "0.1", Fraction(1, 10)):
        ledger.charge("exact", epsilon=epsilon, neighbours=ONE)
    assert ledger.spent("exact") == ledger.total("exact")
    with pytest.raises(BudgetError, match=r"0 of 0\.3 is left"):
        ledger.charge("exact", epsilon="1e-30", neighbours=ONE)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.fractions(Fraction(1, 1000), 2), min_size=1, max_size=8))
def test_sums_are_exact(new_place: Callable[[], str], costs: list[Fraction]) -> None:
    ledger = Ledger(new_place())
    ledger.create("b", epsilon=16, neighbours=ROW)
    for each in costs:
        ledger.charge("b", epsilon=each, neighbours=ROW)
    assert ledger.remaining("b") == 16 - sum(costs)
    assert [row.epsilon for row in ledger.history("b")] == costs


def test_a_refusal_takes_nothing_and_is_recorded(ledger: Ledger) -> None:
    ledger.charge("payroll", epsilon="2.9", neighbours=ONE)
    before = ledger.history("payroll")
    with pytest.raises(BudgetError, match=r"cannot pay epsilon 0\.2: 0\.1 of 3 is left") as caught:
        ledger.charge("payroll", epsilon="0.2", neighbours=ONE, analyst="eve")
    assert type(caught.value) is BudgetError
    assert ledger.history("payroll") == before
    refusal = ledger.entries("payroll")[-1]
    assert refusal.kind is Kind.REFUSAL
    assert (refusal.details["analyst"], refusal.details["epsilon"]) == ("eve", "0.2")
    ledger.charge("payroll", epsilon="0.1", neighbours=ONE)


def refusals(ledger: Ledger, analyst: str) -> list[dict[str, Any]]:
    return [
        dict(entry.details)
        for entry in ledger.entries("payroll")
        if entry.kind is Kind.REFUSAL and entry.details["analyst"] == analyst
    ]


def refuse(ledger: Ledger, times: int, analyst: str, **wrong: Any) -> None:
    wanted = {"epsilon": 4, "neighbours": ONE} | wrong
    for _ in range(times):
        with pytest.raises(BudgetError, match="Nothing was charged"):
            ledger.charge("payroll", analyst=analyst, **wanted)


def test_repeated_refusals_are_counted_not_recorded(ledger: Ledger) -> None:
    refuse(ledger, 70, "eve")
    found = refusals(ledger, "eve")
    assert len(found) == 13
    assert [each.get("repeats", 0) for each in found] == [0] * 10 + [5, 15, 31]
    refuse(ledger, 1, "Eve", epsilon=3.5)  # another spelling and price
    assert len(refusals(ledger, "eve")) + len(refusals(ledger, "Eve")) == 13
    refuse(ledger, 1, "eve", neighbours="add-remove-edge")  # another reason
    refuse(ledger, 1, "ben")
    assert (len(refusals(ledger, "eve")), len(refusals(ledger, "ben"))) == (14, 1)


def test_a_reopened_ledger_goes_on_counting_refusals(ledger: Ledger) -> None:
    refuse(ledger, 16, "eve")
    worker.close_all()
    refuse(ledger, 15, "eve")
    assert len(refusals(ledger, "eve")) == 11
    refuse(ledger, 1, "eve")
    assert refusals(ledger, "eve")[-1]["repeats"] == 15


def test_refusals_under_many_names_are_bounded(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dampen.ledger.state.MOST_ANALYSTS", 3)
    for i in range(40):
        refuse(ledger, 1, f"eve{i}")
    kinds = [entry.kind for entry in ledger.entries("payroll")]
    assert kinds.count(Kind.REFUSAL) == 3 + 10 + 2  # 16 and 32 of those that share a count


def test_the_relation_must_be_stated(ledger: Ledger) -> None:
    with pytest.raises(TypeError, match="neighbours"):
        ledger.charge("payroll", epsilon=1)  # type: ignore[call-arg]
    with pytest.raises(BudgetError, match=r"replace-one.*add-remove-edge"):
        ledger.charge("payroll", epsilon=1, neighbours="add-remove-edge")
    assert ledger.spent("payroll") == 0


def test_an_unknown_budget_suggests_a_known_one(ledger: Ledger) -> None:
    def charge(name: str) -> None:
        ledger.charge(name, epsilon=1, neighbours=ONE)

    for use in (ledger.spent, ledger.history, ledger.__getitem__, charge):
        with pytest.raises(BudgetError, match=r"no budget 'payrol'. Did you mean 'payroll'"):
            use("payrol")


@pytest.mark.parametrize("other", ["payroll", " payroll", "payroll ", "PayRoll"])
def test_a_name_is_used_once(ledger: Ledger, other: str) -> None:
    with pytest.raises(BudgetError, match="already has a budget 'payroll'"):
        ledger.create(other, epsilon=100, neighbours=ONE)
    assert ledger.total(other) == 3
    assert list(ledger) == ["payroll"]


def test_two_spellings_of_an_accent_are_one_name(ledger: Ledger) -> None:
    ledger.create("caf\u00e9", epsilon=1, neighbours=ONE)
    with pytest.raises(BudgetError, match="already has"):
        ledger.create("cafe\u0301", epsilon=1, neighbours=ONE)
    ledger.charge("CAFE\u0301", epsilon=1, neighbours=ONE)
    assert ledger.remaining("caf\u00e9") == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": " "}, "a name"),
        ({"name": "a\nb"}, "a name"),
        ({"name": "a\u200bb"}, "a name"),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"epsilon": "abc"}, "positive number"),
        ({"epsilon": "1/1" + "0" * 2098 + "1"}, "positive number"),
        ({"epsilon": Fraction(1, 10**60)}, "at most 60 digits"),
        ({"delta": 1}, "delta < 1"),
        ({"largest": -1}, "largest > 0"),
        ({"each": "x"}, "Expected each"),
        ({"neighbours": "replace"}, "Did you mean 'replace-one'"),
        ({"dataset": "d" * 4001}, "dataset of at most 4,000 characters"),
    ],
)
def test_bad_parameters_create_nothing(
    new_place: Callable[[], str], change: dict, message: str
) -> None:
    wanted: dict[str, Any] = {"name": "b", "epsilon": 1, "neighbours": ONE} | change
    ledger = Ledger(new_place())
    with pytest.raises(ParameterError, match=message):
        ledger.create(wanted.pop("name"), **wanted)
    with pytest.raises(BudgetError, match="no ledger"):
        list(ledger)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": "abc"},
        {"epsilon": float("nan")},
        {"epsilon": True},
        {"epsilon": "1/1" + "0" * 2098 + "1"},
        {"epsilon": "1e-61"},
        {},
        {"epsilon": 1, "rho": 0},
        {"epsilon": 1, "query": "q" * 4001},
        {"epsilon": 1, "dataset": "q" * (50 * 2**20)},
    ],
)
def test_a_bad_charge_is_not_made(ledger: Ledger, wrong: dict) -> None:
    with pytest.raises(ParameterError):
        ledger.charge("payroll", neighbours=ONE, **wrong)
    assert ledger.history("payroll") == []


def test_hostile_fractions_stay_short_and_are_never_too_cheap(ledger: Ledger) -> None:
    costs = [Fraction(1, 10**58 + i) for i in range(1, 120)]
    for each in costs:
        ledger.charge("payroll", epsilon=each, neighbours=ONE)
    spent = ledger.spent("payroll")
    assert spent.denominator <= 10**400
    assert ledger.balance("payroll").spent.rho.denominator <= 10**400
    assert sum(costs) <= spent <= sum(costs) + Fraction(len(costs), 10**200)
    with pytest.raises(BudgetError, match=r">2\.99.* of 3 is left") as caught:
        ledger.charge("payroll", epsilon=3, neighbours=ONE)
    assert len(str(caught.value)) < 200
    ledger.charge("payroll", epsilon="2.5", neighbours=ONE)


def test_text_that_is_not_unicode_is_kept_escaped(ledger: Ledger) -> None:
    name = b"caf\xe9.csv".decode("utf-8", "surrogateescape")
    ledger.charge("payroll", epsilon=1, neighbours=ONE, dataset=name, query="a\x00b\n'")
    (row,) = ledger.history("payroll")
    assert (row.dataset, row.query) == ("caf\\udce9.csv", "a\x00b\n'")


def test_an_account_is_a_budget_for_releases(ledger: Ledger) -> None:
    account = pickle.loads(pickle.dumps(ledger["payroll"].by(analyst="audit", dataset="s.csv")))
    charge = account.charge(cost(Fraction(1, 4)))
    assert (account.spent, account.remaining) == (Fraction(1, 4), Fraction(11, 4))
    assert (account.total, account.neighbours) == (3, Neighbours.REPLACE_ONE)
    (row,) = account.history
    assert (row.id, row.analyst, row.dataset, row.leaks) == (charge, "audit", "s.csv", ("upper",))
    assert row.rho == Fraction(1, 128)
    assert account.by(analyst="other").dataset == "s.csv"
    assert list(ledger) == ["payroll"]


def test_an_answer_is_kept_beside_its_charge(ledger: Ledger) -> None:
    account = ledger["payroll"]
    first, second = account.charge(cost(Fraction(1))), account.charge(cost(Fraction(1)))
    account.keep(first, json.dumps({"answer": "é"}))
    assert json.loads(ledger.answer(first)) == {"answer": "é"}
    with pytest.raises(BudgetError, match=f"charge {second} stands, but no answer to it was kept"):
        ledger.answer(second)
    other = first.replace("-", "-f")[: len(first)]
    with pytest.raises(BudgetError, match=f"no charge {other}"):
        ledger.answer(other)
    with pytest.raises(BudgetError, match="no charge"):
        account.keep("999-" + "0" * 16, "{}")
    for wrong in ("", "7", "x-" + "0" * 16, "1-xyz", "9" * 40 + "-" + "0" * 16):
        with pytest.raises(ParameterError, match="Expected a head or an id"):
            ledger.answer(wrong)


def test_a_charge_takes_one_answer(ledger: Ledger) -> None:
    account = ledger["payroll"]
    charge = account.charge(cost(Fraction(1)))
    account.keep(charge, '"first"')
    with pytest.raises(BudgetError, match="already has an answer"):
        account.keep(charge, '"second"')
    other = account.charge(cost(Fraction(1)))
    kept = ledger.keep_all([(other, '"a"'), (other, '"b"'), (charge, '"c"')])
    assert [isinstance(each, str) for each in kept] == [True, False, False]
    assert [ledger.answer(charge), ledger.answer(other)] == ['"first"', '"a"']
    kinds = [entry.kind for entry in ledger.entries_after()[0]]
    assert kinds.count(Kind.ANSWER) == 2


def test_only_charges_take_answers(ledger: Ledger) -> None:
    charge = ledger["payroll"].charge(cost(Fraction(1)))
    created = ledger.entries()[0].id
    number, _, digest = charge.partition("-")
    forged = f"{number}-{'0' * len(digest)}"
    for wrong in (created, forged):
        with pytest.raises(BudgetError, match="has no charge"):
            ledger.keep(wrong, "{}")


def test_an_answer_that_is_too_long_is_not_kept(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dampen.ledger.accounts.LONGEST_ANSWER", 10)
    charge = ledger["payroll"].charge(cost(Fraction(1)))
    with pytest.raises(BudgetError, match="no longer than 10"):
        ledger["payroll"].keep(charge, '"eleven chars"')


def test_a_look_before_charges_takes_back_what_it_names(ledger: Ledger) -> None:
    """It sees what was written behind a head, from memory or from the storage, and before them."""
    payroll, seen = ledger["payroll"], list[list[Kind]]()

    def look(entries: list[Entry], _: Head) -> set[int]:
        seen.append([entry.kind for entry in entries])
        return {1}

    _, head = ledger.entries_after()
    for _ in range(2):
        costs = [(payroll, cost(Fraction(1, 100)))] * 3
        first, second, third = ledger.charge_all(costs, last=head, look=look)
        assert isinstance(second, worker.Unwanted)
        charges = [charge.id for charge in ledger.history("payroll")]
        assert charges[-2:] == [first, third]
        worker.close_all()
    assert seen == [[], [Kind.CHARGE, Kind.CHARGE]]
    ledger.charge_all([], last=head, look=look)
    assert seen[2:] == [[Kind.CHARGE] * 4]


def test_there_is_no_ledger_before_a_budget(new_place: Callable[[], str]) -> None:
    ledger = Ledger(new_place())

    def charge(name: str) -> None:
        ledger.charge(name, epsilon=1, neighbours=ONE)

    for use in (ledger.spent, charge, lambda _: list(ledger)):
        with pytest.raises(BudgetError, match=r"There is no ledger.*Create a budget first"):
            use("b")


def test_a_notebook_shows_the_remainder(ledger: Ledger) -> None:
    ledger.create("<b>", epsilon=1, delta="1e-6", neighbours=ONE)
    ledger.charge("payroll", epsilon="0.5", neighbours=ONE)
    shown = ledger._repr_html_()
    assert (
        "<td>payroll</td><td>replace-one</td><td>3</td><td></td><td>0.5</td><td>2.5</td>" in shown
    )
    assert "&lt;b&gt;" in shown and "<td><b>" not in shown
    assert ledger["payroll"]._repr_html_().count("<tr>") == 2


def test_a_note_is_an_entry_that_spends_nothing(ledger: Ledger) -> None:
    before = ledger.balance("payroll")
    ledger.note("create token", {"analyst": "ben"}, who="carl")
    last = ledger.entries()[-1]
    assert (last.kind, last.budget) == (Kind.NOTE, "")
    assert {"what": "create token", "analyst": "ben", "who": "carl"}.items() <= last.details.items()
    assert ledger.balance("payroll") == before
    worker.close_all()
    assert verify(ledger).id == last.id  # the chain holds it after a restart, too
    with pytest.raises(ParameterError, match="at most"):
        ledger.note("x" * 5000, {})


def test_a_refusal_is_known_before_the_charge(ledger: Ledger) -> None:
    account = ledger["payroll"]
    before = verify(ledger)
    assert account.refusal(cost(Fraction(3))) == ""
    assert "cannot pay epsilon 4: 3 of 3 is left" in account.refusal(cost(Fraction(4)))
    assert verify(ledger) == before
    with pytest.raises(BudgetError, match="cannot pay epsilon 4"):
        account.charge(cost(Fraction(4)))


def test_a_trial_is_marked(ledger: Ledger) -> None:
    account = ledger.create("try", epsilon=1, neighbours=ONE, trial=True)
    assert account.balance.trial
    assert not ledger["payroll"].balance.trial
    assert "<td>try (trial)</td>" in ledger._repr_html_()
    assert [entry.details.get("trial") for entry in ledger.entries("try")] == [True]
    assert ledger.charge("try", epsilon=1, neighbours=ONE)


def test_threads_never_overspend(ledger: Ledger) -> None:
    granted: list[str] = []
    refused: list[str] = []

    def charge_often() -> None:
        for _ in range(25):
            try:
                granted.append(ledger.charge("payroll", epsilon="0.01", neighbours=ONE))
            except BudgetError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=charge_often) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(granted)) == len(granted) == 300
    assert all("0 of 3 is left" in why for why in refused)
    assert ledger.remaining("payroll") == 0
    kinds = [entry.kind for entry in ledger.entries("payroll")]
    assert (kinds.count(Kind.CHARGE), kinds.count(Kind.REFUSAL)) == (300, 13)  # 10, 16, 32, 64
    assert len(refused) == 100
    verify(ledger, granted[17])


def test_entries_are_followed_from_a_head(ledger: Ledger) -> None:
    first, head = ledger.entries_after()
    assert [str(entry.kind) for entry in first][-1] == "create"
    assert ledger.entries_after(head) == ([], head)
    charge = ledger.charge("payroll", epsilon="1", neighbours="replace-one")
    ledger.keep(charge, "{}")
    with pytest.raises(BudgetError):
        ledger.charge("payroll", epsilon="9", neighbours="replace-one")
    later, _ = ledger.entries_after(head)
    assert [str(entry.kind) for entry in later] == ["charge", "answer", "refusal"]
    assert later[0].id == charge
    with pytest.raises(BudgetError, match="missing or was changed"):
        ledger.entries_after(Head(head.seq, "0" * 64))


def test_charges_that_share_a_transaction_are_judged_one_by_one(ledger: Ledger) -> None:
    """As if they came one after the other: each sees what those before it took."""
    payroll, total = ledger["payroll"], ledger.total("payroll")
    asked = [total / 2, total, total / 4, total / 2, total / 4]
    made = ledger.charge_all([(payroll.by("ana"), cost(epsilon)) for epsilon in asked])
    granted = [each for each in made if isinstance(each, str)]
    assert [isinstance(each, str) for each in made] == [True, False, True, False, True]
    for refused in (made[1], made[3]):
        assert isinstance(refused, BudgetError)
        assert "Nothing was charged" in str(refused)
    assert [charge.id for charge in ledger.history("payroll")] == granted
    assert ledger.remaining("payroll") == 0
    refusals = [entry for entry in ledger.entries("payroll") if entry.kind is Kind.REFUSAL]
    assert len(refusals) == 2
    kept = ledger.keep_all([(granted[0], "1"), ("999-" + "0" * 16, "2"), (granted[2], "3")])
    assert [isinstance(each, str) for each in kept] == [True, False, True]
    assert [ledger.answer(granted[0]), ledger.answer(granted[2])] == ["1", "3"]
    assert ledger.charge_all([]) == ledger.keep_all([]) == []
    verify(ledger)
