"""The proof kit: universes of small databases, and checks that hold for all of them or fail."""

from dampen.testing.checks import (
    Verdict,
    check_admissible,
    check_exact_sensitivity,
    check_joint_sensitivity,
    check_one_sided,
    check_unit_sensitivity,
    local_sensitivity,
    privacy_loss,
    verify,
)
from dampen.testing.universes import Universe

__all__ = [
    "Universe",
    "Verdict",
    "check_admissible",
    "check_exact_sensitivity",
    "check_joint_sensitivity",
    "check_one_sided",
    "check_unit_sensitivity",
    "local_sensitivity",
    "privacy_loss",
    "verify",
]
