"""The order of every release, and that nothing private is said."""

import json
import logging
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import (
    BudgetError,
    DataError,
    InsecureEntropy,
    ParameterError,
    PrivacyLeakWarning,
    Release,
)
from dampen.frequency.problem import MostFrequent
from dampen.releases import release


class Account:
    """A budget that remembers what happened, in order."""

    def __init__(self, events: list[str], refuse: bool = False) -> None:
        self.events, self.refuse = events, refuse

    def charge(self, cost, /):
        epsilon, query, mechanism = cost.epsilon, cost.query, cost.mechanism
        neighbours = cost.neighbours
        if self.refuse:
            raise BudgetError("Expected epsilon <= 0 left.")
        self.events.append(f"{query} {epsilon} {mechanism} {neighbours}")


def run(events: list[str], values: list[str] | None = None, **changes: object) -> Release:
    def load() -> list[str]:
        events.append("data")
        return ["a", "a", "b"] if values is None else values

    given = {"query": "q", "epsilon": "0.5", "mechanism": "pf", "budget": Account(events)}
    return release(MostFrequent(["a", "b"]), load, **(given | changes))  # type: ignore[arg-type]


def test_the_charge_comes_before_the_data() -> None:
    events: list[str] = []
    answer = run(events)
    assert events == ["q 1/2 pf add-remove-row", "data"]
    assert answer.answer in ("a", "b") and answer.epsilon == Fraction(1, 2) and answer.secure


@pytest.mark.parametrize(
    "bad",
    [{"epsilon": "0"}, {"mechanism": "nope"}, {"k": 0}, {"k": 3}, {"entropy": InsecureEntropy(1)}],
)
def test_bad_parameters_cost_nothing_and_see_nothing(bad: dict[str, object]) -> None:
    events: list[str] = []
    with pytest.raises(ParameterError):
        run(events, **bad)
    assert events == []


def test_a_refused_charge_sees_nothing() -> None:
    events: list[str] = []
    with pytest.raises(BudgetError):
        run(events, budget=Account(events, refuse=True))
    assert events == []


def test_bad_data_costs_the_charge() -> None:
    events: list[str] = []
    with pytest.raises(DataError):
        run(events, values=["a", "secret-value"])
    assert events == ["q 1/2 pf add-remove-row", "data"]


def test_a_parameter_that_fails_only_with_the_data_says_that_it_was_charged() -> None:
    class Unbounded(MostFrequent):
        def selection(self, values: list[str], /) -> dampen.Selection:
            return dampen.Selection([1.0, 2.0], dampen.sensitivity.constant(1), bound=2)

    events: list[str] = []
    with pytest.raises(DataError, match=r"finite horizon.*The charge of epsilon 1 stands"):
        release(
            Unbounded(["a", "b"]),
            list,
            query="q",
            epsilon=1,
            mechanism="sld",
            budget=Account(events),
        )
    assert len(events) == 1


def test_a_seeded_source_must_be_allowed_and_is_declared() -> None:
    entropy = InsecureEntropy(3, allow_release=True)
    answer = dampen.most_frequent(["a"], categories=["a", "b"], epsilon=1, entropy=entropy)
    assert not answer.secure and "NOT SECURE" in repr(answer)


def test_json_is_exact_and_plain() -> None:
    answer = dampen.most_frequent([1, 1, 2], categories=[1, 2, 3], epsilon=0.1, k=2)
    fields = json.loads(answer.to_json())
    assert fields["epsilon"] == "0.1"
    assert sorted(fields) == [
        "answer", "charge", "epsilon", "leaks", "mechanism", "neighbours", "parameters", "rho",
        "secure", "version",
    ]  # fmt: skip
    assert len(fields["answer"]) == 2 and fields["neighbours"] == "add-remove-row"
    odd = Release([np.int64(3), np.float64(0.5), object], Fraction(1, 3), "em", answer.neighbours)
    assert json.loads(odd.to_json())["answer"][:2] == [3, 0.5]


def test_most_frequent_finds_the_mode() -> None:
    values = ["x"] * 500 + ["y"] * 50 + ["z"] * 5
    assert dampen.most_frequent(values, categories=["z", "y", "x"], epsilon=5).answer == "x"
    assert dampen.most_frequent(values, categories=["z", "y", "x"], epsilon=5, k=3).answer == [
        "x",
        "y",
        "z",
    ]
    assert dampen.most_frequent(np.array([4, 4, 4]), categories=[4, 5], epsilon=50).answer == 4


def test_categories_from_the_data_are_a_leak_that_is_named() -> None:
    with pytest.warns(PrivacyLeakWarning, match="categories"):
        dampen.most_frequent(["a", "b", "a"], epsilon=1)


def test_even_leaked_categories_are_read_after_the_charge() -> None:
    class Refusing:
        def charge(self, cost: object, /) -> None:
            raise BudgetError("Expected epsilon <= 0 left.")

    class Untouchable(list):
        def __iter__(self):
            raise AssertionError("data was read without a charge")

        __getitem__ = __iter__

    with pytest.raises(BudgetError), pytest.warns(PrivacyLeakWarning):
        dampen.most_frequent(Untouchable(), epsilon=1, budget=Refusing())


@pytest.mark.parametrize("bad", [[], ["a", "a"]])
def test_bad_categories(bad: list[str]) -> None:
    with pytest.raises(ParameterError, match="categor"):
        dampen.most_frequent(["a"], categories=bad, epsilon=1)


SECRET = 918273.645


@pytest.mark.parametrize(
    "call",
    [
        lambda: dampen.Selection([SECRET, np.nan], dampen.sensitivity.constant(1)),
        lambda: dampen.Selection([1], dampen.sensitivity.table([[SECRET]]), bound=1),
        lambda: dampen.sensitivity.table([[SECRET], [1]]),
        lambda: dampen.sensitivity.table([[SECRET, -SECRET]]),
        lambda: dampen.most_frequent([SECRET], categories=["a"], epsilon=1),
        lambda: dampen.Selection([SECRET], dampen.sensitivity.function(lambda t: [SECRET], 1), 1),
    ],
)
def test_no_error_log_or_repr_tells_a_private_value(call, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError) as caught:
        call()
    assert "918273" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None


def test_a_release_says_nothing_but_its_answer() -> None:
    answer = dampen.most_frequent(["a"] * 918273, categories=["a", "b"], epsilon=1)
    assert "918273" not in repr(answer) + answer.to_json()
