"""What a release says, and that nothing private is said.  Its order: `tests/contracts`."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import DataError, ParameterError, Release
from dampen.questions.frequency import MostFrequent
from leaks import NUMBER, listening, secrets_in


def test_data_in_place_of_a_loader_is_refused() -> None:
    with pytest.raises(ParameterError, match="lambda: data"):
        dampen.release(
            MostFrequent(["a", "b"]),
            ["a", "b"],  # type: ignore[arg-type]
            query="q",
            epsilon=1,
            mechanism="pf",
        )


def test_a_parameter_that_fails_only_with_the_data_is_not_quoted() -> None:
    class Unbounded(MostFrequent):
        def selection(self, values: list[str], /) -> dampen.Selection:
            return dampen.Selection([1.0, 2.0], dampen.sensitivity.constant(1), bound=2)

    with pytest.raises(DataError, match="could not be read"):
        dampen.release(Unbounded(["a", "b"]), list, query="q", epsilon=1, mechanism="sld")


def test_the_cause_of_a_data_error_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> list[str]:
        raise OSError(5, str(NUMBER))

    def ask() -> None:
        dampen.release(MostFrequent(["a"]), load, query="q", epsilon=1, mechanism="pf")

    with pytest.raises(DataError, match=r"could not be read\..*DAMPEN_TRACEBACK=1"):
        ask()
    monkeypatch.setenv("DAMPEN_TRACEBACK", "1")
    with pytest.raises(DataError) as caught:
        ask()
    assert isinstance(caught.value.__cause__, OSError)


def test_json_is_exact_and_plain() -> None:
    answer = dampen.most_frequent([1, 1, 2], categories=[1, 2, 3], epsilon=0.1, k=2)
    fields = json.loads(answer.to_json())
    assert fields["epsilon"] == "0.1"
    assert sorted(fields) == [
        "accuracy", "answer", "charge", "delta", "epsilon", "intervals", "law", "leaks",
        "mechanism", "neighbours", "numbers", "parameters", "protects", "rho", "secure", "version",
    ]  # fmt: skip
    assert len(fields["answer"]) == 2 and fields["neighbours"] == "add-remove-row"
    odd = Release([np.int64(3), np.float64(0.5), object], Fraction(1, 3), "em", answer.neighbours)
    assert json.loads(odd.to_json())["answer"][:2] == [3, 0.5]


def test_a_notebook_shows_the_facts_and_no_markup_of_the_answer() -> None:
    made = Release("<b>x</b>", Fraction(1, 2), "em", dampen.Neighbours.REPLACE_ONE, secure=False)
    shown = made._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown and "<b>" not in shown
    assert "0.5" in shown and "replace-one" in shown and "NOT SECURE" in shown
    grouped = replace(made, answer={"a": 1, "b": 2}, secure=True, leaks=("nodes",))
    assert "a: 1, b: 2" in grouped._repr_html_() and "NOT SECURE" not in grouped._repr_html_()
    assert "NOT COVERED BY EPSILON" in grouped._repr_html_()


def test_most_frequent_finds_the_mode() -> None:
    values, categories = ["x"] * 500 + ["y"] * 50 + ["z"] * 5, ["z", "y", "x"]
    assert dampen.most_frequent(values, categories=categories, epsilon=5).answer == "x"
    ranked = dampen.most_frequent(values, categories=categories, epsilon=5, k=3)
    assert ranked.answer == ["x", "y", "z"]
    assert dampen.most_frequent(np.array([4, 4, 4]), categories=[4, 5], epsilon=50).answer == 4


def test_counts_are_counts() -> None:
    counts = Counter({"rare": 3, "common": 900})
    options = {"categories": ["rare", "common", "absent"], "epsilon": 5}
    assert dampen.most_frequent(counts, **options).answer == "common"
    assert dampen.most_frequent(dict(counts), **options, k=2).answer == ["common", "rare"]
    with pytest.raises(ParameterError, match="value="):
        dampen.most_frequent({"a": ["rare"], "b": ["common"]}, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dampen.Selection([NUMBER, np.nan], dampen.sensitivity.constant(1)),
        lambda: dampen.Selection([1], dampen.sensitivity.table([[NUMBER]]), bound=1),
        lambda: dampen.sensitivity.table([[NUMBER], [1]]),
        lambda: dampen.sensitivity.table([[NUMBER, -NUMBER]]),
        lambda: dampen.Selection([NUMBER], dampen.sensitivity.function(lambda t: [NUMBER], 1), 1),
    ],
)
def test_no_error_of_a_problem_tells_a_private_value(call) -> None:
    with listening(DataError) as ears:
        call()
    assert ears.error is not None
    assert secrets_in(ears.text()) == []


def test_a_release_says_nothing_but_its_answer() -> None:
    asked = {"categories": ["a", "b"], "mechanism": "em", "epsilon": 1}  # without numbers
    answer = dampen.most_frequent(["a"] * 918273, **asked)
    assert secrets_in(repr(answer), answer.to_json()) == []


@pytest.mark.parametrize("member", ["epsilon", "rho"])
@pytest.mark.parametrize("number", ["1e999999999", "9" * 100_000, 1e308, None, "x"])
def test_a_damaged_number_in_json_is_refused_at_once(member: str, number: object) -> None:
    told = json.loads(Release("a", Fraction(1), "pf", dampen.Neighbours.REPLACE_ONE).to_json())
    told |= {"rho": "0.5", member: number}
    if (member, number) == ("rho", None):
        assert Release.from_json(json.dumps(told)).rho is None
        return
    if (member, number) == ("epsilon", None):  # Gaussian noise has a rho alone
        assert Release.from_json(json.dumps(told)).epsilon is None
        return
    with pytest.raises(ParameterError, match="Expected the JSON of a release"):
        Release.from_json(json.dumps(told))
