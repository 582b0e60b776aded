"""`verify`: every check that applies to a problem, and what could not be checked."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

from dampen.core.mechanisms import JOINT, Mechanism, named
from dampen.core.noise import LAPLACE
from dampen.core.scores import Score
from dampen.core.selection import Problem, Selection
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.testing.checks import (
    check_admissible,
    check_joint_sensitivity,
    check_one_sided,
    check_public,
    check_separable,
    check_unit_sensitivity,
    words,
)
from dampen.testing.losses import privacy_loss
from dampen.testing.universe import Remembering, Universe, Verdict, instances, not_checked

X = TypeVar("X")


def verify(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon = "1",
    mechanisms: Iterable[str | Mechanism] = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"),
) -> list[Verdict]:
    """All checks that apply to a problem, each with its verdict.

    Joint releases are checked for every score that has a bound.  A mechanism that cannot be checked
    on this problem is reported as not checked, whatever its name.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanisms: names or `Mechanism` objects.

    Returns:
        One `Verdict` per check.
    """
    limit = exact(epsilon)
    made_once = Remembering(problem)
    first = instances(made_once, universe)[0]
    chosen = [named(m) for m in mechanisms]
    chosen += [m for m in _joint_releases(first) if m not in chosen]
    return [
        *_claims(made_once, universe, first),
        *_scores(made_once, universe, first, chosen),
        *_losses(made_once, universe, first, chosen, limit),
    ]


def _claims(problem: Problem[X], universe: Universe[X], first: Selection) -> Iterable[Verdict]:
    """What the selection itself says."""
    yield check_public(problem, universe)
    yield check_admissible(problem, universe)
    if first.one_sided:
        yield check_one_sided(problem, universe)
    if first.separable:
        yield check_separable(problem, universe)


def _scores(
    problem: Problem[X], universe: Universe[X], first: Selection, chosen: Iterable[Mechanism]
) -> Iterable[Verdict]:
    for score in dict.fromkeys(m.score for m in chosen):
        if reason := _obstacle(score, first):
            yield not_checked(f"sensitivity 1 of {words(score)}", universe, reason)
        else:
            yield check_unit_sensitivity(problem, universe, score)
    for score in first.joint:
        if reason := _obstacle(score, first):
            yield not_checked(f"1-norm sensitivity of {words(score)}", universe, reason)
        else:
            yield check_joint_sensitivity(problem, universe, score)


def _losses(
    problem: Problem[X],
    universe: Universe[X],
    first: Selection,
    chosen: Iterable[Mechanism],
    epsilon: Fraction,
) -> Iterable[Verdict]:
    for mechanism in chosen:
        reason = _obstacle(mechanism.score, first)
        if mechanism.noise.joint and mechanism.score not in first.joint:
            reason = f"no 1-norm bound is stated for {words(mechanism.score)}: it is refused"
        if reason:
            claim = f"privacy loss of at most epsilon {decimal_text(epsilon)} ({mechanism.name})"
            yield not_checked(claim, universe, reason)
        else:
            yield privacy_loss(problem, universe, epsilon=epsilon, mechanism=mechanism)


def _obstacle(score: Score, first: Selection) -> str:
    """Why a score is not defined for a problem; empty if it is."""
    if score.needs_horizon and first.sensitivity.horizon is None:
        return "δ has no horizon; wrap it in dampen.sensitivity.bounded"
    return ""


def _joint_releases(first: Selection) -> list[Mechanism]:
    return [
        JOINT if score == JOINT.score else Mechanism(f"joint, {words(score)}", score, LAPLACE)
        for score in first.joint
    ]
