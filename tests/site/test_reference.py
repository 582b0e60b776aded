"""The reference: parameters, returns, errors and guarantees of every public function."""

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import dampen
from dampen.core.noise import Noise
from dampen.core.sampling import Entropy
from dampen.core.scores import Score
from dampen.problems import Metric

IN_FULL = ("accuracy", "data", "errors", "mechanisms", "testing")
"""Modules whose functions are documented like the exported ones."""
PROTOCOLS = (Noise, Score, Entropy, Metric)
"""What they say of a method holds for all that have it."""
RELEASING = (
    "percentile", "top_k", "top_groups", "most_frequent", "release", "tune", "select",
    "TreeClassifier", "TreeRegressor", "NaiveBayesClassifier",
)  # fmt: skip


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All exported functions, and those of the modules that stand for themselves."""
    for name in dampen.__all__:
        if inspect.isfunction(member := getattr(dampen, name)):
            yield name, member
    for name in IN_FULL:
        module = getattr(dampen, name)
        for each in module.__all__:
            if inspect.isfunction(member := getattr(module, each)):
                yield f"{name}.{each}", member


def classes() -> Iterator[tuple[str, type]]:
    """All exported classes, and those of exported modules."""
    for name in dampen.__all__:
        member = getattr(dampen, name)
        if inspect.isclass(member):
            yield name, member
        elif isinstance(member, ModuleType):
            for each in member.__all__:
                if inspect.isclass(found := getattr(member, each)):
                    yield f"{name}.{each}", found


def section(doc: str, title: str) -> str:
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)+)", doc, re.MULTILINE)
    return found[1] if found else ""


FUNCTIONS, CLASSES = dict(functions()), dict(classes())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_gives_and_refuses(name: str) -> None:
    function = FUNCTIONS[name]
    doc, signature = inspect.getdoc(function) or "", inspect.signature(function)
    listed = re.findall(r"^    ([\w, *]+):", section(doc, "Args"), re.MULTILINE)
    known = {each.strip(" *") for names in listed for each in names.split(",")}
    assert set(signature.parameters) <= known, name
    if signature.return_annotation not in (None, "None"):
        assert section(doc, "Returns"), name
    if re.search(r"^ +raise ", inspect.getsource(function), re.MULTILINE):
        assert section(doc, "Raises"), name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_and_its_methods_have_a_sentence(name: str) -> None:
    kind = CLASSES[name]
    assert inspect.getdoc(kind), name
    for each, member in vars(kind).items():
        if not each.startswith("_") and inspect.isfunction(member):
            told = [getattr(protocol, each, None) for protocol in (kind, *PROTOCOLS)]
            assert any(found and inspect.getdoc(found) for found in told), f"{name}.{each}"


@pytest.mark.parametrize("name", RELEASING)
def test_releasing_functions_state_their_guarantee(name: str) -> None:
    assert re.search(r"^Guarantee: .*ε", inspect.getdoc(getattr(dampen, name)), re.MULTILINE)
