"""A claim of the paper and the rule that judges it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from dampen_studies.study import Rows

Tables: TypeAlias = Mapping[str, Rows]
"""The rows of every study that was run, by its name."""


class Outcome(StrEnum):
    """How a claim fares."""

    CONFIRMED = "confirmed"
    CORRECTED = "confirmed after correction"
    NOT_CONFIRMED = "not confirmed"
    NOT_MEASURED = "not measured"


class Judgement(NamedTuple):
    """What was measured, in one short text; the outcome; one honest sentence."""

    measured: str
    outcome: Outcome
    sentence: str


class NotMeasured(Exception):
    """The rows that a claim needs are not there."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One quantitative sentence of the paper.

    Attributes:
        name: short and stable.
        where: section, figure or table of the paper.
        says: the claim, in our words.
        study: the study that measures it.
        judge: from the rows of that study to a judgement; may raise `NotMeasured`.
    """

    name: str
    where: str
    says: str
    study: str
    judge: Callable[[Rows], Judgement]

    def evaluate(self, tables: Tables) -> "Finding":
        """Judges the claim, or says that the study behind it has not been run."""
        try:
            rows = tables.get(self.study, [])
            if not rows:
                raise NotMeasured
            return Finding(self, *self.judge(rows))
        except NotMeasured:
            sentence = f"Needs the full run of the study {self.study!r} on the paper's data."
            return Finding(self, "–", Outcome.NOT_MEASURED, sentence)


@dataclass(frozen=True, slots=True)
class Finding:
    """A judged claim."""

    claim: Claim
    measured: str
    outcome: Outcome
    sentence: str
