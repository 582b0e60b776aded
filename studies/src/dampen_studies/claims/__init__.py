"""What the paper says, what was measured, and whether it holds.

Every quantitative sentence of the abstract and the evaluation is one claim.  Its outcome is
computed from the CSVs by a rule written next to it, never by hand.  "Confirmed after correction" is
said only where an error in what is printed was corrected.
"""

from dampen_studies.claims.claim import Claim, Finding, Outcome, Tables
from dampen_studies.claims.examples import CLAIMS as EXAMPLES
from dampen_studies.claims.influence import CLAIMS as INFLUENCE
from dampen_studies.claims.percentiles import CLAIMS as PERCENTILES
from dampen_studies.claims.trees import CLAIMS as TREES

ALL: tuple[Claim, ...] = (*EXAMPLES, *PERCENTILES, *INFLUENCE, *TREES)


def evaluate(tables: Tables) -> list[Finding]:
    """One finding per claim, in the order of the paper."""
    return [claim.evaluate(tables) for claim in ALL]


__all__ = ["ALL", "Claim", "Finding", "Outcome", "Tables", "evaluate"]
