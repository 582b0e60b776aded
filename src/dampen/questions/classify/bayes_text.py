"""A released naive Bayes model as a table of a notebook.  All of it is public."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from dampen.epsilon import decimal_text
from dampen.printing import html_table, printable

if TYPE_CHECKING:
    from dampen.questions.classify.bayes import NaiveBayesClassifier

__all__ = ["html"]

MOST_CLASSES = 8
MOST_ATTRIBUTES = 40


def html(model: "NaiveBayesClassifier") -> str:
    """What it is, its warnings, and what is likeliest of every attribute in each class."""
    classes = [f"in {name}" for name in model.classes_[:MOST_CLASSES]]
    head = "<br>".join(escape(printable(line)) for line in _head(model))
    return f"<div>{head}</div>{html_table(['likeliest', *classes], _rows(model))}"


def _head(model: "NaiveBayesClassifier") -> Iterator[str]:
    yield (
        f"Private naive Bayes, ε = {decimal_text(model.epsilon_)} for adding or removing one row: "
        f"{len(model.domains_)} attributes, {len(model.classes_)} classes"
    )
    if not model.secure_:
        yield "NOT SECURE: seeded randomness"
    if leaks := model.release_.leaks:
        yield f"NOT COVERED BY EPSILON: {', '.join(leaks)}"


def _rows(model: "NaiveBayesClassifier") -> Iterator[list[str]]:
    shares = np.exp(model.tables_.log_priors)
    yield ["share of rows", *[f"{share:.0%}" for share in shares[:MOST_CLASSES]]]
    names = getattr(model, "feature_names_in_", None)
    first = model.tables_.first
    for a, domain in enumerate(model.domains_[:MOST_ATTRIBUTES]):
        likelihood = np.exp(model.tables_.log_likelihoods[first[a] : first[a + 1]])
        best = likelihood.argmax(axis=0)[:MOST_CLASSES]
        cells = [f"{domain.describe([v])} ({likelihood[v, c]:.0%})" for c, v in enumerate(best)]
        yield [f"x{a}" if names is None else str(names[a]), *cells]
