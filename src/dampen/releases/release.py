"""Release: a private answer with the public facts about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dampen.core.selection import Neighbours
from dampen.epsilon import check_length, decimal_text, price_text, short_text
from dampen.errors import ParameterError
from dampen.printing import html_facts, text_of
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.releases.numbers import Law, checked_confidence, law_from
from dampen.schema.schema import protected
from dampen.versions import library_version

__all__ = ["Release"]

USUAL_CONFIDENCE = 0.95
"""Of the intervals that are shown and written."""


READERS = {
    "tree": "TreeClassifier",
    "regression-tree": "TreeRegressor",
    "naive-bayes": "NaiveBayesClassifier",
}
"""The estimators that read a model, by how its format begins."""


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer and the public facts about it; nothing else about the data.

    Attributes:
        answer: a label, a value, or a list of them.
        epsilon: the exact ε that it cost; None for Gaussian noise, which has a ρ alone.
        mechanism: the name of the method that answered.
        neighbours: the relation that ε speaks of.
        parameters: the public parameters it was asked with.
        secure: False if the randomness came from a seeded generator.
        leaks: which public parameters were taken from the data; ε does not cover them.
        charge: the id of its entry in the ledger, if a budget paid.
        version: of the library.
        rho: its cost in zCDP, for budgets with a δ.
        delta: the exact δ of an (ε, δ)-DP release; 0 for a pure one.
        accuracy: how good such an answer is, from public facts alone; where they do not tell, its
            sentence says so.
        numbers: the noisy numbers that came with the answer, for no further ε: one, or a dict by
            name; None where there are none.  They are as they were drawn: unlike the answer, a
            count may be below 0.
        law: the law of the noise in `numbers`.
    """

    answer: Any
    epsilon: Fraction | None
    mechanism: str
    neighbours: Neighbours
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secure: bool = True
    leaks: tuple[str, ...] = ()
    charge: str | None = None
    version: str = field(default_factory=library_version)
    rho: Fraction | None = None
    accuracy: Accuracy = UNKNOWN
    delta: Fraction = Fraction(0)
    numbers: Any = None
    law: Law | None = None

    def interval(self, confidence: Any = USUAL_CONFIDENCE) -> Any:
        """Intervals of the true numbers, each with at least this confidence.  Free.

        The noise alone decides: whatever the data is, the interval holds the number of the rows as
        they were counted, with values moved to the public range and grid.

        Args:
            confidence: between 0 and 1.

        Returns:
            A pair, or a dict of pairs where `numbers` is a dict.

        Raises:
            ParameterError: if the release has no numbers, or the confidence is no share.

        >>> import dampen
        >>> made = dampen.count({"ward": ["A"] * 60}, epsilon="1")
        >>> low, high = made.interval(0.99)
        >>> high - low
        8
        """
        tail = checked_confidence(confidence)
        if self.law is None:
            raise ParameterError(
                "Expected a release with numbers, as dampen.count, histogram, total and mean give "
                "them; this one has none."
            )
        return _intervals(self.numbers, self.law, tail)

    def plot(self, ax: Any = None) -> Any:
        """Draws bars with their 95 % intervals, or the curve of several percentiles.

        Needs matplotlib: `pip install dampen[plot]`.

        Args:
            ax: axes of matplotlib to draw on; new ones if left out.

        Returns:
            The axes.

        Raises:
            ParameterError: if the release has neither numbers nor several percentiles.
        """
        from dampen.releases.numbers import plot

        return plot(self, ax)

    def to_json(self) -> str:
        """One JSON object; ε is exact decimal text."""
        return json.dumps(
            {
                "answer": _text_keys(self.answer),
                "epsilon": None if self.epsilon is None else decimal_text(self.epsilon),
                "mechanism": self.mechanism,
                "neighbours": str(self.neighbours),
                "protects": self.protects,
                "parameters": dict(self.parameters),
                "secure": self.secure,
                "leaks": list(self.leaks),
                "charge": self.charge,
                "version": self.version,
                "rho": None if self.rho is None else short_text(self.rho, up=True),
                "delta": decimal_text(self.delta),
                "accuracy": self.accuracy.to_dict(),
                **self._written_numbers(),
            },
            default=_plain,
        )

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """The release that `to_json` wrote; members that it does not know are left out.

        Labels come back as JSON has them: text, numbers, lists.

        Args:
            text: the JSON of a release.

        Returns:
            The release.

        Raises:
            ParameterError: if the text is not the JSON of a release.
        """
        try:
            told = json.loads(text)
            return cls(
                answer=told["answer"],
                epsilon=None if told["epsilon"] is None else _fraction(told["epsilon"]),
                delta=_fraction(told.get("delta", "0")),
                mechanism=str(told["mechanism"]),
                neighbours=Neighbours(told["neighbours"]),
                parameters=dict(told["parameters"]),
                secure=told["secure"] is True,
                leaks=tuple(map(str, told["leaks"])),
                charge=told["charge"],
                version=str(told["version"]),
                # A ρ that was rounded up for the text carries a mark.
                rho=None if told["rho"] is None else _fraction(told["rho"].lstrip("<")),
                accuracy=Accuracy.from_dict(told["accuracy"]),
                numbers=told.get("numbers"),
                law=None if told.get("law") is None else law_from(told["law"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError):
            raise ParameterError(
                "Expected the JSON of a release, as Release.to_json writes it."
            ) from None

    def _written_numbers(self) -> dict[str, Any]:
        """The numbers, their law and their usual intervals, where there are numbers."""
        if self.law is None:
            return {}
        return {
            "numbers": _text_keys(self.numbers),
            "law": self.law.to_dict(),
            "intervals": {"confidence": USUAL_CONFIDENCE, "ends": _text_keys(self.interval())},
        }

    def __repr__(self) -> str:
        delta = f"delta={decimal_text(self.delta)}, " if self.delta else ""
        insecure = "" if self.secure else ", NOT SECURE: seeded randomness"
        leaky = f", NOT COVERED BY EPSILON: {', '.join(self.leaks)}" if self.leaks else ""
        return (
            f"Release({self._answer_text()}, {self.price.replace(' ', '=')}, {delta}"
            f"mechanism={self.mechanism!r}, neighbours={str(self.neighbours)!r}{insecure}{leaky})"
        )

    def _answer_text(self) -> str:
        """The answer in a few words: of a model, which is long, how to read it."""
        return repr(self.answer) if self._model is None else f"<{self._model}>"

    @property
    def _model(self) -> str | None:
        """What a model is and how it is read; None for other answers."""
        if not (isinstance(self.answer, dict) and {"format", "features"} <= self.answer.keys()):
            return None
        kind = str(self.answer["format"])
        reader = READERS.get(kind.partition(" ")[0], "Classifier")
        return f"a model, {kind}: dampen.{reader}.from_json(release.to_json()) reads it"

    def __str__(self) -> str:
        """The answer and all public facts, one to a line."""
        return "\n".join(f"{name}: {text_of(value)}" for name, value in self._facts().items())

    def _repr_html_(self) -> str:
        from dampen.releases.numbers import html_bars

        facts = self._facts()
        drawn = html_bars(self)
        if drawn:
            facts = {
                name: fact
                for name, fact in facts.items()
                if name not in ("answer", "numbers", "95 % interval")
                or (name == "answer" and not isinstance(fact, dict))
            }
        return drawn + html_facts(facts)

    @property
    def protects(self) -> str:
        """Whom ε protects, in words: such as "one patient, with all their rows"."""
        return protected(self.neighbours, str(self.parameters.get("unit") or ""))

    @property
    def price(self) -> str:
        """What it cost in words: ε, or ρ where there is no ε."""
        return price_text(self.epsilon, self.rho)

    def _facts(self) -> dict[str, Any]:
        facts = {
            "answer": self._model or self.answer,
            "numbers": "" if self.numbers == self.answer else self.numbers,
            "95 % interval": "" if self.law is None else self.interval(),
            "accuracy": self.accuracy.sentence,
            "epsilon": "" if self.epsilon is None else decimal_text(self.epsilon),
            "rho": self.price.removeprefix("rho ") if self.epsilon is None else "",
            "delta": decimal_text(self.delta) if self.delta else "",
            "mechanism": self.mechanism,
            "neighbours": self.neighbours,
            "protects": self.protects,
            "NOT SECURE": "" if self.secure else "seeded randomness",
            "NOT COVERED BY EPSILON": self.leaks,
            "charge": self.charge or "",
        }
        return {
            name: value
            for name, value in facts.items()
            if name == "answer" or value not in ("", None, ())
        }


def _fraction(text: str) -> Fraction:
    """A number from its text; one that would take all memory and time is a `ValueError`."""
    check_length(text)
    return Fraction(text)


def _intervals(numbers: Any, law: Law, tail: Fraction) -> Any:
    if law.is_number(numbers):
        return law.interval(numbers, tail)
    return {name: _intervals(each, law, tail) for name, each in numbers.items()}


def _text_keys(answer: Any) -> Any:
    """JSON knows text as keys only; an answer per group has the groups as keys.

    A group of several columns is the text of a JSON array.
    """
    if not isinstance(answer, dict):
        return answer
    return {_key_text(name): _text_keys(each) for name, each in answer.items()}


def _key_text(name: Any) -> str:
    if isinstance(name, tuple):
        return json.dumps(name, default=_plain, ensure_ascii=False)
    return str(name)


LARGEST_DECIMAL = 10**18
"""Larger ones, which may have any number of digits, are text in JSON."""


def _plain(value: Any) -> Any:
    """JSON for numpy numbers and exact numbers; text for any other label."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value) < LARGEST_DECIMAL:
        return int(value) if value == int(value) else float(value)
    return str(value)
