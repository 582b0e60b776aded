"""A public function has the parameters of its question, with the same defaults."""

import inspect
from dataclasses import MISSING

import pytest

import dampen
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import parameters

ASKED = [name for name in QUESTIONS if hasattr(dampen, name.replace("-", "_"))]
ALWAYS = {"data", "epsilon", "rho", "header", "table", "budget", "entropy"}


@pytest.mark.parametrize("name", ASKED)
def test_the_function_takes_what_the_question_declares(name: str) -> None:
    taken = inspect.signature(getattr(dampen, name.replace("-", "_"))).parameters
    declared = {each.name: each for each in parameters(question_type(name))}
    assert set(taken) == set(declared) | ALWAYS
    for each in declared.values():
        if each.name != "column":  # which may be left out where the data is a column
            left_out = taken[each.name].default
            assert (left_out is inspect.Parameter.empty) == (each.default is MISSING)
            assert each.required or left_out == each.default
