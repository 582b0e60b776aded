"""Release: a private answer with the public facts about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dampen.core.selection import Neighbours
from dampen.epsilon import check_length, decimal_text, short_text
from dampen.errors import ParameterError
from dampen.printing import html_facts, text_of
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.versions import library_version

__all__ = ["Release"]


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer and the public facts about it; nothing else about the data.

    Attributes:
        answer: a label, a value, or a list of them.
        epsilon: the exact ε that it cost.
        mechanism: the name of the method that answered.
        neighbours: the relation that ε speaks of.
        parameters: the public parameters it was asked with.
        secure: False if the randomness came from a seeded generator.
        leaks: which public parameters were taken from the data; ε does not cover them.
        charge: the id of its entry in the ledger, if a budget paid.
        version: of the library.
        rho: its cost in zCDP, for budgets with a δ.
        accuracy: how good such an answer is, from public facts alone; where they do not tell, its
            sentence says so.
    """

    answer: Any
    epsilon: Fraction
    mechanism: str
    neighbours: Neighbours
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secure: bool = True
    leaks: tuple[str, ...] = ()
    charge: str | None = None
    version: str = field(default_factory=library_version)
    rho: Fraction | None = None
    accuracy: Accuracy = UNKNOWN

    def to_json(self) -> str:
        """One JSON object; ε is exact decimal text."""
        return json.dumps(
            {
                "answer": _text_keys(self.answer),
                "epsilon": decimal_text(self.epsilon),
                "mechanism": self.mechanism,
                "neighbours": str(self.neighbours),
                "parameters": dict(self.parameters),
                "secure": self.secure,
                "leaks": list(self.leaks),
                "charge": self.charge,
                "version": self.version,
                "rho": None if self.rho is None else short_text(self.rho, up=True),
                "accuracy": self.accuracy.to_dict(),
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
                epsilon=_fraction(told["epsilon"]),
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
            )
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError):
            raise ParameterError(
                "Expected the JSON of a release, as Release.to_json writes it."
            ) from None

    def __repr__(self) -> str:
        insecure = "" if self.secure else ", NOT SECURE: seeded randomness"
        leaky = f", NOT COVERED BY EPSILON: {', '.join(self.leaks)}" if self.leaks else ""
        return (
            f"Release({self.answer!r}, epsilon={decimal_text(self.epsilon)}, "
            f"mechanism={self.mechanism!r}, neighbours={str(self.neighbours)!r}{insecure}{leaky})"
        )

    def __str__(self) -> str:
        """The answer and all public facts, one to a line."""
        return "\n".join(f"{name}: {text_of(value)}" for name, value in self._facts().items())

    def _repr_html_(self) -> str:
        return html_facts(self._facts())

    @property
    def _protects(self) -> str:
        """Whom ε protects, where a column names the person a row belongs to."""
        if self.neighbours is not Neighbours.ADD_REMOVE_UNIT:
            return ""
        return f"one {self.parameters.get('unit', 'person')}, with all their rows"

    def _facts(self) -> dict[str, Any]:
        facts = {
            "answer": self.answer,
            "accuracy": self.accuracy.sentence,
            "epsilon": decimal_text(self.epsilon),
            "mechanism": self.mechanism,
            "neighbours": self.neighbours,
            "protects": self._protects,
            "NOT SECURE": "" if self.secure else "seeded randomness",
            "NOT COVERED BY EPSILON": self.leaks,
            "charge": self.charge or "",
        }
        return {name: value for name, value in facts.items() if name == "answer" or value}


def _fraction(text: str) -> Fraction:
    """A number from its text; one that would take all memory and time is a `ValueError`."""
    check_length(text)
    return Fraction(text)


def _text_keys(answer: Any) -> Any:
    """JSON knows text as keys only; an answer per group has the groups as keys."""
    return {str(k): v for k, v in answer.items()} if isinstance(answer, dict) else answer


def _plain(value: Any) -> Any:
    """JSON for numpy numbers and exact numbers; text for any other label."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return decimal_text(value)
    return str(value)
