"""A released naive Bayes as JSON and as text.  All of it is public; what comes back is checked."""

import math
from typing import TYPE_CHECKING, Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError
from dampen.printing import printable
from dampen.questions.classify import model_json
from dampen.questions.classify.bayes_problem import NoisyTables, deviation, noise_scale
from dampen.questions.classify.encoding import first_codes
from dampen.questions.classify.model_json import (
    as_text,
    checked_integers,
    checked_text,
    common_content,
    fill_common,
)
from dampen.releases.release import Release

if TYPE_CHECKING:
    from dampen.questions.classify.bayes import NaiveBayesClassifier

__all__ = ["content", "report", "restore", "to_json"]

FORMAT = "naive-bayes 1"


def to_json(model: "NaiveBayesClassifier") -> str:
    """All that prediction and the report need, with the facts that an auditor needs."""
    return as_text(content(model), model.release_)


def content(model: "NaiveBayesClassifier") -> dict[str, Any]:
    """The model in plain Python, with its exact ε."""
    return {
        "format": FORMAT,
        "epsilon": str(model.epsilon_),
        **common_content(model),
        "counts": model.tables_.counts.tolist(),
    }


def restore(model: "NaiveBayesClassifier", text: str) -> None:
    """Fills an unfitted model from JSON.

    Raises:
        ParameterError: if the text is not a model that `to_json` could have written.
    """
    model_json.restore(text, "a naive Bayes", lambda read: _fill(model, read))


def _fill(model: "NaiveBayesClassifier", read: Any) -> None:
    if read["format"] != FORMAT:
        raise ParameterError(f"Expected the format {FORMAT!r}, got another format.")
    fill_common(model, read)
    first = first_codes(model.domains_)
    counts = checked_integers(read["counts"], dimensions=2)
    if counts.shape != (first[-1], len(model.classes_)):
        raise ValueError
    model.epsilon_ = exact(checked_text(read["epsilon"]))
    model.tables_ = NoisyTables(first, counts, noise_scale(len(first) - 1, model.epsilon_))
    model.set_params(epsilon=model.epsilon_)
    model.release_ = Release(
        content(model),
        model.epsilon_,
        "discrete-laplace",
        Neighbours.ADD_REMOVE_ROW,
        {"attributes": len(model.domains_)},
        model.secure_,
        tuple(map(str, read["leaks"])),
        None if read["charge"] is None else str(read["charge"]),
        str(read["version"]),
    )


def report(model: "NaiveBayesClassifier") -> str:
    """What was released, the noise, and the estimated shares of the classes."""
    tables = model.tables_
    values, classes = tables.counts.shape
    lines = [
        f"Private naive Bayes: epsilon {decimal_text(model.epsilon_)} for adding or removing one "
        "row",
        f"{len(model.domains_)} attributes, {values} values, {classes} classes: "
        f"{values * classes} counts, each with discrete Laplace noise of standard deviation "
        f"{deviation(tables.scale):.3g}",
    ]
    if not model.secure_:
        lines.append("NOT SECURE: seeded randomness")
    if leaks := model.release_.leaks:
        lines.append(f"NOT COVERED BY EPSILON: {', '.join(leaks)}")
    shares = [math.exp(log) for log in tables.log_priors.tolist()]
    lines += ["", "classes, estimated"]
    lines += [f"  {share:6.1%}  {c}" for c, share in zip(model.classes_, shares, strict=True)]
    return "\n".join(map(printable, lines))
