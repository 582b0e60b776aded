"""The questions: one file or folder each, with the methods that answer it and their proofs.

A new question is its file and its line here: command line, service, client, page and reference
follow from its declaration (`dampen.releases.question`).
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from dampen.releases.question import Question

__all__ = ["QUESTIONS", "question_type"]

QUESTIONS: Mapping[str, str] = {
    "most-frequent": "frequency.FrequencyQuestion",
}
"""The name of every question and the class that declares it, loaded when it is first used."""


@cache
def question_type(name: str) -> type[Question]:
    """The class that declares a question.

    Raises:
        KeyError: if there is no question of that name.
    """
    module, _, declared = QUESTIONS[name].rpartition(".")
    found: type[Question] = getattr(import_module(f"{__name__}.{module}"), declared)
    return found
