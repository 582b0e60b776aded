"""The privacy loss of a mechanism: computed from its law, not sampled.

>>> from dampen.frequency.problem import MostFrequent
>>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
>>> print(privacy_loss(MostFrequent(["a", "b"]), universe, epsilon="1", mechanism="pf"))
privacy loss 1 of epsilon 1 (pf): holds for 10 databases and 12 pairs of neighbours
"""

import itertools
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import ParameterError
from dampen.mechanisms import Mechanism, named, prepare
from dampen.noise import Noise
from dampen.selection import FloatArray, Problem, Selection
from dampen.testing.universes import Universe
from dampen.testing.verdicts import Verdict
from dampen.testing.worlds import ROUNDING, fails, holds, instances, largest

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
    """
    chosen, limit = named(mechanism), exact(epsilon)
    with np.errstate(divide="ignore"):
        log_p = np.log([outputs(s, limit, chosen, k) for s in instances(problem, universe)])
    left, right = universe.neighbours.T
    with np.errstate(invalid="ignore"):
        loss = np.abs(log_p[left] - log_p[right])
    loss[np.isnan(loss)] = 0.0  # an output that is impossible under both
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({chosen.name})"
    if worst > float(limit) * (1 + ROUNDING) + ROUNDING:
        pair, r = largest(loss)
        text = f"log-ratio {worst:.6g} > {float(limit):g}"
        where = (left[pair], r if k == 1 else None)
        return fails(claim, problem, universe, where, text, y=right[pair], value=worst)
    return holds(claim, universe, value=worst)


def outputs(s: Selection, epsilon: Fraction, mechanism: Mechanism, k: int) -> FloatArray:
    """The probabilities of all outputs: candidates, or sequences of k different candidates."""
    ready = prepare(s, mechanism)
    if k == 1:
        return ready.probabilities(epsilon=epsilon)
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
    left, p = list(range(len(a))), 1.0
    for r in sequence:
        p *= float(noise.law(a[left] - a[left].max())[left.index(r)])
        left.remove(r)
    return p
