"""What a question declares is what its public function takes.

Command line, service, client and page are made from the declaration; the signature of the function
is written by hand.  A question that is asked through an estimator names it in a ClassVar
`estimator`; it is asked by its constructor and by `fit_table`.
"""

import inspect
from dataclasses import MISSING, is_dataclass
from typing import Any

import pytest

import dampen
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import Parameter, Question, parameters

NOT_ASKED = {
    "epsilon", "rho", "header", "table", "budget", "entropy", "unit", "rows_per_unit",
    "groups_per_unit",
}  # fmt: skip
"""What public functions take beside the data, which comes first, and the question's parameters."""

pytestmark = pytest.mark.parametrize(
    "question", [question_type(name) for name in QUESTIONS], ids=list(QUESTIONS)
)


def public_function(question: type[Question]) -> Any:
    named: str = getattr(question, "estimator", question.name.replace("-", "_"))
    assert named in dampen.__all__, f"dampen has no public name {named!r}"
    return getattr(dampen, named)


def arguments(question: type[Question]) -> dict[str, Any]:
    """The arguments that are parameters of the question, with their defaults."""
    function = public_function(question)
    taken = list(inspect.signature(function).parameters.values())
    if inspect.isclass(function):
        taken += list(inspect.signature(function.fit_table).parameters.values())[2:]
    else:
        taken = taken[1:]
    return {
        each.name: MISSING if each.default is each.empty else each.default
        for each in taken
        if each.name not in NOT_ASKED
    }


def same_default(declared: Parameter, default: Any) -> bool:
    """Whether both have the same default; `data` may be the column itself, which has no name."""
    if declared.kind == "column" and declared.required:
        return default is MISSING or default is None
    return declared.default is default or bool(declared.default == default)


def test_it_is_listed_under_its_name(question: type[Question]) -> None:
    assert is_dataclass(question)
    assert QUESTIONS[question.name].location.endswith(f".{question.__name__}")
    assert question.title
    assert question.data in ("table", "edges")


def test_the_public_function_takes_the_declared_parameters(question: type[Question]) -> None:
    assert set(arguments(question)) == {declared.name for declared in parameters(question)}


def test_defaults_are_those_of_the_public_function(question: type[Question]) -> None:
    taken = arguments(question)
    wrong = [
        declared.name
        for declared in parameters(question)
        if not same_default(declared, taken[declared.name])
    ]
    assert wrong == []


def test_every_parameter_says_what_it_is(question: type[Question]) -> None:
    for declared in parameters(question):
        assert declared.help[0].isupper(), declared.name
        assert declared.help.endswith("."), declared.name
        assert declared.label, declared.name
        assert len(set(declared.choices)) == len(declared.choices), declared.name
        assert declared.required or not declared.choices or is_choice(declared), declared.name


def is_choice(declared: Parameter) -> bool:
    return declared.default is None or str(declared.default) in declared.choices


def test_letters_of_the_command_line_are_different(question: type[Question]) -> None:
    letters = [declared.short for declared in parameters(question) if declared.short]
    assert len(set(letters)) == len(letters)


def test_facts_of_a_column_name_a_parameter_that_is_a_column(question: type[Question]) -> None:
    columns = {each.name for each in parameters(question) if each.kind == "column"}
    named = {each.fact.of for each in parameters(question) if each.fact and each.fact.of}
    assert named <= columns


def test_columns_say_what_they_hold(question: type[Question]) -> None:
    for declared in parameters(question):
        if declared.kind in ("column", "columns"):
            assert declared.holds in ("", "numbers", "categories", "names"), declared.name


def test_the_guarantee_is_in_the_docstring(question: type[Question]) -> None:
    assert "ε" in str(public_function(question).__doc__)
