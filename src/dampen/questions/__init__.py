"""The questions: one file or folder each, with the methods that answer it and their proofs.

A new question is its file and its line here: command line, service, client, page and reference
follow from its declaration (`dampen.releases.question`).
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from dampen.errors import did_you_mean

if TYPE_CHECKING:
    from dampen.releases.question import Question

__all__ = ["QUESTIONS", "Listed", "question_type", "which_question"]


class Listed(NamedTuple):
    """Where a question is declared, and the first line of its docstring.

    The summary stands here too so that the questions can be listed before numpy is imported.
    """

    location: str
    summary: str


QUESTIONS: Mapping[str, Listed] = {
    "most-frequent": Listed("frequency.FrequencyQuestion", "Which category occurs most often?"),
    "keys": Listed("keys.KeysQuestion", "Which values do enough rows have, and how many?"),
    "top-groups": Listed(
        "groups.question.GroupsQuestion", "Which group has the largest statistic?"
    ),
    "groups-above": Listed(
        "groups.above.AboveQuestion", "Which groups have a statistic of at least a threshold?"
    ),
    "percentile": Listed(
        "percentile.PercentileQuestion", "What is the value at a percentile, or at several?"
    ),
    "percentile-record": Listed(
        "percentile.RecordQuestion",
        "Which record is at a percentile, or which k are nearest to it?",
    ),
    "count": Listed("counts.CountQuestion", "How many rows are there, in all or in every group?"),
    "histogram": Listed(
        "counts.HistogramQuestion",
        "How many rows does every category have, or every bin of numbers?",
    ),
    "total": Listed(
        "means.TotalQuestion", "What is the total of a column, in all or in every group?"
    ),
    "mean": Listed("means.MeanQuestion", "What is the mean of a column, in all or in every group?"),
    "top-k": Listed("nodes.NodesQuestion", "Which nodes of a graph are the most influential?"),
    "tree": Listed(
        "classify.question.TreeQuestion", "Which decision tree predicts the class of a row?"
    ),
    "regression-tree": Listed(
        "classify.question.RegressionQuestion",
        "Which regression tree predicts a number for every row?",
    ),
    "naive-bayes": Listed(
        "classify.question.BayesQuestion", "Which naive Bayes predicts the class of a row?"
    ),
    "classifier": Listed(
        "classify.question.ClassifierQuestion",
        "Which tree or naive Bayes predicts the class of a row?",
    ),
}
"""The name of every question; the class that declares it is loaded when it is first used."""


ELSEWHERE: Mapping[str, str] = {
    "median": "percentile with p = 50",
    "quantile": "percentile with p in percent, such as 90",
    "max": "percentile with p = 99",
    "min": "percentile with p = 1",
    "sum": "total",
    "average": "mean",
    "avg": "mean",
    "mode": "most-frequent",
    "value-counts": "histogram, or keys",
    "unique": "keys",
}
"""What pandas and SQL call a question."""


def which_question(name: str, known: Iterable[str]) -> str:
    """A sentence on what an unknown question may have meant; nothing where that is not known."""
    meant = ELSEWHERE.get(name.lower().replace("_", "-"))
    return did_you_mean(name, known) if meant is None else f" Ask for {meant}."


@cache
def question_type(name: str) -> "type[Question]":
    """The class that declares a question.

    Raises:
        KeyError: if there is no question of that name.
    """
    module, _, declared = QUESTIONS[name].location.rpartition(".")
    found: type[Question] = getattr(import_module(f"{__name__}.{module}"), declared)
    return found
