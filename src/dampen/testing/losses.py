"""The privacy loss of a mechanism: computed from its law, not sampled.

>>> from dampen.questions.frequency import MostFrequent
>>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
>>> print(privacy_loss(MostFrequent(["a", "b"]), universe, epsilon="1", mechanism="pf"))
privacy loss 1 of epsilon 1 (pf): holds for 10 databases and 12 pairs of neighbours
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dampen.core.mechanisms import Mechanism, Prepared, named, prepare
from dampen.core.noise import Noise
from dampen.core.selection import FloatArray, Problem, Selection
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import ParameterError
from dampen.testing.universe import (
    ROUNDING,
    Universe,
    Verdict,
    fails,
    holds,
    instances,
    largest,
    scope,
)

X = TypeVar("X")


def privacy_loss(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    k: int = 1,
) -> Verdict:
    """The largest log-ratio of output probabilities over all neighbours.

    `value` is the loss; the verdict holds if it is at most ε.  With k > 1, over all sequences of k
    candidates (not for a joint release, whose k is free: see `check_joint_sensitivity`).

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.
        k: how many candidates are released.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    chosen = named(mechanism)
    limit = exact(epsilon)
    laws = [outputs(s, limit, chosen, k) for s in instances(problem, universe)]
    loss = _losses(laws, universe)
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({chosen.name})"
    if worst > float(limit) * (1 + ROUNDING) + ROUNDING:
        pair, r = largest(loss)
        x, y = universe.neighbours[pair]
        text = f"log-ratio {worst:.6g} > {float(limit):g}"
        where = (x, r if k == 1 else None)
        return fails(claim, problem, universe, where, text, y=y, value=worst)
    return holds(claim, universe, value=worst)


def law_loss(
    law: Callable[[X], ArrayLike], universe: Universe[X], *, epsilon: Epsilon, name: str = "law"
) -> Verdict:
    """The same for a release that is no mechanism on scores but known by its law.

    Args:
        law: the probabilities of all outputs, in one order, given a database.
        universe: the databases.
        epsilon: what the loss may be.
        name: what the verdict calls the release.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.

    >>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
    >>> print(law_loss(lambda rows: [0.5, 0.5], universe, epsilon="1", name="a coin"))
    privacy loss 0 of epsilon 1 (a coin): holds for 10 databases and 12 pairs of neighbours
    """
    limit = exact(epsilon)
    loss = _losses([law(x) for x in universe.databases], universe)
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({name})"
    if worst <= float(limit) * (1 + ROUNDING) + ROUNDING:
        return holds(claim, universe, value=worst)
    pair, output = largest(loss)
    x, y = (universe.describe(universe.databases[i]) for i in universe.neighbours[pair])
    text = f"x = {x}, y = {y}, output {output}: log-ratio {worst:.6g} > {float(limit):g}"
    return Verdict(claim, "fails", scope(universe), counterexample=text, value=worst)


def _losses(laws: Sequence[ArrayLike], universe: Universe[X]) -> FloatArray:
    """The log-ratio of every output, one line for every pair of neighbours."""
    with np.errstate(divide="ignore"):
        log_p = np.log(np.asarray(laws, dtype=np.float64))
    left, right = universe.neighbours.T
    with np.errstate(invalid="ignore"):
        loss = np.abs(log_p[left] - log_p[right])
    loss[np.isnan(loss)] = 0.0  # an output that is impossible under both
    return loss


def outputs(s: Selection, epsilon: Fraction, mechanism: Mechanism, k: int) -> FloatArray:
    """The probabilities of all outputs: candidates, or sequences of k different candidates."""
    ready = prepare(s, mechanism)
    if k == 1:
        return ready.probabilities(epsilon=epsilon)
    if not isinstance(ready, Prepared):
        return sum(
            (weight * outputs(s, left, way, k) for way, left, weight in ready.parts(epsilon, k)),
            start=np.zeros(()),
        )
    if mechanism.noise.joint:
        raise ParameterError(
            "Expected k=1 for a joint release: its privacy for every k at once is what "
            "check_joint_sensitivity shows."
        )
    a = ready.scores.values * float(ready.noise_scale(epsilon, k))
    sequences = itertools.permutations(range(len(s)), k)
    return np.array([_sequence_probability(a, seq, mechanism.noise) for seq in sequences])


def _sequence_probability(a: FloatArray, sequence: tuple[int, ...], noise: Noise) -> float:
    """k draws without replacement."""
    left = list(range(len(a)))
    p = 1.0
    for r in sequence:
        p *= float(noise.law(a[left] - a[left].max())[left.index(r)])
        left.remove(r)
    return p
