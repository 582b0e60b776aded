"""The proof kit: check a problem by brute force over every database of a small universe.

Nothing here is sampled.  Admissibility, unit sensitivity and the privacy loss are computed for all
pairs of neighbours, and what fails comes back as a counterexample in words.  A problem that passes
on universes that reach its corner cases (empty, full, ties, the ends of the domain) is one to
trust; the same checks reject the algorithms of the paper that are not private.  What a universe
cannot show is said too: bounds that it never reaches, mechanisms that were not checked.
"""

from dampen.testing.checks import (
    check_admissible,
    check_exact_sensitivity,
    check_joint_sensitivity,
    check_one_sided,
    check_public,
    check_separable,
    check_unit_sensitivity,
    law_loss,
    local_sensitivity,
    privacy_loss,
    verify,
)
from dampen.testing.universe import Universe, Verdict

__all__ = [
    "Universe",
    "Verdict",
    "check_admissible",
    "check_exact_sensitivity",
    "check_joint_sensitivity",
    "check_one_sided",
    "check_public",
    "check_separable",
    "check_unit_sensitivity",
    "law_loss",
    "local_sensitivity",
    "privacy_loss",
    "verify",
]
