"""What a check found: it holds, it fails, or it was not checked."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["holds", "fails", "not checked"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim about a problem, and what became of it on a universe.  True only if it holds.

    Attributes:
        claim: in words.
        outcome: "holds", "fails" or "not checked".
        scope: the databases and pairs of neighbours that were looked at.
        counterexample: in words, if it fails.
        value: the number that the claim bounds, as large as it was found.
        remark: why it was not checked; or, if it holds, what the universe was too weak to show.
    """

    claim: str
    outcome: Outcome
    scope: str
    counterexample: str = ""
    value: float = 0.0
    remark: str = ""

    @property
    def holds(self) -> bool:
        return self.outcome == "holds"

    @property
    def fails(self) -> bool:
        return self.outcome == "fails"

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.fails:
            return f"{self.claim}: FAILS: {self.counterexample}"
        if not self.holds:
            return f"{self.claim}: NOT CHECKED: {self.remark}"
        return f"{self.claim}: holds for {self.scope}" + (f"; {self.remark}" * bool(self.remark))
