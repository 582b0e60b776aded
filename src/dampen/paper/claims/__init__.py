"""What the paper says, what was measured, and whether it holds.

Every quantitative sentence of the abstract and the evaluation is one claim.  Its verdict is
computed from the CSVs by a rule written next to it, never by hand.
"""

from dampen.paper.claims.claim import Claim, Finding, Tables, Verdict
from dampen.paper.claims.examples import CLAIMS as EXAMPLES
from dampen.paper.claims.influence import CLAIMS as INFLUENCE
from dampen.paper.claims.percentiles import CLAIMS as PERCENTILES
from dampen.paper.claims.trees import CLAIMS as TREES

ALL: tuple[Claim, ...] = (*EXAMPLES, *PERCENTILES, *INFLUENCE, *TREES)


def evaluate(tables: Tables) -> list[Finding]:
    """One finding per claim, in the order of the paper."""
    return [claim.evaluate(tables) for claim in ALL]


__all__ = ["ALL", "Claim", "Finding", "Tables", "Verdict", "evaluate"]
