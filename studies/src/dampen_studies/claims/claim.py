"""A claim of the paper and the rule that judges it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from dampen_studies.study import Parameters, Rows

Tables: TypeAlias = Mapping[str, Rows]
"""The rows of every study that was run, by its name."""
Part: TypeAlias = Callable[[Parameters], bool]
"""Which cells of a study a claim needs."""


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


def everything(cell: Parameters) -> bool:
    """All cells of the study."""
    del cell
    return True


def nothing(cell: Parameters) -> bool:
    """No cell: the claim is arithmetic."""
    del cell
    return False


def of(dataset: str) -> Part:
    """The cells of one data set."""
    return lambda cell: cell["dataset"] == dataset


@dataclass(frozen=True, slots=True)
class Claim:
    """One quantitative sentence of the paper.

    Attributes:
        name: short and stable.
        where: section, figure or table of the paper.
        says: the claim, in our words.
        study: the study that measures it.
        judge: from the rows of that study to a judgement; may raise `NotMeasured`.
        part: the cells that it needs, at full length.
    """

    name: str
    where: str
    says: str
    study: str
    judge: Callable[[Rows], Judgement]
    part: Part = everything

    def evaluate(self, tables: Tables, run: str = "") -> "Finding":
        """Judges the claim, or says that the study behind it has not been run."""
        rows = tables.get(self.study, [])
        try:
            if not rows and self.part is not nothing:
                raise NotMeasured
            return Finding(self, *self.judge(rows), run)
        except NotMeasured:
            sentence = f"Needs the full run of the study {self.study!r} on the paper's data."
            return Finding(self, "–", Outcome.NOT_MEASURED, sentence)


@dataclass(frozen=True, slots=True)
class Finding:
    """A judged claim; `run` names the committed run behind it, if it is not the one at hand."""

    claim: Claim
    measured: str
    outcome: Outcome
    sentence: str
    run: str = ""
